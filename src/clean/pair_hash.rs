//! A reversible hash that puts all copies of a pair in one class, and makes classes about even.

use trimill_system::hash::mix;

/// Hashes pairs `min << 32 | max` to `2^bits` classes, by default one. `2^bits` consecutive `max` that differ only in the last bits go to different
/// classes: a vertex's pairs spread over all classes, and the last bits of `max` follow from the class and the others, so they are not stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairHash {
    bits: u32,
}

impl PairHash {
    /// `classes` must be a power of two.
    pub(super) const fn new(classes: usize) -> Self {
        Self { bits: classes.ilog2() }
    }

    pub(super) const fn classes(self) -> usize {
        1 << self.bits
    }

    /// The class of a key, and the key as [`PairHash::shortened`].
    #[inline]
    pub(super) fn split(self, key: u64) -> (usize, u64) {
        let shortened = self.shortened(key);
        (((mix(shortened) ^ key) & self.last_bits()) as usize, shortened)
    }

    const fn last_bits(self) -> u64 {
        (1 << self.bits) - 1
    }

    /// The key without the bits that follow from its class. Keys of a class keep their order.
    #[inline]
    pub(super) fn shortened(self, key: u64) -> u64 {
        key >> 32 << 32 | (key & 0xffff_ffff) >> self.bits
    }

    #[inline]
    pub(super) fn restored(self, shortened: u64, class: usize) -> u64 {
        let last = (mix(shortened) ^ class as u64) & self.last_bits();
        shortened >> 32 << 32 | (shortened << self.bits & 0xffff_ffff) | last
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_left_out_follows_from_the_class(keys in prop::collection::vec(any::<u64>(), 1..50), bits in 0..13u32) {
            let hash = PairHash { bits };
            for &key in &keys {
                let (class, shortened) = hash.split(key);
                prop_assert_eq!((hash.restored(shortened, class), hash.shortened(key)), (key, shortened));
            }
            let mut classes: Vec<usize> = (0..1 << bits).map(|last| hash.split(keys[0] & !hash.last_bits() | last).0).collect();
            classes.sort_unstable();
            prop_assert_eq!(classes, (0..1 << bits).collect::<Vec<usize>>());
        }
    }

    #[test]
    fn classes_are_about_even() {
        let hash = PairHash { bits: 6 };
        let grid = (0..1000u64).flat_map(|i| [i << 32 | (i + 1), i << 32 | (i + 64), 7 << 32 | (i * 64)]);
        let mut of_class = [0; 64];
        grid.for_each(|key| of_class[hash.split(key).0] += 1);
        assert!(of_class.iter().all(|many| (24..72).contains(many)), "{of_class:?}");
    }
}
