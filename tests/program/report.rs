//! Reports and traces of real jobs agree with the job's result; a report's job file repeats the job. For browsers, see `scripts/check-report`.

use std::fs;

use crate::common::job::{listing, typed};
use crate::common::place::{Place, stderr};
use serde::de::DeserializeOwned;
use serde_json::Value;
use trimill::{PartitionFigures, RunResult};

/// A graph of `tests/data`, and its triangles as published.
const GRAPH: (&str, u128) = ("facebook_combined.txt", 1_612_010);

fn result(json: &[u8]) -> RunResult {
    let result: RunResult = serde_json::from_slice(json).unwrap();
    assert_eq!(result.triangles, GRAPH.1);
    result
}

/// The JSON elements of a page, as a browser finds them: the text from the end of the start tag to the next `</script`.
fn elements(page: &str) -> Vec<(&str, &str)> {
    let after = page.split("<script type=\"application/json\" ").skip(1).map(|text| text.split_once('>').unwrap());
    after.map(|(tag, rest)| (tag, rest.split("</script").next().unwrap())).collect()
}

fn element<T: DeserializeOwned>(page: &str, id: &str) -> T {
    let is_it = |(tag, _): &(&str, &str)| tag.contains(&format!("id=\"{id}\""));
    serde_json::from_str(elements(page).into_iter().find(is_it).unwrap().1).unwrap()
}

fn context(page: &str) -> Value {
    element(page, "context")
}

/// The spans of the tracks of one kind, without those of waiting.
fn worked<'a>(result: &'a RunResult, kind: &'a str) -> impl Iterator<Item = &'a trimill::Span> {
    let tracks = result.timeline.as_ref().unwrap().tracks.iter();
    let of_kind = tracks.filter(move |track| serde_json::to_value(track.kind).unwrap() == kind);
    of_kind.flat_map(|track| &track.spans).filter(|span| !span.waiting)
}

const MODES: [&[&str]; 2] = [
    &["--partitioner", "rank", "--parts", "3", "--block-bytes", "64KiB"],
    &["--partitioner", "random", "--parts", "4", "--prune", "zero-indegree", "--clustering"],
];

#[test]
fn views_of_a_job_that_is_done_are_said_to_have_no_timeline() {
    let place = Place::new();
    let count = ["count", &typed(GRAPH.0), "--backend", "cpu", "--run-dir", "run"];
    place.prints(&count);
    let again = place.run(&[&count[..], &["--json", "--report", "r.html", "--trace", "t.json"]].concat());
    let result = result(&again.stdout);
    assert_eq!((result.timeline, result.degrees), (None, None));
    assert_eq!(stderr(&again).matches("there is no timeline, and no degrees").count(), 1, "{}", stderr(&again));
    assert!(place.path("r.html").exists() && place.path("t.json").exists());
}

