//! Flags that several commands share, and their conversion to a job's tables.

use std::num::{IntErrorKind, NonZeroU32, NonZeroUsize, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::help;
use trimill::Bytes;
use trimill::Format;
use trimill::program::{CacheTable, InputTable, MetisTable, OutputTable, PartitionTable, SpillTable, Tables};
use trimill::program::{ColumnNames, Header};
use trimill::program::{Parts, Prepare, SpillTo};
use trimill::{Backend, Devices, Partitioner, Prune};

/// How files are read.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadingArgs {
    /// The format [default: found from content and suffix]
    #[arg(long, value_name = "FORMAT", help_heading = "Input", hide_possible_values = true, long_help = help::FORMAT, value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// Whether the first line of an edge list is a header: yes | no [default: found from content]
    #[arg(long, value_name = "yes|no", help_heading = "Input", hide_possible_values = true, long_help = help::HEADER, value_parser = headers())]
    pub(crate) header: Option<Header>,

    /// The columns of a Parquet file that hold the ends of edges, such as src,dst [default: the first two]
    #[arg(long, value_name = "TAIL,HEAD", help_heading = "Input")]
    pub(crate) columns: Option<ColumnNames>,
}

/// What is counted.
#[derive(Debug, Clone, Args)]
pub(crate) struct InputArgs {
    /// The graph's file, or several files of one graph; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) reading: ReadingArgs,
}

/// What may be used of the host.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HostArgs {
    /// The most memory of the host, such as 512MiB or 16GB [default: half of the RAM]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub(crate) host_memory: Option<Bytes>,

    /// CPU threads [default: all cores]
    #[arg(long, value_parser = from_one::<NonZeroUsize>, value_name = "N", help_heading = "Count")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// The directory for temporary files of the preparation [default: beside the spill]
    #[arg(long, value_name = "DIR", help_heading = "Cache and work")]
    pub(crate) work_dir: Option<PathBuf>,

    /// The directory of prepared graphs [default: trimill in the user's cache directory]
    #[arg(long, value_name = "DIR", help_heading = "Cache and work")]
    pub(crate) cache_dir: Option<PathBuf>,

    /// The most bytes of the whole cache; what was not used for longest goes first
    #[arg(long, value_name = "BYTES", help_heading = "Cache and work")]
    pub(crate) cache_max: Option<Bytes>,

    /// Neither look for a prepared graph nor keep one
    #[arg(long, help_heading = "Cache and work", conflicts_with_all = ["cache_dir", "cache_max"])]
    pub(crate) no_cache: bool,
}

/// Where partitions are spilled.
#[derive(Debug, Clone, Args)]
pub(crate) struct SpillArgs {
    /// The directory for spilled partitions [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", help_heading = "Spill")]
    pub(crate) spill_dir: Option<PathBuf>,

    /// Where partitions wait until they are counted: disk | memory; what is too much for the memory goes to disk
    #[arg(
        long,
        value_name = "PLACE",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Spill"
    )]
    pub(crate) spill: SpillTo,

    /// Keep the spilled partitions; `trimill inspect` looks at them
    #[arg(long, requires = "spill_dir", group = "files", help_heading = "Spill")]
    pub(crate) keep_spill: bool,
}

impl SpillArgs {
    /// The same as a job's table.
    pub(crate) fn table(&self) -> SpillTable {
        SpillTable { to: Some(self.spill), dir: self.spill_dir.clone(), keep: Some(self.keep_spill) }
    }
}

/// How a graph is cut, within which budgets, and on what it is counted.
#[derive(Debug, Clone, Args)]
pub(crate) struct SettingArgs {
    /// How vertices are assigned: auto | rank | random | contiguous | contiguous-vertices | metis | file:PATH
    #[arg(long, value_name = "NAME", default_value_t, help_heading = "Partition", long_help = help::PARTITIONER)]
    pub(crate) partitioner: Partitioner,

    /// The number of partitions, or `auto`: as few as fit
    #[arg(long, value_name = "N|auto", default_value_t, help_heading = "Partition")]
    pub(crate) parts: Parts,

    /// The seed of the partitioners that draw
    #[arg(long, value_name = "SEED", default_value_t = 1, help_heading = "Partition")]
    pub(crate) seed: u64,

    /// What is dropped from a partition: none | zero-indegree | direct [default: direct]
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        hide_possible_values = true,
        help_heading = "Partition",
        long_help = help::PRUNE
    )]
    pub(crate) prune: Option<Prune>,

    /// Join runs of K consecutive vertices before METIS sees the graph; for graphs above its limits
    #[arg(long, value_parser = from_one::<NonZeroU32>, value_name = "K", help_heading = "Partition")]
    pub(crate) metis_contract: Option<NonZeroU32>,

    /// The most memory of the device, such as 512MiB or 16GB [default: on a GPU what the input can need, at most 90% of
    /// what is free; on the CPU half of the host memory]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub(crate) device_memory: Option<Bytes>,

    /// The most bytes of a row block [default: the planner's choice]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub(crate) block_bytes: Option<Bytes>,

    /// What counts: auto | cpu | cuda; auto is a GPU where there is one
    #[arg(long, value_name = "NAME", value_enum, default_value_t, hide_possible_values = true, help_heading = "Count")]
    pub(crate) backend: Backend,

    /// The GPUs that count: `all`, or numbers such as 0,1 [default: the driver's first]
    #[arg(long, value_name = "all|N,N", help_heading = "Count")]
    pub(crate) devices: Option<Devices>,

    /// What prepares the graph: auto | cpu | gpu; auto is the GPU that counts, if the input is large
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Cache and work"
    )]
    pub(crate) prepare: Prepare,
}

