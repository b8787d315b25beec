//! A timeline in the Trace Event format (Google: 'Trace Event Format', 2016), for Perfetto and chrome://tracing. Each track is a thread of one
//! process, or several threads if its spans overlap, since the format wants the spans of a thread nested. Times are in microseconds.

use serde_json::{Value, json};

use super::VERSION;
use trimill_system::timeline::{Span, Timeline, Track};

/// How such a file begins: other files are not replaced.
pub const MARK: &str = "{\"otherData\":{\"program\":\"trimill\"";

const PROCESS: u32 = 1;

/// The text of the file for the job that reports call `title`.
pub fn trace(title: &str, timeline: &Timeline) -> String {
    let mut events = vec![json!({"ph": "M", "pid": PROCESS, "name": "process_name", "args": {"name": title}})];
    let mut thread = 0;
    for track in &timeline.tracks {
        for lane in lanes(track) {
            thread += 1;
            let about =
                |name: &str, args: Value| json!({"ph": "M", "pid": PROCESS, "tid": thread, "name": name, "args": args});
            events.push(about("thread_name", json!({ "name": track.name })));
            events.push(about("thread_sort_index", json!({ "sort_index": thread })));
            events.extend(lane.into_iter().map(|span| event(span, thread)));
        }
    }
    let [version, job, events]: [Value; 3] = [VERSION.into(), title.into(), events.into()];
    format!("{MARK},\"version\":{version},\"job\":{job}}},\"displayTimeUnit\":\"ms\",\"traceEvents\":{events}}}\n")
}

fn event(span: &Span, thread: u32) -> Value {
    let name = if span.waiting { format!("waits for {}", span.name) } else { span.name.clone() };
    let mut args = serde_json::Map::new();
    if let Some(bytes) = span.bytes {
        args.insert("bytes".into(), bytes.get().into());
    }
    if let Some(partition) = span.partition {
        args.insert("partition".into(), partition.into());
    }
    if span.merged > 1 {
        args.insert("joined".into(), span.merged.into());
        args.insert("busy_us".into(), (span.busy * 1e6).into());
    }
    let category = if span.waiting { "wait" } else { "work" };
    json!({
        "ph": "X", "pid": PROCESS, "tid": thread, "ts": span.start * 1e6, "dur": span.seconds * 1e6, "name": name, "cat": category,
        "args": args,
    })
}

fn lanes(track: &Track) -> Vec<Vec<&Span>> {
    let mut lanes: Vec<(f64, Vec<&Span>)> = Vec::new();
    for span in &track.spans {
        let end = span.start + span.seconds;
        match lanes.iter_mut().find(|(free, _)| *free <= span.start) {
            Some((free, lane)) => {
                *free = end;
                lane.push(span);
            }
            None => lanes.push((end, vec![span])),
        }
    }
    lanes.into_iter().map(|(_, lane)| lane).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use trimill_system::bytes::Bytes;
    use trimill_system::timeline::TrackKind;

    fn span(name: &str, start: f64, seconds: f64, waiting: bool) -> Span {
        let name = name.to_owned();
        Span { name, start, seconds, busy: seconds, bytes: Some(Bytes(7)), partition: Some(2), waiting, merged: 1 }
    }

    #[test]
    fn every_span_is_an_event_and_none_overlap_in_a_thread() {
        let spans = vec![
            span("row block 1", 0.5, 0.25, false),
            span("row block 2", 0.6, 0.05, false),
            span("rows", 0.75, 0.5, true),
            span("row block 3", 0.9, 0.01, false),
        ];
        let track = Track { name: "GPU 0 counting".into(), kind: TrackKind::Counting, device: Some(0), spans };
        let timeline = Timeline { seconds: 2.0, tracks: vec![track] };
        let text = trace("a \"job\"", &timeline);
        assert!(text.starts_with(MARK), "{text}");
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&file["otherData"]["job"], &file["displayTimeUnit"]), (&json!("a \"job\""), &json!("ms")));
        let events = file["traceEvents"].as_array().unwrap();
        assert_eq!(events[0]["args"]["name"], "a \"job\"");
        let mut threads: HashMap<u64, Vec<(f64, f64)>> = HashMap::new();
        let mut names = Vec::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let time = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
            threads.entry(event["tid"].as_u64().unwrap()).or_default().push(time);
            names.push((event["name"].as_str().unwrap(), event["cat"].as_str().unwrap()));
            assert_eq!((&event["args"]["bytes"], &event["args"]["partition"]), (&json!(7), &json!(2)));
        }
        names.sort();
        let work = ["row block 1", "row block 2", "row block 3"].map(|name| (name, "work"));
        assert_eq!(names, [&work[..], &[("waits for rows", "wait")]].concat());
        assert_eq!(threads.len(), 2);
        for times in threads.values() {
            assert!(times.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{times:?}");
        }
        let first = threads.values().flatten().map(|time| time.0).fold(f64::INFINITY, f64::min);
        assert!((first - 500_000.0).abs() < 1e-6);
    }
}
