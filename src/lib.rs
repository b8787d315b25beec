//! `trimill` counts the triangles of a graph exactly when the graph is far larger than the memory of the device that
//! counts.
//!
//! The modules stand in the order in which the data passes them:
//!
//! ```text
//! input -> clean -> orient -> assign -> induce -> prune -> spill -> stream -> count -> report
//! ```

pub mod bytes;
pub mod cli;
pub mod commands;
pub mod control;
pub mod error;
pub mod graph;
pub mod input;
pub mod job;
pub mod mapped;
pub mod partition;
pub mod pipeline;
pub mod progress;
pub mod report;
pub mod request;
pub mod signals;
