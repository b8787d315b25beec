//! The bounded queue from which devices take partitions, and to which a failing device returns its own. A builder blocks while it is full
//! (backpressure). Each item has one taker at a time, as a [`TakenItem`], until it is finished. Takers wait as long as an item may be requeued.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

use trimill_counting::{Detail, EdgeShare};
use trimill_partitioners::build::BuiltPartition;
use trimill_system::{lock, unpoisoned};

pub(super) enum Item {
    Range(u32),
    /// A share of the edges; the whole graph is one rank range.
    Share(EdgeShare),
    Built(Box<BuiltPartition>),
}

impl Item {
    pub(super) fn part(&self) -> u32 {
        match self {
            Self::Range(part) => *part,
            Self::Share(_) => 0,
            Self::Built(built) => built.part,
        }
    }

    pub(super) fn detail(&self) -> Detail {
        if let Self::Share(share) = self { Detail::Share(*share) } else { Detail::Total }
    }
}

pub(super) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
    room: usize,
}

struct QueueState<T> {
    waiting: VecDeque<T>,
    taken: usize,
    open: bool,
    takers: usize,
}

pub(super) struct TakenItem<'q, T> {
    pub(super) item: T,
    held: Held<'q, T>,
}

struct Held<'q, T>(&'q Queue<T>);

impl<T> Queue<T> {
    pub(super) fn new(room: usize, takers: usize) -> Self {
        let state = QueueState { waiting: VecDeque::new(), taken: 0, open: true, takers };
        Self { state: Mutex::new(state), changed: Condvar::new(), room }
    }

    pub(super) fn of(items: impl IntoIterator<Item = T>, takers: usize) -> Self {
        let state = QueueState { waiting: items.into_iter().collect(), taken: 0, open: false, takers };
        Self { state: Mutex::new(state), changed: Condvar::new(), room: 0 }
    }

    /// Puts an item at the end; blocks while the queue is full. `false` if all takers have left.
    pub(super) fn put(&self, item: T) -> bool {
        let full = |state: &mut QueueState<T>| state.takers > 0 && state.waiting.len() >= self.room;
        let mut state = unpoisoned(self.changed.wait_while(lock(&self.state), full));
        let accepted = state.takers > 0;
        if accepted {
            state.waiting.push_back(item);
            self.changed.notify_all();
        }
        accepted
    }

    pub(super) fn close(&self) {
        lock(&self.state).open = false;
        self.changed.notify_all();
    }

    /// Takes the first item; blocks while there is none and one may come. None: all are finished.
    pub(super) fn take(&self) -> Option<TakenItem<'_, T>> {
        let nothing_yet = |state: &mut QueueState<T>| state.waiting.is_empty() && (state.open || state.taken > 0);
        let mut state = unpoisoned(self.changed.wait_while(lock(&self.state), nothing_yet));
        self.next(&mut state)
    }

    pub(super) fn take_now(&self) -> Option<TakenItem<'_, T>> {
        self.next(&mut lock(&self.state))
    }

    fn next(&self, state: &mut QueueState<T>) -> Option<TakenItem<'_, T>> {
        let item = state.waiting.pop_front()?;
        state.taken += 1;
        self.changed.notify_all();
        Some(TakenItem { item, held: Held(self) })
    }

    /// Removes a taker. Returns whether nothing is lost with it: other takers remain, or all items, including those that it requeued, are finished.
    pub(super) fn leave(&self) -> bool {
        let mut state = lock(&self.state);
        state.takers -= 1;
        self.changed.notify_all();
        state.takers > 0 || (!state.open && state.taken == 0 && state.waiting.is_empty())
    }
}

impl<T> TakenItem<'_, T> {
    pub(super) fn requeue(self) {
        lock(&self.held.0.state).waiting.push_front(self.item);
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        lock(&self.0.state).taken -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread::{scope, sleep};
    use std::time::Duration;

    use super::*;

    /// Each taker but one gives up after some items; together they process every item once.
    #[test]
    fn a_requeued_item_is_taken_by_another() {
        for gives_up in [vec![usize::MAX], vec![0, 0, usize::MAX], vec![3, 1, usize::MAX, 2], vec![0, usize::MAX]] {
            let (queue, sum) = (Queue::new(2, gives_up.len()), AtomicU64::new(0));
            scope(|scope| {
                for after in gives_up {
                    let (queue, sum) = (&queue, &sum);
                    scope.spawn(move || {
                        for i in 0.. {
                            let Some(taken) = queue.take() else { break };
                            if i == after {
                                // Long enough for the others to find the queue empty.
                                sleep(Duration::from_millis(2));
                                taken.requeue();
                                break;
                            }
                            sum.fetch_add(taken.item, Ordering::Relaxed);
                        }
                        queue.leave();
                    });
                }
                assert!((1..=100).all(|item| queue.put(item)));
                queue.close();
            });
            assert_eq!(sum.into_inner(), 5050);
        }
    }

    #[test]
    fn an_item_that_comes_back_late_is_waited_for() {
        let queue = Queue::of([1], 2);
        let taken = queue.take().unwrap();
        assert!(queue.take_now().is_none());
        scope(|scope| {
            let other = scope.spawn(|| queue.take().map(|taken| taken.item));
            sleep(Duration::from_millis(5));
            taken.requeue();
            assert_eq!(other.join().unwrap(), Some(1));
        });
        assert!(queue.take().is_none());
    }

    #[test]
    fn what_a_failed_taker_requeued_may_be_finished_before_it_leaves() {
        for finished in [true, false] {
            let queue = Queue::of([1], 2);
            queue.take().unwrap().requeue();
            if finished {
                drop(queue.take().unwrap());
            }
            assert!(queue.leave());
            assert_eq!(queue.leave(), finished);
        }
    }

    #[test]
    fn a_builder_stops_waiting_when_all_takers_left() {
        let queue = Queue::new(1, 1);
        assert!(queue.put(1));
        scope(|scope| {
            let builder = scope.spawn(|| queue.put(2));
            sleep(Duration::from_millis(5));
            assert!(!queue.leave());
            assert!(!builder.join().unwrap());
        });
    }
}
