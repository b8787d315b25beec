//! Kept spills: `trimill count DIR` counts them without the graph, or says why it cannot.

use std::fs;

use crate::common::job::typed;
use crate::common::place::{Place, number_after, stderr};
use serde_json::Value;
use trimill::testing::sealed;

fn partitioned() -> (Place, Value) {
    let place = Place::new();
    let report = place.answer(&["partition", &typed("wiki-Vote.txt"), "--parts", "8", "--spill-dir", "spills"]);
    assert_eq!(report["parts"], 8);
    (place, report)
}

/// The program ends with `code`, prints no answer, and says all of `words`.
#[track_caller]
fn refuses(place: &Place, code: i32, arguments: &[&str], words: &[&str]) {
    assert!(place.refuses(arguments, code, words).stdout.is_empty(), "{arguments:?}");
}

#[test]
fn a_damaged_foreign_or_missing_spill_is_named_and_no_count_is_given() {
    let (place, report) = partitioned();
    let friends = typed("facebook_combined.txt");
    let partition = |parts| ["partition", &friends, "--parts", parts, "--spill-dir", "other", "--block-bytes", "16KiB"];
    place.prints(&partition("4"));
    // The directory of another job is not overwritten; that of the same job is.
    refuses(&place, 3, &partition("5"), &["another job"]);
    place.prints(&partition("4"));
    place.prints(&["inspect", "other", "--verify"]);

    const NAME: &str = "part-00003.spill";
    let spill = place.path("spills").join(NAME);
    let file = spill.to_str().unwrap();
    let is_refused = |first: &[&str]| {
        refuses(&place, 1, first, &[NAME]);
        refuses(&place, 1, &["inspect", "spills", "--verify"], &[NAME]);
    };
    let (count, inspect) = (["count", "spills"], ["inspect", file, "--verify"]);
    let whole = fs::read(&spill).unwrap();
    for at in [0, 40, 100, 200, whole.len() / 4 * 3, whole.len() - 3, whole.len() - 1] {
        fs::write(&spill, [&whole[..at], &[whole[at] ^ 16], &whole[at + 1..]].concat()).unwrap();
        is_refused(&inspect);
        // The section at byte 200, of the vertices' ranks, is not read when triangles are counted.
        if at != 200 {
            is_refused(&count);
        }
    }
    fs::write(&spill, &whole[..whole.len() - 9]).unwrap();
    [&inspect[..], &count].into_iter().for_each(is_refused);
    // Another partition of the same job under the name of this one, and one of another job.
    for foreign in ["spills/part-00002.spill", "other/part-00003.spill"] {
        fs::copy(place.path(foreign), &spill).unwrap();
        is_refused(&count);
    }
    refuses(&place, 1, &["inspect", "spills"], &[NAME, "job"]);
    fs::remove_file(&spill).unwrap();
    let helps =
        "partition 3, as the manifest says; remove the file, if it is there, and build it again, by the command";
    refuses(&place, 1, &["count", "spills"], &[NAME, helps]);
    place.prints(&["partition", &typed("wiki-Vote.txt"), "--parts", "8", "--spill-dir", "spills"]);
    assert!(fs::read(&spill).unwrap() == whole);
    let result = place.answer(&["count", "spills"]);
    assert_eq!(result["triangles"], 608_389);
    for field in ["partitioner", "parts", "vertices"] {
        assert_eq!(result[field], report[field], "{field}");
    }
    // As after a `partition` that was killed.
    fs::remove_file(place.path("spills/manifest.json")).unwrap();
    for command in ["count", "inspect"] {
        let said = ["spills/manifest.json: cannot be read", "partition the graph again"];
        refuses(&place, 1, &[command, "spills"], &said);
    }
}

#[test]
fn a_count_reports_the_seed_of_the_partitions_and_no_unknown_settings() {
    let place = Place::new();
    let graph = typed("wiki-Vote.txt");
    let random = ["--partitioner", "random", "--parts", "3", "--seed", "7", "--spill-dir", "spills"];
    place.prints(&[&["partition", &graph], &random[..]].concat());
    assert_eq!(place.answer(&["count", "spills"])["seed"], 7);
    let manifest = place.path("spills/manifest.json");
    let written = String::from_utf8(sealed::unseal(&fs::read(&manifest).unwrap()).unwrap()).unwrap();
    for (field, known, unknown) in [("seed", "7", "-7"), ("prune", "direct", "never")] {
        let mut changed: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(changed["job"][field], known);
        changed["job"][field] = unknown.into();
        fs::write(&manifest, sealed::seal(&changed).unwrap()).unwrap();
        refuses(&place, 1, &["count", "spills"], &["manifest.json", unknown]);
    }
}

