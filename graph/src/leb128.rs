//! Numbers in LEB128: seven bits per byte, lowest first; the high bit says that the number continues. Rows in memory and in spills are such numbers:
//! per row the first successor, then the distance from each to the next, less one. They can be joined and cut after any number, and zstd finds
//! repetitions in them. Cost: some hundred million numbers per second and core.

use super::sequence::Wrong;

/// The high bit of each of 8 bytes: set in all bytes of a number but the last.
const MORE: u64 = 0x8080_8080_8080_8080;

#[inline]
pub fn put(number: u32, out: &mut Vec<u8>) {
    let end = out.len();
    let (bytes, length) = (spread(number), length_of(number));
    out.extend_from_slice(&bytes.to_le_bytes());
    out.truncate(end + length as usize);
}

/// The encoding as a little-endian word, padded with zeros.
#[inline(always)]
fn spread(number: u32) -> u64 {
    let bits = u64::from(number);
    let low = bits & 0x7f | (bits & 0x3f80) << 1 | (bits & 0x001f_c000) << 2;
    let all = low | (bits & 0x0fe0_0000) << 3 | (bits & 0xf000_0000) << 4;
    let mark = |least: u32, mark: u64| if number >= least { mark } else { 0 };
    all | mark(1 << 7, 0x80) | mark(1 << 14, 0x8000) | mark(1 << 21, 0x80_0000) | mark(1 << 28, 0x8000_0000)
}

#[inline(always)]
fn length_of(number: u32) -> u32 {
    let longer = |least: u32| u32::from(number >= least);
    1 + longer(1 << 7) + longer(1 << 14) + longer(1 << 21) + longer(1 << 28)
}

/// The most numbers that [`put_batch`] encodes at a time.
pub const SOME: usize = 64;

/// Bytes for the encodings of [`SOME`] numbers, including what is written beyond their end.
pub const BATCH_BYTES: usize = 5 * SOME + 8;

/// Encodes up to [`SOME`] numbers at the start of `out`; returns the bytes. Uses SIMD if the caller is compiled for it, and no branches on the data.
#[inline(always)]
pub fn put_batch(numbers: &[u32], out: &mut [u8; BATCH_BYTES]) -> usize {
    let (mut bytes, mut lengths) = ([0u64; SOME], [0u32; SOME]);
    for ((bytes, length), &number) in bytes.iter_mut().zip(&mut lengths).zip(numbers) {
        (*bytes, *length) = (spread(number), length_of(number));
    }
    let mut end = 0;
    for (bytes, length) in bytes.iter().zip(&lengths).take(numbers.len()) {
        out[end..end + 8].copy_from_slice(&bytes.to_le_bytes());
        end += *length as usize;
    }
    end
}

/// Appends the encoding of a row's successors, which must ascend strictly.
#[inline(always)]
pub fn put_row(successors: &[u32], out: &mut Vec<u8>) {
    let (mut distances, mut bytes) = ([0; SOME], [0; BATCH_BYTES]);
    // The first distance is from -1, so that it is the successor itself.
    let mut before = u32::MAX;
    for some in successors.chunks(SOME) {
        distances[0] = some[0].wrapping_sub(before).wrapping_sub(1);
        for (distance, pair) in distances[1..].iter_mut().zip(some.windows(2)) {
            *distance = pair[1] - pair[0] - 1;
        }
        let end = put_batch(&distances[..some.len()], &mut bytes);
        out.extend_from_slice(&bytes[..end]);
        before = some[some.len() - 1];
    }
}

/// Decodes a number of at most 4 bytes.
#[inline(always)]
fn joined(bits: u64) -> u64 {
    let pairs = bits & 0x007f_007f | bits >> 1 & 0x3f80_3f80;
    pairs & 0x3fff | pairs >> 2 & 0x0fff_c000
}

