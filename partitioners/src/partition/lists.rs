//! Which of many partitions each vertex is in, as lists, to size partitions without building them.
//!
//! Input: the graph, the partition of each vertex, a range of partitions. Output: their sizes. A vertex is in the partition where it is
//! local and in all partitions where a neighbour is local: its list is at most as long as its number of neighbours plus one, however many
//! partitions there are. Where partitions are small this is much less than a bit per partition ([`super::masks`]). An arc is in the partitions
//! that the lists of both ends share. Three passes over the graph, one more at level `zero-indegree`; per arc, the shorter of two lists is
//! looked up in the longer one, or both are merged. Memory: 4 bytes per vertex, and 4 per unit of [`weights`].

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::GraphPasses;
use super::assignment::Assignment;
use super::prune::Prune;
use trimill_graph::{Direction, OrientedGraph};
use trimill_system::Result;
use trimill_system::control::Task;
use trimill_system::mapped::zeros;

/// Units of 4 bytes that a partition's sums take, besides its entries in lists.
const OF_PARTITION: u64 = size_of::<PartitionSums>() as u64 / 4;

/// The lowest bit of an entry: whether the partition keeps the vertex (`direct`: whether it is a successor of a local). The rest is the partition.
const KEPT: u32 = 1;

/// If one list is longer than the other by more than this factor, it is searched for the other's entries; otherwise both are merged.
const MUCH_LONGER: usize = 16;

/// The most units of 4 bytes that each partition takes: one for each of its locals and of their neighbours.
pub(super) fn weights(graph: &OrientedGraph, locals: &Assignment) -> Vec<u64> {
    let mut weights = vec![OF_PARTITION; locals.parts() as usize];
    let degrees = graph.degree_runs().iter().flat_map(|run| std::iter::repeat_n(run.degree, run.vertices as usize));
    locals.part_of().iter().zip(degrees).for_each(|(&part, degree)| weights[part as usize] += 1 + u64::from(degree));
    weights
}

pub(super) fn passes(level: Prune) -> u64 {
    if level == Prune::ZeroIndegree { 4 } else { 3 }
}

/// The sums of each of `parts`: proxies and arcs, induced and kept, and arcs out of locals, which level `direct` keeps besides.
pub(super) fn sizes(
    passes: GraphPasses<'_>,
    locals: &Assignment,
    parts: Range<u32>,
    level: Prune,
    task: &Task,
) -> Result<Vec<[u64; 5]>> {
    let mut lists = PartitionLists::new(passes, locals, parts, task)?;
    if level == Prune::ZeroIndegree {
        lists.sweep(passes)?;
        task.advance(passes.graph.edges());
    }
    let sums = lists.count(passes, level)?;
    task.advance(passes.graph.edges());
    Ok(sums.into_iter().map(|sums| sums.0.map(AtomicU64::into_inner)).collect())
}

#[derive(Default)]
struct PartitionSums([AtomicU64; 5]);

impl PartitionSums {
    fn add(&self, sum: usize, many: u64) {
        self.0[sum].fetch_add(many, Relaxed);
    }
}

struct PartitionLists<'a> {
    locals: &'a Assignment,
    parts: Range<u32>,
    ends: Vec<u32>,
    /// Ascending in each list.
    entries: Vec<u32>,
}

impl<'a> PartitionLists<'a> {
    fn new(passes: GraphPasses<'_>, locals: &'a Assignment, parts: Range<u32>, task: &Task) -> Result<Self> {
        let graph = passes.graph;
        let mut lists = Self { locals, parts, ends: Vec::new(), entries: Vec::new() };
        let ends: Vec<AtomicU32> = zeros(graph.vertices() as usize);
        passes.each_row(|rank, row| {
            lists.each_entry(rank, row, |rank, _| {
                ends[rank as usize].fetch_add(1, Relaxed);
            });
        })?;
        task.advance(graph.edges());
        let mut sum = 0;
        for end in &ends {
            sum += end.swap(sum, Relaxed);
        }
        let entries: Vec<AtomicU32> = zeros(sum as usize);
        passes.each_row(|rank, row| {
            lists.each_entry(rank, row, |rank, entry| {
                let place = ends[rank as usize].fetch_add(1, Relaxed);
                entries[place as usize].store(entry, Relaxed);
            });
        })?;
        task.advance(graph.edges());
        lists.ends = ends.into_iter().map(AtomicU32::into_inner).collect();
        lists.entries = entries.into_iter().map(AtomicU32::into_inner).collect();
        lists.distinct();
        Ok(lists)
    }

    /// The partition where a vertex is local, relative to the first of the range; `None` if it is outside the range.
    #[inline]
    fn own(&self, rank: u32) -> Option<u32> {
        let part = self.locals.part(rank);
        self.parts.contains(&part).then(|| part - self.parts.start)
    }

