//! A worker's own counters, for the hubs. The first hubs, corners of most triangles, are counted 64 at a time, by bit planes ([`planes`]).

use crate::count::cpu::probe::NonEmptyWords;
use trimill_counting::planes::{self, EMPTY, FULL, Planes};
use trimill_system::Bytes;

/// 64 counters in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct WordPlanes(Planes);

/// Counters of the bits of some words; each takes up to 255 additions before it must be emptied.
#[derive(Debug, Default)]
pub(super) struct WordCounters {
    planes: Vec<WordPlanes>,
    added: Vec<u8>,
}

impl WordCounters {
    pub(super) fn new(words: usize) -> Self {
        Self { planes: vec![WordPlanes(EMPTY); words], added: vec![0; words] }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<WordPlanes>(self.planes.capacity() as u64) + Bytes(self.added.capacity() as u64)
    }

    pub(super) fn bytes_for(words: u64) -> Bytes {
        Bytes((size_of::<WordPlanes>() as u64 + 1) * words)
    }

    /// Adds 1 for each bit. Returns whether the word is full and must be taken.
    #[inline(always)]
    pub(super) fn add(&mut self, word: usize, bits: u64) -> bool {
        planes::add(&mut self.planes[word].0, bits);
        self.added[word] += 1;
        u32::from(self.added[word]) == FULL
    }

    /// Adds 1 for each bit of four words. Returns whether the word has no room for four more and must be taken. Do not mix with [`Self::add`].
    #[inline(always)]
    fn add_four(&mut self, word: usize, bits: [u64; 4]) -> bool {
        planes::add_four(&mut self.planes[word].0, bits);
        self.added[word] += 4;
        u32::from(self.added[word]) + 4 > FULL
    }

    /// The planes of a word if anything was added; the caller must clear them.
    #[inline(always)]
    pub(super) fn take(&mut self, word: usize) -> Option<&mut Planes> {
        (std::mem::take(&mut self.added[word]) > 0).then_some(&mut self.planes[word].0)
    }
}

#[derive(Debug, Default)]
pub(in crate::count::cpu) struct NearCounters {
    /// The count of each number, without additions that are still in `words`.
    counts: Vec<u64>,
    words: WordCounters,
}

impl NearCounters {
    pub(in crate::count::cpu) fn new(numbers: u32) -> Self {
        let words = numbers.div_ceil(64) as usize;
        Self { counts: vec![0; 64 * words], words: WordCounters::new(words) }
    }

    pub(in crate::count::cpu) fn bytes(&self) -> Bytes {
        Bytes::of::<u64>(self.counts.capacity() as u64) + self.words.bytes()
    }

    pub(in crate::count::cpu) fn bytes_for(numbers: u32) -> Bytes {
        let words = u64::from(numbers.div_ceil(64));
        Bytes::of::<u64>(64 * words) + WordCounters::bytes_for(words)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut u64> {
        self.counts.get_mut(number as usize)
    }

    /// As [`Corners::common_of_four`](super::Corners::common_of_four); `None` if there are no counters.
    #[inline(always)]
    pub(super) fn count_four(&mut self, row: NonEmptyWords<'_>, four: [&[u64]; 4]) -> Option<[u64; 4]> {
        if self.counts.is_empty() {
            return None;
        }
        let mut found = [0; 4];
        let four = four.map(|bits| &bits[..four[0].len()]);
        for (&place, word) in row.places.iter().zip(row.words) {
            let place = usize::from(place);
            let both = four.map(|bits| bits[place] & word);
            found.iter_mut().zip(both).for_each(|(found, both)| *found += u64::from(both.count_ones()));
            if self.words.add_four(place, both) {
                self.empty(place);
            }
        }
        Some(found)
    }

    /// The counters of all numbers, with the planes added.
    pub(super) fn all(&mut self) -> &mut [u64] {
        (0..self.counts.len() / 64).for_each(|word| self.empty(word));
        &mut self.counts
    }

    /// Adds the planes of a word to the counts. Rarely called, so not inlined.
    #[inline(never)]
    fn empty(&mut self, word: usize) {
        if let Some(planes) = self.words.take(word) {
            planes::take_all(planes, &mut self.counts.as_chunks_mut().0[word]);
        }
    }
}
