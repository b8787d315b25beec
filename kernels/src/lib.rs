//! What stands between `trimill` and a GPU. Knows nothing of the pipeline: slices in, counts out.
//!
//! [`find`] and [`nvrtc`] ask what this machine has and say in a typed reason what it lacks. They come before any other
//! use of the driver: the libraries are opened while the program runs, and a later call into a missing one would panic.
#![warn(missing_docs, unreachable_pub)]
#![warn(clippy::undocumented_unsafe_blocks, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod cache;
mod compile;
mod error;
mod find;
mod image;
mod nvrtc;
#[cfg(test)]
mod testing;

pub use compile::{LSTC, SOURCES, cubin, ptx};
pub use error::{Error, Result};
pub use find::{Absence, Device, Devices, Version, find, nvrtc};
pub use image::{Images, LSTC_PTX, Origin, PTX_CAPABILITY, ptx_stamp};
pub use nvrtc::{NVRTC_VARIABLE, Nvrtc, Source};
