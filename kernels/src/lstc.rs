//! Method `lstc` on a device: Algorithm 3 of "LSTC: Large-Scale Triangle Counting on Single GPU" (ICPE 2026), counted a row block at
//! a time. How the kernel's lines follow the paper's stands at the head of `cuda/lstc.cu`.
//!
//! Enters: a partition's resident section and its row blocks in ascending order. Leaves: the triangles whose lowest corner is local.
//!
//! The resident section stays on the device; row blocks go through two slots, so while the kernel works on one row block the next one
//! is copied. [`Counter::row_block`] returns as soon as its orders are given; where both slots are taken it waits for the older
//! one's kernel. Not from the paper: the row blocks (it holds a partition whole, which here is a partition of one row block), the list
//! of vertices that may start a triangle (rows of two successors or more; in the paper every vertex gets a block, and its published
//! prototype passes over rows of two), and that the blocks' sums are added on the device, by blocks of fixed shares.
//!
//! Device bytes: 4 a resident arc; 24 a local (offset 8, cursor 4, sum 8, list 4); two row blocks; and less than 5 KiB. See
//! [`device_bytes`]. Probes: the rows of all successors of all locals, read once for each tile of the local's row (only tiles that
//! begin before the successor). Host: a pass over the offsets.

pub(crate) mod arguments;
pub(crate) mod sections;
pub(crate) mod shape;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod tests;

use bytemuck::cast_slice;

use crate::Gpu;
use crate::arena::{ALIGNMENT, Piece, padded};
use crate::compact::{Offsets, Unpack};
use crate::engine::{Call, Engine, Grid, Queue};
use crate::error::Result;
use crate::order::{Marks, Order};
use arguments::Arguments;
use sections::{ResidentSlices, RowBlockSlices, Size};
use shape::Shape;

/// Row blocks on the device at a time.
const SLOTS: usize = 2;

/// Blocks of a grid, at most.
const LONGEST_GRID: u32 = i32::MAX as u32;

/// Blocks that add up the locals' sums, and the threads of each.
const SUM_GRID: Grid = Grid { blocks: 256, threads: 256, shared: 0 };

/// Entries of the work list that are made and copied together.
const LIST_CHUNK: usize = 1 << 20;

/// What the method takes of a device, in bytes, besides row blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// For each resident arc: its successor.
    pub per_resident_arc: u64,
    /// For each local: where its row begins, its cursor, its sum, its place in the work list.
    pub per_local: u64,
    /// Whatever the partition: the sums' sums, and the padding of all pieces.
    pub fixed: u64,
}

/// What the method takes.
pub const TERMS: Terms =
    Terms { per_resident_arc: 4, per_local: 8 + 4 + 8 + 4, fixed: 8 + padded(SUMS_BYTES) + 7 * (ALIGNMENT - 1) };

/// The sums of blocks, and their sum.
const SUMS_BYTES: u64 = 8 * (SUM_GRID.blocks as u64 + 1);

/// The most bytes that a partition takes of a device, with row blocks of at most `row_block_limit` bytes. Never exceeded.
pub const fn device_bytes(locals: u64, arcs: u64, row_block_limit: u64) -> u64 {
    TERMS.per_resident_arc * arcs + TERMS.per_local * locals + SLOTS as u64 * row_block_limit + TERMS.fixed
}

/// What was counted, and what it took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Triangles whose lowest corner is local.
    pub triangles: u64,
    /// Seconds of the counting kernels, by the device's clock.
    pub kernel_seconds: f64,
    /// Seconds of what the method prepares on the device before it counts, by the device's clock.
    pub prepare_seconds: f64,
    /// Seconds of adding up the sums, by the device's clock.
    pub sum_seconds: f64,
    /// Seconds from the beginning to the end of each section's copy, by the device's clock; waiting for the host to fill the
    /// page-locked buffers is part of it.
    pub copy_seconds: f64,
    /// Bytes copied to the device.
    pub copied_bytes: u64,
    /// The most bytes of the arena that were in use.
    pub peak_bytes: u64,
}

/// A partition being counted on a GPU.
#[derive(Debug)]
pub struct Counter<'g>(Counting<'g, Gpu>);

impl<'g> Counter<'g> {
    /// Begins a partition: takes all its memory from the GPU's arena.
    ///
    /// # Errors
    /// [`crate::Error::Budget`] when the arena is too small for [`device_bytes`], [`crate::Error::Section`], or what the device fails with.
    pub fn begin(gpu: &'g mut Gpu, shape: Shape, size: Size) -> Result<Self> {
        Counting::begin(gpu, shape, size, LONGEST_GRID).map(Self)
    }

