//! The answer is printed, or returned, even if files that belong to it cannot be written.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use trimill::{Graph, Kind, Options, RunResult};

use super::karate;
use crate::common::job::listing;
use crate::common::place::{Place, text};

/// The result printed as JSON, on a line of its own.
#[track_caller]
fn answer(output: &Output) -> Value {
    let said = text(&output.stdout);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{}", text(&output.stderr)))
}

fn files_are_full(place: &Place, names: &[&str]) {
    names.iter().for_each(|name| symlink("/dev/full", place.path(name)).unwrap());
}

#[test]
fn files_of_counts_that_cannot_be_written_take_neither_the_answer_nor_other_files_with_them() {
    let place = Place::without_gpus();
    files_are_full(&place, &["full.tsv", "also.tsv.gz"]);
    let counts = ["--per-edge", "full.tsv", "--per-vertex", "v.tsv", "--by-degree", "also.tsv.gz"];
    let whole = ["--no-cache", "--backend", "cpu", "--output", "o", "--report", "r.html"];
    let graph = karate();
    for (command, more) in [("count", &whole[..]), ("verify", &[])] {
        let all = [&[command, &graph], &counts[..], more].concat();
        let said = ["full.tsv: cannot be written", "also.tsv.gz: cannot be"];
        let result = answer(&place.refuses(&[&all[..], &["--json", "--force"]].concat(), 3, &said));
        assert_eq!((&result["triangles"], &result["edges"]), (&45.into(), &78.into()));
        assert_eq!(result["clustering"]["most_triangles"], 18, "the summary, too: {result}");
        assert_eq!(place.read("v.tsv").lines().count(), 35, "{command}");
        fs::remove_file(place.path("v.tsv")).unwrap();
        let table = text(&place.refuses(&[&all[..], &["--force"]].concat(), 3, &[]).stdout);
        assert!(table.contains("45"), "{table}");
        fs::remove_file(place.path("v.tsv")).unwrap();
    }
    let written: Value = serde_json::from_slice(&fs::read(place.path("o/result.json")).unwrap()).unwrap();
    assert_eq!(written["triangles"], 45);
    assert!(place.read("r.html").starts_with("<!DOCTYPE html>"));

    let jobs = "[[job]]\noutput.per_edge = 'full.tsv'\n[[job]]\noutput.per_vertex = 'w.tsv'\n";
    place.write("jobs.toml", format!("[defaults]\ninput.path = '{graph}'\ncache.enabled = false\n{jobs}"));
    let said = "counted; resource: full.tsv: cannot be written";
    let said = text(&place.refuses(&["run", "jobs.toml", "--json"], 3, &[said]).stdout);
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line["triangles"] == 45), "{said}");
    assert!(place.path("w.tsv").is_file());
}

#[test]
fn the_answer_is_printed_when_the_disk_of_its_files_is_full() {
    let (place, graph) = (Place::without_gpus(), karate());
    fs::create_dir(place.path("o")).unwrap();
    files_are_full(&place, &["o/result.json", "r.html", "t.json"]);
    for (full, words, found) in [
        ("o/result.json", &["count", &graph, "--output", "o"][..], "45"),
        ("t.json", &["count", &graph, "--trace", "t.json"], "45"),
        ("r.html", &["count", &graph, "--report", "r.html"], "45"),
        ("r.html", &["plan", &graph, "--report", "r.html"], "partitions"),
        ("r.html", &["bench", &graph, "--methods", "bitmap", "--runs", "1", "--report", "r.html"], "45"),
    ] {
        let said = format!("{full}: cannot be written (No space left");
        let table = text(&place.refuses(words, 3, &[&said]).stdout);
        let json = answer(&place.refuses(&[words, &["--json"]].concat(), 3, &[&said])).to_string();
        assert!(table.contains(found) && json.contains(found), "{words:?}: {table}{json}");
    }
    assert_eq!(listing(&place.path("o")), ["result.json"], "both files, or none");
    let kept = place.path("o/result.json");
    assert!(kept.is_symlink() && kept.metadata().unwrap().file_type().is_char_device());
}

