//! How a worker counts the triangles of a run of locals on their arcs.

use std::ops::Range;

use super::counters::{Additions, HostEdgeCounters};
use super::middle::MiddleCorners;
use super::own::Own;
use crate::count::cpu::ahead::{AHEAD, is_scattered, prefetch, prefetch_row};
use crate::count::cpu::hubs::Hubs;
use crate::count::cpu::postponed::{Capacity, PostponedArc};
use crate::count::cpu::probe::{before, may_intersect};
use crate::count::cpu::short::NONE;
use crate::count::cpu::worker::LocalsRun;
use crate::count::successors::SuccessorRows;
use trimill_counting::Resident;
use trimill_system::Bytes;

/// The longest row that is compared with each successor's row, instead of being marked in the bitmap.
const SHORT: usize = 16;

#[derive(Debug)]
pub(super) struct EdgeWorker {
    pub(super) own: Own,
    pub(super) middle: MiddleCorners,
    pub(super) additions: Additions,
}

impl EdgeWorker {
    pub(super) fn new(numbered: u32, room: Capacity, counters: &HostEdgeCounters) -> Self {
        let additions = Additions::new(counters);
        Self { own: Own::new(numbered), middle: MiddleCorners::new(room), additions }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.own.bytes() + self.middle.bytes() + self.additions.bytes()
    }

    /// Counts the common successors of the marked row and of hub `b`; those of `b` are added later.
    #[inline(always)]
    fn with_hub(&mut self, b: u32, around: &Around<'_>) -> u32 {
        let bits = around.hubs.row(b);
        let Self { own, middle, .. } = self;
        let common = own.find_common(bits);
        if common == 0 {
            own.end_successor();
            return 0;
        }
        if middle.postponed.is_full() || !middle.postponed.has_room_for(common) {
            middle.add_all(around);
        }
        let (first, mut found) = (middle.postponed.next_word(), 0);
        for i in 0..common {
            let (place, both) = own.add_common(i, bits);
            middle.postponed.push_word(place, both);
            found += both.count_ones();
        }
        own.end_successor();
        middle.postponed.push(PostponedArc { tail: first as u32, len: common as u16, head: b as u16 });
        found
    }

    /// Adds all that waits to the counters.
    pub(super) fn add_rest(&mut self, around: &Around<'_>) {
        self.middle.add_all(around);
        self.additions.flush(around.counters);
    }

    /// Counts the entries of a successor's row that are marked.
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

    /// The same for a short row, which is not marked, of up to `WIDTH` entries.
    #[inline(always)]
    fn with_short<const WIDTH: usize>(&mut self, row: &[u32], successor: Successor<'_>, around: &Around<'_>) -> u32 {
        let mut entries = [NONE; WIDTH];
        entries[..row.len()].copy_from_slice(row);
        // Each entry of the successor's row is compared with all others at once; most rows have none in common.
        let mut found = [0; WIDTH];
        for &c in successor.row {
            for (found, &entry) in found.iter_mut().zip(&entries) {
                *found += u32::from(entry == c);
            }
        }
        let triangles = found.iter().sum();
        if triangles > 0 {
            for (i, &found) in found.iter().enumerate().filter(|(_, found)| **found > 0) {
                self.own.add_to(i, found);
            }
            for (place, _) in (successor.first..).zip(successor.row).filter(|(_, c)| entries.contains(c)) {
                self.additions.push(place, 1, around.counters);
            }
        }
        triangles
    }

    /// Counts the triangles whose middle corners are entries of `row` from `start` on, none of them hubs.
    #[inline(always)]
    fn with_others(&mut self, row: &[u32], start: usize, marked: bool, around: &Around<'_>) -> u64 {
        let Some((&first, &last)) = row.first().zip(row.last()) else { return 0 };
        let mut all = 0;
        for (begin, some) in (start..).step_by(AHEAD).zip(row[start..].chunks(AHEAD)) {
            let mut ahead = [Successor { place: 0, row: &[], first: 0 }; AHEAD];
            let mut many = 0;
            for (place, &b) in (begin..).zip(some) {
                // Reads both ends of every row before the first row is compared.
                let (row, first_arc) = around.successors.row_at(b, around.arcs as u64);
                ahead[many] = Successor { place, row, first: first_arc };
                if may_intersect(row, first, last) {
                    prefetch_row(row);
                    many += 1;
                }
            }
            for successor in &ahead[..many] {
                let found = match row.len() {
                    _ if marked => self.with_row(*successor, around),
                    ..=4 => self.with_short::<4>(row, *successor, around),
                    5..=8 => self.with_short::<8>(row, *successor, around),
                    _ => self.with_short::<SHORT>(row, *successor, around),
                };
                self.own.add_to(successor.place, found);
                all += u64::from(found);
            }
        }
        all
    }
}

/// A middle corner of triangles: its place in the row that is counted, its own row, and the counter of the first arc of that.
#[derive(Clone, Copy)]
struct Successor<'a> {
    place: usize,
    row: &'a [u32],
    first: u64,
}

/// What all runs of a row block share.
pub(super) struct Around<'a> {
    pub(super) range: &'a Range<u32>,
    pub(super) successors: &'a SuccessorRows<'a>,
    pub(super) hubs: &'a Hubs,
    pub(super) counters: &'a HostEdgeCounters,
    /// Resident arcs: the counters of the row block's arcs come after theirs.
    pub(super) arcs: usize,
}

/// Counts the triangles that start in the run and whose middle corner is in the row block, and advances the cursors. Compiled for several
/// instruction sets, as [`crate::count::cpu::locals::count_run`].
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub(super) fn count_run(worker: &mut EdgeWorker, run: LocalsRun<'_>, resident: &Resident, around: &Around<'_>) -> u64 {
    let Around { range, successors, hubs, counters, .. } = *around;
    let mut count = 0;
    let locals = run.first..run.first + run.cursors.len();
    let others = hubs.range().end.max(range.start)..range.end;
    let prefetches = is_scattered(successors, &locals, &others);
    for (i, cursor) in run.cursors.iter_mut().enumerate() {
        let local = run.first + i;
        if prefetches {
            prefetch(successors, local, &locals, &others);
        }
        let row = successors.resident(local);
        let start = *cursor as usize;
        if row.get(start).is_none_or(|&next| next >= range.end) {
            continue;
        }
        let end = before(row, start, range.end);
        *cursor = end as u32;
        // The first entry has no entry before it that could close a triangle.
        let (row, start) = (&row[..end], start.max(1));
        if start >= end {
            continue;
        }
        worker.own.begin(end);
        let hubs_end = before(row, start, hubs.range().end).min(end);
        let marks = hubs_end > start || end > SHORT;
        if marks {
            worker.own.mark(row);
        }
        let mut of_row = 0;
        for (k, &b) in row.iter().enumerate().take(hubs_end).skip(start) {
            if k + 1 < hubs_end {
                worker.own.prefetch(hubs.row(row[k + 1]));
            }
            let found = worker.with_hub(b, around);
            worker.own.add_to(k, found);
            of_row += u64::from(found);
        }
        of_row += worker.with_others(row, start.max(hubs_end), marks, around);
        let counts = worker.own.finish();
        if of_row > 0 {
            counters.add(resident.offsets[local], counts);
            count += of_row;
        }
    }
    count
}
