//! Sorted arcs in few bytes, while they wait in memory or on disk for a graph to be made of them.
//!
//! Input: keys `tail << 32 | head`, ascending, repeated or not; or any ascending numbers. Blocks of [`BLOCK`] are stored as by Elias and Fano (Vigna:
//! Quasi-succinct indices, WSDM 2013): of each key's distance from the first key, the `low` lowest bits are stored unchanged, the higher bits as
//! the position of a one in a bit string. Evenly spread keys take two bits more than the logarithm of their distance: about as much as in
//! [`super::sequence`], in a third of the time. Highest bits of heads that are 0 in the whole block are left out.
//!
//! ```text
//! first  u64            the first key
//! sizes  u32            bits 0 to 7: `low`; 8 to 15: the bits of heads; 16 to 31: the zeros among the bits that follow
//! low    bytes          `low` bits of each key, lowest bit first
//! high   u64 words      a one for each key, behind as many zeros as its distance has steps of `2^low` more than the one before
//! ```
//!
//! Cost: a few instructions for each arc, and no further memory.

use super::sequence::{FOUND, WORDS, Wrong, find_ones};

/// How many keys are stored with the same numbers of bits.
pub const BLOCK: usize = 512;

/// The fewest bits of a stored arc: a one.
pub const LEAST_BITS: u64 = 1;

/// The most bytes of a stored arc, in whole blocks.
pub const MOST_BYTES: u64 = 8;

/// The most low bits: they are read from a word that begins within a byte.
const MOST_LOW: u32 = 56;

const CUT: Wrong = "fewer bytes than its arcs take";

/// The key with `bits` bits for its head instead of 32.
#[inline(always)]
const fn narrowed(key: u64, bits: u32) -> u64 {
    key >> 32 << bits | key & 0xffff_ffff
}

#[inline(always)]
const fn widened(narrow: u64, bits: u32) -> u64 {
    narrow >> bits << 32 | narrow & !(u64::MAX << bits)
}

pub fn encode(keys: &[u64], encoded: &mut Vec<u8>) {
    keys.chunks(BLOCK).for_each(|block| encode_block(block, encoded));
}

/// Decodes as many keys as `keys` has room for; returns the bytes after them.
pub fn decode<'a>(mut encoded: &'a [u8], keys: &mut [u64]) -> Result<&'a [u8], Wrong> {
    for block in keys.chunks_mut(BLOCK) {
        encoded = decode_block(encoded, block)?;
    }
    Ok(encoded)
}

#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn encode_block(keys: &[u64], encoded: &mut Vec<u8>) {
    debug_assert!(keys.is_sorted(), "ascending keys");
    let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else { return };
    let many = keys.len() as u64;
    let all_heads = keys.iter().fold(0, |all, key| all | key & 0xffff_ffff);
    let of_heads = u64::BITS - all_heads.leading_zeros();
    let least = narrowed(first, of_heads);
    let span = narrowed(last, of_heads) - least;
    let low = (span / many).checked_ilog2().unwrap_or(0).min(MOST_LOW);
    let zeros = span >> low;
    encoded.extend_from_slice(&first.to_le_bytes());
    encoded.extend_from_slice(&(low | of_heads << 8 | (zeros as u32) << 16).to_le_bytes());
    let begin = encoded.len();
    let low_bytes = low_bytes(keys.len(), low);
    encoded.resize(begin + low_bytes + high_bytes(keys.len(), zeros), 0);
    let mut distances = [0; BLOCK];
    for (distance, &key) in distances.iter_mut().zip(keys) {
        *distance = narrowed(key, of_heads) - least;
    }
    let distances = &distances[..keys.len()];
    let (mut bits, mut waiting, mut filled) = (&mut encoded[begin..], 0, 0);
    for distance in distances {
        waiting |= (distance & !(u64::MAX << low)) << filled;
        filled += low;
        // The high bits come after the low ones, and are written later.
        if let Some(word) = bits.first_chunk_mut::<8>() {
            *word = waiting.to_le_bytes();
        }
        waiting >>= filled & !7;
        bits = &mut std::mem::take(&mut bits)[(filled >> 3) as usize..];
        filled &= 7;
    }
    let mut words = encoded[begin + low_bytes..].as_chunks_mut::<8>().0.iter_mut();
    let (mut begin, mut ones) = (0, 0u64);
    for (i, &distance) in (0..).zip(distances) {
        let place = (distance >> low) + i;
        while place >= begin + 64 {
            if let Some(word) = words.next() {
                *word = std::mem::take(&mut ones).to_le_bytes();
            }
            begin += 64;
        }
        ones |= 1 << (place & 63);
    }
    if let Some(word) = words.next() {
        *word = ones.to_le_bytes();
    }
}

