//! What is told in the end: the result, its table and its files.

pub mod station;