#[test]
fn a_disk_that_is_full_at_any_write_after_counting_leaves_the_answer() {
    let place = Place::without_gpus();
    let outputs = ["--per-edge", "e.tsv", "--per-vertex", "v.tsv", "--by-degree", "d.tsv", "--output", "o"];
    let kept = ["--keep-spill", "--spill-dir", "kept", "--partitioner", "random", "--parts", "2"];
    let graph = karate();
    for more in [&[][..], &["--run-dir", "r"], &kept] {
        // The writes of the same job without files, one check in advance for each of the five files, and for three of them one before all jobs.
        let writes = |files: &[&str]| {
            let (mut without, mut answered) = (0, false);
            for at in 1.. {
                for name in ["e.tsv", "v.tsv", "d.tsv"] {
                    let _ = fs::remove_file(place.path(name));
                }
                for dir in ["o", "r", "kept"] {
                    let _ = fs::remove_dir_all(place.path(dir));
                }
                let fixed = ["--no-cache", "--backend", "cpu", "--threads", "1", "--json"];
                let arguments = [&["count", &graph], &fixed[..], more, files].concat();
                let output = place.run_with(&format!("write:{at}"), &arguments);
                let said = text(&output.stderr);
                if output.status.code() == Some(0) {
                    assert!(!said.contains("strikes"), "{said}");
                    return (without, at);
                }
                assert_eq!(output.status.code(), Some(3), "{at}: {said}");
                let now = answer(&output)["triangles"] == 45;
                assert!(now || !answered, "write {at} of {arguments:?} takes the answer away: {said}");
                without += u32::from(!now);
                answered = now;
            }
            unreachable!("no end")
        };
        let (counting, _) = writes(&["--clustering"]);
        let (unanswered, all) = writes(&outputs);
        // With a run directory the counts on edges of each partition are kept, too.
        let kept_counts = if more.contains(&"--run-dir") { 8 } else { 0 };
        let most = counting + 9 + kept_counts;
        assert!(unanswered <= most && all > unanswered + 5, "{more:?}: {unanswered} of {all}, at most {most}");
    }
}

#[test]
fn with_a_run_directory_the_next_start_counts_nothing_again_and_writes_what_is_missing() {
    let place = Place::without_gpus();
    files_are_full(&place, &["e.tsv"]);
    let count = |code, more: &[&str]| {
        let job = ["--per-edge", "e.tsv", "--per-vertex", "v.tsv", "--parts", "3", "--no-cache", "--backend", "cpu"];
        let output = place.run(&[&["count", &karate(), "--json"], &job[..], more].concat());
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        output
    };
    let first = count(3, &["--run-dir", "r"]);
    assert_eq!(answer(&first)["triangles"], 45);
    let said = text(&first.stderr);
    assert_eq!(said.matches("start the same job again to continue").count(), 1, "{said}");
    let resumed = |output: &Output| {
        let parts = answer(output)["partitions"].as_array().unwrap().clone();
        (parts.len(), parts.iter().filter(|part| part["resumed"] == true).count())
    };
    assert_eq!(resumed(&first), (3, 0));
    fs::remove_file(place.path("e.tsv")).unwrap();
    let second = count(0, &["--run-dir", "r"]);
    assert_eq!((resumed(&second), &answer(&second)["triangles"]), ((3, 3), &45.into()));
    let [edges, vertices] = ["e.tsv", "v.tsv"].map(|name| fs::read(place.path(name)).unwrap());
    count(0, &["--force"]);
    assert!(fs::read(place.path("e.tsv")).unwrap() == edges && fs::read(place.path("v.tsv")).unwrap() == vertices);
}

#[test]
fn a_file_that_appears_while_a_job_counts_is_replaced_by_force_alone() {
    let place = Place::without_gpus();
    // More than a pipe holds: once all is written, the job has begun, and has found no file there.
    let edges: String = (0..50_000).map(|id| format!("{id} {}\n", id + 1)).collect();
    let count = (&["count", "-", "--json", "--per-vertex", "v.tsv"][..], "v.tsv", "id\t");
    let pairs = (&["generate", "copies", "-", "--copies", "2", "-o", "v.txt"][..], "v.txt", "0 1\n");
    let rows = (&["generate", "copies", "-", "--copies", "2", "-o", "v.graph"][..], "v.properties", "#BVGraph");
    let ends: [(&[&str], i32); 2] = [(&[], 3), (&["--force"], 0)];
    let each = [count, pairs, rows].into_iter().flat_map(|one| ends.map(|(more, code)| (one, more, code)));
    for ((arguments, name, begins), more, code) in each {
        let mut command = place.command(&[arguments, more].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut job = command.spawn().unwrap();
        // The input ends when `wait_with_output` closes it.
        job.stdin.as_mut().unwrap().write_all(edges.as_bytes()).unwrap();
        place.write(name, "mine");
        let output = job.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        if arguments[0] == "count" {
            assert_eq!(answer(&output)["edges"], 50_000);
        }
        let written = place.read(name);
        match code {
            0 => assert!(written.starts_with(begins), "{written}"),
            _ => assert!(written == "mine" && said.contains(&format!("{name}: is there already")), "{said}"),
        }
        assert!(code == 0 || !place.path("v.offsets").exists(), "files that belong together are there together");
        assert!(listing(&place.path("")).iter().all(|name| !name.ends_with(".tmp")), "the new file is removed");
        fs::remove_file(place.path(name)).unwrap();
    }
}

#[test]
fn the_library_returns_the_answer_with_the_error() {
    let place = Place::without_gpus();
    files_are_full(&place, &["e.tsv"]);
    place.write("mine.tsv", "mine");
    let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]);
    let error = graph.count(&Options::new().per_edge(place.path("e.tsv"))).unwrap_err();
    assert_eq!(error.kind(), Kind::Resource);
    assert_eq!(error.answer::<RunResult>().map(|result| (result.triangles, result.edges)), Some((1, 4)));
    let options = Options::new().per_vertex(place.path("mine.tsv"));
    let error = graph.count(&options).unwrap_err();
    assert!(error.kind() == Kind::Usage && error.answer::<RunResult>().is_none(), "{error}");
    assert_eq!(place.read("mine.tsv"), "mine");
    graph.count(&options.force()).unwrap();
    assert!(place.read("mine.tsv").starts_with("id\t"));
}

