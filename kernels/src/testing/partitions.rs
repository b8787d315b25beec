//! Partitions for tests, and their triangles by brute force.

mod edges;

use std::ops::Range;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

use crate::{
    CompactPart, CompactSlices, PartitionExtent, ResidentRun, ResidentSlices, RowBlockSlices, VertexCounters,
    row_block_bytes,
};

/// A partition with all its rows, before it is cut into row blocks.
#[derive(Debug, Clone)]
pub struct Partition {
    /// The row of each number, locals' and proxies'.
    pub rows: Vec<Vec<u32>>,
    /// Which numbers are local.
    pub local: Vec<bool>,
    numbers: Vec<u32>,
    offsets: Vec<u64>,
    successors: Vec<u32>,
}

/// A row block that owns its slices.
#[derive(Debug, Clone)]
pub struct OwnedRowBlock {
    /// See [`RowBlockSlices`] for these.
    pub range: Range<u32>,
    pub offsets: Vec<u32>,
    pub successors: Vec<u32>,
    pub words: Vec<u64>,
    pub ranks: Vec<u32>,
    pub first_local: u32,
    pub arcs_into: u64,
    pub all_local: bool,
    /// The successors in compact form, in place of those above.
    pub stored: Option<Stored>,
}

/// Rows in the compact form of the graph file.
pub type Stored = (Vec<u8>, Vec<CompactPart>);

/// Stores rows, `in_part` in a part; the successors of the first row are below `bound`, which grows by `step` for each further row.
fn stored<'a>(rows: impl Iterator<Item = &'a [u32]>, bound: u32, step: u32, in_part: usize) -> Stored {
    fn put(mut value: u32, bytes: &mut Vec<u8>) {
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
    let (rows, mut bytes, mut parts): (Vec<_>, _, Vec<CompactPart>) = (rows.collect(), vec![], vec![]);
    let (mut row, mut arc) = (0, 0);
    for rows in rows.chunks(in_part) {
        rows.iter().for_each(|row| put(row.len() as u32, &mut bytes));
        let begin = bytes.len() as u32;
        for row in rows {
            let mut least = 0;
            for &successor in *row {
                put(successor - least, &mut bytes);
                least = successor + 1;
            }
        }
        let (rows, arcs) = (rows.len() as u32, rows.iter().map(|row| row.len() as u32).sum());
        let end = bytes.len() as u32;
        parts.push(CompactPart { begin, end, row, rows, arc, arcs, bound: bound + row * step, bound_step: step });
        (row, arc) = (row + rows, arc + arcs);
    }
    (bytes, parts)
}

/// A run of a resident section that owns its slices.
#[derive(Debug, Clone)]
pub struct OwnedRun {
    offsets: Vec<u64>,
    successors: Vec<u32>,
    /// The successors in compact form, in place of those above.
    stored: Option<Stored>,
}

impl OwnedRun {
    /// A run of plain rows.
    pub fn new(offsets: Vec<u64>, successors: Vec<u32>) -> Self {
        Self { offsets, successors, stored: None }
    }

    /// Makes the first number of a part too large for its row.
    pub fn damage(&mut self, part: usize) {
        let (bytes, parts) = self.stored.as_mut().unwrap();
        let part = parts[part.min(parts.len() - 1)];
        bytes[part.begin as usize..part.end as usize].iter_mut().for_each(|byte| *byte |= 0x7f);
    }
}

impl ResidentRun for OwnedRun {
    fn slices(&self) -> ResidentSlices<'_> {
        let compact = self.stored.as_ref().map(|(bytes, parts)| CompactSlices { bytes, parts });
        ResidentSlices { offsets: &self.offsets, successors: &self.successors, compact }
    }
}

impl OwnedRowBlock {
    /// The same with compact rows, `in_part` in a part.
    pub fn as_stored(&self, in_part: usize) -> Self {
        let rows = self.offsets.windows(2).map(|ends| &self.successors[ends[0] as usize..ends[1] as usize]);
        Self { stored: Some(stored(rows, self.range.start, 1, in_part)), ..self.clone() }
    }

    /// Bytes that it takes on the device.
    pub fn bytes(&self) -> u64 {
        row_block_bytes(
            self.range.len() as u32,
            self.offsets.len() as u64 - 1,
            self.successors.len() as u64,
            self.all_local,
        )
    }

    pub fn slices(&self) -> RowBlockSlices<'_> {
        RowBlockSlices {
            range: self.range.clone(),
            offsets: &self.offsets,
            successors: if self.stored.is_some() { &[] } else { &self.successors },
            compact: self.stored.as_ref().map(|(bytes, parts)| CompactSlices { bytes, parts }),
            local_words: &self.words,
            local_ranks: &self.ranks,
            first_local: self.first_local,
            arcs_into: self.arcs_into,
            all_local: self.all_local,
        }
    }
}

