//! Whole jobs: published counts and closed forms, by every method and within small budgets.

mod settings;

use crate::common::job::{count, input, known, listing};
use crate::common::published::{Published, published};
use trimill::testing::job::Mode;
use trimill::{Bytes, Control, Kind, RunResult};
use trimill_generate::{Family, StarKind, generate};

#[test]
fn real_graphs_have_their_published_counts_in_memory_out_of_core_and_by_rank_ranges() {
    for Published { name, arcs, loops, vertices, edges, triangles, wedges, clustering, .. } in published() {
        let dir = tempfile::tempdir().unwrap();
        for settings in [
            "output.clustering = true",
            "output.clustering = true\npartition = { partitioner = 'random', parts = 5, prune = 'zero-indegree' }",
            "partition = { partitioner = 'rank', parts = 5 }",
            // For every input, no host memory is left for the rows, so they are read from a file.
            "partition = { partitioner = 'rank', parts = 2 }\nspill.to = 'memory'\nmemory.device = '16MiB'",
            "partition = { partitioner = 'rank', parts = 4 }\nmemory.block = '64KiB'\ncache.dir = 'cache'",
        ] {
            let result = count(&(input(&name) + settings), dir.path()).unwrap();
            assert_eq!((result.input.arcs, result.input.loops_removed), (arcs, loops), "{name} {settings}");
            assert_eq!((result.vertices, result.edges), (vertices, edges), "{name} {settings}");
            assert_eq!((result.triangles, result.wedges), (triangles, wedges), "{name} {settings}");
            let found = &result.input;
            assert_eq!(2 * edges, arcs - loops - found.duplicates_removed + found.arcs_added, "{name} {settings}");
            assert_eq!(result.partitions.iter().map(|p| p.local_vertices).sum::<u64>(), vertices, "{name} {settings}");
            assert!(listing(&dir.path().join("work")).is_empty(), "nothing is left in the work directory");
            if settings.contains("clustering") {
                let average = result.clustering.unwrap().average_clustering;
                assert_eq!(format!("{average:.6}"), clustering, "{name} {settings}");
                continue;
            }
            assert_eq!((result.mode, result.partitioner.as_str()), (Mode::InPlace, "rank"));
            assert!((2..=5).contains(&result.parts), "{name} {settings}: {} parts", result.parts);
            let stream = result.stages.iter().find(|stage| stage.name == "stream").unwrap();
            // Rows in the file take fewer bytes than on the device.
            assert!(Bytes::ZERO < stream.bytes_in && stream.bytes_in < stream.bytes_out, "{name} {settings}");
            let streamed: u64 = result.partitions.iter().map(|part| part.stream_bytes.get()).sum();
            assert_eq!(stream.bytes_out.get(), streamed, "{name} {settings}");
            let spilling = ["induce", "prune", "spill"];
            assert!(result.stages.iter().all(|stage| !spilling.contains(&stage.name.as_str())));
            assert!(result.duplication <= 1.0 && result.compression_ratio.is_none());
            for part in &result.partitions {
                assert_eq!((part.spill_bytes, part.proxies_kept, part.arcs_kept), (Bytes::ZERO, 0, part.arcs_induced));
                assert!(part.counted().peak_bytes <= part.peak_bytes_predicted, "{name} part {}", part.id);
            }
        }
    }
}

#[test]
fn the_methods_of_the_papers_count_real_graphs() {
    let dir = tempfile::tempdir().unwrap();
    for Published { name, triangles, .. } in published() {
        let input = input(&name) + "cache.dir = 'cache'\ncount.backend = 'cpu'\n";
        for method in ["forward", "compact-forward", "reverse-edge", "reverse-edge-serial"] {
            let result = count(&format!("{input}count.method = '{method}'"), dir.path()).unwrap();
            assert_eq!((result.triangles, result.method.as_str()), (triangles, method), "{name}");
            let part = &result.partitions[0];
            assert!(part.counted().peak_bytes <= part.peak_bytes_predicted, "{name} {method}");
        }
    }
    let input = input("facebook_combined.txt") + "count.backend = 'cpu'\n";
    for method in ["reverse-edge", "reverse-edge-serial"] {
        for settings in ["partition = { partitioner = 'random', parts = 7 }", "memory.device = '300KiB'"] {
            let result = count(&format!("{input}count.method = '{method}'\n{settings}"), dir.path()).unwrap();
            assert!(result.parts > 1);
            assert_eq!(result.triangles, 1_612_010, "{method} {settings}");
        }
    }
    for method in ["forward", "compact-forward"] {
        for (settings, kind, said) in [
            ("partition.parts = 2", Kind::Usage, ""),
            ("memory.device = '400KiB'", Kind::Resource, "counts whole graphs only; this one takes"),
        ] {
            let error = count(&format!("{input}count.method = '{method}'\n{settings}"), dir.path()).unwrap_err();
            assert!(error.kind() == kind && error.to_string().contains(said), "{error}");
        }
    }
}

