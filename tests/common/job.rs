//! Jobs written in TOML, run by the library.

use std::path::{Path, PathBuf};

use trimill::testing::child::Helper;
use trimill::testing::execute;
use trimill::testing::job::parse::parse;
use trimill::testing::job::{Backend, Job};
use trimill::testing::report::RunResult;
use trimill::{Bytes, Control, PartitionFigures, Result};

/// Settings that divide the same count in different ways.
pub(crate) const SETTINGS: [&str; 6] = [
    "",
    "partition = { partitioner = 'random', parts = 5, prune = 'zero-indegree' }",
    "partition = { partitioner = 'contiguous', parts = 3, prune = 'none' }\nspill.to = 'memory'",
    "partition = { partitioner = 'rank', parts = 4 }\nmemory.block = '64KiB'",
    "memory.device = '1MiB'\npartition.partitioner = 'rank'",
    "memory.device = '1MiB'\npartition.prune = 'direct'\ncount.threads = 1",
];

/// The program under test, in which METIS runs. If these tests were built on another machine, it is in their folder.
pub(crate) fn program() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_trimill"));
    let beside = std::env::current_exe().ok().and_then(|test| Some(test.parent()?.join("trimill")));
    if built.exists() { built } else { beside.unwrap_or(built) }
}

/// A file of `tests/data`. Cargo gives the folder of the package; without Cargo the working directory is that folder.
pub(crate) fn data(name: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    std::path::absolute(package).unwrap_or_default().join("tests/data").join(name)
}

/// The line of a job that names a file of `tests/data` as its input.
pub(crate) fn input(name: &str) -> String {
    format!("input.path = '{}'\n", typed(name))
}

/// A file of `tests/fixtures/inputs`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    data("../fixtures/inputs").join(name)
}

/// The arcs of a list of edges of `tests/data`: the first two numbers of each line that is no comment.
pub(crate) fn arcs(name: &str) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(data(name)).unwrap();
    let arc = |line: &str| {
        let mut ids = line.split_whitespace().map(|id| id.parse::<u64>().unwrap());
        (ids.next().unwrap(), ids.next().unwrap())
    };
    text.lines().filter(|line| !line.starts_with(['#', '%'])).map(arc).collect()
}

/// The path of a file of `tests/data` ([`data`]), as a user types it.
pub(crate) fn typed(name: &str) -> String {
    data(name).display().to_string()
}

/// Resolves a job written in TOML, its paths relative to `base`.
pub(crate) fn job(toml: &str, base: &Path) -> Result<Job> {
    Job::resolve(None, &parse(toml, Path::new("test.toml"))?, base)
}

/// Runs such a job, without the cache unless the text sets it; on a GPU with `TRIMILL_TEST_BACKEND=cuda`.
pub(crate) fn count(toml: &str, base: &Path) -> Result<RunResult> {
    let mut job = job(toml, base)?;
    job.settings.cache.enabled = Some(job.settings.cache.enabled() && toml.contains("cache"));
    if job.settings.count.method.is_none()
        && std::env::var_os("TRIMILL_TEST_BACKEND").is_some_and(|name| name == "cuda")
    {
        job.settings.count.backend = Some(Backend::Cuda);
    }
    job.settings.work.dir = job.settings.work.dir.or_else(|| Some(base.join("work")));
    let result = execute::count::count(job.clone(), None, Some(Helper::metis(program())), &Control::silent())?;
    result.check(Path::new("test"))?;
    Ok(result)
}

/// A partition's figures, without those that depend on the method and the device that count it.
pub(crate) fn known(partition: &PartitionFigures) -> PartitionFigures {
    let mut known = partition.clone();
    (known.counted, known.file, known.fits) = (None, None, None);
    (known.resident_bytes, known.peak_bytes_predicted) = (Bytes::ZERO, Bytes::ZERO);
    known
}

pub(crate) fn listing(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
