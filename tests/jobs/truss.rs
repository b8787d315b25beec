//! The truss decomposition: against NetworkX and the verifier; all modes and budgets; ends at a k; shards, resumed jobs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::figures::{OnEdges, rows_of, taken};
use crate::common::job::{SETTINGS, count, data, input, job, typed};
use crate::common::place::{Place, number_after, stderr};
use serde_json::Value;
use trimill::testing::execute::verify::verify;
use trimill::{Backend, Control, Graph, Kind, Observer, Options, RunResult, Trusses, Unit};
use trimill_generate::{Family, generate};

/// By `k_truss` of NetworkX 3.6 for every k: the largest k, the vertices and edges of its truss, and the sum of all edges' trussness.
const NETWORKX: [(&str, u32, u64, u64, u64); 9] = [
    ("karate.mtx", 5, 6, 14, 262),
    ("chesapeake.mtx", 5, 12, 43, 682),
    ("bcsstk13.mtx", 28, 308, 6167, 790_772),
    ("as20000102.txt", 10, 23, 179, 37_281),
    ("ca-HepTh.txt", 32, 32, 496, 125_967),
    ("p2p-Gnutella04.txt", 4, 12, 18, 82_428),
    ("facebook_combined.txt", 97, 139, 8987, 3_143_338),
    ("wiki-Vote.txt", 23, 50, 947, 1_008_726),
    ("delaunay_n15.graph", 4, 1435, 2169, 296_991),
];

fn rows(text: &str) -> OnEdges {
    rows_of(text, "trussness")
}

fn peeled(text: &str, dir: &Path) -> (RunResult, String, String) {
    let result = count(&format!("{text}\noutput.per_edge = 'e.tsv'\noutput.by_k = 'k.tsv'"), dir).unwrap();
    (result, taken(dir, "e.tsv"), taken(dir, "k.tsv"))
}

fn verified(input: &str, dir: &Path) -> [String; 2] {
    let text = format!("{input}\noutput.per_edge = 'v.tsv'\noutput.by_k = 'vk.tsv'");
    let report = verify(job(&text, dir).unwrap(), &Control::silent()).unwrap();
    assert!(report.truss.is_some());
    ["v.tsv", "vk.tsv"].map(|name| taken(dir, name))
}

#[test]
fn real_graphs_have_the_trusses_of_networkx_and_the_verifier() {
    for (name, k, vertices, edges, sum) in NETWORKX {
        let dir = tempfile::tempdir().unwrap();
        let input = input(name);
        let [on_edges, by_k] = verified(&input, dir.path());
        assert_eq!(rows(&on_edges).values().map(|&k| u64::from(k)).sum::<u64>(), sum, "{name}");
        assert_eq!(by_k.lines().last(), Some(&*format!("{k}\t{vertices}\t{edges}")), "{name}");
        for settings in SETTINGS {
            let (result, found, sizes) = peeled(&format!("{input}\n{settings}\ncache.dir = 'cache'"), dir.path());
            assert!(found == on_edges && sizes == by_k, "{name} {settings}");
            let trusses = result.truss.unwrap();
            let largest = trusses.largest().unwrap();
            assert_eq!((trusses.largest_k, largest.vertices, largest.edges), (k, vertices, edges), "{name} {settings}");
            assert_eq!(trusses.levels as usize, trusses.by_k.len(), "{name}: an edge falls on each level");
            assert!(trusses.rounds >= trusses.levels.into(), "{name}");
        }
    }
}

