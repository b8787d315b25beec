//! A plan as text: a few lines, and with `--details` the partitions, the floors of budgets, and other numbers of parts.

use super::result::{ShownTables, method, mode, partitions, parts, used_of_budget};
use super::table::{TableColumn, grid, list, seconds, thousands, yes};
use trimill::program::report::partitions::TableOfPartitions;
use trimill::program::report::plan::{
    Alternative, DiskNeed, DiskNeeds, Estimates, MemoryBudget, MoreMemory, PartsReason, PreparingFigures,
};
use trimill::program::{Mode, plural};
use trimill::{Bytes, PlanReport};

const ALTERNATIVES: [TableColumn<Alternative>; 7] = [
    TableColumn { heading: "parts", cell: |a| a.parts.to_string() },
    TableColumn { heading: "largest:\narcs kept", cell: |a| thousands(a.largest_arcs_kept) },
    TableColumn { heading: "largest:\nvertices", cell: |a| thousands(a.largest_vertices_kept) },
    TableColumn { heading: "duplication", cell: |a| format!("{:.3}", a.duplication) },
    TableColumn { heading: "largest peak", cell: |a| a.largest_peak_bytes.to_string() },
    TableColumn { heading: "streamed", cell: |a| a.stream_bytes.to_string() },
    TableColumn { heading: "fits", cell: |a| yes(a.fits) },
];

fn faster(estimates: &Estimates) -> String {
    format!(
        "building, reading and copying take about {} in the in-place mode, {}{} in the spilled mode",
        seconds(estimates.in_place),
        if estimates.sized { "" } else { "at least " },
        seconds(estimates.spilled)
    )
}

fn preparing(figures: &PreparingFigures) -> String {
    let PreparingFigures { passes, scratch_bytes, seconds: taken, .. } = figures;
    let times = if *passes == 1 { "once".into() } else { format!("{passes} times") };
    format!("about {}, in which the input is read {times}; {scratch_bytes} of disk meanwhile", seconds(*taken))
}

fn needed(disk: &DiskNeeds) -> String {
    let DiskNeeds { free_bytes, least_bytes, most_bytes, needs, .. } = disk;
    let of = |need: &DiskNeed| format!("{} in {}", need.what, need.directory.display());
    let parts: Vec<String> = needs.iter().map(of).collect();
    format!("disk for {}: {least_bytes} to {most_bytes}, of {free_bytes} free\n", parts.join(", "))
}

/// Lines that fit 80 columns: whether the job fits, and what it takes of memory, disk and time.
fn answer(plan: &PlanReport, threads: usize) -> String {
    let mut entries: Vec<(&str, String)> = plan.job.iter().map(|job| ("job", job.clone())).collect();
    let largest = plan.partitions.iter().map(|p| p.peak_bytes_predicted).max().unwrap_or_default();
    let (on, memory) = match plan.backend.as_str() {
        "cpu" => (format!("by {} of the CPU", plural(threads, "thread", "threads")), "counting memory"),
        _ => ("by a GPU".into(), "device memory"),
    };
    let method = format!("{on}, method {}, {} mode", plan.method, plan.mode);
    entries.extend([
        ("fits", yes(plan.fits)),
        (
            "graph",
            format!(
                "{} vertices, {}, {}",
                thousands(plan.vertices),
                plural(thousands(plan.edges), "edge", "edges"),
                plan.graph_bytes
            ),
        ),
        ("counted", method),
        ("partitions", format!("{} by {}: {}", thousands(plan.parts), plan.partitioner, reason(plan.parts_reason))),
        (
            memory,
            format!(
                "{largest} of {}; {} would do",
                plan.device_memory,
                plan.smallest_device_memory.rounded_up().min(plan.device_memory)
            ),
        ),
        ("host memory", host_memory(plan)),
        ("disk", disk(plan)),
        ("time, about", time(plan)),
    ]);
    let saving: Vec<_> = plan.more_memory.iter().filter(|more| more.seconds < SAVES * plan.seconds).collect();
    let first =
        if saving.is_empty() { vec!["would not save time".into()] } else { saving.into_iter().map(more).collect() };
    entries.extend(first.into_iter().enumerate().map(|(i, text)| (if i == 0 { "more memory" } else { "" }, text)));
    list(&entries)
}

