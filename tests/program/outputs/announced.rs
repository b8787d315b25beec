//! No output, flag or input makes a job lose a file that it did not announce, or one of its own outputs.
//!
//! A scene has inputs, files that are the user's, links, folders and spills. Generated jobs write to any of these names, in pairs and
//! more, through links and folders; afterwards every file is compared with what it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::common::place::{Place, text};

/// A triangle; also the text of the user's files.
const TRIANGLE: &str = "0 1\n1 2\n2 0\n";

/// An output: the flag, the key in job files, and the beginning of what is written.
type Kind = (&'static str, &'static str, &'static str);

const FILES: [Kind; 3] = [
    ("--per-vertex", "output.per_vertex", "id\tdegree\t"),
    ("--by-degree", "output.by_degree", "degree\tvertices\t"),
    ("--per-edge", "output.per_edge", "u\tv\ttriangles\n"),
];
const REPORT: Kind = ("--report", "output.report", "<!DOCTYPE html>");
const TRACE: Kind = ("--trace", "output.trace", "{");
const OUTPUT: Kind = ("--output", "output.dir", "");
const RUN: Kind = ("--run-dir", "run.dir", "");
const SPILL: Kind = ("--spill-dir", "spill.dir", "");

/// The names of files and folders that outputs may get.
const NAMES: [&str; 18] = [
    "in.tsv", "link.tsv", "hard.tsv", "parts.tsv", "mine.tsv", "up.tsv", "sub/mine.tsv", "through/mine.tsv", "new.tsv",
    "./new.tsv", "sub/../new.tsv", "ahead.tsv", "sub/new.tsv", "through/new.tsv", "o/partitions.tsv", "r/new.tsv",
    "nowhere/new.tsv", "null.tsv",
];
const PAGES: [&str; 4] = ["new.html", "mine.html", "page-link.html", "sub/../new.html"];
const TRACES: [&str; 5] = ["new.json", "o/result.json", "s/manifest.json", "jobs-link.json", "old/result.json"];
const FOLDERS: [&str; 8] = ["o", "./o", "old", "sub", "through", "r", "r/work", "."];
const SPILLS: [&str; 4] = ["s", "t", "sub", "r"];

fn scene() -> Place {
    let place = Place::without_gpus();
    for dir in ["sub", "old", "s"] {
        fs::create_dir(place.path(dir)).unwrap();
    }
    for name in ["in.tsv", "mine.tsv", "sub/mine.tsv", "mine.html", "old/result.json", "s/part-00000.spill"] {
        place.write(name, TRIANGLE);
    }
    place.write("parts.tsv", "0\n1\n0\n");
    fs::hard_link(place.path("in.tsv"), place.path("hard.tsv")).unwrap();
    for (to, link) in [
        ("in.tsv", "link.tsv"),
        ("sub/mine.tsv", "up.tsv"),
        ("new.tsv", "ahead.tsv"),
        ("sub", "through"),
        ("in.tsv", "page-link.html"),
        ("jobs.toml", "jobs-link.json"),
        ("/dev/null", "null.tsv"),
    ] {
        symlink(to, place.path(link)).unwrap();
    }
    place
}

/// Every file below `dir` with its contents, and every link with its target.
fn all_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap() {
            found if found.is_dir() => all.extend(all_files(&path)),
            found if found.is_symlink() => {
                let target = fs::read_link(&path).unwrap();
                all.insert(path, target.into_os_string().into_encoded_bytes());
            }
            _ => drop(all.insert(path.clone(), fs::read(path).unwrap())),
        }
    }
    all
}

