//! Packs rows whose successors are close together, in place.
//!
//! As non-empty words of 64 numbers, a row of a web graph takes a fraction of the steps to probe: one AND and one popcount for all successors of a
//! word. A packed row, `[MARK, words, (place, low, high) ...]`, replaces the plain one where it is not longer, which takes three successors a word
//! or more. No number is [`MARK`], so the first entry tells whether a row is packed. Only rows that are probed are packed, once, where the graph
//! is one partition; a worker unpacks the row of the local that it counts, so packed rows have up to [`LONGEST`] entries.

use std::ops::Range;

use rayon::prelude::*;

use trimill_counting::Resident;
use trimill_system::{Bytes, parallel};

/// The first entry of a packed row; larger than any number.
const MARK: u32 = u32::MAX;

const HEADER: usize = 2;

const LONGEST: usize = 2048;

/// The most words of a packed row, which has at least three entries for each.
pub(super) const MOST_WORDS: usize = LONGEST / 3;

/// The shortest row that is packed: shorter ones are probed fast enough.
const SHORTEST: usize = 8;

/// The cost of probing a word, in probes of an entry.
const STEPS_OF_WORD: usize = 2;

const RUN: usize = 1 << 12;

/// One row in `SAMPLED` tells whether it pays off to pack.
const SAMPLED: usize = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum BitRows {
    #[default]
    None,
    Some,
    Most,
}

/// Packs the resident `rows` where possible; returns their share of all entries.
pub(super) fn pack_rows(resident: &mut Resident, rows: Range<usize>) -> BitRows {
    let all = resident.successors.len();
    let Resident { offsets, successors, .. } = resident;
    let successors = &mut successors[offsets[rows.start] as usize..offsets[rows.end] as usize];
    let ends = rows.clone().step_by(RUN).map(|first| &offsets[first..=rows.end.min(first + RUN)]);
    let of_run = |offsets: &[u64]| (offsets[offsets.len() - 1] - offsets[0]) as usize;
    let runs = ends.clone().zip(parallel::cut(successors, ends.map(of_run)));
    let pack_run = |(offsets, mut run): (&[u64], &mut [u32])| {
        if offsets.windows(2).all(|ends| ends[1] - ends[0] < SHORTEST as u64) {
            return 0;
        }
        let (mut packed, mut entries) = (Vec::with_capacity(LONGEST), 0);
        for ends in offsets.windows(2) {
            let (row, after) = std::mem::take(&mut run).split_at_mut((ends[1] - ends[0]) as usize);
            entries += if pack(row, &mut packed) { row.len() } else { 0 };
            run = after;
        }
        entries
    };
    match parallel::map(runs, pack_run).into_iter().sum::<usize>() {
        0 => BitRows::None,
        entries if 2 * entries < all => BitRows::Some,
        _ => BitRows::Most,
    }
}

/// Whether most entries of a sample of the rows are in rows that can be packed.
pub(super) fn most_can_be_packed(resident: &Resident) -> bool {
    let of_row = |i: usize| {
        let row = resident.row(i);
        (packed_words(row).map_or(0, |_| row.len()), row.len())
    };
    let sampled = (0..resident.numbers.len()).into_par_iter().step_by(SAMPLED).map(of_row);
    let (packed, all) = sampled.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    2 * packed > all
}

/// The entries of each word of 64 numbers that has some.
pub(super) fn by_word(row: &[u32]) -> impl Iterator<Item = &[u32]> {
    row.chunk_by(|a, b| a / 64 == b / 64)
}

/// How many words `row` takes when packed; `None` if it cannot be packed.
fn packed_words(row: &[u32]) -> Option<usize> {
    let most = row.len().saturating_sub(HEADER) / 3;
    if !(SHORTEST..=LONGEST).contains(&row.len()) {
        return None;
    }
    let words = by_word(row).take(most + 1).count();
    (words <= most).then_some(words)
}

