//! Short rows, intersected in vector registers: a short row fits one or two registers; each entry of a successor's row is compared with the whole row
//! at once, in three instructions for eight entries. No bitmap is set and cleared, so graphs of low degrees (grids, meshes) are counted quickly.

use super::vertices::Corners;
use crate::count::successors::SuccessorRows;

/// The longest row that is counted this way: two registers of 256 bits. With longer ones a bitmap is faster.
pub(super) const LONGEST: usize = 16;

/// Not an entry of any row, since no vertex has it as its rank.
pub(super) const NONE: u32 = u32::MAX;

/// Counts the triangles at the local with `row` (at most [`LONGEST`]) and a middle corner in `row[start..]`. Successors' rows must not be packed.
#[inline(always)]
pub(super) fn count<C: Corners>(row: &[u32], start: usize, successors: &SuccessorRows<'_>, corners: &mut C) -> u64 {
    by_length(row, start, |b| successors.row(b), corners)
}

/// As [`count`], where the resident rows are all rows of the graph.
#[inline(always)]
pub(super) fn count_in_all<C: Corners>(row: &[u32], successors: &SuccessorRows<'_>, corners: &mut C) -> u64 {
    // No triangle is closed before the first entry.
    by_length(row, row.len().min(1), |b| successors.resident(b as usize), corners)
}

#[inline(always)]
fn by_length<'a>(row: &[u32], start: usize, row_of: impl Fn(u32) -> &'a [u32], corners: &mut impl Corners) -> u64 {
    match row.len() {
        ..=4 => in_registers::<4, _>(row, start, row_of, corners),
        5..=8 => in_registers::<8, _>(row, start, row_of, corners),
        _ => in_registers::<LONGEST, _>(row, start, row_of, corners),
    }
}

#[inline(always)]
fn in_registers<'a, const WIDTH: usize, C: Corners>(
    row: &[u32],
    start: usize,
    row_of: impl Fn(u32) -> &'a [u32],
    corners: &mut C,
) -> u64 {
    let mut entries = [NONE; WIDTH];
    entries[..row.len()].copy_from_slice(row);
    let (mut found, mut with_middle) = ([0; WIDTH], [0; WIDTH]);
    let (mut before, mut place) = (0, start);
    for &b in &row[start..] {
        let mut compare = |c: u32| {
            for (found, &entry) in found.iter_mut().zip(&entries) {
                *found += u32::from(entry == c);
            }
        };
        let (fours, rest) = row_of(b).as_chunks::<4>();
        for &[c, d, e, f] in fours {
            compare(c);
            compare(d);
            compare(e);
            compare(f);
        }
        for &c in rest {
            compare(c);
        }
        if C::WANTED {
            let now = found.iter().sum::<u32>();
            with_middle[place] = now - before;
            (before, place) = (now, place + 1);
        }
    }
    if C::WANTED {
        for ((&entry, smallest), middle) in row.iter().zip(found).zip(with_middle) {
            corners.number(entry, u64::from(smallest + middle));
        }
    }
    // An entry is found at most once for each successor.
    u64::from(found.iter().sum::<u32>())
}
