//! The part of each row of a batch below the end of the hubs, packed: words of 64 numbers where these have enough entries, else entries of
//! 16 bits. A row is contiguous and small, since it is loaded from memory again for each of its arcs.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::count::cpu::pack::by_word;
use trimill_system::mapped::{prefetch, prefetch_all, zeros};
use trimill_system::{Bytes, parallel};

/// The fewest entries for which a word is used: it takes as many bytes as five entries, and less time than four.
const LEAST: usize = 4;

/// Bytes for an arc of a batch, at worst: a row of two entries takes a header and one word of places or entries.
pub(super) const PER_ARC: Bytes = Bytes(8);

/// Packed rows of consecutive locals: each is a header, words, and 16 bits for the place of each word and for each entry.
#[derive(Debug, Default)]
pub(super) struct PackedRows {
    starts: Vec<u32>,
    words: Vec<u64>,
}

/// Places and entries ascend.
pub(super) struct PackedRow<'a> {
    pub(super) first_arc: u32,
    pub(super) places: &'a [u16],
    pub(super) words: &'a [u64],
    pub(super) entries: &'a [u16],
}

const HEADER: usize = 1;

fn sizes(row: &[u32]) -> (usize, usize) {
    by_word(row).fold((0, 0), |(words, entries), word| match word.len() {
        LEAST.. => (words + 1, entries),
        few => (words, entries + few),
    })
}

fn pack(row: &[u32], first_arc: u32, packed: &mut [u64]) {
    let (words, entries) = sizes(row);
    let [header, rest @ ..] = packed else { return };
    *header = u64::from(first_arc) | (words as u64) << 32 | (entries as u64) << 48;
    let (bits, halves) = rest.split_at_mut(words);
    let (places, entries) = cast_slice_mut::<u64, u16>(halves).split_at_mut(words);
    let (mut dense, mut sparse) = (places.iter_mut().zip(bits), entries.iter_mut());
    for word in by_word(row) {
        if word.len() >= LEAST {
            if let Some((place, bits)) = dense.next() {
                (*place, *bits) = ((word[0] / 64) as u16, word.iter().fold(0, |bits, c| bits | 1 << (c % 64)));
            }
        } else {
            word.iter().zip(&mut sparse).for_each(|(&c, entry)| *entry = c as u16);
        }
    }
}

impl PackedRows {
    /// Packs the rows of runs. `row(run, local)`: the entries to pack, none if the run's arcs are not in the batch; `arcs(local)`: its first arc.
    pub(super) fn take<'r>(
        &mut self,
        runs: &[Range<usize>],
        row: impl Fn(usize, usize) -> &'r [u32] + Sync,
        arcs: impl Fn(usize) -> u32 + Sync,
    ) {
        let locals = runs.iter().map(ExactSizeIterator::len).sum::<usize>();
        self.starts.clear();
        self.starts.reserve_exact(locals + 1);
        let length = |run: usize, local: usize| match row(run, local) {
            [] => 0,
            row => {
                let (words, entries) = sizes(row);
                (HEADER + words + (words + entries).div_ceil(4)) as u32
            }
        };
        let of_run = |(i, run): (usize, &Range<usize>)| run.clone().map(|local| length(i, local)).collect::<Vec<_>>();
        let lengths = parallel::map(runs.iter().enumerate(), of_run);
        let mut end = 0;
        self.starts.push(0);
        self.starts.extend(lengths.iter().flatten().map(|length| {
            end += length;
            end
        }));
        drop(lengths);
        if self.words.len() < end as usize {
            self.words = Vec::new();
            self.words = zeros(end as usize);
        }
        let (mut rest, mut starts, mut parts) = (&mut self.words[..end as usize], &self.starts[..], Vec::new());
        for (i, run) in runs.iter().enumerate() {
            let (words, after) = rest.split_at_mut((starts[run.len()] - starts[0]) as usize);
            parts.push((i, run.clone(), &starts[..=run.len()], words));
            (rest, starts) = (after, &starts[run.len()..]);
        }
        parallel::each(parts, |(i, run, starts, mut words): (usize, Range<usize>, &[u32], &mut [u64])| {
            for (local, ends) in run.zip(starts.windows(2)) {
                let (packed, after) = std::mem::take(&mut words).split_at_mut((ends[1] - ends[0]) as usize);
                pack(row(i, local), arcs(local), packed);
                words = after;
            }
        });
    }

    #[inline(always)]
    pub(super) fn prefetch_start(&self, i: usize) {
        prefetch(&self.starts, i);
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, i: usize) {
        prefetch_all(self.packed(i));
    }

    #[inline(always)]
    fn packed(&self, i: usize) -> &[u64] {
        &self.words[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> PackedRow<'_> {
        let [header, rest @ ..] = self.packed(i) else {
            return PackedRow { first_arc: 0, places: &[], words: &[], entries: &[] };
        };
        let (many, entries) = ((header >> 32) as u16 as usize, (header >> 48) as usize);
        let (words, halves) = rest.split_at(many);
        let (places, rest) = cast_slice::<u64, u16>(halves).split_at(many);
        PackedRow { first_arc: *header as u32, places, words, entries: &rest[..entries] }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u64>(self.words.capacity() as u64) + Bytes::of::<u32>(self.starts.capacity() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rows_have_all_entries_within_the_bytes_for_their_arcs() {
        let spread = |step: usize, end: u32| (0..end).step_by(step).collect::<Vec<u32>>();
        let some = vec![1, 2, 3, 64, 65, 66, 67, 65_535];
        let rows = [vec![0, 65_535], vec![], some, spread(1, 65_536), spread(22, 65_536), vec![], spread(16, 65_536)];
        let mut packed = PackedRows::default();
        let (runs, arcs) =
            ([0..2, 2..2, 2..7], |local: usize| rows[..local].iter().map(Vec::len).sum::<usize>() as u32);
        for _ in 0..2 {
            packed.take(&runs, |_, local| &rows[local], arcs);
            for (local, row) in rows.iter().enumerate() {
                let PackedRow { first_arc, places, words, entries } = packed.row(local);
                let bits = |(&place, &word): (&u16, &u64)| {
                    (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| 64 * u32::from(place) + bit)
                };
                let mut found: Vec<u32> = places.iter().zip(words).flat_map(bits).collect();
                found.extend(entries.iter().copied().map(u32::from));
                found.sort_unstable();
                assert_eq!(&found, row);
                assert!(row.is_empty() || first_arc == arcs(local));
                assert!(8 * packed.packed(local).len() as u64 <= PER_ARC.get() * row.len() as u64);
            }
        }
    }
}
