//! The places of a partition's arcs among all arcs of the graph, to add its counts there. In the in-place mode the arcs of a partition, and of a row
//! block, are consecutive. In the spilled mode rows of locals are whole rows of the graph, but rows of proxies have only some of its successors: to
//! find their places, the graph's rows are read, too, a pass for each partition. Memory: 12 bytes an arc of a block of rows, and 8 a row.

use std::collections::VecDeque;
use std::ops::Range;

use rayon::ThreadPool;

use crate::sums::{ByArc, SumKey};
use trimill_counting::{NumberRuns, Resident, RowBlockView, WordBuffer};
use trimill_graph::OrientedGraph;
use trimill_system::{Bytes, Error, Result, parallel};

#[derive(Debug, Default)]
pub struct Added {
    /// The end of the last row block whose counts were added.
    numbers: u32,
    /// The number of resident arcs, from the first on, whose counts were added.
    resident: u64,
}

/// The graph's rows, read in blocks of `block` bytes in the pool.
#[derive(Clone, Copy)]
pub struct RowsOnHost<'a> {
    pub graph: &'a OrientedGraph,
    pub pool: &'a ThreadPool,
    pub block: Bytes,
}

/// Adds counts of consecutive arcs of the graph, from the given one on.
pub type AddToArcs<'a> = dyn FnMut(u64, &[u32]) -> Result<()> + Send + 'a;

/// The sink of one pass over a partition. `add` is called in the thread pool.
pub struct PartitionEdgeSink<'a> {
    pub(super) rows: RowsOnHost<'a>,
    added: &'a mut Added,
    add: &'a mut AddToArcs<'a>,
    places: ArcPlaces,
    /// The counts that were read last.
    pub(super) buffer: WordBuffer,
    /// The ranges and arcs of row blocks whose counts were not read.
    pub(super) unread: VecDeque<(Range<u32>, u64)>,
}

/// How numbers of a partition map to ranks of the graph.
enum ArcPlaces {
    /// Numbers are ranks; the resident arcs begin with arc `resident` of the graph.
    Same {
        resident: u64,
    },
    Listed(ListedPlaces),
}

struct ListedPlaces {
    ranks: Vec<u32>,
    locals: NumberRuns,
    /// The next local, and how many of its arcs were added.
    next: (usize, u64),
}

impl<'a> PartitionEdgeSink<'a> {
    /// `locals_at`: the number of the first local, if locals are consecutive; `ranks`: the rank of each number, none if numbers are ranks.
    pub fn new(
        rows: RowsOnHost<'a>,
        locals_at: u32,
        ranks: Option<Vec<u32>>,
        added: &'a mut Added,
        add: &'a mut AddToArcs<'a>,
    ) -> Result<Self> {
        let places = match ranks {
            None => ArcPlaces::Same { resident: rows.graph.first_arc(locals_at)? },
            Some(ranks) => ArcPlaces::Listed(ListedPlaces { ranks, locals: NumberRuns::default(), next: (0, 0) }),
        };
        Ok(Self { rows, added, add, places, buffer: WordBuffer::default(), unread: VecDeque::new() })
    }

    /// Whether it needs the rows of row blocks, not only their ranges.
    pub(super) fn needs_rows(&self) -> bool {
        matches!(self.places, ArcPlaces::Listed(_))
    }

    /// The locals of a run of resident rows. All runs come first, in order.
    pub(super) fn locals(&mut self, run: &Resident) {
        if let ArcPlaces::Listed(listed) = &mut self.places {
            listed.locals.append(&run.numbers);
        }
    }

    /// Adds the counts in the buffer to the arcs of the row block of this range, with its rows if needed. Row blocks come in ascending order.
    pub(super) fn add_row_block(&mut self, range: &Range<u32>, rows: Option<&RowBlockView<'_>>) -> Result<()> {
        if range.end <= self.added.numbers {
            return Ok(());
        }
        if range.start < self.added.numbers {
            return Err(Error::defect("another device cut the rows of a partition into other blocks"));
        }
        let Self { rows: of, add, places, buffer, .. } = self;
        let (RowsOnHost { graph, pool, .. }, counts) = (*of, &buffer[..]);
        if counts.iter().any(|&count| count > 0) {
            match (places, rows) {
                (ArcPlaces::Same { .. }, _) => {
                    let first = graph.first_arc(range.start)?;
                    parallel::within(pool, || add(first, counts))?;
                }
                (ArcPlaces::Listed(listed), Some(rows)) => {
                    parallel::within(pool, || listed.add_rows(*of, rows, counts, add))?;
                }
                (ArcPlaces::Listed(_), None) => return Err(Error::defect("the rows of a row block are not there")),
            }
        }
        self.added.numbers = range.end;
        Ok(())
    }

