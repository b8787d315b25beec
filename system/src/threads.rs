//! How many threads a job may have, and how they are started; panics become errors of the job that name the thread. A thread that the system refuses
//! is an error of the job, not a panic: use [`pool`], [`spawn`] and [`spawn_alone`] for all threads.

use std::fmt::Display;
use std::mem::forget;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::id;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::disk::faults::before_thread;
use crate::error::{Error, Result};
use crate::machine::cores;

/// What errors call a thread that has no other name, usually one of the pool.
pub const WORKER: &str = "a worker thread";

/// A job may ask for `ALWAYS` threads anywhere, or `PER_CORE` per core if that is more; further ones would only take memory and time.
const ALWAYS: usize = 64;
const PER_CORE: usize = 8;

/// The most threads that a job may ask for. Found once: reading the limits of control groups takes as long as starting a thread.
pub fn most() -> usize {
    static MOST: LazyLock<usize> = LazyLock::new(|| ALWAYS.max(PER_CORE * cores()));
    *MOST
}

pub fn check(threads: Option<NonZeroUsize>) -> Result<()> {
    match threads {
        Some(threads) if threads.get() > most() => Err(Error::usage(format!("{threads} threads"))
            .expected(format!("at most {} on this machine ({ALWAYS}, or {PER_CORE} for each core)", most()))),
        _ => Ok(()),
    }
}

/// The pool of a job. A pool of one thread is kept for the next such job of this process, since starting a thread takes as long as counting some
/// thousand edges. A forked process has none of the threads, and does not use the pool.
#[derive(Debug)]
pub struct JobPool {
    pool: Arc<ThreadPool>,
    process: u32,
}

static IDLE: Mutex<Option<JobPool>> = Mutex::new(None);

/// A pool of `threads` threads; `None`: one per core. A job's parallel work runs in its pool; outside, rayon would start another one.
pub fn pool(threads: Option<NonZeroUsize>) -> Result<JobPool> {
    check(threads)?;
    before_thread().map_err(|e| not_started(&e))?;
    let process = id();
    if threads == NonZeroUsize::new(1)
        && let Some(idle) = JobPool::idle()
    {
        return Ok(idle);
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, NonZeroUsize::get))
        .thread_name(|i| format!("trimill-{i}"))
        .build()
        .map_err(|e| not_started(&e))?;
    Ok(JobPool { pool: Arc::new(pool), process })
}

/// A second pool for concurrent work, if the current thread is the only one of `pool`: it could not wait for work that only it can run.
pub fn beside(pool: &ThreadPool) -> Result<Option<JobPool>> {
    let is_only_thread = pool.current_num_threads() == 1 && pool.current_thread_index().is_some();
    is_only_thread.then(|| self::pool(NonZeroUsize::new(1))).transpose()
}

impl JobPool {
    /// The kept pool, if this process made it. After a fork, the thread that holds the lock may not exist here, so this must not block.
    fn idle() -> Option<Self> {
        let idle = IDLE.try_lock().ok()?.take()?;
        if idle.process == id() {
            return Some(idle);
        }
        // The pool's threads do not exist in this process, so dropping it could not stop them.
        forget(idle);
        None
    }
}

impl Deref for JobPool {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        &self.pool
    }
}

impl Drop for JobPool {
    fn drop(&mut self) {
        if self.pool.current_num_threads() > 1 || self.process != id() {
            return;
        }
        if let Ok(mut idle) = IDLE.try_lock()
            && idle.is_none()
        {
            *idle = Some(Self { pool: Arc::clone(&self.pool), process: self.process });
        }
    }
}

pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let started = before_thread().and_then(|()| Builder::new().name(name.into()).spawn_scoped(scope, work));
    started.map_err(|e| not_started(&e))
}

/// As [`spawn`], for a thread that may outlive the caller.
pub fn spawn_alone<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    let started = before_thread().and_then(|()| Builder::new().name(name.into()).spawn(work));
    started.map_err(|e| not_started(&e))
}

fn not_started(error: &dyn Display) -> Error {
    Error::resource(format!("a thread cannot be started ({error})"))
        .advice("lower --threads, or raise the limits of processes and of memory (`ulimit -u`, `ulimit -v`)")
}

/// The value of a thread, or an error if it panicked; [`Error::no_memory`] is returned as it is. `who` names the thread.
pub fn joined<T>(who: &str, result: std::thread::Result<T>) -> Result<T> {
    result.map_err(|panic| match panic.downcast::<Error>() {
        Ok(error) => *error,
        Err(panic) => {
            let what = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Error::defect(format!("{who} failed: {what}"))
        }
    })
}

/// What `work` returns, or an error if it panics; then the caller must not use what `work` changed.
pub fn guarded<T>(who: &str, work: impl FnOnce() -> T) -> Result<T> {
    joined(who, catch_unwind(AssertUnwindSafe(work)))
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;
    use crate::error::Kind;
    use crate::mapped::zeros;

    #[test]
    fn far_too_many_threads_are_refused_before_any_is_started() {
        assert!(most() >= 64);
        let many = |threads| check(NonZeroUsize::new(threads));
        assert!(many(1).is_ok() && many(64).is_ok() && many(most()).is_ok() && check(None).is_ok());
        for threads in [most() + 1, 1_000_000, usize::MAX] {
            let error = many(threads).map_or_else(|error| error.to_string(), |()| String::new());
            assert!(error.contains(&format!("{threads} threads; expected at most {}", most())), "{error}");
            assert!(pool(NonZeroUsize::new(threads)).is_err());
        }
    }

    #[test]
    fn memory_that_the_system_does_not_give_is_an_error_of_the_job() {
        let pool = pool(NonZeroUsize::new(2)).unwrap();
        let all = || (0..2).into_par_iter().map(|_| zeros::<u64>(usize::MAX / 32).len()).sum::<usize>();
        let error = guarded("a thread", || pool.install(all)).unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        assert!(error.to_string().contains("no memory for") && error.to_string().contains("ulimit -v"), "{error}");
    }

    fn worker(pool: &JobPool) -> std::thread::ThreadId {
        pool.install(|| std::thread::current().id())
    }

    #[test]
    fn a_pool_of_one_thread_is_kept_for_one_job_after_another_and_no_other_pool_is() {
        let one = NonZeroUsize::new(1);
        let (first, beside) = (pool(one).unwrap(), pool(one).unwrap());
        let kept = worker(&first);
        assert_ne!(worker(&beside), kept, "two jobs at once share no thread");
        assert_eq!(first.current_num_threads(), 1);
        drop(first);
        drop(beside);
        // The pool is one of the first two; there is no third.
        let (again, more) = (pool(one).unwrap(), pool(one).unwrap());
        assert_eq!(worker(&again), kept);
        assert_ne!(worker(&more), kept);
        drop(again);
        drop(pool(NonZeroUsize::new(2)).unwrap());
        assert_eq!(worker(&pool(one).unwrap()), kept);
    }
}
