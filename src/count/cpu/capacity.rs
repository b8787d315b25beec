//! The sizes of a worker's arrays for hubs.

use super::hubs::words_before;
use trimill_system::bytes::Bytes;

/// Hubs whose arcs are counted at once: their rows take 256 KiB.
pub(super) const DIRECT: u32 = 2048;

/// Words of a block of hubs' rows (256 KiB).
pub(super) const BLOCK: usize = 1 << 15;

/// The most arcs that are postponed, and the fewest for which postponing pays off.
const MOST_POSTPONED: usize = 1 << 19;
const LEAST_POSTPONED: usize = 1 << 10;

/// A postponed arc: its successor, and which packed words of its tail it needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Postponed {
    pub(super) first: u32,
    pub(super) words: u16,
    pub(super) successor: u16,
}

/// The sizes of a worker's arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity {
    /// Arcs that are postponed at a time; 0 for none.
    pub(super) postponed: usize,
    pub(super) packed: usize,
    /// Blocks of hubs' rows.
    pub(super) blocks: usize,
    /// Whether triangles are counted at vertices, so that the local of each packed row is kept.
    pub(super) vertices: bool,
}

impl Capacity {
    /// The largest useful capacity for `hubs` hubs that takes at most `share` bytes, but never less than one row needs.
    pub(super) fn new(hubs: u32, share: Bytes, vertices: bool) -> Self {
        let holding = |postponed| Self { vertices, ..Self::holding(hubs, postponed) };
        if hubs <= DIRECT {
            return holding(0);
        }
        std::iter::successors(Some(MOST_POSTPONED), |&arcs| Some(arcs / 2))
            .take_while(|&arcs| arcs >= LEAST_POSTPONED)
            .map(holding)
            .find(|room| room.bytes() <= share)
            .unwrap_or(holding(0))
    }

    /// Capacity for `postponed` arcs, and for half as many packed words on top of the longest row's.
    pub(super) fn holding(hubs: u32, postponed: usize) -> Self {
        let packed = postponed / 2 + (hubs as usize).div_ceil(64);
        Self { postponed, packed, blocks: words_before(hubs) / BLOCK + 1, vertices: false }
    }

    /// Bytes of the arrays.
    pub(super) const fn bytes(&self) -> Bytes {
        let arcs = 2 * self.postponed * size_of::<Postponed>();
        let locals = if self.vertices { size_of::<u32>() } else { 0 };
        let packed = self.packed * (size_of::<u64>() + size_of::<u16>() + locals);
        Bytes((arcs + packed + (self.blocks + 1) * size_of::<u32>()) as u64)
    }
}
