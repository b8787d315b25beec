//! Writes a sequence.

use std::iter::zip;

use super::groups::{Groups, LENGTHS, Lengths, NUMBER_BITS};

/// How many numbers are checked together for being all 0.
const TOGETHER: usize = 8;

#[inline(always)]
fn length_of(number: u32) -> usize {
    (NUMBER_BITS - number.leading_zeros()) as usize
}

#[inline(always)]
fn are_zero(numbers: &[u32; TOGETHER]) -> bool {
    numbers.iter().fold(0, |all, number| all | number) == 0
}

/// A histogram of the lengths of `numbers`; several tables, so that equal lengths in a row do not wait for each other.
#[inline(always)]
pub(super) fn lengths_of(numbers: &[u32]) -> Lengths {
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
    /// The control words still to be written, the current one, and how many of its bits are set.
    control: &'a mut [u8],
    word: u64,
    bit: u32,
    /// The data not yet written, the pending bits, and their number.
    data: &'a mut [u8],
    waiting: u64,
    filled: u32,
}

impl BitWriter<'_> {
    #[inline(always)]
    fn put(&mut self, groups: Groups, further: u32, number: u32) {
        self.bit += further;
        if self.bit >= 64 {
            // At most 32 zeros at a time, so no word is left out.
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
        // Complete bytes are written; the next number is added to the remaining bits.
        self.waiting >>= self.filled & !7;
        let data = std::mem::take(&mut self.data);
        self.data = &mut data[(self.filled >> 3) as usize..];
        self.filled &= 7;
    }

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

    /// Ends the current control word; what follows begins with the bits beyond its 64.
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
