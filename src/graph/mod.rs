//! The oriented graph and the sets and numbers that belong to it.

pub mod bits;
mod checked;
pub mod file;
mod layout;
pub mod numbering;
pub mod oriented;
pub mod pages;
pub mod pass;

pub use oriented::{Arrays, OrientedGraph};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "far/tests.rs"]
mod far;