    /// Calls `each` with the ranks of a row and the entries that their lists get because of it, some of them repeatedly.
    #[inline]
    fn each_entry(&self, rank: u32, row: &[u32], each: impl Fn(u32, u32)) {
        let own = self.own(rank);
        if let Some(own) = own {
            each(rank, own << 1);
        }
        for &successor in row {
            if let Some(own) = own {
                each(successor, own << 1 | KEPT);
            }
            if let Some(other) = self.own(successor) {
                each(rank, other << 1);
            }
        }
    }

    fn distinct(&mut self) {
        let (mut begin, mut free) = (0, 0);
        for end in &mut self.ends {
            let list = begin..*end as usize;
            begin = list.end;
            self.entries[list.clone()].sort_unstable();
            let first = free;
            for i in list {
                let entry = self.entries[i];
                if free > first && self.entries[free - 1] >> 1 == entry >> 1 {
                    self.entries[free - 1] |= entry;
                } else {
                    self.entries[free] = entry;
                    free += 1;
                }
            }
            *end = free as u32;
        }
        self.entries.truncate(free);
    }

    fn range(&self, rank: u32) -> Range<usize> {
        let begin = rank.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        begin as usize..self.ends[rank as usize] as usize
    }

    fn list(&self, rank: u32) -> &[u32] {
        &self.entries[self.range(rank)]
    }

    /// Algorithm 2 of LSTC: keeps locals, and proxies reachable from them. In descending rank order, a vertex's state is final when it is visited.
    fn sweep(&mut self, passes: GraphPasses<'_>) -> Result<()> {
        for rank in 0..passes.graph.vertices() {
            if let (Some(own), range) = (self.own(rank), self.range(rank)) {
                self.entries[range].iter_mut().filter(|entry| **entry >> 1 == own).for_each(|entry| *entry |= KEPT);
            }
        }
        let mut kept = Vec::new();
        passes.pass(Direction::Falling, |rows| {
            for rank in rows.ranks().rev() {
                passes.control.check()?;
                kept.clear();
                kept.extend(self.list(rank).iter().filter(|&entry| entry & KEPT != 0));
                if kept.is_empty() {
                    continue;
                }
                for &successor in rows.row(rank) {
                    let range = self.range(successor);
                    let begin = range.start;
                    let (list, mut reached) = (&self.entries[range], Vec::new());
                    common(&kept, list, |_, place| reached.push(begin + place));
                    reached.into_iter().for_each(|place| self.entries[place] |= KEPT);
                }
            }
            Ok(())
        })
    }

    fn count(&self, passes: GraphPasses<'_>, level: Prune) -> Result<Vec<PartitionSums>> {
        let sums: Vec<PartitionSums> = self.parts.clone().map(|_| PartitionSums::default()).collect();
        passes.each_row(|rank, row| self.count_row(rank, row, level, &sums))?;
        Ok(sums)
    }

    fn count_row(&self, rank: u32, row: &[u32], level: Prune, sums: &[PartitionSums]) {
        let (own, mine) = (self.own(rank), self.list(rank));
        // Whether the partition keeps this row; at `direct` the rows of locals are added as resident arcs.
        let keeps_row = |entry: u32| match level {
            Prune::None => true,
            Prune::ZeroIndegree => entry & KEPT != 0,
            Prune::Direct => entry & KEPT != 0 && own != Some(entry >> 1),
        };
        for &entry in mine.iter().filter(|&&entry| own != Some(entry >> 1)) {
            let sums = &sums[(entry >> 1) as usize];
            sums.add(0, 1);
            sums.add(2, u64::from(keeps_row(entry)));
        }
        if let Some(own) = own {
            sums[own as usize].add(4, row.len() as u64);
        }
        for &successor in row {
            let theirs = self.list(successor);
            common(mine, theirs, |entry, place| {
                let keeps_head = level == Prune::None || theirs[place] & KEPT != 0;
                let sums = &sums[(entry >> 1) as usize];
                sums.add(1, 1);
                sums.add(3, u64::from(keeps_head && keeps_row(entry)));
            });
        }
    }
}

/// Calls `each` with the entries of `a` whose partitions are also in `b`, and their places in `b`.
fn common(a: &[u32], b: &[u32], mut each: impl FnMut(u32, usize)) {
    let place_in = |list: &[u32], entry: u32| {
        let place = list.partition_point(|other| other >> 1 < entry >> 1);
        list.get(place).is_some_and(|other| other >> 1 == entry >> 1).then_some(place)
    };
    if b.len() > MUCH_LONGER * a.len() {
        a.iter().for_each(|&entry| place_in(b, entry).into_iter().for_each(|place| each(entry, place)));
    } else if a.len() > MUCH_LONGER * b.len() {
        let in_a = |(place, &entry): (usize, &u32)| place_in(a, entry).into_iter().for_each(|i| each(a[i], place));
        b.iter().enumerate().for_each(in_a);
    } else {
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            let (x, y) = (a[i] >> 1, b[j] >> 1);
            if x == y {
                each(a[i], j);
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
    }
}
