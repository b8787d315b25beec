//! A pass over the rows of an input: checks that they are those of a clean graph, and encodes the successors that each row keeps. A row, sorted if
//! necessary, must ascend strictly, and its successors must be vertices. Symmetry is checked by a keyed hash of each pair, added for an arc to a
//! larger id and subtracted for one to a smaller id, modulo 2^64: the sum must be 0. The key is random, so arcs without their reverse pass with
//! probability 2^-64 only. A loop counts as an arc without its reverse. One end of each edge keeps it, so exactly half of the arcs must be kept.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};

use super::row_sort::sort_rows;
use super::waiting::{StagedRows, WaitingRows, encode_row};
use trimill_counting::VertexSet;
use trimill_input::rows::{AdjacencyRows, RowChunk};
use trimill_system::control::{Control, Task};
use trimill_system::hash::mix;
use trimill_system::mapped::prefetch;
use trimill_system::{Result, parallel};

/// The most arcs of a chunk, unless the source says where chunks begin.
const CHUNK: u64 = 1 << 18;

/// Successors of rows that are sorted together, or of one longer row.
const TOGETHER: usize = 1 << 14;

#[derive(Clone, Copy)]
pub(super) struct RowInputs<'a> {
    pub(super) rows: &'a dyn AdjacencyRows,
    /// The ids with a row that is not empty.
    pub(super) present: &'a VertexSet,
    pub(super) lengths: &'a [u32],
    pub(super) rank_of: &'a [u32],
}

struct RowPass<'a> {
    input: RowInputs<'a>,
    waiting: &'a WaitingRows,
    key: Option<u64>,
}

#[derive(Default)]
struct RowScratch {
    rows: KeptRows,
    memory: Vec<u32>,
}

/// What some rows keep, one row after the other.
#[derive(Default)]
struct KeptRows {
    successors: Vec<u32>,
    ranks: Vec<u32>,
    lengths: Vec<u32>,
    encoded: Vec<u8>,
}

impl KeptRows {
    /// Sorts, encodes and adds all rows; leaves none.
    fn add_to(&mut self, waiting: &WaitingRows, stage: &mut StagedRows) -> Result<()> {
        sort_rows(&mut self.successors, &self.lengths);
        let mut rest = &mut self.successors[..];
        for (&rank, &length) in self.ranks.iter().zip(&self.lengths) {
            let (row, after) = rest.split_at_mut(length as usize);
            encode_row(row, &mut self.encoded);
            waiting.add(rank, length, &self.encoded, stage)?;
            rest = after;
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.successors.clear();
        self.ranks.clear();
        self.lengths.clear();
    }
}

impl RowInputs<'_> {
    /// Orients all wanted rows; returns how many arcs those that wait keep, or `None` if they are not clean. With a key it checks the symmetry.
    pub(super) fn orient(
        &self,
        waiting: &WaitingRows,
        key: Option<u64>,
        task: &Task,
        control: &Control,
    ) -> Result<Option<u64>> {
        let pass = RowPass { input: *self, waiting, key };
        let clean = AtomicBool::new(true);
        let (mut chunks, mut sum) = (pass.chunks(), 0u64);
        for band in (0..self.rows.bands()).rev() {
            let first = self.rows.enter(band, control)?;
            let of_band = chunks.split_off(chunks.partition_point(|chunk| chunk.ids.start < first));
            let sums = parallel::try_map_with(of_band, RowScratch::default, |scratch, chunk| {
                control.check()?;
                let sum = match clean.load(Ordering::Relaxed) {
                    true => waiting.with_stage(|stage| pass.orient_chunk(&chunk, scratch, stage))?,
                    false => None,
                };
                if sum.is_none() {
                    clean.store(false, Ordering::Relaxed);
                }
                task.advance(chunk.arcs.end - chunk.arcs.start);
                Ok(sum.unwrap_or_default())
            })?;
            sum = sums.into_iter().fold(sum, u64::wrapping_add);
        }
        let kept = waiting.flush()?;
        Ok((clean.into_inner() && sum == 0).then_some(kept))
    }
}

