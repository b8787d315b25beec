//! The arrays of a worker, and how it intersects the row of a local `a` with those of its successors.
//!
//! **Hubs.** `a`'s row below the last hub is packed into non-empty words of 64 numbers and places. A hub's row is kept as bits ([`super::hubs`]), all
//! below `b`, so the triangles of an arc `a -> b` are the common bits of `b`'s row and `a`'s words up to the word that holds `b`.
//!
//! Rows of the first [`DIRECT`] hubs stay in a core's cache and are intersected at once, four at a time. Arcs to other hubs are postponed
//! until there are many and then intersected hub by hub, so that each hub's row is loaded once for all its arcs.
//!
//! **Other successors** that are not counted by head ([`super::by_head`]). `a`'s row is marked in a bitmap, which the row of `b` probes, unless it
//! ends before `a`'s first entry or begins after its last. The rows of up to [`AHEAD`] successors are prefetched before the first is probed. Where
//! most rows are packed ([`super::pack`]) and `a`'s successors are close together, their rows are mostly nearby, and are not prefetched.

use std::ops::Range;

use super::ahead::{AHEAD, prefetch_row};
use super::hubs::Hubs;
use super::pack::{self, BitRows, Unpacked};
use super::postponed::{Capacity, PostponedArc, PostponedArcs};
use super::probe::{mark, may_intersect, unmark};
use super::vertices::{Corners, HostVertexCounters, NearCounters, OfRow, RowCounters, WorkerVertices};
use crate::count::successors::SuccessorRows;
use trimill_counting::Resident;
use trimill_system::Bytes;

/// Hubs whose arcs are counted at once: their rows take 256 KiB.
pub(super) const DIRECT: u32 = 2048;

/// The pieces of a run, of equal numbers of locals, that threads take.
const PIECES: usize = 8;

/// How many postponed arcs ahead words are prefetched.
const WORDS_AHEAD: usize = 8;

/// With at least this many successors per word of a packed row, the successors' rows count as close to each other.
const DENSE: usize = 4;

/// A local's row up to the end of a row block; the middle corners of the triangles to count are those from `start` on.
#[derive(Clone, Copy)]
pub(super) struct RowHead<'a> {
    pub(super) row: &'a [u32],
    pub(super) start: usize,
}

#[derive(Debug)]
pub(super) struct CpuWorker {
    /// A bit for each number of the numbering; all zero between rows.
    pub(super) marks: Vec<u64>,
    pub(super) postponed: PostponedArcs,
    pub(super) unpacked: Unpacked,
    /// If triangles are counted at vertices: each row's local, by the row's first packed word, and the triangles of its postponed arcs.
    locals: Vec<u32>,
    of_locals: Vec<u32>,
    pub(super) near: NearCounters,
    of_row: RowCounters,
}

impl CpuWorker {
    /// `near`: for how many hubs the worker has its own counters.
    pub(super) fn new(numbered: u32, room: Capacity, near: u32) -> Self {
        Self {
            marks: vec![0; (numbered as usize).div_ceil(64)],
            postponed: PostponedArcs::new(room),
            unpacked: Unpacked::new(),
            locals: Vec::new(),
            of_locals: Vec::new(),
            near: NearCounters::new(near),
            of_row: if room.vertices { RowCounters::new(numbered, pack::MOST_WORDS) } else { RowCounters::default() },
        }
    }