#[test]
fn peeling_that_ends_at_a_k_leaves_the_edges_of_its_truss() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["karate.mtx", "wiki-Vote.txt", "ca-HepTh.txt"] {
        let input = input(name);
        let (whole, all, _) = peeled(&input, dir.path());
        let (whole, all) = (whole.truss.unwrap(), rows(&all));
        for k in [3, 4, 5, 9, 40] {
            let text = format!("{input}\noutput.k = {k}");
            let [verified, _] = verified(&text, dir.path());
            let (result, found, _) = peeled(&text, dir.path());
            assert!(found == verified, "{name} {k}");
            let expected = all.iter().filter(|(_, of)| **of >= k).map(|(edge, _)| (*edge, k)).collect();
            assert_eq!(rows(&found), expected, "{name} {k}");
            let trusses = result.truss.unwrap();
            assert_eq!((trusses.until, trusses.largest_k), (Some(k), whole.largest_k.min(k)), "{name}");
            let below = |trusses: &Trusses| trusses.by_k.iter().copied().filter(|t| t.k < k).collect::<Vec<_>>();
            assert_eq!(below(&trusses), below(&whole), "{name} {k}");
        }
    }
}

#[test]
fn counts_at_vertices_beside_it_are_those_of_triangles() {
    let dir = tempfile::tempdir().unwrap();
    let input = input("facebook_combined.txt");
    let expected = count(&format!("{input}\noutput.clustering = true"), dir.path()).unwrap().clustering;
    let both = count(&format!("{input}\noutput = {{ clustering = true, truss = true }}"), dir.path()).unwrap();
    assert!(both.clustering == expected && both.truss.unwrap().largest_k == 97);
}

#[test]
fn resumed_jobs_and_shards_have_the_same_trusses() {
    let place = Place::new();
    let (dir, input) = (place.path(""), input("wiki-Vote.txt"));
    let [expected, _] = verified(&input, &dir);
    // Jobs in one run directory: triangles, then trussness under the same file name, then only a truss, and all of these again.
    let job = input + "run.dir = 'run'\npartition.parts = 3\ncount.backend = 'cpu'\n";
    let file = |more: &str| {
        count(&format!("{job}output = {{ per_edge = 'e.tsv', force = true{more} }}"), &dir).unwrap();
        std::fs::read_to_string(dir.join("e.tsv")).unwrap()
    };
    let triangles = file("");
    assert!(triangles.starts_with("u\tv\ttriangles\n"));
    for _ in 0..2 {
        assert!(file(", truss = true") == expected);
        let of_truss = rows(&file(", k = 10"));
        assert!(!of_truss.is_empty() && of_truss.values().all(|&k| k == 10));
        assert!(file("") == triangles);
    }
    let merged = place.sharded("shards", &[&typed("wiki-Vote.txt"), "--truss", "--per-edge", "merged.tsv"]);
    assert_eq!(merged["truss"]["largest_k"], 23);
    assert!(std::fs::read_to_string(dir.join("merged.tsv")).unwrap() == expected);
}

#[test]
fn a_budget_below_the_floor_is_refused_before_counting_and_the_one_it_names_is_enough() {
    let place = Place::new();
    let family = Family::RingLattice { vertices: 500_000, k: 4 };
    generate(&family, None, &place.path("ring.sg"), &Control::silent()).unwrap();
    // In a process of its own, whose memory is measured.
    let words = ["truss", "ring.sg", "--threads", "2", "--backend", "cpu", "--no-cache", "--json", "--host-memory"];
    let said = ["to peel the graph", "edges while peeling"];
    let refused = place.refuses(&[&words[..], &["80MiB"]].concat(), 3, &said);
    let answer: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert!(answer["error"].is_object() && answer["triangles"].is_null(), "{answer}");
    let named = number_after("raise --host-memory to ", &stderr(&refused));
    let result = place.prints(&[&words[..], &[&*named]].concat());
    let result: RunResult = serde_json::from_slice(&result).unwrap();
    // Edges are in at most 2 k - 2 triangles; those of distance k on the ring are in k - 1 and fall first, and then all others fall.
    let by_k = result.truss.unwrap().by_k.into_iter().map(|truss| (truss.k, truss.vertices, truss.edges));
    assert!(by_k.eq([(5, 500_000, 2_000_000)]));
    assert!(result.peak_host_bytes.get() <= named.parse::<u64>().unwrap(), "{} of {named}", result.peak_host_bytes);
}

