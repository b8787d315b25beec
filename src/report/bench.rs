//! The result of `trimill bench`, a comparison of methods: one JSON object, described in `docs/bench.md`.

#![allow(missing_docs)]

use serde::{Deserialize, Serialize};

use super::failure::Reason;
use super::{RunResult, Stage};
use crate::job::Backend;
use crate::job::file::{CountTable, MemoryTable, PartitionTable};
use trimill_system::Bytes;

/// Methods compared on graphs, on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    pub schema_version: u32,
    pub version: String,
    pub machine: BenchMachine,
    pub settings: BenchSettings,
    pub baseline: MethodName,
    pub graphs: Vec<GraphReport>,
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchMachine {
    pub processor: String,
    pub cores: usize,
    pub memory: Bytes,
    pub gpus: Vec<String>,
}

/// Settings of all runs; null: the program's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchSettings {
    pub runs: u32,
    pub timeout_seconds: f64,
    pub count: CountTable,
    pub memory: MemoryTable,
    pub partition: PartitionTable,
}

/// A method on a backend.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MethodName {
    pub method: String,
    pub backend: Backend,
}

/// A graph, and how each method did on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphReport {
    pub graph: String,
    pub vertices: u64,
    pub edges: u64,
    pub probes: u64,
    pub triangles: Option<u128>,
    pub reference: Option<String>,
    pub preparation: Vec<Stage>,
    pub problem: Option<Reason>,
    pub methods: Vec<MethodReport>,
}

/// How a method did on a graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MethodReport {
    pub method: String,
    pub backend: Backend,
    pub counted_by: Option<String>,
    pub parts: Option<u32>,
    pub warmed_up: bool,
    pub runs: Vec<BenchRun>,
    pub kernel_seconds: Option<Spread>,
    pub copy_seconds: Option<Spread>,
    pub preprocess_seconds: Option<Spread>,
    pub seconds: Option<Spread>,
    pub edges_per_second: Option<f64>,
    pub probes_per_second: Option<f64>,
    pub device_bytes: Option<Bytes>,
    pub host_bytes: Option<Bytes>,
    pub kernel_speedup: Option<f64>,
    pub speedup: Option<f64>,
    pub triangles: Vec<u128>,
    pub correct: Option<bool>,
    pub problem: Option<Reason>,
}

/// What a run took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    pub kernel_seconds: f64,
    pub copy_seconds: Option<f64>,
    pub preprocess_seconds: Option<f64>,
    pub seconds: f64,
    pub device_bytes: Bytes,
    pub host_bytes: Bytes,
    pub triangles: u128,
}

/// The median and the range of some measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
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
            device_bytes: result.partitions.iter().map(|p| p.counted().peak_bytes).max().unwrap_or_default(),
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

    /// Its name with its backend.
    pub fn name(&self) -> MethodName {
        MethodName { method: self.method.clone(), backend: self.backend }
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
mod tests;
