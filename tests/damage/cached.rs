//! Whole jobs on a cached graph that was damaged: it is made again, and the count is right.

use std::path::PathBuf;

use crate::common::job::count;
use crate::{flip, spread};

/// Five vertices, two triangles.
const EDGES: &str = "0 1\n1 2\n2 0\n2 3\n3 0\n4 0\n";

struct Job {
    dir: tempfile::TempDir,
}

impl Job {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("g.txt"), EDGES).unwrap();
        // What is recorded of a file that has just changed takes another byte.
        std::thread::sleep(std::time::Duration::from_millis(100));
        Self { dir }
    }

    /// Counts, and tells whether the graph came from the cache.
    fn is_cached(&self, what: &str) -> bool {
        let result = count("input.path = 'g.txt'\ncache.dir = 'cache'", self.dir.path()).unwrap();
        assert_eq!((result.triangles, result.edges), (2, 6), "{what}");
        result.stations[0].name == "cached"
    }

    /// The only file of the cache.
    fn file(&self) -> PathBuf {
        let files: Vec<_> = std::fs::read_dir(self.dir.path().join("cache")).unwrap().collect();
        let [Ok(file)] = &files[..] else { panic!("{files:?}") };
        file.path()
    }
}

#[test]
fn a_damaged_cached_graph_is_made_again() {
    let job = Job::new();
    assert!(!job.is_cached("first"));
    assert!(job.is_cached("second"));
    let whole = std::fs::read(job.file()).unwrap();
    let bits = 8 * whole.len() as u64;
    for bit in spread(0..bits, 30).chain([8 * 9, 8 * 35 + 2, 8 * 4096 + 2]) {
        flip(&job.file(), bit);
        assert!(!job.is_cached(&format!("bit {bit}")));
        assert!(job.is_cached(&format!("after bit {bit}")));
    }
    for length in [0, 1, 39, 40, 4095, 4096, 4097, whole.len() / 2, whole.len() - 1, whole.len() + 1] {
        let mut cut = whole.clone();
        cut.resize(length, 0);
        std::fs::write(job.file(), cut).unwrap();
        assert!(!job.is_cached(&format!("{length} bytes")));
        assert!(job.is_cached(&format!("after {length} bytes")));
    }
}

#[test]
fn a_whole_graph_of_another_input_is_not_taken() {
    let (job, other) = (Job::new(), Job::new());
    std::fs::write(other.dir.path().join("g.txt"), "0 1\n1 2\n2 0\n").unwrap();
    assert!(!job.is_cached("first"));
    count("input.path = 'g.txt'\ncache.dir = 'cache'", other.dir.path()).unwrap();
    std::fs::copy(other.file(), job.file()).unwrap();
    assert!(!job.is_cached("with the graph of another input"));
    assert!(job.is_cached("second"));
}
