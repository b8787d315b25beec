//! Sorted runs of keys on the host, which are merged on a device: a range of keys at a time, by sorting it again.

use std::cell::RefCell;
use std::thread::Builder;

use bytemuck::{cast_slice, cast_slice_mut};

use super::stored::{HostKeys, KeyRun, RUN_BLOCK, RunThreads, joined};
use super::work::{COPIED, PrepareSpace, SortBuffers, largest};
use crate::engine::{Engine, Event, HostWords, Stream};
use crate::error::{GpuError, GpuResult};

/// Words that are copied from the device at a time.
const BATCH: usize = 8 << 20;

const _: () = assert!(BATCH.is_multiple_of(RUN_BLOCK));

/// The events behind the copies of the two halves of a buffer. Those of buffers with arcs of the input are no longer needed.
const OF_HALVES: (Event, Event) = (0, 1);
const _: () = assert!(OF_HALVES.1 < COPIED);

/// Each with whole blocks, if there are several of these.
fn halves(buffer: &mut HostWords) -> (&mut [u64], &mut [u64]) {
    let half = (buffer.len() / 2).next_multiple_of(RUN_BLOCK).min(buffer.len());
    buffer.split_at_mut(half)
}

/// Runs, and a buffer and threads for moving them.
pub(super) struct Runs {
    runs: Vec<KeyRun>,
    buffer: Option<HostWords>,
    host: HostKeys,
    threads: Option<RunThreads>,
}

impl Runs {
    pub(super) fn new(host: HostKeys) -> Self {
        Self { runs: Vec::new(), buffer: None, host, threads: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Keys of all runs.
    pub(super) fn keys(&self) -> u64 {
        self.runs.iter().map(KeyRun::len).sum()
    }

    pub(super) fn keys_in_memory(&self) -> u64 {
        self.runs.iter().map(|run| if matches!(run, KeyRun::Memory(_)) { run.len() } else { 0 }).sum()
    }

    fn buffer<E: Engine + ?Sized>(&mut self, work: &mut PrepareSpace<'_, E>, keys: u64) -> GpuResult<HostWords> {
        match self.buffer.take() {
            Some(buffer) => Ok(buffer),
            None => work.engine.host_words(BATCH.min((keys as usize).next_multiple_of(RUN_BLOCK))),
        }
    }

    fn threads(&mut self) -> GpuResult<RunThreads> {
        self.threads.take().map_or_else(RunThreads::new, Ok)
    }

    /// Fetches a run of `count` keys, sorted, from the device.
    pub(super) fn fetch<E: Engine + ?Sized>(
        &mut self,
        work: &mut PrepareSpace<'_, E>,
        at: u64,
        count: u64,
    ) -> GpuResult<()> {
        if count == 0 {
            return Ok(());
        }
        let mut run = match &self.host.store {
            Some(store) if self.keys_in_memory() + count > self.host.in_memory => KeyRun::in_store(&**store, count)?,
            _ => KeyRun::in_memory(count),
        };
        let mut buffer = self.buffer(work, count)?;
        let threads = self.threads()?;
        let (mut next, mut fetched) = halves(&mut buffer);
        let (mut done, mut many) = (0, 0);
        // Threads take the keys in one half of the buffer while the device fills the other.
        while done < count {
            let now = (next.len() as u64).min(count - done - many as u64) as usize;
            let run = &mut run;
            std::thread::scope(|scope| {
                let keys = &fetched[..many];
                let writing =
                    (many > 0).then(|| Builder::new().spawn_scoped(scope, || run.write(&threads, done, keys)));
                let read = match now {
                    0 => Ok(()),
                    _ => {
                        let from = at + 8 * (done + many as u64);
                        work.engine.read(Stream::Compute, from, cast_slice_mut(&mut next[..now]))
                    }
                };
                writing.map_or(Ok(Ok(())), joined)?.and(read)
            })?;
            done += many as u64;
            many = now;
            std::mem::swap(&mut next, &mut fetched);
        }
        self.runs.push(run);
        (self.buffer, self.threads) = (Some(buffer), Some(threads));
        Ok(())
    }

    /// Where all runs begin.
    pub(super) fn begin(&self) -> Vec<u64> {
        vec![0; self.runs.len()]
    }

    /// The places in all runs behind the keys below `end`.
    pub(super) fn below(&self, end: u64) -> GpuResult<Vec<u64>> {
        self.runs.iter().map(|run| run.below(end)).collect()
    }

    /// The number of keys between places; none if the second ones are before the first ones.
    pub(super) fn between(from: &[u64], to: &[u64]) -> u64 {
        from.iter().zip(to).map(|(from, to)| to.saturating_sub(*from)).sum()
    }

    /// A number of `range`, the largest one or one for which there are some blocks fewer, such that there are at most `most` keys from `from`
    /// to those below `end` of it. The first one must be such a number.
    pub(super) fn largest_fitting(
        &self,
        range: std::ops::Range<u64>,
        from: &[u64],
        most: u64,
        end: impl Fn(u64) -> u64,
    ) -> GpuResult<u64> {
        // What is known without reading any block suffices, unless there are few blocks.
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
    ///
    /// # Errors
    /// [`Error::Budget`]: an edge has more keys than that. When a run cannot be read.
    pub(super) fn next(&self, from: &[u64], most: u64) -> GpuResult<Option<Vec<u64>>> {
        let ends: Vec<u64> = self.runs.iter().map(KeyRun::len).collect();
        let left = Self::between(from, &ends);
        if left == 0 {
            return Ok(None);
        }
        if left <= most {
            return Ok(Some(ends));
        }
        // All keys of an edge differ in the last bit only.
        let to = self.below(self.largest_fitting(0..1 << 63, from, most, |edge| edge << 1)? << 1)?;
        match Self::between(from, &to) {
            0 => Err(GpuError::Budget { asked: 16 * (most + 1), used: 0, capacity: 16 * most }),
            _ => Ok(Some(to)),
        }
    }

    /// Takes memory for sorting a range, and enqueues copies of its keys. Returns that memory and the number of keys.
    pub(super) fn load<E: Engine + ?Sized>(
        &mut self,
        work: &mut PrepareSpace<'_, E>,
        from: &[u64],
        to: &[u64],
    ) -> GpuResult<(SortBuffers, u64)> {
        let count = Self::between(from, to);
        let buffers = work.take_keys(count)?;
        work.take_sort(count, count)?;
        work.after_kernels()?;
        let mut buffer = self.buffer(work, self.runs.iter().map(KeyRun::len).max().unwrap_or(0))?;
        let (mut next, mut copied) = (halves(&mut buffer), OF_HALVES);
        let threads = self.threads()?;
        // Copies of what was here before.
        work.engine.sent()?;
        let mut place = buffers.keys;
        for (run, (&from, &to)) in self.runs.iter().zip(from.iter().zip(to)) {
            let mut at = from;
            while at < to {
                // Threads read keys to one half of the buffer while those in the other are copied.
                work.engine.reach(copied.0)?;
                let part = run.read(&threads, at, to - at, next.0)?;
                // SAFETY: a run in memory is not page-locked, so it is read before this returns; this half of the buffer is not written
                // before its event is reached.
                unsafe { work.engine.copy(place, &[cast_slice(part)]) }?;
                work.engine.record(Stream::Copy, copied.0)?;
                place += 8 * part.len() as u64;
                at += part.len() as u64;
                (next, copied) = ((next.1, next.0), (copied.1, copied.0));
            }
        }
        (self.buffer, self.threads) = (Some(buffer), Some(threads));
        work.after_copies()?;
        Ok((buffers, count))
    }
}
