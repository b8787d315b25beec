//! The triangles on each edge: its support.
//!
//! Input: what devices counted at the arcs of partitions, in rank order. Output: the sum at each arc ([`sums`]), counts of partitions
//! that are kept ([`part`]), and files ([`files`]) whose rows are in the order of the input's ids. Every triangle adds 1 on each of its
//! three edges, in the one partition where it is counted, so the sums add up to three times the triangles.

pub mod sums;

pub use sums::Sums;