impl RowPass<'_> {
    /// Divides the rows where the source says, else into chunks of up to [`CHUNK`] arcs, or of one longer row.
    fn chunks(&self) -> Vec<RowChunk> {
        let RowInputs { rows, lengths, .. } = self.input;
        if let Some(starts) = rows.starts() {
            return chunks_at(&starts, lengths).filter(|chunk| !chunk.arcs.is_empty()).collect();
        }
        let (mut chunks, mut first, mut start, mut end) = (Vec::new(), 0, 0, 0);
        for (id, &length) in (0..).zip(lengths) {
            let length = u64::from(length);
            if end + length > start + CHUNK && end > start && length > 0 {
                chunks.push(RowChunk { ids: first..id, arcs: start..end });
                (first, start) = (id, end);
            }
            end += length;
        }
        chunks.push(RowChunk { ids: first..lengths.len() as u64, arcs: start..end });
        chunks
    }

    /// The sum of hashes of arcs to larger ids, minus that of arcs to smaller ids; `None` if the rows are not clean.
    fn orient_chunk(&self, chunk: &RowChunk, scratch: &mut RowScratch, to: &mut StagedRows) -> Result<Option<u64>> {
        let RowInputs { rows, rank_of, present, .. } = self.input;
        let RowScratch { rows: kept, memory } = scratch;
        kept.clear();
        let mut begin = 0;
        let mut sum = 0;
        let mut vertices = present.iter(chunk.ids.start as u32..chunk.ids.end as u32);
        let mut row = InputRow::default();
        let mut at = chunk.arcs.start;
        // Rows that came in several parts which are not in ascending order.
        let mut unsorted = Vec::new();
        let mut clean = true;
        rows.read(chunk, memory, &mut |part| {
            let mut rest = part;
            while !rest.is_empty() {
                if row.left == 0 {
                    let Some(id) = vertices.next() else {
                        clean = false;
                        return Ok(false);
                    };
                    row = InputRow::new(id, self, at);
                    begin = kept.successors.len();
                }
                let now = rest.len().min(row.left);
                let (part, after) = rest.split_at_mut(now);
                // Prefetches for the next row, which is assumed to be as long as this one.
                for &successor in &after[..now.min(after.len())] {
                    prefetch(rank_of, successor as usize);
                }
                if !row.take(part, self, &mut sum, &mut kept.successors) {
                    clean = false;
                    return Ok(false);
                }
                (rest, at) = (after, at + now as u64);
                if row.left == 0 {
                    if row.is_unsorted {
                        unsorted.push(row.whole());
                    }
                    let length = kept.successors.len() - begin;
                    if length > 0 {
                        kept.ranks.push(row.rank);
                        kept.lengths.push(length as u32);
                    }
                    if kept.successors.len() >= TOGETHER {
                        kept.add_to(self.waiting, to)?;
                    }
                }
            }
            Ok(true)
        })?;
        kept.add_to(self.waiting, to)?;
        for row in unsorted {
            clean = clean && self.is_distinct(&row)?;
        }
        Ok((clean && at == chunk.arcs.end).then_some(sum))
    }

    /// Whether no successor occurs twice in a row.
    #[cold]
    fn is_distinct(&self, row: &RowChunk) -> Result<bool> {
        let mut all = Vec::with_capacity((row.arcs.end - row.arcs.start) as usize);
        self.input.rows.read(row, &mut Vec::new(), &mut |part| {
            all.extend_from_slice(part);
            Ok(true)
        })?;
        Ok(are_distinct(all))
    }
}

/// The chunks of rows that begin at these ids.
pub(super) fn chunks_at(starts: &[u64], lengths: &[u32]) -> impl Iterator<Item = RowChunk> {
    let ends = starts.iter().skip(1).copied().chain([lengths.len() as u64]);
    let mut arcs = 0;
    starts.iter().zip(ends).map(move |(&start, end)| {
        let first = arcs;
        arcs += lengths[start as usize..end as usize].iter().map(|&length| u64::from(length)).sum::<u64>();
        RowChunk { ids: start..end, arcs: first..arcs }
    })
}

