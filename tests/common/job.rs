//! Jobs as a user writes them, run by the library.

use std::path::Path;

use trimill::commands::engine::Engine;
use trimill::control::Control;
use trimill::error::Result;
use trimill::job::Job;
use trimill::job::file::parse;
use trimill::pipeline::Pipeline;
use trimill::report::RunResult;

/// The program under test, which METIS is run in.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_trimill");

/// Resolves a job written in TOML, its paths relative to `base`.
pub(crate) fn job(toml: &str, base: &Path) -> Result<Job> {
    Job::resolve(None, &parse(toml, Path::new("test.toml"))?, base)
}

/// Runs such a job, without the cache unless the text says otherwise.
pub(crate) fn count(toml: &str, base: &Path) -> Result<RunResult> {
    let mut job = job(toml, base)?;
    job.cache &= toml.contains("cache");
    job.work_dir = job.work_dir.or_else(|| Some(base.join("work")));
    let result = Pipeline::with_program(Some(Path::new(PROGRAM))).count(&job, &Control::silent())?;
    result.check(Path::new("test"))?;
    Ok(result)
}

/// What lies in a directory, all names, sorted.
pub(crate) fn listing(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
