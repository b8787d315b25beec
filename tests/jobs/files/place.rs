//! A directory to run the program in, with its cache and its temporary files inside.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use trimill::testing::report::RunResult;

use crate::common::job::program;
pub(crate) use crate::common::place::stderr as said;

pub(crate) const TRIANGLE: &str = "0 1\n1 2\n2 0\n";
/// Four triangles: a clique of four vertices.
pub(crate) const CLIQUE: &str = "0 1\n0 2\n0 3\n1 2\n1 3\n2 3\n";

pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("tmp")).unwrap();
        place
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("TMPDIR", self.path("tmp")).env("XDG_CACHE_HOME", self.path("home")).env_remove("TRIMILL_FAULT");
        command
    }

    /// `trimill count` on the CPU.
    pub(crate) fn count(&self, input: impl AsRef<Path>, arguments: &[&str]) -> Output {
        let mut command = self.command(&["count", "--json", "--backend", "cpu", "--threads", "2"]);
        command.arg(input.as_ref()).args(arguments).output().unwrap()
    }

    pub(crate) fn cached(&self) -> Vec<PathBuf> {
        graphs(&self.path("home/trimill"))
    }
}

/// The graph files in a folder.
pub(crate) fn graphs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|suffix| suffix == "trimgraf")).collect()
}

/// The result of a job that succeeded.
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
