//! The sizes of the groups of bits that numbers are divided into.

pub(super) const NUMBER_BITS: u32 = u32::BITS;

/// The most bits of a further group that writers use.
pub(super) const MOST_MORE: u32 = 4;

/// The most bits of all groups of a number: at least one bit of the number is in the last group.
pub(super) const LONGEST: u64 = (NUMBER_BITS + MOST_MORE - 1) as u64;

pub type Wrong = &'static str;

pub(super) const TOO_LONG: Wrong = "a number of more than 32 bits";
pub(super) const CUT: Wrong = "fewer bytes than its numbers take";

/// How many bits the first group of a number has, and each further one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    pub first: u32,
    pub more: u32,
}

pub(super) type Lengths = [u32; LENGTHS];
pub(super) const LENGTHS: usize = NUMBER_BITS as usize + 1;

impl Groups {
    /// The groups that encode numbers of these `lengths` in the fewest bits, and that number of bits; ties: smallest `more`, then `first`.
    pub(super) fn shortest(lengths: &Lengths) -> (Self, u64) {
        // `longer[i]`: how many numbers have more than `i` bits.
        let mut longer = [0u64; LENGTHS];
        for length in (1..LENGTHS).rev() {
            longer[length - 1] = longer[length] + u64::from(lengths[length]);
        }
        let many = longer[0] + u64::from(lengths[0]);
        let (mut best, mut least) = (Self { first: 0, more: 1 }, u64::MAX);
        for more in 1..=MOST_MORE {
            // `further[first]`: further groups of all numbers: one for each longer than `first`, one for each longer than `first + more`, ...
            let mut further = longer;
            for first in (0..LENGTHS - more as usize).rev() {
                further[first] += further[first + more as usize];
            }
            for (first, further) in (0..).zip(further) {
                let bits = many * u64::from(1 + first) + further * u64::from(1 + more);
                if bits < least {
                    (best, least) = (Self { first, more }, bits);
                }
            }
        }
        (best, least)
    }

    /// How many further groups a number of `length` bits has.
    pub(super) const fn further(self, length: u32) -> u32 {
        length.saturating_sub(self.first).div_ceil(self.more)
    }

    pub(super) fn data_bits(self, many: u64, control_bits: u64) -> Option<u64> {
        let further = control_bits.checked_sub(many)?;
        u64::from(self.first).checked_mul(many)?.checked_add(u64::from(self.more).checked_mul(further)?)
    }
}
