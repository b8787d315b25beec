//! What `trimill count` refuses before it counts.

use super::job::listing;
use super::place::{self, stderr};

/// A directory to count in: `g.txt` has a triangle, `there.tsv` the text `kept`, and `dir.tsv` is a directory.
pub(crate) struct Place(place::Place);

impl Place {
    pub(crate) fn new() -> Self {
        let place = place::Place::new();
        place.write("g.txt", "0 1\n1 2\n2 0\n");
        place.write("there.tsv", "kept");
        std::fs::create_dir(place.path("dir.tsv")).unwrap();
        Self(place)
    }

    /// Counts `g.txt`; returns the exit code and the text of standard error.
    fn count(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let fixed = ["count", "g.txt", "--no-cache", "--backend", "cpu", "--json"];
        let output = self.0.run(&[&fixed, arguments].concat());
        (output.status.code(), stderr(&output))
    }

    /// The exit code of these arguments is `code`, the message has all of the words, and nothing is written.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let (status, said) = self.count(arguments);
        assert_eq!(status, Some(code), "{arguments:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{arguments:?} does not say '{word}': {said}");
        }
        assert_eq!(listing(&self.0.path("")), ["dir.tsv", "g.txt", "there.tsv", "tmp"], "{arguments:?}");
        assert_eq!(std::fs::read_to_string(self.0.path("there.tsv")).unwrap(), "kept", "{arguments:?}");
    }

    /// Writes the file of an option over `there.tsv` with `--force`, and nothing else; returns its text.
    #[track_caller]
    pub(crate) fn replaced_by(&self, option: &str) -> String {
        let (status, said) = self.count(&[option, "there.tsv", "--force"]);
        assert_eq!(status, Some(0), "{said}");
        assert_eq!(listing(&self.0.path("")), ["dir.tsv", "g.txt", "there.tsv", "tmp"]);
        std::fs::read_to_string(self.0.path("there.tsv")).unwrap()
    }
}
