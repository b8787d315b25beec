//! The sizes of a worker's arrays for hubs.

use super::hubs::words_before;
use crate::bytes::Bytes;

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
    /// Packed words.
    pub(super) packed: usize,
    /// Blocks of hubs' rows.
    pub(super) blocks: usize,
}

impl Capacity {
    /// The largest useful capacity for `hubs` hubs that takes at most `share` bytes, but never less than one row needs.
    pub(super) fn new(hubs: u32, share: Bytes) -> Self {
        if hubs <= DIRECT {
            return Self::holding(hubs, 0);
        }
        std::iter::successors(Some(MOST_POSTPONED), |&arcs| Some(arcs / 2))
            .take_while(|&arcs| arcs >= LEAST_POSTPONED)
            .map(|arcs| Self::holding(hubs, arcs))
            .find(|room| room.bytes() <= share)
            .unwrap_or(Self::holding(hubs, 0))
    }

    /// Capacity for `postponed` arcs, and for half as many packed words on top of the longest row's.
    pub(super) fn holding(hubs: u32, postponed: usize) -> Self {
        Self { postponed, packed: postponed / 2 + (hubs as usize).div_ceil(64), blocks: words_before(hubs) / BLOCK + 1 }
    }

    /// Bytes of the arrays.
    pub(super) const fn bytes(&self) -> Bytes {
        let arcs = 2 * self.postponed * size_of::<Postponed>();
        let packed = self.packed * (size_of::<u64>() + size_of::<u16>());
        Bytes((arcs + packed + (self.blocks + 1) * size_of::<u32>()) as u64)
    }
}
