//! What stands between `trimill` and a GPU. Knows nothing of the pipeline: slices in, counts out.
//!
//! [`find()`] and [`nvrtc()`] ask what this machine has and say in a typed reason what it lacks. They come before any other
//! use of the driver: the libraries are opened while the program runs, and a later call into a missing one would panic.
//! [`Gpu::open`] does so by itself, gets the kernels (compiled by NVRTC and cached, or the embedded PTX) and makes the queues;
//! [`Gpu::reserve`] takes the budget's memory; a [`Counter`] counts one partition, row block by row block.
#![allow(unsafe_code, reason = "the driver and NVRTC are libraries of C")]

mod arena;
mod cache;
mod compact;
mod compile;
mod device;
mod engine;
mod error;
mod find;
mod image;
mod lstc;
mod nvrtc;
mod order;
pub mod packed;
pub mod papers;
mod staging;
#[cfg(test)]
mod testing;
mod waiting;

pub use compact::{BINS, CompactPart, CompactSlices, bin_shift};
pub use compile::{LSTC, PACKED, POLAK, RADIX_BINNING, REVERSE_EDGE, SKIFF, SOURCES, UNPACK, cubin, ptx};
pub use device::Gpu;
pub use error::{Error, Result};
pub use find::{Absence, Device, Devices, Version, find, nvrtc};
pub use image::{Images, Origin, PTX_CAPABILITY, embedded_ptx, ptx_stamp};
pub use lstc::sections::{ResidentSlices, RowBlockSlices, Size, row_block_bytes};
pub use lstc::shape::Shape;
pub use lstc::{Counted, Counter, TERMS, Terms, device_bytes};
pub use nvrtc::{NVRTC_VARIABLE, Nvrtc, Source};
pub use staging::{BYTES as STAGING_BYTES, Pinned};
pub use waiting::{USUAL_LIMIT, any_abandoned};
