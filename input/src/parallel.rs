//! Parallel work on many chunks of an input; the error reported is always that of the first bad chunk. [`in_order`] runs chunks known beforehand,
//! such as those of [`chunks`]; [`produce_and_drain`] those that one thread, such as a decompressor, must produce one after another. Both use the
//! current pool, of any size, block on no other task, and check for a stop before each chunk.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use trimill_system::{Control, Error, Kind, Result, lock, parallel, unpoisoned};

/// The error of the lowest chunk that failed so far. Chunks above it are skipped; those below still run, so that the same input gives the
/// same error on any number of threads. An error that is not about the data (interrupted, disk full) stops all chunks at once.
struct FirstError {
    failed: AtomicU64,
    error: Mutex<Option<(u64, Error)>>,
}

impl FirstError {
    const fn new() -> Self {
        Self { failed: AtomicU64::new(u64::MAX), error: Mutex::new(None) }
    }

    fn needs(&self, chunk: u64) -> bool {
        chunk < self.failed.load(Ordering::Relaxed)
    }

    fn record(&self, chunk: u64, error: Error) {
        let chunk = if error.kind() == Kind::Data { chunk } else { 0 };
        let mut first = lock(&self.error);
        if first.as_ref().is_none_or(|(other, _)| chunk < *other) {
            *first = Some((chunk, error));
            self.failed.fetch_min(chunk, Ordering::Relaxed);
        }
    }

    fn into_result(self) -> Result<()> {
        match unpoisoned(self.error.into_inner()) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

/// Chunks of `size`; the last may be smaller.
pub(super) fn chunks(whole: Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> {
    let Range { start, end } = whole;
    let begins = (0..end.saturating_sub(start).div_ceil(size)).map(move |number| start + number * size);
    begins.map(move |begin| begin..begin.saturating_add(size).min(end))
}

/// Runs `work` on all chunks in parallel; returns the sum.
pub(super) fn in_order<T: Sync>(
    chunks: &[T],
    control: &Control,
    work: impl Fn(&T) -> Result<u64> + Sync,
) -> Result<u64> {
    map_in_order(chunks, control, work).map(|sums| sums.into_iter().sum())
}

/// Runs `work` on all chunks in parallel; returns the results in the order of the chunks.
pub(super) fn map_in_order<T: Sync, R: Send>(
    chunks: &[T],
    control: &Control,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let first = FirstError::new();
    let made = parallel::map(chunks.iter().enumerate(), |(number, chunk)| {
        let number = number as u64;
        if !first.needs(number) {
            return None;
        }
        control.check().and_then(|()| work(chunk)).map_err(|error| first.record(number, error)).ok()
    });
    first.into_result().map(|()| made.into_iter().flatten().collect())
}

/// This thread calls `fill` on one item after another, until it returns `false`, while others call `drain` on them. At most two items for each of
/// `threads`, its share of the pool, are queued; beyond that this thread drains too (backpressure), so memory is bounded. Items are reused.
pub(super) fn produce_and_drain<T: Default + Send>(
    threads: usize,
    control: &Control,
    fill: impl FnMut(&mut T) -> Result<bool>,
    drain: impl Fn(&mut T) -> Result<()> + Sync,
) -> Result<()> {
    let first = FirstError::new();
    let spare = Mutex::new(Vec::<T>::new());
    let waiting = AtomicUsize::new(0);
    let most = 2 * threads;
    let finish = |number: u64, mut item: T| {
        if first.needs(number)
            && let Err(error) = drain(&mut item)
        {
            first.record(number, error);
        }
        lock(&spare).push(item);
    };
    rayon::in_place_scope(|scope| {
        // Dropped here, with what it holds: while this thread waits for the others, it may begin another file.
        let mut fill = fill;
        for number in 0.. {
            if !first.needs(number) {
                break;
            }
            let mut item = lock(&spare).pop().unwrap_or_default();
            match control.check().and_then(|()| fill(&mut item)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    first.record(number, error);
                    break;
                }
            }
            if waiting.load(Ordering::Relaxed) < most {
                waiting.fetch_add(1, Ordering::Relaxed);
                let (finish, waiting) = (&finish, &waiting);
                scope.spawn(move |_| {
                    finish(number, item);
                    waiting.fetch_sub(1, Ordering::Relaxed);
                });
            } else {
                finish(number, item);
            }
        }
        lock(&spare).clear();
    });
    first.into_result()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill_system::parallel::on;

    #[test]
    fn an_error_ends_what_would_never_end() {
        for threads in [1, 2, 5] {
            on(threads, || {
                let mut next = 0u64;
                let error = produce_and_drain(
                    threads,
                    &Control::silent(),
                    |item| {
                        next += 1;
                        *item = next;
                        Ok(true)
                    },
                    |item| if *item >= 77 { Err(Error::data("f", format!("item {item}"))) } else { Ok(()) },
                );
                assert_eq!(error.unwrap_err().to_string(), "f: item 77");
            });
        }
    }
}
