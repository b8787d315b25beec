//! The resident section's way to the device: through the halves of the work space, packed from there.

use bytemuck::cast_slice;

use super::arguments::{Arguments, Kernel};
use super::{Counting, RESIDENT, SLOTS, launch, of_frame, row_blocks};
use crate::arena::ALIGNMENT;
use crate::engine::{Engine, Queue};
use crate::error::Result;
use crate::lstc::sections::ResidentSlices;

impl<E: Engine> Counting<'_, E> {
    /// A run goes through the halves of the work space in steps, which may end within a row.
    pub(super) fn resident(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
        let (first_local, first_head) = (self.order.locals(), self.order.arcs());
        self.order.run(run)?;
        self.blocks.extend(&run.offsets[1..]);
        let half = self.space_bytes / 2 / ALIGNMENT * ALIGNMENT;
        let (mut row, mut head) = (0, first_head);
        while row + 1 < run.offsets.len() {
            let room = |rows: usize| half - 8 * (rows as u64 + 1);
            let whole = |rows: &usize| 4 * (run.offsets[row + rows] - head) <= room(*rows);
            let most = ((half / 8 - 1) as usize).min(run.offsets.len() - 1 - row);
            let rows = most_rows(most, whole);
            let end = if rows == 0 { head + room(1) / 4 } else { run.offsets[row + rows] };
            let past = row + rows.max(1);
            let heads = (head - first_head) as usize..(end - first_head) as usize;
            self.pack(first_local + row as u32, &run.offsets[row..=past], (head, end), &run.heads[heads])?;
            row += rows;
            head = end;
        }
        self.engine.record(Queue::Copy, RESIDENT.copied)
    }

    /// Copies the heads `first..end` of some rows, with the rows' offsets, and packs them.
    fn pack(&mut self, row: u32, offsets: &[u64], (first, end): (u64, u64), heads: &[u32]) -> Result<()> {
        let half = self.halves % SLOTS;
        let marks = of_frame(half);
        if self.halves >= SLOTS {
            self.packed(half)?;
        }
        self.halves += 1;
        let at = self.space + half as u64 * (self.space_bytes / 2 / ALIGNMENT * ALIGNMENT);
        let count = offsets.len() as u32 - 1;
        let arguments = Arguments {
            offsets: at,
            heads: at + size_of_val(offsets) as u64,
            heads_first: first,
            heads_end: end,
            first: row,
            count,
            ..self.arguments
        };
        let engine = &mut *self.engine;
        engine.copy(at, &[cast_slice(offsets), cast_slice(heads)], false)?;
        engine.record(Queue::Copy, marks.copied)?;
        engine.wait(Queue::Compute, marks.copied)?;
        engine.record(Queue::Compute, marks.kernel)?;
        launch(engine, Kernel::Resident, row_blocks(count), &arguments)?;
        engine.record(Queue::Compute, marks.counted)?;
        self.so_far.copied_bytes += (size_of_val(offsets) + size_of_val(heads)) as u64;
        Ok(())
    }

    /// Waits until a half is packed, and adds the time.
    fn packed(&mut self, half: usize) -> Result<()> {
        let marks = of_frame(half);
        self.engine.reach(marks.counted)?;
        self.so_far.prepare_seconds += self.engine.seconds(marks.kernel, marks.counted)?;
        Ok(())
    }

    /// Ends the resident section: its times are taken before the slots' marks are.
    pub(super) fn end_resident(&mut self) -> Result<()> {
        self.blocks.end();
        for half in 0..SLOTS.min(self.halves) {
            self.packed(half)?;
        }
        self.halves = 0;
        Ok(())
    }
}

/// The most rows of `1..=most` that fit whole, or 0.
fn most_rows(most: usize, fits: impl Fn(&usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most + 1);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if fits(&middle) { low = middle } else { high = middle }
    }
    low
}
