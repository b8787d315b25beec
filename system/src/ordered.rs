//! Makes chunks of an output with all threads, and writes them in order.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::threads::{WORKER, guarded};
use crate::{lock, parallel, unpoisoned};

/// How many chunks per thread are made or wait to be written.
const CHUNKS_PER_THREAD: u64 = 4;

/// Calls `make` for each chunk below `chunks` in the current pool, and `write` with the results, in order and as soon as possible. `make` gets the
/// default, or a written value, to reuse its memory. Neither may use the pool, whose threads are busy here. Memory: four chunks per thread. Errors:
/// the first of `make` or `write`, or a panic in them; chunks that other threads had begun are finished.
pub fn make_and_write<T: Default + Send>(
    chunks: u64,
    make: impl Fn(u64, &mut T) -> Result<()> + Sync,
    write: impl FnMut(&T) -> Result<()> + Send,
) -> Result<()> {
    make_and_write_parts(chunks, |chunk, buffer: &mut T, _| make(chunk, buffer), write)
}

/// As [`make_and_write`], where some chunks may be far larger than others: `make` also gets a function that writes a part of its chunk, which it then
/// removes from the buffer. The function waits until all chunks before are written.
pub fn make_and_write_parts<T: Default + Send>(
    chunks: u64,
    make: impl Fn(u64, &mut T, &mut dyn FnMut(&T) -> Result<()>) -> Result<()> + Sync,
    write: impl FnMut(&T) -> Result<()> + Send,
) -> Result<()> {
    let threads = rayon::current_num_threads() as u64;
    let queue =
        ChunkQueue { chunks, most: CHUNKS_PER_THREAD * threads, state: Mutex::default(), changed: Condvar::new() };
    let write = Mutex::new(write);
    parallel::each(0..threads.min(chunks), |_| {
        let mut done = None;
        while let Some(step) = queue.next(done.take()) {
            // Other threads wait for this one, so it must not end by a panic.
            let result = guarded(WORKER, || match step {
                ChunkStep::Make(chunk, mut buffer) => {
                    let mut write_part = |part: &T| {
                        queue.wait_for_turn(chunk)?;
                        lock(&write)(part)
                    };
                    make(chunk, &mut buffer, &mut write_part).map(|()| ChunkStep::Make(chunk, buffer))
                }
                ChunkStep::Write(buffer) => lock(&write)(&buffer).map(|()| ChunkStep::Write(buffer)),
            });
            match result.and_then(|step| step) {
                Ok(step) => done = Some(step),
                Err(error) => queue.stop(error),
            }
        }
    });
    unpoisoned(queue.state.into_inner()).error.map_or(Ok(()), Err)
}

enum ChunkStep<T> {
    Make(u64, T),
    Write(T),
}

struct ChunkQueue<T> {
    chunks: u64,
    most: u64,
    state: Mutex<MadeChunks<T>>,
    changed: Condvar,
}

#[derive(Default)]
struct MadeChunks<T> {
    to_make: u64,
    to_write: u64,
    made: BTreeMap<u64, T>,
    is_writing: bool,
    idle: Vec<T>,
    error: Option<Error>,
}

impl<T: Default> ChunkQueue<T> {
    /// Notes what a thread has done, and returns its next step; `None` if none is left for it.
    fn next(&self, done: Option<ChunkStep<T>>) -> Option<ChunkStep<T>> {
        let mut state = lock(&self.state);
        match done {
            Some(ChunkStep::Make(chunk, buffer)) => _ = state.made.insert(chunk, buffer),
            Some(ChunkStep::Write(buffer)) => {
                state.is_writing = false;
                state.to_write += 1;
                state.idle.push(buffer);
                // One more chunk may be made, and parts of the next one may be written.
                self.changed.notify_all();
            }
            None => {}
        }
        loop {
            if state.error.is_some() {
                return None;
            }
            let to_write = state.to_write;
            if !state.is_writing
                && let Some(buffer) = state.made.remove(&to_write)
            {
                state.is_writing = true;
                return Some(ChunkStep::Write(buffer));
            }
            if state.to_make == self.chunks {
                // Waiting threads have nothing left to do either.
                self.changed.notify_all();
                return None;
            }
            if state.to_make < to_write + self.most {
                state.to_make += 1;
                return Some(ChunkStep::Make(state.to_make - 1, state.idle.pop().unwrap_or_default()));
            }
            state = unpoisoned(self.changed.wait(state));
        }
    }

