//! What `trimill plan` says of time and of more memory.

use crate::common::job::typed;
use crate::common::place::Place;
use serde_json::Value;
use trimill::testing::rates::Rates;
use trimill::testing::report::PlanReport;

const ON_CPU: [&str; 2] = ["--backend", "cpu"];

/// For tests in which the figures do not matter.
fn votes() -> String {
    typed("wiki-Vote.txt")
}

fn planned(graph: &str, place: &Place, options: &[&str]) -> Value {
    place.answer(&[&["plan", graph], options].concat())
}

#[test]
fn the_answer_takes_a_dozen_lines_of_80_columns_and_tables_come_with_details() {
    let place = Place::new();
    for options in [
        &[][..],
        &["--device-memory", "256KiB"],
        &["--host-memory", "256MiB", "--truss"],
        &["--parts", "9", "--prune", "none"],
    ] {
        let votes = votes();
        let words = [&["plan", &votes, "--quiet"], options, &ON_CPU].concat();
        let text = String::from_utf8(place.prints(&words)).unwrap();
        assert!((8..=12).contains(&text.lines().count()), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let names: Vec<&str> = text.lines().map(|line| line[..15].trim_end()).filter(|name| !name.is_empty()).collect();
        let named = "fits, graph, counted, partitions, counting memory, host memory, disk, time, about, more memory";
        assert_eq!(names.join(", "), named, "{text}");
        let details = String::from_utf8(place.prints(&[&words[..], &["--details"]].concat())).unwrap();
        assert!(details.starts_with(&text) && details.contains("Other numbers of parts"), "{details}");
    }
}

/// What a plan says about more memory is what a plan with that memory says.
#[test]
fn more_memory_saves_what_a_plan_with_more_memory_says() {
    let place = Place::new();
    let mut compared = 0;
    for (flag, budget, more) in [
        ("--device-memory", "256KiB", &ON_CPU[..]),
        ("--device-memory", "128KiB", &["--backend", "cpu", "--partitioner", "rank"]),
        ("--host-memory", "37MiB", &ON_CPU),
        ("--device-memory", "256KiB", &["--backend", "cpu", "--parts", "20"]),
        ("--device-memory", "1GiB", &ON_CPU),
    ] {
        // With little of the host's memory the passes that prepare the graph differ, too, if its arcs must be sorted.
        let graph = if flag == "--host-memory" { typed("cnr-2000.graph") } else { votes() };
        let less = planned(&graph, &place, &[&[flag, budget], more].concat());
        let found = less["more_memory"].as_array().unwrap();
        // There is nothing to gain if the number of parts is given, or all of the graph fits at once.
        assert_eq!(found.is_empty(), more.contains(&"--parts") || budget == "1GiB", "{budget} {more:?}: {found:?}");
        for one in found {
            assert_eq!(one["budget"], flag.trim_start_matches("--").trim_end_matches("-memory"));
            let bytes = one["bytes"].as_u64().unwrap().to_string();
            let with = planned(&graph, &place, &[&[flag, &bytes], more].concat());
            for figure in ["parts", "preparing", "counting_seconds", "seconds"] {
                assert_eq!(one[figure], with[figure], "{budget} {bytes}: {figure}");
            }
            for figure in ["seconds", "parts"] {
                assert!(one[figure].as_f64() < less[figure].as_f64(), "{budget} {bytes}: {figure}");
            }
            compared += 1;
        }
        assert!(found.last().is_none_or(|last| last["parts"] == 1), "{budget}: {found:?}");
    }
    assert!(compared >= 4, "{compared}");
}

/// A machine that is three times as fast counts in a third of the time, on cores and on a GPU.
#[test]
fn seconds_follow_from_the_rates_of_the_machine() {
    let place = Place::new();
    let cache = place.path("rates");
    let usual = Rates::default();
    for (options, rates) in [
        (&ON_CPU[..], Rates { bitmap: 3.0, ..usual }),
        (&["--device-memory", "1GiB", "--method", "packed"], Rates { packed: 3.0, gpu_arcs: 1e15, ..usual }),
    ] {
        // The second case is for a GPU that is not here.
        if options.len() > 2 && trimill_kernels::find().is_ok() {
            continue;
        }
        let with = |rates: Rates| {
            rates.store(&cache).unwrap();
            let plan = planned(
                &typed("cnr-symmetric.graph"),
                &place,
                &[options, &["--cache-dir", cache.to_str().unwrap()]].concat(),
            );
            let of = |figure: &str| plan[figure].as_f64().unwrap();
            let start = if plan["backend"] == "cpu" { 0.0 } else { trimill::testing::plan::cost::GPU_START };
            let sum = plan["preparing"]["seconds"].as_f64().unwrap() + start + of("counting_seconds");
            assert!((of("seconds") - sum).abs() < 1e-12, "{plan}");
            of("counting_seconds")
        };
        let (slow, fast) = (with(Rates { gpu_arcs: 1e15, ..usual }), with(rates));
        assert!(slow > 0.0 && (slow / fast - 3.0).abs() < 1e-9, "{options:?}: {slow} {fast}");
    }
}

#[test]
fn a_plan_says_why_there_are_so_many_partitions() {
    let place = Place::new();
    for (options, parts, reason) in [
        (&[][..], Some(1), "whole"),
        (&["--parts", "9"], Some(9), "asked"),
        (&["--device-memory", "256KiB"], None, "fewest"),
        (&["--device-memory", "256KiB", "--parts", "2"], None, "split"),
    ] {
        let plan = planned(&votes(), &place, &[options, &ON_CPU].concat());
        assert_eq!(plan["parts_reason"], reason, "{options:?}");
        assert!(parts.is_none_or(|parts| plan["parts"] == parts), "{options:?}: {}", plan["parts"]);
    }
}

/// The least of the host's memory that a plan names suffices for counting, and a little less does not.
#[test]
fn the_least_host_memory_suffices() {
    let place = Place::new();
    for more in [&[][..], &["--partitioner", "contiguous"], &["--partitioner", "random", "--per-edge", "e.tsv"]] {
        let graph = typed("cnr-symmetric.graph");
        let words = [&[&*graph, "--no-cache", "--threads", "2"], &ON_CPU[..], more].concat();
        let (plan, ..) = place.least_suffices("--host-memory", &words, |least| least / 2);
        // If no partitioner is named, the mode that takes less is enough.
        let at_most = |floor: &Value| floor["bytes"].as_u64() <= plan["smallest_host_memory"].as_u64();
        assert!(more.is_empty() || plan["host_floors"].as_array().unwrap().iter().all(at_most), "{more:?}: {plan}");
    }
}

/// Every budget from the named one on suffices, also where the graph would stay in memory and leave too little; a tenth less does not.
#[test]
fn more_memory_is_enough_where_less_is() {
    let place = Place::new();
    for (vertices, file) in [("1200000", "ring.sg"), ("300000", "small.sg")] {
        place.prints(&["generate", "ring-lattice", "--vertices", vertices, "--k", "1", "--output", file, "--quiet"]);
    }
    // Ids with gaps: a table of those that occur takes less than arrays over all.
    place.write("gaps.txt", (0..50_000).map(|i| format!("{} {}\n", 40 * i, 40 * (i + 1))).collect::<String>());
    for (input, settings) in
        [("ring.sg", &["contiguous"][..]), ("small.sg", &["metis", "--parts", "3"]), ("gaps.txt", &["rank"])]
    {
        let threads = [input, "--no-cache", "--threads", "1"];
        let common = [&threads, &ON_CPU[..], &["--partitioner"], settings].concat();
        let (plan, ..) = place.least_suffices("--host-memory", &common, |least| least / 10 * 9);
        let least = plan["smallest_host_memory"].as_u64().unwrap();
        for more in [2, 4, 6] {
            let bytes = (least + more * (least / 32)).to_string();
            place.prints(&[&["count", "--quiet", "--host-memory", &bytes], &common[..]].concat());
        }
    }
}

#[test]
fn outputs_that_counting_would_refuse_are_refused_and_those_that_are_there_stay() {
    let place = Place::new();
    place.write("g.txt", "0 1\n1 2\n2 0\n");
    place.write("v.tsv", "mine\n");
    let with = |more: &[&'static str]| [&["plan", "g.txt", "--no-cache", "--quiet"], &ON_CPU[..], more].concat();
    place.refuses(&with(&["--per-edge", "nowhere/e.tsv"]), 3, &["nowhere does not exist"]);
    place.refuses(&with(&["--per-edge", "e.tsv", "--per-vertex", "e.tsv"]), 2, &["cannot both be here"]);
    place.prints(&with(&["--per-vertex", "v.tsv"]));
    assert_eq!(place.read("v.tsv"), "mine\n");
}

/// The least device budget holds the doubled graph, too, by which arcs between neighbours are counted; one byte less is refused before counting.
#[test]
fn the_least_device_memory_suffices_for_directions() {
    let place = Place::new();
    let arcs = |i: u32| {
        let back = if i.is_multiple_of(3) { format!("{i} 0\n") } else { String::new() };
        format!("0 {i}\n{i} {}\n{back}", i + 1)
    };
    place.write("g.txt", (1..400).map(arcs).collect::<String>());
    // A file written by the refused command would be in the way.
    let words = [&["g.txt", "--no-cache", "--lcc", "o.txt", "--directed"], &ON_CPU[..]].concat();
    let (plan, said, _) = place.least_suffices("--device-memory", &words, |least| least - 1);
    assert!(said.contains(&format!("at least {} bytes", plan["smallest_device_memory"])), "{said}");
    assert!(place.path("o.txt").exists());
}

#[test]
fn the_least_device_memory_holds_row_blocks_of_the_size_that_is_asked_for() {
    let place = Place::new();
    let graph = votes();
    let words = [&[&*graph, "--block-bytes", "64KiB", "--parts", "4", "--no-cache"], &ON_CPU[..]].concat();
    let (_, said, counted) = place.least_suffices("--device-memory", &words, |least| least - 1);
    assert_eq!(counted["triangles"], 608_389);
    assert!(said.contains("two row blocks of 64.0 KiB"), "{said}");
}

/// A graph in the cache need not be prepared: less of the host's memory than preparing takes is enough, and the plan says how much.
#[test]
fn a_cached_graph_fits_a_budget_in_which_it_cannot_be_prepared() {
    let place = Place::new();
    let words = ["generate", "ring-lattice", "--vertices", "300000", "--k", "1", "--output", "ring.bin", "--quiet"];
    place.prints(&words);
    place.prints(&["count", "ring.bin", "--quiet"]);
    let small = [&["ring.bin", "--threads", "1", "--host-memory", "28MiB"], &ON_CPU[..]].concat();
    let plan = place.answer(&[&["plan"], &small[..]].concat());
    assert!(plan["smallest_host_memory"].as_u64() > plan["host_memory"].as_u64() && plan["fits"] == true, "{plan}");
    let text = String::from_utf8(place.prints(&[&["plan", "--quiet"], &small[..]].concat())).unwrap();
    assert!(text.contains("host memory      28.0 MiB with the cached graph; "), "{text}");
    place.prints(&[&["count"], &small[..]].concat());
    place.refuses(&[&["count", "--no-cache"], &small[..]].concat(), 3, &["to prepare the graph"]);
}

/// The plan looks at rows: those of a grid are near each other, so each of its edges takes less time than one of a uniform graph.
#[test]
fn rows_that_are_near_take_less_time() {
    let place = Place::new();
    let of_edge = |family: &[&str]| {
        place.prints(&[&["generate"], family, &["--output", "graph.bin", "--progress", "none", "--force"]].concat());
        let plan = planned("graph.bin", &place, &["--backend", "cpu", "--no-cache", "--threads", "2"]);
        plan["counting_seconds"].as_f64().unwrap() / plan["edges"].as_f64().unwrap()
    };
    let grid = of_edge(&["kings-grid", "--rows", "250", "--columns", "250"]);
    let uniform = of_edge(&["gap-urand", "--scale", "16"]);
    assert!(2.0 * grid < uniform && uniform < 20.0 * grid, "{grid} {uniform}");
}

/// The alternatives of a plan have the same numbers as a plan with that number of parts.
#[test]
fn alternatives_tell_the_largest_partition_and_the_duplication() {
    let place = Place::new();
    let planned = |more: &[&str]| -> PlanReport {
        let options = [&["--partitioner", "random", "--prune", "zero-indegree"], &ON_CPU[..], more].concat();
        serde_json::from_value(planned(&typed("as20000102.txt"), &place, &options)).unwrap()
    };
    let plan = planned(&[]);
    for parts in [4, 16] {
        let alone = planned(&["--parts", &parts.to_string()]);
        let told = plan.alternatives.iter().find(|alternative| alternative.parts == parts).unwrap();
        let arcs = alone.partitions.iter().map(|partition| partition.arcs_kept).max().unwrap();
        let vertices = alone.partitions.iter().map(|partition| partition.local_vertices + partition.proxies_kept).max();
        assert_eq!((told.largest_arcs_kept, Some(told.largest_vertices_kept)), (arcs, vertices));
        assert!((told.duplication - alone.duplication).abs() < 1e-9 && told.duplication > 1.0, "{}", told.duplication);
    }
}
