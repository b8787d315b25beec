//! How a worker counts the triangles on the arcs of a run of locals.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::context::{Around, BatchedHeads, FoundByHead};
use super::counters::{Additions, HostEdgeCounters};
use super::head_arcs::{self, HeadArcs};
use super::hub_arcs::{self, HubBatch, HubRoom};
use super::own::Own;
use super::packed_arcs;
use crate::count::cpu::ahead::{AHEAD, is_scattered, prefetch, prefetch_row};
use crate::count::cpu::by_head::{HeadPart, OF_BUCKET};
use crate::count::cpu::pack::{self, Unpacked};
use crate::count::cpu::postponed::SortedArcs;
use crate::count::cpu::probe::{before, may_intersect};
use crate::count::cpu::short::NONE;
use crate::count::cpu::worker::{LocalsRun, RowHead};
use trimill_system::Bytes;

/// The longest row that is compared with each successor's row in registers, instead of being marked in the bitmap.
const SHORT: usize = 16;

#[derive(Debug)]
pub(super) struct EdgeWorker {
    pub(super) own: Own,
    unpacked: Unpacked,
    /// `None` until it is allocated, and if there are no hubs.
    of_hub: Option<HubRoom>,
    pub(super) additions: Additions,
    sorted: SortedArcs,
    counts: Vec<u32>,
}

