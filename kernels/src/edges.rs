//! Counters of the triangles on each arc. Two arcs of a triangle begin at its corner of the largest number, a local: counters of resident arcs stay
//! on the device until the partition is counted. The third arc may be in a row block, whose counters are read once it is counted, as no other row
//! block adds to them. 32 bits suffice: an arc has fewer triangles than its ends have neighbours. Device bytes: 4 per resident arc, two row blocks.

use std::collections::VecDeque;

use bytemuck::cast_slice_mut;

use crate::engine::{Engine, Event, Stream};
use crate::error::{GpuError, GpuResult};
use trimill_counting::{EDGE_COUNTER_BYTES, PartitionExtent};

/// Errors: [`GpuError::Section`]: the partition was begun without counters of arcs.
pub(crate) fn present(edges: &mut Option<EdgeCounters>) -> GpuResult<&mut EdgeCounters> {
    edges.as_mut().ok_or_else(|| GpuError::Section("the partition was begun without counters of arcs".into()))
}

pub(crate) const SLOTS: usize = 2;

pub(crate) const PIECES: u64 = 1 + SLOTS as u64;

#[derive(Debug, Clone, Copy)]
struct Unread {
    arcs: u64,
    /// Where its counters are, and the event after the last kernel that adds to them; `None` if no triangle has an arc in it.
    counted: Option<(u64, Event)>,
}

#[derive(Debug)]
pub(crate) struct EdgeCounters {
    pub(crate) resident: u64,
    /// Device addresses; row blocks use the slots in turn.
    slots: [u64; SLOTS],
    arcs: u64,
    /// Whether a row block was begun: its kernels have then waited for the zeros.
    began: bool,
    unread: VecDeque<Unread>,
}

impl EdgeCounters {
    pub(crate) fn take(engine: &mut dyn Engine, size: &PartitionExtent) -> GpuResult<Self> {
        let resident = engine.take(EDGE_COUNTER_BYTES * size.arcs)?;
        let slots = [engine.take(size.row_block_limit)?, engine.take(size.row_block_limit)?];
        Ok(Self { resident, slots, arcs: size.arcs, began: false, unread: VecDeque::new() })
    }

    pub(crate) fn clear(&self, engine: &mut dyn Engine) -> GpuResult<()> {
        engine.fill(Stream::Copy, self.resident, 0, EDGE_COUNTER_BYTES * self.arcs)
    }

    pub(crate) fn skip_row_block(&mut self, arcs: u64) {
        self.unread.push_back(Unread { arcs, counted: None });
    }

    /// Begins the row block of a slot: enqueues zeros before its kernels. `counted` is the event after the last kernel.
    pub(crate) fn begin_row_block(
        &mut self,
        engine: &mut dyn Engine,
        slot: usize,
        arcs: u64,
        counted: Event,
    ) -> GpuResult<u64> {
        let at = self.slots[slot];
        self.began = true;
        if arcs == 0 {
            // Empty slots may share an address.
            self.skip_row_block(arcs);
            return Ok(at);
        }
        if self.unread.iter().any(|unread| unread.counted.is_some_and(|(address, _)| address == at)) {
            return Err(GpuError::Section(
                "the counters of a row block were not read before they are needed again".into(),
            ));
        }
        engine.fill(Stream::Compute, at, 0, EDGE_COUNTER_BYTES * arcs)?;
        self.unread.push_back(Unread { arcs, counted: Some((at, counted)) });
        Ok(at)
    }

    /// Waits for the oldest unread row block, and reads its counters.
    pub(crate) fn read_row_block(&mut self, engine: &mut dyn Engine, into: &mut [u32]) -> GpuResult<()> {
        let none = || GpuError::Section("there is no row block whose counters were not read".into());
        let Unread { arcs, counted } = self.unread.pop_front().ok_or_else(none)?;
        if into.len() as u64 != arcs {
            return Err(GpuError::Section(format!("{} counters of a row block of {arcs} arcs", into.len())));
        }
        let Some((at, counted)) = counted else {
            into.fill(0);
            return Ok(());
        };
        engine.reach(counted)?;
        // In the copy stream, so that the kernels of the next row block continue.
        engine.read(Stream::Copy, at, cast_slice_mut(into))
    }

    /// Waits for all kernels, and reads counters from resident arc `first` on; all are zero if there was no kernel.
    pub(crate) fn read_resident(&self, engine: &mut dyn Engine, first: u64, into: &mut [u32]) -> GpuResult<()> {
        if first + into.len() as u64 > self.arcs {
            return Err(GpuError::Section(format!("counters beyond the {} resident arcs", self.arcs)));
        }
        if !self.began {
            into.fill(0);
            return Ok(());
        }
        engine.read(Stream::Compute, self.resident + EDGE_COUNTER_BYTES * first, cast_slice_mut(into))
    }
}
