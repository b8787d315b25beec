//! Measures the bytes that are held, and their peak.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::bytes::Bytes;

/// Bytes held now, and the most so far.
#[derive(Debug, Default)]
pub struct Meter {
    held: AtomicU64,
    peak: AtomicU64,
}

impl Meter {
    /// Adds `bytes` to those held.
    pub fn take(&self, bytes: Bytes) {
        let held = self.held.fetch_add(bytes.get(), Ordering::Relaxed) + bytes.get();
        self.peak.fetch_max(held, Ordering::Relaxed);
    }

    /// Something that held `before` bytes now holds `after`.
    pub fn change(&self, before: Bytes, after: Bytes) {
        self.take(after.saturating_sub(before));
        self.held.fetch_sub(before.saturating_sub(after).get(), Ordering::Relaxed);
    }

    /// The most that was held at a time.
    pub fn peak(&self) -> Bytes {
        Bytes(self.peak.load(Ordering::Relaxed))
    }
}
