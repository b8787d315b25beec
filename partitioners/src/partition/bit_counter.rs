//! Counts, for all 64 bits of a word at once, in how many words each is set.

/// After this many words, the planes are added to the totals.
const FULL: u32 = (1 << 16) - GROUP as u32;

const GROUP: usize = 8;

/// Vertical counters: plane `i` has bit `i` of 64 counts. Words are added eight at a time, through seven full adders of 64 bits: four or
/// five operations per word, whatever its bits, and no branch that depends on them (Harley and Seal's method).
#[derive(Debug, Clone)]
pub(super) struct BitCounter {
    waiting: [u64; GROUP],
    many: usize,
    planes: [u64; 16],
    words: u32,
    totals: [u64; 64],
}

impl Default for BitCounter {
    fn default() -> Self {
        Self { waiting: [0; GROUP], many: 0, planes: [0; 16], words: 0, totals: [0; 64] }
    }
}

/// 64 full adders: the lower and the higher bits of the sums.
#[inline]
fn sum(a: u64, b: u64, c: u64) -> [u64; 2] {
    let either = a ^ b;
    [either ^ c, a & b | either & c]
}

impl BitCounter {
    #[inline]
    pub(super) fn add(&mut self, word: u64) {
        self.waiting[self.many % GROUP] = word;
        self.many += 1;
        if self.many == GROUP {
            self.add_waiting();
        }
    }

    fn add_waiting(&mut self) {
        let words = std::mem::take(&mut self.waiting);
        self.many = 0;
        let [ones, twos, fours, higher @ ..] = &mut self.planes;
        let mut pair = |two: &[u64]| {
            let [one, carry] = sum(*ones, two[0], two[1]);
            *ones = one;
            carry
        };
        let carries: [u64; 4] = [pair(&words[..2]), pair(&words[2..4]), pair(&words[4..6]), pair(&words[6..])];
        let [two, first] = sum(*twos, carries[0], carries[1]);
        let [two, second] = sum(two, carries[2], carries[3]);
        *twos = two;
        let [four, mut carry] = sum(*fours, first, second);
        *fours = four;
        for plane in higher {
            if carry == 0 {
                break;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
        self.words += GROUP as u32;
        if self.words >= FULL {
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

    pub(super) fn totals(mut self) -> [u64; 64] {
        self.add_waiting();
        self.settle();
        self.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_one_bit_at_a_time() {
        let words: Vec<u64> = (0..200_000u64).map(trimill_system::hash::mix).collect();
        let mut counter = BitCounter::default();
        words.iter().for_each(|&word| counter.add(word));
        for (bit, total) in counter.totals().into_iter().enumerate() {
            assert_eq!(total, words.iter().map(|w| w >> bit & 1).sum::<u64>());
        }
    }
}
