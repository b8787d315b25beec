//! A plan as text.

use super::result::{method, mode, partitions, parts, used_of_budget};
use super::table::{TableColumn, grid, list, seconds, thousands, yes};
use trimill::PlanReport;
use trimill::program::Mode;
use trimill::program::report::partitions::TableOfPartitions;
use trimill::program::report::plan::{Alternative, Estimates};

const ALTERNATIVES: [TableColumn<Alternative>; 7] = [
    TableColumn { heading: "parts", cell: |a| a.parts.to_string() },
    TableColumn { heading: "largest:\narcs kept", cell: |a| thousands(a.largest_arcs_kept) },
    TableColumn { heading: "largest:\nvertices", cell: |a| thousands(a.largest_vertices_kept) },
    TableColumn { heading: "duplication", cell: |a| format!("{:.3}", a.duplication) },
    TableColumn { heading: "largest peak", cell: |a| a.largest_peak_bytes.to_string() },
    TableColumn { heading: "streamed", cell: |a| a.stream_bytes.to_string() },
    TableColumn { heading: "fits", cell: |a| yes(a.fits) },
];

/// What either mode would take.
fn faster(estimates: &Estimates) -> String {
    format!(
        "building, reading and copying take about {} in the in-place mode, {}{} in the spilled mode",
        seconds(estimates.in_place),
        if estimates.sized { "" } else { "at least " },
        seconds(estimates.spilled)
    )
}

/// The plan as text.
pub(crate) fn table(plan: &PlanReport, short: bool) -> String {
    let largest = plan.partitions.iter().map(|p| p.peak_bytes_predicted).max().unwrap_or_default();
    let mut entries = Vec::new();
    if let Some(job) = &plan.job {
        entries.push(("job", job.clone()));
    }
    entries.extend([
        ("fits", yes(plan.fits)),
        ("vertices", thousands(plan.vertices)),
        ("edges", thousands(plan.edges)),
        (
            "counting",
            format!(
                "{} {}, {} by {}, {}",
                plan.backend,
                method(&plan.method, &plan.methods),
                parts(plan.parts),
                plan.partitioner,
                mode(plan.mode, plan.prune)
            ),
        ),
    ]);
    let mut text = list(&entries);
    if !plan.partitions.is_empty() {
        text.push('\n');
        text.push_str(&partitions(TableOfPartitions::Planned, &plan.partitions, plan.mode, None, short));
    }
    text.push_str(&list(&[
        ("largest partition", used_of_budget(largest, plan.device_memory)),
        ("smallest budget that works", plan.smallest_device_memory.to_string()),
        ("row blocks of at most", plan.block_bytes.to_string()),
        ("host memory at most", plan.host_memory.to_string()),
        ("disk", plan.disk_bytes.to_string()),
        ("streamed", plan.stream_bytes.to_string()),
    ]));
    for floor in &plan.host_floors {
        text.push_str(&format!("host memory to {}: {} at least ({})\n", floor.stage, floor.bytes, floor.parts_text()));
    }
    if plan.mode == Mode::Spilled {
        let duplication = format!("{:.3} (arcs kept over all partitions / edges)", plan.duplication);
        text.push_str(&list(&[("duplication", duplication)]));
    }
    if let Some(estimates) = &plan.estimates {
        text.push_str(&list(&[("modes", faster(estimates))]));
    }
    if !plan.alternatives.is_empty() {
        // Nothing is kept twice in the in-place mode.
        let applies =
            |column: &&TableColumn<Alternative>| plan.mode == Mode::Spilled || column.heading != "duplication";
        text.push_str("\nOther numbers of parts\n");
        text.push_str(&grid(ALTERNATIVES.iter().filter(applies), &plan.alternatives, None));
    }
    for advice in &plan.advice {
        text.push_str(&format!("advice: {advice}\n"));
    }
    text
}
