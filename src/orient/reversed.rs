//! The arcs of rows, sorted by head. Input: rows with ascending heads, from many threads. Output: for a bucket of consecutive ids, the tails of each.
//! A row's heads in one bucket are encoded together after their tail, and stay in the bucket in memory or, if that is full, in a file. Memory: 0.2 to
//! 4 bytes an arc, within a share of the budget; a staging area of 2 KiB for each thread and bucket.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::waiting::{decode_row, encode_row};
use crate::clean::Shares;
use trimill_graph::leb128::{numbers, put};
use trimill_input::rows::RowChunk;
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::mapped::trim_heap;
use trimill_system::memory::{SharedBudget, TakenMemory};
use trimill_system::parallel::IdleValues;
use trimill_system::{Bytes, Error, Result, lock};

const STAGED: usize = 2048;

/// Arcs of a bucket whose tails about fit a core's cache while they are sorted.
const IN_CACHE: u64 = 1 << 22;

/// The fewest ids of a bucket, unless its chunk of rows has fewer.
const LEAST_IDS: u64 = 1 << 12;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Heads {
    /// All heads; if they do not fit, only those of the first chunks.
    All,
    /// The heads of the remaining chunks; if they do not fit, only those of the first of these.
    Next,
    /// The heads of a band that fitted when it was read before.
    SameAgain,
}

pub(super) struct ReversedArcs {
    pub(super) first_ids: Vec<u32>,
    pub(super) of_chunk: Vec<Range<usize>>,
    /// The chunks whose heads are taken, and the first id after them.
    taken: Mutex<usize>,
    end: AtomicU32,
    waiting: Vec<Mutex<ReversedBucket>>,
    staged: IdleValues<StagedBuckets>,
    /// The most bytes in memory if some heads are left out; and the most bytes in the file.
    beside_rows: Bytes,
    on_disk: u64,
    ids: u32,
    pub(super) overflow: Overflow,
}

#[derive(Default)]
struct ReversedBucket {
    /// No piece continues in another segment.
    segments: Vec<WaitingBytes>,
    held: u64,
    arcs: u64,
    pieces: u64,
    is_left_out: bool,
}

/// A thread's staging area for a bucket: pieces of consecutive tails. A piece has a record for each tail: the difference to the previous tail, the
/// number of heads, and the heads. A record without heads ends it.
#[derive(Default, Clone)]
struct StagedArcs {
    bytes: Vec<u8>,
    /// The chunk of rows of the last piece.
    chunk: u64,
    tail: u32,
    arcs: u64,
    pieces: u64,
}

impl StagedArcs {
    fn end_piece(&mut self) {
        put(0, &mut self.bytes);
        put(0, &mut self.bytes);
        (self.tail, self.pieces) = (0, self.pieces + 1);
    }
}

#[derive(Default)]
pub(super) struct StagedBuckets {
    buckets: Vec<StagedArcs>,
    chunks: u64,
    heads: Vec<u32>,
    encoded: Vec<u8>,
}

/// The tails of a bucket's heads, ascending; of only some consecutive heads at a time if there is no memory for all.
pub(super) struct SortedTails<'a> {
    segments: Vec<Box<[u8]>>,
    /// The first tail of each piece, its segment and its place there. Pieces do not overlap, so in this order the tails of a head ascend.
    pieces: Vec<(u32, u32, usize)>,
    /// CSR offsets of the heads' tails.
    begins: Vec<usize>,
    most: usize,
    tails: Vec<u32>,
    heads: Range<usize>,
    limit: &'a MemoryLimit,
    held: u64,
    _memory: TakenMemory,
}

