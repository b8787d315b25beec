//! A comparison as text: a table for each graph, and notes on single methods.

use super::table::{or_dash, plain_grid, prefixed, seconds, thousands, three_digits};
use trimill::program::report::bench::{BenchReport, GraphReport, MethodReport, Spread};

type BenchColumn = (&'static str, fn(&MethodReport) -> String);

/// The last columns matter most: a narrow terminal leaves out others from the second on.
const COLUMNS: [BenchColumn; 14] = [
    ("method", |m| format!("{} on {}", m.title(), m.backend)),
    ("runs", |m| if m.runs.is_empty() { "-".into() } else { m.runs.len().to_string() }),
    ("parts", |m| or_dash(m.parts, |parts| parts.to_string())),
    ("probes/s", |m| or_dash(m.probes_per_second, prefixed)),
    ("edges/s", |m| or_dash(m.edges_per_second, prefixed)),
    ("copy\nms", |m| median(m.copy_seconds)),
    ("preprocess\nms", |m| median(m.preprocess_seconds)),
    ("device\nmemory", |m| or_dash(m.device_bytes, |bytes| bytes.to_string())),
    ("kernel\nms", |m| median(m.kernel_seconds)),
    ("fastest, slowest\nms", |m| or_dash(m.kernel_seconds, range)),
    ("total\nms", |m| median(m.seconds)),
    ("kernel\nspeed-up", |m| or_dash(m.kernel_speedup, times)),
    ("total\nspeed-up", |m| or_dash(m.speedup, times)),
    ("count", verdict),
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

pub(crate) fn runs(report: &BenchReport) -> String {
    match report.settings.runs {
        1 => "one run".into(),
        runs => format!("medians of {runs} runs"),
    }
}

/// The hardware: the GPUs, where there are any, and the processor.
pub(crate) fn hardware(report: &BenchReport) -> String {
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
    let threads = report.settings.threads.unwrap_or(machine.cores);
    parts.push(format!("{threads} threads of {}", machine.processor));
    parts.join("; ")
}

fn of_graph(graph: &GraphReport, title: &str) -> String {
    if let Some(problem) = &graph.problem {
        return format!("{title}: {}\n", problem.message);
    }
    let mut text = format!(
        "{title}: {} vertices, {} edges, {} triangles ({}), {} probes; {}\n",
        thousands(graph.vertices),
        thousands(graph.edges),
        or_dash(graph.triangles, thousands),
        graph.reference.as_deref().unwrap_or("nothing counted"),
        thousands(graph.probes),
        prepared(graph),
    );
    let headings = COLUMNS.map(|(heading, _)| heading.to_owned()).to_vec();
    let rows = graph.methods.iter().map(|method| COLUMNS.map(|(_, cell)| cell(method)).to_vec());
    text.push_str(&plain_grid(headings, rows, None));
    for method in &graph.methods {
        if let Some(wrong) = wrong(method, graph) {
            text.push_str(&format!("{}@{}: {wrong}\n", method.method, method.backend));
        }
        if let Some(problem) = &method.problem {
            text.push_str(&format!("{}@{}: {}\n", method.method, method.backend, problem.message));
        }
    }
    text
}

fn prepared(graph: &GraphReport) -> String {
    if graph.preparation.iter().any(|stage| stage.name == "cached") {
        return "taken from the cache".into();
    }
    let stages = graph.preparation.iter().map(|stage| format!("{} {}", stage.name, seconds(stage.seconds)));
    format!("prepared: {}", stages.collect::<Vec<_>>().join(", "))
}

/// The message about a wrong count; none where the count is right.
pub(crate) fn wrong(method: &MethodReport, graph: &GraphReport) -> Option<String> {
    let reference = graph.triangles.filter(|_| method.correct == Some(false))?;
    let counts: Vec<String> = method.triangles.iter().map(|&count| thousands(count)).collect();
    Some(format!(
        "WRONG: counted {} triangles; expected {} ({})",
        counts.join(" and "),
        thousands(reference),
        graph.reference.as_deref().unwrap_or_default()
    ))
}

/// A word in the table; the message is below it.
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

/// The fastest and the slowest run.
fn range(Spread { min, max, .. }: Spread) -> String {
    format!("{} to {}", milliseconds(min), milliseconds(max))
}

/// Milliseconds with three significant digits, whole ones from 100 on.
pub(crate) fn milliseconds(seconds: f64) -> String {
    match 1000.0 * seconds {
        ms if ms >= 99.95 => thousands(ms.round() as u64),
        ms if ms >= 9.995 => format!("{ms:.1}"),
        ms if ms >= 0.9995 => format!("{ms:.2}"),
        ms => format!("{ms:.3}"),
    }
}

/// How many times as fast.
pub(crate) fn times(ratio: f64) -> String {
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
    fn numbers_have_three_digits() {
        for (seconds, text) in
            [(0.000_012_34, "0.012"), (0.0013, "1.30"), (0.0227, "22.7"), (0.09996, "100"), (4.152, "4,152")]
        {
            assert_eq!(milliseconds(seconds), text);
        }
        for (ratio, text) in [(17.46, "17.5x"), (1.0, "1.00x"), (123.4, "123x"), (0.0012, "0.0012x")] {
            assert_eq!(times(ratio), text);
        }
    }
}
