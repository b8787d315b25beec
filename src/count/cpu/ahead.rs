//! Looks up rows that are needed soon, and prefetches them where they are scattered in memory.

use std::ops::Range;

use crate::count::successors::SuccessorRows;
use trimill_system::mapped;

/// How many successors of a row are looked up, or prefetched, at a time.
pub(super) const AHEAD: usize = 32;

/// The most entries of a row that are prefetched, and the entries of a cache line.
const PREFETCHED: usize = 1 << 10;
const LINE: usize = 16;

/// Whether most successors' rows in `range` are far from their tails' rows in memory; from a sample of the locals.
pub(super) fn is_scattered(successors: &SuccessorRows<'_>, locals: &Range<usize>, range: &Range<u32>) -> bool {
    const SAMPLE: usize = 64;
    const FAR: u64 = 1 << 16;
    let (mut all, mut far) = (0, 0);
    for i in locals.clone().step_by(locals.len().div_ceil(SAMPLE)) {
        for &b in successors.resident(i).iter().filter(|b| range.contains(b)) {
            all += 1;
            far += usize::from(successors.distance(i, b) > FAR);
        }
    }
    2 * far > all
}

/// Prefetches up to [`PREFETCHED`] entries of a row: the hardware prefetcher starts only after some of its lines were read.
#[inline(always)]
pub(super) fn prefetch_row(row: &[u32]) {
    for entry in (LINE..row.len().min(PREFETCHED)).step_by(LINE) {
        mapped::prefetch(row, entry);
    }
}

/// Prefetches the successors' rows in `range` of the local after `i`, and the row bounds of the successors of the local after that.
#[inline(always)]
pub(super) fn prefetch(successors: &SuccessorRows<'_>, i: usize, locals: &Range<usize>, range: &Range<u32>) {
    let row = |i: usize| if i < locals.end { successors.resident(i) } else { &[] };
    for b in row(i + 2).iter().rev().take(AHEAD).filter(|b| range.contains(b)) {
        successors.prefetch_place(*b);
    }
    for b in row(i + 1).iter().rev().take(AHEAD).filter(|b| range.contains(b)) {
        successors.prefetch(*b);
    }
}
