//! What stands between `trimill` and a GPU. Knows nothing of the pipeline: slices in, counts out.
//!
//! [`find`] and [`nvrtc`] ask what this machine has and say in a typed reason what it lacks. They come before any other
//! use of the driver: the libraries are opened while the program runs, and a later call into a missing one would panic.
#![warn(missing_docs, unreachable_pub)]
#![warn(clippy::undocumented_unsafe_blocks, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod find;

pub use find::{Absence, Device, Devices, Version, find, nvrtc};
