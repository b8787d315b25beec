//! The stations, joined: what turns a resolved job into implementations and runs them.
//!
//! This is the [`Engine`] of the program.

use std::ffi::OsString;
use std::path::Path;

use crate::commands::engine::Engine;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::report::{CacheReport, DoctorReport, GenerateReport, PartitionReport, PlanReport, RunResult, VerifyReport};
use crate::request::{GenerateRequest, InspectRequest, RemoveRequest};

/// The stations of this build.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pipeline;

fn absent<T>() -> Result<T> {
    Err(Error::resource("this build has no stations"))
}

impl Engine for Pipeline {
    fn count(&self, _: &Job, _: &Control) -> Result<RunResult> {
        absent()
    }
    fn plan(&self, _: &Job, _: &Control) -> Result<PlanReport> {
        absent()
    }
    fn partition(&self, _: &Job, _: &Control) -> Result<PartitionReport> {
        absent()
    }
    fn verify(&self, _: &Job, _: &Control) -> Result<VerifyReport> {
        absent()
    }
    fn generate(&self, _: &GenerateRequest, _: &Control) -> Result<GenerateReport> {
        absent()
    }
    fn inspect(&self, _: &InspectRequest, _: &Control) -> Result<serde_json::Value> {
        absent()
    }
    fn doctor(&self, _: Option<&Path>, _: Option<&Path>) -> Result<DoctorReport> {
        absent()
    }
    fn cache_list(&self, _: Option<&Path>) -> Result<CacheReport> {
        absent()
    }
    fn cache_remove(&self, _: Option<&Path>, _: &RemoveRequest) -> Result<CacheReport> {
        absent()
    }
    fn cache_clear(&self, _: Option<&Path>) -> Result<CacheReport> {
        absent()
    }
    fn metis_child(&self, _: &[OsString]) -> Result<()> {
        absent()
    }
}