#[test]
fn what_was_fixed_by_partitioning_cannot_be_named_again() {
    let place = partitioned().0;
    for (option, value) in [
        ("--partitioner", "random"),
        ("--parts", "3"),
        ("--prune", "none"),
        ("--seed", "7"),
        ("--block-bytes", "1MiB"),
        ("--format", "text"),
        ("--header", "no"),
        ("--run-dir", "run"),
    ] {
        refuses(&place, 2, &["count", "spills", option, value], &["spills", "fixed by 'trimill partition'"]);
    }
    for option in ["--spill-dir", "--work-dir"] {
        refuses(&place, 2, &["count", "spills", option, "other"], &["spills: has", option, "leave it out"]);
    }
    let keep = ["count", "spills", "--keep-spill", "--spill-dir", "other"];
    refuses(&place, 2, &keep, &["--keep-spill cannot be set"]);
    for (asked, named) in [
        (&["--per-vertex", "v.tsv"][..], "the triangles at each vertex"),
        (&["--clustering"], "the triangles at each vertex"),
        (&["--per-edge", "e.tsv"], "the triangles on each edge"),
        (&["--truss"], "the trussness of edges"),
    ] {
        let said = [named, "the total alone", "name the graph's file"];
        refuses(&place, 2, &[&["count", "spills"], asked].concat(), &said);
    }
    refuses(&place, 2, &["count", "spills", "--method", "polak", "--backend", "cpu"], &["polak"]);
    refuses(&place, 2, &["count", "spills", "--method", "forward"], &["whole graphs only", "spills has 8"]);
    fs::create_dir(place.path("alone")).unwrap();
    place.write("alone/manifest.json", "{}");
    refuses(&place, 2, &["plan", "alone"], &["alone: has spilled partitions", "expected the graph itself"]);
    assert!(!place.path("run").exists() && !place.path("other").exists());
}

#[test]
fn a_partition_beyond_the_budget_is_named_with_a_budget_that_is_enough() {
    let place = partitioned().0;
    let count = ["count", "spills", "--backend", "cpu", "--device-memory"];
    for budget in ["1", "10000", "200000"] {
        // With a larger budget it takes more, so what it takes with this one is not named.
        let said = ["part-", "the largest, does not fit the device budget of "];
        let refused = place.refuses(&[&count[..], &[budget]].concat(), 3, &said);
        assert!(refused.stdout.is_empty());
        let advised = number_after("--device-memory to ", &stderr(&refused));
        place.prints(&[&count[..], &[&*advised]].concat());
    }
}

#[test]
fn the_host_budget_that_the_first_refusal_names_holds_the_spills() {
    let (place, _) = partitioned();
    let random = ["--partitioner", "random", "--parts", "2", "--per-vertex", "v.tsv", "--backend", "cpu"];
    place.prints(&[&["prepare", &typed("soc-Slashdot0902.txt.gz"), "--run-dir", "run"], &random[..]].concat());
    for words in [&["count", "spills"][..], &["count", "--run-dir", "run", "--shard", "0/1"]] {
        let within = |bytes| [words, &["--backend", "cpu", "--threads", "4", "--host-memory", bytes]].concat();
        let refused = place.refuses(&within("1MiB"), 3, &[]);
        place.prints(&within(&number_after("raise --host-memory to ", &stderr(&refused))));
    }
}

#[test]
fn a_check_does_not_ask_for_what_an_earlier_job_of_the_batch_makes() {
    let place = Place::new();
    let (graph, parts) = (typed("wiki-Vote.txt"), "partition = { partitioner = 'random', parts = 3 }");
    let jobs = format!(
        "[defaults]\ncount.backend = 'cpu'\n\
         [[job]]\nname = 'keep'\ninput.path = '{graph}'\n{parts}\noutput.dir = 'o'\n\
         spill = {{ dir = 'K', keep = true }}\n\
         [[job]]\nname = 'use'\ninput.path = 'K'\noutput = {{ report = 'r.html', against = 'o/result.json' }}\n"
    );
    place.write("b.toml", jobs);
    place.prints(&["run", "b.toml", "--check"]);
    place.refuses(&["run", "b.toml", "--check", "--only", "use"], 1, &["job 'use': ", "K: cannot be read"]);
    let mut counted = place.prints(&["run", "b.toml", "--json"]);
    counted.retain(|&byte| byte == b'\n');
    assert_eq!(counted.len(), 2);
}
