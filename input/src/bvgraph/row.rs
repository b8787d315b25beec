//! The encoding of a row. A row is its degree; the distance to an earlier row that it refers to (0: none); which blocks of that row's successors it
//! copies; intervals of consecutive successors; and the distances between all others, the residuals. Every number is checked as it is read (against
//! the arcs left, the copied row, the degree or the vertices), so a damaged stream is an error or another valid graph, at no extra cost.

use std::ops::Range;

use dsi_bitstream::dispatch::Codes;

use super::bits::{BitOrder, BitReader};
use super::codes::{at_most, read};

#[derive(Debug, Clone)]
pub(super) struct Encoding {
    pub(super) nodes: u64,
    pub(super) window: u64,
    /// The longest chain of references; `None` if there is no limit.
    pub(super) longest_chain: Option<u64>,
    /// The length of the shortest interval; 0 if there are no intervals.
    pub(super) shortest_interval: u64,
    pub(super) outdegrees: Codes,
    pub(super) references: Codes,
    pub(super) blocks: Codes,
    pub(super) intervals: Codes,
    pub(super) residuals: Codes,
    pub(super) offsets: Codes,
}

/// Receives the successors of a row; those of each kind ascend.
pub(super) trait Successors {
    /// Copies successors number `range` of the row `distance` rows back.
    fn copy(&mut self, distance: u64, range: Range<u64>);
    fn interval(&mut self, ids: Range<u64>);
    fn residual(&mut self, id: u64);
}

impl Encoding {
    #[inline(always)]
    pub(super) fn degree<O: BitOrder>(&self, bits: &mut BitReader<'_, O>, most: u64) -> Option<u64> {
        at_most(read(self.outdegrees, bits)?, most.min(self.nodes))
    }

    /// Reads the rest of `node`'s row; `degree_of` gives the degree of the row at a distance. Returns the distance of its reference, or 0.
    #[inline(always)]
    pub(super) fn successors<O: BitOrder>(
        &self,
        bits: &mut BitReader<'_, O>,
        node: u64,
        degree: u64,
        degree_of: impl Fn(u64) -> u64,
        into: &mut impl Successors,
    ) -> Option<u64> {
        let (mut left, mut distance) = (degree, 0);
        if degree == 0 {
            return Some(0);
        }
        if self.window > 0 {
            distance = at_most(read(self.references, bits)?, self.window.min(node))?;
        }
        if distance > 0 {
            let copied = self.copies(bits, distance, degree_of(distance), into)?;
            left = left.checked_sub(copied)?;
        }
        if left > 0 && self.shortest_interval > 0 {
            left -= self.intervals(bits, node, left, into)?;
        }
        if left > 0 {
            let mut id = signed(node, read(self.residuals, bits)?)?;
            for i in 0..left {
                if i > 0 {
                    id = id.checked_add(1 + at_most(read(self.residuals, bits)?, self.nodes)?)?;
                }
                if id >= self.nodes {
                    return None;
                }
                into.residual(id);
            }
        }
        Some(distance)
    }

    /// Reads which blocks of a row of `length` successors are copied; returns how many successors they have.
    #[inline(always)]
    fn copies<O: BitOrder>(
        &self,
        bits: &mut BitReader<'_, O>,
        distance: u64,
        length: u64,
        into: &mut impl Successors,
    ) -> Option<u64> {
        // Each block but the first has at least one successor.
        let blocks = at_most(read(self.blocks, bits)?, length + 1)?;
        let (mut at, mut copied) = (0, 0);
        // Blocks are copied and skipped in turn, the first is copied. The last is the rest of the row; its length is not stored.
        for block in 0..=blocks {
            let end = match block == blocks {
                true => length,
                false => at + at_most(read(self.blocks, bits)?, length)? + u64::from(block > 0),
            };
            if end > length {
                return None;
            }
            if block.is_multiple_of(2) && end > at {
                into.copy(distance, at..end);
                copied += end - at;
            }
            at = end;
        }
        Some(copied)
    }

    /// Reads the intervals of a row with at most `left` more successors; returns how many successors they have.
    #[inline(always)]
    fn intervals<O: BitOrder>(
        &self,
        bits: &mut BitReader<'_, O>,
        node: u64,
        left: u64,
        into: &mut impl Successors,
    ) -> Option<u64> {
        let many = at_most(read(self.intervals, bits)?, left)?;
        let (mut end, mut all) = (0, 0);
        for i in 0..many {
            let first = read(self.intervals, bits)?;
            let start = if i == 0 { signed(node, first)? } else { end + 1 + at_most(first, self.nodes)? };
            let length = at_most(read(self.intervals, bits)?, self.nodes)? + self.shortest_interval;
            (end, all) = (start + length, all + length);
            if end > self.nodes || all > left {
                return None;
            }
            into.interval(start..end);
        }
        Some(all)
    }
}

/// The id at a signed distance from `node`; the sign is the lowest bit.
#[inline(always)]
fn signed(node: u64, distance: u64) -> Option<u64> {
    match distance % 2 {
        0 => node.checked_add(distance / 2),
        _ => node.checked_sub(distance / 2 + 1),
    }
}
