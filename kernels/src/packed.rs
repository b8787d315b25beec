//! Method `packed` on a device: rows packed into words of bits, the longer row of each arc in a table, the shorter one streamed
//! past it. How it counts stands at the head of `cuda/packed.cu`; here is how its work is given out.
//!
//! Enters: a partition's resident section and its frames in ascending order. Leaves: the triangles whose lowest corner is local.
//!
//! Heads are packed on the device as they come and are not kept: the resident section in steps through the two halves of the
//! work space, frames from two slots, so that the next one is copied while this one is counted. The work space is all of the
//! arena that is left, up to what is of use ([`wished_bytes`]); with less, a frame is counted in pieces and batches (`space.rs`),
//! and owners' tables are made once in each. For every piece and batch: two passes over the batch's words to deal the arcs to their
//! owners, a list of owners, and three kernels that count.
//!
//! Device bytes: 4 a resident arc; 20 a local (its row's place 8, room up to the next chunk 12); two frames; and a work space of
//! at least 2 an arc, 4 a local, two frames and 64 KiB. See [`device_bytes`]. All at once takes 12 an arc and 36 a local. Work: the sum over all arcs a -> b of min(words of b's row, words of a's
//! row up to b). Host: 8 bytes for 256 locals. Numbers must be below 1,879,048,192.

pub(crate) mod arguments;
mod space;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod tests;

use bytemuck::cast_slice;

use crate::Gpu;
use crate::arena::{ALIGNMENT, padded};
use crate::engine::{Call, Engine, Grid, Queue};
use crate::error::{Error, Result};
use crate::lstc::sections::{FrameSlices, ResidentSlices, Size};
use crate::lstc::{Counted, Terms};
use crate::order::{Marks, Order};
use arguments::{Arguments, Kernel};
use space::{Batch, Blocks, LEAST, LEAST_FRAMES, LEAST_PER_ARC, LEAST_PER_LOCAL, Piece, places, scan_blocks, wished};

/// Frames on the device at a time, and halves of the work space while the resident section comes.
const SLOTS: usize = 2;

/// The marks of the resident section's copies, and of two batches that are under way.
const RESIDENT: Marks = Marks::of(SLOTS);
const BATCHES: [Marks; 2] = [Marks::of(SLOTS + 1), Marks::of(SLOTS + 2)];

/// Threads of a block, where the kernel does not say otherwise, and lanes that pack or deal a row.
const THREADS: u32 = 256;
const ROW_LANES: u32 = 8;

/// Blocks for each multiprocessor: of the kernels that take their work from a counter, and of those that go through arrays.
const SOME_BLOCKS: u32 = 9;
const MANY_BLOCKS: u32 = 12;
const OTHER_BLOCKS: u32 = 16;

/// Threads of a block that counts for one owner or for four.
const OWNER_THREADS: u32 = 128;

/// What chunks can be numbered: 64 GiB.
const REACH: u64 = 16 << 32;

/// What the method takes at least, besides [`FRAMES`].
pub const TERMS: Terms = Terms {
    per_resident_arc: 4 + LEAST_PER_ARC,
    per_local: 8 + 12 + LEAST_PER_LOCAL,
    fixed: 32 + 8 + LEAST + 6 * (ALIGNMENT - 1),
};

/// Frames for which there must be room: two slots, and as much work space.
pub const FRAMES: u64 = SLOTS as u64 + LEAST_FRAMES;

/// The most bytes that a partition must have of a device, with frames of at most `frame_limit` bytes.
pub const fn device_bytes(locals: u64, arcs: u64, frame_limit: u64) -> u64 {
    TERMS.per_resident_arc * arcs + TERMS.per_local * locals + FRAMES * frame_limit + TERMS.fixed
}

/// The bytes with which everything is counted at once, each table made once. More is not taken.
pub fn wished_bytes(size: &Size) -> u64 {
    let least = device_bytes(size.locals, size.arcs, size.frame_limit);
    least + wished(size.locals, size.arcs, u64::from(size.numbered), size.frame_limit)
}

