//! A plan as text.

use super::result::{ShownTables, method, mode, partitions, parts, used_of_budget};
use super::table::{TableColumn, grid, list, seconds, thousands, yes};
use trimill::PlanReport;
use trimill::program::Mode;
use trimill::program::report::partitions::TableOfPartitions;
use trimill::program::report::plan::{Alternative, DiskNeed, DiskNeeds, Estimates, PreparingFigures};

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

/// What preparing the graph takes.
fn preparing(figures: &PreparingFigures) -> String {
    let PreparingFigures { passes, scratch_bytes, seconds: taken } = figures;
    let times = if *passes == 1 { "once".into() } else { format!("{passes} times") };
    format!("about {}, in which the input is read {times}; {scratch_bytes} of disk meanwhile", seconds(*taken))
}

/// What a disk is needed for.
fn needed(disk: &DiskNeeds) -> String {
    let DiskNeeds { free_bytes, least_bytes, most_bytes, needs } = disk;
    let of = |need: &DiskNeed| format!("{} in {}", need.what, need.directory.display());
    let parts: Vec<String> = needs.iter().map(of).collect();
    format!("disk for {}: {least_bytes} to {most_bytes}, of {free_bytes} free\n", parts.join(", "))
}

/// The plan as text.
pub(crate) fn plan(plan: &PlanReport, shown: ShownTables) -> String {
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
        text.push_str(&partitions(TableOfPartitions::Planned, &plan.partitions, plan.mode, None, shown));
    }
    text.push_str(&list(&[
        ("largest partition", used_of_budget(largest, plan.device_memory)),
        ("smallest budget that works", plan.smallest_device_memory.to_string()),
        ("row blocks of at most", plan.block_bytes.to_string()),
        ("host memory at most", plan.host_memory.to_string()),
        ("disk", plan.disk_bytes.to_string()),
        ("streamed", plan.stream_bytes.to_string()),
        ("graph", plan.graph_bytes.to_string()),
        ("counting it", format!("about {}", seconds(plan.counting_seconds))),
        ("preparing it anew", preparing(&plan.preparing)),
    ]));
    plan.disks.iter().for_each(|disk| text.push_str(&needed(disk)));
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
