//! Classes of arcs, of about equal size: all copies of a pair, in either direction, are in one class.

use std::ops::Range;

use super::buckets::Buckets;
use super::pair_hash::PairHash;
use super::ranges::IdRanges;
use super::workspace::Shares;

/// Each class has two buckets, one for each direction.
pub(super) enum ArcClasses {
    Hash(PairHash),
    Ranges(IdRanges),
}

impl ArcClasses {
    fn len(&self) -> usize {
        match self {
            Self::Hash(hash) => hash.classes(),
            Self::Ranges(ranges) => ranges.len(),
        }
    }

    #[inline]
    pub(super) fn class_of(&self, key: u64) -> usize {
        match self {
            Self::Hash(hash) => hash.class_of(key),
            Self::Ranges(ranges) => ranges.range_of(key >> 32),
        }
    }

    pub(super) fn buckets(&self, of_class: usize, expected: u64, shares: &Shares<'_>) -> Buckets {
        let hash = match self {
            Self::Hash(hash) => *hash,
            Self::Ranges(_) => PairHash::default(),
        };
        Buckets::new(of_class * self.len(), expected, shares.buckets(), shares.space.dir).of_classes(hash, of_class)
    }

    pub(super) fn ids(&self, class: usize, end: u64) -> Range<u64> {
        match self {
            Self::Hash(_) => 0..end,
            Self::Ranges(ranges) => ranges.ids(class),
        }
    }
}