/// The bits of a number that tell its bit in a word; `None`: there are too many numbers.
fn bits_for(numbered: u32) -> Option<u32> {
    // A word has 32 bits, of which hubs have the first eighth of all values.
    [4u32, 3, 2, 1].into_iter().find(|k| u64::from(numbered) <= 7 << (29 - (1 << k) + k))
}

/// Packed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Words {
    chunks: u64,
}

impl Words {
    /// Room for so many rows with so many heads, however they are packed.
    const fn of(rows: u64, arcs: u64) -> Self {
        Self { chunks: (arcs + 3 * rows).div_ceil(4) }
    }

    const fn bytes(self) -> u64 {
        16 * self.chunks
    }
}

/// A partition being counted on a GPU by this method.
#[derive(Debug)]
pub struct Counter<'g>(Counting<'g, Gpu>);

impl<'g> Counter<'g> {
    /// Begins a partition: takes all its memory from the GPU's arena.
    ///
    /// # Errors
    /// [`Error::Budget`] when the arena is too small for [`device_bytes`], [`Error::Section`], or what the device fails with.
    pub fn begin(gpu: &'g mut Gpu, size: Size) -> Result<Self> {
        gpu.load_packed()?;
        Counting::begin(gpu, size, u64::MAX).map(Self)
    }

    /// Copies a run of the resident section to the device and packs it. All runs come before the first frame, in their order.
    /// The slices may be changed once this returns.
    ///
    /// # Errors
    /// [`Error::Section`], or what the device fails with.
    pub fn resident(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
        self.0.resident(run)
    }

    /// Counts the triangles whose middle corner the frame's range covers. Frames come in ascending order and leave no gap.
    /// The slices may be changed once this returns.
    ///
    /// # Errors
    /// [`Error::FrameTooLarge`], [`Error::Section`], or what the device fails with, which may be due to an earlier frame.
    pub fn frame(&mut self, frame: &FrameSlices<'_>) -> Result<()> {
        self.0.frame(frame)
    }

    /// Bytes of the arena in use.
    pub fn bytes(&self) -> u64 {
        self.0.so_far.peak_bytes
    }

    /// Waits for the last frames and gives the result.
    ///
    /// # Errors
    /// [`Error::Section`] when frames are missing, or what the device fails with.
    pub fn finish(self) -> Result<Counted> {
        self.0.finish()
    }
}

/// The same for any engine.
#[derive(Debug)]
struct Counting<'g, E: Engine> {
    engine: &'g mut E,
    order: Order,
    /// What all launches share.
    arguments: Arguments,
    blocks: Blocks,
    /// Where the work space begins, and its bytes.
    space: u64,
    space_bytes: u64,
    /// The most bytes of a piece of more than one number.
    piece_limit: u64,
    /// Where chunks beyond the resident rows begin: the work space's first.
    chunk_first: u32,
    slots: [u64; SLOTS],
    /// Copies into a slot or half so far, frames so far, and batches.
    halves: usize,
    frames: usize,
    batches: usize,
    so_far: Counted,
}

