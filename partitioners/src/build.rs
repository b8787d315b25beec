//! Builds spills: finds what each partition keeps (induced and pruned), filters its rows, and writes them. The steps of LSTC between an assignment
//! and partitions on disk: [`crate::partition::kept`] (Algorithms 1, 2), [`spills`], [`crate::spill`].

pub mod spills;

use std::path::Path;
use std::time::Duration;

use crate::partition::assignment::Assignment;
use crate::partition::kept::Kept;
use crate::partition::prune::Prune;
use crate::partition::sizes::PartitionSize;
use crate::partition::totals::RowBlockTotals;
use crate::spill::{Codec, Encoders, PartitionHeader, SpillReader, SpillSummary, SpillWriter, file_name};
use trimill_graph::OrientedGraph;
use trimill_system::memory::{SharedBudget, TakenMemory};
use trimill_system::{Bytes, Error, Kind, Result, disk};

pub struct BuiltPartition {
    pub part: u32,
    pub spill: SpillSummary,
    /// The spill's share of the memory for spills; `None` if the spill is on disk.
    _held: Option<TakenMemory>,
    pub inducing: Duration,
    pub pruning: Duration,
    pub spilling: Duration,
}

#[derive(Clone)]
pub struct Builder<'a> {
    pub graph: &'a OrientedGraph,
    pub locals: &'a Assignment,
    pub sizes: Vec<PartitionSize>,
    pub row_block_limit: Bytes,
    pub prune: Prune,
    /// The directory for spills that do not fit in memory.
    pub dir: &'a Path,
    /// The memory for spills that are not on disk.
    pub room: &'a SharedBudget,
    pub fingerprint: u128,
    /// Whether spills outlive the job, and therefore are synced to disk.
    pub durable: bool,
}

impl Builder<'_> {
    fn begin(&self, kept: &Kept, encoders: &Encoders) -> Result<(SpillWriter, Option<TakenMemory>)> {
        let (part, numbered) = (kept.part, kept.kept.count());
        let size = &self.sizes[part as usize];
        let header = PartitionHeader { fingerprint: self.fingerprint, partition: part, numbered, size: *size };
        let most = RowBlockTotals::bound(size, self.row_block_limit).spill;
        let held = self.room.try_take(most);
        let mut writer = match held {
            Some(_) => SpillWriter::in_memory(&file_name(part), header, most)?,
            None => SpillWriter::create(self.dir, &file_name(part), header, Codec::default())?,
        };
        (writer.encoders, writer.durable) = (encoders.clone(), self.durable);
        writer.ranks(kept.kept.iter(0..self.graph.vertices()))?;
        Ok((writer, held))
    }
}

impl BuiltPartition {
    /// A partition whose spill is on disk, so that it holds no memory; without times.
    pub fn on_disk(part: u32, spill: SpillSummary) -> Self {
        let [inducing, pruning, spilling] = [Duration::ZERO; 3];
        Self { part, spill, _held: None, inducing, pruning, spilling }
    }

    /// The spill of an earlier start in `dir`, if it is valid. A damaged spill or one of another job is removed with a warning, and must be rebuilt.
    pub fn found(dir: &Path, part: u32, fingerprint: u128) -> Result<Option<Self>> {
        let path = dir.join(file_name(part));
        if !path.exists() {
            return Ok(None);
        }
        match SpillReader::open(&path, Some(fingerprint)) {
            Ok(spill) if spill.header().partition == part => Ok(Some(Self::on_disk(part, spill.summary().clone()))),
            Err(error) if error.kind() != Kind::Data => Err(error),
            wrong => {
                let why = wrong.err().unwrap_or_else(|| Error::data(&path, "is of another partition"));
                tracing::warn!("{}: partition {part} is built again", why.unadvised());
                disk::remove(&path)?;
                Ok(None)
            }
        }
    }
}