impl EdgeWorker {
    pub(super) fn new(numbered: u32, counters: &HostEdgeCounters) -> Self {
        Self {
            own: Own::new(numbered),
            unpacked: Unpacked::new(),
            of_hub: None,
            additions: Additions::new(counters),
            sorted: SortedArcs::default(),
            counts: Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.own.bytes()
            + Unpacked::BYTES
            + self.of_hub.as_ref().map_or(Bytes::ZERO, HubRoom::bytes)
            + self.additions.bytes()
            + self.sorted.bytes()
            + Bytes::of::<u32>(self.counts.capacity() as u64)
    }

    /// Allocates the arrays for arcs that are counted by head; rows have up to `longest` entries.
    pub(super) fn allocate(&mut self, hubs: u32, longest: u32) {
        if hubs > 0 {
            self.of_hub.get_or_insert_with(|| HubRoom::new(hubs));
        }
        if !self.sorted.is_allocated() {
            self.sorted = SortedArcs::new(OF_PART, OF_BUCKET);
            self.counts.reserve_exact(longest as usize);
        }
    }

    /// Counts the triangles of the arcs of a part; returns how many have their middle corner at the head of the arc.
    pub(super) fn count_part(&mut self, part: &HeadPart<'_>, batch: &HeadBatch<'_>, around: &Around<'_>) -> u64 {
        let mut sorted = std::mem::take(&mut self.sorted);
        let arcs = part.sort(&mut sorted);
        let triangles = match batch {
            HeadBatch::Hubs(batch) => {
                self.of_hub.as_mut().map_or(0, |room| hub_arcs::count_part(room, part.first, arcs, batch, around))
            }
            HeadBatch::Others(found) => {
                let Self { own, additions, counts, .. } = self;
                head_arcs::count_part(&mut HeadArcs { own, additions, counts }, part.first, arcs, found, around)
            }
            HeadBatch::Packed => {
                packed_arcs::count_part(&mut self.own, part.first, arcs, around);
                0
            }
        };
        self.sorted = sorted;
        triangles
    }

    pub(super) fn add_found(
        &mut self,
        run: &LocalsRun<'_>,
        heads: &BatchedHeads<'_>,
        found: &FoundByHead<'_>,
        around: &Around<'_>,
    ) {
        let Around { resident, range, counters, .. } = around;
        for (local, &cursor) in run.locals().zip(&*run.cursors) {
            let (row, cursor) = (resident.row(local), cursor as usize);
            let end = heads.end(&row[..before(row, cursor, range.end)], cursor);
            let first = found.place(resident.offsets[local], 0);
            self.counts.clear();
            self.counts.extend(found.found[first..first + end].iter().map(|found| {
                let triangles = found.load(Relaxed);
                found.store(0, Relaxed);
                triangles
            }));
            if self.counts.iter().any(|&triangles| triangles > 0) {
                counters.add(resident.offsets[local], &self.counts);
            }
        }
    }

    #[inline(always)]
    fn with_words(&mut self, words: &[[u32; 3]], first: u64, around: &Around<'_>) -> u32 {
        let Self { own, additions, .. } = self;
        let (mut found, mut first) = (0, first);
        for word in words {
            let bits = pack::bits(word);
            let both = own.marks(word[0] as usize) & bits;
            if both != 0 {
                own.add(word[0] as usize, both);
                additions.push(first, places_of(both, bits), around.counters);
                found += both.count_ones();
            }
            first += u64::from(bits.count_ones());
        }
        own.end_successor();
        found
    }

    #[inline(always)]
    fn with_row(&mut self, successor: Successor<'_>, around: &Around<'_>) -> u32 {
        let Successor { row: successor_row, first, .. } = successor;
        let Self { own, additions, .. } = self;
        let (mut found, mut place) = (0, 0);
        while let Some(&c) = successor_row.get(place) {
            let word = (c / 64) as usize;
            let marked = own.marks(word);
            let (begin, mut mask, mut both) = (place, 0u64, 0u64);
            while let Some(&c) = successor_row.get(place).filter(|&&c| (c / 64) as usize == word) {
                let bit = marked >> (c % 64) & 1;
                mask |= bit << (place - begin);
                both |= bit << (c % 64);
                place += 1;
            }
            if both != 0 {
                own.add(word, both);
                additions.push(first + begin as u64, mask, around.counters);
                found += both.count_ones();
            }
        }
        own.end_successor();
        found
    }

    /// As [`Self::with_others`], in registers; `row` has up to `WIDTH` entries and is not marked.
    #[inline(always)]
    fn with_short<const WIDTH: usize>(&mut self, row: &[u32], start: usize, around: &Around<'_>) -> u64 {
        let (mut short, mut ahead) = (ShortRow::<WIDTH>::new(row), [Successor::NONE; WIDTH]);
        let mut all = 0;
        for &successor in Successor::load(row, start..row.len(), around, &mut ahead) {
            let found = short.with(successor, &mut self.additions, around);
            self.own.add_to(successor.place, found);
            all += u64::from(found);
        }
        (0..row.len()).for_each(|arc| self.own.add_to(arc, short.found[arc]));
        all
    }

    /// As [`Self::with_others`], where most rows are packed: mostly near each other, so none is prefetched. For the middle corners before
    /// `end_by_head`, counters of their own arcs are added to by head ([`packed_arcs`]).
    #[inline(always)]
    fn with_packed(&mut self, row: RowHead<'_>, end_by_head: usize, around: &Around<'_>) -> u64 {
        let RowHead { row, start } = row;
        let mut all = 0;
        for (place, &b) in (start..).zip(&row[start..]) {
            let (row, first) = (around.successors.resident(b as usize), around.resident.offsets[b as usize]);
            let found = match pack::words(row) {
                Some(words) if place < end_by_head => self.own.add_words(words),
                Some(words) => self.with_words(words, first, around),
                None if place < end_by_head => self.own.add_entries(row),
                None => self.with_row(Successor { place, row, first }, around),
            };
            self.own.add_to(place, found);
            all += u64::from(found);
        }
        all
    }

    /// Counts the triangles whose middle corners are in `row[start..]`.
    #[inline(always)]
    fn with_others(&mut self, row: &[u32], start: usize, around: &Around<'_>) -> u64 {
        let mut all = 0;
        for begin in (start..row.len()).step_by(AHEAD) {
            let mut ahead = [Successor::NONE; AHEAD];
            for &successor in Successor::load(row, begin..row.len().min(begin + AHEAD), around, &mut ahead) {
                let found = self.with_row(successor, around);
                self.own.add_to(successor.place, found);
                all += u64::from(found);
            }
        }
        all
    }
}

/// For each bit of `some`, sets the bit at its index among the set bits of `bits`.
#[inline(always)]
fn places_of(some: u64, bits: u64) -> u64 {
    let run = bits >> bits.trailing_zeros();
    if run & run.wrapping_add(1) == 0 {
        return some >> bits.trailing_zeros();
    }
    let (mut left, mut places) = (some, 0);
    while left != 0 {
        places |= 1 << (bits & ((left & left.wrapping_neg()) - 1)).count_ones();
        left &= left - 1;
    }
    places
}

/// A row in registers, and how often each of its entries was found in a successor's row.
struct ShortRow<const WIDTH: usize> {
    entries: [u32; WIDTH],
    found: [u32; WIDTH],
}

impl<const WIDTH: usize> ShortRow<WIDTH> {
    #[inline(always)]
    fn new(row: &[u32]) -> Self {
        let mut entries = [NONE; WIDTH];
        entries[..row.len()].copy_from_slice(row);
        Self { entries, found: [0; WIDTH] }
    }

