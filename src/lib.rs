//! `trimill` counts the triangles of a graph exactly when the graph is far larger than the memory of the device that
//! counts.
//!
//! The data passes these modules in this order:
//!
//! ```text
//! input -> clean -> orient -> assign -> partition (induce, prune) -> plan -> spill -> stream -> count -> report
//! ```
//!
//! [`execute`] runs them for a [`job::Job`]; [`cli`] and [`commands`] are the program around it.

pub mod input;

pub mod clean;

pub mod orient;

pub mod prepare;

pub mod graph;

pub mod assign;

pub mod partition;

pub mod plan;

pub mod spill;

pub mod stream;

pub mod count;

pub mod report;

pub mod run_dir;

pub mod execute;

pub mod bench;

pub mod generate;

pub mod job;

pub mod cli;
pub mod commands;
pub mod pipeline;
pub mod progress;
pub mod request;
pub mod signals;

pub mod bytes;
pub mod control;
pub mod disk;
pub mod error;
mod hex;
pub mod mapped;
pub mod memory;
mod path_text;
pub mod rates;
pub mod sealed;
pub mod text;
pub mod threads;

/// The target of lines that are shown without `-v` though nothing is wrong; see `main.rs`.
pub const NOTE: &str = "trimill::note";

/// Locks a mutex. A thread that panicked while it held the lock makes the job fail as a whole, so what it left behind
/// is never used for a result and the poison needs no handling of its own.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
