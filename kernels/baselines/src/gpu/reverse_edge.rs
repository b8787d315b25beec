//! Method `reverse-edge`: the GPU program of the reverse-edge forward algorithm.
//!
//! Input: vertices numbered by descending degree; each edge once, in the list of its end of larger number (see the paper's figure; its fifth step of
//! preprocessing names the other end); lists ascending. Three arrays go to the device: `successor`, all lists one after another; `index`, where each
//! list begins; `tail`, the vertex whose list an entry of `successor` is in. One thread per edge merges the lists of its two ends, as the paper's
//! serial programs do, and writes the number of matches to the edge's entry of `result`; the entries are summed. Blocks of 256 threads. With
//! [`ReverseEdgeOptions::streams`] the edges are divided equally among that many streams, with a kernel each; the paper tries 16.
//!
//! The paper holds whole graphs. Here `successor` and `index` are the resident section, and lists of proxies are read from the row
//! block; a row block counts the edges whose successor it covers, and its results are summed separately.
//!
//! Device bytes: 12 an arc (successor, tail, result), 8 a local, a row block. `O(m^1.5)` time, and a thread for each edge in each row block.

use bytemuck::cast_slice;
use trimill_counting::{Footprint, PartitionExtent, Resident, RowBlockRoom};
use trimill_kernels::engine::{EXTRA_STREAMS, Grid};
use trimill_kernels::{GpuError, GpuResult, RowBlockSlices};
use trimill_system::Bytes;

use super::machine::BaselineDevice;
use super::primitives::{self, SUM_BYTES, ValueWidth};
use super::rows::Sections;
use super::{BaselineWork, ROUNDING, TakePiece, is_block};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReverseEdgeOptions {
    pub block_threads: u32,
    /// The number of streams among which the edges are divided.
    pub streams: u32,
}

impl Default for ReverseEdgeOptions {
    /// The paper's, with one stream.
    fn default() -> Self {
        Self { block_threads: 256, streams: 1 }
    }
}

pub const STREAMS: u32 = EXTRA_STREAMS as u32;

/// Entries of `tail` that are made and copied together.
const CHUNK: usize = 1 << 20;

pub(super) struct ReverseEdgeLayout {
    sections: Sections,
    tail: u64,
    result: u64,
    sums: u64,
}

pub(super) fn lay(take: &mut TakePiece<'_>, size: &PartitionExtent) -> GpuResult<ReverseEdgeLayout> {
    let sections = Sections::lay(take, size)?;
    Ok(ReverseEdgeLayout { sections, tail: take(4 * size.arcs)?, result: take(4 * size.arcs)?, sums: take(SUM_BYTES)? })
}

pub(super) const FOOTPRINT: Footprint = Footprint {
    per_resident_arc: 12,
    per_local: 8,
    fixed: Bytes(ROUNDING),
    row_blocks: RowBlockRoom::Always(1),
    ..Footprint::NOTHING
};

pub(super) struct ReverseEdgeGpu {
    options: ReverseEdgeOptions,
    pieces: ReverseEdgeLayout,
}

impl ReverseEdgeGpu {
    pub(super) fn begin(
        machine: &mut BaselineDevice<'_>,
        options: ReverseEdgeOptions,
        size: PartitionExtent,
    ) -> GpuResult<Self> {
        let ReverseEdgeOptions { block_threads, streams } = options;
        if !is_block(block_threads) || !(1..=STREAMS).contains(&streams) {
            return Err(GpuError::Shape(format!(
                "blocks of {block_threads} threads, {streams} streams; expected a multiple of 32 up to 1024, and up to {STREAMS}"
            )));
        }
        // Creates the streams, so that this is not timed.
        machine.fork(if streams == 1 { 0 } else { streams as usize })?;
        let pieces = lay(&mut |bytes| machine.engine.take(bytes), &size)?;
        Ok(Self { options, pieces })
    }

    /// Copies the tails of a run, before its rows are received.
    fn tails(&self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()> {
        let ReverseEdgeLayout { sections, tail, .. } = &self.pieces;
        let mut to = tail + 4 * sections.arcs;
        let mut tails: Vec<u32> = Vec::with_capacity(CHUNK.min(run.successors.len()));
        for (number, row) in (sections.locals as u32..).zip(run.offsets.windows(2)) {
            let mut left = row[1] - row[0];
            while left > 0 {
                let now = left.min((CHUNK - tails.len()) as u64);
                tails.resize(tails.len() + now as usize, number);
                left -= now;
                if tails.len() == CHUNK {
                    machine.upload(to, cast_slice(&tails))?;
                    to += 4 * CHUNK as u64;
                    tails.clear();
                }
            }
        }
        machine.upload(to, cast_slice(&tails))
    }
}

impl BaselineWork for ReverseEdgeGpu {
    fn resident(&mut self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()> {
        machine.start_clock()?;
        self.tails(machine, run)?;
        machine.stop_clock(|times| &mut times.copies)?;
        self.pieces.sections.resident(machine, run)
    }

    fn row_block(&mut self, machine: &mut BaselineDevice<'_>, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        self.pieces.sections.row_block(machine, row_block)?;
        let ReverseEdgeLayout { sections, tail, result, sums } = &self.pieces;
        let ReverseEdgeOptions { block_threads, streams: many } = self.options;
        let streams = if many == 1 { 0..=0 } else { 1..=many as usize };
        let (arcs, share) = (sections.arcs, sections.arcs.div_ceil(u64::from(many)));
        machine.start_clock()?;
        machine.fork(*streams.end())?;
        for (i, stream) in (0..).zip(streams.clone()) {
            let (first, last) = ((i * share).min(arcs), ((i + 1) * share).min(arcs));
            if first < last {
                let arguments = [sections.rows, *tail, first, last, *result];
                machine.launch(stream, "reverse_edge", Grid::of(last - first, block_threads)?, &arguments)?;
            }
        }
        machine.join(*streams.end())?;
        machine.triangles += primitives::sum(machine, *result, arcs, ValueWidth::U32, *sums)?;
        machine.stop_clock(|times| &mut times.kernels)
    }
}
