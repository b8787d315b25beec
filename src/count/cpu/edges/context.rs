//! What workers share while they count a row block, or a batch of locals.

use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::above::HubsAbove;
use super::counters::HostEdgeCounters;
use crate::count::cpu::by_head::HeadBuckets;
use crate::count::cpu::hubs::Hubs;
use crate::count::cpu::worker::LocalsRun;
use crate::count::successors::SuccessorRows;
use trimill_counting::Resident;

pub(super) struct Around<'a> {
    pub(super) range: &'a Range<u32>,
    pub(super) successors: &'a SuccessorRows<'a>,
    pub(super) hubs: &'a Hubs,
    pub(super) above: &'a HubsAbove,
    pub(super) counters: &'a HostEdgeCounters,
    pub(super) resident: &'a Resident,
    /// Whether most rows are packed ([`crate::count::cpu::pack`]).
    pub(super) packed: bool,
}

impl<'a> Around<'a> {
    /// The row of `b`, and the counter of its first arc; counters of the row block's arcs follow those of the resident arcs.
    #[inline(always)]
    pub(super) fn row_at(&self, b: u32) -> (&'a [u32], u64) {
        self.successors.row_at(b, self.resident.successors.len() as u64)
    }
}

pub(super) struct BatchedHeads<'a> {
    pub(super) hubs: &'a HeadBuckets,
    pub(super) others: &'a HeadBuckets,
    pub(super) most_arcs: u64,
}

impl BatchedHeads<'_> {
    pub(super) fn are_none(&self) -> bool {
        self.hubs.is_empty() && self.others.is_empty()
    }

    /// False for a row with more arcs than a batch has room for: then no arc of its run is counted by head.
    pub(super) fn has_room_for(&self, run: &LocalsRun<'_>, resident: &Resident) -> bool {
        run.arcs(resident) <= self.most_arcs
    }

    /// The end of the arcs in a row that are counted by head; 0 if there are none.
    #[inline(always)]
    pub(super) fn end(&self, row: &[u32], cursor: usize) -> usize {
        let end = |heads: &HeadBuckets| match heads.places(row, cursor) {
            places if places.is_empty() => 0,
            places => places.end,
        };
        end(self.hubs).max(end(self.others))
    }

    pub(super) fn end_of_all(&self) -> u32 {
        self.hubs.range().end.max(self.others.range().end)
    }
}

pub(super) struct FoundByHead<'a> {
    /// The triangles on each arc, written once; zeroed again when they are added to the counters.
    pub(super) found: &'a [AtomicU32],
    pub(super) first_arc: u64,
}

impl FoundByHead<'_> {
    /// The index in `found` of an arc, from the first arc of its row and its place in the row.
    #[inline(always)]
    pub(super) fn place(&self, first: u64, place: u16) -> usize {
        (first - self.first_arc) as usize + usize::from(place)
    }

    #[inline(always)]
    pub(super) fn put(&self, place: usize, triangles: u32) {
        if triangles > 0 {
            self.found[place].store(triangles, Relaxed);
        }
    }
}
