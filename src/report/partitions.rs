//! A partition in reports: one record ([`PartitionFigures`]), and one list of its columns ([`COLUMNS`]) for the tables on a terminal,
//! `partitions.tsv` and the HTML report; and the report of `trimill partition`. Figures that are not known yet are left out of the JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use super::Stage;
use crate::job::{Mode, Prune};
use crate::plan::predict::PlannedPartition;
use trimill_system::{Bytes, path_text};

/// A partition: its sizes before and after pruning, what it takes, and once it is counted its triangles. Before that, and in the spilled mode, some
/// figures are upper bounds (docs/result.md).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartitionFigures {
    /// The partition, from 0.
    pub id: u32,
    /// Vertices that are local here.
    pub local_vertices: u64,
    /// Proxies of the induced subgraph.
    pub proxies_induced: u64,
    /// Proxies left after pruning.
    pub proxies_kept: u64,
    /// Arcs of the induced subgraph.
    pub arcs_induced: u64,
    /// Arcs left after pruning.
    pub arcs_kept: u64,
    /// The resident rows in memory.
    pub resident_bytes: Bytes,
    /// Row blocks streamed.
    pub row_blocks: u64,
    /// The largest row block in memory.
    pub largest_block_bytes: Bytes,
    /// The compressed partition on disk.
    pub spill_bytes: Bytes,
    /// Raw bytes streamed to the device.
    pub stream_bytes: Bytes,
    /// The peak of device (or counting) memory that the planner predicted.
    pub peak_bytes_predicted: Bytes,
    /// Whether that is within the budget; only in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<bool>,
    /// Its file; only where spills are kept.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "path_text::optional_shown")]
    pub file: Option<PathBuf>,
    /// What counting it found.
    #[serde(flatten)]
    pub counted: Option<CountedFigures>,
}

/// What counting a partition found, and took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CountedFigures {
    /// The peak of device (or counting) memory that was measured.
    pub peak_bytes: Bytes,
    /// Triangles whose corner of the largest rank is local here.
    pub triangles: u64,
    /// Time from the first byte read to the last row counted.
    pub seconds: f64,
    /// The GPU that counted, by the driver's number; null for the CPU.
    pub device: Option<u32>,
    /// Whether it was counted on an earlier start, and is taken from the run directory.
    pub resumed: bool,
}

impl PartitionFigures {
    pub(crate) fn planned(id: u32, PlannedPartition { size, predicted }: &PlannedPartition) -> Self {
        Self {
            id,
            local_vertices: size.locals,
            proxies_induced: size.proxies_induced,
            proxies_kept: size.proxies_kept,
            arcs_induced: size.arcs_induced,
            arcs_kept: size.arcs_kept,
            resident_bytes: predicted.resident,
            row_blocks: predicted.row_blocks,
            largest_block_bytes: predicted.largest_row_block,
            spill_bytes: predicted.spill,
            stream_bytes: predicted.stream,
            peak_bytes_predicted: predicted.peak,
            ..Self::default()
        }
    }

    /// What counting it found; zeros before it is counted.
    pub fn counted(&self) -> CountedFigures {
        self.counted.unwrap_or_default()
    }

    /// The peak that was measured, or else predicted.
    pub fn peak(&self) -> Bytes {
        self.counted().peak_bytes.max(self.peak_bytes_predicted)
    }

    pub(crate) fn resumed(self) -> Self {
        Self { counted: self.counted.map(|counted| CountedFigures { resumed: true, ..counted }), ..self }
    }
}

/// Arcs kept over all partitions, divided by the edges; 0 without edges.
pub(super) fn duplication(partitions: &[PartitionFigures], edges: u64) -> f64 {
    let kept: u128 = partitions.iter().map(|partition| u128::from(partition.arcs_kept)).sum();
    if edges == 0 { 0.0 } else { kept as f64 / edges as f64 }
}

