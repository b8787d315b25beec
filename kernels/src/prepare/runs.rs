//! Sorted runs of keys: the device encodes them, the caller stores them, and the device merges them, sorting one range of keys at a time.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::thread::Builder;

use bytemuck::{cast_slice, cast_slice_mut};

use super::constants::{RUN_BLOCK, RUN_KEYS, RUN_SPACE, RUN_THREADS};
use super::stored::{KeyRun, RunStore, RunThreads, joined};
use super::work::{COPIED, PrepareSpace, SortBuffers};
use crate::arena::largest;
use crate::engine::{Event, HostWords, Stream};
use crate::error::{GpuError, GpuResult};

/// The most words of the host's buffer, through whose two halves the bytes of runs move.
const BUFFER: usize = 8 << 20;

/// Bytes that hold any encoded block of [`RUN_BLOCK`] keys, with the places of its parts and its end.
const LEAST: u64 = (RUN_BLOCK / RUN_KEYS * (RUN_SPACE + 8)) as u64 + 512;

/// Words beside the bytes of encoded blocks and a place for each: the end of the last block, and what is read beyond the end.
const BESIDE: usize = 3;

/// For each half of the buffer, the events after its copy and after its decoding kernel: those of input buffers, which are no longer needed.
const OF_HALVES: [(Event, Event); 2] = [(0, 2), (1, 3)];
const _: () = assert!(OF_HALVES[1].1 < COPIED);

pub(super) struct Runs {
    runs: Vec<KeyRun>,
    store: Option<Arc<dyn RunStore>>,
    buffer: Option<HostWords>,
    threads: Option<RunThreads>,
}

