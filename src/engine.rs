//! The interface between the commands and the stages.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::job::Job;
use crate::report::{
    BenchReport, CacheReport, ClusterReport, DoctorReport, GenerateReport, PartitionReport, PlanReport, PreparedReport,
    RunResult, ShardReport, VerifyReport,
};
use crate::request::{BenchRequest, ClusterRequest, DoctorRequest, GenerateRequest, InspectRequest, RemoveRequest};
use crate::shards::ShardChoice;
use trimill_system::control::Control;
use trimill_system::error::Result;

/// What the program can do. Jobs arrive resolved, and their input files exist; every method that takes a [`Control`]
/// stops soon after it was asked to, with [`trimill_system::error::Kind::Interrupted`], and leaves no files behind.
pub trait Engine {
    /// Counts.
    ///
    /// # Errors
    /// Those of every stage. Where only files could not be written, what would have been returned is the error's answer; so it is with
    /// [`Self::merge`] and [`Self::verify`].
    fn count(&self, job: &Job, control: &Control) -> Result<RunResult>;

    /// Prepares a job in its run directory, with at least one partition for each shard; counts nothing.
    ///
    /// # Errors
    /// Those of the stages up to 'spill'.
    fn prepare(&self, job: &Job, shards: Option<NonZeroU32>, control: &Control) -> Result<PreparedReport>;

    /// Counts a shard of the job that is prepared in the run directory of `how`, with the devices, the method and the budgets
    /// of `how`.
    ///
    /// # Errors
    /// Where no job is prepared there; those of counting.
    fn count_shard(&self, how: &Job, shard: ShardChoice, control: &Control) -> Result<ShardReport>;

    /// Adds all partitions of such a job; also returns the directory that its result goes to.
    ///
    /// # Errors
    /// Where partitions are missing; files that cannot be written.
    fn merge(&self, how: &Job, control: &Control) -> Result<(RunResult, Option<PathBuf>)>;

    /// Writes scripts for a scheduler into the run directory of such a job.
    ///
    /// # Errors
    /// Where no job is prepared there; files that cannot be written.
    fn cluster(&self, request: &ClusterRequest) -> Result<ClusterReport>;

    /// Reports what counting would take. A plan that does not fit is not an error.
    ///
    /// # Errors
    /// Those of the stages up to 'assign'.
    fn plan(&self, job: &Job, control: &Control) -> Result<PlanReport>;

    /// Spills all partitions to the job's spill directory and keeps them.
    ///
    /// # Errors
    /// Those of the stages up to 'spill'.
    fn partition(&self, job: &Job, control: &Control) -> Result<PartitionReport>;

    /// Counts by the slow, independent verifier.
    ///
    /// # Errors
    /// Those of reading and cleaning.
    fn verify(&self, job: &Job, control: &Control) -> Result<VerifyReport>;

    /// Compares methods; `done` receives the report after each graph.
    ///
    /// # Errors
    /// A wrong name; an error of `done`. Problems with a graph or a method are part of the report instead.
    fn bench(
        &self,
        request: &BenchRequest,
        control: &Control,
        done: &mut dyn FnMut(&BenchReport) -> Result<()>,
    ) -> Result<BenchReport>;

    /// Generates a graph.
    ///
    /// # Errors
    /// For a graph with more vertices than ids, a graph that cannot be read, a file that cannot be written.
    fn generate(&self, request: &GenerateRequest, control: &Control) -> Result<GenerateReport>;

    /// Reports what a spill or a directory of spills holds; the fields depend on which of them it is.
    ///
    /// # Errors
    /// For a spill that is missing or damaged.
    fn inspect(&self, request: &InspectRequest, control: &Control) -> Result<serde_json::Value>;

    /// Reports what the machine has. A missing GPU is not an error.
    ///
    /// # Errors
    /// If not even that can be found out.
    fn doctor(&self, request: &DoctorRequest, control: &Control) -> Result<DoctorReport>;

    /// Lists the cache in `dir`, or in the user's cache directory.
    ///
    /// # Errors
    /// For a cache that cannot be read.
    fn cache_list(&self, dir: Option<&Path>) -> Result<CacheReport>;

    /// Removes some graphs from it; returns which.
    ///
    /// # Errors
    /// For a name that the cache does not have, or a file that cannot be removed.
    fn cache_remove(&self, dir: Option<&Path>, request: &RemoveRequest) -> Result<CacheReport>;

    /// Removes all graphs from it; returns which.
    ///
    /// # Errors
    /// For a file that cannot be removed.
    fn cache_clear(&self, dir: Option<&Path>) -> Result<CacheReport>;

    /// The child process that runs METIS, which handles signals itself there.
    ///
    /// # Errors
    /// Those of METIS.
    fn metis_child(&self, arguments: &[OsString]) -> Result<()>;
}
