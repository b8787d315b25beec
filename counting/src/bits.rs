//! Sets of vertices as bits, with the rank of a member in constant time. A set over `n` vertices takes `n / 8` bytes and its ranks `n / 16`: one
//! `u32` per word, so a rank takes two loads and a single population count, which baseline x86-64 has no instruction for.

use std::sync::atomic::{AtomicU64, Ordering};

use trimill_system::Bytes;
use trimill_system::mapped::zeros;

/// A set under construction; many threads may add members.
#[derive(Debug)]
pub struct VertexSetBuilder {
    words: Vec<AtomicU64>,
    len: u32,
}

impl VertexSetBuilder {
    pub fn new(len: u32) -> Self {
        Self { words: zeros((len as usize).div_ceil(64)), len }
    }

    #[inline]
    pub fn set(&self, i: u32) {
        let (word, bit) = (&self.words[i as usize / 64], 1u64 << (i % 64));
        // In a hub-heavy graph most bits are set already: a plain load keeps their cache line shared.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    #[inline]
    pub fn contains(&self, i: u32) -> bool {
        self.words[i as usize / 64].load(Ordering::Relaxed) >> (i % 64) & 1 != 0
    }

    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// Computes the ranks; the words are not copied.
    pub fn finish(self) -> VertexSet {
        let words: Vec<u64> = self.words.into_iter().map(AtomicU64::into_inner).collect();
        let mut count = 0;
        let ranks = words
            .iter()
            .map(|word| {
                let rank = count;
                count += word.count_ones();
                rank
            })
            .collect();
        VertexSet { words, ranks, len: self.len, count }
    }
}

#[derive(Debug, Clone, Default)]
pub struct VertexSet {
    words: Vec<u64>,
    ranks: Vec<u32>,
    len: u32,
    count: u32,
}

impl VertexSet {
    pub const fn bytes(len: u32) -> Bytes {
        let words = (len as u64).div_ceil(64);
        Bytes(words * 12)
    }

    pub fn thaw(self) -> VertexSetBuilder {
        VertexSetBuilder { words: self.words.into_iter().map(AtomicU64::new).collect(), len: self.len }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn universe(&self) -> u32 {
        self.len
    }

    #[inline]
    pub fn contains(&self, i: u32) -> bool {
        self.words[i as usize / 64] >> (i % 64) & 1 != 0
    }

    /// The number of members below `i`, which is at most `len`.
    #[inline]
    pub fn rank(&self, i: u32) -> u32 {
        let word = i as usize / 64;
        match self.ranks.get(word) {
            Some(&before) => before + (self.words[word] & ((1 << (i % 64)) - 1)).count_ones(),
            None => self.count,
        }
    }

    pub fn iter(&self, range: std::ops::Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let end = range.end.min(self.len);
        let mut word = range.start as usize / 64;
        let mut current = if range.start < end { self.words[word] & (u64::MAX << (range.start % 64)) } else { 0 };
        std::iter::from_fn(move || {
            while current == 0 {
                word += 1;
                if word as u64 * 64 >= u64::from(end) {
                    return None;
                }
                current = self.words[word];
            }
            let i = word as u32 * 64 + current.trailing_zeros();
            current &= current - 1;
            (i < end).then_some(i)
        })
    }

    /// The number of members before each word.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The words, of 64 bits each, lowest bit first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranks_and_members_are_those_of_a_plain_set(
            members in prop::collection::btree_set(0u32..3000, 0..400),
            len in 3000u32..3100,
            a in 0u32..3000,
            b in 0u32..3100,
        ) {
            let marks = VertexSetBuilder::new(len);
            members.iter().for_each(|&i| marks.set(i));
            let bits = marks.finish();
            prop_assert_eq!(bits.count() as usize, members.len());
            for i in [0, a, b.min(len), len] {
                prop_assert_eq!(bits.rank(i) as usize, members.range(..i).count());
            }
            prop_assert!(bits.iter(a..b).eq(members.iter().copied().filter(|i| (a..b).contains(i))));
        }

        #[test]
        fn a_finished_set_goes_on(
            members in prop::collection::btree_set(0u32..200, 0..80),
            more in prop::collection::btree_set(0u32..200, 0..80),
        ) {
            let marks = VertexSetBuilder::new(200);
            members.iter().for_each(|&i| marks.set(i));
            let bits = marks.finish();
            let marks = bits.clone().thaw();
            more.iter().for_each(|&i| marks.set(i));
            prop_assert!(bits.iter(0..200).eq(members.iter().copied()));
            prop_assert!(marks.finish().iter(0..200).eq(members.union(&more).copied()));
        }
    }
}
