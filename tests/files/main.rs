//! What is trusted on disk: inputs that change, cached graphs that are stale, crafted or somebody else's, folders that others
//! can look into, run directories that are none.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../common/mod.rs"]
mod common;
mod crafted;
mod folders;
mod inputs;
mod place;
mod sharing;
