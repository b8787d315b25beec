//! Sorted runs of keys, encoded; the caller stores their bytes.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::thread::{Builder, ScopedJoinHandle};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::constants::{RUN_BLOCK, RUN_KEYS};
use crate::error::{GpuError, GpuResult};

const BLOCK: u64 = RUN_BLOCK as u64;

const PARTS: usize = (RUN_BLOCK / RUN_KEYS) as usize;

const THREADS: usize = 16;

/// The fewest bytes that are worth a thread.
const LEAST_SHARE: usize = 64 << 10;

pub trait RunStore: Send + Sync {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>>;
}

/// The bytes of a run; removed on drop. Called from many threads.
pub trait StoredRun: Send + Sync {
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Reads bytes that were written, from place `at` on.
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Decodes exactly `keys.len()` keys.
    fn decode(&self, encoded: &[u8], keys: &mut [u64]) -> io::Result<()>;
}

pub(super) struct KeyRun {
    run: Box<dyn StoredRun>,
    keys: u64,
    first: Vec<u64>,
    begins: Vec<u64>,
    last: RefCell<(usize, Vec<u64>)>,
}

fn failed(error: io::Error) -> GpuError {
    GpuError::Store { reason: error.to_string() }
}

impl KeyRun {
    pub(super) fn begin(store: &dyn RunStore) -> GpuResult<Self> {
        let run = store.begin().map_err(failed)?;
        let last = RefCell::new((usize::MAX, Vec::new()));
        Ok(Self { run, keys: 0, first: Vec::new(), begins: vec![0], last })
    }

    pub(super) fn len(&self) -> u64 {
        self.keys
    }

    /// Appends `keys` keys, encoded in `bytes`: whole blocks, except at the run's end. `parts`: where each part of a block begins, and the end.
    pub(super) fn append(&mut self, threads: &RunThreads, keys: u64, parts: &[u64], bytes: &[u8]) -> GpuResult<()> {
        let (end, bytes) = (self.bytes(), &bytes[..parts.last().map_or(0, |&end| end as usize)]);
        let blocks = parts[..parts.len() - 1].iter().step_by(PARTS);
        let first_key = |&at: &u64| bytes[at as usize..].first_chunk().map_or(0, |key| u64::from_le_bytes(*key));
        self.first.extend(blocks.clone().map(first_key));
        self.begins.pop();
        self.begins.extend(blocks.map(|at| end + at).chain([end + bytes.len() as u64]));
        self.keys += keys;
        let (run, share) = (&*self.run, share_of(bytes.len()));
        threads.each((end..).step_by(share).zip(bytes.chunks(share)).map(|(at, part)| move || run.write(at, part)))
    }

    fn bytes(&self) -> u64 {
        self.begins.last().copied().unwrap_or(0)
    }

    pub(super) fn blocks(keys: &Range<u64>) -> Range<usize> {
        (keys.start / BLOCK) as usize..keys.end.div_ceil(BLOCK) as usize
    }

    pub(super) fn keys_of(&self, blocks: &Range<usize>) -> Range<u64> {
        blocks.start as u64 * BLOCK..(blocks.end as u64 * BLOCK).min(self.keys)
    }

    /// The longest part of `blocks`, from the first one on, that takes at most `bytes` bytes, with 8 more per block, for its place.
    pub(super) fn fitting(&self, blocks: &Range<usize>, bytes: u64) -> Range<usize> {
        let begins = &self.begins[blocks.start..=blocks.end];
        let fits = |(i, at): (u64, &u64)| at - begins[0] + 8 * i <= bytes;
        let many = (0..).zip(begins).take_while(|&of| fits(of)).count() - 1;
        blocks.start..blocks.start + many
    }

    /// Where some blocks begin, counted from the first of them, and their end.
    pub(super) fn begins(&self, blocks: &Range<usize>) -> impl Iterator<Item = u64> {
        let begins = &self.begins[blocks.start..=blocks.end];
        begins.iter().map(|at| at - begins[0])
    }

    pub(super) fn read(&self, threads: &RunThreads, blocks: &Range<usize>, bytes: &mut [u8]) -> GpuResult<()> {
        let (run, begin, share) = (&*self.run, self.begins[blocks.start], share_of(bytes.len()));
        threads.each((begin..).step_by(share).zip(bytes.chunks_mut(share)).map(|(at, part)| move || run.read(at, part)))
    }

    /// An upper bound of the number of keys below `end`, too large by less than a block.
    pub(super) fn below_at_most(&self, end: u64) -> u64 {
        (self.first.partition_point(|&key| key < end) as u64 * BLOCK).min(self.keys)
    }

    pub(super) fn below(&self, end: u64) -> GpuResult<u64> {
        let Some(block) = self.first.partition_point(|&key| key < end).checked_sub(1) else { return Ok(0) };
        let keys = self.keys_of(&(block..block + 1));
        let mut last = self.last.borrow_mut();
        if last.0 != block {
            last.0 = usize::MAX;
            last.1.resize((keys.end - keys.start) as usize, 0);
            let mut bytes = vec![0; (self.begins[block + 1] - self.begins[block]) as usize];
            self.run.read(self.begins[block], &mut bytes).map_err(failed)?;
            self.run.decode(&bytes, &mut last.1).map_err(failed)?;
            last.0 = block;
        }
        Ok(keys.start + last.1.partition_point(|&key| key < end) as u64)
    }
}

fn share_of(bytes: usize) -> usize {
    bytes.div_ceil(THREADS).max(LEAST_SHARE)
}

pub(super) struct RunThreads(ThreadPool);

impl RunThreads {
    pub(super) fn new() -> GpuResult<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(THREADS).thread_name(|i| format!("run-{i}")).build();
        pool.map(Self).map_err(|e| GpuError::Store { reason: e.to_string() })
    }

    /// Runs all of `works`, and waits in a new thread: a waiting pool thread might run another task, which waits for a lock of the caller.
    fn each<W: FnOnce() -> io::Result<()> + Send>(&self, works: impl Iterator<Item = W>) -> GpuResult<()> {
        let works: Vec<W> = works.collect();
        let all = move || self.0.install(|| works.into_par_iter().try_for_each(|work| work()));
        std::thread::scope(|scope| joined(Builder::new().spawn_scoped(scope, all)))?.map_err(failed)
    }
}

pub(super) fn joined<T>(thread: io::Result<ScopedJoinHandle<'_, T>>) -> GpuResult<T> {
    match thread.map(ScopedJoinHandle::join) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(not_started) => Err(failed(not_started)),
    }
}
