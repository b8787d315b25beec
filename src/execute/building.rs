//! How partitions are built: one by one, or in batches from the same passes over the graph.
//!
//! The rule: where the rows fit the pages that may be resident, or there is one partition, one by one, which writes nothing
//! besides. Else by whichever way reads less (`partition::reads`): random parts of a crawl or a social network share the passes; parts
//! of neighbouring ids, whose locals are one piece and whose proxies are few, are mostly read faster alone.
//!
//! A batch takes the memory of the pages, which it does not need: windows of rows, then as many partitions as find room. Its
//! spills exist at the same time, while those of the batch before are being counted, and beside all rows once more; where the
//! disk has no room for that, batches are smaller, and where it has none for any, partitions are built one by one.
//!
//! Measured on two cores that others used, too: 129 million edges of a Kronecker graph (rows of 517 MB) in 12 random parts, from
//! the first mark to the last spill. With the process and its page cache held to 400 MB, of which 64 MiB for pages: two batches
//! took 39 s and read the rows seven times, 3.6 GB; alone, 8 of the parts took 377 s and about 4 GB each. All in the page cache,
//! and room for 64 MiB of pages: 14 s and 28 s. With room for all pages, in one batch, 9.1 s and 12.5 s: batches are not slower
//! there, but they take disk for the rows and for all their spills at once, and nothing is counted before they are built.
//!
//! The environment variable `TRIMILL_BATCH` says how many partitions a batch has, whatever the rule says; 0 and 1 mean one by one.
//! Tests use it on graphs that fit any memory, and benchmarks to compare both ways.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

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
use crate::job::{Job, Prune};
use crate::partition::batch::Kept;
use crate::partition::reads::{alone, together};
use crate::plan::Plan;
use crate::report::Station;
use crate::shared::Dealt;

/// The most spills that are written at the same time: each is an open file.
const MOST_AT_ONCE: u64 = 128;

/// Bytes of a window of rows.
const WINDOW: [Bytes; 2] = [Bytes::mib(1), Bytes::mib(16)];

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
    /// Bytes of a window of rows.
    pub window: Bytes,
    /// Bytes of memory while rows are dealt to windows.
    pub memory: Bytes,
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
            Self { batches: Some(batches), at_a_time, disk: disk(at_a_time) + Dealt::disk(graph) }
        };
        if let Some(many) = asked() {
            return Ok(if many > 1 { in_batches(Batches::of(many, pages.min(ENOUGH))) } else { one_by_one });
        }
        let Some(mut batches) = Batches::fitting(graph, parts.len(), pages) else { return Ok(one_by_one) };
        let alone = alone(graph, &plan.assignment, (&plan.sizes, parts), job.prune, pages);
        let (free, free_for_rows) = (free_space(&setup.spill_dir)?, free_space(&setup.work_dir)?);
        loop {
            if batches.reads(graph, parts.len(), job.prune) >= alone {
                return Ok(one_by_one);
            }
            let chosen = in_batches(batches);
            if chosen.disk <= free && Dealt::disk(graph) <= free_for_rows {
                return Ok(chosen);
            }
            batches.many /= 2;
            if batches.many < 2 {
                return Ok(one_by_one);
            }
        }
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
        // Two windows, of which one is being read: heads, starts, and keys that are sorted.
        let rest = memory.saturating_sub(Bytes(5 * all.window.get()));
        let each = Kept::bytes(graph.vertices()) + BUFFERS;
        let most = (rest.get() / each.get()).min(MOST_AT_ONCE) as usize;
        // As many batches as there must be, all about as large.
        (most > 1).then(|| Self { many: parts.div_ceil(parts.div_ceil(most)), ..all })
    }

    /// Batches of `many`, with windows for so much memory.
    fn of(many: usize, memory: Bytes) -> Self {
        let [least, most] = WINDOW;
        Self { many, window: Bytes(memory.get() / 16).clamp(least, most), memory }
    }

    /// Bytes that are resident while batches are built, apart from encoders: who is local where and where rows begin; besides, while
    /// rows are dealt, mapped pages and as much to write, then windows and the partitions of a batch.
    pub fn resident(&self, graph: &OrientedGraph) -> Bytes {
        let n = u64::from(graph.vertices());
        let dealing = self.memory.min(Bytes(2 * graph.csr_bytes().get()));
        let each = Kept::bytes(graph.vertices()) + BUFFERS;
        let building = Bytes(5 * self.window.get() + self.many as u64 * each.get());
        Bytes::of::<u32>(2 * n) + dealing.max(building)
    }

    fn reads(&self, graph: &OrientedGraph, parts: usize, level: Prune) -> Bytes {
        together(graph, parts.div_ceil(self.many) as u64, level)
    }
}

/// Builds partitions in the way that was chosen.
pub struct Builders<'a> {
    /// Builds one.
    pub builder: Builder<'a>,
    /// How it was chosen.
    pub building: Building,
    /// Where rows are dealt to windows.
    pub work_dir: &'a Path,
    /// Where everything runs.
    pub pool: &'a ThreadPool,
}

impl Builders<'_> {
    /// Builds `parts` in their order, those excepted that `found` has; hands on what there is together, until `each` wants no
    /// more. Returns how long rows were dealt, if they were.
    ///
    /// # Errors
    /// When something cannot be read or written; when stopped.
    pub fn build(
        &self,
        parts: &[u32],
        control: &Control,
        found: impl Fn(u32) -> Result<Option<Built>>,
        mut each: impl FnMut(Built) -> ControlFlow<()>,
    ) -> Result<Option<Duration>> {
        let (dealt, batch_builder) = (OnceLock::new(), OnceLock::new());
        for parts in parts.chunks(self.building.batches.map_or(1, |batches| batches.many)) {
            let (mut built, mut missing) = (Vec::new(), Vec::new());
            for &part in parts {
                match found(part)? {
                    Some(spill) => built.push(spill),
                    None => missing.push(part),
                }
            }
            built.extend(match self.building.batches.filter(|_| missing.len() > 1) {
                None => {
                    let alone = missing.iter().map(|&part| self.pool.install(|| self.builder.build(part, control)));
                    alone.collect::<Result<Vec<_>>>()?
                }
                Some(batches) => self.pool.install(|| {
                    if dealt.get().is_none() {
                        let _ = dealt.set(self.deal(batches, control)?);
                    }
                    let builder = dealt
                        .get()
                        .map(|(rows, _)| batch_builder.get_or_init(|| BatchBuilder::new(self.builder, rows)));
                    builder.map_or(Ok(Vec::new()), |builder| builder.build(&missing, control))
                })?,
            });
            if built.into_iter().try_for_each(&mut each).is_break() {
                break;
            }
        }
        Ok(dealt.get().map(|&(_, time)| time))
    }

    fn deal(&self, batches: Batches, control: &Control) -> Result<(Dealt<'_>, Duration)> {
        let start = Instant::now();
        let rows = Dealt::new(self.builder.graph, self.work_dir, batches.window, batches.memory, control)?;
        Ok((rows, start.elapsed()))
    }
}

/// The station that dealing was.
pub fn dealt_station(graph: &OrientedGraph, dealing: Option<Duration>) -> Option<Station> {
    dealing.map(|time| Station::new("gather", time, graph.csr_bytes(), Dealt::disk(graph)))
}
