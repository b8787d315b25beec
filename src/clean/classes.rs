//! Classes of arcs, of about equal size: all copies of a pair, in either direction, are in one class. In it, an arc's key is the pair's, without what
//! follows from the class, then a bit for the direction: keys ascend by pair, and those of both directions of a pair follow each other.

use std::ops::Range;

use super::buckets::Buckets;
use super::pair_hash::PairHash;
use super::ranges::IdRanges;
use super::workspace::Shares;

const LOWER: u64 = 0xffff_ffff;

pub(super) enum ArcClasses {
    /// Of at least two classes, so that there is a bit for the direction.
    Hash(PairHash),
    Ranges(IdRanges),
}

impl ArcClasses {
    /// The class and the key of an arc between different ids.
    #[inline]
    pub(super) fn split(&self, tail: u64, head: u64) -> (usize, u64) {
        let (pair, direction) = (tail.min(head) << 32 | tail.max(head), u64::from(tail > head));
        match self {
            Self::Hash(hash) => {
                let (class, shortened) = hash.split(pair);
                (class, shortened & !LOWER | (shortened & LOWER) << 1 | direction)
            }
            Self::Ranges(ranges) => {
                let class = ranges.range_of(pair >> 32);
                (class, (pair - (ranges.ids(class).start << 32)) << 1 | direction)
            }
        }
    }

    /// The pair `min << 32 | max` of a key.
    #[inline]
    pub(super) fn pair(&self, class: usize, key: u64) -> u64 {
        match self {
            Self::Hash(hash) => hash.restored(key & !LOWER | (key & LOWER) >> 1, class),
            Self::Ranges(ranges) => (key >> 1) + (ranges.ids(class).start << 32),
        }
    }

    /// The range of the upper halves of a class's keys, where ids are below `end`.
    pub(super) fn upper_halves(&self, class: usize, end: u64) -> Range<u64> {
        match self {
            Self::Hash(_) => 0..end,
            Self::Ranges(ranges) => {
                let ids = ranges.ids(class);
                0..(ids.end - ids.start) << 1
            }
        }
    }

    pub(super) fn buckets(&self, expected: u64, shares: &Shares<'_>) -> Buckets {
        let many = match self {
            Self::Hash(hash) => hash.classes(),
            Self::Ranges(ranges) => ranges.len(),
        };
        Buckets::new(many, expected, shares.buckets(), shares.space.dir)
    }

    pub(super) fn buckets_of_pairs(&self, expected: u64, shares: &Shares<'_>) -> Buckets {
        let buckets = self.buckets(expected, shares);
        match self {
            Self::Hash(hash) => buckets.of_classes(*hash),
            Self::Ranges(_) => buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trimill_input::ArcSink;

    use super::super::ranges::BySmallerId;
    use super::*;

    proptest! {
        #[test]
        fn keys_of_a_class_ascend_by_pair_and_give_the_pair_back(
            arcs in prop::collection::vec((0u64..5000, 0u64..5000), 1..200),
            far in prop_oneof![Just(1), Just(800_000)],
            // Of a single range of 4 * 10^9 ids, offsets would take more than 31 bits.
            many in 1usize..8,
        ) {
            let arcs: Vec<(u64, u64)> = arcs.into_iter().filter(|(u, v)| u != v).map(|(u, v)| (u * far, v * far)).collect();
            let (end, counted) = (5000 * far, BySmallerId::new(5000 * far));
            counted.arcs(&arcs).unwrap();
            let ranges = ArcClasses::Ranges(counted.ranges(many, u64::MAX).unwrap());
            for classes in [ranges, ArcClasses::Hash(PairHash::new(8)), ArcClasses::Hash(PairHash::new(4096))] {
                let mut all: Vec<(usize, u64, u64, bool)> = Vec::new();
                for &(u, v) in &arcs {
                    let (class, key) = classes.split(u, v);
                    prop_assert_eq!(classes.pair(class, key), u.min(v) << 32 | u.max(v));
                    prop_assert!(classes.upper_halves(class, end).contains(&(key >> 32)));
                    prop_assert_eq!(classes.split(v, u), (class, key ^ 1));
                    all.push((class, u.min(v) << 32 | u.max(v), key, u > v));
                }
                all.sort_unstable();
                for two in all.windows(2).filter(|two| two[0].0 == two[1].0) {
                    prop_assert_eq!(two[0].2.cmp(&two[1].2), (two[0].1, two[0].3).cmp(&(two[1].1, two[1].3)));
                }
            }
        }
    }
}
