//! Buffers encoded rows in memory until all rows of their bucket are there. Input: rows of ranks in any order, from many threads. Output: file blocks
//! in rank order. A row is stored in its bucket ([`BlockBuckets`]) after its number there, its length and its number of bytes: long rows as a
//! [sequence](trimill_graph::sequence) of distances, as in the file; short rows, for which the ends of a sequence would take too much, as LEB128. So
//! nothing is sorted, and only the graph file is written.
//!
//! When memory is full, the buckets of the largest ranks are emptied and take no more rows; their rows wait for another pass over the input.
//!
//! Cost of a pass: a copy of the encoded rows to their bucket, and making file blocks of them. Memory: the share of buckets; a staging area
//! of 2 KiB for each thread and bucket; while blocks are made, a bucket's bytes once more, and 16 bytes for each of its rows.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::blocks::{BUCKET, BlockBuckets};
use super::joined::{BlocksInOrder, BucketBlocks};
use super::place::Write;
use crate::clean::Shares;
use crate::clean::workspace::too_large;
use trimill_graph::leb128::{numbers, put, put_row};
use trimill_graph::sequence::{self, NumberSequence, Wrong};
use trimill_system::control::Task;
use trimill_system::mapped::zeros;
use trimill_system::memory::SharedBudget;
use trimill_system::parallel::IdleValues;
use trimill_system::{Bytes, Result, lock};

/// The fewest successors of a row that is stored as a sequence.
const LONG: usize = 128;

const STAGED: usize = 2048;

/// The allocation size of buckets in bytes: the least, if memory is scarce, and the most.
const CHUNK: Range<u64> = STAGED as u64..64 << 10;

pub(super) struct WaitingRows {
    pub(super) blocks: BlockBuckets,
    buckets: Vec<Mutex<RowBucket>>,
    staged: IdleValues<StagedRows>,
    chunk: usize,
    most: u64,
    held: AtomicU64,
    /// The buckets that take rows in this pass.
    taking: Mutex<Range<usize>>,
    first_rank: u32,
    end_rank: AtomicU32,
    budget: SharedBudget,
}

#[derive(Default)]
struct RowBucket {
    chunks: Vec<Vec<u8>>,
    /// Whether its rows are left to another pass.
    is_left_out: bool,
}

impl RowBucket {
    fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.capacity() as u64).sum()
    }
}

pub(super) struct StagedRows {
    bytes: Vec<u8>,
    ends: Vec<u16>,
    /// How many arcs of each bucket's rows were added.
    arcs: Vec<u64>,
    record: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct EncodedRowPlace {
    chunk: u32,
    begin: u32,
    bytes: u32,
}

impl WaitingRows {
    /// `degrees` are indexed by id, 0 if the id is no vertex; at most `most` bytes of rows wait.
    pub(super) fn new(degrees: &[u32], edges: u64, shares: &Shares<'_>, most: Bytes) -> Self {
        let blocks = BlockBuckets::new(degrees, edges, shares, BUCKET);
        let buckets = blocks.len();
        let chunk = (most.get() / 4 / buckets.max(1) as u64).clamp(CHUNK.start, CHUNK.end) as usize;
        let vertices = if buckets > 0 { blocks.ranks(buckets - 1).end } else { 0 };
        Self {
            blocks,
            buckets: (0..buckets).map(|_| Mutex::default()).collect(),
            staged: IdleValues::default(),
            chunk,
            most: most.get(),
            held: AtomicU64::new(0),
            taking: Mutex::new(0..buckets),
            first_rank: 0,
            end_rank: AtomicU32::new(vertices),
            budget: shares.sorting_budget(),
        }
    }

    #[inline]
    pub(super) fn wants(&self, rank: u32) -> bool {
        rank >= self.first_rank && rank < self.end_rank.load(Ordering::Relaxed)
    }

    pub(super) fn has_left_out(&self) -> bool {
        lock(&self.taking).end < self.buckets.len()
    }

    /// Runs `work`, which adds rows, with a staging area.
    pub(super) fn with_stage<R>(&self, work: impl FnOnce(&mut StagedRows) -> R) -> R {
        let many = self.buckets.len();
        let new = || StagedRows {
            bytes: vec![0; many * STAGED],
            ends: vec![0; many],
            arcs: vec![0; many],
            record: Vec::new(),
        };
        self.staged.with(new, work)
    }

    /// Adds a row of `length` successors, as [`encode_row`] encodes them. Rows that are not wanted are dropped.
    #[inline]
    pub(super) fn add(
        &self,
        rank: u32,
        length: u32,
        encoded: &[u8],
        StagedRows { bytes, ends, arcs, record }: &mut StagedRows,
    ) -> Result<()> {
        let bucket = self.blocks.bucket_of(rank);
        arcs[bucket] += u64::from(length);
        record.clear();
        put(rank - self.blocks.ranks(bucket).start, record);
        put(length, record);
        put(encoded.len() as u32, record);
        let (staged, all) = (&mut bytes[bucket * STAGED..][..STAGED], record.len() + encoded.len());
        let end = &mut ends[bucket];
        if *end as usize + all > STAGED {
            self.append(bucket, &[&staged[..*end as usize]])?;
            *end = 0;
        }
        if all > STAGED {
            return self.append(bucket, &[record, encoded]);
        }
        let (header, row) = staged[*end as usize..][..all].split_at_mut(record.len());
        header.copy_from_slice(record);
        row.copy_from_slice(encoded);
        *end += all as u16;
        Ok(())
    }

