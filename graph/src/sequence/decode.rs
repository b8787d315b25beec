//! Finds and reads the numbers of a sequence.

use std::iter::zip;

use super::groups::{CUT, Groups, LONGEST, MOST_MORE, NUMBER_BITS, TOO_LONG, Wrong};

/// An encoded sequence. Its header and its number of control bits are checked, the numbers are not.
#[derive(Debug, Clone, Copy)]
pub struct NumberSequence<'a> {
    pub groups: Groups,
    pub control: &'a [u8],
    pub data: &'a [u8],
    many: usize,
}

impl<'a> NumberSequence<'a> {
    /// Splits off a sequence of `many` numbers. Errors: too few bytes, a header that no writer makes, more or fewer numbers, bits after the last one.
    pub fn split(bytes: &'a [u8], many: u64) -> Result<(Self, &'a [u8]), Wrong> {
        let (header, rest) = bytes.split_first_chunk::<8>().ok_or(CUT)?;
        let header = u64::from_le_bytes(*header);
        let groups = Groups { first: (header & 0xff) as u32, more: (header >> 8 & 0xff) as u32 };
        if groups.first > NUMBER_BITS || !(1..=MOST_MORE).contains(&groups.more) {
            return Err("groups of bits of a size that does not exist");
        }
        let control_bits = header >> 16;
        let words = |bits: u64| usize::try_from(bits.div_ceil(64)).ok()?.checked_mul(8);
        let data_bits = groups.data_bits(many, control_bits).ok_or("fewer or more numbers than it should have")?;
        let (control, rest) = words(control_bits).and_then(|length| rest.split_at_checked(length)).ok_or(CUT)?;
        let length = words(data_bits).and_then(|length| length.checked_add(8));
        let (data, rest) = length.and_then(|length| rest.split_at_checked(length)).ok_or(CUT)?;
        let sequence = Self { groups, control, data, many: many as usize };
        if ones(control) != many || last_one(control).map_or(0, |bit| bit + 1) != control_bits {
            return Err("fewer or more numbers than it should have");
        }
        Ok((sequence, rest))
    }

    /// Decodes all numbers into `into`, of their length. Errors: a number of more than 32 bits; `into` is then not valid.
    pub fn decode(&self, into: &mut [u32]) -> Result<(), Wrong> {
        assert!(into.len() == self.many, "room for all numbers");
        // If few numbers have any bits, the others are skipped.
        let good = if self.groups.first == 0 { decode_sparse(*self, into) } else { decode_each(*self, into) };
        if good { Ok(()) } else { Err(TOO_LONG) }
    }

    /// The word of data at the byte of this bit, shifted so that the bit is the lowest.
    #[inline(always)]
    fn data_at(&self, bit: u64) -> u64 {
        let from = (bit >> 3) as usize;
        // There is a word after the last one, so this is in range for valid bits.
        let word = self
            .data
            .get(from..from.wrapping_add(8))
            .and_then(|word| word.first_chunk())
            .map_or(0, |word| u64::from_le_bytes(*word));
        word >> (bit & 7)
    }
}

#[inline(always)]
const fn lowest(word: u64, length: u64) -> u64 {
    word & !(u64::MAX << (length & 63))
}

/// The valid bits in a word of data that begins within a byte.
const BITS_IN_WORD: u64 = 57;

/// How many control words' numbers are decoded together.
pub(crate) const WORDS: usize = 32;

/// How many positions of ones are found at a time; those beyond the last one of a word are meaningless.
const STEP: usize = 8;

/// Room for the positions of all ones of [`WORDS`] words, and for meaningless ones ([`STEP`]).
pub(crate) const FOUND: usize = 64 * WORDS + 64 + STEP;

/// Decodes numbers that all have bits; returns whether all are valid.
#[multiversion::multiversion(targets("x86_64+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn decode_each(sequence: NumberSequence<'_>, into: &mut [u32]) -> bool {
    match decode_by::<2>(sequence, into) {
        // Two numbers are too long for a word: all are read again, one at a time.
        None => decode_by::<1>(sequence, into).unwrap_or(false),
        Some(valid) => valid,
    }
}