#[test]
fn a_timeline_has_every_row_block_of_every_partition_within_the_time_of_the_job() {
    for mode in MODES {
        let place = Place::new();
        let input = typed(GRAPH.0);
        let words = ["count", &input, "--json", "--report", "r.html", "--trace", "t.json", "--backend", "cpu"];
        let result = result(&place.prints(&[&words, mode].concat()));
        let timeline = result.timeline.as_ref().unwrap();
        assert_eq!(timeline.seconds, result.seconds);
        for track in &timeline.tracks {
            for span in &track.spans {
                let within = span.start >= 0.0 && span.start + span.seconds <= result.seconds + 1e-3;
                assert!(within && (span.busy, span.merged) == (span.seconds, 1), "{}: {span:?}", track.name);
            }
            assert!(track.spans.is_sorted_by(|a, b| a.start <= b.start), "{}", track.name);
        }
        let stages: Vec<&str> = worked(&result, "stages").map(|span| span.name.as_str()).collect();
        for stage in ["input", "clean", "orient", "plan", "count"] {
            assert!(stages.contains(&stage), "no {stage}: {stages:?}");
        }
        assert_eq!(stages.contains(&"vertices"), result.clustering.is_some());
        for partition in &result.partitions {
            for kind in ["reading", "counting"] {
                let own = || worked(&result, kind).filter(|span| span.partition == Some(partition.id));
                let blocks = own().filter(|span| span.name.starts_with("row block")).count() as u64;
                // Counting triangles at vertices may take several passes over a partition.
                let passes = blocks / partition.row_blocks.max(1);
                assert!(passes > 0 || partition.row_blocks == 0, "{kind} of {}", partition.id);
                assert_eq!(blocks, passes * partition.row_blocks, "{kind} of {}", partition.id);
                assert!(passes <= 1 || result.clustering.is_some(), "{kind} of {}", partition.id);
                let bytes: u64 = own().filter_map(|span| span.bytes).map(|bytes| bytes.get()).sum();
                assert_eq!(bytes, partition.stream_bytes.get(), "{kind} of {}", partition.id);
            }
        }
        let built = worked(&result, "building").any(|span| span.name == "spill");
        assert_eq!(built, mode.contains(&"random"));

        let degrees = result.degrees.as_ref().unwrap();
        assert_eq!(degrees.iter().map(|range| range.vertices).sum::<u64>(), result.vertices);
        let corners: Option<u128> = degrees.iter().map(|range| range.triangles).sum();
        assert_eq!(corners, result.clustering.as_ref().map(|_| 3 * GRAPH.1));

        // The trace has each span once.
        let trace: Value = serde_json::from_slice(&fs::read(place.path("t.json")).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let mut starts: Vec<u64> = events.map(|event| (event["ts"].as_f64().unwrap() * 1e3) as u64).collect();
        let spans = timeline.tracks.iter().flat_map(|track| &track.spans);
        let mut expected: Vec<u64> = spans.map(|span| (span.start * 1e6 * 1e3) as u64).collect();
        starts.sort_unstable();
        expected.sort_unstable();
        assert_eq!(starts, expected);

        // The page has the result to the byte; it has no text with a `<`.
        let page = place.read("r.html");
        let (_, text) = elements(&page)[0];
        assert_eq!(serde_json::from_str::<RunResult>(text).unwrap(), result);
        assert!(page.len() < 2_000_000 && !page.contains(" src=\"http") && !page.contains(" href=\"http"));
    }
}

/// The earlier result is in the page without its timeline; a file that is none is refused before anything is counted.
#[test]
fn a_report_compares_with_an_earlier_result() {
    let place = Place::new();
    let input = typed(GRAPH.0);
    place.write("earlier.json", place.prints(&["count", &input, "--json", "--parts", "3", "--report", "first.html"]));
    place.write("plan.json", place.prints(&["plan", &input, "--json"]));
    place.write("failed.json", place.run(&["count", "missing.txt", "--json"]).stdout);
    place.write("lines.jsonl", place.read("earlier.json").repeat(2));
    let bench = ["bench", &input, "--methods", "bitmap", "--runs", "1", "--json", "--backend", "cpu"];
    place.write("bench.json", place.prints(&bench));
    place.write("other.json", "{\"triangles\": 3}");
    let newer = place.read("earlier.json");
    place.write("newer.json", newer.replacen("\"schema_version\":1", "\"schema_version\":2", 1));
    for (file, said) in [
        ("nowhere.json", "nowhere.json: cannot be read"),
        ("plan.json", "plan.json: is a plan"),
        ("failed.json", "failed.json: is a failure"),
        ("bench.json", "bench.json: is a comparison of methods"),
        ("lines.jsonl", "lines.jsonl: is not one JSON object"),
        ("other.json", "other.json: is no result (missing field"),
        ("newer.json", "newer.json: has version 2"),
    ] {
        let output = place.refuses(&["count", &input, "--report", "r.html", "--against", file], 1, &[said]);
        assert!(output.stdout.is_empty() && !place.path("r.html").exists(), "{file}");
    }
    place.refuses(&["count", &input, "--against", "earlier.json"], 2, &["--report"]);

    place.prints(&["count", &input, "--report", "r.html", "--against", "earlier.json"]);
    // A job of a job file is compared with the result that it replaces, also on the page of all jobs.
    let plain = result(&place.prints(&["count", &input, "--output", "o/n", "--parts", "2", "--json", "--clustering"]));
    assert_eq!(result(&fs::read(place.path("o/n/result.json")).unwrap()), plain);
    assert_eq!(listing(&place.path("o/n")), ["partitions.tsv", "result.json"]);
    assert!(plain.timeline.is_none() && plain.degrees.is_none(), "nothing is recorded unless it is asked for");
    let output = "output = { dir = 'o/n', force = true, report = 'j.html', against = 'o/n/result.json' }";
    place.write("job.toml", format!("[[job]]\ninput.path = '{input}'\n{output}\n"));
    place.prints(&["run", "job.toml", "--report", "all.html"]);
    for page in ["j.html", "all.html"] {
        assert_eq!(element::<RunResult>(&place.read(page), "result-1-earlier").parts, 2, "{page}");
    }
    let page = place.read("r.html");
    assert_eq!(context(&page)["entries"][0]["against"], "earlier.json");
    let mut before: RunResult = serde_json::from_slice(&fs::read(place.path("earlier.json")).unwrap()).unwrap();
    assert!(before.timeline.is_some() && before.parts == 3);
    (before.timeline, before.degrees) = (None, None);
    assert_eq!(element::<RunResult>(&page, "result-1-earlier"), before);
}

#[test]
fn the_job_in_a_report_repeats_the_job() {
    const ASSIGNED: &[&str] = &["--partitioner", "file:parts.txt", "--per-vertex", "v.tsv"];
    for mode in MODES.into_iter().chain([ASSIGNED]) {
        let place = Place::new();
        place.write("parts.txt", (0..4039).map(|id| format!("{id} {}\n", id % 3)).collect::<String>());
        let input = typed(GRAPH.0);
        let words = ["count", &input, "--json", "--report", "r.html", "--backend", "cpu", "--device-memory", "3MiB"];
        let first = result(&place.prints(&[&words, mode].concat()));
        let page = place.read("r.html");
        place.write("again.toml", context(&page)["entries"][0]["job"].as_str().unwrap());
        // As the job file says where files of counts are there already.
        let second = result(&place.prints(&["run", "again.toml", "--json", "--set", "output.force=true"]));
        let of = |result: &RunResult| {
            let figures = |p: &PartitionFigures| (p.id, p.local_vertices, p.arcs_kept, p.counted().triangles);
            let partitions = result.partitions.iter().map(figures);
            let budgets = (result.device_memory, result.host_memory);
            // The paths of a job file are absolute.
            let partitioner = result.partitioner.rsplit(['/', ':']).next().map(str::to_owned);
            let chosen = (result.method.clone(), partitioner, result.mode, budgets);
            (partitions.collect::<Vec<_>>(), chosen, result.clustering.clone())
        };
        assert_eq!(of(&second), of(&first), "{mode:?}");
    }
}

#[test]
fn a_batch_a_plan_and_a_comparison_have_reports() {
    let place = Place::new();
    let input = typed(GRAPH.0);
    let job = |name: char, input: &str| format!("[[job]]\nname = '{name}'\ninput.path = '{input}'\n");
    place.write("jobs.toml", job('a', &input) + &job('b', "missing.txt"));
    // The command fails, since one job does; its report is written nevertheless.
    let output = place.run(&["run", "jobs.toml", "--report", "all.html", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let page = place.read("all.html");
    let entries = context(&page)["entries"].clone();
    let kinds: Vec<&str> = entries.as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["count", "failure"]);
    let lines: Vec<Value> =
        output.stdout.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(lines.len(), 2);
    for ((_, text), line) in elements(&page).into_iter().zip(&lines) {
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), line);
    }

    for words in [["plan", "--json"], ["bench", "--json"]] {
        let file = format!("{}.html", words[0]);
        let json = place.prints(&[words[0], &input, words[1], "--report", &file, "--backend", "cpu"]);
        let page = place.read(&file);
        assert_eq!(context(&page)["entries"][0]["kind"], words[0]);
        let (_, text) = elements(&page)[0];
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), serde_json::from_slice::<Value>(&json).unwrap());
    }
}

