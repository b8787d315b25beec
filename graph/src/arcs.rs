//! Sorted arcs in few bytes, while they wait in memory or on disk for a graph to be made of them.
//!
//! Input: keys `tail << b | head`, ascending, each any number of times. They become two [sequences](super::sequence): the distance of each
//! tail from the one before; and of each head from the one before, or from 0 where another tail begins. So arcs of a range of tails take
//! about as many bits as their entropy if they are spread evenly, and fewer if they are not: the pairs of GAP-kron 27 in 4,096 classes take
//! 3 bytes each.
//!
//! Cost: `O(1)` for each arc; memory: 8 bytes for each arc that is encoded or decoded at once.

use super::sequence::{self, NumberSequence, Wrong};

/// The fewest bits of an encoded arc: a control bit in either sequence.
pub const LEAST_BITS: u64 = 2;

/// The most bytes of an encoded arc, if there are some hundred of them: 32 bits and a control bit in either sequence.
pub const MOST_BYTES: u64 = 9;

/// Encodes and decodes arcs; it keeps the memory for their numbers.
#[derive(Debug)]
pub struct ArcCodec {
    head_bits: u32,
    tails: Vec<u32>,
    heads: Vec<u32>,
}

impl ArcCodec {
    /// For keys with heads of `head_bits` bits, at most 32, and tails of as many.
    pub const fn new(head_bits: u32) -> Self {
        Self { head_bits, tails: Vec::new(), heads: Vec::new() }
    }

    /// Appends the encoding of `keys`, which ascend, to `encoded`.
    pub fn encode(&mut self, keys: &[u64], encoded: &mut Vec<u8>) {
        debug_assert!(keys.is_sorted(), "ascending arcs");
        let Self { head_bits, tails, heads } = self;
        tails.clear();
        heads.clear();
        let mask = (1 << *head_bits) - 1;
        let (mut tail, mut head) = (0, 0);
        for &key in keys {
            let distance = (key >> *head_bits) - tail;
            let from = if distance == 0 { head } else { 0 };
            (tail, head) = (tail + distance, key & mask);
            tails.push(distance as u32);
            heads.push((head - from) as u32);
        }
        sequence::encode(tails, encoded);
        sequence::encode(heads, encoded);
    }

    /// Decodes as many keys as `keys` has room for; returns what is behind them.
    ///
    /// # Errors
    /// Bytes that are not the encoding of so many keys.
    pub fn decode<'a>(&mut self, encoded: &'a [u8], keys: &mut [u64]) -> Result<&'a [u8], Wrong> {
        let Self { head_bits, tails, heads } = self;
        let mut rest = encoded;
        for numbers in [&mut *tails, &mut *heads] {
            let (sequence, behind) = NumberSequence::split(rest, keys.len() as u64)?;
            numbers.resize(keys.len(), 0);
            sequence.decode(numbers)?;
            rest = behind;
        }
        let (mut tail, mut head) = (0u64, 0u64);
        for (key, (&of_tail, &of_head)) in keys.iter_mut().zip(tails.iter().zip(&*heads)) {
            tail += u64::from(of_tail);
            head = if of_tail == 0 { head } else { 0 } + u64::from(of_head);
            *key = tail << *head_bits | head;
        }
        Ok(rest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorted_arcs_are_decoded_as_they_were(
            mut keys in prop::collection::vec(any::<u64>(), 0..600),
            (head_bits, of_tail, of_head) in (1..=32u32, 0..=32u32, 0..=32u32),
            copies in 0..40usize,
        ) {
            let narrow = |part: u64, bits| part & ((1u64 << bits) - 1);
            let of_head = of_head.min(head_bits);
            keys.iter_mut().for_each(|key| *key = narrow(*key >> 32, of_tail) << head_bits | narrow(*key & 0xffff_ffff, of_head));
            keys.extend(std::iter::repeat_n(keys.first().copied().unwrap_or(7), copies));
            keys.sort_unstable();
            let (mut codec, mut encoded) = (ArcCodec::new(head_bits), vec![1, 2, 3]);
            codec.encode(&keys, &mut encoded);
            encoded.push(4);
            let mut decoded = vec![0; keys.len()];
            prop_assert_eq!(codec.decode(&encoded[3..], &mut decoded).unwrap(), &[4]);
            prop_assert_eq!(&decoded, &keys);
            let bytes = encoded.len() as u64 - 4;
            prop_assert!(8 * bytes >= LEAST_BITS * keys.len() as u64);
            prop_assert!(bytes <= MOST_BYTES * keys.len() as u64 + 64);
            prop_assert!(codec.decode(&encoded[3..encoded.len() / 2], &mut decoded).is_err());
            if !keys.is_empty() {
                prop_assert!(codec.decode(&encoded[3..], &mut decoded[1..]).is_err());
            }
        }
    }
}