/// More memory is mentioned only if it reduces the time to this share or less.
const SAVES: f64 = 0.95;

fn more(more: &MoreMemory) -> String {
    let flag = match more.budget {
        MemoryBudget::Device => "--device-memory",
        _ => "--host-memory",
    };
    format!(
        "{flag} {}: {}, about {}",
        more.bytes.to_string().replace(' ', ""),
        parts(more.parts),
        seconds(more.seconds)
    )
}

fn reason(reason: PartsReason) -> &'static str {
    match reason {
        PartsReason::Whole => "the whole graph fits at once",
        PartsReason::Fewest => "as few as fit",
        PartsReason::Asked => "as was asked for",
        PartsReason::Split => "what was asked for does not fit",
        PartsReason::Devices => "one for each device",
        _ => "for another reason",
    }
}

fn host_memory(plan: &PlanReport) -> String {
    let (least, budget) = (plan.smallest_host_memory, plan.host_memory);
    match least <= budget {
        true => format!("{} to {budget}", least.rounded_up().min(budget)),
        false => format!("{budget} with the cached graph; {} to prepare it anew", least.rounded_up()),
    }
}

fn disk(plan: &PlanReport) -> String {
    let counting: Bytes = plan.disks.iter().map(|disk| disk.most_bytes).sum();
    let at_most = |bytes: Bytes| if bytes == Bytes::ZERO { "nothing".into() } else { format!("at most {bytes}") };
    format!("{} while preparing, {} while counting", at_most(plan.preparing.scratch_bytes), at_most(counting))
}

fn time(plan: &PlanReport) -> String {
    let peeling = plan.peeling_seconds.map_or(String::new(), |taken| format!(", peeling {}", seconds(taken)));
    let (preparing, counting) = (seconds(plan.preparing.seconds), seconds(plan.counting_seconds));
    format!("{}: preparing {preparing}, counting {counting}{peeling}", seconds(plan.seconds))
}

pub(crate) fn plan(plan: &PlanReport, threads: usize, shown: ShownTables) -> String {
    let mut text = answer(plan, threads);
    if shown != ShownTables::None {
        text.push_str(&details(plan, shown));
    }
    for advice in &plan.advice {
        text.push_str(&format!("advice: {advice}\n"));
    }
    text
}

fn details(plan: &PlanReport, shown: ShownTables) -> String {
    let mut text = String::new();
    if !plan.partitions.is_empty() {
        text.push('\n');
        text.push_str(&partitions(TableOfPartitions::Planned, &plan.partitions, plan.mode, None, shown));
    }
    let largest = plan.partitions.iter().map(|p| p.peak_bytes_predicted).max().unwrap_or_default();
    text.push_str(&list(&[
        ("largest partition", used_of_budget(largest, plan.device_memory)),
        ("row blocks of at most", plan.block_bytes.to_string()),
        ("spills on disk", plan.disk_bytes.to_string()),
        ("streamed", plan.stream_bytes.to_string()),
        ("method", method(&plan.method, &plan.methods)),
        ("preparing it anew", preparing(&plan.preparing)),
    ]));
    plan.disks.iter().for_each(|disk| text.push_str(&needed(disk)));
    for floor in &plan.host_floors {
        let least = floor.bytes.rounded_up();
        text.push_str(&format!("host memory to {}: {least} at least ({})\n", floor.stage, floor.parts_text()));
    }
    if plan.mode == Mode::Spilled {
        let duplication = format!("{:.3} (arcs kept over all partitions / edges)", plan.duplication);
        text.push_str(&list(&[("mode", mode(plan.mode, plan.prune)), ("duplication", duplication)]));
    }
    if let Some(estimates) = &plan.estimates {
        text.push_str(&list(&[("modes", faster(estimates))]));
    }
    if !plan.alternatives.is_empty() {
        let applies =
            |column: &&TableColumn<Alternative>| plan.mode == Mode::Spilled || column.heading != "duplication";
        text.push_str("\nOther numbers of parts\n");
        text.push_str(&grid(ALTERNATIVES.iter().filter(applies), &plan.alternatives));
    }
    text
}
