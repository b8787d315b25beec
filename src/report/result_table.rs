//! The result of a count as text: the counts, the partition-memory report, the stages.

use std::cmp::Reverse;

use super::table::{TableColumn, grid, list, or_dash, rate, seconds, thousands};
use super::{DeviceResult, PartitionResult, RunResult, Stage};
use crate::job::{Mode, Prune};
use crate::plan::choose::MethodEstimate;
use crate::vertices::summary::{Clustering, Quantile};
use trimill_system::bytes::Bytes;

/// The most partitions that a table on a terminal shows; `partitions.tsv` has all.
pub const MOST_ROWS: usize = 64;

const PARTITIONS: [TableColumn<PartitionResult>; 14] = [
    TableColumn { heading: "part", cell: |p| p.id.to_string() },
    TableColumn { heading: "local\nvertices", cell: |p| thousands(p.local_vertices) },
    TableColumn { heading: "proxies\ninduced", cell: |p| thousands(p.proxies_induced) },
    TableColumn { heading: "proxies\nkept", cell: |p| thousands(p.proxies_kept) },
    TableColumn { heading: "arcs\ninduced", cell: |p| thousands(p.arcs_induced) },
    TableColumn { heading: "arcs\nkept", cell: |p| thousands(p.arcs_kept) },
    TableColumn { heading: "resident", cell: |p| p.resident_bytes.to_string() },
    TableColumn { heading: "row\nblocks", cell: |p| thousands(p.row_blocks) },
    TableColumn { heading: "largest\nblock", cell: |p| p.largest_block_bytes.to_string() },
    TableColumn { heading: "spilled", cell: |p| p.spill_bytes.to_string() },
    TableColumn { heading: "peak\nat most", cell: |p| p.peak_bytes_predicted.to_string() },
    TableColumn { heading: "peak\nactual", cell: |p| p.peak_bytes.to_string() },
    TableColumn { heading: "triangles", cell: |p| thousands(p.triangles) },
    TableColumn { heading: "seconds", cell: |p| format!("{:.3}", p.seconds) },
];

/// Columns that mean nothing in the in-place mode: nothing is induced, pruned or spilled there.
pub(super) const OF_SPILLED_MODE: [&str; 6] =
    ["proxies\ninduced", "proxies\nkept", "arcs\ninduced", "spilled", "spill\nat most", "duplication"];

/// Whether a column means something in a mode.
pub(super) fn applies<T>(column: &TableColumn<T>, mode: Mode) -> bool {
    mode == Mode::Spilled || !OF_SPILLED_MODE.contains(&column.heading)
}

const STAGES: [TableColumn<Stage>; 5] = [
    TableColumn { heading: "stage", cell: |s| s.name.clone() },
    TableColumn { heading: "seconds", cell: |s| format!("{:.3}", s.seconds) },
    TableColumn { heading: "bytes in", cell: |s| s.bytes_in.to_string() },
    TableColumn { heading: "bytes out", cell: |s| s.bytes_out.to_string() },
    TableColumn { heading: "rate in", cell: |s| rate(s.bytes_in, s.seconds) },
];

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

/// The whole report. On a terminal (`short`) at most [`MOST_ROWS`] partitions, the largest ones.
pub fn result(result: &RunResult, short: bool) -> String {
    let mut text = answer(result);
    if !result.partitions.is_empty() {
        text.push_str("\nPartition memory\n");
        text.push_str(&partitions(&result.partitions, result.mode, "all", short));
        text.push_str(&totals(result));
    }
    if !result.devices.is_empty() {
        text.push_str("\nDevices\n");
        text.push_str(&grid(&DEVICES, &result.devices, None));
    }
    if !result.stages.is_empty() {
        text.push_str("\nStages\n");
        text.push_str(&stages(&result.stages));
    }
    text.push_str(&list(&[("peak host memory", host_memory(result)), ("whole job", seconds(result.seconds))]));
    text
}

