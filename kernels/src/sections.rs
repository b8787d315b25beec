//! A row block as methods get it, with the places of its locals' rows, and the checks that keep kernels within bounds.

use std::ops::Range;

use bytemuck::cast_slice;
use trimill_counting::{EncodedRows, PartitionExtent, Resident, RowBlockSize, RowBlockView, RowsLocation};

use crate::compact::{self, Unpack};
use crate::engine::{Engine, Stream, TimedEvents};
use crate::error::{GpuError, GpuResult};

/// A row block: rows of the proxies in a range of numbers, and bits that mark its locals; or rows of all its numbers, without bits.
#[derive(Debug, Clone)]
pub struct RowBlockSlices<'a> {
    pub range: Range<u32>,
    /// Where each row begins in `successors`, and where the last one ends.
    pub offsets: &'a [u32],
    /// The successors of all rows, each row strictly ascending. Empty if they are encoded.
    pub successors: &'a [u32],
    /// The rows as the graph file encodes them, for the device to decode.
    pub encoded: Option<EncodedRows<'a>>,
    /// Bits of the range's local numbers, 64 per word, lowest first. Unused if all are local, empty if each number has its row here.
    pub local_words: &'a [u64],
    /// How many locals of the range come before each word.
    pub local_ranks: &'a [u32],
    /// How many locals come before the range.
    pub first_local: u32,
    /// Whether all numbers of the range are local; then there are no rows here.
    pub all_local: bool,
}

impl<'a> RowBlockSlices<'a> {
    pub fn new(row_block: &RowBlockView<'a>, location: &'a RowsLocation) -> Self {
        let everything = Self {
            range: row_block.range.clone(),
            offsets: row_block.offsets,
            successors: row_block.successors,
            encoded: row_block.encoded,
            local_words: &[],
            local_ranks: &[],
            first_local: 0,
            all_local: false,
        };
        match location {
            RowsLocation::RowBlock { first } => Self { first_local: *first as u32, ..everything },
            // The row block has no rows, and nothing is sent.
            RowsLocation::Resident { first } => {
                Self { offsets: &[0], first_local: *first as u32, all_local: true, ..everything }
            }
            RowsLocation::Both { first, local } => Self {
                local_words: local.words(),
                local_ranks: local.ranks(),
                first_local: *first as u32,
                ..everything
            },
        }
    }
}

/// Checks a run that comes after `locals` rows with `arcs` successors, but not the order within rows.
pub(crate) fn check_run(run: &Resident, size: &PartitionExtent, locals: u64, arcs: u64) -> GpuResult<()> {
    let wrong = |what: &str| Err(GpuError::Section(format!("resident section: {what}")));
    let (Some(&first), Some(&last)) = (run.offsets.first(), run.offsets.last()) else {
        return wrong("a run without offsets");
    };
    if first != arcs || last.checked_sub(first) != Some(own_arcs(run)) {
        return wrong("offsets do not go from the successors so far to those with this run");
    }
    if locals + run.offsets.len() as u64 - 1 > size.locals || last > size.arcs {
        return wrong("more rows or successors than were announced");
    }
    // A single pass, as offsets may take a gigabyte: where they descend, the difference wraps to more than any row's length.
    let longest = run.offsets.windows(2).fold(0, |longest, row| longest.max(row[1].wrapping_sub(row[0])));
    if longest > last - first {
        return wrong("offsets descend");
    }
    if longest > 0 && longest >= u64::from(size.numbered) {
        return wrong("a row is as long as the numbering");
    }
    // Kernels' indices go beyond the end of a row by up to the number of a block's threads.
    if longest > u64::from(u32::MAX - 1024) {
        return wrong("a row is too long");
    }
    Ok(())
}

fn own_arcs(run: &Resident) -> u64 {
    run.encoded_rows().as_ref().map_or(run.successors.len() as u64, EncodedRows::arcs)
}

/// The addresses of a row block's pieces on a device; all null (the default) if all of its range is local, so that nothing is sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowBlockPlaces {
    /// Null if each number has its row in the row block.
    pub words: u64,
    pub ranks: u64,
    pub offsets: u64,
    pub successors: u64,
}

