//! Reports that are short lists, as text.

use std::path::Path;

use super::result::{ShownTables, clustering, partitions, stages, truss, used_of_budget};
use super::table::{TableColumn, grid, list, seconds, thousands};
use trimill::Bytes;
use trimill::program::report::doctor::Directory;
use trimill::program::report::partitions::TableOfPartitions;
use trimill::program::report::{
    CacheEntry, CacheReport, ClusterJobReport, ClusterReport, DoctorReport, GenerateReport, PartitionReport,
    PreparedReport, ShardReport, VERSION, VerifyReport,
};
use trimill::program::{ArcRates, Mode, Rates, for_shell, plural};

/// `what` is `holds` or `removed`.
pub(crate) fn cache(report: &CacheReport, what: &str) -> String {
    const COLUMNS: [TableColumn<CacheEntry>; 6] = [
        TableColumn { heading: "key", cell: |e| e.key.clone() },
        TableColumn {
            heading: "input",
            cell: |e| e.inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
        },
        TableColumn { heading: "vertices", cell: |e| thousands(e.vertices) },
        TableColumn { heading: "edges", cell: |e| thousands(e.edges) },
        TableColumn { heading: "size", cell: |e| e.bytes.to_string() },
        TableColumn { heading: "idle", cell: |e| seconds(e.idle_seconds as f64) },
    ];
    let mut text = list(&[
        ("cache", report.directory.display().to_string()),
        (what, format!("{}, {}", plural(report.entries.len(), "graph", "graphs"), report.bytes)),
    ]);
    if !report.entries.is_empty() {
        text.push_str(&grid(&COLUMNS, &report.entries));
    }
    text
}

fn argument(path: &Path) -> String {
    for_shell(&path.to_string_lossy())
}

pub(crate) fn cluster(report: &ClusterReport) -> String {
    let files: String = report.files.iter().map(|file| format!("wrote {}\n", file.display())).collect();
    let commands = report.commands.join("\nor, without the program hq: ");
    format!("{files}\nto count {} and merge: {commands}\n", plural(report.shards, "shard", "shards"))
}

pub(crate) fn cluster_job(report: &ClusterJobReport, shown: ShownTables) -> String {
    let submit = if report.prepared.merged { String::new() } else { cluster(&report.cluster) };
    format!("{}{}{submit}\n", list(&[("job", report.job.clone())]), prepared(&report.prepared, shown))
}

pub(crate) fn doctor(report: &DoctorReport) -> String {
    let mut entries = vec![
        ("trimill", format!("{VERSION} on {}", report.system)),
        ("CPU threads", report.cores.to_string()),
        ("RAM", format!("{}, {} free", report.memory, report.memory_free)),
        ("work directory", report.work_dir.describe()),
        ("cache directory", report.cache_dir.as_ref().map_or("none: no home is known".into(), Directory::describe)),
    ];
    for gpu in &report.gpus {
        entries.push(("GPU", format!("{}, compute capability {}, {}", gpu.name, gpu.compute_capability, gpu.memory)));
    }
    if let Some(reason) = &report.no_gpu {
        entries.push(("GPU", format!("none: {reason}")));
    }
    entries.extend([
        ("default backend", report.default_backend.clone()),
        ("default --host-memory", report.default_host_memory.to_string()),
        ("default --device-memory", format!("at most {}", report.default_device_memory)),
    ]);
    entries.extend(report.versions.iter().map(|(name, version)| (name.as_str(), version.clone())));
    let origin = match report.rates_measured {
        true => "measured on this machine",
        false => "those of a server; 'trimill doctor --measure' measures this machine",
    };
    entries.push(("rates for estimates of time", origin.into()));
    entries.extend(rates(&report.rates, !report.gpus.is_empty()));
    list(&entries)
}

/// Rates per second of a core, the disk and, if there is one, a GPU.
fn rates(rates: &Rates, with_gpu: bool) -> Vec<(&'static str, String)> {
    let Rates { size_arcs, build_arcs, write_bytes, read_bytes, cpu, gpu, gpu_arcs, bitmap, lstc, packed } = *rates;
    let edges = |rate: f64| format!("{:.0} million edges/s", rate / 1e6);
    let read = |arcs: ArcRates| format!("{}, {:.0} of a spill", edges(arcs.graph), arcs.spill / 1e6);
    let mut rows = vec![
        ("  one core reads a graph", read(cpu)),
        ("  one core sizes partitions", edges(size_arcs)),
        ("  one core builds partitions", edges(build_arcs)),
        ("  one core counts", format!("{bitmap:.2} times as fast as a server's core")),
        ("  the disk", format!("writes {:.0} MB/s, reads {:.0} MB/s", write_bytes / 1e6, read_bytes / 1e6)),
    ];
    if with_gpu {
        rows.extend([
            ("  one core reads for a GPU", read(gpu)),
            ("  copying to a GPU", edges(gpu_arcs)),
            ("  the GPU counts", format!("{lstc:.2} (lstc), {packed:.2} (packed) times as fast as an H200")),
        ]);
    }
    rows
}

