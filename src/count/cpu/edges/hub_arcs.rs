//! The triangles on the arcs to hubs, hub by hub.
//!
//! All arcs `a -> x` of a batch to one hub `x` are taken one after another. What the row of `a` has in common with the hubs below `x` in
//! its row, and with those above it ([`HubsAbove`]), are all triangles on the arc whose middle corner is a hub: one count, without
//! additions at random. The arcs from `x` to hubs below it gain one triangle each, which is added to bit planes, or for the few entries of `a`'s row that
//! are not packed into words to a counter.

use std::mem::take;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::above::HubsAbove;
use super::counters::HostEdgeCounters;
use super::packed::{PackedRow, PackedRows};
use super::worker::Around;
use crate::count::cpu::by_head::{HeadPart, OF_BUCKET};
use crate::count::cpu::postponed::SortedArcs;
use crate::planes::{self, FULL, Planes};
use trimill_system::Bytes;

/// The most arcs of a part: 512 KiB.
pub(super) const OF_PART: usize = 1 << 16;

/// How many arcs ahead of the current one its row is prefetched; where that is is prefetched twice as far ahead.
const AHEAD: usize = 8;

/// The rows of a batch of locals, and what was found on their arcs.
pub(super) struct HubBatch<'a> {
    pub(super) first_local: usize,
    pub(super) packed: &'a PackedRows,
    pub(super) above: &'a HubsAbove,
    /// For each arc of these rows. Each is written once.
    pub(super) found: &'a [AtomicU32],
}

/// Counters of a hub's arcs, and room for the arcs of a part.
#[derive(Debug, Default)]
pub(super) struct HubArcs {
    sorted: SortedArcs,
    /// For each word of the hub's row.
    planes: Vec<Planes>,
    /// For each number below the hub.
    of_number: Vec<u32>,
    /// For each arc of the hub.
    counts: Vec<u32>,
}

/// Bytes for `hubs` hubs, of a worker.
pub(in crate::count::cpu) fn per_worker(hubs: u32) -> Bytes {
    match hubs {
        0 => Bytes::ZERO,
        _ => {
            SortedArcs::bytes_for(OF_PART, OF_BUCKET)
                + Bytes::of::<Planes>(hubs.div_ceil(64).into())
                + Bytes::of::<u32>(2 * u64::from(hubs))
        }
    }
}

