//! Where sorted runs of keys wait: in the host's memory, or, beyond that, where the caller stores them.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{GpuError, GpuResult};

/// Keys of a block of a stored run, of which one key is kept in memory.
pub const RUN_BLOCK: usize = 1 << 12;

/// Threads that move the keys of runs, encode and decode them.
const THREADS: usize = 16;

/// Stores runs of keys, of 8 bytes each.
pub trait RunStore: Send + Sync {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>>;
}

/// A run that is stored; it is removed when this is dropped. Called from many threads.
pub trait StoredRun: Send + Sync {
    /// Writes the keys from number `at` on, which ascend: whole blocks of [`RUN_BLOCK`] keys, but at the end of the run.
    fn write(&self, at: u64, keys: &[u64]) -> io::Result<()>;

    /// Reads the keys from number `at` on, which were written.
    fn read(&self, at: u64, keys: &mut [u64]) -> io::Result<()>;
}

/// Where the host keeps runs of keys.
#[derive(Clone)]
pub struct HostKeys {
    /// The most keys in memory, for each of two sets of runs.
    pub in_memory: u64,
    /// Where runs go that do not fit in memory.
    pub store: Option<Arc<dyn RunStore>>,
}

/// A run: keys in order.
pub(super) enum KeyRun {
    Memory(Vec<u64>),
    Stored(StoredKeys),
}

pub(super) struct StoredKeys {
    run: Box<dyn StoredRun>,
    keys: u64,
    /// The first key of each block.
    first: Vec<u64>,
    /// The block that was read last, and its keys.
    last: RefCell<(usize, Vec<u64>)>,
}

fn failed(error: &io::Error) -> GpuError {
    GpuError::Store { reason: error.to_string() }
}

impl KeyRun {
    /// A run in memory for `keys` keys, which are to be written.
    pub(super) fn in_memory(keys: u64) -> Self {
        Self::Memory(vec![0; keys as usize])
    }

    pub(super) fn in_store(store: &dyn RunStore, keys: u64) -> GpuResult<Self> {
        let run = store.begin().map_err(|e| failed(&e))?;
        Ok(Self::Stored(StoredKeys { run, keys, first: Vec::new(), last: RefCell::new((usize::MAX, Vec::new())) }))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(keys) => keys.len() as u64,
            Self::Stored(stored) => stored.keys,
        }
    }

    /// Writes the next keys, behind the `at` that were written, a multiple of [`RUN_BLOCK`].
    pub(super) fn write(&mut self, threads: &RunThreads, at: u64, keys: &[u64]) -> GpuResult<()> {
        let share = keys.len().div_ceil(THREADS).next_multiple_of(RUN_BLOCK);
        match self {
            Self::Memory(run) => {
                let to = &mut run[at as usize..at as usize + keys.len()];
                let parts = to.chunks_mut(share).zip(keys.chunks(share));
                threads.each(parts.map(|(to, from)| {
                    move || {
                        to.copy_from_slice(from);
                        Ok(())
                    }
                }))
            }
            Self::Stored(StoredKeys { run, first, .. }) => {
                first.extend(keys.iter().step_by(RUN_BLOCK));
                let (run, parts) = (&**run, (at..).step_by(share).zip(keys.chunks(share)));
                threads.each(parts.map(|(at, part)| move || run.write(at, part)))
            }
        }
    }

    /// The keys from number `at` on: a part of them if they are in memory, else as many as `buffer` holds, which are read into it.
    pub(super) fn read<'a>(
        &'a self,
        threads: &RunThreads,
        at: u64,
        many: u64,
        buffer: &'a mut [u64],
    ) -> GpuResult<&'a [u64]> {
        match self {
            Self::Memory(keys) => Ok(&keys[at as usize..(at + many) as usize]),
            Self::Stored(stored) => {
                let now = buffer.len().min(many as usize);
                let into = &mut buffer[..now];
                let share = now.div_ceil(THREADS).max(1);
                let (run, parts) = (&*stored.run, (at..).step_by(share).zip(into.chunks_mut(share)));
                threads.each(parts.map(|(at, part)| move || run.read(at, part)))?;
                Ok(&buffer[..now])
            }
        }
    }

    /// At least the number of keys below `end`, and less than a block more.
    pub(super) fn below_at_most(&self, end: u64) -> u64 {
        match self {
            Self::Memory(keys) => keys.partition_point(|&key| key < end) as u64,
            Self::Stored(StoredKeys { keys, first, .. }) => {
                let blocks = first.partition_point(|&key| key < end);
                ((blocks * RUN_BLOCK) as u64).min(*keys)
            }
        }
    }

    /// The number of keys below `end`.
    pub(super) fn below(&self, end: u64) -> GpuResult<u64> {
        match self {
            Self::Memory(keys) => Ok(keys.partition_point(|&key| key < end) as u64),
            Self::Stored(stored) => stored.below(end),
        }
    }
}

impl StoredKeys {
    fn below(&self, end: u64) -> GpuResult<u64> {
        let Some(block) = self.first.partition_point(|&key| key < end).checked_sub(1) else { return Ok(0) };
        let mut last = self.last.borrow_mut();
        let at = (block * RUN_BLOCK) as u64;
        if last.0 != block {
            last.0 = usize::MAX;
            last.1.resize(RUN_BLOCK.min((self.keys - at) as usize), 0);
            self.run.read(at, &mut last.1).map_err(|e| failed(&e))?;
            last.0 = block;
        }
        Ok(at + last.1.partition_point(|&key| key < end) as u64)
    }
}

/// A pool of threads, kept from one part of a run to the next.
pub(super) struct RunThreads(ThreadPool);

impl RunThreads {
    pub(super) fn new() -> GpuResult<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(THREADS).thread_name(|i| format!("run-{i}")).build();
        pool.map(Self).map_err(|e| GpuError::Store { reason: e.to_string() })
    }

    /// Does all of `works`. The current thread may be one of the caller's pool: if it waited as such, it might take up another task of that
    /// pool, which might want what the caller has locked; so another thread waits.
    fn each<W: FnOnce() -> io::Result<()> + Send>(&self, works: impl Iterator<Item = W>) -> GpuResult<()> {
        let works: Vec<W> = works.collect();
        let all = move || self.0.install(|| works.into_par_iter().try_for_each(|work| work()));
        std::thread::scope(|scope| joined(Builder::new().spawn_scoped(scope, all)))?.map_err(|e| failed(&e))
    }
}

/// What a thread returns; it may not have started.
pub(super) fn joined<T>(thread: io::Result<ScopedJoinHandle<'_, T>>) -> GpuResult<T> {
    match thread.map(ScopedJoinHandle::join) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(not_started) => Err(failed(&not_started)),
    }
}
