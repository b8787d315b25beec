//! The host memory that the program takes: the floors that `plan` names are enough, and no stage exceeds the budget.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use trimill::Bytes;
use trimill::testing::memory::HostFloor;
use trimill::testing::report::{PlanReport, RunResult};

use crate::common::packed::gz;

/// The object that is printed in place of an answer.
#[derive(Deserialize)]
struct Failure {
    error: Said,
}

#[derive(Deserialize)]
struct Said {
    kind: String,
    message: String,
}

/// Runs a command of the program and reads its answer.
fn answer<T: DeserializeOwned>(command: &str, input: &Path, dir: &Path, options: &str) -> T {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trimill"));
    program.arg(command).arg(input);
    if !options.contains("--no-cache") {
        program.arg("--cache-dir").arg(dir.join("cache"));
    }
    let output = program
        .args(["--json", "--quiet", "--backend", "cpu", "--work-dir"])
        .arg(dir.join("work"))
        .args(if options.contains("--threads") { &[][..] } else { &["--threads", "2"] })
        .args(options.split_whitespace())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{command} {options}: {error}: {told}"))
}

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

fn pairs(file: &Path) -> Vec<[u32; 2]> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    std::fs::read(file).unwrap().chunks_exact(8).map(|pair| [number(&pair[..4]), number(&pair[4..])]).collect()
}

/// The largest of the floors that a plan names with `options`.
fn floor(input: &Path, dir: &Path, options: &str) -> u64 {
    let plan: PlanReport = answer("plan", input, dir, options);
    // For a job that may use either mode, the floor of the in-place mode is enough.
    let counts = |floor: &&HostFloor| {
        options.contains("random") || !(floor.stage.contains("partition") || floor.stage.contains("spilled"))
    };
    let floors: Vec<&HostFloor> = plan.host_floors.iter().filter(counts).collect();
    for floor in &floors {
        assert_eq!(floor.parts.iter().map(|part| part.bytes).sum::<Bytes>(), floor.bytes, "{}", floor.stage);
    }
    floors.iter().map(|floor| floor.bytes.get()).max().unwrap()
}

/// Counts, and checks the triangles and the peak of the host's memory.
fn within_budget(input: &Path, dir: &Path, options: &str, triangles: u128) -> RunResult {
    let result: RunResult = answer("count", input, dir, options);
    assert_eq!(result.triangles, triangles, "{options}");
    let (found, most) = (result.peak_host_bytes, result.host_memory);
    assert!(Bytes::ZERO < found && found <= most, "{options}: {found} of {most}");
    result
}

/// The budget holds from the floor on, while the input is read, cleaned, oriented, partitioned, built and counted.
#[test]
fn no_stage_takes_more_than_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let binary = generated("stars 4-5-9-16-25 --kind B1k", dir.path());
    let arcs = pairs(&binary);
    let text: String = arcs.iter().map(|[u, v]| format!("{u}\t{v}\n")).collect();
    let plain = dir.path().join("graph.txt");
    std::fs::write(&plain, &text).unwrap();
    let packed = dir.path().join("graph.txt.gz");
    std::fs::write(&packed, gz(&text)).unwrap();
    // Ids that are too large to index an array.
    let far = dir.path().join("far.txt");
    std::fs::write(
        &far,
        arcs.iter().map(|&[u, v]| format!("{}\t{}\n", u64::from(u) << 40, u64::from(v) << 40)).collect::<String>(),
    )
    .unwrap();
    let crawl = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/cnr-2000.graph");
    let (stars, pages) = (3_548_463, 20_977_629);
    let ways = [
        "",
        "--partitioner random",
        "--partitioner random --spill memory --parts 5",
        "--partitioner rank --parts 3",
        "--partitioner random --prune zero-indegree --parts 70",
    ];
    // Once the graph is prepared, all inputs are alike: for some only the first settings are tested.
    for (input, triangles, many) in
        [(&binary, stars, 5), (&plain, stars, 1), (&packed, stars, 1), (&far, stars, 1), (&crawl, pages, 2)]
    {
        for (way, threads) in ways.into_iter().take(many).zip([2, 11, 2, 3, 2]) {
            // Without the cache every job prepares its graph.
            let options = format!("{way} --no-cache --threads {threads}");
            let least = floor(input, dir.path(), &options);
            for budget in [least, least * 3 / 2] {
                let result: RunResult =
                    answer("count", input, dir.path(), &format!("{options} --host-memory {budget}"));
                let told = format!("{} {options}: {} of {budget}", input.display(), result.peak_host_bytes);
                assert_eq!(result.triangles, triangles, "{told}");
                assert!(Bytes::ZERO < result.peak_host_bytes && result.peak_host_bytes.get() <= budget, "{told}");
            }
            let error: Failure = answer("count", input, dir.path(), &format!("{options} --host-memory {}", least - 64));
            assert!(
                error.error.kind == "resource" && error.error.message.contains("--host-memory"),
                "{}",
                error.error.message
            );
        }
    }
    assert_eq!(std::fs::read_dir(dir.path().join("work")).unwrap().count(), 0);
}

