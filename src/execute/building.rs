//! How many partitions are built at a time.
//!
//! All partitions of a batch are built in the same two or three sequential passes over the graph ([`super::batch`]), so a batch
//! is as large as possible. Its sets and blocks of rows must fit the memory that counting leaves, and its spills the disk,
//! together with those of the previous batch, which are being counted meanwhile. It has at least one partition.
//!
//! The environment variable `TRIMILL_BATCH` sets the number of partitions of a batch, for tests.

use std::ops::ControlFlow;

use rayon::ThreadPool;

use super::batch::{BUFFERS, BatchBuilder};
use super::build::{Builder, BuiltPartition, disk_at_most};
use super::host::LEAST_BLOCK;
use super::setup::Setup;
use crate::cache::free_space;
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::partition::batch::Kept;
use crate::plan::Plan;
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::disk::faults::hook;
use trimill_system::error::Result;
use trimill_system::parallel;

/// The most spills that are written at the same time: each is an open file.
const MOST_AT_ONCE: u64 = 128;

/// The environment variable.
const VARIABLE: &str = "TRIMILL_BATCH";

/// Spills are taken to compress to no less than their bound divided by this: with less free disk space a job fails at once.
const COMPRESSED: u64 = 5;

/// How partitions are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Building {
    /// The most partitions of a batch.
    pub many: usize,
    /// Bytes of a block of rows.
    pub block: Bytes,
    /// The most bytes on disk at a time.
    pub disk: Bytes,
}

impl Building {
    /// Chooses for `parts` partitions of a plan, counted on `devices` devices, with `memory` bytes of the host for building and
    /// `spills` bytes for spills that wait there.
    ///
    /// # Errors
    /// When the free space of the disk cannot be read.
    pub fn choose(
        (graph, plan, parts): (&OrientedGraph, &Plan, usize),
        job: &Job,
        (devices, memory, spills): (usize, Bytes, Bytes),
        setup: &Setup,
    ) -> Result<Self> {
        let block = Bytes(memory.get() / 8).clamp(LEAST_BLOCK, setup.host_block());
        let disk = |many: usize| {
            let at_a_time = if job.keep_spill { parts } else { parts.min(2 * many + devices) };
            disk_at_most(plan, at_a_time).saturating_sub(spills)
        };
        let chosen = |many: usize| Self { many, block, disk: disk(many) };
        if let Some(many) = hook(VARIABLE).and_then(|many| many.parse().ok()) {
            return Ok(chosen(usize::max(many, 1)));
        }
        let each = Kept::bytes(graph.vertices()) + BUFFERS;
        let rest = memory.saturating_sub(Bytes(3 * block.get()));
        let most = (rest.get() / each.get()).clamp(1, MOST_AT_ONCE) as usize;
        // As few batches as possible, of about equal size.
        let mut many = parts.div_ceil(parts.div_ceil(most).max(1)).max(1);
        let free = free_space(&setup.spill_dir)?;
        while many > 1 && disk(many) > free {
            many /= 2;
        }
        Ok(chosen(many))
    }

    /// The number of built spills that may wait for `devices` devices.
    pub fn waiting(&self, devices: usize) -> usize {
        self.many.max(devices)
    }

    /// Bytes that must be free on disk: with less, spilling is bound to fail.
    pub fn disk_at_least(&self) -> Bytes {
        Bytes(self.disk.get() / COMPRESSED)
    }
}

/// Builds partitions as a [`Building`] says.
pub struct Builders<'a> {
    /// Builds batches.
    pub batches: BatchBuilder<'a>,
    /// How many at a time.
    pub many: usize,
    /// The thread pool.
    pub pool: &'a ThreadPool,
}

impl<'a> Builders<'a> {
    /// Builds with `builder` as `building` says, in `pool`.
    pub fn new(builder: Builder<'a>, building: Building, pool: &'a ThreadPool) -> Self {
        Self { batches: BatchBuilder::new(builder, building.block), many: building.many, pool }
    }

    /// Builds `parts` in their order, except those that `found` returns; hands the partitions of a batch to `each`, until that
    /// breaks.
    ///
    /// # Errors
    /// When something cannot be read or written; when stopped.
    pub fn build(
        &self,
        parts: &[u32],
        control: &Control,
        found: impl Fn(u32) -> Result<Option<BuiltPartition>>,
        mut each: impl FnMut(BuiltPartition) -> ControlFlow<()>,
    ) -> Result<()> {
        for parts in parts.chunks(self.many) {
            let (mut built, mut missing) = (Vec::new(), Vec::new());
            for &part in parts {
                match found(part)? {
                    Some(spill) => built.push(spill),
                    None => missing.push(part),
                }
            }
            if !missing.is_empty() {
                built.extend(parallel::within(self.pool, || self.batches.build(&missing, control))?);
            }
            if built.into_iter().try_for_each(&mut each).is_break() {
                break;
            }
        }
        Ok(())
    }
}
