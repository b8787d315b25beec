//! The rows of a partition on the device, for methods that count row block by row block: the resident section and one row block.

use bytemuck::cast_slice;
use trimill_counting::{PartitionExtent, Resident};
use trimill_kernels::{GpuResult, RowBlockPlaces, RowBlockSlices};

use super::TakePiece;
use super::machine::BaselineDevice;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sections {
    offsets: u64,
    successors: u64,
    /// The struct `Rows` (`cuda/rows.cuh`).
    pub(super) rows: u64,
    slot: u64,
    /// The numbers of rows and successors received.
    pub(super) locals: u64,
    pub(super) arcs: u64,
}

impl Sections {
    /// Takes their memory: 4 bytes an arc, 8 a local, a row block.
    pub(super) fn lay(take: &mut TakePiece<'_>, size: &PartitionExtent) -> GpuResult<Self> {
        Ok(Self {
            offsets: take(8 * (size.locals + 1))?,
            successors: take(4 * size.arcs)?,
            rows: take(80)?,
            slot: take(size.row_block_limit)?,
            locals: 0,
            arcs: 0,
        })
    }

    pub(super) fn resident(&mut self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()> {
        machine.start_clock()?;
        // The last offset of a run is the first of the next one.
        machine.upload(self.offsets + 8 * self.locals, cast_slice(&run.offsets))?;
        machine.upload(self.successors + 4 * self.arcs, cast_slice(&run.successors))?;
        machine.stop_clock(|times| &mut times.copies)?;
        self.locals += run.offsets.len() as u64 - 1;
        self.arcs += run.successors.len() as u64;
        Ok(())
    }

    /// Copies a row block over the previous one, which no kernel uses any more. The resident section is complete.
    pub(super) fn row_block(
        &mut self,
        machine: &mut BaselineDevice<'_>,
        row_block: &RowBlockSlices<'_>,
    ) -> GpuResult<()> {
        machine.start_clock()?;
        let mut places = RowBlockPlaces::default();
        if !row_block.all_local {
            places = row_block.places(self.slot);
            let mut to = self.slot;
            for bytes in row_block.pieces() {
                machine.upload(to, bytes)?;
                to += bytes.len() as u64;
            }
        }
        // `Rows` of cuda/rows.cuh, in its order.
        let rows: [u64; 10] = [
            self.offsets,
            self.successors,
            places.words,
            places.ranks,
            places.offsets,
            places.successors,
            row_block.range.start.into(),
            row_block.range.end.into(),
            row_block.first_local.into(),
            self.locals,
        ];
        machine.upload(self.rows, cast_slice(&rows))?;
        machine.stop_clock(|times| &mut times.copies)
    }
}
