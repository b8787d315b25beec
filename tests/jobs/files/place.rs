//! Counts in a directory with its own cache.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, UNIX_EPOCH};

use trimill::testing::report::RunResult;

pub(crate) use crate::common::place::{Place, stderr as said, with_suffix};

pub(crate) const TRIANGLE: &str = "0 1\n1 2\n2 0\n";
/// Four triangles: a clique of four vertices.
pub(crate) const CLIQUE: &str = "0 1\n0 2\n0 3\n1 2\n1 3\n2 3\n";

impl Place {
    /// `trimill count` on the CPU.
    pub(crate) fn count(&self, input: impl AsRef<Path>, arguments: &[&str]) -> Output {
        let mut command = self.command(&["count", "--json", "--backend", "cpu", "--threads", "2"]);
        command.arg(input.as_ref()).args(arguments).output().unwrap()
    }

    pub(crate) fn cached(&self) -> Vec<PathBuf> {
        with_suffix(&self.path("cache/trimill"), "trimgraf")
    }
}

#[track_caller]
pub(crate) fn result(output: &Output) -> RunResult {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Its triangles, and whether the graph came from the cache.
#[track_caller]
pub(crate) fn counted(output: &Output) -> (u128, bool) {
    let result = result(output);
    (result.triangles, result.stages[0].name == "cached")
}

/// Sets the time of modification to a fixed value.
pub(crate) fn dated(path: &Path) {
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
