//! Partitions: assignments, induced subgraphs, pruning, sizes, and the sections that travel.

pub mod assignment;
pub mod batch;
pub mod bit_counter;
pub mod cuts;
pub mod induce;
mod masks;
pub mod outline;
pub mod prune;
mod reach;
pub mod reads;
pub mod section;
pub mod sections;
pub mod sizes;
pub mod words;
