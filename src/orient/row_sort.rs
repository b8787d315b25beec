//! Sorts rows. Short ones are sorted 16 at a time: each is a column of a table, and a sorting network for columns of that height compares whole lines
//! of the table, so that one instruction compares all 16 rows, and no branch depends on their entries.
//!
//! The network is Batcher's merge exchange, for any height `n` (Knuth, The Art of Computer Programming, volume 3, section 5.2.2, algorithm M): about
//! `n log2(n)^2 / 4` comparisons of lines.

/// Rows that are sorted together: lanes of a vector of 512 bits.
const LANES: usize = 16;

/// A line of the table, in one line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; LANES]);

/// Rows of which those of similar lengths are sorted together.
const WINDOW: usize = 512;

/// Rows of this length are sorted alone, by radix: a network compares more often than that reads, and the table outgrows a core's first cache.
const LONG: usize = 1024;

/// Sorts each of the rows of these `lengths`, which are in `successors` one after the other.
pub(super) fn sort_rows(successors: &mut [u32], lengths: &[u32]) {
    let (mut rest, mut table) = (successors, Vec::new());
    for lengths in lengths.chunks(WINDOW) {
        let mut rows = Vec::with_capacity(lengths.len());
        for &length in lengths {
            let (row, after) = std::mem::take(&mut rest).split_at_mut(length as usize);
            rest = after;
            match row.len() {
                _ if row.is_sorted_by(|a, b| a < b) => {}
                LONG.. => radsort::sort(row),
                _ => rows.push(row),
            }
        }
        rows.sort_unstable_by_key(|row| row.len());
        rows.chunks_mut(LANES).for_each(|rows| sort_together(rows, &mut table));
    }
}

/// Sorts up to [`LANES`] rows, the longest one last; reuses the memory of `table`.
fn sort_together(rows: &mut [&mut [u32]], table: &mut Vec<Line>) {
    table.clear();
    table.resize(rows.last().map_or(0, |row| row.len()), Line([u32::MAX; LANES]));
    for (lane, row) in rows.iter().enumerate() {
        table.iter_mut().zip(&**row).for_each(|(line, &successor)| line.0[lane] = successor);
    }
    sort_columns(table);
    for (lane, row) in rows.iter_mut().enumerate() {
        row.iter_mut().zip(&*table).for_each(|(successor, line)| *successor = line.0[lane]);
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn sort_columns(lines: &mut [Line]) {
    let n = lines.len();
    let half = n.next_power_of_two() / 2;
    let mut p = half;
    while p > 0 {
        let (mut q, mut r, mut distance) = (half, 0, p);
        loop {
            // Each line whose number has the bit `p` as `r` does, and the line that far below it.
            for first in (r..n.saturating_sub(distance)).step_by(2 * p) {
                let (upper, lower) = lines.split_at_mut(first + distance);
                upper[first..].iter_mut().take(p).zip(lower).for_each(|(upper, lower)| exchange(upper, lower));
            }
            if q == p {
                break;
            }
            (distance, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
}

#[inline(always)]
fn exchange(upper: &mut Line, lower: &mut Line) {
    let (Line(a), Line(b)) = (*upper, *lower);
    upper.0 = std::array::from_fn(|lane| a[lane].min(b[lane]));
    lower.0 = std::array::from_fn(|lane| a[lane].max(b[lane]));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts all rows of zeros and ones sorts any numbers.
    #[test]
    fn every_short_row_of_two_values_is_sorted() {
        for length in 0..=12u32 {
            let rows = 0..1u32 << length;
            let mut successors: Vec<u32> =
                rows.clone().flat_map(|row| (0..length).map(move |i| row >> i & 1)).collect();
            sort_rows(&mut successors, &vec![length; rows.len()]);
            assert!(successors.chunks(length.max(1) as usize).all(<[u32]>::is_sorted), "{length}");
        }
    }

    #[test]
    fn rows_of_all_lengths_are_sorted_beside_one_another() {
        let lengths: Vec<u32> = (0..700).rev().chain([3, 600, 0, 1, 17, 1023, 1024, 1025, 3000]).collect();
        let all: u32 = lengths.iter().sum();
        let mut successors: Vec<u32> = (0..all).map(|i| i.wrapping_mul(0x9e37_79b1) >> (i % 32)).collect();
        let mut expected = successors.clone();
        let mut rest = &mut expected[..];
        for &length in &lengths {
            let (row, after) = std::mem::take(&mut rest).split_at_mut(length as usize);
            row.sort_by_key(|&successor| successor);
            rest = after;
        }
        sort_rows(&mut successors, &lengths);
        assert_eq!(successors, expected);
    }
}
