//! Builds partitions in batches. A batch takes two or three sequential passes over the graph ([`trimill_partitioners::build::spills`]), so it is as
//! large as possible: its sets and blocks of rows must fit the memory that counting leaves, and the disk its spills and those of the previous batch,
//! which is being counted. The environment variable `TRIMILL_BATCH` sets the number of partitions in a batch, for tests.

use std::ops::ControlFlow;

use rayon::ThreadPool;

use super::host::LEAST_BLOCK;
use super::planned::Planned;
use super::spill_dir::SpillDir;
use crate::plan::Plan;
use trimill_partitioners::build::spills::BUFFERS;
use trimill_partitioners::build::{Builder, BuiltPartition};
use trimill_partitioners::partition::assignment::Assignment;
use trimill_partitioners::partition::kept::Kept;
use trimill_system::disk::{self, faults::hook};
use trimill_system::memory::SharedBudget;
use trimill_system::{Bytes, Control, Result, parallel};

/// The most spills that are written at the same time: each is an open file.
const MOST_AT_ONCE: u64 = 128;

const VARIABLE: &str = "TRIMILL_BATCH";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPlan {
    pub many: usize,
    pub block: Bytes,
    /// The most that spills take of the disk at a time.
    pub disk: Bytes,
}

impl Planned {
    /// Chooses how `parts` partitions are built; `kept`: all of them stay on disk.
    pub(super) fn plan_batches(&self, parts: usize, kept: bool) -> Result<BatchPlan> {
        let Self { session, graph, plan, limits, chosen, .. } = self;
        let division = chosen.division;
        let memory = division.building.unwrap_or_default() + division.counting.saturating_sub(chosen.on_host);
        let block = Bytes(memory.get() / 8).clamp(LEAST_BLOCK, session.host_block());
        let disk = |many: usize| {
            if kept {
                return disk_at_most(plan, parts);
            }
            // One spill for each device besides those of two batches.
            disk_at_most(plan, parts.min(2 * many + limits.parts as usize)).saturating_sub(division.spills)
        };
        let chosen = |many: usize| BatchPlan { many, block, disk: disk(many) };
        if let Some(many) = hook(VARIABLE).and_then(|many| many.parse().ok()) {
            return Ok(chosen(usize::max(many, 1)));
        }
        let each = Kept::bytes(graph.vertices()) + BUFFERS;
        let rest = memory.saturating_sub(Bytes(3 * block.get()));
        let most = (rest.get() / each.get()).clamp(1, MOST_AT_ONCE) as usize;
        let mut many = parts.div_ceil(parts.div_ceil(most).max(1)).max(1);
        let free = disk::free_space(&session.spill_dir)?;
        while many > 1 && disk(many) > free {
            many /= 2;
        }
        Ok(chosen(many))
    }

    /// `locals` are the sets of the partitions, which are built in `dir`, or in memory within `room`.
    pub(super) fn batch_builder<'a>(
        &'a self,
        locals: &'a Assignment,
        dir: &'a SpillDir,
        room: &'a SharedBudget,
        batches: BatchPlan,
    ) -> BatchBuilder<'a> {
        let Self { graph, plan, fingerprint, session, .. } = self;
        let builder = Builder {
            graph,
            locals,
            sizes: plan.partitions.iter().map(|planned| planned.size).collect(),
            row_block_limit: plan.row_block_limit,
            prune: session.job.settings.partition.prune(),
            dir: &dir.path,
            room,
            fingerprint: *fingerprint,
            durable: dir.keeps,
        };
        BatchBuilder { builder, batches, pool: &session.pool, resumes: dir.lasts }
    }
}

pub struct BatchBuilder<'a> {
    pub(super) builder: Builder<'a>,
    batches: BatchPlan,
    pool: &'a ThreadPool,
    /// Whether valid spills of an earlier start are used.
    resumes: bool,
}

impl BatchBuilder<'_> {
    pub fn batch(&self, parts: &[u32], control: &Control) -> Result<Vec<BuiltPartition>> {
        parallel::within(self.pool, || self.builder.build(self.batches.block, parts, control))
    }

    /// Builds the missing ones of `parts` in order; hands the partitions of a batch to `each` until `each` breaks.
    pub fn build(
        &self,
        parts: &[u32],
        control: &Control,
        mut each: impl FnMut(BuiltPartition) -> ControlFlow<()>,
    ) -> Result<()> {
        let Builder { dir, fingerprint, .. } = self.builder;
        for parts in parts.chunks(self.batches.many) {
            let (mut built, mut missing) = (Vec::new(), Vec::new());
            for &part in parts {
                let found = if self.resumes { BuiltPartition::found(dir, part, fingerprint)? } else { None };
                match found {
                    Some(spill) => built.push(spill),
                    None => missing.push(part),
                }
            }
            if !missing.is_empty() {
                built.extend(self.batch(&missing, control)?);
            }
            if built.into_iter().try_for_each(&mut each).is_break() {
                break;
            }
        }
        Ok(())
    }
}

pub fn disk_at_most(plan: &Plan, at_a_time: usize) -> Bytes {
    let mut spills: Vec<u64> = plan.partitions.iter().map(|planned| planned.predicted.spill.get()).collect();
    spills.sort_unstable_by(|a, b| b.cmp(a));
    Bytes(spills.iter().take(at_a_time).sum())
}