impl HubArcs {
    /// Makes the arrays, for up to `hubs` hubs.
    pub(super) fn allocate(&mut self, hubs: u32) {
        if !self.sorted.is_allocated() {
            self.sorted = SortedArcs::new(OF_PART, OF_BUCKET);
            self.planes = vec![planes::EMPTY; hubs.div_ceil(64) as usize];
            self.of_number = vec![0; hubs as usize];
            self.counts.reserve_exact(hubs as usize);
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.sorted.bytes()
            + Bytes::of::<Planes>(self.planes.capacity() as u64)
            + Bytes::of::<u32>((self.of_number.capacity() + self.counts.capacity()) as u64)
    }
}

/// Counts the triangles of the arcs of a part; returns how many have the head of one of them as middle corner.
///
/// Compiled for several instruction sets, as [`super::worker::count_run`].
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub(super) fn count_part(arcs: &mut HubArcs, part: &HeadPart<'_>, batch: &HubBatch<'_>, around: &Around<'_>) -> u64 {
    let HubArcs { sorted, planes, of_number, counts } = arcs;
    let HubBatch { first_local, packed, above, found } = *batch;
    let sorted = part.sort(sorted);
    let local = |tail: u32| tail as usize - first_local;
    let (mut all, mut i) = (0, 0);
    for arcs in sorted.chunk_by(|a, b| a.head == b.head) {
        let head = part.first + u32::from(arcs[0].head);
        let is_hub = around.hubs.range().contains(&head);
        let hub = HubRow {
            below: if is_hub { around.hubs.row(head) } else { &[] },
            above: above.row(head),
            first_above: above.first_word(head),
            number: if is_hub { head } else { 0 },
        };
        let mut counters = HubCounters { planes, of_number };
        counts.clear();
        counts.resize(if is_hub { around.successors.row(head).len() } else { 0 }, 0);
        let (mut below, mut added) = (0, 0);
        for arc in arcs {
            i += 1;
            if let Some(later) = sorted.get(i + 2 * AHEAD) {
                packed.prefetch_start(local(later.tail));
            }
            if let Some(later) = sorted.get(i + AHEAD) {
                packed.prefetch(local(later.tail));
            }
            let row = packed.row(local(arc.tail));
            let found_below = hub.count_below(&row, &mut counters);
            let triangles = found_below + hub.count_above(&row);
            below += u64::from(found_below);
            if triangles > 0 {
                found[row.first_arc as usize + usize::from(arc.len)].store(triangles, Relaxed);
            }
            added += u32::from(found_below > 0);
            if added == FULL {
                added = 0;
                counters.take_planes(hub.below, counts);
            }
        }
        if below > 0 {
            counters.take_planes(hub.below, counts);
            let (row, first) = around.successors.row_at(head, around.arcs as u64);
            for (count, &c) in counts.iter_mut().zip(row) {
                *count += take(&mut counters.of_number[c as usize]);
            }
            HostEdgeCounters::add(around.counters, first, counts);
        }
        all += below;
    }
    all
}

/// A hub, or a number below the first hub, of which there are only those above it.
struct HubRow<'a> {
    below: &'a [u64],
    above: &'a [u64],
    /// The first word of `above`.
    first_above: usize,
    number: u32,
}

struct HubCounters<'a> {
    planes: &'a mut [Planes],
    of_number: &'a mut [u32],
}

impl HubCounters<'_> {
    /// Adds the planes to the counts of the hub's arcs, whose bits are `row`.
    #[inline(always)]
    fn take_planes(&mut self, row: &[u64], counts: &mut [u32]) {
        let mut before = 0;
        for (&bits, planes) in row.iter().zip(&mut *self.planes) {
            planes::take(planes, bits, &mut counts[before..]);
            before += bits.count_ones() as usize;
        }
    }
}

#[inline(always)]
fn bit(words: &[u64], first: usize, c: u16) -> u32 {
    (words[usize::from(c) / 64 - first] >> (c % 64)) as u32 & 1
}

impl HubRow<'_> {
    /// How many numbers below the hub both rows have, each of which is counted.
    #[inline(always)]
    fn count_below(&self, row: &PackedRow<'_>, counters: &mut HubCounters<'_>) -> u32 {
        let mut found = 0;
        // The word of the hub itself may have larger numbers, too, but the hub's row has not.
        let many = row.places.partition_point(|&place| usize::from(place) < self.below.len());
        for (&place, &word) in row.places[..many].iter().zip(row.words) {
            let both = self.below[usize::from(place)] & word;
            found += both.count_ones();
            planes::add(&mut counters.planes[usize::from(place)], both);
        }
        let many = row.entries.partition_point(|&c| u32::from(c) < self.number);
        for &c in &row.entries[..many] {
            let both = bit(self.below, 0, c);
            counters.of_number[usize::from(c)] += both;
            found += both;
        }
        found
    }

    /// How many hubs above this one are in `row` and have this one in theirs.
    #[inline(always)]
    fn count_above(&self, row: &PackedRow<'_>) -> u32 {
        let first = row.places.partition_point(|&place| usize::from(place) < self.first_above);
        let mut found = 0;
        for (&place, &word) in row.places[first..].iter().zip(&row.words[first..]) {
            found += (self.above[usize::from(place) - self.first_above] & word).count_ones();
        }
        let first = row.entries.partition_point(|&c| usize::from(c) / 64 < self.first_above);
        for &c in &row.entries[first..] {
            found += bit(self.above, self.first_above, c);
        }
        found
    }
}
