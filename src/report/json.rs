//! Reports as JSON: one object a line. Nothing goes through `serde_json::Value`, which holds no integer above 64 bits.

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, to_string};

use super::{
    BenchReport, CacheReport, ClusterJobReport, ClusterReport, DoctorReport, Failure, GenerateReport, PartitionReport,
    PlanReport, PreparedReport, RunResult, SCHEMA_VERSION, ShardReport, VERSION, VerifyReport,
};
use crate::job::Job;
use trimill_system::error::STDOUT;
use trimill_system::{Error, Result};

/// A report that can be written as JSON. Used as a trait object, so that its code is compiled once, not in every crate that writes reports.
pub trait Json {
    /// All on one line, without an end of line.
    fn line(&self) -> serde_json::Result<String>;
}

macro_rules! as_json {
    ($line:ident: $($report:ident)*) => {
        $(
            impl Json for $report {
                fn line(&self) -> serde_json::Result<String> {
                    $line(self)
                }
            }
        )*
    };
}

// Reports that are public, stored, or part of others have the versions as fields.
as_json! { to_string: BenchReport ClusterReport PlanReport PreparedReport RunResult Value }
as_json! {
    versioned: CacheReport ClusterJobReport DoctorReport Failure GenerateReport PartitionReport ShardReport VerifyReport
}

/// A report behind the versions of the object and of the program.
fn versioned(report: &impl Serialize) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Versioned<'a, T> {
        schema_version: u32,
        version: &'a str,
        #[serde(flatten)]
        report: &'a T,
    }
    to_string(&Versioned { schema_version: SCHEMA_VERSION, version: VERSION, report })
}

impl Json for Job {
    fn line(&self) -> serde_json::Result<String> {
        to_string(&self.shown())
    }
}

/// Writes `report` as one line.
pub fn write_line(out: &mut dyn Write, report: &dyn Json) -> Result<()> {
    let line = report.line().map_err(|error| unwritten(error.into()))? + "\n";
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
}