    /// Waits until all chunks before `chunk`, which the caller makes, are written. Errors: another thread has failed.
    fn wait_for_turn(&self, chunk: u64) -> Result<()> {
        let mut state = lock(&self.state);
        while state.to_write < chunk {
            if state.error.is_some() {
                return Err(Error::defect("a chunk after one that failed"));
            }
            state = unpoisoned(self.changed.wait(state));
        }
        Ok(())
    }

    fn stop(&self, error: Error) {
        lock(&self.state).error.get_or_insert(error);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Duration;

    use super::*;
    use crate::error::Kind;

    #[test]
    fn chunks_are_written_in_order_and_few_are_held() {
        for (threads, chunks) in [(1, 0), (1, 1), (1, 100), (3, 2), (4, 1000)] {
            let (mut written, held, most) = (Vec::new(), AtomicU64::new(0), AtomicU64::new(0));
            let make = |chunk: u64, buffer: &mut Vec<u64>| {
                most.fetch_max(held.fetch_add(1, Relaxed) + 1, Relaxed);
                // Some chunks take longer than later ones.
                if chunk.is_multiple_of(7) {
                    std::thread::sleep(Duration::from_micros(300));
                }
                buffer.clear();
                buffer.extend([chunk; 3]);
                Ok(())
            };
            let write = |buffer: &Vec<u64>| {
                written.extend_from_slice(buffer);
                held.fetch_sub(1, Relaxed);
                Ok(())
            };
            parallel::on(threads, || make_and_write(chunks, make, write)).unwrap();
            assert_eq!(written, (0..chunks).flat_map(|chunk| [chunk; 3]).collect::<Vec<_>>());
            assert!(most.into_inner() <= CHUNKS_PER_THREAD * threads as u64);
        }
    }

    #[test]
    fn parts_of_chunks_are_written_in_order() {
        for threads in [1, 4] {
            let mut written = Vec::new();
            let write = |part: &u64| {
                written.push(*part);
                Ok(())
            };
            let all = || {
                make_and_write_parts(
                    200,
                    |chunk, part: &mut u64, write_part| {
                        for i in 0..chunk % 5 {
                            *part = 10 * chunk + i;
                            write_part(part)?;
                        }
                        *part = 10 * chunk + 5;
                        Ok(())
                    },
                    write,
                )
            };
            parallel::on(threads, all).unwrap();
            let expected = (0..200).flat_map(|chunk| (0..chunk % 5).chain([5]).map(move |i| 10 * chunk + i));
            assert_eq!(written, expected.collect::<Vec<u64>>());
        }
    }

    #[test]
    fn an_error_ends_all_threads() {
        for threads in [1, 4] {
            let (made, mut written) = (AtomicU64::new(0), 0);
            let make = |chunk: u64, _: &mut ()| match chunk {
                50 => Err(Error::defect("not made")),
                _ => Ok(_ = made.fetch_add(1, Relaxed)),
            };
            let write = |(): &()| {
                written += 1;
                Ok(())
            };
            let error = parallel::on(threads, || make_and_write(1 << 40, make, write)).unwrap_err();
            assert!(error.to_string().contains("not made"), "{error}");
            assert!(written <= 50 && made.into_inner() < 200);
            let parts = || {
                make_and_write_parts(
                    1 << 40,
                    |chunk, part: &mut (), write_part| match chunk {
                        50 => Err(Error::defect("not made")),
                        _ => write_part(part),
                    },
                    |(): &()| Ok(()),
                )
            };
            let error = parallel::on(threads, parts).unwrap_err();
            assert!(error.to_string().contains("not made"), "{error}");
            let full = |(): &()| Err(Error::defect("not written"));
            let error = parallel::on(threads, || make_and_write(1 << 40, |_, ()| Ok(()), full)).unwrap_err();
            assert!(error.to_string().contains("not written"), "{error}");
        }
    }

    #[test]
    fn a_panic_ends_all_threads() {
        let make = |chunk: u64, _: &mut ()| {
            assert!(chunk != 20, "on purpose");
            Ok(())
        };
        let error = parallel::on(4, || make_and_write(1 << 40, make, |()| Ok(()))).unwrap_err();
        assert_eq!((error.kind(), error.found()), (Kind::Defect, "a worker thread failed: on purpose"));
    }
}
