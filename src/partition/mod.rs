//! Partitions: induced subgraphs, pruning, sizes.

pub mod section;