    fn append(&self, bucket: usize, parts: &[&[u8]]) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let mut of = lock(&self.buckets[bucket]);
        if of.is_left_out || bytes == 0 {
            return Ok(());
        }
        let room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len();
        let mut more = 0;
        if of.chunks.last().is_none_or(|last| room(last) < bytes) {
            let chunk = Vec::with_capacity(self.chunk.max(bytes));
            more = chunk.capacity() as u64;
            of.chunks.push(chunk);
        }
        if let Some(chunk) = of.chunks.last_mut() {
            parts.iter().for_each(|part| chunk.extend_from_slice(part));
        }
        // The chunk with the most room stays last, to be filled next; a long row has its own.
        if let [.., before, last] = &mut of.chunks[..]
            && room(before) > room(last)
        {
            std::mem::swap(before, last);
        }
        drop(of);
        match self.held.fetch_add(more, Ordering::Relaxed) + more > self.most {
            true => self.leave_out(),
            false => Ok(()),
        }
    }

    #[cold]
    fn leave_out(&self) -> Result<()> {
        let mut taking = lock(&self.taking);
        while self.held.load(Ordering::Relaxed) > self.most {
            if taking.len() == 1 {
                let held = Bytes(self.held.load(Ordering::Relaxed));
                return Err(too_large(held, Bytes(self.most), "raise --host-memory".into()));
            }
            taking.end -= 1;
            self.end_rank.store(self.blocks.ranks(taking.end).start, Ordering::Relaxed);
            let emptied = RowBucket { chunks: Vec::new(), is_left_out: true };
            let left_out = std::mem::replace(&mut *lock(&self.buckets[taking.end]), emptied);
            self.held.fetch_sub(left_out.bytes(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends a pass over the input: adds staged rows, which may require leaving out the largest ranks, and frees the staging areas. Returns how many
    /// arcs the rows that wait then have.
    pub(super) fn flush(&self) -> Result<u64> {
        let mut arcs = vec![0u64; self.buckets.len()];
        for stage in self.staged.take_all() {
            for (bucket, (&end, added)) in stage.ends.iter().zip(&stage.arcs).enumerate() {
                self.append(bucket, &[&stage.bytes[bucket * STAGED..][..end as usize]])?;
                arcs[bucket] += added;
            }
        }
        Ok(arcs[lock(&self.taking).clone()].iter().sum())
    }

    /// Makes the file blocks of the rows that this pass has taken; `write` is called as by [`BlocksInOrder::add_all`].
    pub(super) fn rows(&self, in_order: &BlocksInOrder, write: &Write<'_>, task: &Task) -> Result<()> {
        let make = |bucket: usize| {
            task.check()?;
            let rows = self.blocks.ranks(bucket).len() as u64;
            let of = std::mem::take(&mut *lock(&self.buckets[bucket]));
            let taken = self.budget.take(Bytes(of.bytes() + (size_of::<EncodedRowPlace>() as u64 + 4) * rows));
            let made = self.made(bucket, &of.chunks)?;
            self.held.fetch_sub(of.bytes(), Ordering::Relaxed);
            // Half, since reading handles each arc from both ends and takes four times as long.
            task.advance(made.arcs / 2);
            drop((of, taken));
            Ok(made)
        };
        let buckets = lock(&self.taking).clone();
        in_order.add_all(buckets, make, write)
    }

    /// Begins the pass over the rows that were left out so far.
    pub(super) fn begin_next_pass(&mut self) {
        let next = lock(&self.taking).end..self.buckets.len();
        let ranks = self.blocks.ranks(next.start).start..self.blocks.ranks(next.end - 1).end;
        self.buckets[next.clone()].iter_mut().for_each(|bucket| *bucket = Mutex::default());
        (self.first_rank, self.end_rank) = (ranks.start, AtomicU32::new(ranks.end));
        self.taking = Mutex::new(next);
    }

    fn made(&self, bucket: usize, chunks: &[Vec<u8>]) -> Result<BucketBlocks> {
        let ranks = self.blocks.ranks(bucket);
        let (mut lengths, mut places) = (zeros(ranks.len()), vec![EncodedRowPlace::default(); ranks.len()]);
        for (chunk, records) in (0..).zip(chunks) {
            let mut at = 0;
            while at < records.len() {
                let mut header = [0; 3];
                at += numbers(&records[at..], &mut header).unwrap_or(records.len());
                let [row, length, bytes] = header;
                lengths[row as usize] = length;
                places[row as usize] = EncodedRowPlace { chunk, begin: at as u32, bytes };
                at += bytes as usize;
            }
        }
        self.blocks.made(bucket, &lengths, |rows, distances| {
            for (&EncodedRowPlace { chunk, begin, bytes }, &length) in places[rows.clone()].iter().zip(&lengths[rows]) {
                if bytes > 0 {
                    let at = distances.len();
                    distances.resize(at + length as usize, 0);
                    let _ =
                        decode_row(&chunks[chunk as usize][begin as usize..][..bytes as usize], &mut distances[at..]);
                }
            }
        })
    }
}

/// Encodes the ascending successors of a row in place of them.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub(super) fn encode_row(successors: &mut [u32], encoded: &mut Vec<u8>) {
    encoded.clear();
    if successors.len() < LONG {
        return put_row(successors, encoded);
    }
    for i in (1..successors.len()).rev() {
        successors[i] -= successors[i - 1] + 1;
    }
    sequence::encode(successors, encoded);
}

/// Decodes distances of a row to fill `distances`; returns the remaining bytes.
pub(super) fn decode_row<'a>(encoded: &'a [u8], distances: &mut [u32]) -> Result<&'a [u8], Wrong> {
    if distances.len() < LONG {
        return numbers(encoded, distances).map(|taken| &encoded[taken..]);
    }
    let (sequence, rest) = NumberSequence::split(encoded, distances.len() as u64)?;
    sequence.decode(distances)?;
    Ok(rest)
}
