//! Threads that panic: an error of their job, which says whose thread it was.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// How a thread is called that nobody knows more of: one of the pool, as a rule.
pub const WORKER: &str = "a worker thread";

/// The value of a thread, or an error in place of its panic.
///
/// # Errors
/// [`crate::error::Kind::Resource`] when it panicked.
pub fn joined<T>(who: &str, result: std::thread::Result<T>) -> Result<T> {
    result.map_err(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Error::resource(format!("{who} failed: {what}")).advice("this is a defect; please report it")
    })
}

/// What `work` returns, or an error in place of its panic. What `work` changed is not used again where it panicked.
///
/// # Errors
/// As [`joined`].
pub fn guarded<T>(who: &str, work: impl FnOnce() -> T) -> Result<T> {
    joined(who, catch_unwind(AssertUnwindSafe(work)))
}
