//! Builds partitions: induce, prune, spill.

use std::path::Path;
use std::time::{Duration, Instant};

use super::room::{Room, Taken};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::disk;
use crate::error::{Kind, Result};
use crate::graph::OrientedGraph;
use crate::partition::prune::{Prune, prune};
use crate::partition::sections::Sections;
use crate::plan::Plan;
use crate::spill::{Codec, PartitionHeader, SpillReader, SpillSummary, SpillWriter};

/// A partition on disk, and what it took to build.
pub struct Built {
    /// The number of the partition.
    pub part: u32,
    /// The spill.
    pub spill: SpillSummary,
    /// Its share of the memory, while the spill is there.
    pub held: Option<Taken>,
    /// How long inducing took.
    pub inducing: Duration,
    /// How long pruning took.
    pub pruning: Duration,
    /// How long filtering, encoding and writing took.
    pub spilling: Duration,
}

/// What all partitions of a job have in common.
#[derive(Clone, Copy)]
pub struct Builder<'a> {
    /// The graph.
    pub graph: &'a OrientedGraph,
    /// The plan.
    pub plan: &'a Plan,
    /// What is pruned.
    pub prune: Prune,
    /// Where the spills go that have no room in memory.
    pub dir: &'a Path,
    /// Room for spills in memory.
    pub room: &'a Room,
    /// Marks the spills of this job.
    pub fingerprint: u128,
}

impl Builder<'_> {
    /// Builds one partition; runs in the current thread pool.
    ///
    /// # Errors
    /// When the spill cannot be written, or when stopped.
    pub fn build(&self, part: u32, control: &Control) -> Result<Built> {
        let start = Instant::now();
        let locals = self.plan.assignment.locals(part);
        let pruned = prune(self.graph, locals, self.prune, control)?;
        let inducing = pruned.inducing;
        let pruning = start.elapsed() - inducing;
        let start = Instant::now();
        let _order = self.graph.any_order();
        let sections = Sections::new(&pruned);
        let (mut writer, mut held) = self.begin(part, sections.numbered())?;
        sections.resident(control, |chunk| writer.resident(&chunk))?;
        sections.frames(self.plan.frame_limit, control, |frame| writer.frame(&frame))?;
        let spill = writer.finish()?;
        if let Some(held) = &mut held {
            held.settle(Bytes(spill.bytes));
        }
        Ok(Built { part, spill, held, inducing, pruning, spilling: start.elapsed() })
    }

    /// Begins a partition's spill, in memory where there is room.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(&self, part: u32, numbered: u32) -> Result<(SpillWriter, Option<Taken>)> {
        let size = &self.plan.sizes[part as usize];
        let header = PartitionHeader {
            partition: part,
            fingerprint: self.fingerprint,
            locals: self.plan.assignment.locals(part).len() as u32,
            numbered,
            proxies_induced: size.proxies_induced,
            proxies_kept: size.proxies_kept,
            arcs_induced: size.arcs_induced,
            arcs_kept: size.arcs_kept,
        };
        let held = self.room.take(with_reserve(self.plan.predictions[part as usize].spill));
        let writer = match held {
            Some(_) => SpillWriter::in_memory(&file_name(part), header, Codec::default())?,
            None => SpillWriter::create(self.dir, &file_name(part), header, Codec::default())?,
        };
        Ok((writer.resident_arcs(size.resident_arcs), held))
    }
}

impl Built {
    /// A spill of an earlier start in `dir`, if it is there and a reader takes it. One that is damaged, or of another job,
    /// is removed with a warning, and is built again.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn found(dir: &Path, part: u32, fingerprint: u128) -> Result<Option<Self>> {
        let path = dir.join(file_name(part));
        if !path.exists() {
            return Ok(None);
        }
        match SpillReader::open(&path, Some(fingerprint)) {
            Ok(spill) if spill.header().partition == part => Ok(Some(Self {
                part,
                spill: spill.summary(),
                held: None,
                inducing: Duration::ZERO,
                pruning: Duration::ZERO,
                spilling: Duration::ZERO,
            })),
            Err(error) if error.kind() != Kind::Data => Err(error),
            wrong => {
                let why = wrong.err().map_or_else(|| "is of another partition".into(), |error| error.to_string());
                tracing::warn!("{}: {why}: partition {part} is built again", path.display());
                disk::remove(&path)?;
                Ok(None)
            }
        }
    }
}

/// The name of a partition's spill.
pub fn file_name(part: u32) -> String {
    format!("part-{part:05}.spill")
}

/// The bytes that must be free on disk before partitions are spilled: all of them, or those that may wait at a time;
/// a quarter more than estimated.
pub fn disk_needed(plan: &Plan, at_a_time: usize) -> Bytes {
    let mut spills: Vec<u64> = plan.predictions.iter().map(|p| p.spill.get()).collect();
    spills.sort_unstable_by(|a, b| b.cmp(a));
    with_reserve(Bytes(spills.iter().take(at_a_time).sum()))
}

/// What is set aside for a spill that was estimated to take `bytes`.
fn with_reserve(bytes: Bytes) -> Bytes {
    Bytes(bytes.get() / 4 * 5)
}
