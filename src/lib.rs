//! `trimill` counts the triangles of a graph exactly when the graph is far larger than the memory of the device that
//! counts.
//!
//! The modules stand in the order in which the data passes them:
//!
//! ```text
//! input -> clean -> orient -> assign -> induce -> prune -> spill -> stream -> count -> report
//! ```

pub mod bytes;
pub mod clean;
pub mod control;
pub mod count;
pub mod error;
pub mod generate;
pub mod graph;
pub mod input;
pub mod mapped;
pub mod orient;
pub mod partition;
pub mod plan;
pub mod prepare;
pub mod report;
pub mod spill;
pub mod stream;

/// Locks a mutex. A thread that panicked while it held the lock makes the job fail as a whole, so what it left behind
/// is never used for a result and the poison needs no handling of its own.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
