//! The host memory that the program takes: the floors that `plan` names are enough, and no stage exceeds the budget.

use std::io::Write;

use ::parquet::column::writer::ColumnWriter;
use ::parquet::file::properties::WriterProperties;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trimill::Bytes;
use trimill::testing::memory::HostFloor;
use trimill::testing::report::{PartitionFigures, PlanReport, PreparedReport, RunResult};
use trimill_system::hash::mix;

use crate::common::arcs_of_pairs;
use crate::common::job::typed;
use crate::common::packed::gz;
use crate::common::place::{Place, number_after, stderr};
use crate::common::tables::parquet;

/// Runs a command of the program and parses its answer, or the failure printed instead.
fn answer<T: DeserializeOwned>(place: &Place, command: &str, input: &str, options: &str) -> T {
    let threads = if options.contains("--threads") { "" } else { "--threads 2" };
    let options = format!("--json --quiet --backend cpu --work-dir work {threads} {options}");
    let output = place.run(&[&[command, input], &options.split_whitespace().collect::<Vec<_>>()[..]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command} {options}: {error}: {}", stderr(&output)))
}

fn assert_refused(place: &Place, input: &str, options: &str, words: &str) {
    let answer: Value = answer(place, "count", input, options);
    let error = &answer["error"];
    assert!(error["kind"] == "resource" && error["message"].as_str().unwrap().contains(words), "{error}");
}

fn generated(family: &str, place: &Place) -> &'static str {
    let words = format!("generate {family} --output graph.bin --quiet");
    place.prints(&words.split_whitespace().collect::<Vec<_>>());
    "graph.bin"
}

