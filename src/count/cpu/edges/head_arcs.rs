//! Triangles whose largest and middle corners are joined by an arc that is counted by head ([`crate::count::cpu::by_head`]): the row of a
//! head is marked once, and the entries before the head in the tails' rows probe the marks. Few of these entries are marked.

use super::context::{Around, FoundByHead};
use super::counters::Additions;
use super::own::Own;
use crate::count::cpu::postponed::PostponedArc;
use crate::count::cpu::probe::{mark, marked_of, unmark};
use trimill_system::mapped::prefetch_all;

/// Prefetch distance for entries, in arcs; the bounds of their rows are prefetched twice as far ahead.
const AHEAD: usize = 16;

pub(super) struct HeadArcs<'a> {
    pub(super) own: &'a mut Own,
    pub(super) additions: &'a mut Additions,
    pub(super) counts: &'a mut Vec<u32>,
}

/// Counts the triangles of a part's sorted arcs. Compiled for several instruction sets, see [`super::worker::count_run`].
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+popcnt"
))]
pub(super) fn count_part(
    room: &mut HeadArcs<'_>,
    first: u32,
    sorted: &[PostponedArc],
    found: &FoundByHead<'_>,
    around: &Around<'_>,
) -> u64 {
    let HeadArcs { own, additions, counts } = room;
    let resident = around.resident;
    let marks = own.all_marks();
    let (mut all, mut i) = (0, 0);
    for arcs in sorted.chunk_by(|a, b| a.head == b.head) {
        let (row, first_of_head) = around.row_at(first + u32::from(arcs[0].head));
        mark(row, marks);
        counts.clear();
        counts.resize(row.len(), 0);
        let mut triangles = 0;
        for arc in arcs {
            i += 1;
            if let Some(later) = sorted.get(i + 2 * AHEAD) {
                around.successors.prefetch_offset(later.tail as usize);
            }
            if let Some(later) = sorted.get(i + AHEAD) {
                prefetch_all(&resident.row(later.tail as usize)[..usize::from(later.len)]);
            }
            let (tail, place) = (arc.tail as usize, usize::from(arc.len));
            let (first_of_tail, mut of_arc) = (resident.offsets[tail], 0);
            for (begin, entries) in (first_of_tail..).step_by(64).zip(resident.row(tail)[..place].chunks(64)) {
                let mut mask = marked_of(entries, marks);
                if mask == 0 {
                    continue;
                }
                additions.push(begin, mask, around.counters);
                of_arc += mask.count_ones();
                while mask != 0 {
                    let c = entries[mask.trailing_zeros() as usize];
                    counts[row.partition_point(|&other| other < c)] += 1;
                    mask &= mask - 1;
                }
            }
            found.put(found.place(first_of_tail, arc.len), of_arc);
            triangles += u64::from(of_arc);
        }
        unmark(row, marks);
        if triangles > 0 {
            around.counters.add(first_of_head, counts);
        }
        all += triangles;
    }
    all
}
