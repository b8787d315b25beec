//! The rows of the hubs as bits.
//!
//! Row `b` of the first `count` local numbers holds only smaller numbers, so it is a bit string of `b` bits: a lower
//! triangle of `count^2 / 16` bytes. Only rows in the range of the frame at hand are filled.

use std::ops::Range;

use rayon::prelude::*;

use crate::bytes::Bytes;

/// More hubs than this do not pay: the triangle (4 MiB) should stay in a core's cache.
const MOST: u32 = 8192;

/// Words of all rows before row `b`: row `i` takes `i / 64 + 1`.
const fn words_before(b: u32) -> usize {
    let (whole, rest) = (b as usize / 64, b as usize % 64);
    32 * whole * (whole + 1) + rest * (whole + 1)
}

/// Bytes of the triangle over `count` hubs.
pub(super) const fn bytes(count: u32) -> Bytes {
    Bytes(words_before(count) as u64 * 8)
}

/// The largest triangle, a multiple of 64 hubs, that takes at most `share`.
pub(super) fn largest_count(share: Bytes) -> u32 {
    (0..=MOST / 64).rev().map(|blocks| blocks * 64).find(|&count| bytes(count) <= share).unwrap_or(0)
}

/// The triangle.
pub(super) struct Hubs {
    count: u32,
    words: Vec<u64>,
    lengths: Vec<u32>,
}

impl Hubs {
    pub(super) fn new(count: u32) -> Self {
        Self { count, words: Vec::new(), lengths: Vec::new() }
    }

    /// Forgets all rows and fills those of `range`.
    pub(super) fn take<'a>(&mut self, range: &Range<u32>, row: impl Fn(u32) -> &'a [u32] + Sync) {
        let filled = !self.lengths.is_empty();
        if range.start >= self.count {
            self.lengths.clear();
            return;
        }
        if filled {
            self.words.fill(0);
        }
        self.words.resize(words_before(self.count), 0);
        self.lengths.clear();
        self.lengths.resize(self.count as usize, 0);
        let mut rest = &mut self.words[..];
        let mut rows = Vec::with_capacity(self.count as usize);
        for (b, length) in self.lengths.iter_mut().enumerate() {
            let (mine, after) = rest.split_at_mut(b / 64 + 1);
            rest = after;
            if range.contains(&(b as u32)) {
                rows.push((b as u32, length, mine));
            }
        }
        rows.into_par_iter().with_min_len(64).for_each(|(b, length, words)| {
            let row = row(b);
            *length = row.len() as u32;
            row.iter().for_each(|&c| words[c as usize / 64] |= 1 << (c % 64));
        });
    }

    /// The bits of `b`'s row, if `b` is a hub whose row is longer than `k`.
    #[inline]
    pub(super) fn get(&self, b: u32, k: usize) -> Option<&[u64]> {
        let length = *self.lengths.get(b as usize)? as usize;
        (length > k).then(|| &self.words[words_before(b)..][..b as usize / 64 + 1])
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u64>(self.words.capacity() as u64)
    }
}