#[test]
fn nothing_but_an_earlier_report_or_an_empty_file_is_replaced() {
    let place = Place::new();
    let input = typed(GRAPH.0);
    place.write("page.html", "<!DOCTYPE html><title>my own page</title>");
    place.write("graph.json", "{\"edges\": []}");
    for words in [
        &["count", &input, "--report", "page.html"][..],
        &["count", &input, "--trace", "graph.json"],
        &["plan", &input, "--report", "page.html"],
        &["bench", &input, "--report", "page.html"],
    ] {
        place.refuses(words, 2, &["is there already", words.last().unwrap()]);
    }
    place.write("jobs.toml", format!("[[job]]\ninput.path = '{input}'\noutput.report = 'page.html'\n"));
    place.refuses(&["run", "jobs.toml"], 2, &["is there already", "page.html"]);
    assert_eq!(place.read("page.html"), "<!DOCTYPE html><title>my own page</title>");
    assert_eq!(place.read("graph.json"), "{\"edges\": []}");
    ["r.html", "t.json"].iter().for_each(|name| drop(place.write(name, "")));
    for _ in 0..2 {
        place.prints(&["count", &input, "--report", "r.html", "--trace", "t.json"]);
        assert!(context(&place.read("r.html"))["entries"].is_array());
        serde_json::from_slice::<Value>(&fs::read(place.path("t.json")).unwrap()).unwrap();
    }
}
