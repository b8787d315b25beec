//! The stages as the commands see them.

use std::ffi::OsString;
use std::path::Path;

use crate::control::Control;
use crate::error::Result;
use crate::job::Job;
use crate::report::{
    BenchReport, CacheReport, DoctorReport, GenerateReport, PartitionReport, PlanReport, RunResult, VerifyReport,
};
use crate::request::{BenchRequest, DoctorRequest, GenerateRequest, InspectRequest, RemoveRequest};

/// What the program can do. Jobs arrive resolved, their input files looked for; every method that takes a [`Control`]
/// stops soon after it was asked to, with [`crate::error::Kind::Interrupted`], and leaves nothing behind.
pub trait Engine {
    /// Counts.
    ///
    /// # Errors
    /// Of every stage.
    fn count(&self, job: &Job, control: &Control) -> Result<RunResult>;

    /// Tells what counting would take. A plan that does not fit is no error.
    ///
    /// # Errors
    /// Of the stages up to 'assign'.
    fn plan(&self, job: &Job, control: &Control) -> Result<PlanReport>;

    /// Spills all partitions to the job's spill directory and keeps them.
    ///
    /// # Errors
    /// Of the stages up to 'spill'.
    fn partition(&self, job: &Job, control: &Control) -> Result<PartitionReport>;

    /// Counts slowly and independently.
    ///
    /// # Errors
    /// Of reading and cleaning.
    fn verify(&self, job: &Job, control: &Control) -> Result<VerifyReport>;

    /// Compares methods; `done` sees the report after each graph.
    ///
    /// # Errors
    /// A wrong name; what `done` reports. What is wrong with a graph or a method stands in the report.
    fn bench(
        &self,
        request: &BenchRequest,
        control: &Control,
        done: &mut dyn FnMut(&BenchReport) -> Result<()>,
    ) -> Result<BenchReport>;

    /// Makes a graph.
    ///
    /// # Errors
    /// For a graph with more vertices than ids, a graph that cannot be read, a file that cannot be written.
    fn generate(&self, request: &GenerateRequest, control: &Control) -> Result<GenerateReport>;

    /// Tells what a spill holds, in a shape of the spill's own.
    ///
    /// # Errors
    /// For a spill that is missing or damaged.
    fn inspect(&self, request: &InspectRequest, control: &Control) -> Result<serde_json::Value>;

    /// Tells what the machine has. A missing GPU is no error.
    ///
    /// # Errors
    /// Where not even that can be told.
    fn doctor(&self, request: &DoctorRequest, control: &Control) -> Result<DoctorReport>;

    /// Lists the cache in `dir`, or in the user's cache directory.
    ///
    /// # Errors
    /// For a cache that cannot be read.
    fn cache_list(&self, dir: Option<&Path>) -> Result<CacheReport>;

    /// Removes some graphs from it; tells which.
    ///
    /// # Errors
    /// For a name that the cache does not have, or a file that cannot be removed.
    fn cache_remove(&self, dir: Option<&Path>, request: &RemoveRequest) -> Result<CacheReport>;

    /// Removes all graphs from it; tells which.
    ///
    /// # Errors
    /// For a file that cannot be removed.
    fn cache_clear(&self, dir: Option<&Path>) -> Result<CacheReport>;

    /// The child process that runs METIS. Signals are METIS's own here.
    ///
    /// # Errors
    /// What METIS reports.
    fn metis_child(&self, arguments: &[OsString]) -> Result<()>;
}
