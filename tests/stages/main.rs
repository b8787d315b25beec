//! Single stages through `trimill::testing`, and the files between them: readers, generators, preparing, partitions, plans, formats.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod building;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod damage;
mod directions;
mod far;
mod generate;
mod graph_format;
mod partition_sizes;
mod partitions;
mod planner;
mod prepare;
mod readers;
mod seeds;
mod spill_format;
mod spill_support;
#[path = "../../fuzz/targets/mod.rs"]
mod targets;