/// The summary of the triangles at all vertices, as entries of a list.
pub(super) fn clustering(summary: &Clustering) -> Vec<(&'static str, String)> {
    let quantiles = |value: fn(&Quantile) -> String| {
        let of = |quantile: &Quantile| format!("{}%: {}", 100.0 * quantile.share, value(quantile));
        summary.quantiles.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    let at = summary.most_triangles_vertex.map_or(String::new(), |id| format!(", at vertex {id}"));
    vec![
        (
            "local clustering",
            format!(
                "{:.6} on average over the {} vertices of degree 2 and more, {:.6} over all; quantiles {}",
                summary.average_local,
                thousands(summary.vertices_of_degree_2),
                summary.average_local_all,
                quantiles(|quantile| format!("{:.4}", quantile.local))
            ),
        ),
        (
            "at a vertex",
            format!(
                "at most {} triangles{at}; quantiles {}",
                thousands(summary.most_triangles),
                quantiles(|quantile| thousands(quantile.triangles))
            ),
        ),
    ]
}

fn answer(result: &RunResult) -> String {
    let input = &result.input;
    let without = match input.arcs {
        0 => 0.0,
        arcs => 100.0 * input.arcs_without_reverse as f64 / arcs as f64,
    };
    let mut entries = Vec::new();
    if let Some(job) = &result.job {
        entries.push(("job", job.clone()));
    }
    entries.extend([
        ("triangles", thousands(result.triangles)),
        ("vertices", thousands(result.vertices)),
        ("edges", thousands(result.edges)),
        ("wedges", thousands(result.wedges)),
        ("transitivity", format!("{:.6}", result.transitivity)),
    ]);
    entries.extend(result.clustering.iter().flat_map(clustering));
    entries.extend([
        (
            "input",
            format!(
                "{} arcs, {} declared vertices; removed {} loops and {} duplicates, added {} reverse arcs \
                 ({without:.1}% came without a reverse)",
                thousands(input.arcs),
                or_dash(input.vertices_declared, thousands),
                thousands(input.loops_removed),
                thousands(input.duplicates_removed),
                thousands(input.arcs_added),
            ),
        ),
        (
            "counted by",
            format!(
                "{} {}, {} by {}, {}",
                result.backend,
                method(&result.method, &result.methods),
                parts(result.parts),
                result.partitioner,
                mode(result.mode, result.prune)
            ),
        ),
    ]);
    list(&entries)
}

/// The method, and the estimates where it was chosen from several.
pub(super) fn method(name: &str, of: &[MethodEstimate]) -> String {
    let estimate = |of: &MethodEstimate| {
        let seconds = of.seconds.map_or("too little memory".into(), |seconds| format!("{:.1} ms", 1e3 * seconds));
        format!("{} {seconds}", of.method)
    };
    match of {
        [] => name.into(),
        _ => format!("{name} (estimated on the GPU: {})", of.iter().map(estimate).collect::<Vec<_>>().join(", ")),
    }
}

/// The partition-memory report; `of_all` is the name of the row of sums.
pub(super) fn partitions(partitions: &[PartitionResult], mode: Mode, of_all: &str, short: bool) -> String {
    let sum = |field: fn(&PartitionResult) -> u64| -> u128 { partitions.iter().map(|p| u128::from(field(p))).sum() };
    let largest =
        |field: fn(&PartitionResult) -> Bytes| partitions.iter().map(field).max().unwrap_or_default().to_string();
    let totals = vec![
        of_all.into(),
        thousands(sum(|p| p.local_vertices)),
        thousands(sum(|p| p.proxies_induced)),
        thousands(sum(|p| p.proxies_kept)),
        thousands(sum(|p| p.arcs_induced)),
        thousands(sum(|p| p.arcs_kept)),
        bytes_of(sum(|p| p.resident_bytes.get())),
        thousands(sum(|p| p.row_blocks)),
        largest(|p| p.largest_block_bytes),
        bytes_of(sum(|p| p.spill_bytes.get())),
        largest(|p| p.peak_bytes_predicted),
        largest(|p| p.peak_bytes),
        thousands(sum(|p| p.triangles)),
        format!("{:.3}", partitions.iter().map(|p| p.seconds).sum::<f64>()),
    ];
    let (shown, note) = shown(partitions, short, |p| p.peak_bytes.max(p.peak_bytes_predicted));
    let columns = PARTITIONS.iter().zip(totals).filter(|(column, _)| applies(column, mode));
    let (columns, totals): (Vec<_>, Vec<_>) = columns.unzip();
    let mut text = grid(columns, shown, Some(totals));
    text.push_str(&note);
    text
}

/// The rows that a table shows, in their order, and a line that says how many it leaves out.
pub(crate) fn shown<T>(rows: &[T], short: bool, size: impl Fn(&T) -> Bytes) -> (Vec<&T>, String) {
    if !short || rows.len() <= MOST_ROWS {
        return (rows.iter().collect(), String::new());
    }
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|&place| Reverse(size(&rows[place])));
    places.truncate(MOST_ROWS);
    places.sort_unstable();
    let left_out = rows.len() - MOST_ROWS;
    (
        places.into_iter().map(|place| &rows[place]).collect(),
        format!(
            "the {MOST_ROWS} largest partitions; {} smaller ones are left out (all are in --json and --output)\n",
            thousands(left_out as u64)
        ),
    )
}

