//! A memory budget that threads share, and the memory that each takes from it.

use std::sync::{Arc, Condvar, Mutex};

use crate::bytes::Bytes;
use crate::{lock, unpoisoned};

/// Clones share the budget.
#[derive(Debug, Clone)]
pub struct SharedBudget {
    most: Bytes,
    free: Arc<(Mutex<Bytes>, Condvar)>,
}

/// Memory taken from a budget, to which it returns on drop.
#[derive(Debug)]
pub struct TakenMemory {
    budget: SharedBudget,
    bytes: Bytes,
}

impl SharedBudget {
    pub fn new(most: Bytes) -> Self {
        Self { most, free: Arc::new((Mutex::new(most), Condvar::new())) }
    }

    /// Takes `bytes`, or the whole budget if that is smaller; blocks until they are free. To avoid deadlock, a holder must not take more.
    pub fn take(&self, bytes: Bytes) -> TakenMemory {
        let (bytes, (free, changed)) = (bytes.min(self.most), &*self.free);
        let mut free = unpoisoned(changed.wait_while(lock(free), |free| *free < bytes));
        *free = *free - bytes;
        TakenMemory { budget: self.clone(), bytes }
    }

    /// As [`Self::take`], without waiting; `None` if less than `bytes` is free.
    pub fn try_take(&self, bytes: Bytes) -> Option<TakenMemory> {
        let mut free = lock(&self.free.0);
        *free = Bytes(free.get().checked_sub(bytes.get())?);
        Some(TakenMemory { budget: self.clone(), bytes })
    }
}

impl TakenMemory {
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Shrinks or grows the taken memory to `bytes`; grows it only by free memory.
    pub fn resize(&mut self, bytes: Bytes) {
        let (free, changed) = &*self.budget.free;
        let mut free = lock(free);
        let all = *free + self.bytes;
        self.bytes = bytes.min(all);
        *free = all - self.bytes;
        changed.notify_all();
    }
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        self.resize(Bytes::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_and_all_get_theirs() {
        let budget = SharedBudget::new(Bytes(100));
        let (held, most) = (Mutex::new(Bytes::ZERO), Mutex::new(Bytes::ZERO));
        std::thread::scope(|scope| {
            for i in 0..64u64 {
                let (budget, held, most) = (&budget, &held, &most);
                scope.spawn(move || {
                    let taken = budget.take(Bytes(i * 7 % 130));
                    let now = {
                        let mut held = lock(held);
                        *held += taken.bytes;
                        *held
                    };
                    let mut most = lock(most);
                    *most = now.max(*most);
                    drop(most);
                    std::thread::yield_now();
                    let mut held = lock(held);
                    *held = *held - taken.bytes;
                });
            }
        });
        assert_eq!((*lock(&budget.free.0), *lock(&held)), (Bytes(100), Bytes::ZERO));
        assert!((Bytes(90)..=Bytes(100)).contains(&*lock(&most)));
    }

    #[test]
    fn what_is_taken_comes_back() {
        let budget = SharedBudget::new(Bytes(100));
        let mut first = budget.try_take(Bytes(60)).unwrap();
        assert!(budget.try_take(Bytes(41)).is_none());
        first.resize(Bytes(30));
        let second = budget.try_take(Bytes(70)).unwrap();
        assert!(budget.try_take(Bytes(1)).is_none());
        drop(second);
        first.resize(Bytes(130));
        assert!(budget.try_take(Bytes(1)).is_none());
        drop(first);
        assert!(budget.try_take(Bytes(100)).is_some());
    }
}