/// Arrays over ids are most of the floor, which holds.
#[test]
fn many_vertices_take_no_more_than_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let ring = generated("ring-lattice --vertices 4000000 --k 2", dir.path());
    let options = "--no-cache --threads 2";
    let least = floor(&ring, dir.path(), options);
    let of_ids = 8 * 4_000_000;
    assert!((of_ids..3 * of_ids).contains(&least), "{least}");
    within_budget(&ring, dir.path(), &format!("{options} --host-memory {least}"), 4_000_000);
}

/// The budget that a refusal advises, or none if the command succeeds.
fn advised(input: &Path, dir: &Path, options: &str) -> Option<u64> {
    let answer: serde_json::Value = answer("count", input, dir, options);
    let message = answer["error"]["message"].as_str()?;
    let number = message.split("raise --host-memory to ").nth(1).unwrap_or_else(|| panic!("{options}: {message}"));
    Some(number.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap())
}

/// Stars, rings, random and dense graphs, with ids that index arrays and ids that don't, as text and as binary pairs: if a
/// budget is refused, the one that the error advises works.
#[test]
fn the_budget_that_the_first_refusal_names_is_enough() {
    let dir = tempfile::tempdir().unwrap();
    let random = |i: u64, below: u64| trimill_system::hash::mix(i) % below;
    let n = 150_000;
    let graphs: [(&str, Vec<[u64; 2]>); 5] = [
        ("star", (1..n).map(|i| [0, i * 7919 % n]).collect()),
        ("ring", (0..n).map(|i| [i, (i + 1) % n]).collect()),
        ("random", (0..2 * n).map(|i| [random(i, n), random(!i, n)]).collect()),
        ("sparse", (0..n).map(|i| [random(i, 1 << 32) >> 1, random(!i, 1 << 32) >> 1]).collect()),
        ("dense", (0..3 * n).map(|i| [random(i, 700), random(!i, 700)]).collect()),
    ];
    let edges = format!("--force --per-edge {}", dir.path().join("edges.tsv").display());
    for (name, pairs) in graphs {
        let (text, binary) = (dir.path().join(format!("{name}.txt")), dir.path().join(format!("{name}.bin")));
        std::fs::write(&text, pairs.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>()).unwrap();
        let bytes = |id: &u64| (*id as u32).to_le_bytes();
        std::fs::write(&binary, pairs.iter().flatten().flat_map(bytes).collect::<Vec<u8>>()).unwrap();
        for (input, options, budgets) in [
            // Below the floor of any graph, above it, and where some of it fits.
            (&text, "--no-cache", &[1, 17_600_000, 20_000_000][..]),
            (&binary, "--no-cache --threads 8", &[19_995_000]),
            (&binary, "--no-cache --partitioner random", &[1]),
            (&text, &format!("--no-cache {edges}"), &[1]),
        ] {
            for budget in budgets {
                let Some(named) = advised(input, dir.path(), &format!("{options} --host-memory {budget}")) else {
                    continue;
                };
                let again = advised(input, dir.path(), &format!("{options} --host-memory {named}"));
                assert_eq!(again, None, "{name} {options}: {budget}, then {named}");
            }
        }
    }
}

/// With the smallest budget the graph is read a bounded number of times: by the plan, and by the job, whose reads are counted.
#[test]
fn the_smallest_budget_reads_a_small_multiple_of_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let graph = generated("gap-kron --scale 14", dir.path());
    let edges = format!("--per-edge {}", dir.path().join("edges.tsv").display());
    let vertices = format!("--per-vertex {}", dir.path().join("vertices.tsv").display());
    // The cache has the graph, so the budget is that of counting.
    let _: PlanReport = answer("plan", &graph, dir.path(), "");
    for files in [&edges, &vertices, ""] {
        let least = advised(&graph, dir.path(), &format!("{files} --host-memory 1")).unwrap();
        let options = format!("{files} --host-memory {least}");
        let plan: PlanReport = answer("plan", &graph, dir.path(), &options);
        let whole = 8 * plan.vertices + 4 * plan.edges;
        // With p ranges, (p + 1) / 2 times the graph.
        assert!(plan.parts <= 27, "{options}: {} parts", plan.parts);
        assert!(plan.stream_bytes.get() <= 16 * whole, "{options}: {} of {whole}", plan.stream_bytes);
        // File blocks have at most 2^17 rows and arcs. Each partition reads those of its own rows and those below them; some more reads
        // find where partitions begin, and read the counts.
        let blocks = (plan.vertices + plan.edges).div_ceil(1 << 17) + 1;
        let reads = blocks * plan.parts as u64 + 16 * plan.parts as u64 + 60;
        let count = |fault: u64| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_trimill"));
            program.args(["count", "--quiet", "--backend", "cpu", "--threads", "2", "--cache-dir"]);
            program.arg(dir.path().join("cache")).arg("--work-dir").arg(dir.path().join("work")).arg(&graph);
            program.args((!files.is_empty()).then_some("--force"));
            program.args(options.split_whitespace()).env("TRIMILL_FAULT", format!("read:{fault}")).output().unwrap()
        };
        let done = count(reads);
        assert!(done.status.success(), "{options}: more than {reads}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(!count(plan.parts as u64).status.success(), "{options}: reads are counted");
    }
}

