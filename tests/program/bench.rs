//! Comparisons of methods: with child processes of the program, and with children that misbehave.

use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::job::typed;
use crate::common::place::{Place, SmallDisk, stderr};
use trimill::testing::bench::{self, BenchGraph, BenchRequest};
use trimill::testing::job::Backend;
use trimill::testing::job::parse::parse;
use trimill::testing::report::BenchReport;
use trimill::{Control, Kind};

/// How `trimill bench` ends, what it says and its report.
fn bench(place: &Place, arguments: &[&str]) -> (Option<i32>, String, BenchReport) {
    let output = place.run(&[&["bench"], arguments, &["--json", "--progress", "none"]].concat());
    let said = stderr(&output);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    (output.status.code(), said, report)
}

#[test]
fn all_methods_of_the_cpu_count_what_was_published() {
    let (place, karate, facebook) = (Place::without_gpus(), typed("karate.mtx"), typed("facebook_combined.txt"));
    let graphs = [karate.as_str(), &facebook, "--expect", "45,1612010", "--runs", "2"];
    let (code, said, report) = bench(&place, &[&graphs[..], &["--output", "b.json", "--report", "b.html"]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((report.baseline.to_string().as_str(), report.graphs.len()), ("forward@cpu", 2));
    for (graph, (vertices, edges)) in report.graphs.iter().zip([(34, 78), (4039, 88_234)]) {
        assert_eq!((graph.vertices, graph.edges), (vertices, edges));
        assert!(graph.probes >= graph.triangles.unwrap() as u64 && graph.methods.len() >= 6);
        let names: Vec<&str> = graph.methods.iter().map(|method| method.method.as_str()).collect();
        assert_eq!(names[..3], ["auto", "bitmap", "forward"]);
        for method in &graph.methods {
            assert_eq!((method.correct, method.runs.len(), method.warmed_up), (Some(true), 2, true), "{method:?}");
            assert!(method.speedup.unwrap() > 0.0 && method.device_bytes.unwrap().get() > 0, "{method:?}");
            assert!(method.kernel_seconds.unwrap().max <= method.seconds.unwrap().max, "{method:?}");
        }
        assert_eq!(graph.methods[2].kernel_speedup, Some(1.0));
        assert_eq!(graph.methods[0].counted_by.as_deref(), Some("bitmap"));
    }
    let kept: BenchReport = serde_json::from_slice(&std::fs::read(place.path("b.json")).unwrap()).unwrap();
    assert_eq!(kept, report);
    assert!(place.read("b.html").contains("\"triangles\":1612010"));
}

#[test]
fn what_cannot_count_is_a_row_and_a_wrong_count_an_exit_code() {
    let (place, karate) = (Place::without_gpus(), typed("karate.mtx"));
    let methods = ["--methods", "lstc,bitmap,forward", "--parts", "2", "--runs", "1"];
    let (code, _, report) = bench(&place, &[&[&*karate], &methods[..]].concat());
    let graph = &report.graphs[0];
    let problems = graph.methods.iter().map(|method| method.problem.as_ref().map(|problem| problem.kind.as_str()));
    assert!(problems.eq([Some("resource"), None, Some("usage")]), "no GPU; fine; cannot be cut: {:?}", graph.methods);
    assert_eq!(code, Some(0));
    assert_eq!((graph.methods[1].parts, graph.reference.as_deref()), (Some(2), Some("bitmap@cpu")));

    let (code, said, report) = bench(&place, &[&karate, "--methods", "bitmap", "--expect", "44", "--runs", "1"]);
    assert_eq!((code, report.graphs[0].methods[0].correct), (Some(1), Some(false)));
    assert!(said.contains("karate.mtx: bitmap@cpu: WRONG: counted 45 triangles; expected 44 (--expect)"), "{said}");
    place.refuses(&["bench", &karate, "--methods", "lstc"], 3, &["no method counted"]);
    let (.., report) = bench(&place, &[&karate, "--methods", "bitmap", "--verify", "--runs", "1"]);
    assert_eq!(report.graphs[0].reference.as_deref(), Some("trimill verify"));
    place.refuses(&["bench", &karate, "--methods", "bitmpa"], 2, &["did you mean `bitmap`?"]);
    let missing = place.refuses(&["bench", &karate, "/nowhere/g.txt", "--json"], 1, &[]);
    let said: serde_json::Value = serde_json::from_slice(&missing.stdout).unwrap();
    assert_eq!(said["error"]["kind"], "data", "nothing is run where a graph is missing");
}

#[test]
fn a_comparison_that_cannot_be_written_is_refused_and_no_folder_is_made_for_it() {
    let place = Place::without_gpus();
    place.write("file", "");
    for (flag, name, words) in [
        ("--output", "new/b.json", "new does not exist; make it first"),
        ("--report", "new/b.html", "new does not exist; make it first"),
        ("--output", "file/b.json", "file: is not a directory"),
    ] {
        let file = place.path(name);
        place.refuses(&["bench", &typed("karate.mtx"), "--runs", "1", flag, file.to_str().unwrap()], 3, &[words]);
        assert!(!place.path("new").exists(), "{words}");
    }
}

#[test]
fn one_bad_graph_does_not_stop_the_others() {
    let place = Place::without_gpus();
    place.write("bad.txt", "0 1\n1 two\n");
    let graphs = ["bad.txt", &typed("karate.mtx"), "--methods", "bitmap", "--runs", "1"];
    let (code, said, BenchReport { graphs, .. }) = bench(&place, &graphs);
    assert_eq!((code, said.matches("bad.txt").count()), (Some(1), 1), "{said}");
    assert!(graphs[0].problem.as_ref().unwrap().message.contains("bad.txt:2"), "{:?}", graphs[0].problem);
    assert_eq!(graphs[1].methods[0].correct, Some(true));
}

#[test]
fn without_the_cache_the_graph_takes_the_work_directory_up_to_its_last_byte() {
    let place = Place::without_gpus();
    let crawl = typed("cnr-2000");
    place.prints(&["count", &crawl]);
    let bytes = place.answer(&["cache", "list"])["entries"][0]["bytes"].as_u64().unwrap();
    let run = |size: u64| {
        let small = SmallDisk::mount(&place, &size.to_string())?;
        let options = ["--methods", "bitmap", "--runs", "1", "--no-cache", "--work-dir", "small"];
        let output = place.run(&[&["bench", &crawl], &options[..]].concat());
        drop(small);
        Some((output.status.code(), stderr(&output)))
    };
    // More than half of what is free, the most that a cache of several jobs takes by default.
    let Some((code, said)) = run(bytes * 3 / 2) else { return };
    assert_eq!(code, Some(0), "{said}");
    let Some((code, said)) = run(bytes / 2) else { return };
    assert!(code != Some(0) && said.contains("small") && !said.contains("--cache"), "{said}");
}

fn request(graphs: Vec<BenchGraph>, timeout: f64) -> BenchRequest {
    BenchRequest {
        graphs,
        methods: vec!["bitmap".into(), "forward".into()],
        baseline: None,
        backend: Backend::Cpu,
        runs: NonZeroU32::MIN,
        timeout: Duration::from_secs_f64(timeout),
        verify: false,
    }
}

fn with_children(body: &str, timeout: f64) -> Vec<(String, String)> {
    let dir = tempfile::tempdir().unwrap();
    let script: PathBuf = dir.path().join("child");
    std::fs::write(&script, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let toml = format!("input.path = '{}'\ncache.dir = '{}'", typed("karate.mtx"), dir.path().join("cache").display());
    let graph = BenchGraph { tables: parse(&toml, Path::new("test")).unwrap(), expected: None };
    let report = bench::bench(&request(vec![graph], timeout), Some(&script), &Control::silent(), &mut |_| ()).unwrap();
    let graph = &report.graphs[0];
    assert_eq!((graph.edges, graph.triangles), (78, None), "{:?}", graph.problem);
    let problems = graph.methods.iter().map(|method| method.problem.clone().unwrap());
    problems.map(|problem| (problem.kind, problem.message)).collect()
}

#[test]
fn a_child_that_crashes_hangs_or_prints_garbage_ends_alone() {
    let error = r#"{"kind":"resource","message":"no room"}"#;
    let answer = format!(r#"{{"schema_version":1,"version":"0","job":null,"error":{error}}}"#);
    let refused = format!("read job; echo '{answer}'; read job");
    for (body, timeout, kind, words) in [
        ("echo first >&2; echo 'the last word' >&2; exit 7", 60.0, "crash", "with exit code 7: the last word"),
        ("kill -KILL $$", 60.0, "crash", "(signal 9, SIGKILL)"),
        ("exec sleep 60", 0.2, "timeout", "stopped after 0.2 s"),
        ("read job; echo \"$job\"; exec sleep 60", 60.0, "crash", "not a result"),
        (&refused, 60.0, "resource", "no room"),
    ] {
        for (found, message) in with_children(body, timeout) {
            assert!(found == kind && message.contains(words), "{body}: {found}: {message}");
        }
    }
    let error = bench::bench(&request(Vec::new(), 1.0), None, &Control::silent(), &mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage);
}
