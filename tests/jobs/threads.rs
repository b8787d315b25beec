//! How many threads a job starts: as many as requested, and none of rayon's global pool.

use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

use crate::common::complete;
use crate::common::job::{data, job, program, typed};
use crate::common::place::{Place, stderr};
use trimill::testing::child::Helper;
use trimill::testing::execute;
use trimill::testing::execute::generate::GenerateRequest;
use trimill::{Backend, Control, Graph, Options};
use trimill_generate::Family;

/// The size of rayon's global pool, which starts if anything runs outside the pool of a job.
const OF_THE_PROCESS: usize = 40;

/// Runs in a process of its own, because threads of the global pool stay until the process ends.
#[test]
#[ignore = "run by one_thread_is_one_thread"]
fn child() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path();
    let (metis, control) = (Some(Helper::metis(program())), Control::silent());
    let alone = |what: &str| {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert!(threads < OF_THE_PROCESS, "{what}: {threads} threads");
    };
    let request = GenerateRequest {
        arcs: Default::default(),
        family: Family::GapKron { scale: 12 },
        graph: None,
        output: base.join("k.bin"),
        force: false,
        threads: NonZeroUsize::new(1),
    };
    execute::generate::generate(&request, &control).unwrap();
    alone("generate");
    let (made, crawl, karate) = (base.join("k.bin"), data("cnr-2000.graph"), data("karate.mtx"));
    for (input, more) in [
        (&made, ""),
        (&made, "partition = { parts = 5, partitioner = 'contiguous' }\ncache.enabled = false"),
        (&made, "partition = { parts = 5, partitioner = 'rank' }\nspill.to = 'memory'"),
        (&made, "partition.prune = 'zero-indegree'\nspill = { keep = true, dir = 's' }"),
        (&made, "partition = { parts = 3, partitioner = 'metis' }\nrun.dir = 'r'"),
        (&made, "memory = { device = '1MiB', host = '48MiB' }\npartition.partitioner = 'random'"),
        (&made, "memory = { device = '1MiB', host = '48MiB' }\npartition.partitioner = 'rank'"),
        (&made, "count.method = 'forward'"),
        (&crawl, "partition.parts = 3\ncache.enabled = false"),
        (&karate, ""),
    ] {
        let cache = if more.contains("cache") { "" } else { "cache.dir = 'cache'" };
        let usual = "count.backend = 'cpu'\ncount.threads = 1\nwork.dir = 'w'";
        let text = format!("input.path = '{}'\n{usual}\n{cache}\n{more}", input.display());
        let job = job(&text, base).unwrap();
        execute::plan::plan(job.clone(), None, metis.clone(), &control).unwrap();
        alone(&format!("plan {text}"));
        execute::count::count(job.clone(), None, metis.clone(), &control).unwrap();
        alone(&format!("count {text}"));
        // The verifier depends on none of these settings.
        if more.is_empty() {
            execute::verify::verify(job, &control).unwrap();
            alone(&format!("verify {text}"));
        }
    }
}

#[test]
fn one_thread_is_one_thread() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "threads::child", "--ignored", "--nocapture"])
        .env("RAYON_NUM_THREADS", OF_THE_PROCESS.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// While a worker of the caller's pool waits for a count, it must not begin the pool's next count within the first one.
#[test]
fn counts_from_a_pool_of_the_caller_do_not_pile_up() {
    let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let options = Options::new().backend(Backend::Cpu).threads(NonZeroUsize::MIN);
    let count = |_: u32| {
        most.fetch_max(begun.fetch_add(1, Relaxed) + 1, Relaxed);
        let triangles = Graph::from_edges(complete(30)).count(&options).unwrap().triangles;
        begun.fetch_sub(1, Relaxed);
        triangles
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let counts: Vec<u128> = pool.install(|| (0..60_u32).into_par_iter().map(count).collect());
    assert_eq!(counts, [30 * 29 * 28 / 6; 60]);
    assert!(most.into_inner() <= 2, "a count began within another one");
}

/// Each thread and each pool in turn cannot be started.
#[test]
fn a_thread_that_cannot_be_started_ends_with_3() {
    let (place, graph) = (Place::new(), typed("as20000102.txt"));
    let count = ["count", &graph, "--no-cache", "--threads", "8", "--json", "--block-bytes", "1KiB"];
    // The pool, the builder of partitions, and the reader of each one with many row blocks; one partition of a small graph needs only the pool.
    for (options, least) in [
        (&[][..], 1),
        (&["--partitioner", "random", "--parts", "3"], 5),
        (&["--parts", "2", "--per-edge", "e.tsv", "--force"], 3),
    ] {
        let mut refused = 0;
        for n in 1.. {
            let output = place.run_with(&format!("thread:{n}"), &[&count[..], options].concat());
            let said = stderr(&output);
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            if !said.contains("a fault of TRIMILL_FAULT strikes") {
                assert!(output.status.success() && answer["triangles"] == 6584, "{options:?}: {said}");
                break;
            }
            refused += 1;
            assert_eq!(output.status.code(), Some(3), "{options:?}, thread {n}: {said}");
            assert!(said.contains("a thread cannot be started") && said.contains("lower --threads"), "{said}");
        }
        assert!(refused >= least, "{options:?}: {refused}");
    }
}