/// The largest of the floors that a plan names with `options`.
fn floor(place: &Place, input: &str, options: &str) -> u64 {
    let plan: PlanReport = answer(place, "plan", input, options);
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
fn within_budget(place: &Place, input: &str, options: &str, triangles: u128) -> RunResult {
    let result: RunResult = answer(place, "count", input, options);
    assert_eq!(result.triangles, triangles, "{options}");
    let (found, most) = (result.peak_host_bytes, result.host_memory);
    assert!(Bytes::ZERO < found && found <= most, "{options}: {found} of {most}");
    result
}

#[test]
fn rows_with_long_names_take_no_more_than_the_budget() {
    let place = Place::new();
    let name = |i: u64| format!("{:016x}", mix(i % 512)).repeat(500);
    // Each vertex is joined to the four before it and the four after it.
    let edges = (0..512).flat_map(|i| (1..=4).map(move |next| (i, i + next)));
    let long = edges.map(|(a, b)| format!("{}\t{}\n", name(a), name(b))).collect::<String>();
    // Names are on average about as long as usual, and the long ones, which begin with hexadecimal digits, stand together.
    let short = (0..32_000).map(|i| format!("z{i}\tz{}\n", i + 1)).collect::<String>();
    for (text, edges) in [(long.clone(), 2048), (long + &short, 2048 + 32_000)] {
        place.write("n.tsv", text);
        let options = "--names --header no --per-edge e.tsv.zst --force --host-memory 64MiB --threads 4 --no-cache";
        within_budget(&place, "n.tsv", options, 512 * 4 * 3 / 2);
        let written: RunResult = answer(&place, "count", "e.tsv.zst", "--names --header yes");
        assert_eq!((written.triangles, written.edges), (512 * 4 * 3 / 2, edges));
    }
}

#[test]
fn no_stage_takes_more_than_the_budget() {
    let place = Place::new();
    let binary = generated("stars 4-5-9-16-25 --kind B1k", &place);
    let arcs = arcs_of_pairs(&place.path(binary));
    let text = |bits: u32| arcs.iter().map(|(u, v)| format!("{}\t{}\n", u << bits, v << bits)).collect::<String>();
    place.write("graph.txt", text(0));
    place.write("graph.txt.gz", gz(text(0)));
    // Ids that are too large to index an array.
    place.write("far.txt", text(40));
    let crawl = typed("cnr-2000.graph");
    let (stars, pages) = (3_548_463, 20_977_629);
    let ways = [
        ("", 2),
        ("--partitioner random", 11),
        ("--partitioner random --spill memory --parts 5", 2),
        ("--partitioner rank --parts 3", 3),
        ("--partitioner random --prune zero-indegree --parts 70", 2),
    ];
    // Inputs do not differ once the graph is prepared: only the pairs are counted in all ways, and also with more than the least budget.
    let texts = ["graph.txt", "graph.txt.gz", "far.txt"].map(|input| (input, stars));
    for (input, triangles) in [(binary, stars), (&crawl, pages)].into_iter().chain(texts) {
        for (way, threads) in &ways[..if input == binary { ways.len() } else { 1 }] {
            // Without the cache every job prepares its graph.
            let options = format!("{way} --no-cache --threads {threads}");
            let least = floor(&place, input, &options);
            let budgets = [least, least * 3 / 2];
            for budget in &budgets[..if input == binary { 2 } else { 1 }] {
                within_budget(&place, input, &format!("{options} --host-memory {budget}"), triangles);
            }
            assert_refused(&place, input, &format!("{options} --host-memory {}", least - 64), "--host-memory");
        }
    }
    // Rows that are united with their reverse arcs.
    let options = "--no-cache --threads 2";
    let more = floor(&place, &crawl, options) * 17 / 10;
    let united = within_budget(&place, &crawl, &format!("{options} --host-memory {more}"), pages);
    assert_eq!(united.stages[0].name, "orient");
    // Each thread that decodes the row of a hub takes some 10 MB.
    place.prints(&["generate", "stars", "1000000", "--output", "hub.graph", "--quiet"]);
    within_budget(&place, "hub.graph", "--no-cache --threads 7 --host-memory 60000000", 0);
    assert_eq!(std::fs::read_dir(place.path("work")).unwrap().count(), 0);
}

/// Each of many files has blocks that wait to be parsed: of comments, so that the graph takes no memory.
#[test]
fn many_compressed_files_take_no_more_than_the_budget() {
    let place = Place::new();
    let comment = format!("# {}\n", "-".repeat(61));
    let packed = gz("0 1\n1 2\n2 0\n".to_owned() + &comment.repeat((6 << 20) / comment.len()));
    std::fs::create_dir(place.path("parts")).unwrap();
    (0..16).for_each(|part| drop(place.write(format!("parts/{part}.txt.gz"), &packed)));
    within_budget(&place, "parts", "--no-cache --threads 8 --host-memory 40MiB", 1);
}

#[test]
fn a_window_of_zstd_that_the_budget_has_no_memory_for_is_refused() {
    let place = Place::new();
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packed.window_log(27).unwrap();
    packed.write_all(b"0 1\n1 2\n2 0\n").unwrap();
    place.write("long.txt.zst", packed.finish().unwrap());
    assert_refused(&place, "long.txt.zst", "--no-cache --host-memory 40MiB", "needs a window of 128.0 MiB");
    within_budget(&place, "long.txt.zst", "--no-cache --host-memory 1GiB", 1);
}

#[test]
fn a_page_of_parquet_that_the_budget_has_no_memory_for_is_refused() {
    let place = Place::new();
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let one_page = properties.set_data_page_size_limit(1 << 30).set_data_page_row_count_limit(1 << 30).build();
    let table = parquet("required int32 u; required int32 v;", one_page, [()], |_, end, column| {
        let ColumnWriter::Int32ColumnWriter(writer) = column else { panic!("another type") };
        let ids: Vec<i32> = (0..1 << 20).map(|row| (row + end as i32) % 3).collect();
        writer.write_batch(&ids, None, None).map(drop).unwrap();
    });
    place.write("g.parquet", table);
    assert_refused(&place, "g.parquet", "--no-cache --host-memory 40MiB", "a page of 4194304 bytes");
    within_budget(&place, "g.parquet", "--no-cache --host-memory 1GiB", 1);
}

#[test]
fn many_vertices_take_no_more_than_the_budget() {
    let place = Place::new();
    let ring = generated("ring-lattice --vertices 3000000 --k 2", &place);
    let options = "--no-cache --threads 2";
    let least = floor(&place, ring, options);
    let of_ids = 8 * 3_000_000;
    assert!((of_ids..3 * of_ids).contains(&least), "{least}");
    within_budget(&place, ring, &format!("{options} --host-memory {least}"), 3_000_000);
}

/// The budget that a refusal advises, or none if the command succeeds.
fn advised(place: &Place, input: &str, options: &str) -> Option<u64> {
    let answer: Value = answer(place, "count", input, options);
    let message = answer["error"]["message"].as_str()?;
    Some(number_after("raise --host-memory to ", message).parse().unwrap())
}

/// Stars, rings, random and dense graphs, with dense and sparse ids, as text and as pairs.
#[test]
fn the_budget_that_the_first_refusal_names_is_enough() {
    let place = Place::new();
    let random = |i: u64, below: u64| trimill_system::hash::mix(i) % below;
    let n = 150_000;
    let graphs: [(&str, Vec<[u64; 2]>); 5] = [
        ("star", (1..n).map(|i| [0, i * 7919 % n]).collect()),
        ("ring", (0..n).map(|i| [i, (i + 1) % n]).collect()),
        ("random", (0..2 * n).map(|i| [random(i, n), random(!i, n)]).collect()),
        ("sparse", (0..n).map(|i| [random(i, 1 << 32) >> 1, random(!i, 1 << 32) >> 1]).collect()),
        ("dense", (0..3 * n).map(|i| [random(i, 700), random(!i, 700)]).collect()),
    ];
    let edges = "--force --per-edge edges.tsv";
    for (name, pairs) in graphs {
        let [text, binary] = ["txt", "bin"].map(|suffix| format!("{name}.{suffix}"));
        place.write(&text, pairs.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>());
        let bytes = |id: &u64| (*id as u32).to_le_bytes();
        place.write(&binary, pairs.iter().flatten().flat_map(bytes).collect::<Vec<u8>>());
        for (input, options, budgets) in [
            // Budgets below the floor of any graph, above it, and with room for a part of this graph.
            (&text, "--no-cache", &[1, 17_600_000, 20_000_000][..]),
            (&binary, "--no-cache --threads 8", &[19_995_000]),
            (&binary, "--no-cache --partitioner random", &[1]),
            (&text, &format!("--no-cache {edges}"), &[1]),
        ] {
            for budget in budgets {
                let within = |budget: u64| advised(&place, input, &format!("{options} --host-memory {budget}"));
                let Some(named) = within(*budget) else { continue };
                assert_eq!(within(named), None, "{name} {options}: {budget}, then {named}");
            }
        }
    }
}

/// With the smallest budget the graph is read a bounded number of times: by the plan, and by the job, whose reads are counted.
#[test]
fn the_smallest_budget_reads_a_small_multiple_of_the_graph() {
    let place = Place::new();
    let graph = generated("gap-kron --scale 14", &place);
    // The cache has the graph, so the budget is that of counting.
    let _: PlanReport = answer(&place, "plan", graph, "");
    for files in ["--per-edge edges.tsv", "--per-vertex vertices.tsv", ""] {
        let least = advised(&place, graph, &format!("{files} --host-memory 1")).unwrap();
        let options = format!("{files} --host-memory {least}");
        let plan: PlanReport = answer(&place, "plan", graph, &options);
        let whole = 8 * plan.vertices + 4 * plan.edges;
        // With p ranges, (p + 1) / 2 times the graph is read.
        assert!(plan.parts <= 27, "{options}: {} parts", plan.parts);
        assert!(plan.stream_bytes.get() <= 16 * whole, "{options}: {} of {whole}", plan.stream_bytes);
        // File blocks have at most 2^17 rows and arcs. Each partition reads those of its own rows and those below them; some more reads
        // find where partitions begin, and read the counts.
        let blocks = (plan.vertices + plan.edges).div_ceil(1 << 17) + 1;
        let reads = blocks * plan.parts as u64 + 16 * plan.parts as u64 + 60;
        let count = |fault: u64| {
            let mut program = place.command(&["count", graph, "--quiet", "--backend", "cpu", "--threads", "2"]);
            program.args(["--work-dir", "work"]).args((!files.is_empty()).then_some("--force"));
            program.args(options.split_whitespace()).env("TRIMILL_FAULT", format!("read:{fault}")).output().unwrap()
        };
        let done = count(reads);
        assert!(done.status.success(), "{options}: more than {reads}: {}", stderr(&done));
        assert!(!count(plan.parts as u64).status.success(), "{options}: reads are counted");
    }
}

#[test]
fn counting_a_cached_graph_takes_no_more_than_the_budget() {
    let place = Place::new();
    let file = generated("ring-lattice --vertices 100000 --k 32", &place);
    let triangles = 100_000 * 32 * 31 / 2;
    // This prepares the graph; all others find it in the cache.
    let _: PlanReport = answer(&place, "plan", file, "");
    for options in [
        "--host-memory 1GiB",
        "--host-memory 80MiB --device-memory 4MiB --partitioner random --block-bytes 512KiB",
        "--host-memory 80MiB --device-memory 4MiB --partitioner random --spill memory --block-bytes 512KiB",
        "--host-memory 64MiB --device-memory 4MiB --partitioner contiguous --prune none --parts 9",
        "--host-memory 40MiB --device-memory 4MiB --partitioner rank --parts 4",
        "--host-memory 25MiB",
    ] {
        let plan: PlanReport = answer(&place, "plan", file, options);
        assert!(plan.parts > 1 || options.contains("1GiB"), "{options}");
        let result = within_budget(&place, file, options, triangles);
        assert_eq!((plan.parts, plan.mode), (result.parts, result.mode));
        for (partition, planned) in result.partitions.iter().zip(&plan.partitions) {
            let (found, planned) = (partition.counted().peak_bytes, planned.peak_bytes_predicted);
            assert!(found <= planned && planned <= result.device_memory, "{options}: {planned} planned, {found} found");
        }
    }
}

/// The costs of 200 rank ranges in bins of heads take 6 MB a copy, and none if there are many more ranges than shards.
#[test]
fn preparing_many_rank_ranges_takes_no_more_than_the_budget() {
    let place = Place::new();
    let graph = generated("ring-lattice --vertices 20000 --k 40", &place);
    for shards in [2, 100] {
        let options = format!("--run-dir run{shards} --shards {shards} --host-memory 40MiB --device-memory 40000");
        let prepared: PreparedReport = answer(&place, "prepare", graph, &options);
        assert!(prepared.parts >= 200, "{shards} shards: {} parts", prepared.parts);
        assert!(prepared.peak_host_bytes <= Bytes::mib(40), "{shards} shards: {}", prepared.peak_host_bytes);
    }
}

/// The budget of a job that names many partitions or shards includes what is in memory of each.
#[test]
fn many_partitions_or_shards_take_no_more_than_the_budget() {
    let place = Place::new();
    let graph = typed("ca-HepTh.txt");
    let of_parts = |parts: u64| {
        let plan: PlanReport = answer(&place, "plan", &graph, &format!("--partitioner rank --parts {parts}"));
        plan.host_floors.iter().find(|floor| floor.stage.contains("in-place")).unwrap().bytes.get()
    };
    let (few, many) = (of_parts(2), of_parts(5000));
    assert!((5000 * 512..5000 * 1024).contains(&(many - few)), "{few}, {many}");
    let options = "--partitioner rank --parts 5000 --host-memory";
    assert_refused(&place, &graph, &format!("{options} {few}"), "for 5000 partitions");
    within_budget(&place, &graph, &format!("{options} {many}"), 28_339);

    let prepare = |shards: u32, budget: &str| -> Value {
        let options = format!("--run-dir run{shards} --shards {shards} --host-memory {budget}");
        answer(&place, "prepare", &graph, &options)
    };
    let [_, refused] = [300_000, 4000].map(|shards| {
        let message = prepare(shards, "32MiB")["error"]["message"].to_string();
        assert!(message.contains("to cut the graph for shards"), "{message}");
        message
    });
    let named = number_after("raise --host-memory to ", &refused);
    let prepared: PreparedReport = serde_json::from_value(prepare(4000, &named)).unwrap();
    assert!(prepared.parts >= 4000, "{} parts", prepared.parts);
    assert!(prepared.peak_host_bytes.get() <= named.parse::<u64>().unwrap(), "{} of {named}", prepared.peak_host_bytes);
}

/// Each edge of a ring lattice once, in order. Of two vertices at distance d, 2 k - 1 - d are adjacent to both: d - 1 between them, k - d on
/// either side.
fn are_those_of_the_ring(edges: &str, n: u64, k: u64) {
    let (mut lines, mut last) = (0, (0, 0));
    for line in edges.lines().skip(1) {
        let cells: Vec<u64> = line.split('\t').map(|cell| cell.parse().unwrap()).collect();
        let [u, v, triangles] = cells[..] else { panic!("{line}") };
        let distance = (v - u).min(n - (v - u));
        assert!((u, v) > last && (1..=k).contains(&distance) && triangles == 2 * k - 1 - distance, "{line}");
        (lines, last) = (lines + 1, (u, v));
    }
    assert_eq!(lines, n * k);
}

/// The sums on all edges are in a file for the larger uniform graph and, with its least budget, for the ring; otherwise in memory.
#[test]
fn counting_on_edges_takes_no_more_than_the_budget() {
    let random = "--host-memory 96MiB --device-memory 48MiB --partitioner random --parts 3";
    for (family, triangles, budgets) in [
        ("gap-kron --scale 17", 36_155_580, &["--host-memory 64MiB"][..]),
        // The graph stays in memory, beside a window, and the smaller one beside the sums.
        ("gap-urand --scale 19", 5393, &["--host-memory 100MiB --no-cache"]),
        ("gap-urand --scale 18", 5406, &["--host-memory 80MiB --no-cache"]),
        (
            "ring-lattice --vertices 400000 --k 10",
            400_000 * 10 * 9 / 2,
            &["--host-memory 56MiB --clustering", random, "--host-memory 1GiB"],
        ),
    ] {
        let place = Place::new();
        let graph = generated(family, &place);
        for options in budgets {
            within_budget(&place, graph, &format!("{options} --force --per-edge edges.tsv"), triangles);
            if family.starts_with("ring") {
                are_those_of_the_ring(&place.read("edges.tsv"), 400_000, 10);
            }
        }
    }
}

/// The sums at all vertices take 15 MiB; they are in a file with the two smaller budgets, and in memory with the others.
#[test]
fn counting_at_vertices_takes_no_more_than_the_budget() {
    let place = Place::new();
    let graph = generated("ring-lattice --vertices 2000000 --k 2", &place);
    for options in [
        "--host-memory 66MiB --per-vertex v.npy",
        "--host-memory 77MiB --partitioner random --parts 5 --per-vertex v.npy --force",
        "--host-memory 110MiB --partitioner rank --parts 3 --clustering",
        "--host-memory 130MiB --partitioner random --spill memory --parts 5 --per-vertex vertices.tsv",
    ] {
        let result = within_budget(&place, graph, options, 2_000_000);
        let summary = result.clustering.unwrap();
        assert_eq!((summary.most_triangles, summary.average_clustering_of_degree_2), (3, 0.5), "{options}");
        assert!(summary.quantiles.iter().all(|quantile| (quantile.triangles, quantile.local) == (3, 0.5)), "{options}");
        let kept = |part: &PartitionFigures| part.counted().peak_bytes <= part.peak_bytes_predicted;
        assert!(result.partitions.iter().all(kept), "{options}");
        if options.contains("v.npy") {
            let array = std::fs::read(place.path("v.npy")).unwrap();
            assert!(array[128..].as_chunks::<8>().0.iter().all(|entry| u64::from_le_bytes(*entry) == 3));
            assert_eq!(array.len(), 128 + 8 * 2_000_000);
        }
    }
    assert_refused(&place, graph, "--host-memory 44MiB --clustering", "write the triangles at vertices");
}

/// METIS runs in a child process, whose memory is not part of the budget.
#[test]
fn the_child_of_metis_is_added_to_the_peak() {
    let place = Place::new();
    let file = generated("ring-lattice --vertices 20000 --k 20", &place);
    let options = "--host-memory 96MiB --partitioner metis --parts 4";
    let result: RunResult = answer(&place, "count", file, options);
    assert_eq!(result.triangles, 20_000 * 20 * 19 / 2);
    // METIS holds the graph with both directions of its edges at least twice: the input and a coarsened graph.
    let alone: RunResult = answer(&place, "count", file, "--host-memory 96MiB --parts 4");
    let added = result.peak_host_bytes.saturating_sub(alone.peak_host_bytes);
    assert!(added > Bytes(2 * 2 * 400_000 * 4), "{added}");
}
