//! Whole jobs on a damaged cached graph: the graph is rebuilt, or the job ends and the next one rebuilds it; a count is never wrong.

use std::path::PathBuf;
use std::process::Command;

use trimill::Kind;
use trimill::testing::graph::file::read_layout;

use xxhash_rust::xxh3::xxh3_64;

use super::spread;
use crate::common::flip;
use crate::common::job::{count, program};

/// Five vertices, two triangles; no vertex has the id 4.
const EDGES: &str = "0 1\n1 2\n2 0\n2 3\n3 0\n5 0\n";
const IN_CACHE: &str = "input.path = 'g.txt'\ncache.dir = 'cache'";

struct Job {
    dir: tempfile::TempDir,
}

impl Job {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("g.txt"), EDGES).unwrap();
        // The record of an input that has just changed is one byte longer.
        std::thread::sleep(std::time::Duration::from_millis(100));
        Self { dir }
    }

    fn is_cached(&self, what: &str) -> bool {
        let result = count(IN_CACHE, self.dir.path()).unwrap();
        assert_eq!((result.triangles, result.edges), (2, 6), "{what}");
        result.stages[0].name == "cached"
    }

    /// The exit code and standard error of the program, with the cache of these jobs.
    fn program(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(program());
        command.args(arguments).args(["--cache-dir", "cache"]).current_dir(self.dir.path());
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn file(&self) -> PathBuf {
        let files: Vec<_> = std::fs::read_dir(self.dir.path().join("cache")).unwrap().collect();
        let [Ok(file)] = &files[..] else { panic!("{files:?}") };
        file.path()
    }
}

