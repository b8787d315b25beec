//! The bytes of a file block: the rows of some consecutive ranks, as two sequences of numbers ([`crate::sequence`]).
//!
//! ```text
//! lengths    a number for each row: its successors
//! distances  row after row: the first successor, then each one's distance from the one before, less 1
//! ```
//!
//! Any distances stand for strictly ascending rows, so two checks suffice: as many distances as successors, and each row ends below its own
//! rank. A block takes 0.2 (a crawl blown up 20 times) to 2 bytes per arc (a uniform graph; docs/graph-format.md). Cost: `O(rows + arcs)`.

use super::sequence::{NumberSequence, Wrong, encode};

pub trait Offset: Copy + Default + Send + Sync {
    /// The value must fit.
    fn of(value: u64) -> Self;
}

impl Offset for u64 {
    fn of(value: u64) -> Self {
        value
    }
}

impl Offset for u32 {
    fn of(value: u64) -> Self {
        debug_assert!(value <= u64::from(u32::MAX));
        value as u32
    }
}

/// Appends the file block of rows with these lengths and distances.
pub fn put_block(lengths: &[u32], distances: &[u32], out: &mut Vec<u8>) {
    encode(lengths, out);
    encode(distances, out);
}

/// Appends the distances of rows of these `lengths`, whose successors ascend strictly; all are subtracted as one row, then the first of each is put.
pub fn put_distances(successors: &[u32], lengths: &[u32], distances: &mut Vec<u32>) {
    let (begin, mut at) = (distances.len(), 0);
    distances.extend(successors.first());
    distances.extend(successors.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).wrapping_sub(1)));
    let distances = &mut distances[begin..];
    for &length in lengths {
        // Of an empty row, that is where the next one begins.
        if let (Some(first), Some(&successor)) = (distances.get_mut(at), successors.get(at)) {
            *first = successor;
        }
        at += length as usize;
    }
}

/// Splits a block of `lengths.len()` rows and `arcs` arcs: decodes its first sequence into `lengths`, and returns the second.
pub(super) fn split<'a>(bytes: &'a [u8], lengths: &mut [u32], arcs: u64) -> Result<NumberSequence<'a>, Wrong> {
    let (of_rows, rest) = NumberSequence::split(bytes, lengths.len() as u64)?;
    of_rows.decode(lengths)?;
    if lengths.iter().map(|&length| u64::from(length)).sum::<u64>() != arcs {
        return Err("other lengths of rows than the index says");
    }
    match NumberSequence::split(rest, arcs)? {
        (distances, []) => Ok(distances),
        _ => Err("more bytes than its rows take"),
    }
}

/// Decodes the lengths of all rows of a block, whose first has rank `first`, and their successors, at most `longest` each.
pub(super) fn decode(
    bytes: &[u8],
    first: u32,
    longest: u32,
    lengths: &mut [u32],
    successors: &mut [u32],
) -> Result<(), Wrong> {
    split(bytes, lengths, successors.len() as u64)?.decode(successors)?;
    if lengths.iter().any(|&length| length > longest) || !undo_distances(lengths, successors, u64::from(first)..) {
        return Err("rows that do not ascend to smaller ranks");
    }
    Ok(())
}

/// Writes the ends of rows with these `lengths`, plus `base`, to `ends`.
pub fn put_ends<O: Offset>(lengths: &[u32], base: u64, ends: &mut [O]) {
    let mut end = base;
    for (place, &length) in ends.iter_mut().zip(lengths) {
        end += u64::from(length);
        *place = O::of(end);
    }
}

/// Turns first successors and distances in `numbers` into successors of rows of `lengths`; returns whether each row ends below its bound.
pub fn undo_distances(lengths: &[u32], numbers: &mut [u32], bounds: impl Iterator<Item = u64>) -> bool {
    let (mut rest, mut good) = (numbers, true);
    for (&length, bound) in lengths.iter().zip(bounds) {
        let (row, after) = rest.split_at_mut(length as usize);
        // The smallest possible successor: one more than the one before.
        let mut least = 0u64;
        for successor in row {
            least += u64::from(*successor) + 1;
            *successor = (least - 1) as u32;
        }
        good &= least <= bound;
        rest = after;
    }
    good
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn encoded(rows: &[Vec<u32>]) -> Vec<u8> {
        let (mut bytes, mut distances) = (Vec::new(), Vec::new());
        let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
        put_distances(&rows.concat(), &lengths, &mut distances);
        put_block(&lengths, &distances, &mut bytes);
        bytes
    }

    fn decoded(bytes: &[u8], first: u32, rows: usize, arcs: usize) -> Result<(Vec<u64>, Vec<u32>), Wrong> {
        let (mut lengths, mut ends, mut successors) = (vec![0; rows], vec![0u64; rows], vec![0; arcs]);
        decode(bytes, first, 1 << 20, &mut lengths, &mut successors)?;
        put_ends(&lengths, 7, &mut ends);
        Ok((ends, successors))
    }

    #[test]
    fn rows_of_the_last_ranks_come_back() {
        // Some are empty, some end just below their rank, some spread over all ranks.
        let first = u32::MAX - 60;
        let row = |rank: u32| -> Vec<u32> {
            let successor = |i: u32| if rank.is_multiple_of(3) { i * (rank / 40) } else { rank - rank % 40 + i };
            (0..rank % 40).map(successor).collect()
        };
        let rows: Vec<Vec<u32>> = (first..u32::MAX).map(row).collect();
        let (bytes, arcs) = (encoded(&rows), rows.concat());
        let (ends, found) = decoded(&bytes, first, rows.len(), arcs.len()).unwrap();
        for (i, end) in ends.into_iter().enumerate() {
            assert_eq!(end, 7 + rows[..=i].concat().len() as u64, "row {i}");
        }
        assert_eq!(found, arcs);
        // A word more or less, or one arc more, is an error.
        assert!(decoded(&bytes[..bytes.len() - 8], first, rows.len(), arcs.len()).is_err());
        assert!(decoded(&[&bytes[..], &[0; 8]].concat(), first, rows.len(), arcs.len()).is_err());
        assert!(decoded(&bytes, first, rows.len(), arcs.len() + 1).is_err());
    }
}