fn totals(result: &RunResult) -> String {
    let largest = result.partitions.iter().max_by_key(|p| p.peak_bytes);
    let streamed: u128 = result.partitions.iter().map(|p| u128::from(p.stream_bytes.get())).sum();
    let mut entries = match result.mode {
        Mode::InPlace => Vec::new(),
        Mode::Spilled => vec![
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
            or_dash(largest, |p| format!("{} (part {})", used_of_budget(p.peak_bytes, result.device_memory), p.id)),
        ),
        ("counting", seconds(result.counting_seconds())),
    ]);
    list(&entries)
}

/// `1 part`, `8 parts`
pub(crate) fn parts(parts: u32) -> String {
    if parts == 1 { "1 part".into() } else { format!("{} parts", thousands(parts)) }
}

/// `in-place mode`, or `spilled mode, prune direct`.
pub(crate) fn mode(mode: Mode, prune: Prune) -> String {
    match mode {
        Mode::InPlace => "in-place mode".into(),
        Mode::Spilled => format!("spilled mode, prune {prune}"),
    }
}

/// The table of stages. It has no sum: stages overlap.
pub fn stages(stages: &[Stage]) -> String {
    grid(&STAGES, stages, None)
}

/// The peak of the host's memory, and what the GPUs' drivers took in addition.
fn host_memory(result: &RunResult) -> String {
    let own = used_of_budget(result.peak_host_bytes, result.host_memory);
    match result.driver_host_bytes {
        Bytes::ZERO => own,
        driver => format!("{own}, and {driver} of the GPU's driver"),
    }
}

/// `used of budget (percent)`, or only what was used where no budget is known.
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
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::report::result::tests::example;

    #[test]
    fn a_small_report_is_complete() {
        insta::assert_snapshot!(result(&example(3), true));
    }

    #[test]
    fn a_terminal_sees_the_largest_partitions_and_a_pipe_all() {
        let rows = |text: &str| text.lines().filter(|line| line.contains("16.0 KiB") && !line.contains("all")).count();
        let short = result(&example(100), true);
        assert_eq!(rows(&short), 64);
        assert!(short.contains("36 smaller ones are left out"), "{short}");
        assert!(short.contains("┆   99 ┆") || short.contains("│   99 ┆"), "the largest is shown: {short}");
        assert!(!short.contains("│   35 ┆") && short.contains("│   36 ┆"));
        let long = result(&example(100), false);
        assert_eq!(rows(&long), 100);
        assert!(!long.contains("left out"));
    }
}
