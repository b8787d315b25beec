//! Copies a row block to its slot and counts it in pieces, each against batches of locals.

use std::ops::Range;

use super::arguments::{BatchArguments, PackedArguments, PieceArguments, RowBlockArguments};
use super::space::{BLOCK, BlockRange, LocalsBatch, MOST, places, scan_blocks};
use super::{
    BY_BLOCK_BLOCKS, BY_GROUP_BLOCKS, BY_WARP_BLOCKS, ONE_CHUNK, OTHER_BLOCKS, OWNER_THREADS, PackedCounter, ROW_LANES,
    SLOTS, THREADS, blocks, grid_blocks, lanes_for, launch, of_batch, of_row_block,
};
use crate::engine::{Grid, RING, Stream, Timed};
use crate::error::GpuResult;
use crate::sections::RowBlockSlices;
use trimill_counting::EDGE_COUNTER_BYTES;

impl PackedCounter<'_> {
    /// # Safety
    /// As [`crate::engine::Engine::copy`], for the row block.
    pub(super) unsafe fn enqueue_row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        let first = self.received.is_first_row_block();
        self.received.row_block(row_block)?;
        if first {
            self.end_resident()?;
        }
        // A triangle's corner of largest number has two successors.
        if self.received.arcs() < 2 || row_block.range.is_empty() || self.arcs_into == 0 {
            if let Some(edges) = &mut self.edges {
                edges.skip_row_block(row_block.arcs());
            }
            return Ok(());
        }
        let (slot, events) = (self.row_blocks % SLOTS, of_row_block(self.row_blocks));
        if self.row_blocks >= RING {
            self.account(self.row_blocks - RING)?;
        }
        if self.row_blocks >= SLOTS {
            self.engine.wait(Stream::Copy, of_row_block(self.row_blocks - SLOTS).counted)?;
        }
        self.row_blocks += 1;
        let mut to = RowBlockArguments {
            start: row_block.range.start,
            locals: row_block.first_local,
            together: u32::from(row_block.all_local),
            ..RowBlockArguments::default()
        };
        let engine = &mut *self.engine;
        // SAFETY: as the caller promised.
        let places = unsafe { row_block.send(engine, self.slots[slot], events)? };
        (to.local_words, to.local_ranks) = (places.words, places.ranks);
        (to.offsets, to.successors) = (places.offsets, places.successors);
        if let Some(edges) = &mut self.edges {
            let counters = edges.begin_row_block(engine, slot, row_block.arcs(), events.counted)?;
            // Counters are fewer than 2^32: see `begin`.
            to.counters = ((counters - edges.resident) / EDGE_COUNTER_BYTES) as u32;
        }
        let edges = self.edges.is_some();
        let mut start = row_block.range.start;
        while start < row_block.range.end {
            let end = self.blocks.cut_piece(start..row_block.range.end, self.piece_limit, self.space_bytes, |end| {
                piece(row_block, start..end, self.arcs_into, edges)
            });
            self.piece(row_block, start..end, to)?;
            start = end;
        }
        self.engine.record(Stream::Compute, events.counted)
    }

    /// Enqueues the counting of the arcs into the numbers of `range`.
    fn piece(&mut self, row_block: &RowBlockSlices<'_>, range: Range<u32>, to: RowBlockArguments) -> GpuResult<()> {
        let piece = piece(row_block, range.clone(), self.arcs_into, self.edges.is_some());
        let row_first = if row_block.all_local { 0 } else { row_of(row_block, range.start) };
        let mut arguments = PackedArguments {
            all: self.all,
            row_block: to,
            piece: PieceArguments {
                start: range.start,
                end: range.end,
                row_first,
                successors_first: u64::from(row_block.offsets[row_first as usize]),
                ..PieceArguments::default()
            },
            ..PackedArguments::default()
        };
        // Locals before the range have no successors in it.
        let first = if row_block.all_local { 0 } else { row_block.first_local / BLOCK };
        let mut block = first;
        while block < self.blocks.count() {
            // With all locals in one batch, a local of the range is one owner, not two (in the batch and in the piece).
            let all = self.blocks.batch(0, self.blocks.count(), &piece);
            let alone = row_block.all_local
                && all.arcs <= MOST
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
        arguments: &mut PackedArguments,
        piece: &BlockRange,
        batch: &LocalsBatch,
        others: u64,
        begins: bool,
    ) -> GpuResult<()> {
        if self.batches >= RING {
            self.account_batch(self.batches - RING)?;
        }
        let events = of_batch(self.batches);
        self.batches += 1;
        let owners = u64::from(batch.count) + others;
        let places = places(piece, owners, batch.arcs);
        let at = |place: u64| self.space + place;
        let to = &mut arguments.piece;
        to.table = if piece.all_local {
            self.all.rows + 8 * u64::from(arguments.row_block.locals + (to.start - arguments.row_block.start))
        } else {
            at(places.table)
        };
        to.firsts = at(places.firsts);
        arguments.batch = BatchArguments {
            ends: at(places.ends),
            arcs: at(places.arcs),
            arc_counters: at(places.arc_counters),
            list: at(places.list),
            list_length: places.list_length,
            sums: at(places.sums),
            state: at(places.state),
            first: batch.first,
            count: batch.count,
            owners: owners as u32,
            lanes: 0,
        };
        let engine = &mut *self.engine;
        let processors = engine.processors();
        let through = |items: u64| items.div_ceil(u64::from(THREADS)).min(u64::from(OTHER_BLOCKS * processors)) as u32;
        engine.record(Stream::Compute, events.copy)?;
        if begins && !piece.all_local {
            arguments.piece.lanes = lanes_for(piece.rows, piece.arcs);
            let lanes = arguments.piece.lanes;
            launch(engine, "packed_row_block", blocks(grid_blocks(piece.numbers as u32, lanes)), arguments)?;
        }
        // Almost every row has arcs to assign if the piece covers all numbers, or rows are long.
        let lanes = lanes_for(self.locals.into(), self.received.arcs());
        let sparse = piece.numbers < u64::from(self.all.numbered) && lanes == ROW_LANES;
        arguments.batch.lanes = if sparse { 0 } else { lanes };
        let locals = grid_blocks(batch.count, arguments.batch.lanes.max(1));
        let (scans, lists) = (scan_blocks(owners) as u32, owners.div_ceil(u64::from(THREADS)) as u32);
        launch(engine, "packed_longest", blocks(through(owners)), arguments)?;
        launch(engine, "packed_clear", blocks(through(2 * owners)), arguments)?;
        launch(engine, "packed_count_arcs", blocks(locals), arguments)?;
        launch(engine, "packed_sum", blocks(scans), arguments)?;
        launch(engine, "packed_sum_of_sums", blocks(1), arguments)?;
        launch(engine, "packed_scan", blocks(scans), arguments)?;
        launch(engine, "packed_assign_arcs", blocks(locals), arguments)?;
        launch(engine, "packed_list", blocks(lists), arguments)?;
        engine.record(Stream::Compute, events.kernel)?;
        let [by_thread, by_warp, by_block] = match (self.all.counters, self.all.on_arcs) {
            (0, 0) => ["packed_by_thread", "packed_by_warp", "packed_by_block"],
            (0, _) => ["packed_by_thread_edges", "packed_by_warp_edges", "packed_by_block_edges"],
            _ => ["packed_by_thread_vertices", "packed_by_warp_vertices", "packed_by_block_vertices"],
        };
        // At most 128 threads of a block may add up bytes (`Bytes` in `packed_found.cuh`).
        let threads = if self.all.counters == 0 { THREADS } else { OWNER_THREADS };
        let grid = Grid { blocks: through(u64::from(batch.count)), threads, shared: 0 };
        // Before `by_thread`, which updates the next successors of rows that both kernels take.
        if arguments.all.most_words > ONE_CHUNK {
            let grid = Grid { blocks: BY_GROUP_BLOCKS * processors, threads: OWNER_THREADS, shared: 0 };
            launch(engine, "packed_by_group", grid, arguments)?;
        }
        launch(engine, by_thread, grid, arguments)?;
        let owned = |blocks| Grid { blocks: blocks * processors, threads: OWNER_THREADS, shared: 0 };
        launch(engine, by_warp, owned(BY_WARP_BLOCKS), arguments)?;
        launch(engine, by_block, owned(BY_BLOCK_BLOCKS), arguments)?;
        engine.record(Stream::Compute, events.counted)
    }

    /// Waits for a row block's last batch and adds the time of its copy.
    pub(super) fn account(&mut self, row_block: usize) -> GpuResult<()> {
        let events = of_row_block(row_block);
        self.engine.reach(events.counted)?;
        self.times.copies += self.engine.time(Timed::Copy, events.copy, events.copied)?;
        Ok(())
    }

    pub(super) fn account_batch(&mut self, batch: usize) -> GpuResult<()> {
        let events = of_batch(batch);
        self.engine.reach(events.counted)?;
        self.times.preprocessing += self.engine.time(Timed::Prepare, events.copy, events.kernel)?;
        self.times.kernels += self.engine.time(Timed::Count, events.kernel, events.counted)?;
        Ok(())
    }
}

/// The index of a number's row: the numbers before it in the range that are not local.
fn row_of(row_block: &RowBlockSlices<'_>, number: u32) -> u32 {
    let place = number - row_block.range.start;
    if row_block.local_words.is_empty() {
        return place;
    }
    if number == row_block.range.end {
        return row_block.offsets.len() as u32 - 1;
    }
    let (word, bit) = ((place / 64) as usize, place % 64);
    place - row_block.local_ranks[word] - (row_block.local_words[word] & ((1 << bit) - 1)).count_ones()
}

fn piece(row_block: &RowBlockSlices<'_>, range: Range<u32>, into: u64, edges: bool) -> BlockRange {
    let (Range { start, end }, numbers) = (range.clone(), range.len() as u64);
    if row_block.all_local {
        return BlockRange { numbers, rows: 0, arcs: 0, into, all_local: true, edges };
    }
    let (first, last) = (row_of(row_block, start), row_of(row_block, end));
    let arcs = u64::from(row_block.offsets[last as usize] - row_block.offsets[first as usize]);
    BlockRange { numbers, rows: u64::from(last - first), arcs, into, all_local: false, edges }
}