    /// Copies a run of the resident section to the device. All runs come before the first row block, in their order. The slices may
    /// be changed once this returns.
    ///
    /// # Errors
    /// [`crate::Error::Section`], or what the device fails with.
    pub fn resident(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
        let queued = self.0.resident(run);
        // In any case, since what is on its way is only borrowed.
        let sent = self.0.engine.sent();
        queued.and(sent)
    }

    /// Counts the triangles whose middle corner the row block's range covers. Row blocks come in ascending order and leave no gap.
    /// The slices may be changed once this returns.
    ///
    /// # Errors
    /// [`crate::Error::RowBlockTooLarge`], [`crate::Error::Section`], or what the device fails with, which may be due to an earlier row block.
    pub fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> Result<()> {
        let queued = self.0.row_block(row_block);
        let sent = self.0.engine.sent();
        queued.and(sent)
    }

    /// Bytes of the arena in use.
    pub fn bytes(&self) -> u64 {
        self.0.peak
    }

    /// Waits for the last row blocks and gives the result.
    ///
    /// # Errors
    /// [`crate::Error::Section`] when row blocks are missing, or what the device fails with.
    pub fn finish(self) -> Result<Counted> {
        self.0.finish()
    }
}

/// Both slots have their marks, the resident section and the final sum share theirs.
const RESIDENT: Marks = Marks::of(SLOTS);

/// The same for any engine.
#[derive(Debug)]
struct Counting<'g, E: Engine> {
    engine: &'g mut E,
    shape: Shape,
    order: Order,
    locals: u64,
    /// What all launches share.
    arguments: Arguments,
    /// Where the work list lies.
    list: u64,
    /// Locals that may start a triangle, so far: a block each.
    work: u32,
    sums: Piece,
    slots: [Piece; SLOTS],
    /// Blocks of a launch, at most.
    longest_grid: u32,
    /// Row blocks so far.
    row_blocks: usize,
    peak: u64,
    so_far: Counted,
}

impl<'g, E: Engine> Counting<'g, E> {
    fn begin(engine: &'g mut E, shape: Shape, size: Size, longest_grid: u32) -> Result<Self> {
        let order = Order::new(size)?;
        let layout = engine.layout();
        layout.restart();
        let offsets = layout.take(8 * (size.locals + 1))?;
        let successors = layout.take(4 * size.arcs)?;
        let cursors = layout.take(4 * size.locals)?;
        let sums = layout.take(8 * size.locals)?;
        let list = layout.take(4 * size.locals)?;
        let totals = layout.take(SUMS_BYTES)?;
        let slots = [layout.take(size.row_block_limit)?, layout.take(size.row_block_limit)?];
        let peak = layout.used();
        let base = engine.address();
        let at = |piece: Piece| base + piece.offset;
        let arguments = Arguments {
            offsets: at(offsets),
            successors: at(successors),
            cursors: at(cursors),
            sums: at(sums),
            tile_width: shape.tile(),
            ..Arguments::default()
        };
        Ok(Self {
            engine,
            shape,
            order,
            locals: size.locals,
            arguments,
            list: at(list),
            work: 0,
            sums: totals,
            slots,
            longest_grid,
            row_blocks: 0,
            peak,
            so_far: Counted { peak_bytes: peak, ..Counted::default() },
        })
    }