/// What counting, planning and partitioning have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) settings: SettingArgs,

    /// A counting method of docs/methods.md [default: auto]
    #[arg(long, value_name = "NAME", help_heading = "Count")]
    pub(crate) method: Option<String>,

    /// Threads of a block on a GPU, a multiple of 32 [default: the method's, 128 for lstc]
    #[arg(long, value_name = "N", help_heading = "Count")]
    pub(crate) block_threads: Option<u32>,

    /// Entries of a row that lstc keeps in shared memory: 64 to 1024, or 0 for none [default: 128]
    #[arg(long, value_name = "N", help_heading = "Count")]
    pub(crate) tile: Option<u32>,

    /// Seconds without an answer after which a GPU is abandoned [default: 600]
    #[arg(long, value_parser = from_one::<NonZeroU32>, value_name = "SECONDS", help_heading = "Count")]
    pub(crate) device_timeout: Option<NonZeroU32>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) host: HostArgs,
}

/// What is counted beside the total, and where it goes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CountArgs {
    /// Count the triangles at each vertex, for the averages and quantiles of the result
    #[arg(long, help_heading = "Vertices")]
    pub(crate) clustering: bool,

    /// Write id, degree, triangles and local clustering coefficient of each vertex: .tsv, .tsv.gz, .tsv.zst, .npy or .parquet
    #[arg(long, value_name = "FILE", group = "files", help_heading = "Vertices", long_help = help::PER_VERTEX)]
    pub(crate) per_vertex: Option<PathBuf>,

    /// Write, for each degree, its vertices, their triangles and average clustering: .tsv, .tsv.gz or .tsv.zst
    #[arg(long, value_name = "FILE", group = "files", help_heading = "Vertices")]
    pub(crate) by_degree: Option<PathBuf>,

    /// Write the ids and the triangles of each edge: .tsv, .tsv.gz, .tsv.zst or .parquet
    #[arg(long, value_name = "FILE", group = "files", help_heading = "Edges", long_help = help::PER_EDGE)]
    pub(crate) per_edge: Option<PathBuf>,
}

/// A report to look at.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReportArgs {
    /// Also write a report to look at, one HTML page that needs nothing else; an earlier report is replaced
    #[arg(long, value_name = "FILE.html", value_parser = html, help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
}

/// A number above zero.
pub(super) fn from_one<T: FromStr<Err = ParseIntError>>(typed: &str) -> Result<T, String> {
    typed.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large".into(),
        _ => "expected a whole number from 1 on".into(),
    })
}

fn html(typed: &str) -> Result<PathBuf, String> {
    match typed.strip_suffix(".html") {
        Some(name) if !name.is_empty() => Ok(typed.into()),
        _ => Err("expected a name that ends with .html".into()),
    }
}

impl CountArgs {
    /// Puts the flags into a job's table.
    pub(crate) fn fill(&self, table: &mut OutputTable) {
        table.clustering = self.clustering.then_some(true);
        table.per_vertex.clone_from(&self.per_vertex);
        table.by_degree.clone_from(&self.by_degree);
        table.per_edge.clone_from(&self.per_edge);
    }
}

impl InputArgs {
    /// The same as a job's table.
    pub(crate) fn table(&self) -> InputTable {
        InputTable { paths: Some(self.inputs.clone()), ..self.reading.table() }
    }
}

impl ReadingArgs {
    /// The same as a job's table without a path.
    pub(crate) fn table(&self) -> InputTable {
        let Self { format, header, columns } = self.clone();
        InputTable { format, header, columns, ..InputTable::default() }
    }
}

/// The names of formats, which shells complete.
fn formats() -> impl TypedValueParser<Value = Format> {
    let name = |format: Format| PossibleValue::new(format.name()).help(format.about());
    PossibleValuesParser::new(Format::ALL.map(name)).try_map(|name| name.parse::<Format>())
}

fn headers() -> impl TypedValueParser<Value = Header> {
    let name = |header: Header| PossibleValue::new(header.name()).help(header.about());
    PossibleValuesParser::new(Header::ALL.map(name)).try_map(|name| name.parse::<Header>())
}

impl HostArgs {
    /// Puts the host's flags into a job's tables.
    pub(crate) fn fill(&self, tables: &mut Tables) {
        tables.memory.host = self.host_memory;
        tables.count.threads = self.threads;
        tables.work.dir.clone_from(&self.work_dir);
        tables.cache = CacheTable { enabled: Some(!self.no_cache), dir: self.cache_dir.clone(), max: self.cache_max };
    }
}

impl SettingArgs {
    /// Puts the settings into a job's tables.
    pub(crate) fn fill(&self, tables: &mut Tables) {
        tables.partition = PartitionTable {
            partitioner: Some(self.partitioner.clone()),
            parts: Some(self.parts),
            seed: Some(self.seed),
            prune: self.prune,
            metis: MetisTable { contract: self.metis_contract },
        };
        (tables.memory.device, tables.memory.block) = (self.device_memory, self.block_bytes);
        tables.work.prepare = Some(self.prepare);
        (tables.count.backend, tables.count.devices) = (Some(self.backend), self.devices.clone());
    }
}

impl JobArgs {
    /// The same as a job's tables; spill and output keep their defaults.
    pub(crate) fn tables(&self) -> Tables {
        let mut tables = Tables { input: self.input.table(), ..Tables::default() };
        tables.count.method.clone_from(&self.method);
        (tables.count.block_threads, tables.count.tile) = (self.block_threads, self.tile);
        tables.count.device_timeout = self.device_timeout;
        self.settings.fill(&mut tables);
        self.host.fill(&mut tables);
        tables
    }
}