impl SortedTails<'_> {
    /// The tails of a head, whose number is relative to the bucket's first. Must be called with ascending heads.
    pub(super) fn of(&mut self, head: u32) -> Result<&mut [u32]> {
        let head = head as usize;
        if !self.heads.contains(&head) {
            self.sort_from(head)?;
        }
        let first = self.begins[self.heads.start];
        Ok(&mut self.tails[self.begins[head] - first..self.begins[head + 1] - first])
    }

    /// Sorts the tails of the heads from `first` on, as many as fit.
    fn sort_from(&mut self, first: usize) -> Result<()> {
        let Self { segments, pieces, begins, tails, .. } = self;
        let begin = begins[first];
        let heads = first..begins.partition_point(|&at| at <= begin + self.most) - 1;
        let mut next: Vec<usize> = begins[heads.clone()].iter().map(|at| at - begin).collect();
        tails.clear();
        tails.resize(begins[heads.end] - begin, 0);
        for &(_, segment, at) in &*pieces {
            arcs_of(&segments[segment as usize][at..], begins.len() - 1, &mut |head, tail| {
                if let Some(place) = (head as usize).checked_sub(first).and_then(|head| next.get_mut(head)) {
                    tails[*place] = tail;
                    *place += 1;
                }
            })?;
        }
        if heads.end + 1 == begins.len() {
            (*segments, *pieces) = (Vec::new(), Vec::new());
            let (before, step) = (self.limit.held().get(), (self.limit.most().get() / 16).max(1));
            self.limit.release(std::mem::take(&mut self.held));
            // Segments of all buckets lie side by side, so what is freed neither returns by itself nor serves the larger buffers of tails.
            if self.limit.held().get() / step < before / step {
                trim_heap();
            }
        }
        self.heads = heads;
        Ok(())
    }
}