/// Counting from a cached graph, in one partition and in many.
#[test]
fn counting_a_cached_graph_takes_no_more_than_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let file = generated("ring-lattice --vertices 200000 --k 32", dir.path());
    let triangles = 200_000 * 32 * 31 / 2;
    // This prepares the graph; all others find it in the cache.
    let _: PlanReport = answer("plan", &file, dir.path(), "");
    for options in [
        "--host-memory 1GiB",
        "--host-memory 160MiB --device-memory 96MiB",
        "--host-memory 256MiB --device-memory 48MiB --partitioner random --block-bytes 4MiB",
        "--host-memory 256MiB --device-memory 48MiB --partitioner random --spill memory --block-bytes 4MiB",
        "--host-memory 256MiB --device-memory 48MiB --partitioner contiguous --prune none --parts 9",
        "--host-memory 256MiB --device-memory 48MiB --partitioner rank --parts 4",
        "--host-memory 100MiB --device-memory 48MiB --partitioner rank --parts 3",
        "--host-memory 32MiB",
    ] {
        let plan: PlanReport = answer("plan", &file, dir.path(), options);
        let result = within_budget(&file, dir.path(), options, triangles);
        assert_eq!((plan.parts, plan.mode), (result.parts, result.mode));
        for (partition, planned) in result.partitions.iter().zip(&plan.partitions) {
            let (found, planned) = (partition.counted().peak_bytes, planned.peak_bytes_predicted);
            assert!(found <= planned && planned <= result.device_memory, "{options}: {planned} planned, {found} found");
        }
    }
}

/// The sums on all edges take 15 MiB, which is more than what the smaller budgets leave.
#[test]
fn counting_on_edges_takes_no_more_than_the_budget() {
    let [dir, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let edges = format!("--force --per-edge {}", dir.path().join("edges.tsv").display());
    let kron = (generated("gap-kron --scale 18", other.path()), 82_728_031);
    let ring = (generated("ring-lattice --vertices 400000 --k 10", dir.path()), 400_000 * 10 * 9 / 2);
    for ((graph, triangles), options) in [
        (&kron, "--host-memory 96MiB"),
        (&ring, "--host-memory 80MiB --clustering"),
        (&ring, "--host-memory 96MiB --device-memory 48MiB --partitioner random --parts 3"),
        (&ring, "--host-memory 1GiB"),
    ] {
        within_budget(graph, dir.path(), &format!("{options} {edges}"), *triangles);
    }
}

/// The sums at all vertices take 31 MiB; they are in a file with the two smaller budgets, and in memory with the others.
#[test]
fn counting_at_vertices_takes_no_more_than_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let graph = generated("ring-lattice --vertices 4000000 --k 2", dir.path());
    let vertices = format!("--per-vertex {}", dir.path().join("vertices.tsv").display());
    for options in [
        "--host-memory 96MiB --clustering",
        "--host-memory 112MiB --partitioner random --parts 5 --clustering",
        "--host-memory 160MiB --partitioner rank --parts 3 --clustering",
        &format!("--host-memory 192MiB --partitioner random --spill memory --parts 5 {vertices}"),
    ] {
        within_budget(&graph, dir.path(), options, 4_000_000);
    }
}

/// METIS runs in a child process, whose memory is not part of the budget: it is added to the peak.
#[test]
fn the_child_of_metis_is_added_to_the_peak() {
    let dir = tempfile::tempdir().unwrap();
    let file = generated("ring-lattice --vertices 20000 --k 20", dir.path());
    let options = "--host-memory 96MiB --partitioner metis --parts 4";
    let result: RunResult = answer("count", &file, dir.path(), options);
    assert_eq!(result.triangles, 20_000 * 20 * 19 / 2);
    // METIS holds the graph with both directions of its edges at least twice: the input and a coarsened graph.
    let alone: RunResult = answer("count", &file, dir.path(), "--host-memory 96MiB --parts 4");
    let added = result.peak_host_bytes.saturating_sub(alone.peak_host_bytes);
    assert!(added > Bytes(2 * 2 * 400_000 * 4), "{added}");
}

/// The alternatives of a plan have the same numbers as a plan with that number of parts.
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