impl Partition {
    /// A partition of these rows, of which some are local.
    pub fn new(rows: Vec<Vec<u32>>, local: Vec<bool>) -> Self {
        let mut made = Self { rows, local, numbers: vec![], offsets: vec![0], successors: vec![] };
        for (number, row) in made.rows.iter().enumerate() {
            assert!(row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| (last as usize) < number));
            if made.local[number] {
                made.numbers.push(number as u32);
                made.successors.extend(row);
                made.offsets.push(made.successors.len() as u64);
            }
        }
        made
    }

    /// The resident section in runs of `rows` rows.
    pub fn runs(&self, rows: usize) -> Vec<OwnedRun> {
        let run = |first: usize| {
            let end = (first + rows).min(self.numbers.len());
            let successors = self.offsets[first] as usize..self.offsets[end] as usize;
            OwnedRun::new(self.offsets[first..=end].to_vec(), self.successors[successors].to_vec())
        };
        (0..self.numbers.len().max(1)).step_by(rows).map(run).collect()
    }

    /// The same with compact rows, `in_part` in a part.
    pub fn stored_runs(&self, rows: usize, in_part: usize) -> Vec<OwnedRun> {
        let run = |(i, run): (usize, OwnedRun)| {
            let first = run.offsets[0];
            let rows_of =
                run.offsets.windows(2).map(|e| &run.successors[(e[0] - first) as usize..(e[1] - first) as usize]);
            let numbers = self.numbers.chunks(rows).nth(i).unwrap_or(&[]);
            let (bound, step) = match (numbers.first(), numbers.last()) {
                (Some(&first), Some(&last)) if (last - first) as usize + 1 == numbers.len() => (first, 1),
                (_, last) => (last.copied().unwrap_or(0), 0),
            };
            let stored = Some(stored(rows_of, bound, step, in_part));
            OwnedRun { offsets: run.offsets, successors: vec![], stored }
        };
        self.runs(rows).into_iter().enumerate().map(run).collect()
    }

    /// Its size, with row blocks of at most `row_block_limit` bytes.
    pub fn size(&self, row_block_limit: u64) -> PartitionExtent {
        let (locals, arcs) = (self.numbers.len() as u64, self.successors.len() as u64);
        PartitionExtent { locals, arcs, numbered: self.numbered(), row_block_limit }
    }

    /// The same where the limit is the largest of these row blocks.
    pub fn size_with(&self, row_blocks: &[OwnedRowBlock]) -> PartitionExtent {
        self.size(row_blocks.iter().map(OwnedRowBlock::bytes).max().unwrap_or(0))
    }

    /// Locals and proxies.
    pub fn numbered(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The whole graph as one partition.
    pub fn whole(rows: Vec<Vec<u32>>) -> Self {
        let local = vec![true; rows.len()];
        Self::new(rows, local)
    }

    /// Triangles whose corner of largest number is local, by trying all pairs of successors.
    pub fn triangles(&self) -> u64 {
        let mut count = 0;
        for &a in &self.numbers {
            let row = &self.rows[a as usize];
            for (k, &b) in row.iter().enumerate() {
                let other = &self.rows[b as usize];
                count += row[..k].iter().filter(|c| other.binary_search(c).is_ok()).count() as u64;
            }
        }
        count
    }

    /// The triangles at each number, of those whose corner of largest number is local: as [`Self::triangles`].
    pub fn at_vertices(&self) -> Vec<u64> {
        let mut found = vec![0; self.rows.len()];
        for &a in &self.numbers {
            let row = &self.rows[a as usize];
            for (k, &b) in row.iter().enumerate() {
                let other = &self.rows[b as usize];
                for &c in row[..k].iter().filter(|c| other.binary_search(c).is_ok()) {
                    [a, b, c].into_iter().for_each(|corner| found[corner as usize] += 1);
                }
            }
        }
        found
    }

    /// The triangles at each number, of those that passes over the partition count: `pass` counts with the counters of a window
    /// and returns them. Counters are held `held` at a time.
    pub fn in_passes(&self, held: u64, mut pass: impl FnMut(VertexCounters) -> Vec<u64>) -> Vec<u64> {
        let locals = self.numbers.len() as u64;
        let consecutive = self.numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let locals_at = match self.numbers.first() {
            Some(&first) if consecutive => u64::from(first),
            _ => self.rows.len() as u64,
        };
        let all = VertexCounters::all(&self.size(0), locals_at);
        let mut counters = Vec::new();
        for first in (0..all).step_by(held as usize) {
            counters.extend(pass(VertexCounters { window: first..all.min(first + held), locals_at }));
        }
        let mut found = counters[..self.rows.len()].to_vec();
        if locals_at == self.rows.len() as u64 {
            for (i, &number) in (0..locals).zip(&self.numbers) {
                found[number as usize] += counters[(locals_at + i) as usize];
            }
        }
        found
    }

    /// Row blocks of the proxies' rows that end at `cuts` and at the end.
    pub fn row_blocks(&self, cuts: &[u32]) -> Vec<OwnedRowBlock> {
        ranges(cuts, self.numbered()).map(|range| self.row_block(range)).collect()
    }

    /// The same row blocks with the rows of locals, too.
    pub fn shared_row_blocks(&self, cuts: &[u32]) -> Vec<OwnedRowBlock> {
        let nothing_local = Self { local: vec![false; self.local.len()], ..self.clone() };
        let first_local = |range: &Range<u32>| self.numbers.partition_point(|&number| number < range.start) as u32;
        ranges(cuts, self.numbered())
            .map(|range| OwnedRowBlock { first_local: first_local(&range), ..nothing_local.row_block(range) })
            .collect()
    }

    /// The row blocks of case number `i` of a test, of the proxies' rows and of all rows in turn; and the size with them.
    pub fn case(&self, i: usize, cuts: &[u32]) -> (Vec<OwnedRowBlock>, PartitionExtent) {
        let row_blocks = if i.is_multiple_of(2) { self.row_blocks(cuts) } else { self.shared_row_blocks(cuts) };
        let size = self.size_with(&row_blocks);
        (row_blocks, size)
    }

    fn row_block(&self, range: Range<u32>) -> OwnedRowBlock {
        let places = range.start as usize..range.end as usize;
        let (mut offsets, mut successors) = (vec![0], vec![]);
        let mut words = vec![0u64; range.len().div_ceil(64)];
        for (place, number) in places.clone().enumerate() {
            if self.local[number] {
                words[place / 64] |= 1 << (place % 64);
            } else {
                successors.extend(&self.rows[number]);
                offsets.push(successors.len() as u32);
            }
        }
        if offsets.len() > range.len() {
            // Each number has its row, local or not.
            words.clear();
        }
        let mut before = 0;
        let ranks = words
            .iter()
            .map(|word| {
                before += word.count_ones();
                before - word.count_ones()
            })
            .collect();
        let first_local = self.local[..places.start].iter().filter(|&&local| local).count() as u32;
        let all_local = !range.is_empty() && self.local[places].iter().all(|&local| local);
        // Set for every other row block.
        let into = self.successors.iter().filter(|successor| range.contains(successor)).count() as u64;
        let arcs_into = if range.start.is_multiple_of(2) { into } else { u64::MAX };
        OwnedRowBlock { range, offsets, successors, words, ranks, first_local, arcs_into, all_local, stored: None }
    }
}

