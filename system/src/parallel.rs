//! Parallel loops with long iterations (turns) on the threads of the current pool. All loops here share one copy of rayon's scheduler; copies for
//! each loop over its iterators were a fifth of this program's machine code. A turn costs some 100 ns, so it should be a block of rows, not a vertex.

use std::sync::Mutex;

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::error::Result;
use crate::{lock, unpoisoned};

pub fn each<T: Send>(items: impl IntoIterator<Item = T>, turn: impl Fn(T) + Sync) {
    map(items, turn);
}

/// Calls `turn` for each of `items` until one fails.
pub fn try_each<T: Send>(items: impl IntoIterator<Item = T>, turn: impl Fn(T) -> Result<()> + Sync) -> Result<()> {
    try_map(items, turn).map(drop)
}

/// As [`try_each`]; `turn` also gets a value that `new` made, such as a buffer, which no other thread uses at the same time.
pub fn try_each_with<T: Send, S: Send>(
    items: impl IntoIterator<Item = T>,
    new: impl Fn() -> S + Sync,
    turn: impl Fn(&mut S, T) -> Result<()> + Sync,
) -> Result<()> {
    try_map_with(items, new, turn).map(drop)
}

/// Results are in the order of `items`.
pub fn map<T: Send, R: Send>(items: impl IntoIterator<Item = T>, turn: impl Fn(T) -> R + Sync) -> Vec<R> {
    let slots = slots(items);
    // No turn fails.
    let _ = run(slots.len(), &|i| fill(&slots[i], |item| Ok(turn(item))));
    made(slots)
}

/// As [`map`], until a turn fails.
pub fn try_map<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    turn: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let slots = slots(items);
    run(slots.len(), &|i| fill(&slots[i], &turn))?;
    Ok(made(slots))
}

pub fn try_map_with<T: Send, S: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    new: impl Fn() -> S + Sync,
    turn: impl Fn(&mut S, T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let idle = IdleValues::<S>::default();
    try_map(items, |item| idle.with(&new, |mine| turn(mine, item)))
}

/// Values such as buffers, which threads use one after another: there are only as many as are in use at a time.
pub struct IdleValues<T>(Mutex<Vec<T>>);

impl<T> Default for IdleValues<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> IdleValues<T> {
    /// Runs `work` with a value that no other thread uses at the same time; `new` makes one if none is idle.
    pub fn with<R>(&self, new: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = lock(&self.0).pop();
        self.lend(idle.unwrap_or_else(new), work)
    }

    pub fn try_with<R>(&self, new: impl FnOnce() -> Result<T>, work: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let idle = lock(&self.0).pop();
        self.lend(idle.map_or_else(new, Ok)?, work)
    }

    fn lend<R>(&self, mut value: T, work: impl FnOnce(&mut T) -> R) -> R {
        let made = work(&mut value);
        lock(&self.0).push(value);
        made
    }

    pub fn take_all(&self) -> Vec<T> {
        std::mem::take(&mut *lock(&self.0))
    }

    pub fn all_mut(&mut self) -> &mut Vec<T> {
        unpoisoned(self.0.get_mut())
    }
}

/// Consecutive parts of `slice` of these lengths, for turns that write one each. Panics if it is shorter than all of them.
pub fn cut<T>(slice: &mut [T], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let mut rest = slice;
    let next = |length: usize| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(length);
        rest = after;
        part
    };
    lengths.into_iter().map(next).collect()
}

/// Runs `work` in a pool, whose threads then run its loops; all work shares one copy of the scheduler.
pub fn within<R: Send>(pool: &ThreadPool, work: impl FnOnce() -> R + Send) -> R {
    let (mut work, mut made) = (Some(work), None);
    install(pool, &mut || made = work.take().map(|work| work()));
    match made {
        Some(made) => made,
        None => unreachable!("a pool runs what is installed in it, or panics"),
    }
}

/// Runs `work` on this many threads, in a pool of its own.
#[cfg(feature = "testing")]
#[allow(clippy::unwrap_used)]
pub fn on<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    within(&rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap(), work)
}

fn install(pool: &ThreadPool, work: &mut (dyn FnMut() + Send)) {
    pool.install(work);
}

type ItemSlot<T, R> = Mutex<(Option<T>, Option<R>)>;

fn slots<T, R>(items: impl IntoIterator<Item = T>) -> Vec<ItemSlot<T, R>> {
    items.into_iter().map(|item| Mutex::new((Some(item), None))).collect()
}

fn fill<T, R>(slot: &ItemSlot<T, R>, turn: impl FnOnce(T) -> Result<R>) -> Result<()> {
    let item = lock(slot).0.take();
    if let Some(item) = item {
        let made = turn(item)?;
        lock(slot).1 = Some(made);
    }
    Ok(())
}

fn made<T, R>(slots: Vec<ItemSlot<T, R>>) -> Vec<R> {
    slots.into_iter().filter_map(|slot| unpoisoned(slot.into_inner()).1).collect()
}

/// Calls `turn` with each number below `turns` until one fails. All other loops call this one, so the scheduler is compiled once.
fn run(turns: usize, turn: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    (0..turns).into_par_iter().with_max_len(1).try_for_each(turn)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    #[test]
    fn an_error_ends_the_loop() {
        let turns = AtomicUsize::new(0);
        let failed = try_map(0..100_000, |i| {
            turns.fetch_add(1, Ordering::Relaxed);
            if i % 3 == 1 { Err(Error::usage(format!("turn {i}"))) } else { Ok(i) }
        });
        assert!(failed.unwrap_err().to_string().starts_with("turn "));
        assert!(turns.into_inner() < 50_000);
    }

    #[test]
    fn values_of_threads_are_used_again() {
        let pool = crate::threads::pool(std::num::NonZeroUsize::new(3)).unwrap();
        let new = AtomicUsize::new(0);
        let made = within(&pool, || {
            assert_eq!(rayon::current_num_threads(), 3);
            try_map_with(
                0..500,
                || new.fetch_add(1, Ordering::Relaxed),
                |mine, i| {
                    *mine += 10;
                    Ok(i)
                },
            )
        });
        assert_eq!(made.unwrap(), (0..500).collect::<Vec<_>>());
        assert!((1..=3).contains(&new.into_inner()));
    }

    #[test]
    fn a_panic_passes_through() {
        let pool = crate::threads::pool(std::num::NonZeroUsize::new(2)).unwrap();
        let error = crate::threads::guarded("a loop", || within(&pool, || each(0..9, |i| assert!(i < 5, "at {i}"))));
        assert!(error.unwrap_err().to_string().contains("a loop failed: at "));
    }
}
