//! What all stages of [`trimill`](https://crates.io/crates/trimill) use: errors, sizes, progress, files, memory, threads. It changes without notice.
//!
//! | module | what it has |
//! | --- | --- |
//! | `error`, `text`, `path_text` | errors with the file, what was found, what was expected and what to do; text that a terminal can show |
//! | `bytes`, `hex`, `whole`, `hash` | sizes in bytes; numbers and bytes as hexadecimal digits; whole numbers in settings; a hash of a number |
//! | `child` | child processes of the program |
//! | `control`, `expected`, `timeline` | stopping a job and its progress; the share of it that is done; what ran when |
//! | `disk`, `free_disk`, `sealed` | all writes to disk; its free space; JSON files with a checksum |
//! | `mapped`, `memory` | memory maps, large arrays of zeros; the memory of the host that a job uses, and what threads take of it |
//! | `threads`, `parallel`, `ordered` | thread pools and panics; parallel loops; writing in order what threads make |
//! | `machine` | what the machine is |
//! | `url` | inputs that are named by a URL, and what of it may be shown |
//!
//! What nearly every file needs is at the root: [`Bytes`], [`Control`], [`Error`], its [`Kind`] and [`Result`].

#[cfg(target_endian = "big")]
compile_error!(
    "files of graphs and of counts have the byte order of little-endian processors, and no other is supported"
);

pub mod bytes;
pub mod child;
pub mod control;
pub mod disk;
pub mod error;
pub mod expected;
pub mod free_disk;
pub mod hash;
pub mod hex;
pub mod integers;
pub mod machine;
pub mod mapped;
pub mod memory;
pub mod ordered;
pub mod parallel;
pub mod path_text;
pub mod sealed;
pub mod text;
pub mod threads;
pub mod timeline;
pub mod url;

pub use bytes::Bytes;
pub use control::Control;
pub use error::{Error, Kind, Result};

use std::ops::{AddAssign, Range};
use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Ignores poisoning: a panic while holding a lock fails the job, so the state it left behind reaches no result.
pub fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// The exclusive prefix sums of `lengths`, and their total as the last item: offsets as in CSR.
pub fn starts_of<T: Copy + Default + AddAssign>(lengths: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut end = T::default();
    let ends = lengths.into_iter().map(|length| {
        end += length;
        end
    });
    std::iter::once(T::default()).chain(ends).collect()
}

/// The first number of `range` for which `holds`, by binary search; its end if there is none. It must hold for all larger ones, too.
pub fn first_where(range: Range<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    let Range { start: mut first, mut end } = range;
    while first < end {
        let middle = first.midpoint(end);
        if holds(middle) { end = middle } else { first = middle + 1 }
    }
    first
}
