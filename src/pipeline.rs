//! The stations as the program's [`Engine`]: each command's work is one file of [`crate::execute`].

use std::ffi::OsString;
use std::path::Path;

use crate::assign::{Helper, translated};
use crate::commands::engine::Engine;
use crate::control::Control;
use crate::error::Result;
use crate::execute;
use crate::job::Job;
use crate::report::{CacheReport, DoctorReport, GenerateReport, PartitionReport, PlanReport, RunResult, VerifyReport};
use crate::request::{GenerateRequest, InspectRequest, RemoveRequest};

/// The name of the hidden command that runs METIS.
const METIS_CHILD: &str = "metis-child";

/// The stations.
#[derive(Debug, Clone, Default)]
pub struct Pipeline {
    helper: Option<Helper>,
}

impl Pipeline {
    /// The stations, with this very program as the one that METIS is run in.
    pub fn of_this_program() -> Self {
        let helper =
            std::env::current_exe().ok().map(|program| Helper { program, arguments: vec![METIS_CHILD.into()] });
        Self { helper }
    }

    /// The stations within another program, which names the `trimill` program for METIS, or does without.
    pub fn with_program(program: Option<&Path>) -> Self {
        let helper =
            program.map(|program| Helper { program: program.to_path_buf(), arguments: vec![METIS_CHILD.into()] });
        Self { helper }
    }
}

impl Engine for Pipeline {
    fn count(&self, job: &Job, control: &Control) -> Result<RunResult> {
        execute::count::count(job, self.helper.clone(), control)
    }

    fn plan(&self, job: &Job, control: &Control) -> Result<PlanReport> {
        execute::plan::plan(job, self.helper.clone(), control)
    }

    fn partition(&self, job: &Job, control: &Control) -> Result<PartitionReport> {
        execute::partition::partition(job, self.helper.clone(), control)
    }

    fn verify(&self, job: &Job, control: &Control) -> Result<VerifyReport> {
        execute::verify::verify(job, control)
    }

    fn generate(&self, request: &GenerateRequest, control: &Control) -> Result<GenerateReport> {
        execute::generate::generate(request, control)
    }

    fn inspect(&self, request: &InspectRequest, control: &Control) -> Result<serde_json::Value> {
        execute::inspect::inspect(request, control)
    }

    fn doctor(&self, work_dir: Option<&Path>, cache_dir: Option<&Path>) -> Result<DoctorReport> {
        Ok(execute::doctor::doctor(work_dir, cache_dir))
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
        trimill_partitioners::metis::child_main(arguments.iter().cloned()).map_err(translated)
    }
}
