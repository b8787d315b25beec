//! A worker's counts of the words of 64 numbers that it met last. Packed rows, as in web crawls, lie close together and meet the same middle and
//! smallest corners repeatedly; additions to the counters that all workers share are atomic.

use super::Corners;
use trimill_system::Bytes;

/// A word has one slot that it can be in. All of them take 129 KB.
const SLOTS: usize = 256;

const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(in crate::count::cpu) struct RecentCounts {
    /// The word in each slot.
    words: Vec<u32>,
    counts: Vec<[u64; 64]>,
}

impl RecentCounts {
    pub(in crate::count::cpu) const BYTES: Bytes = Bytes((SLOTS * size_of::<(u64, [u64; 64])>()) as u64);

    pub(in crate::count::cpu) fn new() -> Self {
        Self { words: vec![NONE; SLOTS], counts: vec![[0; 64]; SLOTS] }
    }

    pub(in crate::count::cpu) fn bytes(&self) -> Bytes {
        if self.words.is_empty() { Bytes::ZERO } else { Self::BYTES }
    }

    /// The counts of a word. Those of the word that was in its slot are added to `corners`.
    #[inline(always)]
    pub(super) fn of(&mut self, word: u32, corners: &mut impl Corners) -> &mut [u64; 64] {
        let slot = word as usize % SLOTS;
        if self.words[slot] != word {
            self.replace(slot, word, corners);
        }
        &mut self.counts[slot]
    }

    /// Rarely called, so not inlined.
    #[inline(never)]
    fn replace(&mut self, slot: usize, word: u32, corners: &mut impl Corners) {
        let old = std::mem::replace(&mut self.words[slot], word);
        if old == NONE {
            return;
        }
        for (number, count) in (64 * old..).zip(&mut self.counts[slot]) {
            match std::mem::take(count) {
                0 => {}
                triangles => corners.number(number, triangles),
            }
        }
    }

    /// Adds all counts to `corners`.
    pub(in crate::count::cpu) fn flush(&mut self, corners: &mut impl Corners) {
        (0..self.words.len()).for_each(|slot| self.replace(slot, NONE, corners));
    }
}
