//! The rows of a partition on the device, for methods that count row block by row block: the resident section and one row block.

use bytemuck::cast_slice;
use trimill_counting::{PartitionExtent, Resident};
use trimill_kernels::engine::Engine;
use trimill_kernels::{GpuResult, MethodCount, RowBlockSlices};

use super::TakePiece;
use super::machine::BaselineDevice;

/// `Rows` of `cuda/rows.cuh`, field by field. Addresses are on the device; zero is null.
#[derive(Debug, Clone, Copy, Default)]
struct DeviceRows {
    offsets: u64,
    successors: u64,
    words: u64,
    ranks: u64,
    row_block_offsets: u64,
    row_block_successors: u64,
    range_start: u64,
    range_end: u64,
    first_local: u64,
    locals: u64,
}

impl DeviceRows {
    fn words(&self) -> [u64; 10] {
        let Self { offsets, successors, words, ranks, row_block_offsets, row_block_successors, .. } = *self;
        let Self { range_start, range_end, first_local, locals, .. } = *self;
        [
            offsets,
            successors,
            words,
            ranks,
            row_block_offsets,
            row_block_successors,
            range_start,
            range_end,
            first_local,
            locals,
        ]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sections {
    resident: DeviceRows,
    /// Address of the kernels' copy of [`DeviceRows`].
    pub(super) rows: u64,
    slot: u64,
    /// The numbers of rows and successors received.
    locals: u64,
    arcs: u64,
}

impl Sections {
    /// Takes their memory: 4 bytes an arc, 8 a local, a row block.
    pub(super) fn lay(take: &mut TakePiece<'_>, size: &PartitionExtent) -> GpuResult<Self> {
        let resident = DeviceRows {
            offsets: take(8 * (size.locals + 1))?,
            successors: take(4 * size.arcs)?,
            locals: size.locals,
            ..DeviceRows::default()
        };
        Ok(Self { resident, rows: take(80)?, slot: take(size.row_block_limit)?, locals: 0, arcs: 0 })
    }

    pub(super) fn resident<E: Engine>(
        &mut self,
        machine: &mut BaselineDevice<'_, E>,
        run: &Resident,
        so_far: &mut MethodCount,
    ) -> GpuResult<()> {
        machine.start_clock()?;
        // The last offset of a run is the first of the next one.
        machine.upload(self.resident.offsets + 8 * self.locals, cast_slice(&run.offsets))?;
        machine.upload(self.resident.successors + 4 * self.arcs, cast_slice(&run.successors))?;
        so_far.copy_seconds += machine.stop_clock()?;
        self.locals += run.offsets.len() as u64 - 1;
        self.arcs += run.successors.len() as u64;
        Ok(())
    }

    /// Copies a row block over the previous one, which no kernel uses any more.
    pub(super) fn row_block<E: Engine>(
        &mut self,
        machine: &mut BaselineDevice<'_, E>,
        row_block: &RowBlockSlices<'_>,
        so_far: &mut MethodCount,
    ) -> GpuResult<()> {
        let mut rows = DeviceRows {
            range_start: row_block.range.start.into(),
            range_end: row_block.range.end.into(),
            first_local: row_block.first_local.into(),
            ..self.resident
        };
        machine.start_clock()?;
        if !row_block.all_local {
            // Widest elements first, so that each slice is aligned.
            let (words, ranks): (&[u8], &[u8]) = (cast_slice(row_block.local_words), cast_slice(row_block.local_ranks));
            let (offsets, successors): (&[u8], &[u8]) =
                (cast_slice(row_block.offsets), cast_slice(row_block.successors));
            rows.words = if words.is_empty() { 0 } else { self.slot };
            rows.ranks = self.slot + words.len() as u64;
            rows.row_block_offsets = rows.ranks + ranks.len() as u64;
            rows.row_block_successors = rows.row_block_offsets + offsets.len() as u64;
            for (to, bytes) in [
                (self.slot, words),
                (rows.ranks, ranks),
                (rows.row_block_offsets, offsets),
                (rows.row_block_successors, successors),
            ] {
                machine.upload(to, bytes)?;
            }
        }
        machine.upload(self.rows, cast_slice(&rows.words()))?;
        so_far.copy_seconds += machine.stop_clock()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_those_of_the_source() {
        let source = include_str!("../../cuda/rows.cuh");
        let declared = source.split("struct Rows {").nth(1).and_then(|rest| rest.split("};").next()).unwrap_or("");
        let fields = declared.lines().filter_map(|line| line.split(';').next().filter(|_| line.contains(';')));
        let names: Vec<_> = fields.filter_map(|field| field.split([' ', '*']).next_back()).collect();
        let text = format!("{:?}", DeviceRows::default());
        let ours: Vec<_> =
            text.split(['{', ',']).filter_map(|field| field.split_once(':').map(|(name, _)| name.trim())).collect();
        assert_eq!(names, ours);
        // In the order in which they are copied.
        let numbered = DeviceRows {
            offsets: 0,
            successors: 1,
            words: 2,
            ranks: 3,
            row_block_offsets: 4,
            row_block_successors: 5,
            range_start: 6,
            range_end: 7,
            first_local: 8,
            locals: 9,
        };
        assert_eq!(numbered.words(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}
