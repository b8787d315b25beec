//! What a round of peeling on the cores does to edges: those that fall, and those whose values it lowers.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use trimill_system::mapped::prefetch;

/// Entries of a row or edges that are treated together, so that the processor waits for many values at the same time.
pub(super) const TOGETHER: usize = 64;

/// An end of an edge that falls: the vertex in the high half; in the low one the other end, later its place in the row of the vertex.
pub(super) type FallingEnd = u64;

pub(super) fn vertex(end: FallingEnd) -> u32 {
    (end >> 32) as u32
}

/// The values of edges, in a round.
#[derive(Clone, Copy)]
pub(super) struct EdgeValues<'a> {
    pub(super) values: &'a [AtomicU32],
    /// Edges with values up to this fall in the next round; up to the bound, they are gathered.
    pub(super) level: u32,
    pub(super) bound: u32,
}

/// Edges whose values come down to the level, which fall in the next round; and to the bound, which are gathered.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) falling: Vec<u32>,
    pub(super) gathered: Vec<u32>,
}

impl EdgeValues<'_> {
    /// Takes from the values of edges that are left.
    #[inline(always)]
    pub(super) fn lower(&self, lowered: &[(u32, u32)], reached: &mut Reached) {
        for lowered in lowered.chunks(TOGETHER) {
            lowered.iter().for_each(|&(edge, _)| prefetch(self.values, edge as usize));
            for &(edge, by) in lowered {
                let before = self.values[edge as usize].fetch_sub(by, Relaxed);
                let after = before - by;
                if before > self.level && after <= self.level {
                    reached.falling.push(edge);
                } else if before > self.bound && after <= self.bound {
                    reached.gathered.push(edge);
                }
            }
        }
    }
}
