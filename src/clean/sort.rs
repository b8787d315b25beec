//! Sorts the keys of a bucket ([`super::classes`]), whose upper halves are in a known range, by bucket sort: ids are mostly spread evenly, so keys
//! are counted into cells by upper half, and each small cell is sorted by comparing. `O(n)` for evenly spread keys, `O(n log n)` for any.

use std::ops::Range;

use trimill_system::mapped::zeros;

const PER_CELL: usize = 4;

/// The most cells, so that their offsets stay in a core's cache.
const MOST_CELLS: usize = 1 << 18;

/// Replaces `sorted` by the ascending keys of `chunks`, whose upper halves are in `ids`; reuses its memory.
pub(super) fn sort_pairs(chunks: &[Vec<u64>], ids: &Range<u64>, sorted: &mut Vec<u64>) {
    let len = chunks.iter().map(Vec::len).sum::<usize>();
    if len < 2 * PER_CELL || u32::try_from(len).is_err() {
        sorted.clear();
        chunks.iter().for_each(|chunk| sorted.extend_from_slice(chunk));
        return sorted.sort_unstable();
    }
    match sorted.capacity() < len {
        true => *sorted = zeros(len),
        false => sorted.resize(len, 0),
    }
    let cells = (len / PER_CELL).min(MOST_CELLS);
    // The cell index is in the upper 32 bits of the scaled id.
    let scale = ((cells as u64) << 32) / (ids.end - ids.start);
    let cell_of = |key: u64| ((((key >> 32) - ids.start) * scale) >> 32) as usize;
    // First the cell sizes, then the next free place of each cell, finally the ends.
    let mut ends = vec![0_u32; cells];
    for chunk in chunks {
        chunk.iter().for_each(|&key| ends[cell_of(key)] += 1);
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    for chunk in chunks {
        for &key in chunk {
            let next = &mut ends[cell_of(key)];
            sorted[*next as usize] = key;
            *next += 1;
        }
    }
    let mut begin = 0;
    for end in ends {
        sorted[begin..end as usize].sort_unstable();
        begin = end as usize;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pairs_are_sorted_however_they_are_distributed(
            mut keys in prop::collection::vec(any::<u64>(), 1..5000),
            shift in 0..64u32,
            copies in 0..2000usize,
            cut in 1..4000usize,
            left in 0..9000usize,
        ) {
            keys.iter_mut().for_each(|key| *key >>= shift);
            let repeated = keys[0];
            keys.extend(std::iter::repeat_n(repeated, copies));
            let first = keys.iter().map(|key| key >> 32).min().unwrap_or(0);
            let end = keys.iter().map(|key| (key >> 32) + 1).max().unwrap_or(1);
            let mut sorted = vec![1; left];
            sort_pairs(&keys.chunks(cut).map(<[u64]>::to_vec).collect::<Vec<_>>(), &(first..end), &mut sorted);
            keys.sort_unstable();
            prop_assert_eq!(sorted, keys);
        }
    }
}
