//! The bytes of a block: some consecutive rows of a section, or the ranks of some vertices.
//!
//! ```text
//! numbers     LEB128, one for each row, in the resident section only: the first, then the distance from the one before, less 1
//! lengths     LEB128, one for each row
//! successors  LEB128, row after row: the first successor, then the distance from the one before, less 1
//! ```
//!
//! A device decodes the successors (`kernels/cuda/unpack.cu`). zstd finds a crawl's repetitions in LEB128, not in the graph file's shorter
//! sequences (docs/spill-format.md). Invariants, for any bytes: decoded values ascend strictly, below their bound.

use super::coded::CodedSlice;
use trimill_graph::leb128::{check_numbers, numbers, put, put_row};
use trimill_graph::rows::{put_ends, undo_distances};
use trimill_graph::sequence::Wrong;

pub use trimill_graph::Offset;

/// A block ends with the row that brings it to this many rows and arcs: enough for zstd to find repetitions, few enough for many threads.
pub const FULL: u64 = 1 << 17;

/// The most values (rows, arcs, numbers) that a reader accepts in a block of more than one row.
pub(super) const MOST_VALUES: u64 = 1 << 24;

/// The same for a block of one row. Rows are far shorter: a row of an oriented graph has at most `sqrt(2 m)` successors.
pub(super) const MOST_VALUES_OF_ROW: u64 = 1 << 28;

pub(super) const VALUE_BYTES: u64 = 5;

/// The numbers of rows: each row has its own (resident), or only the end of their range is known (row blocks).
#[derive(Debug, Clone, Copy)]
pub enum RowNumbers<T> {
    Each(T),
    /// No number is larger.
    UpTo(u32),
}

/// Buffers for the rows' numbers, or their bound, and for their ends, to which `base` is added.
pub struct RowEndsMut<'a, O> {
    pub numbers: RowNumbers<&'a mut [u32]>,
    pub ends: &'a mut [O],
    pub base: u64,
}

/// Appends the block of `rows` to `out`, with their numbers or without.
pub fn encode(rows: CodedSlice<'_>, numbered: bool, out: &mut Vec<u8>) {
    out.reserve(rows.successors.len() + 4 * rows.rows() + 8);
    if numbered {
        put_row(rows.numbers, out);
    }
    rows.lengths.iter().for_each(|&length| put(length, out));
    out.extend_from_slice(rows.successors);
}

/// Reads strictly ascending values below `bound` from all of `bytes`.
pub(super) fn ascending(bytes: &[u8], bound: u32, into: &mut [u32]) -> Result<(), Wrong> {
    if numbers(bytes, into)? != bytes.len() {
        return Err("more bytes than it has ranks");
    }
    let many = [into.len() as u32];
    if undo_distances(&many, into, std::iter::once(bound.into())) { Ok(()) } else { Err("ranks beyond the largest") }
}

/// Reads numbers, and the lengths of `rows` rows into `lengths`; returns where the `arcs` successors begin.
fn before_successors(
    bytes: &[u8],
    own: &mut RowNumbers<&mut [u32]>,
    rows: usize,
    arcs: u64,
    lengths: &mut Vec<u32>,
) -> Result<usize, Wrong> {
    let mut at = 0;
    if let RowNumbers::Each(own) = own {
        at = numbers(bytes, own)?;
        if !undo_distances(&[rows as u32], own, std::iter::once(u32::MAX.into())) {
            return Err("numbers beyond the largest");
        }
    }
    lengths.resize(rows, 0);
    at += numbers(&bytes[at..], lengths)?;
    if lengths.iter().map(|&length| u64::from(length)).sum::<u64>() != arcs {
        return Err("other lengths of rows than the index says");
    }
    Ok(at)
}

/// Decodes a block, all of `bytes`, which must fill the buffers. Errors: what is wrong with the bytes; `into` is then not valid.
pub fn decode<O: Offset>(
    bytes: &[u8],
    into: RowEndsMut<'_, O>,
    successors: &mut [u32],
    lengths: &mut Vec<u32>,
) -> Result<(), Wrong> {
    let RowEndsMut { numbers: mut own, ends, base } = into;
    let at = before_successors(bytes, &mut own, ends.len(), successors.len() as u64, lengths)?;
    if numbers(&bytes[at..], successors)? != bytes.len() - at {
        return Err("more bytes than its rows take");
    }
    let ascend = match own {
        RowNumbers::Each(own) => undo_distances(lengths, successors, own.iter().map(|&number| number.into())),
        RowNumbers::UpTo(last) => undo_distances(lengths, successors, std::iter::repeat(u64::from(last))),
    };
    put_ends(lengths, base, ends);
    if ascend { Ok(()) } else { Err("rows that do not ascend below their own numbers") }
}

/// As [`decode`] (errors, too), but the `arcs` successors stay encoded: a device unpacks them and checks that rows ascend. Returns where they begin,
/// and the bound below which all of them are.
pub(super) fn decode_lengths<O: Offset>(
    bytes: &[u8],
    into: RowEndsMut<'_, O>,
    arcs: u64,
    lengths: &mut Vec<u32>,
) -> Result<(usize, u32), Wrong> {
    let RowEndsMut { numbers: mut own, ends, base } = into;
    let begin = before_successors(bytes, &mut own, ends.len(), arcs, lengths)?;
    check_numbers(&bytes[begin..], arcs)?;
    put_ends(lengths, base, ends);
    let (bound, fit) = match own {
        RowNumbers::Each(own) => {
            (own.last().copied().unwrap_or(0), lengths.iter().zip(own).all(|(&length, number)| length <= *number))
        }
        RowNumbers::UpTo(last) => (last, lengths.iter().all(|&length| length <= last)),
    };
    if fit { Ok((begin, bound)) } else { Err("rows that do not ascend below their own numbers") }
}

pub(super) const fn values(numbered: bool, rows: u64, arcs: u64) -> u64 {
    arcs + rows * (1 + numbered as u64)
}