#[test]
fn the_merge_that_a_script_starts_has_the_memory_to_peel() {
    let place = Place::new();
    let family = Family::RingLattice { vertices: 500_000, k: 4 };
    generate(&family, None, &place.path("ring.sg"), &Control::silent()).unwrap();
    place.prints(&["prepare", "ring.sg", "--run-dir", "run", "--shards", "2", "--truss", "--backend", "cpu"]);
    for shard in ["0/2", "1/2"] {
        place.prints(&["count", "--run-dir", "run", "--shard", shard, "--backend", "cpu"]);
    }
    let cluster = "cluster slurm run --shards 2 --gpus-per-task 0 --cpus-per-task 2 --memory 96MiB";
    place.prints(&cluster.split(' ').collect::<Vec<_>>());
    let [of_task, of_merge] = ["count", "merge"].map(|script| {
        let script = place.read(format!("run/slurm/{script}.sbatch"));
        number_after("--host-memory ", &script).parse::<u64>().unwrap()
    });
    assert!(of_task == 72 && of_merge > 80, "{of_task}, {of_merge}");
    let merged =
        place.prints(&["merge", "run", "--threads", "2", "--host-memory", &format!("{of_merge}MiB"), "--json"]);
    let result: RunResult = serde_json::from_slice(&merged).unwrap();
    assert_eq!(result.truss.unwrap().largest_k, 5);
    assert!(result.peak_host_bytes.get() <= of_merge << 20, "{} of {of_merge} MiB", result.peak_host_bytes);
}

/// Stops the job once more than `after` edges fell.
struct StopsPeeling {
    stop: Arc<AtomicBool>,
    after: u64,
    fell: AtomicU64,
}

impl Observer for StopsPeeling {
    fn begin(&self, name: &str, _: Option<u64>, _: Unit) -> u64 {
        u64::from(name == "peel")
    }
    fn advance(&self, task: u64, units: u64) {
        if task == 1 && self.fell.fetch_add(units, Relaxed) + units > self.after {
            self.stop.store(true, Relaxed);
        }
    }
    fn end(&self, _: u64) {}
}

#[test]
fn a_job_that_was_stopped_goes_on_with_what_was_left() {
    let dir = tempfile::tempdir().unwrap();
    let graph = Graph::from_file(data("wiki-Vote.txt"));
    let options = || Options::new().backend(Backend::Cpu).without_cache().truss();
    let whole = graph.count(&options()).unwrap().truss.unwrap();
    let (_, k, _, edges, _) = NETWORKX[7];
    assert_eq!((whole.largest_k, whole.largest().unwrap().edges), (k, edges));
    let stopped = |after: u64, options: &Options| {
        let stop = Arc::new(AtomicBool::new(false));
        let observer = StopsPeeling { stop: Arc::clone(&stop), after, fell: AtomicU64::new(0) };
        graph.count_with(options, &Control::new(stop, Arc::new(observer)))
    };
    let run = dir.path().join("run");
    let with_run = || options().run_dir(&run);
    let file = run.join("peeled.edges");
    let mut before = Vec::new();
    for after in [10_000, 40_000, 80_000] {
        assert_eq!(stopped(after, &with_run()).unwrap_err().kind(), Kind::Interrupted);
        let kept = std::fs::read(&file).unwrap();
        assert!(kept != before, "{after}");
        before = kept;
    }
    // First the truss of a smaller k than the one reached, then the earlier question again.
    let of_ten = graph.count(&with_run().set("k", 10).unwrap()).unwrap().truss.unwrap();
    assert_eq!(of_ten.largest(), whole.by_k.iter().find(|truss| truss.k == 10));
    std::fs::write(&file, &before).unwrap();
    let resumed = graph.count(&with_run()).unwrap().truss.unwrap();
    assert!(resumed.by_k == whole.by_k && resumed.rounds < whole.rounds, "{resumed:?}");
    before[100] ^= 1;
    std::fs::remove_dir_all(&run).unwrap();
    assert_eq!(stopped(40_000, &with_run()).unwrap_err().kind(), Kind::Interrupted);
    std::fs::write(&file, &before).unwrap();
    assert_eq!(graph.count(&with_run()).unwrap().truss.unwrap(), whole);
}
