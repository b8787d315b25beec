//! The requests of the commands to the stages, other than [`crate::job::Job`].
//!
//! The commands reach the stages through [`crate::engine::Engine`].

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cluster::Cluster;
use crate::generate::Family;
use crate::job::file::Tables;
use crate::job::{Backend, Job};
use trimill_system::bytes::Bytes;

/// Methods to be compared on graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchRequest {
    /// The graphs.
    pub graphs: Vec<BenchGraph>,
    /// The methods as typed, `NAME` or `NAME@BACKEND`; empty: all that the machine can run.
    pub methods: Vec<String>,
    /// The method that the others are compared with, as typed.
    pub baseline: Option<String>,
    /// The backend of methods that are named without one.
    pub backend: Backend,
    /// Runs of each method on each graph, in addition to the one that warms up.
    pub runs: NonZeroU32,
    /// The most time for all runs of a method on a graph.
    pub timeout: Duration,
    /// Whether the slow verifier counts, too.
    pub verify: bool,
}

/// A graph of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchGraph {
    /// The job that each method runs, but for its backend and method.
    pub tables: Tables,
    /// Its triangles, where they are known.
    pub expected: Option<u128>,
}

/// A graph to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    /// Which.
    pub family: Family,
    /// The graph that a product is made from; it is cleaned first.
    pub graph: Option<Box<Job>>,
    /// The file; its suffix determines how edges are written to it.
    pub output: PathBuf,
    /// CPU threads; none: all cores.
    pub threads: Option<NonZeroUsize>,
}

impl GenerateRequest {
    /// The files that are written; none where edges go to standard output.
    pub fn files(&self) -> Vec<PathBuf> {
        match self.output.extension() {
            _ if self.output == Path::new("-") => Vec::new(),
            Some(suffix) if suffix == "graph" => trimill_input::companions(&self.output).into(),
            _ => vec![self.output.clone()],
        }
    }
}

/// A spill to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectRequest {
    /// A spilled partition, or a directory with a manifest.
    pub path: PathBuf,
    /// Whether everything is decoded and every checksum compared.
    pub verify: bool,
}

/// What is to be removed from the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveRequest {
    /// Keys (a unique prefix is enough), or files that graphs were made from. One that matches no graph is an error
    /// of the data.
    pub which: Vec<OsString>,
    /// Afterwards, the least recently used graphs are removed until the rest takes at most so much.
    pub max: Option<Bytes>,
}

/// The request of `trimill doctor`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoctorRequest {
    /// The directory that a job would work in, and where spills go while rates are measured.
    pub work_dir: Option<PathBuf>,
    /// The directory of the cache.
    pub cache_dir: Option<PathBuf>,
    /// Whether rates are to be measured.
    pub measure: bool,
}

/// Scripts that have a prepared job counted by a scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRequest {
    /// The run directory of the job.
    pub run: PathBuf,
    /// The scheduler, and what each task gets.
    pub cluster: Cluster,
}
