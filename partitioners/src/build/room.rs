//! A bounded share of the host's memory for spills that are kept there until they are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trimill_system::Bytes;

/// The free bytes, shared by all clones.
#[derive(Debug, Clone)]
pub struct SpillMemory(Arc<AtomicU64>);

/// Bytes taken; given back on drop.
#[derive(Debug)]
pub struct TakenRoom {
    room: SpillMemory,
    bytes: u64,
}

impl SpillMemory {
    pub fn new(bytes: Bytes) -> Self {
        Self(Arc::new(AtomicU64::new(bytes.get())))
    }

    /// Takes bytes without waiting; `None` if fewer bytes are free.
    pub fn take(&self, bytes: Bytes) -> Option<TakenRoom> {
        let bytes = bytes.get();
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(bytes)).ok()?;
        Some(TakenRoom { room: self.clone(), bytes })
    }
}

impl TakenRoom {
    /// Changes the reservation to the bytes really used: returns the rest, or takes what is missing if it is free.
    pub fn resize(&mut self, bytes: Bytes) {
        let room = &self.room.0;
        if let Some(rest) = self.bytes.checked_sub(bytes.get()) {
            room.fetch_add(rest, Ordering::Relaxed);
            self.bytes = bytes.get();
        } else {
            let more = bytes.get() - self.bytes;
            let taken = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| Some(free.saturating_sub(more)));
            self.bytes += more.min(taken.unwrap_or(0));
        }
    }
}

impl Drop for TakenRoom {
    fn drop(&mut self) {
        self.room.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back() {
        let room = SpillMemory::new(Bytes(100));
        let mut first = room.take(Bytes(60)).unwrap();
        assert!(room.take(Bytes(41)).is_none());
        first.resize(Bytes(30));
        let second = room.take(Bytes(70)).unwrap();
        assert!(room.take(Bytes(1)).is_none());
        drop(second);
        first.resize(Bytes(130));
        assert!(room.take(Bytes(1)).is_none());
        drop(first);
        assert!(room.take(Bytes(100)).is_some());
    }
}