impl Runs {
    /// Without a store there can be no runs.
    pub(super) fn new(store: Option<Arc<dyn RunStore>>) -> Self {
        Self { runs: Vec::new(), store, buffer: None, threads: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn store(&self) -> Option<&Arc<dyn RunStore>> {
        self.store.as_ref()
    }

    pub(super) fn keys(&self) -> u64 {
        self.runs.iter().map(KeyRun::len).sum()
    }

    /// The buffer and the threads that move runs, reused if there are any. A new buffer has two words per key, at most [`BUFFER`], at least 2 blocks.
    fn movers(&mut self, work: &mut PrepareSpace<'_>, keys: u64) -> GpuResult<(HostWords, RunThreads)> {
        let least = 2 * (LEAST / 8) as usize;
        let buffer = match self.buffer.take() {
            Some(buffer) => buffer,
            None => work.engine.host_words(BUFFER.min(2 * keys as usize).max(least))?,
        };
        Ok((buffer, self.threads.take().map_or_else(RunThreads::new, Ok)?))
    }

    /// Encodes `count` sorted keys on the device, in their free memory, and fetches them as a run.
    pub(super) fn fetch(&mut self, work: &mut PrepareSpace<'_>, sorted: SortBuffers, count: u64) -> GpuResult<()> {
        if count == 0 {
            return Ok(());
        }
        let store = self.store.as_ref().ok_or(GpuError::Budget { asked: 16 * count, used: 0, capacity: 0 })?;
        let mut run = KeyRun::begin(&**store)?;
        let space = work.at_least(LEAST, sorted.free..sorted.free + 8 * count)?;
        let (mut buffer, threads) = self.movers(work, count)?;
        let half = buffer.len() / 2;
        let (mut next, mut other) = buffer.split_at_mut(half);
        let most = (8 * half as u64).min(space.end - space.start) / LEAST * u64::from(RUN_BLOCK);
        // `fetched` keys are in the host's buffer, where their encoded parts begin at `begins`.
        let (mut done, mut fetched, mut begins) = (0, 0, Vec::new());
        // Threads store one half of the buffer while the device encodes into the other.
        while done < count || fetched > 0 {
            let now = most.min(count - done);
            let (run, threads, bytes) = (&mut run, &threads, &*other);
            let keys = sorted.keys + 8 * done..sorted.keys + 8 * (done + now);
            begins = std::thread::scope(|scope| {
                let store = || run.append(threads, fetched, &begins, cast_slice(bytes));
                let storing = (fetched > 0).then(|| Builder::new().spawn_scoped(scope, store));
                let coming = encoded(work, keys, space.start, cast_slice_mut(next));
                storing.map_or(Ok(Ok(())), joined)?.and(coming)
            })?;
            (done, fetched) = (done + now, now);
            std::mem::swap(&mut next, &mut other);
        }
        self.runs.push(run);
        (self.buffer, self.threads) = (Some(buffer), Some(threads));
        Ok(())
    }

    pub(super) fn begin(&self) -> Vec<u64> {
        vec![0; self.runs.len()]
    }

    /// For each run, how many of its keys are below `end`.
    pub(super) fn below(&self, end: u64) -> GpuResult<Vec<u64>> {
        self.runs.iter().map(|run| run.below(end)).collect()
    }

    /// The number of keys between two places, over all runs; 0 for a run whose second place is before the first.
    pub(super) fn between(from: &[u64], to: &[u64]) -> u64 {
        from.iter().zip(to).map(|(from, to)| to.saturating_sub(*from)).sum()
    }

    /// The largest number of `range`, or one some blocks below it, for which at most `most` keys are between `from` and the key
    /// `end(number)`. This must hold for the first number of `range`.
    pub(super) fn largest_fitting(
        &self,
        range: Range<u64>,
        from: &[u64],
        most: u64,
        end: impl Fn(u64) -> u64,
    ) -> GpuResult<u64> {
        // Upper bounds need no block to be read, and are enough unless there are few blocks.
        let at_most = |number| self.runs.iter().map(|run| run.below_at_most(end(number))).collect::<Vec<_>>();
        let found = largest(range.clone(), |number| Self::between(from, &at_most(number)) <= most);
        if Self::between(from, &self.below(end(found))?) > 0 {
            return Ok(found);
        }
        let error = RefCell::new(Ok(()));
        let fits = |number| match self.below(end(number)) {
            Ok(places) => Self::between(from, &places) <= most,
            Err(e) => {
                *error.borrow_mut() = Err(e);
                false
            }
        };
        let found = largest(range, fits);
        error.into_inner().map(|()| found)
    }

    /// The end of the longest range of keys from `from` on that has at most `most` keys and does not divide an edge; `None` at the end.
    /// Errors: [`GpuError::Budget`]: an edge has more keys than that; a run cannot be read.
    pub(super) fn next(&self, from: &[u64], most: u64) -> GpuResult<Option<Vec<u64>>> {
        let ends: Vec<u64> = self.runs.iter().map(KeyRun::len).collect();
        let left = Self::between(from, &ends);
        if left == 0 {
            return Ok(None);
        }
        if left <= most {
            return Ok(Some(ends));
        }
        // The keys of an edge differ only in the last bit.
        let to = self.below(self.largest_fitting(0..1 << 63, from, most, |edge| edge << 1)? << 1)?;
        match Self::between(from, &to) {
            0 => Err(GpuError::Budget { asked: 16 * (most + 1), used: 0, capacity: 16 * most }),
            _ => Ok(Some(to)),
        }
    }

    /// Takes memory for sorting a range, and decodes its keys there; returns that memory and the number of keys.
    pub(super) fn load(
        &mut self,
        work: &mut PrepareSpace<'_>,
        from: &[u64],
        to: &[u64],
    ) -> GpuResult<(SortBuffers, u64)> {
        let count = Self::between(from, to);
        let buffers = work.take_keys(count)?;
        work.take_sort(count, count)?;
        let decoded = work.take(8)?;
        work.fill(decoded, 0, 8)?;
        let space = work.at_least(2 * LEAST, buffers.free..buffers.free + 8 * count)?;
        let (mut buffer, threads) = self.movers(work, self.runs.iter().map(KeyRun::len).max().unwrap_or(0))?;
        work.after_kernels()?;
        // Waits for copies from the buffer.
        work.engine.sent()?;
        let mut decoding = Decoding::new(&mut buffer, space, buffers.keys, decoded);
        let mut parts = self.runs.iter().zip(from.iter().zip(to));
        let sent = parts.try_for_each(|(run, (&from, &to))| decoding.part(work, &threads, run, from..to));
        if sent.is_err() {
            // The buffer is freed next, and may still be the source of a copy.
            work.engine.settle();
        }
        sent?;
        (self.buffer, self.threads) = (Some(buffer), Some(threads));
        match work.number(decoded)? == count {
            true => Ok((buffers, count)),
            false => Err(GpuError::Store { reason: "arcs that wait to be merged are read back damaged".into() }),
        }
    }
}

struct Decoding<'b> {
    /// The half to fill next, and the one that may still be the source of a copy.
    halves: [DecodingHalf<'b>; 2],
    place: u64,
    /// Device address of the number of keys decoded.
    decoded: u64,
}

/// A half of the host's buffer, the device memory to which it is copied, and the events after its copy and its kernel.
struct DecodingHalf<'b> {
    words: &'b mut [u64],
    at: u64,
    copied: Event,
    decoded: Event,
}

impl<'b> Decoding<'b> {
    fn new(buffer: &'b mut [u64], space: Range<u64>, place: u64, decoded: u64) -> Self {
        let words = (buffer.len() / 2).min(((space.end - space.start) / 512) as usize * 32);
        let (next, other) = buffer.split_at_mut(words);
        let half = |words, at, (copied, decoded)| DecodingHalf { words, at, copied, decoded };
        let second = space.start + 8 * words as u64;
        let halves = [half(next, space.start, OF_HALVES[0]), half(&mut other[..words], second, OF_HALVES[1])];
        Self { halves, place, decoded }
    }