    /// Compares each entry of the successor's row with the whole row at once.
    #[inline(always)]
    fn with(&mut self, successor: Successor<'_>, additions: &mut Additions, around: &Around<'_>) -> u32 {
        let mut all = 0;
        for (first, some) in (successor.first..).step_by(64).zip(successor.row.chunks(64)) {
            let mut mask = 0;
            for (place, &c) in some.iter().enumerate() {
                let mut is_found = 0;
                for (found, &entry) in self.found.iter_mut().zip(&self.entries) {
                    let is_same = u32::from(entry == c);
                    *found += is_same;
                    is_found |= is_same;
                }
                mask |= u64::from(is_found) << place;
            }
            if mask != 0 {
                additions.push(first, mask, around.counters);
                all += mask.count_ones();
            }
        }
        all
    }
}

/// A middle corner: its place in the row that is counted, its own row, and the counter of the first arc of that row.
#[derive(Clone, Copy)]
struct Successor<'a> {
    place: usize,
    row: &'a [u32],
    first: u64,
}

impl<'a> Successor<'a> {
    const NONE: Self = Self { place: 0, row: &[], first: 0 };

    /// Loads the successors at `places` of `row` whose rows may share entries with it, and prefetches their rows.
    #[inline(always)]
    fn load<'b>(row: &[u32], places: Range<usize>, around: &Around<'a>, into: &'b mut [Self]) -> &'b [Self] {
        let Some((&first, &last)) = row.first().zip(row.last()) else { return &[] };
        let mut many = 0;
        for place in places {
            // Reads all row bounds before comparing the first row.
            let (row, first_arc) = around.row_at(row[place]);
            into[many] = Self { place, row, first: first_arc };
            if may_intersect(row, first, last) {
                prefetch_row(row);
                many += 1;
            }
        }
        &into[..many]
    }
}

/// The most arcs of a part: 512 KiB.
pub(super) const OF_PART: usize = 1 << 16;

pub(super) enum HeadBatch<'a> {
    Hubs(HubBatch<'a>),
    Others(&'a FoundByHead<'a>),
    /// The triangles are counted by tail.
    Packed,
}

/// The triangles of a run of locals, and how many of its arcs were counted by head.
pub(super) struct RunCount {
    pub(super) triangles: u64,
    pub(super) by_head: u64,
}

/// Counts the triangles that start in the run with a middle corner in the row block, except those counted by head, and advances the cursors.
/// Compiled for several instruction sets, see [`crate::count::cpu::locals::count_run`].
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+popcnt"
))]
pub(super) fn count_run(
    worker: &mut EdgeWorker,
    run: LocalsRun<'_>,
    heads: &BatchedHeads<'_>,
    around: &Around<'_>,
) -> RunCount {
    let Around { range, successors, counters, resident, packed, .. } = *around;
    let is_by_head = heads.has_room_for(&run, resident);
    let mut by_head = 0;
    let mut count = 0;
    let locals = run.locals();
    let others = heads.end_of_all().max(range.start)..range.end;
    let prefetches = !packed && is_scattered(successors, &locals, &others);
    let mut unpacked = std::mem::take(&mut worker.unpacked);
    for (i, cursor) in run.cursors.iter_mut().enumerate() {
        let local = run.first + i;
        if prefetches {
            prefetch(successors, local, &locals, &others);
        }
        let row = successors.resident(local);
        let words = if packed { pack::words(row) } else { None };
        let row = words.map_or(row, |words| unpacked.plain(words));
        let start = *cursor as usize;
        if row.get(start).is_none_or(|&next| next >= range.end) {
            continue;
        }
        let end = before(row, start, range.end);
        *cursor = end as u32;
        let row = &row[..end];
        let counted = if is_by_head { heads.end(row, start) } else { 0 };
        // The first arc of a packed row, which closes no triangle, is not among those by head.
        by_head += counted.saturating_sub(usize::from(packed)) as u64;
        let (counted, end_by_head) = if packed { (0, counted) } else { (counted, 0) };
        // No triangle is closed before the first entry.
        let start = start.max(1).max(counted);
        if start >= end {
            continue;
        }
        worker.own.begin(end);
        let of_row = if packed {
            match words {
                Some(words) => worker.own.mark_words(words),
                None => worker.own.mark(row),
            }
            worker.with_packed(RowHead { row, start }, end_by_head, around)
        } else {
            match end {
                ..=4 => worker.with_short::<4>(row, start, around),
                5..=8 => worker.with_short::<8>(row, start, around),
                9..=SHORT => worker.with_short::<SHORT>(row, start, around),
                _ => {
                    worker.own.mark(row);
                    worker.with_others(row, start, around)
                }
            }
        };
        let counts = worker.own.finish();
        if of_row > 0 {
            worker.additions.push_row(resident.offsets[local], counts, counters);
            count += of_row;
        }
    }
    worker.unpacked = unpacked;
    RunCount { triangles: count, by_head }
}
