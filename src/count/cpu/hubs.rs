//! The rows of the hubs as bits. Row `b` has only numbers below `b`: as bits, the rows of `0..count` are a lower triangle of `count^2 / 16` bytes.
//! Only rows in the range of the current row block are kept, and only as many as pay off on a sample of the arcs ([`worthwhile`]).

use std::ops::Range;

use rayon::prelude::*;

use trimill_counting::Resident;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, parallel};

/// The most hubs (256 MiB of bits): their numbers have 16 bits.
pub(super) const MOST: u32 = 1 << 16;

/// Arcs are sampled: in one of `SAMPLED` groups of this many locals.
const GROUP: usize = 64;
const SAMPLED: usize = 16;

/// The cost of postponing an arc, in probes. Intersecting a word costs two.
const COST_OF_POSTPONING: i64 = 4;

/// The cost of zeroing and filling a word, in probes: mostly page faults at the first use.
const COST_OF_WORD: i64 = 4;

/// Words of all rows before row `b`: row `i` takes `i / 64 + 1`.
pub(super) const fn words_before(b: u32) -> usize {
    let (whole, rest) = (b as usize / 64, b as usize % 64);
    (whole + 1) * (32 * whole + rest)
}

pub(super) const fn bytes(count: u32) -> Bytes {
    Bytes(words_before(count) as u64 * 8)
}

/// The largest number of hubs, a multiple of 64, whose `bytes` are at most `share`.
pub(super) fn largest_count(share: Bytes, bytes: impl Fn(u32) -> Bytes) -> u32 {
    (0..=MOST / 64).rev().map(|blocks| blocks * 64).find(|&count| bytes(count) <= share).unwrap_or(0)
}

#[derive(Default)]
pub(super) struct Hubs {
    range: Range<u32>,
    words: Vec<u64>,
    /// Words of the triangle before the first row in `range`.
    before: usize,
}

impl Hubs {
    pub(super) fn take<'a>(&mut self, range: Range<u32>, row: impl Fn(u32) -> &'a [u32] + Sync) {
        self.before = words_before(range.start);
        let len = words_before(range.end) - self.before;
        if self.words.capacity() < len {
            // Fresh zeroed pages, touched first by the threads that fill them, in parallel.
            self.words = Vec::new();
            self.words = zeros(len);
        } else {
            self.words.truncate(len);
            self.words.par_iter_mut().for_each(|word| *word = 0);
            self.words.resize(len, 0);
        }
        let firsts = (range.start / 64..range.end.div_ceil(64)).map(|block| range.start.max(64 * block));
        let length = |first: u32| words_before(range.end.min((first / 64 + 1) * 64)) - words_before(first);
        let blocks = parallel::cut(&mut self.words, firsts.clone().map(length));
        parallel::each(firsts.zip(blocks), |(first, block)| {
            for (b, words) in (first..).zip(block.chunks_exact_mut(first as usize / 64 + 1)) {
                row(b).iter().for_each(|&c| words[c as usize / 64] |= 1 << (c % 64));
            }
        });
        self.range = range;
    }

    pub(super) fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &[u64] {
        &self.words[words_before(b) - self.before..][..b as usize / 64 + 1]
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u64>(self.words.capacity() as u64)
    }
}

/// The end, at most `most`, of the hubs in a `range` of heads whose bits save the most in total. With bits, the cost of an arc is the number of
/// words that its tail's row occupies up to the head; without bits, it is `length` of the head, in probes.
pub(super) fn worthwhile(
    resident: &Resident,
    length: impl Fn(u32) -> usize + Sync,
    range: &Range<u32>,
    most: u32,
) -> u32 {
    let first = range.start;
    let end = most.min(range.end).max(first);
    let blocks = (end.div_ceil(64) - first / 64) as usize;
    let locals = resident.numbers.len();
    let groups = if end == first { 0 } else { locals.div_ceil(GROUP) };
    let saved = (0..groups)
        .into_par_iter()
        .step_by(SAMPLED)
        // Small pieces, since the first groups have most of the arcs.
        .with_max_len(8)
        .fold(
            || vec![0; blocks],
            |mut saved: Vec<i64>, group| {
                for row in (group * GROUP..locals.min((group + 1) * GROUP)).map(|i| resident.row(i)) {
                    let row = &row[..row.partition_point(|&b| b < end)];
                    let (mut words, mut last) = (0, u32::MAX);
                    for (k, &b) in row.iter().enumerate() {
                        words += i64::from(b / 64 != last);
                        last = b / 64;
                        if k > 0 && b >= first {
                            saved[(b / 64 - first / 64) as usize] += length(b) as i64 - COST_OF_POSTPONING - 2 * words;
                        }
                    }
                }
                saved
            },
        )
        .reduce(
            || vec![0; blocks],
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            },
        );
    let (mut best, mut most_saved, mut sum) = (first, 0, 0);
    for (block, saved) in (first / 64..).zip(saved) {
        sum += saved * SAMPLED as i64 - COST_OF_WORD * 64 * i64::from(block + 1);
        if sum > most_saved {
            (best, most_saved) = (end.min((block + 1) * 64), sum);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_triangle_fits_its_share() {
        for share in [0, 511, 512, 1535, 1536, 1 << 20, 1 << 40] {
            let count = largest_count(Bytes(share), bytes);
            assert!(bytes(count).get() <= share);
            assert!(count == MOST || bytes(count + 64).get() > share);
        }
    }
}
