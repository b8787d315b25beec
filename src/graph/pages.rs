//! Keeps the resident pages of a mapped graph within bounds.
//!
//! Pages of a mapped file count as memory of the process. The rows of a graph are read in an order that nobody can foretell,
//! so the process's resident file pages are looked up (`/proc/self/statm`, a few microseconds), and all pages of the
//! mapping are given back before they can pass the limit. They stay in the system's page cache as long as there is room, so
//! touching them again costs a minor fault.
//!
//! How often is enough? A fault maps at most `FAULT` bytes around the page that was touched, so after a look that finds
//! some room, so many accesses are free; then comes the next look. Every access by row counts ([`PageLimit::accessed`]); who
//! reads many rows in the order of the file looks after every few thousand instead ([`PageLimit::look`]).
//!
//! Invariant: resident pages stay within the limit, if that is at least four times `threads * OWN * FAULT`, and reach what
//! [`PageLimit::usual`] says if the file is larger.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::lock;

/// Bytes of a file that a fault makes resident at most: `fault_around_bytes` of Linux.
const FAULT: u64 = 64 << 10;

/// Accesses that a thread counts by itself.
const OWN: u32 = 32;

thread_local! {
    static COUNTED: Cell<u32> = const { Cell::new(0) };
}

/// A limit on resident pages of mapped files.
#[derive(Debug)]
pub struct PageLimit {
    limit: AtomicU64,
    /// Accesses that are free before the next look.
    free: AtomicI64,
    /// Held from a look until what it found was acted upon: else a thread that is slow to act would let others go on by what it
    /// saw long ago.
    looking: Mutex<()>,
}

impl Default for PageLimit {
    fn default() -> Self {
        Self { limit: AtomicU64::new(u64::MAX), free: AtomicI64::new(i64::MAX), looking: Mutex::default() }
    }
}

impl PageLimit {
    /// Sets the limit in bytes.
    pub fn set(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        self.free.store(0, Ordering::Relaxed);
    }

    /// The limit in bytes.
    pub fn get(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Counts an access to `bytes` in a piece, anywhere in the file. Calls `release` when pages are to be given back.
    #[inline]
    pub fn accessed(&self, bytes: u64, release: impl FnOnce()) {
        if self.limit.load(Ordering::Relaxed) == u64::MAX {
            return;
        }
        let faults = 1 + (bytes / FAULT) as u32;
        COUNTED.with(|counted| {
            let all = counted.get() + faults;
            counted.set(if all < OWN { all } else { 0 });
            if all >= OWN {
                self.passed_on(i64::from(all), release);
            }
        });
    }

    /// Takes accesses over from a thread. Apart, so that the way without is short.
    #[cold]
    fn passed_on(&self, accesses: i64, release: impl FnOnce()) {
        if self.free.fetch_sub(accesses, Ordering::Relaxed) <= accesses {
            let looking = lock(&self.looking);
            // Another thread may have looked while this one waited.
            if self.free.load(Ordering::Relaxed) <= 0 {
                self.look_and(release);
            }
            drop(looking);
        }
    }

    /// Looks whether pages are to be given back now, and calls `release` if so.
    pub fn look(&self, release: impl FnOnce()) {
        if self.limit.load(Ordering::Relaxed) != u64::MAX {
            let looking = lock(&self.looking);
            self.look_and(release);
            drop(looking);
        }
    }

    fn look_and(&self, release: impl FnOnce()) {
        let limit = self.limit.load(Ordering::Relaxed);
        // Without a limit nobody needs to look, and where the system does not tell nobody can.
        let Some(resident) = resident_file_bytes().filter(|_| limit != u64::MAX) else {
            self.free.store(i64::MAX, Ordering::Relaxed);
            return;
        };
        let most = limit - margin(limit);
        if resident > most {
            release();
        }
        // After pages were given back, a first look soon tells how many are left.
        let room = most.saturating_sub(resident).max(not_passed_on());
        self.free.store((room / FAULT) as i64, Ordering::Relaxed);
    }

    /// How many bytes of mapped files stay, besides what is resident now.
    pub fn usual(&self) -> u64 {
        let limit = self.limit.load(Ordering::Relaxed);
        (limit - margin(limit)).saturating_sub(resident_file_bytes().unwrap_or(0))
    }
}

/// What the accesses may have touched that threads have not passed on.
fn not_passed_on() -> u64 {
    rayon::current_num_threads() as u64 * u64::from(OWN) * FAULT
}

/// How far below the limit pages are given back: what threads have not passed on, and the least that is free after a look.
fn margin(limit: u64) -> u64 {
    (2 * not_passed_on()).min(limit / 2)
}

/// Bytes of resident pages that belong to files.
pub fn resident_file_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
