//! What `trimill count` refuses before it counts.

use super::job::listing;
use super::place;

/// Counts `g.txt`.
const COUNT: [&str; 6] = ["count", "g.txt", "--no-cache", "--backend", "cpu", "--json"];

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

    /// The exit code of these arguments is `code`, the message has all of the words, and nothing is written.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        self.0.refuses(&[&COUNT[..], arguments].concat(), code, words);
        assert_eq!(listing(&self.0.path("")), ["dir.tsv", "g.txt", "there.tsv", "tmp"], "{arguments:?}");
        assert_eq!(std::fs::read_to_string(self.0.path("there.tsv")).unwrap(), "kept", "{arguments:?}");
    }

    /// Writes the file of an option over `there.tsv` with `--force`, and nothing else; returns its text.
    #[track_caller]
    pub(crate) fn replaced_by(&self, option: &str) -> String {
        self.0.prints(&[&COUNT[..], &[option, "there.tsv", "--force"]].concat());
        assert_eq!(listing(&self.0.path("")), ["dir.tsv", "g.txt", "there.tsv", "tmp"]);
        std::fs::read_to_string(self.0.path("there.tsv")).unwrap()
    }
}