impl<'g, E: Engine> Counting<'g, E> {
    /// `longest_space`: the most bytes of the work space.
    fn begin(engine: &'g mut E, size: Size, longest_space: u64) -> Result<Self> {
        let order = Order::new(size)?;
        let k = bits_for(size.numbered).ok_or_else(|| {
            let text = format!("{} numbers are too many to be packed; split the graph, or use lstc", size.numbered);
            Error::Section(text)
        })?;
        let words = Words::of(size.locals, size.arcs).bytes();
        let least = LEAST + LEAST_FRAMES * size.frame_limit + LEAST_PER_ARC * size.arcs + LEAST_PER_LOCAL * size.locals;
        if padded(words) + LEAST + LEAST_FRAMES * size.frame_limit > REACH {
            return Err(Error::Section("rows of more than 64 GiB cannot be packed; split the partition".into()));
        }
        let layout = engine.layout();
        layout.restart();
        let rows = layout.take(8 * size.locals)?;
        let total = layout.take(8)?;
        let slots = [layout.take(size.frame_limit)?, layout.take(size.frame_limit)?];
        // Last, so that chunks of both are counted from one beginning.
        let packed = layout.take(words)?;
        let most = wished(size.locals, size.arcs, u64::from(size.numbered), size.frame_limit).max(least);
        let rest = (layout.capacity() - layout.used()) / ALIGNMENT * ALIGNMENT;
        let left = rest.max(least).min(padded(most)).min(longest_space);
        let space = layout.take(left)?;
        let peak = layout.used();
        let base = engine.address();
        let counting = Self {
            arguments: Arguments {
                rows: base + rows.offset,
                words: base + packed.offset,
                total: base + total.offset,
                locals: size.locals as u32,
                k,
                ..Arguments::default()
            },
            order,
            blocks: Blocks::default(),
            space: base + space.offset,
            space_bytes: left,
            piece_limit: (left / 2).min(REACH - padded(words)),
            chunk_first: ((space.offset - packed.offset) / 16) as u32,
            slots: slots.map(|slot| base + slot.offset),
            halves: 0,
            frames: 0,
            batches: 0,
            so_far: Counted { peak_bytes: peak, ..Counted::default() },
            engine,
        };
        let (engine, to) = (&mut *counting.engine, &counting.arguments);
        engine.record(Queue::Copy, RESIDENT.copy)?;
        engine.zero(to.rows, 8 * size.locals)?;
        engine.zero(to.total, 8)?;
        engine.record(Queue::Copy, RESIDENT.copied)?;
        Ok(counting)
    }

    /// A run goes through the halves of the work space in steps, which may end within a row.
    fn resident(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
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
        let marks = Marks::of(half);
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
        engine.copy(at, &[cast_slice(offsets), cast_slice(heads)])?;
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
        let marks = Marks::of(half);
        self.engine.reach(marks.counted)?;
        self.so_far.prepare_seconds += self.engine.seconds(marks.kernel, marks.counted)?;
        Ok(())
    }

    /// Ends the resident section: its times are taken before the slots' marks are.
    fn end_resident(&mut self) -> Result<()> {
        self.blocks.end();
        for half in 0..SLOTS.min(self.halves) {
            self.packed(half)?;
        }
        self.halves = 0;
        Ok(())
    }

    fn frame(&mut self, frame: &FrameSlices<'_>) -> Result<()> {
        let first = self.order.is_first_frame();
        let bytes = self.order.frame(frame)?;
        if first {
            self.end_resident()?;
        }
        // A triangle's lowest corner has two heads.
        if self.order.arcs() < 2 || frame.range.is_empty() {
            return Ok(());
        }
        let slot = self.frames % SLOTS;
        if self.frames >= SLOTS {
            self.account(slot)?;
        }
        self.frames += 1;
        let marks = Marks::of(slot);
        let mut arguments = Arguments {
            frame_start: frame.range.start,
            frame_locals: frame.first_local,
            together: u32::from(frame.all_local),
            ..self.arguments
        };
        let engine = &mut *self.engine;
        engine.record(Queue::Copy, marks.copy)?;
        if bytes > 0 {
            // Widest first, so that each begins at a multiple of its width.
            let start = self.slots[slot];
            arguments.local_words = if frame.local_words.is_empty() { 0 } else { start };
            arguments.local_ranks = start + size_of_val(frame.local_words) as u64;
            arguments.frame_offsets = arguments.local_ranks + size_of_val(frame.local_ranks) as u64;
            arguments.heads = arguments.frame_offsets + size_of_val(frame.offsets) as u64;
            let pieces = [
                cast_slice(frame.local_words),
                cast_slice(frame.local_ranks),
                cast_slice(frame.offsets),
                cast_slice(frame.heads),
            ];
            engine.copy(start, &pieces)?;
            self.so_far.copied_bytes += bytes;
        }
        engine.record(Queue::Copy, marks.copied)?;
        engine.wait(Queue::Compute, marks.copied)?;
        let mut start = frame.range.start;
        while start < frame.range.end {
            let end = self
                .blocks
                .cut_piece(start..frame.range.end, self.piece_limit, self.space_bytes, |end| piece(frame, start, end));
            self.piece(frame, start, end, &arguments)?;
            start = end;
        }
        self.engine.record(Queue::Compute, marks.counted)
    }

