//! Checks of disk space and input passes before a job: what cannot fit ends it, what may not fit is a warning; directories on a disk are added.

use crate::common::job::{listing, typed};
use crate::common::place::{Place, SmallDisk, stderr, text};

fn crawl() -> String {
    typed("cnr-2000.graph")
}

/// The edges of the crawl as pairs, which are sorted.
fn pairs(place: &Place) -> String {
    place.prints(&["generate", "blowup", &crawl(), "--copies", "1", "--output", "crawl.bin"]);
    "crawl.bin".to_owned()
}

const COUNTED: &str = "20,977,629";

/// Bytes of memory in which neither the arcs of the crawl nor its encoded rows fit.
const FEW: &str = "4000000";

const SPILLED: [&str; 6] = ["--partitioner", "contiguous", "--parts", "3", "--spill-dir", "small"];

#[test]
fn a_file_of_counts_that_cannot_fit_ends_the_job_before_it_counts() {
    let (place, crawl) = (Place::new(), crawl());
    let Some(_small) = SmallDisk::mount(&place, "8m") else { return };
    let count = ["count", &crawl, "--cache-dir", "cache", "--per-edge", "small/e.tsv"];
    let file = "at least 15.7 MiB for the file of --per-edge";
    let said = ["small: 8.0 MiB free on its disk", file, "another --per-edge"];
    assert!(place.refuses(&count, 3, &said).stdout.is_empty());
    assert!(listing(&place.path("small")).is_empty());
    assert!(!listing(&place.path("cache")).iter().any(|name| name.ends_with(".trimgraf")), "no graph was made for it");
    // The same with a cached graph.
    let _ = place.prints(&["count", &crawl, "--cache-dir", "cache"]);
    assert!(place.refuses(&count, 3, &said).stdout.is_empty());
    // An array of counts at vertices has 8 bytes for each.
    let _ = place.prints(&["count", &crawl, "--per-vertex", "small/v.npy"]);
    // Of a truss, only the edges that are left are written.
    let _ = place.prints(&["truss", &crawl, "--k", "60", "--per-edge", "small/k.tsv"]);
}

#[test]
fn what_may_not_fit_is_a_warning_and_the_job_goes_on() {
    let (place, crawl) = (Place::new(), crawl());
    let Some(_small) = SmallDisk::mount(&place, "16m") else { return };
    // Compressed text has no lower bound; arcs that are sorted on disk take from a bit to 8 bytes each.
    for (input, options, buckets, what) in [
        (crawl, ["--per-edge", "small/e.tsv.zst"], None, "the file of --per-edge"),
        (pairs(&place), ["--work-dir", "small"], Some("9000000"), "the arcs that do not fit in memory"),
    ] {
        let mut command = place.command(&[&["count", &input, "--no-cache"][..], &options].concat());
        let output = command.envs(buckets.map(|bytes| ("TRIMILL_BUCKETS", bytes))).output().unwrap();
        let text = stderr(&output);
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains(COUNTED), "{text}");
        let warning = text.lines().find(|line| line.contains("up to")).unwrap_or_default();
        for part in ["small: up to ", what, " are free", options[0]] {
            assert!(warning.contains(part), "{text}");
        }
    }
}

#[test]
fn a_graph_in_a_run_directory_that_cannot_fit_is_told_of_that_directory() {
    let (place, crawl) = (Place::new(), crawl());
    let Some(_small) = SmallDisk::mount(&place, "512k") else { return };
    let count = ["count", &crawl, "--no-cache", "--run-dir", "small/run", "--work-dir", "tmp"];
    let output = place.refuses(&count, 3, &["for the graph file", "--run-dir names another", "small/run/graph"]);
    assert!(!stderr(&output).contains("--cache-dir"), "{}", stderr(&output));
}

/// A directed graph is read for some ids after others, unless those of one range fit neither memory nor the disk.
#[test]
fn reversed_arcs_that_do_not_fit_the_disk_are_read_range_by_range_or_end_the_job() {
    let (place, crawl) = (Place::new(), crawl());
    let Some(_small) = SmallDisk::mount(&place, "64k") else { return };
    let count = ["count", &crawl, "--no-cache", "--work-dir", "small"];
    let helps = "raise --host-memory, or name another --work-dir";
    for (buckets, code, answer, said) in [
        ("2600000", 0, COUNTED, ["the input is read again for each range of about", ""]),
        ("0", 3, "", ["the arcs of a range of heads take", helps]),
    ] {
        let output = place.command(&count).env("TRIMILL_BUCKETS", buckets).output().unwrap();
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{buckets}: {message}");
        assert!(said.iter().all(|part| message.contains(part)), "{buckets}: {message}");
        assert!(text(&output.stdout).contains(answer), "{buckets}: {message}");
        assert!(listing(&place.path("small")).is_empty(), "{buckets}");
    }
}

