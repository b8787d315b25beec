//! The result of a count as text: a few lines, the answer first, and with `--details` the partition-memory report and the stages.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::iter::once;

use super::table::{TableColumn, grid, list, or_dash, plain_grid, rate, seconds, thousands, yes};
use trimill::program::report::Stage;
use trimill::program::report::partitions::{Figure, PartitionColumn, TableOfPartitions, columns};
use trimill::program::report::result::MethodEstimate;
use trimill::program::{Mode, plural};
use trimill::{Bytes, Clustering, DeviceResult, PartitionFigures, Prune, Quantile, RunResult, Truss, Trusses};

/// The most partitions that a table on a terminal shows; `partitions.tsv` has all.
const MOST_ROWS: usize = 64;

const STAGES: [TableColumn<Stage>; 5] = [
    TableColumn { heading: "stage", cell: |s| s.name.clone() },
    TableColumn { heading: "seconds", cell: |s| format!("{:.3}", s.seconds) },
    TableColumn { heading: "bytes in", cell: |s| s.bytes_in.to_string() },
    TableColumn { heading: "bytes out", cell: |s| s.bytes_out.to_string() },
    TableColumn { heading: "rate in", cell: stage_rate },
];

/// A rate, if the stage read its bytes: the planner uses only their sizes.
fn stage_rate(stage: &Stage) -> String {
    if stage.name == "plan" { "-".into() } else { rate(stage.bytes_in, stage.seconds) }
}

