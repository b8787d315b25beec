//! What `trimill count` refuses before it counts.

use std::path::PathBuf;
use std::process::Command;

use super::job::{listing, program};

/// A directory to count in: `g.txt` has a triangle, `there.tsv` the text `kept`, and `dir.tsv` is a directory.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::write(place.path("g.txt"), "0 1\n1 2\n2 0\n").unwrap();
        std::fs::write(place.path("there.tsv"), "kept").unwrap();
        std::fs::create_dir(place.path("dir.tsv")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Counts `g.txt`; returns the exit code, and what was printed to standard error.
    fn count(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(program());
        command.current_dir(self.0.path()).args(["count", "g.txt", "--no-cache", "--backend", "cpu", "--json"]);
        let output = command.args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// The exit code of these arguments is `code`, the message has all of the words, and nothing is written.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let (status, said) = self.count(arguments);
        assert_eq!(status, Some(code), "{arguments:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{arguments:?} does not say '{word}': {said}");
        }
        assert_eq!(listing(self.0.path()), ["dir.tsv", "g.txt", "there.tsv"], "{arguments:?}");
        assert_eq!(std::fs::read_to_string(self.path("there.tsv")).unwrap(), "kept", "{arguments:?}");
    }

    /// Writes the file of an option over `there.tsv` with `--force`, and nothing else; returns its text.
    #[track_caller]
    pub(crate) fn replaced_by(&self, option: &str) -> String {
        let (status, said) = self.count(&[option, "there.tsv", "--force"]);
        assert_eq!(status, Some(0), "{said}");
        assert_eq!(listing(self.0.path()), ["dir.tsv", "g.txt", "there.tsv"]);
        std::fs::read_to_string(self.path("there.tsv")).unwrap()
    }
}
