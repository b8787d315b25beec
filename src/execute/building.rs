//! How partitions are built: one by one, or in batches from the same passes over the graph.
//!
//! The rule: where the rows fit the pages that may be resident, or there is one partition, one by one; else in batches. Rows stand
//! in rank order, so a partition that is built alone reads them all over the file, and without room for its pages nearly every
//! row is a page that is read again; a batch reads the file in sequence, three or four times for all of its partitions.
//!
//! A batch takes the memory of the pages, which it does not need: two blocks of rows, then as many partitions as find room. Its
//! spills exist at the same time, while those of the batch before are being counted; where the disk has no room for that,
//! batches are smaller, and where it has none for any, partitions are built one by one.
//!
//! The environment variable `TRIMILL_BATCH` says how many partitions a batch has, whatever the rule says; 0 and 1 mean one by one.
//! Tests use it on graphs that fit any memory, and benchmarks to compare both ways.

use std::ops::ControlFlow;

use rayon::ThreadPool;

use super::batch::{BUFFERS, BatchBuilder};
use super::build::{Builder, Built, disk_needed};
use super::devices::spills_at_a_time;
use super::setup::Setup;
use crate::bytes::Bytes;
use crate::clean::cache::free_space;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::partition::batch::{Kept, array_bytes};
use crate::plan::Plan;

/// The most spills that are written at the same time: each is an open file.
const MOST_AT_ONCE: u64 = 128;

/// Bytes of a block of rows, at least and at most.
const BLOCK: [Bytes; 2] = [Bytes::mib(1), Bytes::mib(16)];

/// Memory beyond which batches of a number that was asked for gain nothing.
const ENOUGH: Bytes = Bytes::mib(256);

/// The variable.
const VARIABLE: &str = "TRIMILL_BATCH";

/// A way to build partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Building {
    /// In batches.
    pub batches: Option<Batches>,
    /// Spills that exist at a time.
    pub at_a_time: usize,
    /// Bytes that must be free on disk.
    pub disk: Bytes,
}

/// What the variable says.
fn asked() -> Option<usize> {
    std::env::var(VARIABLE).ok()?.parse().ok()
}

/// Batches of partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batches {
    /// The most partitions of a batch.
    pub many: usize,
    /// Bytes of a block of rows.
    pub block: Bytes,
}

impl Building {
    /// Chooses for `parts` of a plan, which so many devices count.
    ///
    /// # Errors
    /// When the disks do not tell how much is free.
    pub fn choose(
        (graph, plan, parts): (&OrientedGraph, &Plan, &[u32]),
        job: &Job,
        devices: usize,
        setup: &Setup,
    ) -> Result<Self> {
        let disk = |at_a_time| disk_needed(plan, at_a_time).saturating_sub(setup.spill_memory(job));
        let at_a_time = if job.keep_spill { parts.len() } else { spills_at_a_time(devices) };
        let one_by_one = Self { batches: None, at_a_time, disk: disk(at_a_time) };
        let pages = graph.page_limit();
        let in_batches = |batches: Batches| {
            let at_a_time = if job.keep_spill { parts.len() } else { 2 * batches.many + devices };
            Self { batches: Some(batches), at_a_time, disk: disk(at_a_time) }
        };
        if let Some(many) = asked() {
            return Ok(if many > 1 { in_batches(Batches::of(many, pages.min(ENOUGH))) } else { one_by_one });
        }
        let Some(mut batches) = Batches::fitting(graph, parts.len(), pages) else { return Ok(one_by_one) };
        let free = free_space(&setup.spill_dir)?;
        while batches.many > 1 {
            let chosen = in_batches(batches);
            if chosen.disk <= free {
                return Ok(chosen);
            }
            batches.many /= 2;
        }
        Ok(one_by_one)
    }
}

impl Building {
    /// Built spills that may wait for so many devices.
    pub fn waiting(&self, devices: usize) -> usize {
        self.batches.map_or(devices, |batches| batches.many.max(devices))
    }
}

impl Batches {
    /// The largest that fit the memory of so many bytes of pages, if the rows do not.
    fn fitting(graph: &OrientedGraph, parts: usize, memory: Bytes) -> Option<Self> {
        if parts < 2 || graph.csr_bytes() <= memory {
            return None;
        }
        let all = Self::of(parts, memory);
        let rest = memory.saturating_sub(Bytes(2 * all.block.get()));
        let each = Kept::bytes(graph.vertices()) + BUFFERS;
        let most = (rest.get() / each.get()).min(MOST_AT_ONCE) as usize;
        // As many batches as there must be, all about as large.
        (most > 1).then(|| Self { many: parts.div_ceil(parts.div_ceil(most)), ..all })
    }

    /// Batches of `many`, with blocks for so much memory.
    fn of(many: usize, memory: Bytes) -> Self {
        let [least, most] = BLOCK;
        Self { many, block: Bytes(memory.get() / 16).clamp(least, most) }
    }

    /// Bytes that are resident while batches are built, apart from encoders: who is local where, two blocks, and the partitions of
    /// a batch.
    pub fn resident(&self, graph: &OrientedGraph) -> Bytes {
        let each = Kept::bytes(graph.vertices()) + BUFFERS;
        array_bytes(graph.vertices()) + Bytes(2 * self.block.get() + self.many as u64 * each.get())
    }
}

/// Builds partitions in the way that was chosen.
pub struct Builders<'a> {
    /// Builds one.
    pub builder: Builder<'a>,
    /// How it was chosen.
    pub building: Building,
    /// Where everything runs.
    pub pool: &'a ThreadPool,
}

impl Builders<'_> {
    /// Builds `parts` in their order, those excepted that `found` has; hands on what there is together, until `each` wants no
    /// more.
    ///
    /// # Errors
    /// When something cannot be read or written; when stopped.
    pub fn build(
        &self,
        parts: &[u32],
        control: &Control,
        found: impl Fn(u32) -> Result<Option<Built>>,
        mut each: impl FnMut(Built) -> ControlFlow<()>,
    ) -> Result<()> {
        let in_batches = self.building.batches.map(|batches| BatchBuilder::new(self.builder, batches.block));
        for parts in parts.chunks(self.building.batches.map_or(1, |batches| batches.many)) {
            let (mut built, mut missing) = (Vec::new(), Vec::new());
            for &part in parts {
                match found(part)? {
                    Some(spill) => built.push(spill),
                    None => missing.push(part),
                }
            }
            built.extend(self.pool.install(|| match in_batches.as_ref().filter(|_| missing.len() > 1) {
                Some(batches) => batches.build(&missing, control),
                None => missing.iter().map(|&part| self.builder.build(part, control)).collect(),
            })?);
            if built.into_iter().try_for_each(&mut each).is_break() {
                break;
            }
        }
        Ok(())
    }
}
