//! Where shared frames begin and end.
//!
//! Frames are runs of numbers, as long as their rows fit the limit. Rows of a frame are addressed by 32 bits from its
//! start; offsets of all frames lie in one array, that of frame `i` from `start + i` on, since each has one more than
//! rows. `4 (n + frames)` bytes, made in `O(n)`.

use std::ops::Range;

use rayon::prelude::*;

use crate::bytes::Bytes;
use crate::graph::OrientedGraph;
use crate::partition::section::FrameSize;

/// Arcs that 32-bit offsets can address.
const MOST_ARCS: u64 = u32::MAX as u64;

/// The oriented graph by numbers, cut into frames.
///
/// Invariants: at least one frame; frames tile `0..n`; none takes more than the limit unless it is a single row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames {
    /// The first number of each frame; one more at the end.
    starts: Vec<u32>,
    /// The arcs before each frame; one more at the end.
    arcs: Vec<u64>,
    offsets: Vec<u32>,
}

impl Frames {
    /// Cuts `graph` into frames of at most `limit` bytes.
    pub fn new(graph: &OrientedGraph, limit: Bytes) -> Self {
        let lengths: Vec<u32> = graph.offsets().par_windows(2).map(|ends| (ends[1] - ends[0]) as u32).collect();
        Self::of_lengths(&lengths, limit)
    }

    /// The same from the lengths of the rows in the order of numbers.
    pub(crate) fn of_lengths(lengths: &[u32], limit: Bytes) -> Self {
        let (mut starts, mut arcs) = (vec![0], vec![0]);
        let mut offsets = Vec::with_capacity(lengths.len() + 64);
        offsets.push(0);
        let (mut start, mut end) = (0u32, 0u64);
        for (number, &length) in (0u32..).zip(lengths) {
            let grown = FrameSize {
                range: number + 1 - start,
                rows: u64::from(number + 1 - start),
                arcs: end + u64::from(length),
            };
            if number > start && (grown.bytes() > limit || grown.arcs > MOST_ARCS) {
                starts.push(number);
                arcs.push(arcs[arcs.len() - 1] + end);
                offsets.push(0);
                (start, end) = (number, 0);
            }
            end += u64::from(length);
            offsets.push(end as u32);
        }
        starts.push(lengths.len() as u32);
        arcs.push(arcs[arcs.len() - 1] + end);
        Self { starts, arcs, offsets }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The numbers of frame `i`.
    pub fn range(&self, i: usize) -> Range<u32> {
        self.starts[i]..self.starts[i + 1]
    }

    /// The arcs of frame `i`, counted from the first row of all.
    pub fn arcs(&self, i: usize) -> Range<u64> {
        self.arcs[i]..self.arcs[i + 1]
    }

    /// The offsets of frame `i`: where each of its rows begins, from the frame's start; one more at the end.
    pub fn offsets(&self, i: usize) -> &[u32] {
        &self.offsets[self.starts[i] as usize + i..self.starts[i + 1] as usize + i + 1]
    }

    /// The size of frame `i`.
    pub fn size(&self, i: usize) -> FrameSize {
        let (range, arcs) = (self.range(i).len() as u32, self.arcs(i));
        FrameSize { range, rows: u64::from(range), arcs: arcs.end - arcs.start }
    }

    /// The sizes of all.
    pub fn sizes(&self) -> impl Iterator<Item = FrameSize> + '_ {
        (0..self.count()).map(|i| self.size(i))
    }

    /// The frame that has the row of `number`.
    #[inline]
    pub fn frame_of(&self, number: u32) -> usize {
        self.starts.partition_point(|&start| start <= number) - 1
    }

    /// The arcs of the row of `number`, counted from the first row of all.
    #[inline]
    pub fn row(&self, number: u32) -> Range<u64> {
        let i = self.frame_of(number);
        let (first, place) = (self.arcs[i], number as usize + i);
        first + u64::from(self.offsets[place])..first + u64::from(self.offsets[place + 1])
    }

    /// The length of the row of `number`.
    #[inline]
    pub fn length(&self, number: u32) -> u64 {
        let row = self.row(number);
        row.end - row.start
    }

    /// The offsets of all frames, one after another.
    pub fn all_offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Bytes of the offsets.
    pub fn table_bytes(&self) -> Bytes {
        Bytes::of::<u32>(self.offsets.len() as u64)
    }
}