/// Also of stars, whose hubs are next to all other vertices, under every partitioner and small budgets.
#[test]
fn closed_forms_hold() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("graph.bin");
    let some = [
        "cache.dir = 'cache'\npartition = { partitioner = 'random', parts = 3 }",
        "cache.dir = 'cache'\npartition.parts = 4\nmemory.block = '64KiB'",
        "cache.dir = 'cache'\npartition = { partitioner = 'rank', parts = 3 }\nmemory.block = '64KiB'",
        "cache.dir = 'cache'",
    ];
    let all = [
        "",
        "partition = { partitioner = 'random', parts = 5, prune = 'zero-indegree' }",
        "partition = { partitioner = 'contiguous', parts = 7 }\nmemory.block = '8KiB'",
        "partition = { partitioner = 'contiguous-vertices', parts = 3, prune = 'none' }",
        "partition = { partitioner = 'metis', parts = 2, metis = { contract = 3 } }\nspill.to = 'memory'",
        "partition = { partitioner = 'contiguous', parts = 4 }\nmemory.block = '8KiB'\nspill.to = 'memory'",
        "partition = { partitioner = 'rank', parts = 6 }\nmemory.block = '8KiB'",
        "memory = { device = '400KiB', host = '160MiB', block = '8KiB' }\ncount.threads = 2",
        "memory = { device = '300KiB', block = '8KiB' }\npartition.partitioner = 'random'\ncount.threads = 1",
    ];
    let mut families = vec![
        // More triangles than fit 32 bits: 4,495,501,000. It takes seconds, so it is counted by two settings only.
        (Family::Complete { vertices: 3000 }, &some[2..]),
        (Family::KingsGrid { rows: 120, columns: 75 }, &some),
        (Family::RingLattice { vertices: 5000, k: 9 }, &some),
        (Family::RingOfCliques { cliques: 40, size: 25 }, &some),
        (Family::Hamming { d: 3, q: 9 }, &some),
        (Family::GapKron { scale: 16 }, &some),
    ];
    for leaves in [&[50_000][..], &[25, 81], &[3, 4, 5, 9, 16]] {
        for kind in [StarKind::Bk, StarKind::B1k, StarKind::B2k] {
            families.push((Family::Stars { leaves: leaves.to_vec(), kind }, &all));
        }
    }
    let mut split = 0;
    for (family, settings) in families {
        let known = generate(&family, None, &file, &Control::silent()).unwrap().known;
        for settings in settings {
            let result = count(&format!("input.path = '{}'\n{settings}", file.display()), dir.path()).unwrap();
            let found = (Some(u128::from(result.edges)), Some(result.triangles));
            assert_eq!(found, (known.edges, known.triangles), "{family:?} {settings}");
            for part in &result.partitions {
                let peaks = [part.counted().peak_bytes, part.peak_bytes_predicted, result.device_memory];
                assert!(peaks.is_sorted(), "{family:?} {settings}: {part:?}");
            }
            split += usize::from(settings.contains("device") && result.parts > 2);
        }
    }
    assert!(split > 3, "{split} runs in more than two parts under a budget");
}

#[test]
fn kept_spills_are_counted_without_their_graph() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    for (name, triangles, settings) in [
        ("facebook_combined.txt", 1_612_010, "partition = { partitioner = 'random', parts = 5 }\nmemory.block = 32768"),
        ("ca-HepTh.txt", 28_339, "partition = { partitioner = 'contiguous', parts = 3, prune = 'none' }"),
        ("as20000102.txt", 6_584, "partition = { partitioner = 'metis', parts = 4, prune = 'zero-indegree' }"),
        ("wiki-Vote.txt", 608_389, "partition = { partitioner = 'contiguous-vertices', parts = 3, prune = 'none' }"),
        ("karate.mtx", 45, ""),
    ] {
        let keep = input(name) + "spill = { keep = true, dir = 'kept' }\n" + settings;
        let first = count(&keep, dir.path()).unwrap();
        assert_eq!((first.triangles, first.mode), (triangles, Mode::Spilled), "{name}");
        let files = listing(&kept);
        for settings in ["", "count.method = 'reverse-edge'", "memory.host = '160MiB'\ncount.threads = 1"] {
            let again = count(&format!("input.path = 'kept'\n{settings}"), dir.path()).unwrap();
            let figures = |r: &RunResult| (r.triangles, r.wedges, r.vertices, r.edges, r.parts, r.mode, r.prune);
            assert_eq!(figures(&again), figures(&first), "{name}");
            assert_eq!((&again.partitioner, &again.input), (&first.partitioner, &first.input), "{name}");
            for (a, b) in again.partitions.iter().zip(&first.partitions) {
                assert_eq!((known(a), a.counted().triangles), (known(b), b.counted().triangles), "{name}");
                let peaks = [a.counted().peak_bytes, a.peak_bytes_predicted, again.device_memory];
                assert!(peaks.is_sorted(), "{a:?}");
            }
        }
        assert_eq!(listing(&kept), files, "spills are unchanged");
        std::fs::remove_dir_all(&kept).unwrap();
    }
}
