//! Whether each edge is left, falls in this round, or fell before: two bits an edge, which stay in a core's cache where values do not.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use trimill_system::mapped::{prefetch, zeros};

/// Edges of a word.
const IN_WORD: u32 = 16;

/// Bits of a state: the edge falls or fell; it fell.
const FALLS: u32 = 1;
const FELL: u32 = 2;

pub(super) struct EdgeStates(Vec<AtomicU32>);

impl EdgeStates {
    /// All are left.
    pub(super) fn left(edges: usize) -> Self {
        Self(zeros(edges.div_ceil(IN_WORD as usize)))
    }

    fn of(&self, edge: u32) -> u32 {
        self.0[(edge / IN_WORD) as usize].load(Relaxed) >> (2 * (edge % IN_WORD))
    }

    fn set(&self, edge: u32, bit: u32) {
        self.0[(edge / IN_WORD) as usize].fetch_or(bit << (2 * (edge % IN_WORD)), Relaxed);
    }

    pub(super) fn prefetch(&self, edge: u32) {
        prefetch(&self.0, (edge / IN_WORD) as usize);
    }

    /// The edge falls in this round.
    pub(super) fn falls(&self, edge: u32) {
        self.set(edge, FALLS);
    }

    /// The round in which the edge falls ends.
    pub(super) fn fell(&self, edge: u32) {
        self.set(edge, FELL);
    }

    /// Whether an edge neither fell nor falls.
    pub(super) fn is_left(&self, edge: u32) -> bool {
        self.of(edge) & FALLS == 0
    }

    /// Whether an edge was removed in an earlier round.
    pub(super) fn is_fallen(&self, edge: u32) -> bool {
        self.of(edge) & FELL != 0
    }
}