    /// Orders the counting of the arcs into the numbers `start..end`.
    fn piece(&mut self, frame: &FrameSlices<'_>, start: u32, end: u32, shared: &Arguments) -> Result<()> {
        let piece = piece(frame, start, end);
        let row_first = if frame.all_local { 0 } else { row_of(frame, start) };
        let mut arguments = Arguments {
            range_start: start,
            range_end: end,
            row_first,
            heads_first: u64::from(frame.offsets[row_first as usize]),
            chunk_first: self.chunk_first,
            whole: u32::from(piece.numbers == u64::from(self.order.numbered())),
            ..*shared
        };
        let mut block = 0;
        while block < self.blocks.count() {
            // With all locals in one batch, those of the range own with what they have in it.
            let all = self.blocks.batch(0, self.blocks.count(), piece.numbers);
            let alone = frame.all_local
                && all.arcs < u64::from(u32::MAX)
                && places(&piece, u64::from(all.count), all.arcs).end <= self.space_bytes;
            let others = if alone { 0 } else { piece.numbers };
            let past = if alone {
                self.blocks.count()
            } else {
                self.blocks.cut_batch(block, self.space_bytes, &piece, others)
            };
            let batch = self.blocks.batch(block, past, piece.numbers);
            self.batch(&mut arguments, &piece, &batch, others, block == 0)?;
            block = past;
        }
        Ok(())
    }

    fn batch(
        &mut self,
        arguments: &mut Arguments,
        piece: &Piece,
        batch: &Batch,
        others: u64,
        begins: bool,
    ) -> Result<()> {
        if self.batches >= BATCHES.len() {
            self.account_batch(self.batches)?;
        }
        let marks = BATCHES[self.batches % BATCHES.len()];
        self.batches += 1;
        let owners = u64::from(batch.count) + others;
        let places = places(piece, owners, batch.arcs);
        let at = |place: u64| self.space + place;
        *arguments = Arguments {
            table: if piece.all_local {
                self.arguments.rows
                    + 8 * u64::from(arguments.frame_locals + (arguments.range_start - arguments.frame_start))
            } else {
                at(places.table)
            },
            ends: at(places.ends),
            arcs: at(places.arcs),
            list: at(places.list),
            list_length: places.list_length,
            sums: at(places.sums),
            state: at(places.state),
            first: batch.first,
            count: batch.count,
            owners: owners as u32,
            ..*arguments
        };
        let engine = &mut *self.engine;
        let processors = engine.processors();
        let through = |items: u64| items.div_ceil(u64::from(THREADS)).min(u64::from(OTHER_BLOCKS * processors)) as u32;
        engine.record(Queue::Compute, marks.copy)?;
        if begins && !piece.all_local {
            launch(engine, Kernel::Frame, row_blocks(piece.numbers as u32), arguments)?;
        }
        launch(engine, Kernel::Clear, through(2 * owners), arguments)?;
        launch(engine, Kernel::Tally, row_blocks(batch.count), arguments)?;
        launch(engine, Kernel::Sum, scan_blocks(owners) as u32, arguments)?;
        launch(engine, Kernel::SumOfSums, 1, arguments)?;
        launch(engine, Kernel::Scan, scan_blocks(owners) as u32, arguments)?;
        launch(engine, Kernel::Deal, row_blocks(batch.count), arguments)?;
        launch(engine, Kernel::List, owners.div_ceil(u64::from(THREADS)) as u32, arguments)?;
        engine.record(Queue::Compute, marks.kernel)?;
        if begins {
            launch(engine, Kernel::Few, through(u64::from(arguments.locals)), arguments)?;
        }
        let grid = |blocks| Grid { blocks, threads: OWNER_THREADS, shared: 0 };
        engine.launch(grid(SOME_BLOCKS * processors), &Call::Packed(Kernel::Some, *arguments))?;
        engine.launch(grid(MANY_BLOCKS * processors), &Call::Packed(Kernel::Many, *arguments))?;
        engine.record(Queue::Compute, marks.counted)
    }

