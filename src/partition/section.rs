//! What a partition is made of when it travels: the resident section and the frames.
//!
//! A partition numbers its locals and kept proxies together, `0..numbered`, in the order of their numbers (falling
//! degree), so every arc goes from a larger local number to a smaller one and rows are strictly ascending.

use std::ops::Range;

use rayon::prelude::*;

use crate::bytes::Bytes;
use crate::graph::bits::{Bits, Marks};

/// The rows of the local vertices of a partition, or a run of them.
///
/// Invariants: `numbers` strictly ascending; `offsets.len() == numbers.len() + 1`, `offsets[0] == 0`,
/// `offsets.last() == heads.len()`; row `i` is `heads[offsets[i]..offsets[i + 1]]`, strictly ascending, all below
/// `numbers[i]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resident {
    /// The local number of each local vertex.
    pub numbers: Vec<u32>,
    /// Where each row begins in `heads`; one more at the end.
    pub offsets: Vec<u64>,
    /// The heads of all rows, in local numbers.
    pub heads: Vec<u32>,
}

impl Resident {
    /// Row `i`: the out-neighbours of local vertex number `numbers[i]`.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.heads[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Which numbers of `range` are local; runs in the current thread pool.
    pub fn locals_in(&self, range: &Range<u32>) -> LocalsIn {
        let first = self.numbers.partition_point(|&number| number < range.start);
        let end = self.numbers.partition_point(|&number| number < range.end);
        let bits = (end - first < range.len()).then(|| {
            let marks = Marks::new(range.len() as u32);
            self.numbers[first..end].par_iter().for_each(|&number| marks.set(number - range.start));
            marks.finish()
        });
        LocalsIn { first, bits }
    }

    /// Bytes that it holds.
    pub fn heap(&self) -> Bytes {
        Bytes::of::<u32>((self.numbers.capacity() + self.heads.capacity()) as u64)
            + Bytes::of::<u64>(self.offsets.capacity() as u64)
    }
}

/// The locals of a range of numbers.
#[derive(Debug, Clone)]
pub struct LocalsIn {
    /// The place of the first one in the resident section.
    pub first: usize,
    /// Which they are, counted from the range's start; `None` when all of the range is local.
    pub bits: Option<Bits>,
}

/// A bounded slice of the proxies' rows: those of all proxies whose local number lies in `range`.
///
/// Local vertices in the range have no row here (theirs are resident), so row `i` belongs to the `i`-th proxy of the
/// range in ascending local number. The frames of a partition tile `0..numbered` in ascending order.
///
/// Invariants: `offsets.len() == proxies in range + 1`, `offsets[0] == 0`, `offsets.last() == heads.len()`; rows
/// strictly ascending, all heads below the row's own number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The range of local numbers that this frame covers.
    pub range: Range<u32>,
    /// Where each proxy's row begins in `heads`; one more at the end.
    pub offsets: Vec<u32>,
    /// The heads of all rows, in local numbers.
    pub heads: Vec<u32>,
}

impl Frame {
    /// The row of the `i`-th proxy of the range.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.heads[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Bytes that it holds, and those that tell its range's locals from proxies while it is counted.
    pub fn heap(&self) -> Bytes {
        Bytes::of::<u32>((self.offsets.capacity() + self.heads.capacity()) as u64)
            + Bits::bytes(self.range.len() as u32)
    }
}

/// The size of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSize {
    /// The numbers that it covers.
    pub range: u32,
    /// Its rows.
    pub rows: u64,
    /// The heads of all rows.
    pub arcs: u64,
}

impl FrameSize {
    /// Bytes on the device.
    pub fn bytes(&self) -> Bytes {
        frame_bytes(self.range, self.rows, self.arcs)
    }

    /// Bytes that `buffer` would hold once a frame of this size was read into it.
    pub fn bytes_within(&self, buffer: &Frame) -> Bytes {
        let rows = self.rows.max((buffer.offsets.capacity() as u64).saturating_sub(1));
        frame_bytes(self.range, rows, self.arcs.max(buffer.heads.capacity() as u64))
    }
}

/// Bytes of a frame in the memory of the device: heads, offsets, and which numbers of the range are local.
pub fn frame_bytes(range: u32, rows: u64, arcs: u64) -> Bytes {
    Bytes(4 * arcs + 4 * (rows + 1)) + Bits::bytes(range)
}

/// The longest range of a frame of at most `limit` bytes: what tells locals from proxies takes a quarter at most.
pub fn longest_frame_range(limit: Bytes) -> u32 {
    // 12 bytes for each 64 numbers of the range, see `Bits::bytes`.
    (limit.get() / 4 / 12 * 64).clamp(512, u64::from(u32::MAX)) as u32
}

/// The smallest limit under which a frame can hold a row of `longest` heads.
pub fn smallest_frame_limit(longest: u32) -> Bytes {
    Bytes((4 * u64::from(longest) + 8) * 4 / 3 + 512)
}