pub(crate) fn generate(report: &GenerateReport) -> String {
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".into());
    let pairs = plural(thousands(report.pairs_written), "pair", "pairs");
    list(&[
        ("family", report.family.clone()),
        ("file", format!("{} ({}, {})", report.file.display(), report.bytes, pairs)),
        ("vertices", known(report.vertices.map(thousands))),
        ("edges", known(report.edges.map(thousands))),
        ("triangles", known(report.triangles.map(thousands))),
        ("took", seconds(report.seconds)),
    ])
}

pub(crate) fn partition(report: &PartitionReport, shown: ShownTables) -> String {
    let largest = report.partitions.iter().map(|p| p.peak_bytes_predicted).max().unwrap_or_default();
    let mut text = list(&[
        ("directory", report.directory.display().to_string()),
        ("vertices", thousands(report.vertices)),
        ("edges", thousands(report.edges)),
        ("partitions", format!("{} by {}, prune {}", report.parts, report.partitioner, report.prune)),
        ("spilled", report.partitions.iter().map(|p| p.spill_bytes).sum::<Bytes>().to_string()),
        ("largest partition", used_of_budget(largest, report.device_memory)),
        ("peak host memory", report.peak_host_bytes.to_string()),
    ]);
    if shown != ShownTables::None {
        text.push('\n');
        text.push_str(&partitions(TableOfPartitions::Spilled, &report.partitions, Mode::Spilled, None, shown));
        text.push('\n');
        text.push_str(&stages(&report.stages));
    }
    text.push_str(&format!("\nto count them: trimill count {}\n", argument(&report.directory)));
    text
}

pub(crate) fn prepared(report: &PreparedReport, shown: ShownTables) -> String {
    let directory = report.directory.display();
    let mut lines = vec![
        ("run directory", directory.to_string()),
        ("vertices", thousands(report.vertices)),
        ("edges", thousands(report.edges)),
        ("partitions", format!("{} by {}, counted by the {} mode", report.parts, report.partitioner, report.mode)),
    ];
    if let Some(shards) = report.shards {
        let costliest =
            format!("{shards}; the costliest is expected to take {:.2} times the mean", report.imbalance(shards));
        lines.push(("shards", costliest));
    }
    let sizes = [("graph", report.graph_bytes), ("spilled", report.spilled_bytes)];
    lines.extend(
        sizes.into_iter().filter(|(_, bytes)| *bytes > Bytes::ZERO).map(|(name, bytes)| (name, bytes.to_string())),
    );
    if report.counts_bytes > Bytes::ZERO {
        lines.push(("counts of partitions", format!("at most {} on disk until they are added", report.counts_bytes)));
    }
    let mut text = list(&lines);
    if shown != ShownTables::None && !report.stages.is_empty() {
        text.push('\n');
        text.push_str(&stages(&report.stages));
    }
    let run = argument(&report.directory);
    let of = report.shards.map_or_else(|| "N".into(), |shards| shards.to_string());
    text + &match report.merged {
        true => format!("\nmerged already; to see the result: trimill merge {run}\n"),
        false => format!(
            "\nto count shard I, from 0 on: trimill count --run-dir {run} --shard I/{of}\n\
             to add all of them:          trimill merge {run}\n"
        ),
    }
}

pub(crate) fn shard(report: &ShardReport, shown: ShownTables) -> String {
    let directory = report.directory.display();
    if report.merged {
        return format!("{directory} is merged: there is nothing to count\n");
    }
    let resumed = report.partitions.iter().filter(|partition| partition.counted().resumed).count();
    let mut lines = vec![
        ("shard", report.shard.clone()),
        ("partitions", format!("{} of {}, {resumed} of them counted before", report.partitions.len(), report.parts)),
    ];
    let triangles = report.partitions.iter().map(|partition| u128::from(partition.counted().triangles)).sum::<u128>();
    lines.push(("triangles", format!("{} in these partitions", thousands(triangles))));
    if !report.method.is_empty() {
        lines.push(("counted by", format!("{}, method {}", report.backend, report.method)));
    }
    lines.push(("seconds", format!("{:.3}", report.seconds)));
    let mut text = list(&lines);
    if shown != ShownTables::None {
        text.push('\n');
        text.push_str(&partitions(TableOfPartitions::Counted, &report.partitions, report.mode, Some("shard"), shown));
    }
    text.push_str(&match report.missing {
        0 => format!("\nall partitions are counted; to add them: trimill merge {}\n", argument(&report.directory)),
        missing => {
            format!("\nnot counted yet: {} of other shards\n", plural(thousands(missing), "partition", "partitions"))
        }
    });
    text
}

pub(crate) fn verify(report: &VerifyReport) -> String {
    let mut entries = vec![
        ("triangles", thousands(report.triangles)),
        ("vertices", thousands(report.vertices)),
        ("edges", thousands(report.edges)),
        ("wedges", thousands(report.wedges)),
        ("transitivity", format!("{:.6}", report.transitivity)),
    ];
    entries.extend(report.clustering.iter().flat_map(clustering));
    entries.extend(report.truss.iter().map(|trusses| ("truss", truss(trusses))));
    entries.push(("took", seconds(report.seconds)));
    list(&entries)
}
