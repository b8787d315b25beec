//! The triangles on the arcs of hubs that are middle corners.
//!
//! Of a triangle `a -> b -> c`, `a -> c` with a hub `b`, the arc `b -> c` is counted apart from the other two: the arcs `a -> b` wait until
//! there are many, and are then taken by blocks of hubs, so that the counters of a hub's arcs, as bit planes, stay in a core's cache while
//! the rows of many `a` are added to them.

use std::ops::Range;

use super::Around;
use super::counters::HostEdgeCounters;
use crate::count::cpu::hubs::words_before;
use crate::count::cpu::postponed::{Capacity, PostponedArc, PostponedArcs};
use crate::planes::{self, FULL, Planes};
use trimill_system::Bytes;

/// Words of a block of hubs' rows: their planes take 256 KiB.
const BLOCK: usize = 1 << 12;

/// Room for words that both rows have, for each arc that waits: with half of it, counting on a Kronecker graph took 4% longer.
const WORDS_PER_ARC: usize = 16;

/// The fewest arcs that wait.
const LEAST_ARCS: usize = 1 << 10;

/// The arcs of a worker that wait, and the counters of a block.
#[derive(Debug)]
pub(super) struct MiddleCorners {
    pub(super) postponed: PostponedArcs,
    /// The planes of each word of the rows of a block.
    planes: Vec<Planes>,
    /// Of each hub of the block, how often 1 was added.
    added: Vec<u8>,
    counts: Vec<u32>,
}

fn holding(hubs: Range<u32>, arcs: usize) -> Capacity {
    Capacity::holding(hubs, arcs, WORDS_PER_ARC * arcs)
}

/// How many arcs to `hubs` hubs wait, where a worker has `share` for them.
pub(in crate::count::cpu) fn postponed(hubs: u32, share: Bytes) -> Capacity {
    let room = Capacity::new(0..hubs, share, holding);
    if room.arcs == 0 && hubs > 0 { holding(0..hubs, LEAST_ARCS) } else { room }
}

/// `hubs`, or none if what a worker needs for them would take more than `share`: partitions need that memory more.
pub(in crate::count::cpu) fn hubs_within(hubs: u32, share: Bytes) -> u32 {
    let least = per_block(hubs) + holding(0..hubs, LEAST_ARCS).bytes();
    if least <= share { hubs } else { 0 }
}

/// Bytes of the counters of a block, of `hubs` hubs.
pub(in crate::count::cpu) fn per_block(hubs: u32) -> Bytes {
    Bytes::of::<Planes>(words_of_block(hubs) as u64)
        + Bytes::of::<u8>(hubs_of_block(hubs) as u64)
        + Bytes::of::<u32>(hubs.into())
}

fn words_of_block(hubs: u32) -> usize {
    words_before(hubs).min(BLOCK + (hubs as usize).div_ceil(64))
}

/// The most hubs of a block: each row has at least a word.
fn hubs_of_block(hubs: u32) -> usize {
    BLOCK.min(hubs as usize)
}

impl MiddleCorners {
    pub(super) fn new(room: Capacity) -> Self {
        let (planes, added, counts) = (Vec::new(), Vec::new(), Vec::new());
        Self { postponed: PostponedArcs::new(room), planes, added, counts }
    }

    /// Makes the arrays, for up to `hubs` hubs.
    pub(super) fn allocate(&mut self, hubs: u32) {
        self.postponed.allocate();
        if self.planes.is_empty() {
            self.planes = vec![planes::EMPTY; words_of_block(hubs)];
            self.added = vec![0; hubs_of_block(hubs)];
            self.counts.reserve_exact(hubs as usize);
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.postponed.bytes()
            + Bytes::of::<Planes>(self.planes.capacity() as u64)
            + Bytes::of::<u8>(self.added.capacity() as u64)
            + Bytes::of::<u32>(self.counts.capacity() as u64)
    }

    /// Adds the triangles of the waiting arcs, and forgets these.
    pub(super) fn add_all(&mut self, around: &Around<'_>) {
        let Self { postponed, planes, added, counts } = self;
        postponed.sort();
        add_blocks(postponed, &mut BlockCounters { planes, added, counts }, around);
        postponed.forget();
    }
}

/// Compiled for several instruction sets, as [`super::worker::count_run`].
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn add_blocks(postponed: &PostponedArcs, counters: &mut BlockCounters<'_>, around: &Around<'_>) {
    let before = words_before(around.hubs.range().start);
    let block_of = |arc: &PostponedArc| (words_before(arc.head.into()) - before) / BLOCK;
    for block in postponed.sorted().chunk_by(|a, b| block_of(a) == block_of(b)) {
        counters.add(block, postponed, around);
    }
}

struct BlockCounters<'a> {
    planes: &'a mut [Planes],
    added: &'a mut [u8],
    counts: &'a mut Vec<u32>,
}

impl BlockCounters<'_> {
    #[inline(always)]
    fn add(&mut self, block: &[PostponedArc], postponed: &PostponedArcs, around: &Around<'_>) {
        let (Some(first), Some(last)) = (block.first(), block.last()) else { return };
        let (first, last) = (first.head, last.head);
        for arc in block {
            let hub = arc.head - first;
            let begin = words_before(arc.head.into()) - words_before(first.into());
            let planes = &mut self.planes[begin..][..usize::from(arc.head) / 64 + 1];
            let (places, words) = postponed.words_of(arc);
            for (&place, &both) in places.iter().zip(words) {
                planes::add(&mut planes[usize::from(place)], both);
            }
            let added = &mut self.added[usize::from(hub)];
            *added += 1;
            if u32::from(*added) == FULL {
                *added = 0;
                self.empty(arc.head, begin, around);
            }
        }
        for head in first..=last {
            if std::mem::take(&mut self.added[usize::from(head - first)]) > 0 {
                self.empty(head, words_before(head.into()) - words_before(first.into()), around);
            }
        }
    }

    /// Adds the planes of a hub, which begin here, to the counters of its arcs.
    #[inline(always)]
    fn empty(&mut self, hub: u16, begin: usize, around: &Around<'_>) {
        let Around { hubs, successors, counters, arcs, .. } = around;
        let (row, first) = successors.row_at(hub.into(), *arcs as u64);
        self.counts.clear();
        self.counts.resize(row.len(), 0);
        let mut before = 0;
        for (&bits, planes) in hubs.row(hub.into()).iter().zip(&mut self.planes[begin..]) {
            planes::take(planes, bits, &mut self.counts[before..]);
            before += bits.count_ones() as usize;
        }
        HostEdgeCounters::add(counters, first, self.counts);
    }
}