/// What `trimill partition` wrote to disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionReport {
    /// The directory with the manifest and the partitions.
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    /// Vertices of the clean graph.
    pub vertices: u64,
    /// Edges of the clean graph.
    pub edges: u64,
    /// The partitioner, as on the command line.
    pub partitioner: String,
    /// The prune level.
    pub prune: Prune,
    /// The seed of random choices.
    pub seed: u64,
    /// The number of partitions.
    pub parts: u32,
    /// The partitions.
    pub partitions: Vec<PartitionFigures>,
    /// The stages.
    pub stages: Vec<Stage>,
    /// The process's high-water mark of memory.
    pub peak_host_bytes: Bytes,
    /// The budget on the device that the partitions were cut for.
    pub device_memory: Bytes,
}

/// A table of partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TableOfPartitions {
    /// What a job will take.
    Planned,
    /// Spills that are kept.
    Spilled,
    /// What was counted.
    Counted,
    /// `partitions.tsv`.
    File,
}

const ALL: &[TableOfPartitions] =
    &[TableOfPartitions::Planned, TableOfPartitions::Spilled, TableOfPartitions::Counted, TableOfPartitions::File];

/// A cell of a column; a page formats it by its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// A number without commas, or none.
    Number(Option<u32>),
    /// A number.
    Count(u128),
    /// Bytes.
    Size(u128),
    /// Seconds.
    Seconds(f64),
    /// Yes or no.
    Flag(bool),
}

impl Figure {
    /// As in JSON.
    pub fn plain(self) -> String {
        match self {
            Self::Number(number) => number.map_or("null".into(), |number| number.to_string()),
            Self::Count(count) | Self::Size(count) => count.to_string(),
            Self::Seconds(seconds) => seconds.to_string(),
            Self::Flag(flag) => flag.to_string(),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Number(_) => "number",
            Self::Count(_) => "count",
            Self::Size(_) => "bytes",
            Self::Seconds(_) => "seconds",
            Self::Flag(_) => "flag",
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Count(a), Self::Count(b)) => Self::Count(a + b),
            (Self::Size(a), Self::Size(b)) => Self::Size(a + b),
            (Self::Seconds(a), Self::Seconds(b)) => Self::Seconds(a + b),
            (own, _) => own,
        }
    }

    fn largest(self, other: Self) -> Self {
        match (self, other) {
            (Self::Size(a), Self::Size(b)) => Self::Size(a.max(b)),
            (own, _) => own,
        }
    }
}

/// A column: a field of [`PartitionFigures`], and where and how it is shown. The scripts of the HTML report read it, but for `joined`.
#[derive(Serialize)]
pub struct PartitionColumn {
    /// The field in JSON.
    pub name: &'static str,
    /// The heading on a terminal, in two lines where it is wide.
    pub heading: &'static str,
    /// The cell of a partition; a script reads its kind.
    #[serde(rename = "kind", serialize_with = "serialize_kind")]
    pub cell: fn(&PartitionFigures) -> Figure,
    tables: &'static [TableOfPartitions],
    /// Whether it is shown in the spilled mode only: in the other one nothing is induced, pruned or spilled.
    spilled: bool,
    /// How two partitions' cells combine in the row of totals.
    #[serde(skip)]
    joined: fn(Figure, Figure) -> Figure,
}

fn serialize_kind<S: Serializer>(cell: &fn(&PartitionFigures) -> Figure, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(cell(&PartitionFigures::default()).kind())
}

/// A column of every table, with sums in the row of totals.
const EVERYWHERE: PartitionColumn = PartitionColumn {
    name: "id",
    heading: "part",
    cell: |p| Figure::Number(Some(p.id)),
    tables: ALL,
    spilled: false,
    joined: Figure::and,
};
const LARGEST: PartitionColumn = PartitionColumn { joined: Figure::largest, ..EVERYWHERE };
const SPILLED: PartitionColumn = PartitionColumn { spilled: true, ..EVERYWHERE };
const COUNTED: PartitionColumn =
    PartitionColumn { tables: &[TableOfPartitions::Counted, TableOfPartitions::File], ..EVERYWHERE };