/// As [`decode_each`], with one or two numbers (`IN_WORD`) per word of data read; `None` if they do not fit a word. The positions of some ones are
/// found first, then their numbers, so neither step has branches that depend on the data.
#[inline(always)]
fn decode_by<const IN_WORD: usize>(sequence: NumberSequence<'_>, into: &mut [u32]) -> Option<bool> {
    let (first, more) = (u64::from(sequence.groups.first), u64::from(sequence.groups.more));
    let mut ones = [0u32; FOUND];
    let (mut rest, mut begin) = (into, 0);
    // All numbers ORed, and the most bits of those in a word.
    let (mut all, mut most) = (0, 0);
    // The number of zeros after the last one bit so far.
    let mut before = 0u64;
    for words in sequence.control.chunks(8 * WORDS) {
        let many = find_ones(words, &mut ones);
        let (now, after) = std::mem::take(&mut rest).split_at_mut(many);
        rest = after;
        let mut next = 0u64.wrapping_sub(before);
        let mut length = |one: u32| {
            let length = first + more * u64::from(one).wrapping_sub(next);
            next = u64::from(one) + 1;
            length
        };
        let (numbers, last) = now.as_chunks_mut::<IN_WORD>();
        let (places, place_of_last) = ones[..many].as_chunks::<IN_WORD>();
        for (numbers, places) in zip(numbers, places) {
            let (mut word, mut bits) = (sequence.data_at(begin), 0);
            for (number, &one) in zip(numbers, places) {
                let length = length(one);
                let value = lowest(word, length);
                *number = value as u32;
                all |= value;
                word >>= length & 63;
                bits += length;
            }
            most = bits.max(most);
            begin += bits;
        }
        for (number, &one) in zip(last, place_of_last) {
            let length = length(one);
            let value = lowest(sequence.data_at(begin), length);
            *number = value as u32;
            (all, most) = (all | value, length.max(most));
            begin += length;
        }
        before = (64 * (words.len() / 8) as u64).wrapping_sub(next);
    }
    match IN_WORD {
        1 => Some(all >> NUMBER_BITS == 0 && most <= LONGEST),
        _ if most > BITS_IN_WORD => None,
        _ => Some(all >> NUMBER_BITS == 0),
    }
}

/// Writes the positions of all ones to the front of `ones`; returns how many there are.
#[inline(always)]
pub(crate) fn find_ones(words: &[u8], ones: &mut [u32; FOUND]) -> usize {
    let mut many = 0;
    for (base, word) in (0..).step_by(64).zip(words.as_chunks::<8>().0) {
        let mut word = u64::from_le_bytes(*word);
        let end = many + word.count_ones() as usize;
        while many < end {
            if let Some(step) = ones[many..].first_chunk_mut::<STEP>() {
                for place in step {
                    *place = base + word.trailing_zeros();
                    word &= word.wrapping_sub(1);
                }
            }
            many += STEP;
        }
        many = end;
    }
    many
}

/// As [`decode_each`], if the first group has no bits: numbers without further groups are 0.
#[multiversion::multiversion(targets("x86_64+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn decode_sparse(sequence: NumberSequence<'_>, into: &mut [u32]) -> bool {
    let more = u64::from(sequence.groups.more);
    into.fill(0);
    let (mut done, mut all, mut most) = (0, 0, 0);
    let (mut next, mut base) = (0u64, 0u64);
    for word in sequence.control.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*word);
        // The ones after a zero.
        let mut longer = word & !(word << 1 | u64::from(next == base));
        while longer != 0 {
            let bit = longer.trailing_zeros();
            longer &= longer - 1;
            let before = word & !(u64::MAX << bit);
            let begin = if before == 0 { next } else { base + 64 - u64::from(before.leading_zeros()) };
            let i = done + before.count_ones() as usize;
            let length = more * (base + u64::from(bit) - begin);
            let value = lowest(sequence.data_at(more * (begin - i as u64)), length);
            into[i] = value as u32;
            (all, most) = (all | value, length.max(most));
        }
        if word != 0 {
            next = base + 64 - u64::from(word.leading_zeros());
        }
        done += word.count_ones() as usize;
        base += 64;
    }
    all >> NUMBER_BITS == 0 && most <= LONGEST
}

fn words(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + '_ {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

#[multiversion::multiversion(targets("x86_64+avx2+popcnt", "x86_64+popcnt"))]
fn ones(control: &[u8]) -> u64 {
    words(control).map(|word| u64::from(word.count_ones())).sum()
}

fn last_one(control: &[u8]) -> Option<u64> {
    let (i, word) = words(control).enumerate().rev().find(|&(_, word)| word != 0)?;
    Some(64 * i as u64 + u64::from(63 - word.leading_zeros()))
}
