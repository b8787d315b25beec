//! Sequences of numbers in about as many bits as they need.
//!
//! A number is divided into groups of bits, the lowest ones first: one group of `first` bits, then groups of `more` bits, as many as it
//! takes. How many are written apart from the numbers' bits, as Stream VByte does (Lemire, Kurz, Rupp: Information Processing Letters 2018),
//! but a bit at a time:
//!
//! ```text
//! header   u64        bits 0 to 7: `first`; 8 to 15: `more`; 16 to 63: the number of control bits
//! control  u64 words  for each number as many zeros as it has further groups, then a one; lowest bit first
//! data     u64 words  the groups of all numbers, lowest bit first; after the last word that has any, one more
//! ```
//!
//! Number `i`, whose control bits begin at bit `c`, has its groups at bit `first * i + more * (c - i)` of the data. So every number is found
//! without those before it, and a device decodes all of them at once. 3 and 3 are nibbles; 0 and 3 suit gaps that are mostly 0. A sequence
//! takes what makes it shortest (`Groups::shortest`). The successors of GAP-kron 20 then take 6% more than the entropy of their lengths and
//! the bits below the highest one, those of cnr-2000 12% more; that is 0.82 and 0.59 of the bytes of LEB128.
//!
//! Cost: a few instructions a number, and no branch that depends on it.

use std::iter::zip;

const NUMBER_BITS: u32 = u32::BITS;

/// The most bits of a further group that writers use.
const MOST_MORE: u32 = 4;

/// The most bits of all groups of a number: the last one has a bit of it.
const LONGEST: u64 = (NUMBER_BITS + MOST_MORE - 1) as u64;

pub type Wrong = &'static str;

const TOO_LONG: Wrong = "a number of more than 32 bits";
const CUT: Wrong = "fewer bytes than its numbers take";

/// How many bits the first group of each number has, and each further one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    pub first: u32,
    pub more: u32,
}

type Lengths = [u32; LENGTHS];
const LENGTHS: usize = NUMBER_BITS as usize + 1;

/// Numbers that are looked at together, whether all of them are 0.
const TOGETHER: usize = 8;