const FILE: PartitionColumn = PartitionColumn { tables: &[TableOfPartitions::File], ..EVERYWHERE };

/// All columns, in the order of the fields in JSON.
#[rustfmt::skip]
pub const COLUMNS: [PartitionColumn; 18] = [
    EVERYWHERE,
    PartitionColumn { name: "local_vertices", heading: "local\nvertices", cell: |p| Figure::Count(p.local_vertices.into()), ..EVERYWHERE },
    PartitionColumn { name: "proxies_induced", heading: "proxies\ninduced", cell: |p| Figure::Count(p.proxies_induced.into()),
        tables: &[TableOfPartitions::Spilled, TableOfPartitions::Counted, TableOfPartitions::File], ..SPILLED },
    PartitionColumn { name: "proxies_kept", heading: "proxies\nkept", cell: |p| Figure::Count(p.proxies_kept.into()), ..SPILLED },
    PartitionColumn { name: "arcs_induced", heading: "arcs\ninduced", cell: |p| Figure::Count(p.arcs_induced.into()), ..SPILLED },
    PartitionColumn { name: "arcs_kept", heading: "arcs\nkept", cell: |p| Figure::Count(p.arcs_kept.into()), ..EVERYWHERE },
    PartitionColumn { name: "resident_bytes", heading: "resident", cell: |p| size(p.resident_bytes), ..EVERYWHERE },
    PartitionColumn { name: "row_blocks", heading: "row\nblocks", cell: |p| Figure::Count(p.row_blocks.into()), ..EVERYWHERE },
    PartitionColumn { name: "largest_block_bytes", heading: "largest\nblock", cell: |p| size(p.largest_block_bytes), ..LARGEST },
    PartitionColumn { name: "spill_bytes", heading: "spilled", cell: |p| size(p.spill_bytes), ..SPILLED },
    PartitionColumn { name: "stream_bytes", heading: "streamed", cell: |p| size(p.stream_bytes),
        tables: &[TableOfPartitions::Planned, TableOfPartitions::File], ..EVERYWHERE },
    PartitionColumn { name: "peak_bytes_predicted", heading: "peak\nat most", cell: |p| size(p.peak_bytes_predicted), ..LARGEST },
    PartitionColumn { name: "fits", heading: "fits", cell: |p| Figure::Flag(p.fits == Some(true)), tables: &[TableOfPartitions::Planned], ..EVERYWHERE },
    PartitionColumn { name: "peak_bytes", heading: "peak\nactual", cell: |p| size(p.counted().peak_bytes), joined: Figure::largest, ..COUNTED },
    PartitionColumn { name: "triangles", heading: "triangles", cell: |p| Figure::Count(p.counted().triangles.into()), ..COUNTED },
    PartitionColumn { name: "seconds", heading: "seconds", cell: |p| Figure::Seconds(p.counted().seconds), ..COUNTED },
    PartitionColumn { name: "device", heading: "device", cell: |p| Figure::Number(p.counted().device), ..FILE },
    PartitionColumn { name: "resumed", heading: "resumed", cell: |p| Figure::Flag(p.counted().resumed), ..FILE },
];

fn size(bytes: Bytes) -> Figure {
    Figure::Size(bytes.get().into())
}

/// The columns of a table of partitions of a mode.
pub fn columns(table: TableOfPartitions, mode: Mode) -> impl Iterator<Item = &'static PartitionColumn> {
    const ALL_COLUMNS: &[PartitionColumn] = &COLUMNS;
    let applies = move |column: &&PartitionColumn| {
        column.tables.contains(&table) && (mode == Mode::Spilled || !column.spilled || table == TableOfPartitions::File)
    };
    ALL_COLUMNS.iter().filter(applies)
}

impl PartitionColumn {
    /// The cell of all partitions together; none where there are none.
    pub fn total(&self, partitions: &[PartitionFigures]) -> Option<Figure> {
        partitions.iter().map(self.cell).reduce(self.joined)
    }
}
