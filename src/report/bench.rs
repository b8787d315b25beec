//! The result of `trimill bench`, a comparison of methods: one JSON object, described in `docs/bench.md`.

use serde::{Deserialize, Serialize};

use super::failure::Reason;
use super::{RunResult, Stage};
use crate::job::Backend;
use crate::job::file::{CountTable, MemoryTable, PartitionTable};
use trimill_system::Bytes;

/// Methods compared on graphs, on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// The machine that counted.
    pub machine: BenchMachine,
    /// What all runs have in common.
    pub settings: BenchSettings,
    /// What the other methods are compared with.
    pub baseline: MethodName,
    /// The graphs that are done.
    pub graphs: Vec<GraphReport>,
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchMachine {
    /// The product name of the processor.
    pub processor: String,
    /// CPU threads.
    pub cores: usize,
    /// RAM.
    pub memory: Bytes,
    /// The product names of the GPUs that can be used.
    pub gpus: Vec<String>,
}

/// Settings of all runs; null: the program's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchSettings {
    /// Runs asked for, of each method on each graph.
    pub runs: u32,
    /// The most seconds for all runs of a method on a graph.
    pub timeout_seconds: f64,
    /// What counts; the method of each run is its own.
    pub count: CountTable,
    /// The budgets.
    pub memory: MemoryTable,
    /// How graphs are cut.
    pub partition: PartitionTable,
}

/// A method on a backend.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MethodName {
    /// The name as asked for; `auto`: the backend's own choice.
    pub method: String,
    /// `cpu` or `cuda`.
    pub backend: Backend,
}

/// A graph, and how each method did on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphReport {
    /// The file.
    pub graph: String,
    /// Vertices with an edge after cleaning.
    pub vertices: u64,
    /// Edges of the clean graph.
    pub edges: u64,
    /// The sum over all arcs of the length of the shorter of both ends' rows.
    pub probes: u64,
    /// The triangles that the counts are compared with; null where nothing counted.
    pub triangles: Option<u128>,
    /// Where that count is from.
    pub reference: Option<String>,
    /// The stages of the preparation; only `cached` where the graph was prepared before.
    pub preparation: Vec<Stage>,
    /// Why nothing could be compared on this graph.
    pub problem: Option<Reason>,
    /// The methods, in the order asked for.
    pub methods: Vec<MethodReport>,
}

/// How a method did on a graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MethodReport {
    /// The name as asked for.
    pub method: String,
    /// Where it counted.
    pub backend: Backend,
    /// The method that counted; null where none did.
    pub counted_by: Option<String>,
    /// Partitions counted.
    pub parts: Option<u32>,
    /// Whether a warm-up run, which is not among `runs`, came before them.
    pub warmed_up: bool,
    /// What each run took.
    pub runs: Vec<BenchRun>,
    /// Time of the kernels by the device's clock; on the CPU, of counting.
    pub kernel_seconds: Option<Spread>,
    /// Time of copying to the device, by its clock; null on the CPU.
    pub copy_seconds: Option<Spread>,
    /// Time of the method's preprocessing on the device; null where there is none.
    pub preprocess_seconds: Option<Spread>,
    /// Time of the whole job, from the cached graph.
    pub seconds: Option<Spread>,
    /// Edges of the graph divided by the median of `kernel_seconds`.
    pub edges_per_second: Option<f64>,
    /// Probes of the graph divided by the median of `kernel_seconds`.
    pub probes_per_second: Option<f64>,
    /// The most memory of a device, or of counting on the CPU, in any run.
    pub device_bytes: Option<Bytes>,
    /// The most memory of the process, in any run.
    pub host_bytes: Option<Bytes>,
    /// The baseline's median of `kernel_seconds` divided by this one.
    pub kernel_speedup: Option<f64>,
    /// The baseline's median of `seconds` divided by this one.
    pub speedup: Option<f64>,
    /// The counts of all runs, each once.
    pub triangles: Vec<u128>,
    /// Whether all of them equal the reference; null where nothing was counted.
    pub correct: Option<bool>,
    /// Why it did not run, or not as often as it should have.
    pub problem: Option<Reason>,
}