/// An error of standard output.
pub fn unwritten(error: std::io::Error) -> Error {
    Error::write(STDOUT, error)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::job::Mode;
    use crate::report::result::example::example;
    use crate::report::{ClusterJobReport, ClusterReport, DeviceResult, PreparedReport, ShardReport};
    use crate::vertices::degrees::DegreeBin;
    use trimill_system::timeline::{Recorder, SpanPlace, TimedWork, TrackKind};

    /// The keys of a JSON object in the order of the text, without those of nested objects.
    fn keys(text: &str) -> Vec<String> {
        let (mut depth, mut keys, mut rest) = (0, Vec::new(), text);
        while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
            let (found, after) = (rest.as_bytes()[at], &rest[at + 1..]);
            rest = after;
            match found {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {
                    let end = after.find('"').unwrap();
                    rest = &after[end + 1..];
                    if depth == 1 && rest.starts_with(':') {
                        keys.push(after[..end].to_owned());
                    }
                }
            }
        }
        keys
    }

    /// The keys of a value's JSON object, in their order.
    pub(crate) fn keys_of(value: &impl Serialize) -> Vec<String> {
        keys(&to_string(value).unwrap())
    }

    /// What is between backticks in a text.
    pub(crate) fn named(text: &str) -> Vec<&str> {
        text.split('`').skip(1).step_by(2).collect()
    }

    /// The fields in the first column of the table behind `heading`.
    pub(crate) fn documented<'d>(document: &'d str, heading: &str) -> Vec<&'d str> {
        let (_, below) = document.split_once(heading).expect(heading);
        let rows = below.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with('|'));
        rows.flat_map(|row| named(row.split('|').nth(1).unwrap())).collect()
    }

    #[test]
    fn the_fields_are_the_documented_ones_in_their_order() {
        let result = example(1);
        let stable = [
            "schema_version", "version", "job", "triangles", "vertices", "edges", "wedges", "transitivity", "input",
            "backend", "method", "partitioner", "prune", "parts", "partitions", "stages", "peak_host_bytes",
        ];
        let added = [
            "device_memory", "host_memory", "duplication", "compression_ratio", "seed", "seconds", "devices", "mode",
            "methods", "driver_host_bytes", "clustering", "truss", "degrees", "timeline",
        ];
        assert_eq!(keys_of(&result), [stable.as_slice(), &added].concat());
        assert_eq!(
            keys_of(&result.input),
            ["vertices_declared", "arcs", "loops_removed", "duplicates_removed", "arcs_added", "arcs_without_reverse",]
        );
        assert_eq!(
            keys_of(&result.partitions[0]),
            [
                "id", "local_vertices", "proxies_induced", "proxies_kept", "arcs_induced", "arcs_kept",
                "resident_bytes", "row_blocks", "largest_block_bytes", "spill_bytes", "stream_bytes",
                "peak_bytes_predicted", "peak_bytes", "triangles", "seconds", "device", "resumed",
            ]
        );
        assert_eq!(keys_of(&result.stages[0]), ["name", "seconds", "bytes_in", "bytes_out"]);
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/result.md")).unwrap();
        let recorder = Recorder::new(Instant::now());
        let second = Duration::from_secs(1);
        let (kind, name, start) = (TrackKind::Stages, ("orient", None), Instant::now());
        let work = TimedWork { kind, name, start, time: second, bytes: None, waiting: false };
        recorder.record(SpanPlace::default(), work);
        let timeline = recorder.timeline(1.0);
        let (track, span) = (&timeline.tracks[0], &timeline.tracks[0].spans[0]);
        for (heading, keys) in [
            ("# The result of a count", keys_of(&result)),
            ("## `input`", keys_of(&result.input)),
            ("## `partitions`", keys_of(&result.partitions[0])),
            ("## `devices`", keys_of(&DeviceResult::default())),
            ("## `stages`", keys_of(&result.stages[0])),
            ("## `degrees`", keys_of(&DegreeBin::default())),
            ("| field of a track |", keys_of(track)),
            ("| field of a span |", keys_of(span)),
        ] {
            assert_eq!(documented(&page, heading), keys, "docs/result.md: {heading}");
        }
        assert_eq!(keys_of(&timeline), ["seconds", "tracks"]);
    }

    #[test]
    fn numbers_above_64_bits_come_back_exactly() {
        let mut result = example(2);
        result.wedges = u128::from(u64::MAX) * 1000 + 7;
        for counted in result.partitions.iter_mut().flat_map(|partition| &mut partition.counted) {
            counted.triangles = u64::MAX;
        }
        let result = result.complete();
        result.check(Path::new("made up")).unwrap();
        let mut line = Vec::new();
        write_line(&mut line, &result).unwrap();
        let text = String::from_utf8(line).unwrap();
        for sum in ["\"wedges\":18446744073709551615007,", "\"triangles\":36893488147419103230,"] {
            assert!(text.contains(sum), "{text}");
        }
        assert_eq!(text.matches('\n').count(), 1);
        assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), result);
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let text = to_string(&example(1)).unwrap();
        let more = text.replacen('{', "{\"colour\":\"blue\",", 1);
        assert!(serde_json::from_str::<RunResult>(&more).is_ok());
    }

    #[test]
    fn the_fields_of_shards_are_documented() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/clusters.md")).unwrap();
        let one = std::num::NonZeroU32::MIN;
        let cluster = ClusterReport::new("run".into(), one, Vec::new(), Vec::new());
        let reports: [(&str, &dyn Json); 4] = [
            ("trimill prepare --json", &PreparedReport::default()),
            ("trimill count --shard --json", &ShardReport::new("run".into(), "0/1".into(), 1, Mode::InPlace)),
            ("trimill cluster --json", &cluster),
            ("trimill run --json", &ClusterJobReport::new("job", PreparedReport::default(), cluster.clone())),
        ];
        for (command, report) in reports {
            let keys = keys(&report.line().unwrap());
            let listed = page.split(&format!("`{command}`:")).nth(1).unwrap().split("\n\n").next().unwrap();
            // Text in parentheses explains a field and names none.
            let outside: String = listed.split(['(', ')']).step_by(2).collect();
            assert_eq!(keys, named(&outside), "{command}");
        }
    }
}
