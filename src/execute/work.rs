//! What the threads of all devices share while partitions are counted, and what each brings back.

use rayon::ThreadPool;

use super::building::BatchBuilder;
use super::details::Details;
use super::queue::{Item, Queue};
use super::stage_times::StageTimes;
use crate::plan::predict::PlannedPartition;
use crate::report::PartitionFigures;
use crate::run_dir::Journal;
use crate::stream::ranges::RankRange;
use crate::stream::row_blocks::RowBlocks;
use trimill_counting::PartitionSource;
use trimill_graph::OrientedGraph;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_partitioners::spill::{SpillReader, SpillSummary, Spilled};
use trimill_system::control::{Control, Task, Unit};
use trimill_system::{Bytes, Error, Result};

#[derive(Default)]
pub(super) struct DeviceOutcome {
    pub(super) results: Vec<PartitionFigures>,
    pub(super) kept: Vec<SpillSummary>,
    pub(super) times: StageTimes,
    /// Whether the device failed, and others went on without it.
    pub(super) failed: bool,
}

impl DeviceOutcome {
    pub(super) fn merge(&mut self, other: Self) {
        self.times.merge(&other.times);
        self.results.extend(other.results);
        self.kept.extend(other.kept);
    }
}

pub(super) struct Ranges<'a> {
    pub(super) graph: &'a OrientedGraph,
    pub(super) ranges: &'a [LocalsAndHeads],
    pub(super) blocks: &'a RowBlocks,
}

pub(super) struct PartitionsToCount<'a> {
    pub(super) known: &'a [PlannedPartition],
    pub(super) ranges: Option<Ranges<'a>>,
    pub(super) device_memory: Bytes,
    pub(super) journal: Option<&'a Journal>,
    pub(super) details: &'a Details<'a>,
}

pub(super) struct SharedWork<'a> {
    pub(super) partitions: PartitionsToCount<'a>,
    pub(super) pool: &'a ThreadPool,
    pub(super) queue: &'a Queue<Item>,
    /// None if the partitions exist before they are counted.
    pub(super) batch_builder: Option<&'a BatchBuilder<'a>>,
    pub(super) task: &'a Task,
    /// The unit of `task`: partitions, or arcs if the backend reports its progress.
    pub(super) unit: Unit,
    pub(super) control: &'a Control,
}

impl<'a> SharedWork<'a> {
    /// Opens a partition. `longest`: the most encoded bytes of a file block that the backend decodes, if it takes encoded rows.
    pub(super) fn source(&self, item: &Item, longest: Option<Bytes>) -> Result<Box<dyn PartitionSource + 'a>> {
        match (item, &self.partitions.ranges) {
            (Item::Built(built), _) => {
                // To find the places of edges in the graph, rows are needed on the host.
                let longest = longest.filter(|_| !matches!(self.partitions.details, Details::Edges(_)));
                Ok(Box::new(Spilled::new(SpillReader::reopen(&built.spill)?).encoded(longest)))
            }
            (_, Some(Ranges { graph, ranges, blocks })) => {
                let range = RankRange::new(graph, blocks, &ranges[item.part() as usize])?;
                Ok(Box::new(range.encoded(longest)))
            }
            (_, None) => Err(Error::defect("a rank range that was not planned")),
        }
    }
}
