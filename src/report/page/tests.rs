use serde_json::{Value, json};

use super::*;
use crate::rates::Rates;
use crate::report::RunResult;
use crate::report::result::example::example;
use trimill_system::Bytes;
use trimill_system::timeline::{Span, Timeline, Track, TrackKind};

fn entry(kind: ResultKind, title: &str, json: String) -> PageEntry {
    PageEntry { kind, title: title.into(), job: None, rates: None, json, against: None }
}

/// The texts of the JSON elements of a page, found as a browser finds them: from the start tag to the next `</script`.
fn data(page: &str) -> Vec<&str> {
    let elements = page.split("<script type=\"application/json\"").skip(1);
    elements.map(|text| text.split_once('>').unwrap().1.split_once("</script").unwrap().0).collect()
}

#[test]
fn texts_of_a_result_stay_data() {
    let hostile =
        "</script><script>alert(1)</script><!-- <script> --> \u{2028}\u{2029} \\u003c & <!-- insert style -->";
    let result = json!({ "job": hostile, "error": { "kind": "data", "message": hostile } });
    let mut one = entry(ResultKind::Failure, hostile, format!("{result}\n"));
    one.job = Some(hostile.into());
    one.rates = Some(MachineRates { rates: Rates { read_bytes: 3e9, ..Rates::default() }, measured: true });
    let page = page(&[one]);
    let data = data(&page);
    assert_eq!(data.len(), 2);
    assert_eq!(serde_json::from_str::<Value>(data[0]).unwrap(), result);
    let context: Value = serde_json::from_str(data[1]).unwrap();
    assert_eq!(context["version"], VERSION);
    assert_eq!(context["entries"][0]["title"], hostile);
    assert_eq!(context["entries"][0]["job"], hostile);
    assert!(context["created"].as_u64().is_some_and(|seconds| seconds > 1_700_000_000));
    let rates = &context["entries"][0]["rates"];
    assert_eq!((&rates["read_bytes"], &rates["measured"]), (&json!(3e9), &json!(true)));
    assert!(data.iter().all(|text| !text.contains('<')));
    assert_eq!(page.matches(STYLE).count(), 1);
}

#[test]
fn every_script_element_ends_where_the_template_ends_it() {
    let page = page(&[entry(ResultKind::Count, "a", "{}".into())]);
    assert_eq!(page.matches("</script").count(), 4);
    assert_eq!(page.matches("<!-- insert").count(), 0);
    for text in [LIBRARY, STYLE].into_iter().chain(SCRIPTS) {
        assert!(!text.contains("</style") && !text.contains("</script") && !text.contains("<!--"));
        assert!(page.contains(text));
    }
}

#[test]
fn licences_are_in_the_page() {
    let page = page(&[]);
    for text in ["Apache License", "Copyright 2017-", "BSD 3-Clause License", "Microsoft Corporation", "Mike Bostock"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn a_thousand_partitions_and_a_full_timeline_are_below_two_megabytes() {
    let span = Span {
        name: "row block 1234".into(),
        start: 123.456_789_012,
        seconds: 0.012_345_678,
        busy: 0.012_345_678,
        bytes: Some(Bytes(16_777_216)),
        partition: Some(123),
        waiting: false,
        merged: 1,
    };
    let track = |kind| Track { name: "GPU 0 kernels".into(), kind, device: Some(0), spans: vec![span.clone(); 1000] };
    let kinds = [TrackKind::Building, TrackKind::Reading, TrackKind::Counting, TrackKind::Copies, TrackKind::Kernels];
    let timeline = Timeline { seconds: 130.0, tracks: kinds.map(track).into() };
    let result = RunResult { timeline: Some(timeline), ..example(1000) };
    let page = page(&[PageEntry::new(ResultKind::Count, "crawl".into(), &result).unwrap()]);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}
