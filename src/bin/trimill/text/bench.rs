//! A comparison as text: a table for each graph, and notes on single methods.

use std::num::NonZeroUsize;

use super::table::{TableColumn, grid, or_dash, prefixed, seconds, thousands, three_digits};
use trimill::program::plural;
use trimill::program::report::bench::{BenchReport, GraphReport, MethodReport, Spread};

/// A narrow terminal omits columns from the second on, so the last ones are the most important.
const COLUMNS: [TableColumn<MethodReport>; 14] = [
    TableColumn { heading: "method", cell: |m| format!("{} on {}", m.title(), m.backend) },
    TableColumn { heading: "runs", cell: |m| if m.runs.is_empty() { "-".into() } else { m.runs.len().to_string() } },
    TableColumn { heading: "parts", cell: |m| or_dash(m.parts, |parts| parts.to_string()) },
    TableColumn { heading: "probes/s", cell: |m| or_dash(m.probes_per_second, prefixed) },
    TableColumn { heading: "edges/s", cell: |m| or_dash(m.edges_per_second, prefixed) },
    TableColumn { heading: "copy\nms", cell: |m| median(m.copy_seconds) },
    TableColumn { heading: "preprocess\nms", cell: |m| median(m.preprocess_seconds) },
    TableColumn { heading: "device\nmemory", cell: |m| or_dash(m.device_bytes, |bytes| bytes.to_string()) },
    TableColumn { heading: "kernel\nms", cell: |m| median(m.kernel_seconds) },
    TableColumn { heading: "fastest, slowest\nms", cell: |m| or_dash(m.kernel_seconds, range) },
    TableColumn { heading: "total\nms", cell: |m| median(m.seconds) },
    TableColumn { heading: "kernel\nspeed-up", cell: |m| or_dash(m.kernel_speedup, times) },
    TableColumn { heading: "total\nspeed-up", cell: |m| or_dash(m.speedup, times) },
    TableColumn { heading: "count", cell: verdict },
];

pub(crate) fn bench(report: &BenchReport) -> String {
    let mut text = format!(
        "{}; trimill {}; {}, speed-up against {}\n",
        hardware(report),
        report.version,
        runs(report),
        report.baseline
    );
    for (graph, title) in report.graphs.iter().zip(report.titles()) {
        text.push_str(&format!("\n{}", of_graph(graph, &title)));
    }
    text
}

fn runs(report: &BenchReport) -> String {
    match report.settings.runs {
        1 => "one run".into(),
        runs => format!("medians of {runs} runs"),
    }
}

fn hardware(report: &BenchReport) -> String {
    let machine = &report.machine;
    let mut parts: Vec<String> = Vec::new();
    for gpu in &machine.gpus {
        if !parts.contains(gpu) {
            parts.push(gpu.clone());
        }
    }
    for gpu in &mut parts {
        let many = machine.gpus.iter().filter(|other| *other == gpu).count();
        if many > 1 {
            *gpu = format!("{many} x {gpu}");
        }
    }
    let threads = report.settings.count.threads.map_or(machine.cores, NonZeroUsize::get);
    parts.push(format!("{} of {}", plural(threads, "thread", "threads"), machine.processor));
    parts.join("; ")
}

fn of_graph(graph: &GraphReport, title: &str) -> String {
    if let Some(problem) = &graph.problem {
        return format!("{}\n", named(graph, title, &problem.message));
    }
    let mut text = format!(
        "{title}: {}, {}, {} ({}), {}; {}\n",
        plural(thousands(graph.vertices), "vertex", "vertices"),
        plural(thousands(graph.edges), "edge", "edges"),
        plural(or_dash(graph.triangles, thousands), "triangle", "triangles"),
        graph.reference.as_deref().unwrap_or("nothing counted"),
        plural(thousands(graph.probes), "probe", "probes"),
        prepared(graph),
    );
    text.push_str(&grid(&COLUMNS, &graph.methods));
    for method in &graph.methods {
        let problem = method.problem.as_ref().map(|problem| problem.message.clone());
        for note in wrong(method, graph).into_iter().chain(problem) {
            text.push_str(&format!("{}: {note}\n", method.name()));
        }
    }
    text
}

/// A problem with a graph; most messages begin with its path.
pub(crate) fn named(graph: &GraphReport, title: &str, message: &str) -> String {
    if message.starts_with(&graph.graph) { message.into() } else { format!("{title}: {message}") }
}

fn prepared(graph: &GraphReport) -> String {
    if graph.preparation.iter().any(|stage| stage.name == "cached") {
        return "taken from the cache".into();
    }
    let stages = graph.preparation.iter().map(|stage| format!("{} {}", stage.name, seconds(stage.seconds)));
    format!("prepared: {}", stages.collect::<Vec<_>>().join(", "))
}

pub(crate) fn wrong(method: &MethodReport, graph: &GraphReport) -> Option<String> {
    let reference = graph.triangles.filter(|_| method.correct == Some(false))?;
    let counts: Vec<String> = method.triangles.iter().map(|&count| thousands(count)).collect();
    Some(format!(
        "WRONG: counted {}; expected {} ({})",
        plural(counts.join(" and "), "triangle", "triangles"),
        thousands(reference),
        graph.reference.as_deref().unwrap_or_default()
    ))
}

fn verdict(method: &MethodReport) -> String {
    match (method.correct, &method.problem) {
        (Some(false), _) => "WRONG".into(),
        (Some(true), None) => "right".into(),
        (Some(true), Some(_)) if method.warmed_up => "right, runs left out".into(),
        (Some(true), Some(_)) => "right, one cold run".into(),
        (None, Some(problem)) => match problem.kind.as_str() {
            "timeout" => "too slow".into(),
            "crash" => "crashed".into(),
            _ => "refused".into(),
        },
        (None, None) => "-".into(),
    }
}

fn median(spread: Option<Spread>) -> String {
    or_dash(spread, |spread| milliseconds(spread.median))
}

fn range(Spread { min, max, .. }: Spread) -> String {
    format!("{} to {}", milliseconds(min), milliseconds(max))
}

/// Milliseconds with three significant digits, whole ones from 100 on.
fn milliseconds(seconds: f64) -> String {
    match 1000.0 * seconds {
        ms if ms >= 99.95 => thousands(ms.round() as u64),
        ms if ms >= 0.9995 => three_digits(ms),
        ms => format!("{ms:.3}"),
    }
}

fn times(ratio: f64) -> String {
    format!("{}x", if ratio >= 0.01 { three_digits(ratio) } else { format!("{ratio:.4}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill::program::report::bench::example::example;

    #[test]
    fn a_table_says_it_all() {
        insta::assert_snapshot!(bench(&example()));
    }

    #[test]
    fn one_edge_is_not_several() {
        let graph = GraphReport { vertices: 2, edges: 1, triangles: Some(1), probes: 1, ..GraphReport::default() };
        let text = of_graph(&graph, "k2");
        assert!(text.starts_with("k2: 2 vertices, 1 edge, 1 triangle (nothing counted), 1 probe; "), "{text}");
    }

    #[test]
    fn numbers_have_three_digits() {
        let seconds = [0.000_012_34, 0.0013, 0.0227, 0.09996, 4.152];
        assert_eq!(seconds.map(milliseconds), ["0.012", "1.30", "22.7", "100", "4,152"]);
        assert_eq!([17.46, 1.0, 123.4, 0.0012].map(times), ["17.5x", "1.00x", "123x", "0.0012x"]);
    }
}