pub(super) fn are_distinct(mut successors: Vec<u32>) -> bool {
    successors.sort_unstable();
    ascends(&successors)
}

#[derive(Default)]
struct InputRow {
    id: u32,
    rank: u32,
    length: usize,
    /// Where it begins among all arcs.
    at: u64,
    left: usize,
    last: Option<u32>,
    /// Whether a part does not continue the order of the part before it.
    is_unsorted: bool,
    is_wanted: bool,
}

impl InputRow {
    fn new(id: u32, pass: &RowPass<'_>, at: u64) -> Self {
        let (length, rank) = (pass.input.lengths[id as usize] as usize, pass.input.rank_of[id as usize]);
        Self { id, rank, length, at, left: length, last: None, is_unsorted: false, is_wanted: pass.waiting.wants(rank) }
    }

    fn whole(&self) -> RowChunk {
        let id = u64::from(self.id);
        RowChunk { ids: id..id + 1, arcs: self.at..self.at + self.length as u64 }
    }

    /// Takes the next part of the row, not empty: appends the ranks that the row keeps to `kept`. False if the part is not clean.
    #[inline]
    fn take(&mut self, part: &mut [u32], pass: &RowPass<'_>, sum: &mut u64, kept: &mut Vec<u32>) -> bool {
        self.left -= part.len();
        if pass.key.is_none() && !self.is_wanted {
            return true;
        }
        if !ascends(part) {
            part.sort_unstable();
            if !ascends(part) {
                return false;
            }
            self.is_unsorted |= part.len() < self.length;
        }
        self.is_unsorted |= self.last.is_some_and(|last| last >= part[0]);
        let last = part[part.len() - 1];
        if last as usize >= pass.input.rank_of.len() {
            return false;
        }
        self.last = Some(last);
        if let Some(key) = pass.key {
            *sum = sum.wrapping_add(hash(self.id, part, key));
        }
        if self.is_wanted {
            let rank_of = pass.input.rank_of;
            append_kept(self.rank, part.iter().map(|&successor| rank_of[successor as usize]), kept);
        }
        true
    }
}

/// Writes those of the successors' `ranks` that the row of `rank` keeps, the smaller ones, to `kept`; returns how many these are. In reverse: among
/// equal degrees ranks fall as ids rise, so such rows are sorted then.
#[inline(always)]
pub(super) fn keep(rank: u32, ranks: impl DoubleEndedIterator<Item = u32>, kept: &mut [u32]) -> usize {
    let mut end = 0;
    for successor in ranks.rev() {
        kept[end] = successor;
        end += usize::from(successor < rank);
    }
    end
}

#[inline(always)]
pub(super) fn append_kept(
    rank: u32,
    ranks: impl ExactSizeIterator<Item = u32> + DoubleEndedIterator,
    kept: &mut Vec<u32>,
) {
    let begin = kept.len();
    kept.resize(begin + ranks.len(), 0);
    let more = keep(rank, ranks, &mut kept[begin..]);
    kept.truncate(begin + more);
}

/// The hash of an arc between two ids, negative if it goes to the smaller id, so that the hashes of an arc and its reverse add up to 0.
#[inline(always)]
pub(super) fn arc_hash(tail: u32, successor: u32, key: u64) -> u64 {
    let hash = mix((u64::from(tail.min(successor)) << 32 | u64::from(tail.max(successor))) ^ key);
    if successor < tail { hash.wrapping_neg() } else { hash }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn hash(id: u32, part: &[u32], key: u64) -> u64 {
    part.iter().fold(0, |sum: u64, &successor| sum.wrapping_add(arc_hash(id, successor, key)))
}

fn ascends(part: &[u32]) -> bool {
    part.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]))
}

/// A random key, so that no wrong input can be crafted to pass the check.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}
