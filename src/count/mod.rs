//! Counting.

pub mod verify;