    /// Reads some keys of a run, and enqueues their copies and the kernels that decode them.
    fn part(
        &mut self,
        work: &mut PrepareSpace<'_>,
        threads: &RunThreads,
        run: &KeyRun,
        wanted: Range<u64>,
    ) -> GpuResult<()> {
        let mut left = if wanted.is_empty() { 0..0 } else { KeyRun::blocks(&wanted) };
        while !left.is_empty() {
            let DecodingHalf { words, at, copied, decoded } = &mut self.halves[0];
            let blocks = run.fitting(&left, 8 * (words.len() - BESIDE) as u64);
            left.start = blocks.end;
            work.engine.reach(*copied)?;
            let many = read_blocks(run, threads, &blocks, words)?;
            work.engine.wait(Stream::Copy, *decoded)?;
            // SAFETY: this half of the buffer is not written before its event is reached, nor freed before all streams are empty.
            unsafe { work.engine.copy(*at, &[cast_slice(&words[..many])]) }?;
            work.engine.record(Stream::Copy, *copied)?;
            work.engine.wait(Stream::Compute, *copied)?;
            let keys = run.keys_of(&blocks);
            let (skipped, end) = (wanted.start.saturating_sub(keys.start), wanted.end.min(keys.end) - keys.start);
            let (count, many) = (keys.end - keys.start, end - skipped);
            let values = [*at, blocks.len() as u64, count, skipped, many, self.place, self.decoded];
            work.launch("decode_run", blocks.len() as u64, RUN_THREADS, &values)?;
            work.engine.record(Stream::Compute, *decoded)?;
            self.place += 8 * many;
            self.halves.swap(0, 1);
        }
        Ok(())
    }
}

/// Encodes keys into device memory at `out`, and reads the bytes. Returns where each part of [`RUN_KEYS`] keys begins, and the end.
fn encoded(work: &mut PrepareSpace<'_>, keys: Range<u64>, out: u64, bytes: &mut [u8]) -> GpuResult<Vec<u64>> {
    let count = (keys.end - keys.start) / 8;
    if count == 0 {
        return Ok(Vec::new());
    }
    let blocks = count.div_ceil(RUN_KEYS.into());
    let grid = count.div_ceil(RUN_BLOCK.into());
    let to = out + crate::padded(8 * (blocks + 1));
    work.launch("measure_run", grid, RUN_THREADS, &[keys.start, count, out])?;
    work.scan(out, blocks)?;
    work.launch("encode_run", grid, RUN_THREADS, &[keys.start, count, out, to])?;
    let mut begins = vec![0; blocks as usize + 1];
    work.engine.read(Stream::Compute, out, cast_slice_mut(&mut begins))?;
    work.engine.read(Stream::Compute, to, &mut bytes[..begins[blocks as usize] as usize])?;
    Ok(begins)
}

/// Fills `words` with the places of some blocks, then their bytes. Returns how many words these, and reads beyond the end, take.
fn read_blocks(run: &KeyRun, threads: &RunThreads, blocks: &Range<usize>, words: &mut [u64]) -> GpuResult<usize> {
    let (table, rest) = words.split_at_mut(blocks.len() + 1);
    for (begin, at) in table.iter_mut().zip(run.begins(blocks)) {
        *begin = at;
    }
    let bytes = table[blocks.len()] as usize;
    let many = bytes / 8 + 2;
    rest[many - 2..many].fill(0);
    run.read(threads, blocks, &mut cast_slice_mut(rest)[..bytes])?;
    Ok(table.len() + many)
}