impl ReversedArcs {
    /// Divides the ids of each chunk into about equal buckets: few, so that many heads of a row share a bucket, but enough that all threads can sort
    /// one each in half of the memory for sorting. Heads outside the chunks are ignored.
    pub(super) fn new<'c>(
        chunks: impl ExactSizeIterator<Item = &'c RowChunk> + Clone,
        ids: usize,
        heads: Heads,
        shares: &Shares<'_>,
    ) -> Result<Self> {
        let arcs = chunks.clone().last().map_or(0, |chunk| chunk.arcs.end);
        let wanted = 8 * arcs / shares.sorting().max(1);
        let many = wanted.max(arcs / IN_CACHE).clamp(1, shares.staged().saturating_sub(chunks.len() as u64).max(1));
        let most = (ids as u64).div_ceil(many).max(LEAST_IDS);
        let (mut of_chunk, mut first_ids, mut end) = (Vec::with_capacity(chunks.len()), Vec::new(), 0);
        for chunk in chunks {
            let first = first_ids.len();
            end = chunk.ids.end;
            first_ids.extend(chunk.ids.clone().step_by(most as usize).map(|id| id as u32));
            of_chunk.push(first..first_ids.len());
        }
        let waiting = first_ids.iter().map(|_| Mutex::default()).collect();
        first_ids.push(end as u32);
        let beside_rows = shares.rows_that_wait(false);
        let in_memory = if heads == Heads::All { Bytes(shares.reversed_arcs()) } else { beside_rows };
        Ok(Self {
            taken: Mutex::new(of_chunk.len()),
            end: AtomicU32::new(end as u32),
            first_ids,
            of_chunk,
            waiting,
            staged: IdleValues::default(),
            beside_rows,
            ids: ids as u32,
            // The graph file may have taken disk space since, but no arc may be left out.
            on_disk: if heads == Heads::SameAgain { u64::MAX } else { shares.reversed_on_disk()?.get() },
            overflow: Overflow::new(shares.space.dir, MemoryLimit::new(in_memory)),
        })
    }

    /// The number of chunks whose heads were taken; the others are left to another pass over all rows.
    pub(super) fn taken(&self) -> usize {
        *lock(&self.taken)
    }

    /// Runs `work`, which adds a chunk of rows, with a staging area.
    pub(super) fn with_stage<R>(&self, work: impl FnOnce(&mut StagedBuckets) -> R) -> R {
        let new =
            || StagedBuckets { buckets: vec![StagedArcs::default(); self.waiting.len()], ..StagedBuckets::default() };
        self.staged.with(new, |staged| {
            staged.chunks += 1;
            work(staged)
        })
    }

    /// Adds the arcs of a row, except loops, to the buckets of their heads. False: heads do not ascend, or one is no id.
    pub(super) fn add(&self, tail: u32, row: &[u32], staged: &mut StagedBuckets) -> Result<bool> {
        if !row.windows(2).all(|pair| pair[0] < pair[1]) || row.last().is_some_and(|&last| last >= self.ids) {
            return Ok(false);
        }
        let StagedBuckets { buckets: staged, chunks, heads, encoded } = staged;
        let end = row.partition_point(|&head| head < self.end.load(Ordering::Relaxed));
        let mut rest = &row[row.partition_point(|&head| head < self.first_ids[0]).min(end)..end];
        while let Some(&head) = rest.first() {
            let bucket = self.first_ids.partition_point(|&first| first <= head) - 1;
            let (now, after) = rest.split_at(rest.partition_point(|&head| head < self.first_ids[bucket + 1]));
            rest = after;
            heads.clear();
            heads.extend(now.iter().filter(|&&head| head != tail).map(|head| head - self.first_ids[bucket]));
            if heads.is_empty() {
                continue;
            }
            let many = heads.len();
            encode_row(heads, encoded);
            let of = &mut staged[bucket];
            if of.chunk < *chunks {
                // The chunks in between belong to other threads.
                if !of.bytes.is_empty() {
                    of.end_piece();
                }
                of.chunk = *chunks;
            }
            put(tail - of.tail, &mut of.bytes);
            put(many as u32, &mut of.bytes);
            of.bytes.extend_from_slice(encoded);
            (of.tail, of.arcs) = (tail, of.arcs + many as u64);
            if of.bytes.len() >= STAGED {
                self.flush(bucket, of)?;
            }
        }
        Ok(true)
    }

    /// Adds staged arcs to a bucket. Writes it if memory is full and it has half of its share; if the disk is full, leaves out chunks.
    fn flush(&self, bucket: usize, of: &mut StagedArcs) -> Result<()> {
        of.end_piece();
        let bytes = std::mem::take(&mut of.bytes);
        let (arcs, pieces) = (std::mem::take(&mut of.arcs), std::mem::take(&mut of.pieces));
        let mut into = lock(&self.waiting[bucket]);
        if into.is_left_out {
            return Ok(());
        }
        into.arcs += arcs;
        into.pieces += pieces;
        into.held += bytes.len() as u64;
        let fits = self.overflow.limit.add(bytes.len() as u64);
        into.segments.push(WaitingBytes::Memory(bytes.into()));
        if fits || into.held < self.overflow.limit.most().get() / 2 / self.waiting.len() as u64 {
            return Ok(());
        }
        if self.overflow.bytes() + into.held > self.on_disk {
            drop(into);
            return self.leave_out();
        }
        let mut together = Vec::with_capacity(into.held as usize);
        into.segments.retain(|segment| match segment {
            WaitingBytes::Memory(bytes) => {
                together.extend_from_slice(bytes);
                false
            }
            WaitingBytes::File(_) => true,
        });
        into.segments.push(self.overflow.write(&together).map_err(without_room)?);
        self.overflow.limit.release(std::mem::take(&mut into.held));
        Ok(())
    }

    /// Empties the buckets of the last chunks until the others fit.
    #[cold]
    fn leave_out(&self) -> Result<()> {
        let mut taken = lock(&self.taken);
        // Leaving out heads takes another pass, so rows are in memory beside the tails.
        self.overflow.limit.lower(self.beside_rows);
        while self.overflow.limit.held() > self.overflow.limit.most() {
            if *taken == 1 {
                let (held, most) = (self.overflow.limit.held(), self.overflow.limit.most());
                return Err(Error::memory(format!(
                    "the arcs of a range of heads take {held}, and the host's budget has {most} for them"
                ))
                .advice("raise --host-memory, or name another --work-dir, with more free space"));
            }
            *taken -= 1;
            let buckets = self.of_chunk[*taken].clone();
            self.end.store(self.first_ids[buckets.start], Ordering::Relaxed);
            for bucket in buckets {
                let emptied = ReversedBucket { is_left_out: true, ..ReversedBucket::default() };
                let left_out = std::mem::replace(&mut *lock(&self.waiting[bucket]), emptied);
                left_out.segments.iter().for_each(|segment| self.overflow.free(segment));
                self.overflow.limit.release(left_out.held);
            }
        }
        Ok(())
    }

    pub(super) fn finish(&self) -> Result<()> {
        let mut all = self.staged.take_all().into_iter().flat_map(|staged| staged.buckets.into_iter().enumerate());
        all.try_for_each(|(bucket, mut of)| if of.bytes.is_empty() { Ok(()) } else { self.flush(bucket, &mut of) })
    }

    /// Takes a bucket, and sorts its arcs by head and tail in memory of `budget`. `None` if the tails of a single head do not fit.
    pub(super) fn take(&self, bucket: usize, budget: &SharedBudget) -> Result<Option<SortedTails<'_>>> {
        let of = std::mem::take(&mut *lock(&self.waiting[bucket]));
        let heads = (self.first_ids[bucket + 1] - self.first_ids[bucket]) as usize;
        let in_file: u64 = of.segments.iter().map(WaitingBytes::in_file).sum();
        let besides = 20 * heads as u64 + size_of::<(u32, u32, usize)>() as u64 * of.pieces + in_file;
        let memory = budget.take(Bytes(4 * of.arcs + besides));
        let most = (memory.bytes().get().saturating_sub(besides) / 4) as usize;
        let (mut begins, mut pieces) = (vec![0usize; heads + 1], Vec::with_capacity(of.pieces as usize));
        let mut segments = Vec::with_capacity(of.segments.len());
        for (i, segment) in (0..).zip(of.segments) {
            let segment = self.overflow.take(segment)?;
            let mut rest = &segment[..];
            while !rest.is_empty() {
                let mut first = None;
                let after = arcs_of(rest, heads, &mut |head, tail| {
                    first.get_or_insert(tail);
                    begins[head as usize + 1] += 1;
                })?;
                pieces.push((first.unwrap_or(0), i, segment.len() - rest.len()));
                rest = after;
            }
            segments.push(segment);
        }
        if begins.iter().any(|&tails| tails > most) {
            return Ok(None);
        }
        for head in 1..begins.len() {
            begins[head] += begins[head - 1];
        }
        if begins[heads] as u64 != of.arcs {
            return Err(damaged());
        }
        pieces.sort_unstable();
        let (limit, held) = (&self.overflow.limit, of.held);
        let (tails, heads) = (Vec::new(), 0..0);
        Ok(Some(SortedTails { segments, pieces, begins, most, tails, heads, limit, held, _memory: memory }))
    }
}

