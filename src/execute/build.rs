//! The common part of all code that builds spills: where a spill goes, its name and its header.

use std::path::Path;
use std::time::Duration;

use super::room::{SpillMemory, TakenRoom};
use crate::graph::OrientedGraph;
use crate::partition::batch::Kept;
use crate::partition::locals::Locals;
use crate::partition::prune::Prune;
use crate::plan::Plan;
use crate::spill::{Codec, Encoders, PartitionHeader, SpillReader, SpillSummary, SpillWriter, file_name};
use trimill_system::bytes::Bytes;
use trimill_system::disk;
use trimill_system::error::{Kind, Result};

/// A partition on disk, and what it took to build.
pub struct BuiltPartition {
    pub part: u32,
    pub spill: SpillSummary,
    /// Its share of the memory for spills, held while the spill exists.
    pub(super) _held: Option<TakenRoom>,
    pub inducing: Duration,
    pub pruning: Duration,
    /// How long filtering, encoding and writing took.
    pub spilling: Duration,
}

/// What all partitions of a job have in common.
#[derive(Clone, Copy)]
pub struct Builder<'a> {
    pub graph: &'a OrientedGraph,
    /// The partition where each vertex is local.
    pub locals: &'a Locals,
    pub plan: &'a Plan,
    pub prune: Prune,
    /// The directory of spills that do not fit in memory.
    pub dir: &'a Path,
    /// Memory that is left for spills.
    pub room: &'a SpillMemory,
    /// Identifies the spills of this job.
    pub fingerprint: u128,
    /// Whether spills outlive the job: they are then synced to disk.
    pub durable: bool,
}

impl Builder<'_> {
    /// Begins a partition's spill, in memory if it fits there.
    pub(super) fn begin(&self, kept: &Kept, encoders: &Encoders) -> Result<(SpillWriter, Option<TakenRoom>)> {
        let (part, numbered) = (kept.part, kept.kept.count());
        let size = &self.plan.sizes[part as usize];
        let header = PartitionHeader {
            partition: part,
            fingerprint: self.fingerprint,
            locals: self.locals.count(part) as u32,
            numbered,
            proxies_induced: size.proxies_induced,
            proxies_kept: size.proxies_kept,
            arcs_induced: size.arcs_induced,
            arcs_kept: size.arcs_kept,
        };
        let held = self.room.take(self.plan.predictions[part as usize].spill);
        let mut writer = match held {
            Some(_) => SpillWriter::in_memory(&file_name(part), header)?,
            None => SpillWriter::create(self.dir, &file_name(part), header, Codec::default())?,
        };
        writer.ranks(kept.kept.iter(0..self.graph.vertices()))?;
        Ok((writer.sharing(encoders).durable(self.durable), held))
    }
}

impl BuiltPartition {
    /// The spill that an earlier start left in `dir`, if it is there and valid. One that is damaged, or of another job, is
    /// removed with a warning, and is built again.
    pub fn found(dir: &Path, part: u32, fingerprint: u128) -> Result<Option<Self>> {
        let path = dir.join(file_name(part));
        if !path.exists() {
            return Ok(None);
        }
        match SpillReader::open(&path, Some(fingerprint)) {
            Ok(spill) if spill.header().partition == part => Ok(Some(Self {
                part,
                spill: spill.summary(),
                _held: None,
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

/// The most bytes on disk while at most `at_a_time` spills exist at the same time.
pub fn disk_at_most(plan: &Plan, at_a_time: usize) -> Bytes {
    let mut spills: Vec<u64> = plan.predictions.iter().map(|p| p.spill.get()).collect();
    spills.sort_unstable_by(|a, b| b.cmp(a));
    Bytes(spills.iter().take(at_a_time).sum())
}
