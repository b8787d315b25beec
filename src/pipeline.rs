//! The program's [`Engine`]: each command is implemented in one file of [`crate::execute`].

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::assign::{Helper, translated};
use crate::bench;
use crate::engine::Engine;
use crate::execute;
use crate::job::Job;
use crate::report::{
    BenchReport, CacheReport, ClusterReport, DoctorReport, GenerateReport, PartitionReport, PlanReport, PreparedReport,
    RunResult, ShardReport, VerifyReport,
};
use crate::request::{BenchRequest, ClusterRequest, DoctorRequest, GenerateRequest, InspectRequest, RemoveRequest};
use crate::shards::ShardChoice;
use trimill_system::control::Control;
use trimill_system::disk::faults;
use trimill_system::error::Result;

/// The names of the hidden commands that run METIS, and the methods of a comparison.
const METIS_CHILD: &str = "metis-child";
const BENCH_CHILD: &str = "bench-child";

/// How to run METIS in a child process of `program`, which is `trimill`.
pub fn metis_helper(program: PathBuf) -> Helper {
    Helper { program, arguments: vec![METIS_CHILD.into()] }
}

/// The stages.
#[derive(Debug, Clone, Default)]
pub struct Pipeline {
    program: Option<PathBuf>,
}

impl Pipeline {
    /// The stages, with the running program as the one for child processes.
    pub fn of_this_program() -> Self {
        Self { program: std::env::current_exe().ok() }
    }

    /// The stages within another program, which names the `trimill` program for METIS and comparisons, or does without these.
    pub fn with_program(program: Option<&Path>) -> Self {
        Self { program: program.map(Path::to_path_buf) }
    }

    fn helper(&self, arguments: &[&str]) -> Option<Helper> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        self.program.clone().map(|program| Helper { program, arguments })
    }

    fn metis(&self) -> Option<Helper> {
        self.program.clone().map(metis_helper)
    }
}

impl Engine for Pipeline {
    fn count(&self, job: &Job, control: &Control) -> Result<RunResult> {
        execute::count::count(job, None, self.metis(), control)
    }

    fn prepare(&self, job: &Job, shards: Option<NonZeroU32>, control: &Control) -> Result<PreparedReport> {
        execute::prepare::prepare(job, shards, self.metis(), control)
    }

    fn count_shard(&self, how: &Job, shard: ShardChoice, control: &Control) -> Result<ShardReport> {
        execute::shard::shard(how, shard, control)
    }

    fn merge(&self, how: &Job, control: &Control) -> Result<(RunResult, Option<PathBuf>)> {
        execute::merge::merge(how, control)
    }

    fn cluster(&self, request: &ClusterRequest) -> Result<ClusterReport> {
        execute::cluster::cluster(request, self.program.as_deref())
    }

    fn plan(&self, job: &Job, control: &Control) -> Result<PlanReport> {
        execute::plan::plan(job, None, self.metis(), control)
    }

    fn partition(&self, job: &Job, control: &Control) -> Result<PartitionReport> {
        execute::partition::partition(job, self.metis(), control)
    }

    fn verify(&self, job: &Job, control: &Control) -> Result<VerifyReport> {
        execute::verify::verify(job, control)
    }

    fn bench(
        &self,
        request: &BenchRequest,
        control: &Control,
        done: &mut dyn FnMut(&BenchReport) -> Result<()>,
    ) -> Result<BenchReport> {
        bench::bench(request, self.helper(&[BENCH_CHILD, "--quiet"]).as_ref(), control, done)
    }

    fn generate(&self, request: &GenerateRequest, control: &Control) -> Result<GenerateReport> {
        execute::generate::generate(request, control)
    }

    fn inspect(&self, request: &InspectRequest, control: &Control) -> Result<serde_json::Value> {
        execute::inspect::inspect(request, control)
    }

    fn doctor(&self, request: &DoctorRequest, control: &Control) -> Result<DoctorReport> {
        execute::doctor::doctor(request, control)
    }

    fn cache_list(&self, dir: Option<&Path>) -> Result<CacheReport> {
        execute::cache::list(dir)
    }

    fn cache_remove(&self, dir: Option<&Path>, request: &RemoveRequest) -> Result<CacheReport> {
        execute::cache::remove(dir, request)
    }

    fn cache_clear(&self, dir: Option<&Path>) -> Result<CacheReport> {
        execute::cache::clear(dir)
    }

    fn metis_child(&self, arguments: &[OsString]) -> Result<()> {
        faults::in_metis_child(|| {
            trimill_partitioners::metis::child_main(arguments.iter().cloned()).map_err(translated)
        })
    }
}