/// Calls `each` with the head and the tail of every arc of the first piece, in a bucket of `most` heads; returns the other pieces.
fn arcs_of<'a>(pieces: &'a [u8], most: usize, each: &mut impl FnMut(u32, u32)) -> Result<&'a [u8]> {
    let wrong = |_| damaged();
    let (mut rest, mut tail, mut heads) = (pieces, 0u32, Vec::new());
    loop {
        let mut header = [0; 2];
        let taken = numbers(rest, &mut header).map_err(wrong)?;
        tail = tail.wrapping_add(header[0]);
        rest = &rest[taken..];
        if header[1] == 0 {
            return Ok(rest);
        }
        heads.resize(header[1] as usize, 0);
        rest = decode_row(rest, &mut heads).map_err(wrong)?;
        let mut least = 0;
        for &distance in &heads {
            let head = distance.checked_add(least).filter(|&head| (head as usize) < most).ok_or_else(damaged)?;
            each(head, tail);
            least = head + 1;
        }
    }
}

/// The graph file may have taken disk space since a band was first found to fit.
pub(super) fn without_room(error: Error) -> Error {
    if error.is_for_room() { error.also("--work-dir names a directory on a larger disk") } else { error }
}

fn damaged() -> Error {
    Error::data("", "reversed arcs cannot be read back").advice("check the disk and the memory of this machine")
}
