//! Tests with a comparison small enough to be checked by hand.

use super::example::example;
use super::*;
use crate::report::json::tests::{documented, keys_of, named};

#[test]
fn what_follows_from_the_runs() {
    let report = example();
    let auto = &report.graphs[0].methods[0];
    let kernel = auto.kernel_seconds.unwrap();
    assert!((kernel.median - 0.35).abs() < 1e-12, "the mean of 0.3 and 0.4");
    assert_eq!((kernel.min, kernel.max), (0.2, 0.5));
    assert!((auto.edges_per_second.unwrap() - 1000.0 / 0.35).abs() < 1e-6);
    assert!((auto.probes_per_second.unwrap() - 4000.0 / 0.35).abs() < 1e-6);
    assert_eq!(auto.device_bytes, Some(Bytes::mib(3)));
    let late = &report.graphs[0].methods[3];
    assert_eq!((late.kernel_seconds, late.edges_per_second, late.device_bytes), (None, None, None));
    assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
    assert!(report.any_wrong());
}

#[test]
fn a_run_takes_kernels_from_the_device_where_there_is_one() {
    let mut result = crate::report::result::example::example(2);
    let stage = |name: &str, seconds: f64| Stage { name: name.into(), seconds, ..Stage::default() };
    result.stages = vec![stage("stream", 9.0), stage("count", 4.0)];
    let cpu = BenchRun::of(&result);
    assert_eq!((cpu.kernel_seconds, cpu.copy_seconds, cpu.preprocess_seconds), (4.0, None, None));
    result.stages.extend([stage("copy", 1.0), stage("preprocess", 0.5), stage("kernel", 2.0)]);
    let gpu = BenchRun::of(&result);
    assert_eq!((gpu.kernel_seconds, gpu.copy_seconds, gpu.preprocess_seconds), (2.0, Some(1.0), Some(0.5)));
    assert_eq!((gpu.device_bytes, gpu.triangles), (Bytes(196_000), result.triangles), "of the second partition");
}

#[test]
fn graphs_of_one_name_are_called_by_their_paths() {
    let mut report = example();
    assert_eq!(report.titles(), ["some & more.txt"]);
    report.graphs.push(GraphReport { graph: "b/x".into(), ..GraphReport::default() });
    report.graphs.push(GraphReport { graph: "a/x".into(), ..GraphReport::default() });
    assert_eq!(report.titles(), ["some & more.txt", "b/x", "a/x"]);
}

#[test]
fn every_field_is_documented_and_comes_back() {
    let mut report = example();
    report.graphs[0].triangles = Some(u128::MAX);
    report.graphs[0].methods[0].triangles = vec![u128::MAX];
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<BenchReport>(&text).unwrap(), report);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/bench.md")).unwrap();
    let (graph, method) = (&report.graphs[0], &report.graphs[0].methods[0]);
    for (heading, keys) in
        [("## The JSON object", keys_of(&report)), ("### `graphs`", keys_of(graph)), ("### `methods`", keys_of(method))]
    {
        assert_eq!(documented(&page, heading), keys, "docs/bench.md: {heading}");
    }
    // The rows of objects within these name their fields.
    for (field, keys) in [
        ("machine", keys_of(&report.machine)),
        ("settings", keys_of(&report.settings)),
        ("baseline", keys_of(&report.baseline)),
        ("runs", keys_of(&method.runs[0])),
    ] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{field}` |"))).expect(field);
        assert_eq!(named(row)[1..], keys, "docs/bench.md: {field}");
    }
}
