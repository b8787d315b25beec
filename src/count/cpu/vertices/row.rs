//! Counters for the entries of one packed row, since many of them recur in the rows of its successors.

use super::Corners;
use super::near::WordCounters;
use crate::count::cpu::probe::{NonEmptyWords, each_marked, marked_words};
use trimill_counting::planes;
use trimill_system::Bytes;

#[derive(Debug, Default)]
pub(in crate::count::cpu) struct RowCounters {
    /// The index of each word of the row, by the numbers that it holds.
    slots: Vec<u16>,
    counters: WordCounters,
}

impl RowCounters {
    pub(in crate::count::cpu) fn new(numbered: u32, words: usize) -> Self {
        Self { slots: vec![0; (numbered as usize).div_ceil(64)], counters: WordCounters::new(words) }
    }

    pub(in crate::count::cpu) fn bytes(&self) -> Bytes {
        Bytes::of::<u16>(self.slots.capacity() as u64) + self.counters.bytes()
    }

    pub(in crate::count::cpu) fn bytes_for(numbered: u32, words: usize) -> Bytes {
        Bytes::of::<u16>(u64::from(numbered).div_ceil(64)) + WordCounters::bytes_for(words as u64)
    }

    /// Registers a word of the row: its first number is `base`.
    #[inline(always)]
    pub(in crate::count::cpu) fn enter(&mut self, base: u32, place: usize) {
        self.slots[base as usize / 64] = place as u16;
    }

    /// Adds the counts of a word to `corners`, and clears them; `bits` are the row's entries in it.
    #[inline(always)]
    pub(in crate::count::cpu) fn take(&mut self, base: u32, bits: u64, place: usize, corners: &mut impl Corners) {
        if let Some(planes) = self.counters.take(place) {
            planes::drain(planes, bits, |bit, triangles| corners.number(base + bit as u32, triangles));
        }
    }
}

/// Counts smallest corners for the row, and the others in `all`.
pub(in crate::count::cpu) struct OfRow<'a, C: Corners> {
    pub(in crate::count::cpu) all: &'a mut C,
    pub(in crate::count::cpu) row: &'a mut RowCounters,
}

impl<C: Corners> OfRow<'_, C> {
    #[inline(always)]
    fn add(&mut self, base: u32, bits: u64) {
        let place = usize::from(self.row.slots[base as usize / 64]);
        if self.row.counters.add(place, bits) {
            self.empty(base, place);
        }
    }

    /// Rarely called, so not inlined.
    #[inline(never)]
    fn empty(&mut self, base: u32, place: usize) {
        self.row.take(base, u64::MAX, place, self.all);
    }
}

impl<C: Corners> Corners for OfRow<'_, C> {
    const WANTED: bool = C::WANTED;

    #[inline(always)]
    fn common(&mut self, row: NonEmptyWords<'_>, bits: &[u64]) -> u64 {
        self.all.common(row, bits)
    }

    #[inline(always)]
    fn common_of_four(&mut self, row: NonEmptyWords<'_>, four: [&[u64]; 4]) -> [u64; 4] {
        self.all.common_of_four(row, four)
    }

    #[inline(always)]
    fn marked_bits(&mut self, words: &[[u32; 3]], marks: &[u64]) -> u64 {
        let mut count = 0;
        for (base, both) in marked_words(words, marks) {
            count += u64::from(both.count_ones());
            self.add(base, both);
        }
        count
    }

    #[inline(always)]
    fn marked(&mut self, row: &[u32], marks: &[u64]) -> u64 {
        each_marked(row, marks, |c| self.add(c / 64 * 64, 1 << (c % 64)))
    }

    #[inline(always)]
    fn number(&mut self, number: u32, triangles: u64) {
        self.all.number(number, triangles);
    }

    #[inline(always)]
    fn local(&mut self, i: usize, triangles: u64) {
        self.all.local(i, triangles);
    }
}
