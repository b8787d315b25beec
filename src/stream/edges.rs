//! Reads the triangles on arcs from a counter: of a row block once the host counted it, or while a device counts the next; then of resident arcs.

use super::edge_sinks::PartitionEdgeSink;
use super::{PartitionFailure, asked};
use trimill_counting::{CountBackend, CounterMemory, PartitionCounter, RowBlockView, WordBuffer};
use trimill_system::Result;

pub const CHUNK: u64 = 1 << 22;

impl PartitionEdgeSink<'_> {
    /// Takes a buffer for the counts of a row block of at most `row_block` arcs, and of `resident` arcs.
    pub(super) fn take_buffer(&mut self, backend: &mut dyn CountBackend, row_block: u64, resident: u64) {
        let memory = backend.lend(row_block.max(resident.min(CHUNK)));
        self.buffer = memory.map_or_else(WordBuffer::default, WordBuffer::lent);
    }

    /// A row block is being counted: reads the one before or, if the host counts or the sink needs its rows, this one.
    pub(super) fn row_block(
        &mut self,
        counter: &mut dyn PartitionCounter,
        row_block: &RowBlockView<'_>,
    ) -> Result<(), PartitionFailure> {
        self.unread.push_back((row_block.range.clone(), row_block.size().arcs));
        let rows = self.needs_rows().then_some(row_block);
        let on_host = matches!(counter.memory(), CounterMemory::BesidesSections(_));
        if rows.is_some() || on_host || self.unread.len() > 1 { self.read(counter, rows) } else { Ok(()) }
    }

    fn read(
        &mut self,
        counter: &mut dyn PartitionCounter,
        rows: Option<&RowBlockView<'_>>,
    ) -> Result<(), PartitionFailure> {
        let Some((range, arcs)) = self.unread.pop_front() else { return Ok(()) };
        self.buffer.resize(arcs)?;
        asked(|| counter.row_block_edges(&mut self.buffer, self.rows.pool))?;
        Ok(self.add_row_block(&range, rows)?)
    }

    /// Reads the rest, after the last row block; `arcs` is the number of resident arcs.
    pub(super) fn finish(mut self, counter: &mut dyn PartitionCounter, arcs: u64) -> Result<(), PartitionFailure> {
        while !self.unread.is_empty() {
            self.read(counter, None)?;
        }
        for first in (0..arcs).step_by(CHUNK as usize) {
            self.buffer.resize(CHUNK.min(arcs - first))?;
            asked(|| counter.resident_edges(first, &mut self.buffer, self.rows.pool))?;
            self.add_resident(first)?;
        }
        Ok(())
    }
}