const fn low_bytes(keys: usize, low: u32) -> usize {
    (keys * low as usize).div_ceil(8)
}

/// Bytes of the high bits, in whole words: a one per key, and `zeros` zeros.
const fn high_bytes(keys: usize, zeros: u64) -> usize {
    (keys + zeros as usize).div_ceil(64) * 8
}

#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn decode_block<'a>(encoded: &'a [u8], keys: &mut [u64]) -> Result<&'a [u8], Wrong> {
    let (first, rest) = encoded.split_first_chunk().ok_or(CUT)?;
    let (sizes, rest) = rest.split_first_chunk().ok_or(CUT)?;
    let (first, sizes) = (u64::from_le_bytes(*first), u32::from_le_bytes(*sizes));
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let (low, of_heads, zeros) = (sizes & 0xff, sizes >> 8 & 0xff, sizes >> 16);
    if low > MOST_LOW || of_heads > 32 {
        return Err("bits of a number that does not exist");
    }
    let low_bytes = low_bytes(keys.len(), low);
    let all = low_bytes + high_bytes(keys.len(), zeros.into());
    let (bits, rest) = rest.split_at_checked(all).ok_or(CUT)?;
    let mut ones = [0; FOUND];
    let high = &bits[low_bytes..];
    if high.len() > 8 * WORDS || find_ones(high, &mut ones) != keys.len() {
        return Err("fewer or more arcs than it should have");
    }
    let least = narrowed(first, of_heads);
    for (i, (key, &one)) in (0..).zip(keys.iter_mut().zip(&ones)) {
        let at = i * low;
        let lowest = word(&bits[(at >> 3) as usize..]) >> (at & 7) & !(u64::MAX << low);
        *key = widened(least.wrapping_add(u64::from(one - i) << low | lowest), of_heads);
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorted_arcs_are_decoded_as_they_were(
            mut keys in prop::collection::vec(any::<u64>(), 0..1600),
            (tail_bits, head_bits) in (0..=32u32, 0..=32u32),
            copies in 0..700usize,
        ) {
            let narrow = |part: u64, bits| part & ((1u64 << bits) - 1);
            keys.iter_mut().for_each(|key| *key = narrow(*key >> 32, tail_bits) << 32 | narrow(*key, head_bits));
            keys.extend(std::iter::repeat_n(keys.first().copied().unwrap_or(7), copies));
            keys.sort_unstable();
            let mut encoded = vec![1, 2, 3];
            encode(&keys, &mut encoded);
            encoded.push(4);
            let mut decoded = vec![0; keys.len()];
            prop_assert_eq!(decode(&encoded[3..], &mut decoded).unwrap(), &[4]);
            prop_assert_eq!(&decoded, &keys);
            let bytes = encoded.len() as u64 - 4;
            prop_assert!(8 * bytes >= LEAST_BITS * keys.len() as u64);
            prop_assert!(bytes <= MOST_BYTES * keys.len().next_multiple_of(BLOCK) as u64);
            if !keys.is_empty() {
                let cut = encoded.len() - 2;
                prop_assert!(decode(&encoded[3..cut], &mut decoded).is_err());
            }
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..3000), many in 0..1100usize) {
            let mut keys = vec![0; many];
            if let Ok(rest) = decode(&bytes, &mut keys) {
                // Each block has a header, and a word of ones.
                prop_assert!(rest.len() + 20 * many.div_ceil(BLOCK) <= bytes.len() && bytes.ends_with(rest));
            }
        }
    }

    #[test]
    fn arcs_that_are_spread_evenly_take_two_bits_more_than_their_distance() {
        let keys: Vec<u64> = (0..10_240u64).map(|i| (i << 20) | ((i * i) & 0xfffff)).collect();
        let mut encoded = Vec::new();
        encode(&keys, &mut encoded);
        let bits = 8.0 * encoded.len() as f64 / keys.len() as f64;
        assert!((22.0..22.5).contains(&bits), "{bits}");
    }
}
