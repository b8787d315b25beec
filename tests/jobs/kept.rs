//! Kept spills: `trimill count DIR` counts them without the graph, or says why it cannot.

use std::fs;

use crate::common::job::typed;
use crate::common::place::Place;
use crate::common::published::{Published, published};

fn partitioned() -> Place {
    let place = Place::new();
    let report = place.answer(&["partition", &typed("wiki-Vote.txt"), "--parts", "8", "--spill-dir", "spills"]);
    assert_eq!(report["parts"], 8);
    place
}

/// The program ends with `code`, prints no answer, and says all of `words`.
#[track_caller]
fn refuses(place: &Place, code: i32, arguments: &[&str], words: &[&str]) {
    assert!(place.refuses(arguments, code, words).stdout.is_empty(), "{arguments:?}");
}

#[test]
fn spills_of_every_partitioner_give_the_known_count_without_the_graph() {
    let place = Place::new();
    let some = |graph: &Published| ["wiki-Vote.txt", "ca-HepTh.txt", "cnr-2000.graph"].contains(&&*graph.name);
    let graphs: Vec<Published> = published().into_iter().filter(some).collect();
    assert_eq!(graphs.len(), 3);
    for Published { name: graph, edges, triangles, wedges, .. } in graphs {
        let (triangles, wedges) = (triangles as u64, wedges as u64);
        for (i, settings) in [
            &["--partitioner", "random", "--parts", "5", "--prune", "zero-indegree"][..],
            &["--partitioner", "contiguous", "--parts", "7", "--block-bytes", "64KiB"],
            &["--partitioner", "contiguous-vertices", "--parts", "3", "--prune", "none"],
            &["--parts", "1"],
        ]
        .into_iter()
        .enumerate()
        {
            let spills = format!("{graph}-{i}");
            let input = typed(&graph);
            let first = [&["partition", &input, "--spill-dir", &spills, "--no-cache"], settings].concat();
            let report = place.answer(&first);
            let result = place.answer(&["count", &spills]);
            assert_eq!(result["triangles"], triangles, "{spills}");
            assert_eq!(result["edges"], edges, "{spills}");
            assert_eq!((&result["vertices"], &result["parts"]), (&report["vertices"], &report["parts"]), "{spills}");
            assert_eq!(result["partitioner"], report["partitioner"], "{spills}");
            assert_eq!(result["wedges"], wedges, "{spills}");
            let summed: u64 =
                result["partitions"].as_array().unwrap().iter().map(|p| p["triangles"].as_u64().unwrap()).sum();
            assert_eq!(summed, triangles, "{spills}");
        }
    }
}

#[test]
fn a_damaged_foreign_or_missing_spill_is_named_and_no_count_is_given() {
    let place = partitioned();
    let crawl = typed("cnr-2000.graph");
    let partition = |parts| ["partition", &crawl, "--parts", parts, "--spill-dir", "other", "--block-bytes", "64KiB"];
    place.prints(&partition("4"));
    // The directory of another job is not overwritten; that of the same job is.
    refuses(&place, 3, &partition("5"), &["another job"]);
    place.prints(&partition("4"));
    place.prints(&["inspect", "other", "--verify"]);

    const NAME: &str = "part-00003.spill";
    let spill = place.path("spills").join(NAME);
    let file = spill.to_str().unwrap();
    let is_refused = || {
        refuses(&place, 1, &["count", "spills"], &[NAME]);
        refuses(&place, 1, &["inspect", "spills", "--verify"], &[NAME]);
    };
    let is_damaged = || {
        refuses(&place, 1, &["inspect", file, "--verify"], &[NAME]);
        refuses(&place, 1, &["inspect", "spills", "--verify"], &[NAME]);
    };
    let whole = fs::read(&spill).unwrap();
    for at in [0, 40, 100, 200, whole.len() / 4 * 3, whole.len() - 3, whole.len() - 1] {
        fs::write(&spill, [&whole[..at], &[whole[at] ^ 16], &whole[at + 1..]].concat()).unwrap();
        is_damaged();
        // The section at byte 200, of the vertices' ranks, is not read when triangles are counted.
        if at != 200 {
            is_refused();
        }
    }
    fs::write(&spill, &whole[..whole.len() - 9]).unwrap();
    is_damaged();
    is_refused();
    // Another partition of the same job under the name of this one, and one of another job.
    for foreign in ["spills/part-00002.spill", "other/part-00003.spill"] {
        fs::copy(place.path(foreign), &spill).unwrap();
        is_refused();
    }
    refuses(&place, 1, &["inspect", "spills"], &[NAME, "job"]);
    fs::remove_file(&spill).unwrap();
    is_refused();
    fs::write(&spill, &whole).unwrap();
    assert_eq!(place.answer(&["count", "spills"])["triangles"], 608_389);
}

#[test]
fn what_was_fixed_by_partitioning_cannot_be_named_again() {
    let place = partitioned();
    for settled in [
        &["--partitioner", "random"][..],
        &["--parts", "3"],
        &["--prune", "none"],
        &["--block-bytes", "1MiB"],
        &["--format", "text"],
        &["--header", "no"],
        &["--run-dir", "run"],
        &["--keep-spill", "--spill-dir", "other"],
    ] {
        refuses(&place, 2, &[&["count", "spills"], settled].concat(), &["spills", "fixed by 'trimill partition'"]);
    }
    refuses(&place, 2, &["count", "spills", "--method", "polak", "--backend", "cpu"], &["polak"]);
    assert!(!place.path("run").exists());
}

#[test]
fn a_partition_beyond_the_budget_is_named_with_what_it_takes() {
    let place = partitioned();
    let parts = ["part-", "bytes", "--device-memory"];
    refuses(&place, 3, &["count", "spills", "--device-memory", "10000"], &parts);
}
