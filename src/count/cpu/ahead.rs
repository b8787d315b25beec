//! Rows that are needed soon: looked up together, and prefetched where memory would have to be waited for.

use std::ops::Range;

use crate::count::successors::SuccessorRows;
use trimill_system::mapped;

/// Successors of a row that are looked up, or prefetched, together.
pub(super) const AHEAD: usize = 32;

/// Entries of a row that are prefetched at most, and those of a cache line.
const PREFETCHED: usize = 1 << 10;
const LINE: usize = 16;

/// Whether the rows of most successors in `range` are far from those of their tails, so that memory has to be waited for. From a sample
/// of the `locals`.
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

/// Prefetches a row whose ends were read, up to [`PREFETCHED`] entries. By itself the processor would only begin after some of its lines.
#[inline(always)]
pub(super) fn prefetch_row(row: &[u32]) {
    for entry in (LINE..row.len().min(PREFETCHED)).step_by(LINE) {
        mapped::prefetch(row, entry);
    }
}

/// Prefetches the rows of the successors in `range` of the local after `i`, and where those of the local after that are.
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
