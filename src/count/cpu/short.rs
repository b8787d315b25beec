//! Short rows, intersected in vector registers.
//!
//! A row of few entries fits one or two vector registers. Each entry of a successor's row is compared with all of them at once:
//! three instructions for eight entries. There is no bitmap to set and to clear, and nothing is read but the two rows. So a graph
//! of low degrees, a grid or a mesh, is counted at the speed at which its rows are found.

use super::vertices::Corners;
use crate::count::successors::SuccessorRows;

/// The longest row that is counted this way: two registers of 256 bits. Longer rows are counted faster with a bitmap.
pub(super) const LONGEST: usize = 16;

/// No entry of a row has this number: no vertex has it as its rank.
pub(super) const NONE: u32 = u32::MAX;

/// Counts the triangles that start at the local with `row`, which has at most [`LONGEST`] entries, and whose middle corner is one of
/// `row[start..]`. No row of a successor is packed.
#[inline(always)]
pub(super) fn count<C: Corners>(row: &[u32], start: usize, successors: &SuccessorRows<'_>, corners: &mut C) -> u64 {
    by_length(row, start, |b| successors.row(b), corners)
}

/// Counts the triangles that start at the local with `row`, which has at most [`LONGEST`] entries, where the successors' rows are all rows of
/// the graph, none of them packed.
#[inline(always)]
pub(super) fn count_in_all<C: Corners>(row: &[u32], successors: &SuccessorRows<'_>, corners: &mut C) -> u64 {
    // The first entry has no entry before it that could close a triangle.
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
        // As smallest corners and as middle ones: one addition for both.
        for ((&entry, smallest), middle) in row.iter().zip(found).zip(with_middle) {
            corners.number(entry, u64::from(smallest + middle));
        }
    }
    // Each entry is found once for each successor at most.
    u64::from(found.iter().sum::<u32>())
}