    /// Orders the copies of a run. No kernel needs to wait for them: each waits for its row block's copy, which comes later in the
    /// same queue. From here on, dropping waits for the device.
    fn resident(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
        let (locals, arcs) = (self.order.locals(), self.order.arcs());
        self.order.run(run)?;
        let (engine, to) = (&mut *self.engine, self.arguments);
        if locals == 0 {
            engine.record(Queue::Copy, RESIDENT.copy)?;
            engine.begin_unpacking(self.order.numbered())?;
            engine.zero(to.cursors, 4 * self.locals)?;
            engine.zero(to.sums, 8 * self.locals)?;
        }
        // A run's first offset is where the one before it ended: the same once more.
        engine.copy(to.offsets + 8 * u64::from(locals), &[cast_slice(run.offsets)])?;
        match run.compact {
            None => engine.copy(to.successors + 4 * arcs, &[cast_slice(run.successors)])?,
            Some(compact) => engine.unpack(&Unpack {
                compact,
                offsets: Offsets::Wide(run.offsets),
                offsets_at: to.offsets + 8 * u64::from(locals),
                base: arcs,
                successors_at: to.successors + 4 * arcs,
                counted: false,
            })?,
        }
        self.so_far.copied_bytes += size_of_val(run.offsets) as u64 + 4 * run.arcs();
        let rows = run.offsets.len() as u32 - 1;
        for (first, rows) in (0..).step_by(LIST_CHUNK).zip(run.offsets[..rows as usize].chunks(LIST_CHUNK)) {
            let lengths = (0..rows.len()).map(|i| run.offsets[first + i + 1] - rows[i]);
            let starting = (locals + first as u32..).zip(lengths).filter(|(_, length)| *length > 1);
            let list: Vec<u32> = starting.map(|(a, _)| a).collect();
            if list.is_empty() {
                continue;
            }
            engine.copy(self.list + 4 * u64::from(self.work), &[cast_slice(&list)])?;
            self.so_far.copied_bytes += size_of_val(list.as_slice()) as u64;
            self.work += list.len() as u32;
        }
        engine.record(Queue::Copy, RESIDENT.copied)
    }

    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> Result<()> {
        let bytes = self.order.row_block(row_block)?;
        if self.work == 0 || row_block.range.is_empty() {
            return Ok(());
        }
        let slot = self.row_blocks % SLOTS;
        if self.row_blocks >= SLOTS {
            self.account(slot)?;
        }
        self.row_blocks += 1;
        let marks = Marks::of(slot);
        let mut arguments = Arguments {
            range_start: row_block.range.start,
            range_end: row_block.range.end,
            first_local: row_block.first_local,
            whole: u32::from(row_block.range == (0..self.order.numbered())),
            // A list of all would only be in the way.
            work: if u64::from(self.work) == self.locals { 0 } else { self.list },
            ..self.arguments
        };
        let engine = &mut *self.engine;
        engine.record(Queue::Copy, marks.copy)?;
        if bytes > 0 {
            let start = engine.address() + self.slots[slot].offset;
            let places = row_block.places(start);
            (arguments.words, arguments.ranks) = (places.words, places.ranks);
            (arguments.row_block_offsets, arguments.row_block_successors) = (places.offsets, places.successors);
            row_block.send(engine, start)?;
            self.so_far.copied_bytes += bytes;
        }
        engine.record(Queue::Copy, marks.copied)?;
        engine.wait(Queue::Compute, marks.copied)?;
        engine.record(Queue::Compute, marks.kernel)?;
        let mut first = 0;
        while first < self.work {
            let blocks = (self.work - first).min(self.longest_grid);
            let grid = Grid { blocks, threads: self.shape.block_threads(), shared: self.shape.shared() };
            let arguments = Arguments { work_first: first, ..arguments };
            let call = if self.shape.tile() == 0 { Call::Global(arguments) } else { Call::Tiled(arguments) };
            engine.launch(grid, &call)?;
            first += blocks;
        }
        engine.record(Queue::Compute, marks.counted)
    }

    /// Waits for a slot's kernel and adds its times, after which the slot is free.
    fn account(&mut self, slot: usize) -> Result<()> {
        let marks = Marks::of(slot);
        self.engine.reach(marks.counted)?;
        self.so_far.copy_seconds += self.engine.seconds(marks.copy, marks.copied)?;
        self.so_far.kernel_seconds += self.engine.seconds(marks.kernel, marks.counted)?;
        Ok(())
    }

    fn finish(mut self) -> Result<Counted> {
        self.order.finish()?;
        if self.work == 0 {
            return Ok(self.so_far);
        }
        let sums = self.engine.address() + self.sums.offset;
        let total = sums + 8 * u64::from(SUM_GRID.blocks);
        self.engine.record(Queue::Compute, RESIDENT.kernel)?;
        let len = self.locals;
        self.engine.launch(SUM_GRID, &Call::Sum { values: self.arguments.sums, len, sums })?;
        let last = Grid { blocks: 1, ..SUM_GRID };
        self.engine.launch(last, &Call::Sum { values: sums, len: u64::from(SUM_GRID.blocks), sums: total })?;
        self.engine.record(Queue::Compute, RESIDENT.counted)?;
        self.so_far.triangles = self.engine.read(total)?;
        self.engine.unpacked()?;
        for slot in 0..SLOTS.min(self.row_blocks) {
            self.account(slot)?;
        }
        self.so_far.copy_seconds += self.engine.seconds(RESIDENT.copy, RESIDENT.copied)?;
        self.so_far.sum_seconds = self.engine.seconds(RESIDENT.kernel, RESIDENT.counted)?;
        Ok(self.so_far)
    }
}

impl<E: Engine> Drop for Counting<'_, E> {
    fn drop(&mut self) {
        // The next partition takes the same memory.
        self.engine.settle();
        self.engine.layout().restart();
    }
}
