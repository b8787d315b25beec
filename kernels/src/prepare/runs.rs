//! Sorted runs of keys in the host's memory, which are merged on a device: a range of keys at a time, by sorting it again.

use bytemuck::{cast_slice, cast_slice_mut};

use super::work::{Work, largest};
use crate::engine::{Engine, HostWords, Queue};
use crate::error::{Error, Result};

/// Words that are copied from the device at a time.
const BATCH: usize = 8 << 20;

/// Threads that copy them to where they stay, while the device waits.
const THREADS: usize = 8;

/// Runs, and a buffer for fetching them.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<Vec<u64>>,
    buffer: Option<HostWords>,
}

impl Runs {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Keys of all runs.
    pub(super) fn keys(&self) -> u64 {
        self.runs.iter().map(|run| run.len() as u64).sum()
    }

    /// Fetches a run of `count` keys, sorted, from the device.
    pub(super) fn fetch<E: Engine + ?Sized>(&mut self, work: &mut Work<'_, E>, at: u64, count: u64) -> Result<()> {
        let mut buffer = match self.buffer.take() {
            Some(buffer) => buffer,
            None => work.engine.host_words(BATCH.min(count as usize))?,
        };
        let mut run = vec![0u64; count as usize];
        let most = buffer.len();
        for (i, part) in run.chunks_mut(most).enumerate() {
            let fetched = &mut buffer[..part.len()];
            work.engine.read(Queue::Compute, at + (8 * i * most) as u64, cast_slice_mut(fetched))?;
            let share = part.len().div_ceil(THREADS);
            std::thread::scope(|scope| {
                for (to, from) in part.chunks_mut(share).zip(fetched.chunks(share)) {
                    scope.spawn(|| to.copy_from_slice(from));
                }
            });
        }
        self.runs.push(run);
        self.buffer = Some(buffer);
        Ok(())
    }

    /// Where all runs begin.
    pub(super) fn begin(&self) -> Vec<usize> {
        vec![0; self.runs.len()]
    }

    /// The places in all runs behind the keys below `end`.
    pub(super) fn below(&self, end: u64) -> Vec<usize> {
        self.runs.iter().map(|run| run.partition_point(|&key| key < end)).collect()
    }

    /// The number of keys between places.
    pub(super) fn between(from: &[usize], to: &[usize]) -> u64 {
        from.iter().zip(to).map(|(from, to)| (to - from) as u64).sum()
    }

    /// The end of the longest range of keys from `from` on that has at most `most` keys and does not divide an edge; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Budget`]: an edge has more keys than that.
    pub(super) fn next(&self, from: &[usize], most: u64) -> Result<Option<Vec<usize>>> {
        let ends: Vec<usize> = self.runs.iter().map(Vec::len).collect();
        let left = Self::between(from, &ends);
        if left == 0 {
            return Ok(None);
        }
        if left <= most {
            return Ok(Some(ends));
        }
        // All keys of an edge differ in the last bit only.
        let to = self.below(largest(0..1 << 63, |edge| Self::between(from, &self.below(edge << 1)) <= most) << 1);
        match Self::between(from, &to) {
            0 => Err(Error::Budget { asked: 16 * (most + 1), used: 0, capacity: 16 * most }),
            _ => Ok(Some(to)),
        }
    }

    /// Takes memory for sorting a range, and enqueues copies of its keys. Returns both halves of the memory, and the number of keys.
    pub(super) fn load<E: Engine + ?Sized>(
        &self,
        work: &mut Work<'_, E>,
        from: &[usize],
        to: &[usize],
    ) -> Result<((u64, u64), u64)> {
        let count = Self::between(from, to);
        let keys = (work.take(8 * count)?, work.take(8 * count)?);
        work.take_sort(count, count)?;
        work.after_kernels()?;
        let mut at = keys.0;
        for (run, (&from, &to)) in self.runs.iter().zip(from.iter().zip(to)) {
            // SAFETY: a run is not page-locked, so it is read before this returns.
            unsafe { work.engine.copy(at, &[cast_slice(&run[from..to])]) }?;
            at += 8 * (to - from) as u64;
        }
        work.after_copies()?;
        Ok((keys, count))
    }
}