#[derive(Debug, Clone)]
struct Scene {
    command: &'static str,
    input: &'static str,
    force: bool,
    assigned: bool,
    outputs: Vec<(Kind, &'static str)>,
    /// In a batch, whether an output belongs to the second job.
    second: Vec<bool>,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let files = FILES.map(|kind| (Just(kind), select(&NAMES[..])).boxed());
    let others = [
        (Just(REPORT), select(&PAGES[..])).boxed(),
        (Just(TRACE), select(&TRACES[..])).boxed(),
        (Just(OUTPUT), select(&FOLDERS[..])).boxed(),
        (Just(RUN), select(&FOLDERS[..])).boxed(),
        (Just(SPILL), select(&SPILLS[..])).boxed(),
    ];
    let all: Vec<_> = files.into_iter().chain(others).collect();
    let outputs = subsequence(all, 1..=3).prop_flat_map(|chosen| chosen);
    let commands = select(&["count", "count", "run", "prepare", "partition"][..]);
    let inputs = select(&["in.tsv", "link.tsv", "./sub/../hard.tsv"][..]);
    (commands, inputs, any::<bool>(), any::<bool>(), outputs, any::<[bool; 3]>()).prop_map(
        |(command, input, force, assigned, mut outputs, second)| {
            let takes = |kind: &Kind| match command {
                "prepare" => ![REPORT, TRACE, SPILL].contains(kind),
                "partition" => *kind == SPILL,
                _ => true,
            };
            outputs.retain(|(kind, _)| takes(kind));
            if command == "prepare" && !outputs.iter().any(|(kind, _)| *kind == RUN) {
                outputs.push((RUN, "r"));
            }
            if command == "partition" && outputs.is_empty() {
                outputs.push((SPILL, "s"));
            }
            Scene { command, input, force, assigned, outputs, second: second.to_vec() }
        },
    )
}

impl Scene {
    fn arguments(&self, place: &Place) -> Vec<String> {
        let Self { command, input, force, assigned, outputs, second } = self;
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        if *command == "run" {
            let parts = if *assigned { "partition.partitioner = 'file:parts.tsv'\n" } else { "" };
            let usual = "cache.enabled = false\ncount.backend = 'cpu'\n";
            let mut jobs = format!("[defaults]\ninput.path = '{input}'\n{usual}{parts}");
            for job in [false, true] {
                jobs += &format!("[[job]]\noutput.force = {force}\n");
                for (((_, key, _), name), _) in outputs.iter().zip(second).filter(|(_, second)| **second == job) {
                    jobs += &format!("{key} = '{name}'\n");
                    if *key == SPILL.1 {
                        jobs += "spill.keep = true\n";
                    }
                }
            }
            place.write("jobs.toml", jobs);
            return words(&["run", "jobs.toml"]);
        }
        let mut arguments = words(&[command, input, "--backend", "cpu"]);
        arguments.extend((*command != "prepare").then(|| "--no-cache".to_owned()));
        for ((flag, ..), name) in outputs {
            arguments.extend(words(&[flag, name]));
        }
        let kept = outputs.iter().any(|(kind, _)| *kind == SPILL) && *command == "count";
        let files = outputs.iter().any(|(kind, _)| FILES.contains(kind) || *kind == OUTPUT);
        for (flag, given) in [("--keep-spill", kept), ("--force", *force && (files || *command == "partition"))] {
            arguments.extend(given.then(|| flag.to_owned()));
        }
        if *assigned {
            arguments.extend(words(&["--partitioner", "file:parts.tsv"]));
        }
        arguments
    }