impl Groups {
    /// Those with which numbers of such lengths take the fewest bits, and how many these are; of equally good ones those with the smallest
    /// `more`, then the smallest `first`.
    fn shortest(lengths: &Lengths) -> (Self, u64) {
        // How many numbers are longer than so many bits.
        let mut longer = [0u64; LENGTHS];
        for length in (1..LENGTHS).rev() {
            longer[length - 1] = longer[length] + u64::from(lengths[length]);
        }
        let many = longer[0] + u64::from(lengths[0]);
        let (mut best, mut least) = (Self { first: 0, more: 1 }, u64::MAX);
        for more in 1..=MOST_MORE {
            // Further groups of all numbers: the first one for those longer than the first group, and those of numbers that go on.
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

    /// How many further groups a number of so many bits has.
    const fn further(self, length: u32) -> u32 {
        length.saturating_sub(self.first).div_ceil(self.more)
    }

    /// Bits of the data of `many` numbers with so many control bits.
    fn data_bits(self, many: u64, control_bits: u64) -> Option<u64> {
        let further = control_bits.checked_sub(many)?;
        u64::from(self.first).checked_mul(many)?.checked_add(u64::from(self.more).checked_mul(further)?)
    }
}

#[inline(always)]
fn length_of(number: u32) -> usize {
    (NUMBER_BITS - number.leading_zeros()) as usize
}

#[inline(always)]
fn are_zero(numbers: &[u32; TOGETHER]) -> bool {
    numbers.iter().fold(0, |all, number| all | number) == 0
}

/// How many of `numbers` have each length. In several tables, so that equal lengths in a row do not wait for each other.
#[inline(always)]
fn lengths_of(numbers: &[u32]) -> Lengths {
    let mut tables = [[0u32; LENGTHS]; TOGETHER];
    let (groups, rest) = numbers.as_chunks::<TOGETHER>();
    for group in groups {
        match are_zero(group) {
            true => tables[0][0] += TOGETHER as u32,
            false => zip(&mut tables, group).for_each(|(table, &number)| table[length_of(number)] += 1),
        }
    }
    rest.iter().for_each(|&number| tables[0][length_of(number)] += 1);
    std::array::from_fn(|i| tables.iter().map(|table| table[i]).sum())
}

#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub fn encode(numbers: &[u32], out: &mut Vec<u8>) {
    let lengths = lengths_of(numbers);
    let (groups, bits) = Groups::shortest(&lengths);
    let further: [u32; LENGTHS] = std::array::from_fn(|length| groups.further(length as u32));
    let control_bits: u64 =
        zip(&lengths, &further).map(|(&many, &further)| u64::from(many) * u64::from(1 + further)).sum();
    let words = |bits: u64| bits.div_ceil(64) as usize;
    let header = u64::from(groups.first) | u64::from(groups.more) << 8 | control_bits << 16;
    out.extend_from_slice(&header.to_le_bytes());
    let begin = out.len();
    out.resize(begin + 8 * (words(control_bits) + words(bits - control_bits) + 1), 0);
    let (control, data) = out[begin..].split_at_mut(8 * words(control_bits));
    let mut bits = BitWriter { control, word: 0, bit: 0, data, waiting: 0, filled: 0 };
    let (eights, rest) = numbers.as_chunks::<TOGETHER>();
    for eight in eights {
        match groups.first == 0 && are_zero(eight) {
            true => bits.put_zeros(),
            false => eight.iter().for_each(|&number| bits.put(groups, further[length_of(number)], number)),
        }
    }
    rest.iter().for_each(|&number| bits.put(groups, further[length_of(number)], number));
    bits.finish();
}

struct BitWriter<'a> {
    /// The control words that follow, the current one, and how many of its bits are written.
    control: &'a mut [u8],
    word: u64,
    bit: u32,
    /// The data behind the bytes that are complete, the bits of the next ones, and how many these are.
    data: &'a mut [u8],
    waiting: u64,
    filled: u32,
}

impl BitWriter<'_> {
    #[inline(always)]
    fn put(&mut self, groups: Groups, further: u32, number: u32) {
        self.bit += further;
        if self.bit >= 64 {
            // At most 32 zeros at a time: no word is left out.
            self.end_word();
            self.word = 0;
        }
        self.word |= 1 << self.bit;
        self.bit += 1;
        self.waiting |= u64::from(number) << self.filled;
        self.filled += groups.first + groups.more * further;
        if let Some(next) = self.data.first_chunk_mut::<8>() {
            *next = self.waiting.to_le_bytes();
        }
        // Whole bytes are done; the number that follows is added to the bits that are left.
        self.waiting >>= self.filled & !7;
        let data = std::mem::take(&mut self.data);
        self.data = &mut data[(self.filled >> 3) as usize..];
        self.filled &= 7;
    }

    /// Puts numbers without any groups, as many as are looked at together.
    #[inline(always)]
    fn put_zeros(&mut self) {
        if self.bit >= 64 {
            self.end_word();
            self.word = 0;
        }
        const ONES: u64 = (1 << TOGETHER) - 1;
        self.word |= ONES << self.bit;
        self.bit += TOGETHER as u32;
        if self.bit > 64 {
            self.end_word();
            self.word = ONES >> (TOGETHER as u32 - self.bit);
        }
    }

    /// Ends the current control word; what follows begins with the bits behind its 64.
    #[inline(always)]
    fn end_word(&mut self) {
        if let Some((next, rest)) = std::mem::take(&mut self.control).split_first_chunk_mut::<8>() {
            *next = self.word.to_le_bytes();
            self.control = rest;
        }
        self.bit -= 64;
    }

    fn finish(mut self) {
        if self.bit > 0 {
            self.bit += 64;
            self.end_word();
        }
    }
}

