//! Counts, for 64 bits at once, in how many of many words each is set.

/// Words before the planes are emptied into the totals.
const FULL: u32 = (1 << 16) - 1;

/// Vertical counters: plane `i` holds bit `i` of 64 counts. Adding a word costs two steps on average, however many of
/// its bits are set.
#[derive(Debug, Clone)]
pub struct BitCounter {
    planes: [u64; 16],
    words: u32,
    totals: [u64; 64],
}

impl Default for BitCounter {
    fn default() -> Self {
        Self { planes: [0; 16], words: 0, totals: [0; 64] }
    }
}

impl BitCounter {
    /// Adds a word.
    #[inline]
    pub fn add(&mut self, word: u64) {
        let mut carry = word;
        let mut plane = 0;
        while carry != 0 {
            let next = self.planes[plane] & carry;
            self.planes[plane] ^= carry;
            carry = next;
            plane += 1;
        }
        self.words += 1;
        if self.words == FULL {
            self.settle();
        }
    }

    #[cold]
    fn settle(&mut self) {
        for (i, plane) in self.planes.iter_mut().enumerate() {
            let mut rest = std::mem::take(plane);
            while rest != 0 {
                self.totals[rest.trailing_zeros() as usize] += 1 << i;
                rest &= rest - 1;
            }
        }
        self.words = 0;
    }

    /// The count of each bit.
    pub fn totals(mut self) -> [u64; 64] {
        self.settle();
        self.totals
    }

    /// The counts of both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let (mut a, b) = (self.totals(), other.totals());
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        Self { totals: a, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_one_bit_at_a_time() {
        let words: Vec<u64> = (0..200_000u64).map(crate::clean::ids::mix).collect();
        let (mut a, mut b) = (BitCounter::default(), BitCounter::default());
        words[..70_000].iter().for_each(|&w| a.add(w));
        words[70_000..].iter().for_each(|&w| b.add(w));
        let totals = a.merge(b).totals();
        for (bit, total) in totals.into_iter().enumerate() {
            assert_eq!(total, words.iter().map(|w| w >> bit & 1).sum::<u64>());
        }
    }
}
