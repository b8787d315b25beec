//! The host's memory as the program takes it: what `plan` foretells, and the budget that no station passes.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::de::DeserializeOwned;
use trimill::bytes::Bytes;
use trimill::report::{PlanReport, RunResult};

/// Runs a command of the program and reads its answer.
fn answer<T: DeserializeOwned>(command: &str, input: &Path, dir: &Path, options: &str) -> T {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trimill"));
    program.arg(command).arg(input);
    if !options.contains("--no-cache") {
        program.arg("--cache-dir").arg(dir.join("cache"));
    }
    let output = program
        .args(["--json", "--quiet", "--backend", "cpu", "--threads", "2", "--work-dir"])
        .arg(dir.join("work"))
        .args(options.split_whitespace())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{command} {options}: {error}: {told}"))
}

/// A graph that the program generates.
fn generated(family: &str, dir: &Path) -> PathBuf {
    let file = dir.join("graph.bin");
    let command = Command::new(env!("CARGO_BIN_EXE_trimill"))
        .arg("generate")
        .args(family.split_whitespace())
        .arg("--output")
        .arg(&file)
        .arg("--quiet")
        .output()
        .unwrap();
    assert!(command.status.success(), "{}", String::from_utf8_lossy(&command.stderr));
    file
}

/// What stands in the file of pairs.
fn pairs(file: &Path) -> Vec<[u32; 2]> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    std::fs::read(file).unwrap().chunks_exact(8).map(|pair| [number(&pair[..4]), number(&pair[4..])]).collect()
}

/// Of one partition, both streams, spills in memory and on disk, budgets above and below the graph.
#[test]
fn the_peak_is_at_most_what_the_plan_foretells() {
    let dir = tempfile::tempdir().unwrap();
    let file = generated("ring-lattice --vertices 200000 --k 64", dir.path());
    let triangles = 200_000 * 64 * 63 / 2;
    // The first way prepares the graph, all others find it in the cache.
    let _: PlanReport = answer("plan", &file, dir.path(), "");
    for options in [
        "--host-memory 1GiB",
        "--host-memory 160MiB --device-memory 96MiB",
        "--host-memory 256MiB --device-memory 48MiB --partitioner random --block-bytes 4MiB",
        "--host-memory 256MiB --device-memory 48MiB --partitioner random --spill memory --block-bytes 4MiB",
        "--host-memory 256MiB --device-memory 48MiB --partitioner contiguous --prune none --parts 9",
        "--host-memory 256MiB --device-memory 48MiB --partitioner rank --parts 4",
        "--host-memory 100MiB --device-memory 48MiB --partitioner rank --parts 3",
    ] {
        let plan: PlanReport = answer("plan", &file, dir.path(), options);
        let result: RunResult = answer("count", &file, dir.path(), options);
        assert_eq!(result.triangles, triangles);
        let (planned, found) = (plan.host_peak_bytes, result.peak_host_bytes);
        assert!(found <= planned, "{options}: {planned} planned, {found} found");
        let most = plan.host_memory + plan.host_arrays_bytes;
        assert!(found <= most, "{options}: {found} of {most}");
        assert_eq!((plan.prepare_peak_bytes, plan.parts, plan.stream), (None, result.parts, result.stream));
        for (partition, planned) in result.partitions.iter().zip(&plan.partitions) {
            let (found, planned) = (partition.peak_bytes, planned.peak_bytes_predicted);
            assert!(found <= planned && planned <= result.device_memory, "{options}: {planned} planned, {found} found");
        }
    }
}