#[test]
fn a_cached_graph_that_cannot_be_opened_is_made_again() {
    let job = Job::new();
    assert!(!job.is_cached("first"));
    assert!(job.is_cached("second"));
    let whole = std::fs::read(job.file()).unwrap();
    let layout = read_layout(&job.file()).unwrap();
    let end = whole.len() as u64;
    let degrees = layout.range("degrees");
    let opened = [0..40, 56..4096, layout.range("index"), degrees.clone(), degrees.end..end];
    for bit in opened.into_iter().flat_map(|region| spread(8 * region.start..8 * region.end, 6)) {
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
fn a_damaged_section_ends_the_job_that_reads_it_and_the_next_one_makes_the_graph_again() {
    let job = Job::new();
    std::fs::write(job.dir.path().join("parts.txt"), "0 0\n1 1\n2 0\n3 1\n5 1\n").unwrap();
    assert!(!job.is_cached("first"));
    let (file, layout) = (job.file(), read_layout(&job.file()).unwrap());
    assert!(layout.has_ids, "ids with a gap");
    // Settings, and whether they read the order, the ids, and the rows.
    let ways = [
        ("", [false, false, true]),
        ("partition = { partitioner = 'rank', parts = 2 }", [false, false, true]),
        ("partition = { partitioner = 'random', parts = 2 }", [true, false, true]),
        ("partition = { partitioner = 'contiguous', parts = 2, prune = 'zero-indegree' }", [true, false, true]),
        ("partition.partitioner = 'file:parts.txt'", [true, true, true]),
    ];
    let sections = ["order", "ids", "rows"].map(|name| layout.range(name));
    for (section, range) in sections.iter().cloned().enumerate() {
        for bit in spread(8 * range.start..8 * range.end, 3) {
            for (way, reads) in ways {
                let what = format!("section {section}, bit {bit}, {way}");
                flip(&file, bit);
                match count(&format!("{IN_CACHE}\n{way}"), job.dir.path()) {
                    Ok(result) => {
                        assert!(!reads[section], "{what}: nobody noticed");
                        assert_eq!((result.triangles, result.edges), (2, 6), "{what}");
                        assert_eq!(result.stages[0].name, "cached", "{what}");
                        flip(&file, bit);
                    }
                    Err(error) => {
                        assert!(reads[section] && error.kind() == Kind::Data, "{what}: {error}");
                        let text = error.to_string();
                        assert!(text.contains(&file.display().to_string()), "{what}: {text}");
                        assert!(text.contains("it was removed: start again") && !file.exists(), "{what}: {text}");
                        assert!(!job.is_cached(&what));
                    }
                }
                assert!(job.is_cached(&format!("after {what}")));
            }
        }
    }
    // The same by the program, with other commands that read rows as well.
    let spill = ["--spill-dir", "spills"];
    let parts = ["--partitioner", "random", "--parts", "2"];
    for (command, more) in [("count", &[][..]), ("plan", &[]), ("plan", &parts), ("partition", &spill)] {
        flip(&file, 8 * sections[2].start);
        let (code, said) = job.program(&[&[command, "g.txt", "--backend", "cpu"], more].concat());
        assert_eq!(code, Some(1), "{command}: {said}");
        assert!(
            said.contains(file.file_name().unwrap().to_str().unwrap()) && said.contains("it was removed"),
            "{said}"
        );
        assert!(!file.exists(), "{command}");
        assert!(!job.is_cached(command));
    }
}

/// Changes a field of the footer of a graph file and corrects the checksums.
fn edit(path: &std::path::Path, field: &str, value: serde_json::Value) {
    let mut bytes = std::fs::read(path).unwrap();
    let end = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
    let mut footer: serde_json::Value = serde_json::from_slice(&bytes[end..]).unwrap();
    assert!(footer[field].is_number());
    footer[field] = value;
    bytes.truncate(end);
    bytes.extend(serde_json::to_vec(&footer).unwrap());
    let (length, sum) = ((bytes.len() - end) as u32, xxh3_64(&bytes[end..]));
    bytes[12..16].copy_from_slice(&length.to_le_bytes());
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
    let sum = xxh3_64(&bytes[..32]);
    bytes[32..40].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn ids_beyond_those_that_a_cached_graph_declares_are_no_defect() {
    // Ids without a gap, which are known when the graph is opened, and ids that are stored.
    for (edges, has_ids) in [("1 2\n2 3\n3 1\n3 4\n4 1\n5 1\n", false), (EDGES, true)] {
        let job = Job::new();
        std::fs::write(job.dir.path().join("g.txt"), edges).unwrap();
        let counted = || {
            let settings = format!("{IN_CACHE}\noutput.per_vertex = 'counts.npy'");
            let _ = std::fs::remove_file(job.dir.path().join("counts.npy"));
            count(&settings, job.dir.path()).map(|result| (result.triangles, result.stages[0].name == "cached"))
        };
        assert!(!counted().unwrap().1);
        let layout = read_layout(&job.file()).unwrap();
        let (first, lines) = (layout.first_id, layout.declared_lines.unwrap());
        assert_eq!((layout.has_ids, first + lines), (has_ids, 6), "the largest id is 5");
        for (field, value) in
            [("declared_lines", 0), ("declared_lines", 1), ("declared_lines", lines - 1), ("first_id", first + 1)]
        {
            edit(&job.file(), field, value.into());
            match counted() {
                Ok(found) => assert!(!has_ids && found == (2, false), "{field} = {value}: {found:?}"),
                Err(error) => {
                    assert!(has_ids && error.kind() == Kind::Data, "{field} = {value}: {error}");
                    let text = error.to_string();
                    assert!(text.contains("it declares") && text.contains("it was removed: start again"), "{text}");
                    assert!(!job.dir.path().join("counts.npy").exists());
                }
            }
            assert_eq!(counted().unwrap().0, 2);
            assert!(counted().unwrap().1, "{field} = {value}: it was made again");
            edit(&job.file(), field, value.into());
            let (code, said) = job.program(&["count", "g.txt", "--backend", "cpu", "--per-vertex", "more.npy"]);
            assert_eq!(code, Some(i32::from(has_ids)), "{said}");
            assert!(said.contains("it declares"), "{said}");
            assert_eq!(counted().unwrap().0, 2);
            let _ = std::fs::remove_file(job.dir.path().join("more.npy"));
        }
    }
}

#[test]
fn gaps_that_are_never_read_may_be_damaged() {
    let job = Job::new();
    assert!(!job.is_cached("first"));
    let layout = read_layout(&job.file()).unwrap();
    let [order, rows, index] = ["order", "rows", "index"].map(|name| layout.range(name));
    for at in [order.end, rows.start - 1, rows.end, index.end] {
        flip(&job.file(), 8 * at);
        assert!(job.is_cached(&format!("byte {at}")));
    }
}

#[test]
fn a_whole_graph_of_another_input_is_not_taken() {
    let (job, other) = (Job::new(), Job::new());
    std::fs::write(other.dir.path().join("g.txt"), "0 1\n1 2\n2 0\n").unwrap();
    assert!(!job.is_cached("first"));
    count(IN_CACHE, other.dir.path()).unwrap();
    std::fs::copy(other.file(), job.file()).unwrap();
    assert!(!job.is_cached("with the graph of another input"));
    assert!(job.is_cached("second"));
}