/// The cost of probing `row`, packed where it can be, in probes of an entry.
pub(super) fn steps(row: &[u32]) -> u32 {
    packed_words(row).map_or(row.len(), |words| STEPS_OF_WORD * words) as u32
}

/// The cost of probing `row` as it is, packed or not, in probes of an entry.
pub(super) fn probes(row: &[u32]) -> usize {
    words(row).map_or(row.len(), |words| STEPS_OF_WORD * words.len())
}

/// Packs `row` if that does not make it longer; `packed` is a work buffer.
fn pack(row: &mut [u32], packed: &mut Vec<u32>) -> bool {
    let Some(words) = packed_words(row) else { return false };
    packed.clear();
    packed.extend([MARK, words as u32]);
    for word in by_word(row) {
        let bits = word.iter().fold(0u64, |bits, &successor| bits | 1 << (successor % 64));
        packed.extend([word[0] / 64, bits as u32, (bits >> 32) as u32]);
    }
    row[..packed.len()].copy_from_slice(packed);
    true
}

#[inline(always)]
pub(super) fn words(row: &[u32]) -> Option<&[[u32; 3]]> {
    match row {
        [MARK, words, rest @ ..] => Some(rest[..3 * *words as usize].as_chunks::<3>().0),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn bits(&[_, low, high]: &[u32; 3]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[derive(Debug, Default)]
pub(super) struct Unpacked(Vec<u32>);

impl Unpacked {
    pub(super) const BYTES: Bytes = Bytes((LONGEST * size_of::<u32>()) as u64);

    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(LONGEST))
    }

    #[inline(always)]
    pub(super) fn plain(&mut self, words: &[[u32; 3]]) -> &[u32] {
        self.0.clear();
        for word in words {
            let (base, mut bits) = (word[0] * 64, bits(word));
            while bits != 0 {
                self.0.push(base + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use trimill_counting::NumberRuns;

    fn packed(rows: &[Vec<u32>], range: Range<usize>) -> Resident {
        let offsets = trimill_system::starts_of(rows.iter().map(|row| row.len() as u64));
        let (numbers, successors) = (NumberRuns::run(0..rows.len() as u32), rows.concat().into());
        let mut resident = Resident { numbers, offsets, successors, ..Resident::default() };
        pack_rows(&mut resident, range);
        resident
    }

    proptest! {
        #[test]
        fn packed_rows_are_what_they_were(
            rows in proptest::collection::vec(
                (0..100_000u32, proptest::collection::btree_set(0..600u32, 0..300)), 1..30),
            from in any::<prop::sample::Index>(),
        ) {
            let rows: Vec<Vec<u32>> =
                rows.into_iter().map(|(base, row)| row.into_iter().map(|successor| base + successor).collect()).collect();
            let from = from.index(rows.len());
            let resident = packed(&rows, from..rows.len());
            let mut unpacked = Unpacked::new();
            for (i, row) in rows.iter().enumerate() {
                let places = row.chunk_by(|a, b| a / 64 == b / 64).count();
                let fits = i >= from && row.len() >= SHORTEST && HEADER + 3 * places <= row.len();
                prop_assert_eq!(words(resident.row(i)).map(<[_]>::len), fits.then_some(places));
                let stored = resident.row(i);
                prop_assert_eq!(words(stored).map_or(stored, |words| unpacked.plain(words)), &row[..]);
            }
        }
    }

    #[test]
    fn the_longest_row_and_the_last_numbers_are_packed() {
        let last = MARK - 2;
        let rows = [LONGEST, LONGEST + 1].map(|len| (0..len as u32).map(|i| last - len as u32 + 1 + i).collect());
        let resident = packed(&rows, 0..2);
        let found = [0, 1].map(|i| words(resident.row(i)));
        assert!(found[1].is_none());
        let mut unpacked = Unpacked::new();
        assert_eq!(unpacked.plain(found[0].unwrap_or_default()), rows[0]);
        assert_eq!(Bytes((unpacked.0.capacity() * 4) as u64), Unpacked::BYTES);
    }
}