#[test]
fn temporary_files_have_a_place_and_are_removed() {
    let place = Place::without_gpus();
    let spilled = ["count", &karate(), "--no-cache", "--partitioner", "random", "--parts", "2"];
    let output = place.command(&spilled).env("TMPDIR", "").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    // A killed job leaves a partial file, which the next output in that folder removes.
    fs::create_dir(place.path("out")).unwrap();
    let mut left = 0;
    for at in 1.. {
        let count = ["count", &karate(), "--no-cache", "--per-vertex", "out/v.tsv", "--force"];
        let killed = place.run_with(&format!("kill:{at}"), &count);
        if killed.status.code() == Some(0) {
            break;
        }
        if listing(&place.path("out")).iter().any(|name| name.ends_with(".tmp")) {
            left += 1;
            place.prints(&["count", &karate(), "--no-cache", "--by-degree", "out/d.tsv", "--force"]);
            let names = listing(&place.path("out"));
            assert!(names.iter().all(|name| !name.ends_with(".tmp")), "{names:?}");
        }
    }
    assert!(left > 1, "{left} leftovers");
}

#[test]
fn a_batch_in_a_folder_whose_name_is_not_utf_8_is_shown_as_text() {
    let place = Place::without_gpus();
    let folder = place.path("").join(std::ffi::OsString::from_vec(b"d\xff".to_vec()));
    fs::create_dir(&folder).unwrap();
    for (name, contents) in [
        ("g.txt", "0 1\n1 2\n2 0\n"),
        ("p.txt", "0\n0\n1\n"),
        ("j.toml", "[[job]]\ninput.path = 'g.txt'\nwork.dir = 'w'\npartition.partitioner = 'file:p.txt'\n"),
    ] {
        fs::write(folder.join(name), contents).unwrap();
    }
    let output = place.command(&["run", "--check", "--json"]).arg(folder.join("j.toml")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let job = answer(&output);
    let (input, settings) = (&job["inputs"][0], &job["settings"]);
    let (work, parts) = (&settings["work"]["dir"], &settings["partition"]["partitioner"]);
    for (shown, end) in [(input, "g.txt"), (work, "w"), (parts, "p.txt")] {
        assert!(shown.as_str().is_some_and(|path| path.ends_with(&format!("/d\u{fffd}/{end}"))), "{job}");
    }
}

#[test]
fn methods_are_compared_on_graphs_whose_names_are_not_utf_8() {
    let place = Place::without_gpus();
    let named = |name: &[u8]| place.path("").join(std::ffi::OsString::from_vec(name.to_vec()));
    fs::create_dir(named(b"d\xff")).unwrap();
    let graph = named(b"d\xff/k\xe9.mtx");
    fs::copy(Path::new(&karate()), &graph).unwrap();
    let arguments = ["bench", "--methods", "bitmap", "--runs", "1", "--json", "--no-cache"];
    let mut command = place.command(&arguments);
    let output = command.arg(&graph).arg("--work-dir").arg(named(b"w\xfe")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(answer(&output)["graphs"][0]["triangles"], 45, "{}", text(&output.stdout));
}

/// The next start would refuse to replace a file that an interrupted one left.
#[test]
fn an_interrupted_job_leaves_all_of_its_files_or_none() {
    let place = Place::without_gpus().with("TRIMILL_SYNC", "1");
    let graph = karate();
    let names = ["e.tsv", "v.tsv", "d.tsv"];
    let files = ["--per-edge", names[0], "--per-vertex", names[1], "--by-degree", names[2]];
    let count = [&["count", &graph, "--no-cache", "--backend", "cpu"][..], &files].concat();
    let mut interrupted = 0;
    for at in 1.. {
        let output = place.run_with(&format!("term:{at}"), &count);
        let said = text(&output.stderr);
        let left = names.iter().filter(|name| fs::remove_file(place.path(name)).is_ok()).count();
        match output.status.code() {
            Some(130) => assert_eq!(left, 0, "write {at}: {said}"),
            code => assert_eq!((code, left), (Some(0), names.len()), "write {at}: {said}"),
        }
        interrupted += u32::from(left == 0);
        if !said.contains("strikes") {
            break;
        }
    }
    assert!(interrupted > 5, "{interrupted} times");
}
