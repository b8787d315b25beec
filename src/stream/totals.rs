//! Totals of the streamed rows for each of many rank ranges, without listing row blocks: these are the graph's up to a range's end
//! ([`super::ranges`]), except the few that contain its bounds, so prefix sums, and maxima over consecutive row blocks, are prepared once. Time:
//! `O(log b)` a range, with `b` row blocks. Memory: 40 bytes a row block.

use std::ops::Range;

use trimill_graph::OrientedGraph;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_partitioners::partition::totals::RowBlockTotals;
use trimill_system::{Bytes, Result};

use super::row_blocks::{RowBlocks, StreamedRows};

pub struct AllTotals<'a> {
    graph: &'a OrientedGraph,
    blocks: &'a RowBlocks,
    /// The bytes of the row blocks before each one if their rows are resident.
    resident: Vec<u64>,
    read: Maxima,
    ranges: Maxima,
}

impl<'a> AllTotals<'a> {
    pub fn new(graph: &'a OrientedGraph, blocks: &'a RowBlocks) -> Self {
        let sizes = || blocks.starts.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1));
        let mut sum = 0;
        let before = |(range, _)| {
            let before = sum;
            sum += StreamedRows::Resident.size(range, 0).bytes().get();
            before
        };
        let mut resident: Vec<u64> = sizes().map(before).collect();
        resident.push(sum);
        let read = Maxima::new(sizes().map(|(range, arcs)| StreamedRows::Read.size(range, arcs).bytes().get()));
        Self { graph, blocks, resident, read, ranges: Maxima::new(sizes().map(|(range, _)| range.into())) }
    }

    pub fn of(&self, ranks: &LocalsAndHeads) -> Result<RowBlockTotals> {
        let LocalsAndHeads { locals, heads } = ranks;
        let whole = locals.start == 0 && heads == locals;
        let mut bounds = [0, locals.start, locals.end, heads.start, heads.end];
        bounds.sort_unstable();
        let mut totals = RowBlockTotals::default();
        for pair in bounds.windows(2).filter(|pair| pair[0] < pair[1]) {
            self.add(&mut totals, pair[0]..pair[1], StreamedRows::of(ranks, pair[0]), whole)?;
        }
        if totals.row_blocks == 0 {
            // A graph without vertices has one row block, too.
            let bytes = StreamedRows::Resident.size(0, 0).bytes();
            add(&mut totals, 1, bytes, bytes);
        }
        totals.two_row_blocks = Bytes(totals.largest_row_block.get() * totals.row_blocks.min(2));
        Ok(totals)
    }

    /// Adds the row blocks over `ranks`, whose rows are all streamed alike; not cut if it is `one`.
    fn add(&self, totals: &mut RowBlockTotals, ranks: Range<u32>, rows: StreamedRows, one: bool) -> Result<()> {
        let starts = &self.blocks.starts;
        let place = |holds: &dyn Fn(u32) -> bool| starts.partition_point(|&(rank, _)| holds(rank));
        let inside = match one {
            true => 0..0,
            false => place(&|rank| rank <= ranks.start)..place(&|rank| rank < ranks.end),
        };
        let arcs_before =
            |rank| if rows == StreamedRows::Read { self.blocks.first_arc(self.graph, rank) } else { Ok(0) };
        let mut part = |ranks: Range<u32>| {
            let bytes = rows.size(ranks.len() as u32, arcs_before(ranks.end)? - arcs_before(ranks.start)?).bytes();
            add(totals, 1, bytes, bytes);
            Ok(())
        };
        if inside.is_empty() {
            return part(ranks);
        }
        let (first, last) = (inside.start, inside.end - 1);
        part(ranks.start..starts[first].0)?;
        part(starts[last].0..ranks.end)?;
        if first == last {
            return Ok(());
        }
        let many = (last - first) as u64;
        let range = self.ranges.of(first..last) as u32;
        let (covered, arcs) = (starts[last].0 - starts[first].0, starts[last].1 - starts[first].1);
        // Each row block has one offset more than rows.
        let words = |arcs: u64| Bytes::of::<u32>(u64::from(covered) + many + arcs);
        match rows {
            StreamedRows::Read => add(totals, many, Bytes(self.read.of(first..last)), words(arcs)),
            StreamedRows::Skipped => add(totals, many, rows.size(range, 0).bytes(), words(0)),
            StreamedRows::Resident => {
                add(totals, many, rows.size(range, 0).bytes(), Bytes(self.resident[last] - self.resident[first]));
            }
        }
        Ok(())
    }
}

fn add(totals: &mut RowBlockTotals, many: u64, largest: Bytes, bytes: Bytes) {
    totals.row_blocks += many;
    totals.largest_row_block = totals.largest_row_block.max(largest);
    totals.all_row_blocks += bytes;
}

/// Range maximum queries: a segment tree, the leaves last.
struct Maxima(Vec<u64>);

impl Maxima {
    fn new(numbers: impl Iterator<Item = u64>) -> Self {
        let numbers: Vec<u64> = numbers.collect();
        let mut tree = [vec![0; numbers.len()], numbers].concat();
        for i in (1..tree.len() / 2).rev() {
            tree[i] = tree[2 * i].max(tree[2 * i + 1]);
        }
        Self(tree)
    }

    fn of(&self, range: Range<usize>) -> u64 {
        let leaves = self.0.len() / 2;
        let (mut begin, mut end, mut most) = (range.start + leaves, range.end + leaves, 0);
        while begin < end {
            if begin % 2 == 1 {
                most = most.max(self.0[begin]);
                begin += 1;
            }
            if end % 2 == 1 {
                end -= 1;
                most = most.max(self.0[end]);
            }
            (begin, end) = (begin / 2, end / 2);
        }
        most
    }
}