/// An encoded sequence. Its header and the number of its control bits are checked, the numbers are not.
#[derive(Debug, Clone, Copy)]
pub struct NumberSequence<'a> {
    pub groups: Groups,
    pub control: &'a [u8],
    pub data: &'a [u8],
    many: usize,
}

impl<'a> NumberSequence<'a> {
    /// The sequence of `many` numbers at the beginning of `bytes`, and the bytes behind it. Errors: bytes that cannot hold it, a header
    /// that no writer makes, more or fewer numbers, or bits behind the last one.
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

    /// Decodes all numbers, of which there are as many as `into` is long. Errors: a number of more than 32 bits. The contents of `into`
    /// are then not valid.
    pub fn decode(&self, into: &mut [u32]) -> Result<(), Wrong> {
        assert!(into.len() == self.many, "room for all numbers");
        // Where few numbers have any bits, the others need not be looked at.
        let good = if self.groups.first == 0 { decode_sparse(*self, into) } else { decode_each(*self, into) };
        if good { Ok(()) } else { Err(TOO_LONG) }
    }

    /// The word of data that begins with the byte of this bit, and where in it the bit is.
    #[inline(always)]
    fn data_at(&self, bit: u64) -> u64 {
        let from = (bit >> 3) as usize;
        // There is a word behind the last one, so this is in range for valid bits.
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

/// The most bits of a word of data that begins within a byte.
const BITS_IN_WORD: u64 = 57;

/// Control words whose numbers are decoded together.
pub(super) const WORDS: usize = 32;

/// Places of ones that are found at a time; behind the last one of a word some are found that do not exist.
const STEP: usize = 8;

/// Room for the places of all ones of so many words.
pub(super) const FOUND: usize = 64 * WORDS + 64 + STEP;

/// Decodes numbers of which each has bits; returns whether all are valid.
#[multiversion::multiversion(targets("x86_64+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn decode_each(sequence: NumberSequence<'_>, into: &mut [u32]) -> bool {
    match decode_by::<2>(sequence, into) {
        // Two numbers are too long for a word: all are read again, one at a time.
        None => decode_by::<1>(sequence, into).unwrap_or(false),
        Some(valid) => valid,
    }
}

/// The same, with so many numbers, one or two, in each word of data that is read; `None` if they do not fit one.
///
/// The places of some ones are found first, then their numbers: so neither step waits for branches that depend on what is found.
#[inline(always)]
fn decode_by<const IN_WORD: usize>(sequence: NumberSequence<'_>, into: &mut [u32]) -> Option<bool> {
    let (first, more) = (u64::from(sequence.groups.first), u64::from(sequence.groups.more));
    let mut ones = [0u32; FOUND];
    let (mut rest, mut begin) = (into, 0);
    // All numbers together, and the most bits of those in a word.
    let (mut all, mut most) = (0, 0);
    // The zeros behind the last one so far.
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

/// Writes the places of all ones to the front of `ones`; returns how many there are.
#[inline(always)]
pub(super) fn find_ones(words: &[u8], ones: &mut [u32; FOUND]) -> usize {
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

/// The same where numbers without further groups are 0.
#[multiversion::multiversion(targets("x86_64+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn decode_sparse(sequence: NumberSequence<'_>, into: &mut [u32]) -> bool {
    let more = u64::from(sequence.groups.more);
    into.fill(0);
    let (mut done, mut all, mut most) = (0, 0, 0);
    let (mut next, mut base) = (0u64, 0u64);
    for word in sequence.control.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*word);
        // The ones behind a zero.
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

/// The highest bit that is set.
fn last_one(control: &[u8]) -> Option<u64> {
    let (i, word) = words(control).enumerate().rev().find(|&(_, word)| word != 0)?;
    Some(64 * i as u64 + u64::from(63 - word.leading_zeros()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(numbers, &mut bytes);
        bytes
    }

    fn decoded(bytes: &[u8], many: usize) -> Result<Vec<u32>, Wrong> {
        let (sequence, rest) = NumberSequence::split(bytes, many as u64)?;
        let mut numbers = vec![7; many];
        sequence.decode(&mut numbers)?;
        if rest.is_empty() { Ok(numbers) } else { Err("more bytes") }
    }

    /// One bit after another, as the head of this module says.
    fn decoded_bit_by_bit(bytes: &[u8], many: usize) -> Vec<u32> {
        let bit = |from: usize, i: u64| u64::from(bytes[from + (i / 8) as usize] >> (i % 8) & 1);
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        let (first, more, control_bits) = (header & 0xff, header >> 8 & 0xff, header >> 16);
        let data = 8 + 8 * control_bits.div_ceil(64) as usize;
        let (mut control, mut at) = (0, 0);
        let number = |_| {
            let mut length = first;
            while bit(8, control) == 0 {
                control += 1;
                length += more;
            }
            control += 1;
            let value = (0..length).map(|i| bit(data, at + i) << i).sum::<u64>();
            at += length;
            u32::try_from(value).unwrap()
        };
        (0..many).map(number).collect()
    }

    fn numbers() -> impl Strategy<Value = Vec<u32>> {
        let number = (any::<u32>(), prop_oneof![Just(32u32), 20u32..31, 28u32..33, Just(24)]);
        let number = number.prop_map(|(number, shift)| number.checked_shr(shift).unwrap_or(0));
        prop_oneof![
            prop::collection::vec(number, 0..300),
            prop::collection::vec(any::<u32>(), 0..100),
            (0u32..1 << 13, 0usize..500).prop_map(|(number, many)| vec![number; many]),
        ]
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in numbers()) {
            let bytes = encoded(&numbers);
            prop_assert_eq!(decoded(&bytes, numbers.len()), Ok(numbers.clone()));
            prop_assert_eq!(decoded_bit_by_bit(&bytes, numbers.len()), numbers.clone());
            for other in [bytes[..bytes.len() - 8].to_vec(), [&bytes[..], &[0; 8]].concat()] {
                prop_assert!(decoded(&other, numbers.len()).is_err());
            }
            prop_assert!(decoded(&bytes, numbers.len() + 1).is_err());
            prop_assert!(numbers.is_empty() || decoded(&bytes, numbers.len() - 1).is_err());
        }

        #[test]
        fn no_other_groups_are_shorter(numbers in numbers()) {
            // By the sizes that the head of this module gives, number by number.
            let size = |first: u32, more: u32| -> u64 {
                let of = |&number: &u32| {
                    let mut groups = 0;
                    while u64::from(number) >> (first + more * groups) != 0 {
                        groups += 1;
                    }
                    u64::from(1 + groups + first + more * groups)
                };
                numbers.iter().map(of).sum()
            };
            let all = (1..=MOST_MORE).flat_map(|more| (0..=32).map(move |first| (size(first, more), more, first)));
            let best = all.min().unwrap();
            let (groups, bits) = Groups::shortest(&lengths_of(&numbers));
            prop_assert_eq!((bits, groups.more, groups.first), best);
        }

        #[test]
        fn any_bytes_are_numbers_or_an_error(
            numbers in numbers(), flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..4), many in 0usize..20,
        ) {
            let mut bytes = encoded(&numbers);
            for (at, bit) in flips {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            let _ = decoded(&bytes, numbers.len());
            let _ = decoded(&bytes, many);
        }
    }

    #[test]
    fn a_number_of_33_bits_is_an_error() {
        for (first, further) in [(0u64, 11u64), (32, 1)] {
            let header = first | 3 << 8 | (further + 1) << 16;
            let words = |data: u64| [header, 1 << further, data, 0].map(u64::to_le_bytes).concat();
            assert_eq!(decoded(&words(0xffff_ffff), 1), Ok(vec![u32::MAX]));
            assert_eq!(decoded(&words(1 << 32), 1), Err(TOO_LONG));
        }
    }
}
