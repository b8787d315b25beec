//! Jobs as a user writes them, run by the library.

use std::path::{Path, PathBuf};

use trimill::control::Control;
use trimill::engine::Engine;
use trimill::error::Result;
use trimill::job::file::parse;
use trimill::job::{Backend, Job};
use trimill::pipeline::Pipeline;
use trimill::report::RunResult;

/// The program under test, which METIS is run in. Where these tests were built elsewhere, it lies beside them.
pub(crate) fn program() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_trimill"));
    let beside = std::env::current_exe().ok().and_then(|test| Some(test.parent()?.join("trimill")));
    if built.exists() { built } else { beside.unwrap_or(built) }
}

/// A file of `tests/data`. Cargo says where the package is; without it the working directory is the package.
pub(crate) fn data(name: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    std::path::absolute(package).unwrap_or_default().join("tests/data").join(name)
}

/// Resolves a job written in TOML, its paths relative to `base`.
pub(crate) fn job(toml: &str, base: &Path) -> Result<Job> {
    Job::resolve(None, &parse(toml, Path::new("test.toml"))?, base)
}

/// Runs such a job, without the cache unless the text says otherwise; on a GPU with `TRIMILL_TEST_BACKEND=cuda`.
pub(crate) fn count(toml: &str, base: &Path) -> Result<RunResult> {
    let mut job = job(toml, base)?;
    job.cache &= toml.contains("cache");
    if job.method.is_none() && std::env::var_os("TRIMILL_TEST_BACKEND").is_some_and(|name| name == "cuda") {
        job.backend = Backend::Cuda;
    }
    job.work_dir = job.work_dir.or_else(|| Some(base.join("work")));
    let result = Pipeline::with_program(Some(&program())).count(&job, &Control::silent())?;
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