/// What a run took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// As in [`MethodReport`].
    pub kernel_seconds: f64,
    /// As in [`MethodReport`].
    pub copy_seconds: Option<f64>,
    /// As in [`MethodReport`].
    pub preprocess_seconds: Option<f64>,
    /// As in [`MethodReport`].
    pub seconds: f64,
    /// The most memory of a device, or of counting on the CPU.
    pub device_bytes: Bytes,
    /// The most memory of the process.
    pub host_bytes: Bytes,
    /// The count.
    pub triangles: u128,
}

/// The median and the range of some measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl std::fmt::Display for MethodName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.method, self.backend)
    }
}

impl BenchRun {
    /// What a comparison keeps of a result.
    pub fn of(result: &RunResult) -> Self {
        let stage = |name: &str| {
            let stages = result.stages.iter().filter(|stage| stage.name == name);
            stages.map(|stage| stage.seconds).reduce(|sum, more| sum + more)
        };
        Self {
            kernel_seconds: stage("kernel").or_else(|| stage("count")).unwrap_or_default(),
            copy_seconds: stage("copy"),
            preprocess_seconds: stage("preprocess"),
            seconds: result.seconds,
            device_bytes: result
                .partitions
                .iter()
                .map(|partition| partition.counted().peak_bytes)
                .max()
                .unwrap_or_default(),
            host_bytes: result.peak_host_bytes,
            triangles: result.triangles,
        }
    }
}

impl Spread {
    /// The spread of `values`; none where there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        Some(Self { median, min, max })
    }
}

impl MethodReport {
    /// A method that was not run yet.
    pub fn new(name: MethodName) -> Self {
        Self { method: name.method, backend: name.backend, ..Self::default() }
    }

    /// Fills in what follows from the runs.
    #[must_use]
    pub fn complete(mut self, edges: u64, probes: u64) -> Self {
        let spread = |value: fn(&BenchRun) -> Option<f64>| Spread::of(self.runs.iter().filter_map(value));
        self.kernel_seconds = spread(|run| Some(run.kernel_seconds));
        self.copy_seconds = spread(|run| run.copy_seconds);
        self.preprocess_seconds = spread(|run| run.preprocess_seconds);
        self.seconds = spread(|run| Some(run.seconds));
        let rate = |amount: u64| {
            self.kernel_seconds.filter(|kernel| kernel.median > 0.0).map(|kernel| amount as f64 / kernel.median)
        };
        (self.edges_per_second, self.probes_per_second) = (rate(edges), rate(probes));
        self.device_bytes = self.runs.iter().map(|run| run.device_bytes).max();
        self.host_bytes = self.runs.iter().map(|run| run.host_bytes).max();
        self
    }

    /// Its name in tables; for `auto` with the method that was chosen.
    pub fn title(&self) -> String {
        match &self.counted_by {
            Some(by) if *by != self.method => format!("{} ({by})", self.method),
            _ => self.method.clone(),
        }
    }

    /// Whether it is of this method.
    pub fn is(&self, name: &MethodName) -> bool {
        self.method == name.method && self.backend == name.backend
    }
}

impl BenchReport {
    /// Whether any count differs from the reference.
    pub fn any_wrong(&self) -> bool {
        self.graphs.iter().flat_map(|graph| &graph.methods).any(|method| method.correct == Some(false))
    }

    /// The names of the graphs in tables: their file names, or whole paths where these are not unique.
    pub fn titles(&self) -> Vec<String> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let names: Vec<String> = self.graphs.iter().map(|graph| name(&graph.graph)).collect();
        let unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let titles = self.graphs.iter().zip(&names);
        titles.map(|(graph, name)| if unique(name) { name.clone() } else { graph.graph.clone() }).collect()
    }
}

#[cfg(feature = "testing")]
pub mod example;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