/// Every station within its budget, whatever the input: what is over it is within what was announced.
#[test]
fn no_station_takes_more_than_the_budget_and_what_was_announced() {
    let dir = tempfile::tempdir().unwrap();
    let binary = generated("stars 4-5-9-16-25 --kind B1k", dir.path());
    let arcs = pairs(&binary);
    let text: String = arcs.iter().map(|[u, v]| format!("{u}\t{v}\n")).collect();
    let plain = dir.path().join("graph.txt");
    std::fs::write(&plain, &text).unwrap();
    let packed = dir.path().join("graph.txt.gz");
    let mut gz = GzEncoder::new(std::fs::File::create(&packed).unwrap(), Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    gz.finish().unwrap();
    let crawl = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/cnr-2000.graph");
    let (stars, pages) = (3_548_463, 20_977_629);
    // After the graph stands, all inputs are alike: some go no other way than the first.
    for (input, triangles, ways) in [(&binary, stars, 4), (&plain, stars, 1), (&packed, stars, 1), (&crawl, pages, 3)] {
        for options in [
            "--host-memory 32MiB",
            "--host-memory 32MiB --device-memory 12MiB --partitioner random",
            "--host-memory 32MiB --device-memory 12MiB --partitioner random --spill memory",
            "--host-memory 28MiB --device-memory 12MiB --partitioner rank --parts 3",
        ]
        .into_iter()
        .take(ways)
        {
            // Without the cache every job prepares its graph.
            let options = format!("{options} --no-cache");
            let plan: PlanReport = answer("plan", input, dir.path(), &options);
            let result: RunResult = answer("count", input, dir.path(), &options);
            let most = plan.host_memory + plan.host_arrays_bytes;
            let told = format!("{} {options}: {} of {most}", input.display(), result.peak_host_bytes);
            assert_eq!(result.triangles, triangles, "{told}");
            assert!(result.peak_host_bytes <= most, "{told}");
            assert!(plan.prepare_peak_bytes.is_some_and(|bytes| Bytes::ZERO < bytes && bytes <= most), "{told}");
        }
    }
}

/// METIS takes memory of its own in a child of the program: it is added, and both together keep to the budget.
#[test]
fn the_child_of_metis_is_added_to_the_peak() {
    let dir = tempfile::tempdir().unwrap();
    let file = generated("ring-lattice --vertices 20000 --k 20", dir.path());
    let options = "--host-memory 96MiB --partitioner metis --parts 4";
    let plan: PlanReport = answer("plan", &file, dir.path(), options);
    let result: RunResult = answer("count", &file, dir.path(), options);
    assert_eq!(result.triangles, 20_000 * 20 * 19 / 2);
    let most = plan.host_memory + plan.host_arrays_bytes;
    // METIS has the graph in both directions twice at least, once as it was handed over and once coarsened.
    let alone: RunResult = answer("count", &file, dir.path(), "--host-memory 96MiB --parts 4");
    let added = result.peak_host_bytes.saturating_sub(alone.peak_host_bytes);
    assert!(added > Bytes(2 * 2 * 400_000 * 4), "{added}");
    assert!(result.peak_host_bytes <= most, "{} of {most}", result.peak_host_bytes);
}

/// Other numbers of parts tell what a plan with that number of parts would.
#[test]
fn alternatives_tell_the_largest_partition_and_the_duplication() {
    let dir = tempfile::tempdir().unwrap();
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/as20000102.txt");
    let options = "--partitioner random --prune zero-indegree";
    let plan: PlanReport = answer("plan", &file, dir.path(), options);
    for parts in [4, 16] {
        let alone: PlanReport = answer("plan", &file, dir.path(), &format!("{options} --parts {parts}"));
        let told = plan.alternatives.iter().find(|alternative| alternative.parts == parts).unwrap();
        let arcs = alone.partitions.iter().map(|partition| partition.arcs_kept).max().unwrap();
        let vertices = alone.partitions.iter().map(|partition| partition.local_vertices + partition.proxies_kept).max();
        assert_eq!((told.largest_arcs_kept, Some(told.largest_vertices_kept)), (arcs, vertices));
        assert!((told.duplication - alone.duplication).abs() < 1e-9 && told.duplication > 1.0, "{}", told.duplication);
    }
}