    /// Adds the counts in the buffer to resident arcs from `first` on; they come last, in order.
    pub(super) fn add_resident(&mut self, first: u64) -> Result<()> {
        let Self { rows: RowsOnHost { graph, pool, .. }, add, places, added, buffer, .. } = self;
        let counts = &buffer[..];
        let end = first + counts.len() as u64;
        let skipped = added.resident.saturating_sub(first).min(counts.len() as u64);
        match places {
            ArcPlaces::Same { resident } => {
                parallel::within(pool, || add(*resident + first + skipped, &counts[skipped as usize..]))?;
            }
            ArcPlaces::Listed(listed) => parallel::within(pool, || listed.add_resident(graph, counts, skipped, add))?,
        }
        added.resident = added.resident.max(end);
        Ok(())
    }
}

impl ListedPlaces {
    /// Adds counts of the next resident arcs, without the first `skipped`. Rows close in the graph are added together, with zeros between them.
    fn add_resident(
        &mut self,
        graph: &OrientedGraph,
        counts: &[u32],
        skipped: u64,
        add: &mut AddToArcs<'_>,
    ) -> Result<()> {
        let (mut rest, mut skipped, locals) = (counts, skipped as usize, &self.locals);
        let (mut first, mut together) = (0, Vec::new());
        while !rest.is_empty() {
            let (local, done) = self.next;
            let rank = self.ranks[locals.at(local) as usize];
            let arcs = graph.first_arc(rank)? + done..graph.first_arc(rank + 1)?;
            let (mine, after) = rest.split_at(rest.len().min((arcs.end - arcs.start) as usize));
            let known = skipped.min(mine.len());
            if mine[known..].iter().any(|&count| count > 0) {
                let begin = arcs.start + known as u64;
                if !together.is_empty() && begin + (mine.len() - known) as u64 > first + ByArc::BLOCK {
                    add(first, &together)?;
                    together.clear();
                }
                if together.is_empty() {
                    first = begin;
                }
                together.resize((begin - first) as usize, 0);
                together.extend_from_slice(&mine[known..]);
            }
            skipped -= known;
            let done = done + mine.len() as u64;
            self.next = if arcs.start + mine.len() as u64 == arcs.end { (local + 1, 0) } else { (local, done) };
            rest = after;
        }
        if together.is_empty() { Ok(()) } else { add(first, &together) }
    }

    /// Adds the counts of a row block's arcs. Runs in the current thread pool.
    fn add_rows(
        &self,
        of: RowsOnHost<'_>,
        rows: &RowBlockView<'_>,
        counts: &[u32],
        add: &mut AddToArcs<'_>,
    ) -> Result<()> {
        let RowsOnHost { graph, block, .. } = of;
        let numbers = self.numbers_of(rows);
        let most = block.get() / 12;
        let mut first = 0;
        while first < numbers.len() {
            let rank = self.ranks[numbers[first] as usize];
            let end = graph.last_fitting(rank, false, |rows, arcs| arcs + rows <= most)?;
            let some = numbers[first..].partition_point(|&number| self.ranks[number as usize] < end);
            // No further than the last row that is needed.
            let past = self.ranks[numbers[first + some - 1] as usize] + 1;
            let arcs = graph.first_arc(rank)?..graph.first_arc(past)?;
            let (mut begins, mut successors) = (vec![0u64; (past - rank) as usize + 1], Vec::new());
            successors.resize((arcs.end - arcs.start) as usize, 0);
            graph.read(rank..past, &mut begins, &mut successors)?;
            let mut found = vec![0; successors.len()];
            let mut chunks = Vec::with_capacity(some);
            let (mut rest, mut at) = (&mut found[..], 0);
            for (i, &number) in numbers.iter().enumerate().skip(first).take(some) {
                let row = (self.ranks[number as usize] - rank) as usize;
                let (begin, end) = (begins[row] as usize, begins[row + 1] as usize);
                let (mine, after) = std::mem::take(&mut rest)[begin - at..].split_at_mut(end - begin);
                chunks.push((i, &successors[begin..end], mine));
                (rest, at) = (after, end);
            }
            parallel::try_each(chunks, |(i, whole, found)| {
                let its = rows.first_arc(i) as usize..rows.first_arc(i + 1) as usize;
                self.place(rows.row(i), &counts[its], whole, found)
            })?;
            add(arcs.start, &found)?;
            first += some;
        }
        Ok(())
    }

    fn numbers_of(&self, rows: &RowBlockView<'_>) -> Vec<u32> {
        if rows.holds_all() {
            return rows.range.clone().collect();
        }
        let locals = &self.locals;
        let mut next = locals.below(rows.range.start);
        let end = locals.below(rows.range.end);
        rows.range
            .clone()
            .filter(|&number| {
                let local = next < end && locals.at(next) == number;
                next += usize::from(local);
                !local
            })
            .collect()
    }

    /// Writes the counts of a row's successors, given as numbers, to their places in the `whole` row.
    fn place(&self, row: &[u32], counts: &[u32], whole: &[u32], found: &mut [u32]) -> Result<()> {
        let mut place = 0;
        for (&number, &count) in row.iter().zip(counts).filter(|(_, count)| **count > 0) {
            let rank = self.ranks[number as usize];
            place += whole[place..].partition_point(|&successor| successor < rank);
            if whole.get(place) != Some(&rank) {
                return Err(Error::defect("a partition has an arc that the graph does not have"));
            }
            found[place] = count;
        }
        Ok(())
    }
}