impl RowBlockSlices<'_> {
    pub fn arcs(&self) -> u64 {
        self.encoded.as_ref().map_or(self.successors.len() as u64, EncodedRows::arcs)
    }

    /// Enqueues the copy of all of it to `start`, between the copy's two events, and makes kernels wait for it. Returns where its pieces are.
    ///
    /// # Safety
    /// As [`Engine::copy`], for all slices.
    pub(crate) unsafe fn send(
        &self,
        engine: &mut dyn Engine,
        start: u64,
        events: TimedEvents,
    ) -> GpuResult<RowBlockPlaces> {
        let mut places = RowBlockPlaces::default();
        engine.record(Stream::Copy, events.copy)?;
        if !self.all_local {
            places = self.places(start);
            // SAFETY: as the caller promised.
            unsafe { engine.copy(start, &self.pieces())? };
            if let Some(encoded) = self.encoded {
                let (offsets_at, successors_at) = (places.offsets, places.successors);
                let order = Unpack { encoded, offsets_at, wide: false, base: 0, successors_at, bin_shift: None };
                // SAFETY: as above.
                unsafe { compact::unpack(engine, &order)? };
            }
        }
        engine.record(Stream::Copy, events.copied)?;
        engine.wait(Stream::Compute, events.copied)?;
        Ok(places)
    }

    /// The slices to copy, those with the widest elements first, so that each is aligned.
    pub fn pieces(&self) -> [&[u8]; 4] {
        [
            cast_slice(self.local_words),
            cast_slice(self.local_ranks),
            cast_slice(self.offsets),
            cast_slice(self.successors),
        ]
    }

    /// Where the pieces are if they are copied to `start`, one after another.
    pub fn places(&self, start: u64) -> RowBlockPlaces {
        let ranks = start + size_of_val(self.local_words) as u64;
        let offsets = ranks + size_of_val(self.local_ranks) as u64;
        RowBlockPlaces {
            words: if self.local_words.is_empty() { 0 } else { start },
            ranks,
            offsets,
            successors: offsets + size_of_val(self.offsets) as u64,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let (range, rows) = (self.range.len() as u32, self.offsets.len() as u64 - 1);
        if self.all_local { 0 } else { RowBlockSize { range, rows, arcs: self.arcs() }.bytes().get() }
    }

    /// Checks everything but the order within rows. `next`: where the row block before ended.
    pub(crate) fn check(&self, next: u32, numbered: u32, locals: u32) -> GpuResult<()> {
        let wrong = |what: &str| Err(GpuError::Section(format!("row block from {}: {what}", self.range.start)));
        if self.range.start != next || self.range.end < self.range.start || self.range.end > numbered {
            return wrong("it does not begin where the one before ended");
        }
        let range = self.range.len() as u64;
        if self.offsets.first() != Some(&0) || self.offsets.last().map(|&last| u64::from(last)) != Some(self.arcs()) {
            return wrong("its offsets do not go from 0 to the number of its successors");
        }
        if !self.offsets.is_sorted() {
            return wrong("offsets descend");
        }
        let local: u64 = match self.all_local {
            true => range,
            false => self.local_words.iter().map(|word| u64::from(word.count_ones())).sum(),
        };
        if u64::from(self.first_local) + local > u64::from(locals) {
            return wrong("it has more locals than there are");
        }
        if local + self.offsets.len() as u64 - 1 != range {
            return wrong("its rows are not those of its proxies");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::received::Received;

    #[test]
    fn invalid_resident_sections_are_refused() {
        // A partition of 4 vertices, 3 of them local with 4 arcs; a row with one arc came before.
        let size = PartitionExtent { locals: 3, arcs: 4, numbered: 4, row_block_limit: 0 };
        let long = PartitionExtent { arcs: 9, ..size };
        let check = |size, offsets: &[u64], successors: &[u32]| {
            let (offsets, successors) = (offsets.to_vec(), successors.to_vec().into());
            let run = Resident { offsets, successors, ..Resident::default() };
            check_run(&run, size, 1, 1).map_err(|error| error.to_string())
        };
        assert_eq!(check(&size, &[1, 2, 4], &[0, 0, 1]), Ok(()));
        assert_eq!(check(&size, &[1], &[]), Ok(()));
        for (size, offsets, successors, why) in [
            (&size, &[][..], &[][..], "without offsets"),
            (&size, &[0, 1], &[0], "do not go from"),
            (&size, &[1, 2], &[], "do not go from"),
            (&size, &[1, 2, 1], &[], "descend"),
            (&size, &[1, 0], &[], "do not go from"),
            (&size, &[1, 5], &[0, 1, 2, 3], "were announced"),
            (&size, &[1, 1, 1, 1], &[], "were announced"),
            (&long, &[1, 5], &[0; 4], "as long as"),
        ] {
            let error = check(size, offsets, successors);
            assert!(error.as_ref().is_err_and(|error| error.contains(why)), "{error:?} {why}");
        }
        let small = Received::new(PartitionExtent { numbered: 2, ..size });
        assert!(small.is_err_and(|error| error.to_string().contains("more locals")));
    }

    #[test]
    fn invalid_row_blocks_are_refused() {
        let good = RowBlockSlices {
            range: 2..5,
            offsets: &[0, 1, 1],
            successors: &[0],
            encoded: None,
            local_words: &[0b010],
            local_ranks: &[0],
            first_local: 1,
            all_local: false,
        };
        assert_eq!(good.check(2, 5, 2), Ok(()));
        assert_eq!(good.bytes(), 12 + 12 + 4);
        let every = RowBlockSlices {
            offsets: &[0, 1, 1, 1],
            local_words: &[],
            local_ranks: &[],
            first_local: 0,
            ..good.clone()
        };
        assert_eq!(every.check(2, 5, 2), Ok(()));
        assert_eq!(every.bytes(), 16 + 4);
        let all = RowBlockSlices { offsets: &[0], successors: &[], all_local: true, first_local: 2, ..good.clone() };
        assert_eq!(all.check(2, 5, 5), Ok(()));
        let wrong = [
            (good.check(3, 5, 2), "where the one before"),
            (good.check(2, 4, 2), "where the one before"),
            (good.check(2, 5, 1), "more locals"),
            (all.check(2, 5, 4), "more locals"),
            (RowBlockSlices { offsets: &[0, 1], ..good.clone() }.check(2, 5, 2), "its proxies"),
            (RowBlockSlices { offsets: &[0, 1, 2], ..good.clone() }.check(2, 5, 2), "number of its successors"),
            (RowBlockSlices { offsets: &[0, 2, 1], ..good.clone() }.check(2, 5, 2), "descend"),
            (RowBlockSlices { offsets: &[], ..good.clone() }.check(2, 5, 2), "offsets"),
            (RowBlockSlices { local_words: &[0b011], ..good.clone() }.check(2, 5, 4), "its proxies"),
        ];
        for (answer, why) in wrong {
            assert!(answer.as_ref().is_err_and(|error| error.to_string().contains(why)), "{answer:?} {why}");
        }
    }
}