/// The ranges that end at `cuts` and at `end`.
fn ranges(cuts: &[u32], end: u32) -> impl Iterator<Item = Range<u32>> {
    let mut ends = cuts.to_vec();
    ends.push(end);
    ends.sort_unstable();
    let mut start = 0;
    ends.into_iter().map(move |end| std::mem::replace(&mut start, end)..end)
}

/// Rows of random lengths up to `longest`, with more successors among the small numbers; some rows hold all smaller numbers.
pub fn random(seed: u64, vertices: u32, longest: u32, full_rows: u32, local_share: f64) -> Partition {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<Vec<u32>> = (0..vertices)
        .map(|number| {
            let mut row: Vec<u32> = (0..rng.random_range(0..=longest.min(number)))
                .map(|_| {
                    let share: f64 = rng.random();
                    (share * share * f64::from(number)) as u32
                })
                .collect();
            row.sort_unstable();
            row.dedup();
            row
        })
        .collect();
    for _ in 0..full_rows {
        let number = vertices - 1 - below(&mut rng, vertices / 2);
        rows[number as usize] = (0..number).collect();
    }
    let local = (0..vertices).map(|_| rng.random_bool(local_share)).collect();
    Partition::new(rows, local)
}

/// Cuts for row blocks: none, some at random, and one at every end of a word.
pub fn cuts(seed: u64, vertices: u32) -> Vec<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let some = (0..5).map(|_| below(&mut rng, vertices)).collect();
    vec![vec![], vec![vertices / 2], some, (1..vertices / 64).map(|i| i * 64).collect()]
}

fn below(rng: &mut impl Rng, end: u32) -> u32 {
    rng.random_range(0..end.max(1))
}