    /// Waits for a slot's last batch and adds the time of its copy, after which the slot is free.
    fn account(&mut self, slot: usize) -> Result<()> {
        let marks = Marks::of(slot);
        self.engine.reach(marks.counted)?;
        self.so_far.copy_seconds += self.engine.seconds(marks.copy, marks.copied)?;
        Ok(())
    }

    fn account_batch(&mut self, batch: usize) -> Result<()> {
        let marks = BATCHES[batch % BATCHES.len()];
        self.engine.reach(marks.counted)?;
        self.so_far.prepare_seconds += self.engine.seconds(marks.copy, marks.kernel)?;
        self.so_far.kernel_seconds += self.engine.seconds(marks.kernel, marks.counted)?;
        Ok(())
    }

    fn finish(mut self) -> Result<Counted> {
        self.order.finish()?;
        if self.frames == 0 {
            return Ok(self.so_far);
        }
        self.so_far.triangles = self.engine.read(self.arguments.total)?;
        for slot in 0..SLOTS.min(self.frames) {
            self.account(slot)?;
        }
        for batch in 0..BATCHES.len().min(self.batches) {
            self.account_batch(batch)?;
        }
        self.so_far.copy_seconds += self.engine.seconds(RESIDENT.copy, RESIDENT.copied)?;
        Ok(self.so_far)
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

/// The row of the frame with which a number of its range begins: how many before it are not local.
fn row_of(frame: &FrameSlices<'_>, number: u32) -> u32 {
    let place = number - frame.range.start;
    if frame.local_words.is_empty() {
        return place;
    }
    if number == frame.range.end {
        return frame.offsets.len() as u32 - 1;
    }
    let (word, bit) = ((place / 64) as usize, place % 64);
    place - frame.local_ranks[word] - (frame.local_words[word] & ((1 << bit) - 1)).count_ones()
}

fn piece(frame: &FrameSlices<'_>, start: u32, end: u32) -> Piece {
    let numbers = u64::from(end - start);
    if frame.all_local {
        return Piece { numbers, rows: 0, arcs: 0, all_local: true };
    }
    let (first, last) = (row_of(frame, start), row_of(frame, end));
    let arcs = u64::from(frame.offsets[last as usize] - frame.offsets[first as usize]);
    Piece { numbers, rows: u64::from(last - first), arcs, all_local: false }
}

fn row_blocks(rows: u32) -> u32 {
    rows.div_ceil(THREADS / ROW_LANES)
}

fn launch<E: Engine>(engine: &mut E, kernel: Kernel, blocks: u32, arguments: &Arguments) -> Result<()> {
    if blocks == 0 {
        return Ok(());
    }
    engine.launch(Grid { blocks, threads: THREADS, shared: 0 }, &Call::Packed(kernel, *arguments))
}

impl<E: Engine> Drop for Counting<'_, E> {
    fn drop(&mut self) {
        // The next partition takes the same memory.
        self.engine.settle();
        self.engine.layout().restart();
    }
}
