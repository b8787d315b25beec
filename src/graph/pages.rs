//! Keeps the resident pages of a mapped graph within bounds.
//!
//! Pages of a mapped file count as memory of the process. The rows of a graph are read in an order that nobody knows
//! beforehand, so nothing is predicted: every few thousand rows the process's resident file pages are looked up
//! (`/proc/self/statm`, a few microseconds), and when they are over the limit all pages of the mapping are given back.
//! They stay in the system's page cache as long as there is room, so touching them again costs a minor fault.

use std::sync::atomic::{AtomicU64, Ordering};

/// A limit on resident pages of mapped files.
#[derive(Debug)]
pub struct PageLimit {
    limit: AtomicU64,
}

impl Default for PageLimit {
    fn default() -> Self {
        Self { limit: AtomicU64::new(u64::MAX) }
    }
}

impl PageLimit {
    /// Sets the limit in bytes.
    pub fn set(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Whether the process holds more than the limit. Always false where the system does not tell.
    pub fn is_exceeded(&self) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        limit != u64::MAX && resident_file_bytes().is_some_and(|bytes| bytes > limit)
    }
}

/// Bytes of resident pages that belong to files.
fn resident_file_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
