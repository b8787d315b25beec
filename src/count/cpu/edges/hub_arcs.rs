//! The triangles on the arcs to hubs, hub by hub. All arcs `a -> x` of a batch to one hub `x` are taken together. The entries that `a`'s row shares
//! with the hubs in `x`'s row, and with the hubs above `x` ([`HubsAbove`]), give all triangles on the arc whose third or middle corner is a hub: one
//! count, without random additions. Each shared entry below `x` is also a triangle on an arc of `x`: it is added to the bit planes of its word or, if
//! `a`'s row has it unpacked, to a counter.

use std::mem::take;

use bytemuck::zeroed_box;

use super::context::{Around, FoundByHead};
use super::packed::{PackedRow, PackedRows};
use crate::count::cpu::hubs::MOST;
use crate::count::cpu::postponed::PostponedArc;
use trimill_counting::planes::{self, FULL, Planes};
use trimill_system::Bytes;

/// Prefetch distance for rows, in arcs; their bounds are prefetched twice as far ahead.
const AHEAD: usize = 8;

pub(super) struct HubBatch<'a> {
    pub(super) packed: &'a PackedRows,
    pub(super) first_local: usize,
    pub(super) found: &'a FoundByHead<'a>,
}

const HUBS: usize = MOST as usize;
const WORDS: usize = HUBS / 64;

/// A worker's arrays for a hub. They have constant lengths, so that indexing by 16 bits needs no bounds check.
#[derive(Debug)]
pub(super) struct HubRoom {
    /// All hubs that this hub has an arc to or from.
    bits: Box<[u64; WORDS]>,
    /// Counters of the arcs of this hub, 64 of a word together.
    planes: Box<[Planes; WORDS]>,
    /// Counters of the arcs of this hub, for entries that are not packed into words.
    of_number: Box<[u32; HUBS]>,
    counts: Vec<u32>,
}

pub(in crate::count::cpu) fn per_worker(hubs: u32) -> Bytes {
    let arrays = size_of::<[(u64, Planes); WORDS]>() + size_of::<[u32; HUBS]>();
    match hubs {
        0 => Bytes::ZERO,
        _ => Bytes(arrays as u64) + Bytes::of::<u32>(hubs.into()),
    }
}

impl HubRoom {
    pub(super) fn new(hubs: u32) -> Self {
        let counts = Vec::with_capacity(hubs as usize);
        Self { bits: zeroed_box(), planes: zeroed_box(), of_number: zeroed_box(), counts }
    }

    pub(super) fn bytes(&self) -> Bytes {
        per_worker(1) + Bytes::of::<u32>(self.counts.capacity() as u64 - 1)
    }
}

/// Counts the triangles of the sorted arcs of a part; returns how many have their middle corner at the head of the arc.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+popcnt"
))]
pub(super) fn count_part(
    room: &mut HubRoom,
    first: u32,
    sorted: &[PostponedArc],
    batch: &HubBatch<'_>,
    around: &Around<'_>,
) -> u64 {
    let HubRoom { bits, planes, of_number, counts } = room;
    let HubBatch { packed, first_local, found } = *batch;
    let local = |tail: u32| tail as usize - first_local;
    let (mut all, mut i) = (0, 0);
    for arcs in sorted.chunk_by(|a, b| a.head == b.head) {
        let head = first + u32::from(arcs[0].head);
        let (row, first_arc, below): (&[u32], _, &[u64]) = match around.hubs.range().contains(&head) {
            true => {
                let (row, first_arc) = around.row_at(head);
                (row, first_arc, around.hubs.row(head))
            }
            false => (&[], 0, &[]),
        };
        around.above.put(head, below, &mut bits[..]);
        counts.clear();
        counts.resize(row.len(), 0);
        let mut hub = HubCounters { head, is_hub: !below.is_empty(), bits, planes, of_number };
        let (mut triangles, mut added) = (0, 0);
        for arc in arcs {
            i += 1;
            if let Some(later) = sorted.get(i + 2 * AHEAD) {
                packed.prefetch_start(local(later.tail));
            }
            if let Some(later) = sorted.get(i + AHEAD) {
                packed.prefetch(local(later.tail));
            }
            let row = packed.row(local(arc.tail));
            let Common { below: found_below, above } = hub.count(&row);
            found.put(row.first_arc as usize + usize::from(arc.len), found_below + above);
            triangles += u64::from(found_below);
            added += 1;
            if added == FULL {
                added = 0;
                hub.take_planes(below, counts);
            }
        }
        if triangles > 0 {
            hub.take_planes(below, counts);
            for (count, &c) in counts.iter_mut().zip(row) {
                *count += take(&mut hub.of_number[c as usize]);
            }
            around.counters.add(first_arc, counts);
        }
        all += triangles;
    }
    all
}

struct Common {
    below: u32,
    above: u32,
}

struct HubCounters<'a> {
    head: u32,
    /// If not, the head is below all hubs, and is not a middle corner in this pass.
    is_hub: bool,
    bits: &'a [u64; WORDS],
    planes: &'a mut [Planes; WORDS],
    of_number: &'a mut [u32; HUBS],
}

impl HubCounters<'_> {
    /// Counts the entries that `row` shares with the hub's neighbours, and adds each one below the hub to its counter.
    #[inline(always)]
    fn count(&mut self, row: &PackedRow<'_>) -> Common {
        let PackedRow { places, words, entries, .. } = *row;
        let (word_of_head, bit_of_head) = (self.head as usize / 64, self.head % 64);
        let (mut below, mut above) = (0, 0);
        let many = if self.is_hub { places.partition_point(|&place| usize::from(place) <= word_of_head) } else { 0 };
        for (&place, &word) in places[..many].iter().zip(words) {
            let place = usize::from(place) % WORDS;
            let mut both = self.bits[place] & word;
            if place == word_of_head {
                above += (both >> bit_of_head).count_ones();
                both &= (1 << bit_of_head) - 1;
            }
            below += both.count_ones();
            planes::add(&mut self.planes[place], both);
        }
        for (&place, &word) in places[many..].iter().zip(&words[many..]) {
            above += (self.bits[usize::from(place) % WORDS] & word).count_ones();
        }
        let bit = |bits: &[u64; WORDS], c: u16| {
            let halves: &[u32; 2 * WORDS] = bytemuck::cast_ref(bits);
            halves[usize::from(c) / 32] >> (c % 32) & 1
        };
        let many = if self.is_hub { entries.partition_point(|&c| u32::from(c) < self.head) } else { 0 };
        for &c in &entries[..many] {
            let both = bit(self.bits, c);
            self.of_number[usize::from(c)] += both;
            below += both;
        }
        for &c in &entries[many..] {
            above += bit(self.bits, c);
        }
        Common { below, above }
    }

    /// Adds the planes to the counts of the hub's arcs; `row` has the hub's row as bits.
    #[inline(always)]
    fn take_planes(&mut self, row: &[u64], counts: &mut [u32]) {
        let mut before = 0;
        for (&bits, planes) in row.iter().zip(&mut *self.planes) {
            planes::take(planes, bits, &mut counts[before..]);
            before += bits.count_ones() as usize;
        }
    }
}
