//! Threads: how many a job may have, and how they are started; and panics, which become errors of the job that name the thread.
//!
//! A thread that the system refuses is an error of the job, not a panic: all threads are started by [`pool`], [`spawn`] and [`spawn_alone`].

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle, available_parallelism};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::disk::faults::before_thread;
use crate::error::{Error, Result};

/// What errors call a thread of which nothing more is known, usually one of the pool.
pub const WORKER: &str = "a worker thread";

/// So many threads may be asked for on any machine, and so many for each core of a larger one: more would only take memory
/// and processor time from others.
const ALWAYS: usize = 64;
const PER_CORE: usize = 8;

/// The most threads that may be asked for on this machine. It is found once in a process: reading the limits of control groups takes as
/// long as starting a thread.
pub fn most() -> usize {
    static MOST: LazyLock<usize> =
        LazyLock::new(|| ALWAYS.max(PER_CORE * available_parallelism().map_or(1, NonZeroUsize::get)));
    *MOST
}

/// Refuses more threads than [`most`].
pub fn check(threads: Option<NonZeroUsize>) -> Result<()> {
    match threads {
        Some(threads) if threads.get() > most() => Err(Error::usage(format!("{threads} threads"))
            .expected(format!("at most {} on this machine ({ALWAYS}, or {PER_CORE} for each core)", most()))),
        _ => Ok(()),
    }
}

/// A pool of so many threads; `None`: one for each core. All parallel work of a job runs in its pool; outside one, rayon
/// would start another pool for the whole process.
pub fn pool(threads: Option<NonZeroUsize>) -> Result<ThreadPool> {
    check(threads)?;
    before_thread().map_err(|e| not_started(&e))?;
    ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, NonZeroUsize::get))
        .thread_name(|i| format!("trimill-{i}"))
        .build()
        .map_err(|e| not_started(&e))
}

/// Starts a thread of `scope` with this name, which does `work`.
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

/// The value of a thread, or an error if it panicked; `who` names the thread.
pub fn joined<T>(who: &str, result: std::thread::Result<T>) -> Result<T> {
    result.map_err(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Error::defect(format!("{who} failed: {what}"))
    })
}

/// What `work` returns, or an error if it panics. The caller must not use what `work` changed after a panic.
pub fn guarded<T>(who: &str, work: impl FnOnce() -> T) -> Result<T> {
    joined(who, catch_unwind(AssertUnwindSafe(work)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
