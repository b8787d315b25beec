//! A frame's way: copied to its slot, then counted in pieces, each against batches of locals.

use super::arguments::{Arguments, Kernel};
use super::space::{BLOCK, Batch, Piece, places, scan_blocks};
use super::{
    Counting, LONG_ROW, MANY_BLOCKS, OTHER_BLOCKS, OWNER_THREADS, SLOTS, SOME_BLOCKS, THREADS, lanes_for, launch,
    of_batch, of_frame, row_blocks,
};
use crate::engine::{Call, Engine, Grid, Queue, RING};
use crate::error::Result;
use crate::lstc::sections::FrameSlices;

impl<E: Engine> Counting<'_, E> {
    pub(super) fn frame(&mut self, frame: &FrameSlices<'_>) -> Result<()> {
        let first = self.order.is_first_frame();
        let bytes = self.order.frame(frame)?;
        if first {
            self.end_resident()?;
        }
        // A triangle's lowest corner has two heads.
        if self.order.arcs() < 2 || frame.range.is_empty() || frame.arcs_into == 0 {
            return Ok(());
        }
        let (slot, marks) = (self.frames % SLOTS, of_frame(self.frames));
        if self.frames >= RING {
            self.account(self.frames - RING)?;
        }
        if self.frames >= SLOTS {
            self.engine.wait(Queue::Copy, of_frame(self.frames - SLOTS).counted)?;
        }
        self.frames += 1;
        let mut arguments = Arguments {
            frame_start: frame.range.start,
            frame_locals: frame.first_local,
            together: u32::from(frame.all_local),
            ..self.arguments
        };
        let engine = &mut *self.engine;
        engine.record(Queue::Copy, marks.copy)?;
        if bytes > 0 {
            let start = self.slots[slot];
            let places = frame.places(start);
            (arguments.local_words, arguments.local_ranks) = (places.words, places.ranks);
            (arguments.frame_offsets, arguments.heads) = (places.offsets, places.heads);
            frame.send(engine, start)?;
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
            ..*shared
        };
        // Locals before the range have smaller heads still.
        let first = if frame.all_local { 0 } else { frame.first_local / BLOCK };
        let mut block = first;
        while block < self.blocks.count() {
            // With all locals in one batch, those of the range own with what they have in it.
            let all = self.blocks.batch(0, self.blocks.count(), &piece);
            let alone = frame.all_local
                && all.arcs < u64::from(u32::MAX)
                && places(&piece, u64::from(all.count), all.arcs).end <= self.space_bytes;
            let others = if alone { 0 } else { piece.numbers };
            let past = if alone {
                self.blocks.count()
            } else {
                self.blocks.cut_batch(block, self.space_bytes, &piece, others)
            };
            let batch = self.blocks.batch(block, past, &piece);
            self.batch(&mut arguments, &piece, &batch, others, block == first)?;
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
        if self.batches >= RING {
            self.account_batch(self.batches - RING)?;
        }
        let marks = of_batch(self.batches);
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
        let lengths = self.order.arcs() / u64::from(arguments.locals);
        let through = |items: u64| items.div_ceil(u64::from(THREADS)).min(u64::from(OTHER_BLOCKS * processors)) as u32;
        engine.record(Queue::Compute, marks.copy)?;
        if begins && !piece.all_local {
            arguments.lanes = lanes_for(piece.rows, piece.arcs);
            launch(engine, Kernel::Frame, row_blocks(piece.numbers as u32, arguments.lanes), arguments)?;
        }
        // Where all heads are in the range, or rows are long, each row has something to deal.
        let each = piece.numbers == u64::from(arguments.numbered) || lengths >= LONG_ROW;
        arguments.lanes = if each { lanes_for(1, lengths) } else { 0 };
        let locals = row_blocks(batch.count, arguments.lanes.max(1));
        launch(engine, Kernel::Clear, through(2 * owners), arguments)?;
        launch(engine, Kernel::Tally, locals, arguments)?;
        launch(engine, Kernel::Sum, scan_blocks(owners) as u32, arguments)?;
        launch(engine, Kernel::SumOfSums, 1, arguments)?;
        launch(engine, Kernel::Scan, scan_blocks(owners) as u32, arguments)?;
        launch(engine, Kernel::Deal, locals, arguments)?;
        launch(engine, Kernel::List, owners.div_ceil(u64::from(THREADS)) as u32, arguments)?;
        engine.record(Queue::Compute, marks.kernel)?;
        launch(engine, Kernel::Few, through(u64::from(batch.count)), arguments)?;
        let grid = |blocks| Grid { blocks, threads: OWNER_THREADS, shared: 0 };
        engine.launch(grid(SOME_BLOCKS * processors), &Call::Packed(Kernel::Some, *arguments))?;
        engine.launch(grid(MANY_BLOCKS * processors), &Call::Packed(Kernel::Many, *arguments))?;
        engine.record(Queue::Compute, marks.counted)
    }

    /// Waits for a frame's last batch and adds the time of its copy.
    pub(super) fn account(&mut self, frame: usize) -> Result<()> {
        let marks = of_frame(frame);
        self.engine.reach(marks.counted)?;
        self.so_far.copy_seconds += self.engine.seconds(marks.copy, marks.copied)?;
        Ok(())
    }

    pub(super) fn account_batch(&mut self, batch: usize) -> Result<()> {
        let marks = of_batch(batch);
        self.engine.reach(marks.counted)?;
        self.so_far.prepare_seconds += self.engine.seconds(marks.copy, marks.kernel)?;
        self.so_far.kernel_seconds += self.engine.seconds(marks.kernel, marks.counted)?;
        Ok(())
    }
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
        return Piece { numbers, rows: 0, arcs: 0, into: frame.arcs_into, all_local: true };
    }
    let (first, last) = (row_of(frame, start), row_of(frame, end));
    let arcs = u64::from(frame.offsets[last as usize] - frame.offsets[first as usize]);
    Piece { numbers, rows: u64::from(last - first), arcs, into: frame.arcs_into, all_local: false }
}