    /// Whether the job was told to write `file`, after links are resolved; spills and folders announce all that they may hold.
    fn announced(&self, place: &Place, file: &Path) -> bool {
        let end = |name: &str| fs::canonicalize(place.path(name)).ok();
        let (at, dir) = (Some(file.to_path_buf()), file.parent().map(Path::to_path_buf));
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        self.outputs.iter().any(|&(kind, output)| match kind {
            OUTPUT => end(output) == dir && ["result.json", "partitions.tsv"].contains(&&*name),
            SPILL => end(output) == dir && name.ends_with(".spill"),
            RUN => false,
            _ => end(output) == at,
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn no_job_loses_a_file_that_it_did_not_announce(scene in scenes()) {
        let place = self::scene();
        let arguments = scene.arguments(&place);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let root = fs::canonicalize(place.path("")).unwrap();
        let before = all_files(&root);
        let announced: Vec<PathBuf> = before.keys().filter(|file| scene.announced(&place, file)).cloned().collect();
        let output = place.run(&arguments);
        let after = all_files(&root);
        let said = text(&output.stderr);
        let code = output.status.code();
        prop_assert!(matches!(code, Some(0..=3)), "{code:?}: {said}");
        for (file, bytes) in &before {
            let inputs = ["in.tsv", "hard.tsv", "jobs.toml", if scene.assigned { "parts.tsv" } else { "in.tsv" }];
            let is_input = inputs.iter().any(|input| *file == root.join(input)) || file.is_symlink();
            let same = after.get(file) == Some(bytes);
            let may = scene.force && announced.contains(file) && !is_input && code != Some(2);
            prop_assert!(same || may, "{} is lost, {code:?}: {said}", file.display());
        }
        if code == Some(2) {
            let made: Vec<_> = after.keys().filter(|file| !before.contains_key(*file)).collect();
            prop_assert!(made.is_empty(), "{made:?} after {said}");
        }
        // A job that succeeded has written all that it was told to, each with the right contents.
        if code == Some(0) && scene.command != "prepare" {
            for ((_, key, head), name) in &scene.outputs {
                let path = place.path(name);
                match *key {
                    _ if fs::canonicalize(&path).is_ok_and(|end| end == Path::new("/dev/null")) => {}
                    "output.dir" => {
                        let tables = fs::read_to_string(path.join("partitions.tsv")).unwrap();
                        prop_assert!(tables.starts_with("id\tlocal_vertices\t"), "{tables}");
                        prop_assert!(fs::read_to_string(path.join("result.json")).unwrap().contains("\"triangles\": 1,"));
                    }
                    "run.dir" => prop_assert!(path.join("result.json").is_file()),
                    "spill.dir" => prop_assert!(path.join("manifest.json").is_file()),
                    _ => {
                        let written = fs::read_to_string(&path).unwrap();
                        prop_assert!(written.starts_with(head), "{name}: {written}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_start_in_a_run_directory_replaces_only_what_an_earlier_one_announced() {
    let place = scene();
    let start = ["count", "in.tsv", "--no-cache", "--backend", "cpu", "--run-dir", "r"];
    let count = |more: &[&str]| place.prints(&[&start, more].concat());
    let refused = |more: &[&str], said| place.refuses(&[&start, more].concat(), 2, &[said]);
    // A job may replace its own result.
    for output in ["o", "o", "o", "p", "p"] {
        count(&["--clustering", "--output", output]);
    }
    for more in [["--per-vertex", "mine.tsv"], ["--output", "old"]] {
        refused(&more, "is there already");
    }
    let mine = || place.read("mine.tsv");
    assert_eq!(mine(), TRIANGLE);
    for force in [&["--force"][..], &[]] {
        count(&[&["--per-vertex", "mine.tsv"], force].concat());
        assert!(mine().starts_with("id\t"));
    }
    fs::remove_file(place.path("mine.tsv")).unwrap();
    count(&["--per-vertex", "mine.tsv"]);
    assert!(mine().starts_with("id\t"));
    // A file that somebody changed since the job was done is not the job's own any more.
    place.write("mine.tsv", TRIANGLE);
    refused(&["--per-vertex", "mine.tsv"], "mine.tsv: was changed since the job wrote it; name");
    count(&["--per-vertex", "mine.tsv", "--force"]);
    assert!(mine().starts_with("id\t"));
}

#[test]
fn other_commands_replace_no_file_either() {
    let place = scene();
    place.write("g.txt", TRIANGLE);
    fs::copy(place.path("g.txt"), place.path("c.properties")).unwrap();
    let before = all_files(&place.path(""));
    for (arguments, words) in [
        (&["verify", "in.tsv", "--per-vertex", "mine.tsv"][..], "--force"),
        (&["verify", "in.tsv", "--per-vertex", "in.tsv", "--force"], "would replace it"),
        (&["verify", "in.tsv", "--per-vertex", "new.tsv", "--per-edge", "ahead.tsv"], "cannot both be here"),
        (&["bench", "in.tsv", "--output", "mine.tsv"], "is there already"),
        (&["bench", "in.tsv", "--output", "new.html", "--report", "./new.html"], "cannot both be here"),
        (&["plan", "in.tsv", "--report", "page-link.html"], "would replace it"),
        (&["generate", "complete", "--vertices", "3", "-o", "g.txt"], "--force"),
        (&["generate", "complete", "--vertices", "3", "-o", "c.graph"], "c.properties: is there already"),
        (&["generate", "blowup", "g.txt", "--copies", "2", "-o", "./g.txt", "--force"], "would replace it"),
    ] {
        place.refuses(arguments, 2, &[words]);
    }
    assert_eq!(all_files(&place.path("")), before);
    place.prints(&["generate", "complete", "--vertices", "3", "-o", "g.txt", "--force"]);
    for _ in 0..2 {
        place.prints(&["bench", "in.tsv", "--methods", "bitmap", "--runs", "1", "--output", "b.json"]);
    }
}