/// Decodes `into.len()` numbers; returns their bytes. A step takes eight one-byte numbers, else three by a bit mask; few mispredictions.
pub fn numbers(bytes: &[u8], into: &mut [u32]) -> Result<usize, Wrong> {
    let (mut at, mut done) = (0, 0);
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let Some(room) = into[done..].first_chunk_mut::<8>() else { break };
        let word = u64::from_le_bytes(*eight);
        let ends = !word & MORE;
        if ends == MORE {
            room.iter_mut().zip(eight).for_each(|(number, &byte)| *number = u32::from(byte));
            (at, done) = (at + 8, done + 8);
            continue;
        }
        let second = ends & ends.wrapping_sub(1);
        let third = second & second.wrapping_sub(1);
        // The last bit of each of three numbers.
        let (a, b, c) = (ends.trailing_zeros(), second.trailing_zeros(), third.trailing_zeros());
        let up_to = |bit: u32| word & u64::MAX >> (63 - bit);
        if third != 0 && a < 32 && b - a <= 32 && c - b <= 32 {
            room[0] = joined(up_to(a)) as u32;
            room[1] = joined(up_to(b) >> (a + 1)) as u32;
            room[2] = joined(up_to(c) >> (b + 1)) as u32;
            (at, done) = (at + (c as usize + 1) / 8, done + 3);
            continue;
        }
        if ends == 0 || a >= 40 {
            return Err("a number of more than 5 bytes");
        }
        let value = joined(up_to(a) & 0xffff_ffff) | up_to(a) >> 4 & 0x7_f000_0000;
        room[0] = u32::try_from(value).map_err(|_| "a number of more than 32 bits")?;
        (at, done) = (at + (a as usize + 1) / 8, done + 1);
    }
    for number in &mut into[done..] {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let Some(&byte) = bytes.get(at) else { return Err("fewer numbers than its rows have") };
            at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
            if shift > 28 {
                return Err("a number of more than 5 bytes");
            }
        }
        *number = u32::try_from(value).map_err(|_| "a number of more than 32 bits")?;
    }
    Ok(at)
}

/// Checks that `bytes` hold `many` numbers, without decoding them; decoding finds all other errors.
pub fn check_numbers(bytes: &[u8], many: u64) -> Result<(), Wrong> {
    if last_bytes(bytes) != many || bytes.last().is_some_and(|&last| last >= 0x80) {
        return Err("fewer or more numbers than its rows have");
    }
    Ok(())
}

/// How many bytes end a number: those without the high bit. Counted in eight sums of a byte each, 255 words at a time.
fn last_bytes(bytes: &[u8]) -> u64 {
    const LOW: u64 = u64::from_le_bytes([1; 8]);
    let of = |some: &[u8]| {
        let (words, rest) = some.as_chunks::<8>();
        let sums = words.iter().fold(0, |sums, &word| sums + (!u64::from_le_bytes(word) >> 7 & LOW));
        let sums: u64 = sums.to_le_bytes().map(u64::from).into_iter().sum();
        sums + rest.iter().filter(|&&byte| byte < 0x80).count() as u64
    };
    bytes.chunks(8 * 255).map(of).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The least and the largest numbers of each length.
    const ENDS: [u32; 10] = [0, 127, 128, 16_383, 16_384, (1 << 21) - 1, 1 << 21, (1 << 28) - 1, 1 << 28, u32::MAX];

    proptest! {
        #[test]
        fn numbers_of_every_length_stand_anywhere_in_a_word(
            chosen in prop::collection::vec(prop_oneof![0..=0x7fu32, prop::sample::select(ENDS.to_vec())], 0..2500),
            low in any::<bool>(),
        ) {
            let chosen: Vec<u32> = chosen.into_iter().map(|number| if low { number & 0x7f } else { number }).collect();
            let (mut bytes, mut found) = (Vec::new(), vec![0; chosen.len()]);
            chosen.iter().for_each(|&value| put(value, &mut bytes));
            prop_assert_eq!(numbers(&bytes, &mut found), Ok(bytes.len()));
            prop_assert_eq!(check_numbers(&bytes, chosen.len() as u64), Ok(()));
            prop_assert_eq!(found, chosen);
        }

        #[test]
        fn rows_are_their_distances(row in prop::collection::btree_set(any::<u32>(), 0..200)) {
            let (mut bytes, mut sum) = (Vec::new(), 0u64);
            let row: Vec<u32> = row.into_iter().collect();
            put_row(&row, &mut bytes);
            let mut found = vec![0; row.len()];
            prop_assert_eq!(numbers(&bytes, &mut found), Ok(bytes.len()));
            prop_assert_eq!(check_numbers(&bytes, row.len() as u64), Ok(()));
            prop_assert!(check_numbers(&bytes, row.len() as u64 + 1).is_err());
            for (number, successor) in found.into_iter().zip(row) {
                sum += u64::from(number) + 1;
                prop_assert_eq!(sum - 1, u64::from(successor));
            }
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let mut found = [0; 1];
        // 33 bits; six bytes; no end.
        for wrong in
            [&[0xff, 0xff, 0xff, 0xff, 0x1f, 0, 0, 0, 0][..], &[0x80; 5], &[0x80, 0x80, 0x80, 0x80, 0x80, 1], &[]]
        {
            assert!(numbers(wrong, &mut found).is_err(), "{wrong:?}");
            let mut many = [0; 8];
            let padded = [wrong, &[0; 16]].concat();
            assert!(wrong.len() < 5 || numbers(&padded, &mut many).is_err(), "{wrong:?}");
        }
    }
}
