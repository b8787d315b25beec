//! Copies the resident section to the device, into the halves of the work space, and packs it from there.

use std::ops::Range;

use bytemuck::cast_slice;

use super::arguments::{PackedArguments, RunArguments};
use super::{COPIED, PackedCounter, RESIDENT, SLOTS, blocks, grid_blocks, launch, of_row_block, packing_lanes};
use crate::arena::{ALIGNMENT, largest};
use crate::compact::{self, Unpack, bin_shift};
use crate::engine::{Engine, Stream, Timed};
use crate::error::{GpuError, GpuResult};
use trimill_counting::{EncodedPart, EncodedRows, Resident};

impl PackedCounter<'_> {
    /// Copies and packs a run. Plain rows are cut to fit a half, even within a row; encoded rows only between parts.
    ///
    /// # Safety
    /// As [`Engine::copy`], for the run.
    pub(super) unsafe fn enqueue_resident(&mut self, run: &mut Resident) -> GpuResult<()> {
        let (first_local, first_successor) = (self.received.locals(), self.received.arcs());
        self.received.run(run)?;
        self.blocks.extend(&run.offsets[1..]);
        // SAFETY: as the caller promised.
        unsafe {
            match run.encoded_rows() {
                None => self.plain(run, first_local, first_successor)?,
                Some(encoded) => self.encoded(&run.offsets, encoded, first_local)?,
            }
        }
        self.engine.record(Stream::Copy, COPIED[self.runs % COPIED.len()])?;
        self.runs += 1;
        self.engine.record(Stream::Copy, RESIDENT.copied)
    }

    /// Waits until the run before the last one is copied.
    pub(super) fn run_before_is_copied(&mut self) -> GpuResult<()> {
        match self.runs.checked_sub(2) {
            Some(run) => self.engine.reach(COPIED[run % COPIED.len()]),
            None => Ok(()),
        }
    }

    fn half(&self) -> u64 {
        self.space_bytes / 2 / ALIGNMENT * ALIGNMENT
    }

    /// # Safety
    /// As [`Self::enqueue_resident`].
    unsafe fn plain(&mut self, run: &Resident, first_local: u32, first_successor: u64) -> GpuResult<()> {
        let half = self.half();
        let (mut row, mut successor) = (0, first_successor);
        while row + 1 < run.offsets.len() {
            let room = |rows: u64| half - 8 * (rows + 1);
            let whole = |rows: u64| 4 * (run.offsets[row + rows as usize] - successor) <= room(rows);
            let most = (half / 8 - 1).min((run.offsets.len() - 1 - row) as u64);
            let rows = largest(0..most + 1, whole) as usize;
            let end = if rows == 0 { successor + room(1) / 4 } else { run.offsets[row + rows] };
            let past = row + rows.max(1);
            let successors = &run.successors[(successor - first_successor) as usize..(end - first_successor) as usize];
            // SAFETY: as the caller promised.
            let send = |engine: &mut dyn Engine, at: u64| unsafe {
                engine.copy(at, &[cast_slice(&run.offsets[row..=past]), cast_slice(successors)])
            };
            self.pack(first_local + row as u32, &run.offsets[row..=past], successor..end, send)?;
            row += rows;
            successor = end;
        }
        Ok(())
    }

    /// Puts as many whole parts as fit into each half.
    ///
    /// # Safety
    /// As [`Self::enqueue_resident`].
    unsafe fn encoded(&mut self, offsets: &[u64], encoded: EncodedRows<'_>, first_local: u32) -> GpuResult<()> {
        let EncodedRows { bytes, mut parts } = encoded;
        while let Some(&EncodedPart { row, arc, .. }) = parts.first() {
            let taken = |part: &EncodedPart| {
                8 * u64::from(part.row + part.rows - row + 1) + 4 * u64::from(part.arc - arc + part.arcs)
            };
            let many = parts.iter().take_while(|part| taken(part) <= self.half()).count();
            if many == 0 {
                return Err(GpuError::Section("a file block is larger than half of the work space".into()));
            }
            let (now, later) = parts.split_at(many);
            let past = (now[many - 1].row + now[many - 1].rows) as usize;
            let own = &offsets[row as usize..=past];
            let order = Unpack {
                encoded: EncodedRows { bytes, parts: now },
                offsets_at: 0,
                wide: true,
                base: own[0],
                successors_at: 0,
                bin_shift: Some(bin_shift(self.all.numbered)),
            };
            // SAFETY: as the caller promised.
            let send = |engine: &mut dyn Engine, at: u64| unsafe {
                engine.copy(at, &[cast_slice(own)])?;
                let successors_at = at + size_of_val(own) as u64;
                compact::unpack(engine, &Unpack { offsets_at: at, successors_at, ..order })
            };
            self.pack(first_local + row, own, own[0]..own[own.len() - 1], send)?;
            parts = later;
        }
        Ok(())
    }

    /// Packs rows from a half of the work space: `send` copies there the offsets, then the successors numbered `successors`.
    fn pack(
        &mut self,
        row: u32,
        offsets: &[u64],
        successors: Range<u64>,
        send: impl FnOnce(&mut dyn Engine, u64) -> GpuResult<()>,
    ) -> GpuResult<()> {
        let half = self.halves % SLOTS;
        let events = of_row_block(half);
        if self.halves >= SLOTS {
            self.packed(half)?;
        }
        self.halves += 1;
        let at = self.space + half as u64 * self.half();
        let count = offsets.len() as u32 - 1;
        let arcs = successors.end - successors.start;
        let run = RunArguments {
            offsets: at,
            successors: at + size_of_val(offsets) as u64,
            successors_first: successors.start,
            successors_end: successors.end,
            first: row,
            count,
            lanes: packing_lanes(count.into(), arcs),
            unused: 0,
        };
        let arguments = PackedArguments { all: self.all, run, ..PackedArguments::default() };
        let engine = &mut *self.engine;
        send(engine, at)?;
        engine.record(Stream::Copy, events.copied)?;
        engine.wait(Stream::Compute, events.copied)?;
        engine.record(Stream::Compute, events.kernel)?;
        launch(engine, "packed_resident", blocks(grid_blocks(count, run.lanes)), &arguments)?;
        engine.record(Stream::Compute, events.counted)
    }

    fn packed(&mut self, half: usize) -> GpuResult<()> {
        let events = of_row_block(half);
        self.engine.reach(events.counted)?;
        self.times.preprocessing += self.engine.time(Timed::Prepare, events.kernel, events.counted)?;
        Ok(())
    }

    /// Ends the resident section; takes its times before row blocks reuse the events.
    pub(super) fn end_resident(&mut self) -> GpuResult<()> {
        self.blocks.mark();
        for half in 0..SLOTS.min(self.halves) {
            self.packed(half)?;
        }
        self.halves = 0;
        Ok(())
    }
}
