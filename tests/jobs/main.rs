//! Whole jobs: their counts, what they take, and how they end and go on.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod arrays;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod counts;
mod devices;
mod figures;
mod files;
mod kept;
mod lcc;
mod memory;
mod names;
mod prepared;
mod remote;
mod resume;
mod threads;
mod truss;
mod vertices;