#[test]
fn a_full_work_directory_in_the_folder_of_the_cache_is_no_failure_of_the_cache() {
    let place = Place::new();
    let pairs = pairs(&place);
    let Some(_small) = SmallDisk::mount(&place, "1m") else { return };
    for work in ["small", "small/work"] {
        let count = ["count", &pairs, "--cache-dir", "small", "--work-dir", work];
        let output = place.command(&count).env("TRIMILL_BUCKETS", "100000").output().unwrap();
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{work}: {message}");
        assert!(message.contains(&format!("error: {work}: ")) && !message.contains("goes on without"), "{message}");
    }
}

#[test]
fn a_disk_that_fills_while_arcs_are_reversed_is_that_of_the_work_directory() {
    let (place, crawl) = (Place::new(), crawl());
    let count = ["count", &crawl, "--no-cache", "--backend", "cpu"];
    let mut full = 0;
    for at in (0..).map(|i| 1u64 << i) {
        let (buckets, fault) = (("TRIMILL_BUCKETS", "1200000"), format!("write:{at}"));
        let output = place.command(&count).envs([buckets, ("TRIMILL_FAULT", fault.as_str())]).output().unwrap();
        let message = stderr(&output);
        if !message.contains("strikes") {
            break;
        }
        assert_eq!(output.status.code(), Some(3), "{at}: {message}");
        assert!(message.contains("--work-dir names a directory on a larger disk"), "{at}: {message}");
        full += 1;
    }
    assert!(full > 2, "{full}");
}

#[test]
fn directories_on_one_disk_are_added() {
    let (place, crawl) = (Place::new(), crawl());
    let Some(_small) = SmallDisk::mount(&place, "17m") else { return };
    let file = ["--per-edge", "small/e.tsv"];
    let plan = |options: &[&str]| place.run(&[&["plan", &crawl, "--json"], options].concat());
    let vertices = ["--per-vertex", "small/v.npy"];
    // Spills have no lower bound, since they are compressed.
    for fits in [&file[..], &vertices, &SPILLED, &[&file[..], &SPILLED].concat()] {
        assert!(plan(fits).status.success(), "{fits:?}");
    }
    let both = [file, vertices].concat();
    let output = plan(&both);
    assert_eq!(output.status.code(), Some(3));
    let planned: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let (disk, advice) = (&planned["disks"][0], planned["advice"][0].as_str().unwrap());
    let bytes = |of: &serde_json::Value, name: &str| of[name].as_u64().unwrap();
    let needs = disk["needs"].as_array().unwrap();
    for name in ["least_bytes", "most_bytes"] {
        assert_eq!(bytes(disk, name), needs.iter().map(|need| bytes(need, name)).sum::<u64>());
    }
    assert_eq!((needs.len(), bytes(disk, "free_bytes"), &planned["fits"]), (2, 17 << 20, &false.into()));
    let said =
        ["at least 18.", "the file of --per-vertex (2.5 MiB", "--per-edge (15.7 MiB", "--per-vertex or --per-edge"];
    assert!(said.iter().all(|part| advice.contains(part)), "{advice}");
    place.refuses(&[&["count", &crawl], &both[..]].concat(), 3, &said);
    assert!(listing(&place.path("small")).is_empty());
}

#[test]
fn files_of_long_names_take_at_most_what_a_plan_says() {
    let place = Place::new();
    let name = |i: u64| format!("{:03}", i % 100).repeat(i as usize % 100 + 1);
    let arcs = (0..100).flat_map(|i| [1, 2].map(|next| format!("{}\t{}\n", name(i), name(i + next))));
    place.write("names.tsv", arcs.collect::<String>());
    let words = ["--names", "--header", "no", "--per-vertex", "v.tsv", "--per-edge", "e.csv", "--lcc", "l.txt"];
    let plan = place.answer(&[&["plan", "names.tsv"], &words[..]].concat());
    place.prints(&[&["count", "names.tsv"], &words[..]].concat());
    let needs = plan["disks"].as_array().unwrap().iter().flat_map(|disk| disk["needs"].as_array().unwrap());
    let most =
        |option: &str| needs.clone().find(|need| need["option"] == option).unwrap()["most_bytes"].as_u64().unwrap();
    for (option, file) in [("--per-vertex", "v.tsv"), ("--per-edge", "e.csv"), ("--lcc", "l.txt")] {
        let (most, taken) = (most(option), place.path(file).metadata().unwrap().len());
        assert!((taken..3 * taken).contains(&most), "{option}: {taken} of {most}");
    }
}

#[test]
fn further_passes_over_the_input_are_said() {
    let (place, crawl) = (Place::new(), crawl());
    for (buckets, several) in [("100000000", false), (FEW, true)] {
        let output = place.command(&["count", &crawl, "--no-cache"]).env("TRIMILL_BUCKETS", buckets).output().unwrap();
        let text = stderr(&output);
        assert!(String::from_utf8_lossy(&output.stdout).contains(COUNTED), "{text}");
        assert_eq!(text.contains("the input is read at least 2 times: 3.8 MiB"), several, "{text}");
    }
}