    pub(super) fn allocate(&mut self, hubs: Bytes) {
        self.postponed.allocate(hubs);
        if self.postponed.room.vertices && self.locals.is_empty() {
            self.locals = vec![0; self.postponed.room.words];
            self.of_locals = vec![0; self.postponed.room.words];
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u64>(self.marks.capacity() as u64)
            + self.near.bytes()
            + self.postponed.bytes()
            + Bytes::of::<u32>((self.locals.capacity() + self.of_locals.capacity()) as u64)
            + Unpacked::BYTES
            + self.of_row.bytes()
    }

    /// Counts by `count`, which adds the triangles at each vertex to the worker's own counters or to `all`.
    pub(super) fn at_vertices(
        &mut self,
        all: &HostVertexCounters,
        count: impl FnOnce(&mut Self, &mut WorkerVertices<'_>) -> u64,
    ) -> u64 {
        let mut near = std::mem::take(&mut self.near);
        let counted = count(self, &mut WorkerVertices { all, near: &mut near });
        self.near = near;
        counted
    }

    /// Counts the triangles that start at a local and whose middle corner is a hub; all of `head` is below the end of the hubs. Postponed arcs are
    /// counted by a later call, or by [`Self::intersect_sorted`].
    #[inline(always)]
    pub(super) fn intersect_hubs<C: Corners>(
        &mut self,
        local: usize,
        head: RowHead<'_>,
        hubs: &Hubs,
        corners: &mut C,
    ) -> u64 {
        let RowHead { row, start } = head;
        let mut postponed = 0;
        if !self.postponed.has_room_for(row.len()) {
            postponed += self.intersect_postponed(hubs, corners);
            self.postponed.forget();
        }
        let mut count = 0;
        let first = self.postponed.next_word();
        self.pack(row);
        if C::WANTED
            && let Some(its) = self.locals.get_mut(first)
        {
            *its = local as u32;
        }
        let at_once = match self.postponed.room.arcs {
            0 => row.len(),
            _ => row.partition_point(|&b| b < DIRECT).max(start),
        };
        // The packed word of the current entry; the next entry is in the same word or the next one.
        let mut word =
            first + self.postponed.places()[first..].partition_point(|&place| u32::from(place) < row[start] / 64);
        let next = |word: usize, b: u32, waiting: &PostponedArcs| {
            word + usize::from(u32::from(waiting.places()[word]) < b / 64)
        };
        let packed = self.postponed.words(first..self.postponed.next_word());
        let (fours, rest) = row[start..at_once].as_chunks::<4>();
        for &four in fours {
            let ends = four.map(|b| {
                word = next(word, b, &self.postponed);
                word + 1 - first
            });
            // A hub's row ends in the hub's own word.
            let of_all = four[0] as usize / 64 + 1;
            let found = corners.common_of_four(packed.some(0..ends[0]), four.map(|b| &hubs.row(b)[..of_all]));
            for ((b, end), mut found) in four.into_iter().zip(ends).zip(found) {
                found += corners.common(packed.some(ends[0]..end), hubs.row(b));
                corners.number(b, found);
                count += found;
            }
        }
        for &b in rest {
            word = next(word, b, &self.postponed);
            let found = corners.common(packed.some(0..word + 1 - first), hubs.row(b));
            corners.number(b, found);
            count += found;
        }
        corners.local(local, count);
        if at_once == row.len() {
            self.postponed.truncate_words(first);
            return postponed + count;
        }
        for &b in &row[at_once..] {
            word = next(word, b, &self.postponed);
            if self.postponed.is_full() {
                postponed += self.intersect_postponed(hubs, corners);
            }
            let words = (word + 1 - first) as u16;
            self.postponed.push(PostponedArc { tail: first as u32, len: words, head: b as u16 });
        }
        postponed + count
    }

    #[inline(always)]
    fn pack(&mut self, row: &[u32]) {
        let (mut place, mut word) = (row[0] / 64, 0);
        for &c in row {
            if c / 64 != place {
                self.postponed.push_word(place, word);
                (place, word) = (c / 64, 0);
            }
            word |= 1 << (c % 64);
        }
        self.postponed.push_word(place, word);
    }

    #[inline(always)]
    fn intersect_postponed<C: Corners>(&mut self, hubs: &Hubs, corners: &mut C) -> u64 {
        self.postponed.sort();
        let mut of_locals = std::mem::take(&mut self.of_locals);
        let count = self.intersect_sorted(0..self.postponed.len(), hubs, corners, |_, tail, found| {
            // Summed by local first: in the order of heads, additions to the shared counters would be random accesses.
            if C::WANTED
                && let Some(sum) = of_locals.get_mut(tail)
            {
                *sum += found as u32;
            }
        });
        for (sum, &local) in of_locals.iter_mut().zip(&self.locals).take(self.postponed.next_word()) {
            if *sum > 0 {
                corners.local(local as usize, std::mem::take(sum).into());
            }
        }
        self.of_locals = of_locals;
        self.postponed.forget_arcs();
        count
    }

    /// Counts the triangles of some postponed arcs. `of_tail` gets the place of the first word of a tail's row, and the triangles that start there.
    #[inline(always)]
    pub(super) fn intersect_sorted<C: Corners>(
        &self,
        arcs: Range<usize>,
        hubs: &Hubs,
        corners: &mut C,
        mut of_tail: impl FnMut(&mut C, usize, u64),
    ) -> u64 {
        let mut count = 0;
        let arcs = &self.postponed.sorted()[arcs];
        for (i, arc) in arcs.iter().enumerate() {
            if let Some(later) = arcs.get(i + WORDS_AHEAD) {
                self.postponed.prefetch_words(later);
            }
            let head = u32::from(arc.head);
            let found = corners.common(self.postponed.words_of(arc), hubs.row(head));
            corners.number(head, found);
            of_tail(corners, arc.tail as usize, found);
            count += found;
        }
        count
    }

    #[inline(always)]
    pub(super) fn local_at(&self, word: usize) -> usize {
        self.locals[word] as usize
    }

    /// Counts the triangles that start at the local with `head.row`, packed as `words` if any. All may be marked: entries of other rows are smaller.
    #[inline(always)]
    pub(super) fn intersect_others<C: Corners>(
        &mut self,
        head: RowHead<'_>,
        words: Option<&[[u32; 3]]>,
        around: &RowBlockContext<'_>,
        corners: &mut C,
    ) -> u64 {
        let row = head.row;
        let Some(words) = words else {
            mark(row, &mut self.marks);
            let count = self.intersect_ahead(head, around.successors, corners);
            unmark(row, &mut self.marks);
            return count;
        };
        words.iter().for_each(|word| self.marks[word[0] as usize] = pack::bits(word));
        let near_each_other = around.packed == BitRows::Most && DENSE * words.len() <= row.len();
        let count = if C::WANTED {
            let mut counters = std::mem::take(&mut self.of_row);
            words.iter().enumerate().for_each(|(place, word)| counters.enter(word[0] * 64, place));
            let mut of_row = OfRow { all: corners, row: &mut counters };
            let count = self.intersect_marked(head, near_each_other, around.successors, &mut of_row);
            for (place, word) in words.iter().enumerate() {
                counters.take(word[0] * 64, pack::bits(word), place, corners);
            }
            self.of_row = counters;
            count
        } else {
            self.intersect_marked(head, near_each_other, around.successors, corners)
        };
        words.iter().for_each(|word| self.marks[word[0] as usize] = 0);
        count
    }

    #[inline(always)]
    fn intersect_marked<C: Corners>(
        &self,
        head: RowHead<'_>,
        near_each_other: bool,
        successors: &SuccessorRows<'_>,
        corners: &mut C,
    ) -> u64 {
        if !near_each_other {
            return self.intersect_ahead(head, successors, corners);
        }
        let mut count = 0;
        for &b in &head.row[head.start..] {
            let found = self.intersect(successors.row(b), corners);
            corners.number(b, found);
            count += found;
        }
        count
    }

    /// As [`Self::intersect_marked`], for rows that may be anywhere in memory, which are prefetched.
    #[inline(always)]
    fn intersect_ahead<C: Corners>(&self, head: RowHead<'_>, successors: &SuccessorRows<'_>, corners: &mut C) -> u64 {
        let RowHead { row, start } = head;
        let (first, last) = (row[0], row[row.len() - 1]);
        let mut count = 0;
        for some in row[start..].chunks(AHEAD) {
            let mut ahead: [(u32, &[u32]); AHEAD] = [(0, &[]); AHEAD];
            let mut found = 0;
            for &b in some {
                let successor_row = successors.row(b);
                // Reads all row bounds before probing the first row.
                ahead[found] = (b, successor_row);
                if may_intersect(successor_row, first, last) {
                    prefetch_row(successor_row);
                    found += 1;
                }
            }
            for &(b, successor_row) in &ahead[..found] {
                let found = self.intersect(successor_row, corners);
                corners.number(b, found);
                count += found;
            }
        }
        count
    }

    #[inline(always)]
    fn intersect<C: Corners>(&self, successor_row: &[u32], corners: &mut C) -> u64 {
        match pack::words(successor_row) {
            Some(words) => corners.marked_bits(words, &self.marks),
            None => corners.marked(successor_row, &self.marks),
        }
    }
}

/// Some consecutive locals, and how many entries of each one's row earlier row blocks have covered.
pub(super) struct LocalsRun<'a> {
    pub(super) first: usize,
    pub(super) cursors: &'a mut [u32],
}

impl<'a> LocalsRun<'a> {
    /// Cuts runs into smaller ones, since the rows of some runs take ten times as long as others with the same number of arcs.
    pub(super) fn pieces(self) -> impl Iterator<Item = LocalsRun<'a>> {
        let locals = self.cursors.len().div_ceil(PIECES).max(1);
        let pieces = (self.first..).step_by(locals).zip(self.cursors.chunks_mut(locals));
        pieces.map(|(first, cursors)| LocalsRun { first, cursors })
    }

    pub(super) fn locals(&self) -> Range<usize> {
        self.first..self.first + self.cursors.len()
    }

    pub(super) fn arcs(&self, resident: &Resident) -> u64 {
        let Range { start, end } = self.locals();
        resident.offsets[end] - resident.offsets[start]
    }
}

pub(super) struct RowBlockContext<'a> {
    pub(super) packed: BitRows,
    pub(super) range: &'a Range<u32>,
    pub(super) successors: &'a SuccessorRows<'a>,
    pub(super) hubs: &'a Hubs,
}