const DEVICES: [TableColumn<DeviceResult>; 9] = [
    TableColumn { heading: "device", cell: |d| format!("{} {}", d.device, d.name) },
    TableColumn { heading: "partitions", cell: |d| thousands(d.partitions) },
    TableColumn { heading: "triangles", cell: |d| thousands(d.triangles) },
    TableColumn { heading: "streamed", cell: |d| d.stream_bytes.to_string() },
    TableColumn { heading: "seconds", cell: |d| format!("{:.3}", d.seconds) },
    TableColumn { heading: "peak", cell: |d| d.peak_bytes.to_string() },
    TableColumn { heading: "budget", cell: |d| d.budget_bytes.to_string() },
    TableColumn { heading: "context\nand others", cell: |d| d.context_bytes.to_string() },
    TableColumn { heading: "in use,\nthe driver says", cell: |d| d.used_bytes.to_string() },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownTables {
    None,
    /// At most [`MOST_ROWS`] partitions, the largest ones.
    Short,
    Whole,
}

/// `threads`: how many the job had, if it ran in one process.
pub(crate) fn result(result: &RunResult, threads: Option<usize>, shown: ShownTables) -> String {
    let mut text = answer(result, threads);
    if shown == ShownTables::None {
        return text;
    }
    if !result.partitions.is_empty() {
        text.push_str("\nPartition memory\n");
        text.push_str(&partitions(TableOfPartitions::Counted, &result.partitions, result.mode, Some("all"), shown));
        text.push_str(&totals(result));
    }
    if !result.devices.is_empty() {
        text.push_str("\nDevices\n");
        text.push_str(&grid(&DEVICES, &result.devices));
    }
    if !result.stages.is_empty() {
        text.push_str("\nStages\n");
        text.push_str(&stages(&result.stages));
    }
    text
}

pub(crate) fn clustering(summary: &Clustering) -> Vec<(&'static str, String)> {
    let quantiles = |value: fn(&Quantile) -> String| {
        let of = |quantile: &Quantile| format!("{}%: {}", 100.0 * quantile.share, value(quantile));
        summary.quantiles.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    let id = summary.most_triangles_vertex.map(|id| id.to_string());
    let name = summary.most_triangles_name.as_ref().map(|name| trimill::program::shown(name.as_ref()));
    let at = id.or(name).map_or(String::new(), |id| format!(", at vertex {id}"));
    let mut entries = vec![
        (
            "local clustering",
            format!(
                "{:.6} on average over the {} of degree 2 and more, {:.6} over all; quantiles of the former {}",
                summary.average_clustering_of_degree_2,
                plural(thousands(summary.vertices_of_degree_2), "vertex", "vertices"),
                summary.average_clustering,
                quantiles(|quantile| format!("{:.4}", quantile.local))
            ),
        ),
        (
            "at a vertex",
            format!(
                "at most {}{at}; quantiles {}",
                plural(thousands(summary.most_triangles), "triangle", "triangles"),
                quantiles(|quantile| thousands(quantile.triangles))
            ),
        ),
    ];
    if let Some(lcc) = summary.lcc {
        let directed = if lcc.directed { ", arcs by their direction" } else { "" };
        let vertices = plural(thousands(lcc.vertices), "vertex", "vertices");
        entries.push(("of all", format!("{:.6} on average over the {vertices} of the input{directed}", lcc.average)));
    }
    entries
}

pub(crate) fn truss(trusses: &Trusses) -> String {
    match trusses.largest() {
        None => "none, there is no edge".into(),
        Some(Truss { k, vertices, edges, .. }) => {
            let is = if trusses.until == Some(*k) { "the k that was asked for is" } else { "the largest k is" };
            let (vertices, edges) = (thousands(*vertices), plural(thousands(*edges), "edge", "edges"));
            format!("{is} {k}, whose truss has {vertices} vertices and {edges}")
        }
    }
}

/// Lines that fit 80 columns, the answer first.
fn answer(result: &RunResult, threads: Option<usize>) -> String {
    let input = &result.input;
    let mut entries: Vec<(&str, String)> = result.job.iter().map(|job| ("job", job.clone())).collect();
    entries.extend(result.truss.iter().map(|trusses| ("truss", truss(trusses))));
    entries.extend([
        ("triangles", thousands(result.triangles)),
        ("vertices", thousands(result.vertices)),
        ("edges", thousands(result.edges)),
        (
            "transitivity",
            format!("{:.6}, of {}", result.transitivity, plural(thousands(result.wedges), "wedge", "wedges")),
        ),
    ]);
    entries.extend(result.clustering.iter().flat_map(clustering));
    let declared = |many: u64| format!(", {}", plural(thousands(many), "declared vertex", "declared vertices"));
    let [arcs, loops, duplicates, added] = [
        (input.arcs, ["arc", "arcs"]),
        (input.loops_removed, ["loop", "loops"]),
        (input.duplicates_removed, ["duplicate", "duplicates"]),
        (input.arcs_added, ["reverse arc", "reverse arcs"]),
    ]
    .map(|(many, [one, more])| plural(thousands(many), one, more));
    entries.extend([
        ("input", format!("{arcs}{}", input.vertices_declared.map(declared).unwrap_or_default())),
        ("cleaned", format!("removed {loops}, {duplicates}; added {added}")),
        ("counted", format!("{}, {} by {}", counter(result, threads), parts(result.parts), result.partitioner)),
        ("peak memory", memory(result)),
        ("time", time(result)),
    ]);
    list(&entries)
}

fn counter(result: &RunResult, threads: Option<usize>) -> String {
    let gpus: BTreeMap<u32, &str> = result.devices.iter().map(|of| (of.device, of.name.as_str())).collect();
    let on = match (gpus.values().next(), threads) {
        (Some(name), _) if gpus.len() == 1 => format!("by {name}"),
        (Some(name), _) => format!("by {} x {name}", gpus.len()),
        (None, Some(threads)) if result.backend == "cpu" => {
            format!("by {} of the CPU", plural(threads, "thread", "threads"))
        }
        (None, _) => format!("by {}", result.backend),
    };
    format!("{on}, method {}", result.method)
}

fn memory(result: &RunResult) -> String {
    let of = |used: Bytes, budget: Bytes| match budget {
        Bytes::ZERO => used.to_string(),
        budget => format!("{used} of {budget}"),
    };
    let counting = result.partitions.iter().map(|partition| partition.counted().peak_bytes).max().unwrap_or_default();
    let what = if result.backend == "cpu" { "counting" } else { "device" };
    format!("host {}, {what} {}", of(result.peak_host_bytes, result.host_memory), of(counting, result.device_memory))
}

/// The time of the job, and of counting if that is part of the job's time: not with several devices, or partitions of an earlier start.
fn time(result: &RunResult) -> String {
    let (whole, counting) = (result.seconds, result.counting_seconds());
    let part = if counting <= whole { format!(", counting {}", seconds(counting)) } else { String::new() };
    seconds(whole) + &part
}

/// The method, and the estimates if it was chosen from several.
pub(crate) fn method(name: &str, of: &[MethodEstimate]) -> String {
    let estimate = |of: &MethodEstimate| {
        let seconds = of.seconds.map_or("too little memory".into(), |seconds| format!("{:.1} ms", 1e3 * seconds));
        format!("{} {seconds}", of.method)
    };
    match of {
        [] => name.into(),
        _ => format!("{name} (estimated on the GPU: {})", of.iter().map(estimate).collect::<Vec<_>>().join(", ")),
    }
}

/// The partition-memory report; `of_all` is the name of a row of sums.
pub(crate) fn partitions(
    table: TableOfPartitions,
    partitions: &[PartitionFigures],
    mode: Mode,
    of_all: Option<&str>,
    shown: ShownTables,
) -> String {
    let (rows, note) = largest(partitions, shown);
    let headings = columns(table, mode).map(|column| column.heading.to_owned()).collect();
    let row = |partition: &PartitionFigures| columns(table, mode).map(|of| readable((of.cell)(partition))).collect();
    let total = |of: &PartitionColumn| or_dash(of.total(partitions), readable);
    let totals = of_all.map(|all| once(all.to_owned()).chain(columns(table, mode).skip(1).map(total)).collect());
    plain_grid(headings, rows.into_iter().map(row).chain(totals)) + &note
}

fn readable(figure: Figure) -> String {
    match figure {
        Figure::Number(number) => number.map_or("-".into(), |number| number.to_string()),
        Figure::Count(count) => thousands(count),
        Figure::Size(bytes) => bytes_of(bytes),
        Figure::Seconds(seconds) => format!("{seconds:.3}"),
        Figure::Flag(flag) => yes(flag),
    }
}

/// The rows that a table shows, in order, and a line about those that are left out.
fn largest(rows: &[PartitionFigures], shown: ShownTables) -> (Vec<&PartitionFigures>, String) {
    if shown != ShownTables::Short || rows.len() <= MOST_ROWS {
        return (rows.iter().collect(), String::new());
    }
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|&place| Reverse(rows[place].peak()));
    places.truncate(MOST_ROWS);
    places.sort_unstable();
    let left_out = plural(thousands((rows.len() - MOST_ROWS) as u64), "smaller one is", "smaller ones are");
    (
        places.into_iter().map(|place| &rows[place]).collect(),
        format!("the {MOST_ROWS} largest partitions; {left_out} left out (all are in --json and --output)\n"),
    )
}

fn totals(result: &RunResult) -> String {
    let largest = result.partitions.iter().max_by_key(|p| p.counted().peak_bytes);
    let streamed: u128 = result.partitions.iter().map(|p| u128::from(p.stream_bytes.get())).sum();
    let mut entries = match result.mode {
        Mode::InPlace => Vec::new(),
        _ => vec![
            ("duplication", format!("{:.3} (arcs kept over all partitions / edges)", result.duplication)),
            (
                "compression",
                match result.compression_ratio {
                    Some(ratio) => format!("{ratio:.2} ({} streamed / spilled)", bytes_of(streamed)),
                    None => "nothing was spilled".into(),
                },
            ),
        ],
    };
    entries.extend([
        ("streamed", bytes_of(streamed)),
        (
            "largest partition",
            or_dash(largest, |p| {
                format!("{} (part {})", used_of_budget(p.counted().peak_bytes, result.device_memory), p.id)
            }),
        ),
        ("counting", seconds(result.counting_seconds())),
        ("peak host memory", host_memory(result)),
    ]);
    if !result.methods.is_empty() {
        entries.push(("method", method(&result.method, &result.methods)));
    }
    list(&entries)
}

pub(crate) fn parts(parts: u32) -> String {
    plural(thousands(parts), "part", "parts")
}

/// `in-place mode`, or `spilled mode, prune direct`.
pub(crate) fn mode(mode: Mode, prune: Prune) -> String {
    match mode {
        Mode::InPlace => "in-place mode".into(),
        _ => format!("spilled mode, prune {prune}"),
    }
}

/// The table of stages. It has no total, because stages overlap.
pub(crate) fn stages(stages: &[Stage]) -> String {
    grid(&STAGES, stages)
}

fn host_memory(result: &RunResult) -> String {
    let own = used_of_budget(result.peak_host_bytes, result.host_memory);
    match result.driver_host_bytes {
        Bytes::ZERO => own,
        driver => format!("{own}, and {driver} of the GPU's driver"),
    }
}

/// `used of budget (percent)`, or only what was used if no budget is known.
pub(crate) fn used_of_budget(used: Bytes, budget: Bytes) -> String {
    if budget == Bytes::ZERO {
        return used.to_string();
    }
    let percent = 100.0 * used.get() as f64 / budget.get() as f64;
    format!("{used} of the budget of {budget} ({percent:.1}%)")
}

fn bytes_of(sum: u128) -> String {
    Bytes(u64::try_from(sum).unwrap_or(u64::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill::program::report::result::example::example;

    #[test]
    fn a_small_report_is_complete() {
        insta::assert_snapshot!(result(&example(3), Some(2), ShownTables::Short));
    }

    #[test]
    fn a_terminal_sees_the_largest_partitions_and_a_pipe_all() {
        let rows = |text: &str| text.lines().filter(|line| line.contains("16.0 KiB") && !line.contains("all")).count();
        let short = result(&example(100), None, ShownTables::Short);
        assert_eq!(rows(&short), 64);
        assert!(short.contains("36 smaller ones are left out"), "{short}");
        assert!(short.contains("┆   99 ┆") || short.contains("│   99 ┆"), "the largest is shown: {short}");
        assert!(!short.contains("│   35 ┆") && short.contains("│   36 ┆"));
        let long = result(&example(100), None, ShownTables::Whole);
        assert_eq!(rows(&long), 100);
        assert!(!long.contains("left out"));
        assert!(result(&example(65), None, ShownTables::Short).contains("; 1 smaller one is left out ("));
    }
}
