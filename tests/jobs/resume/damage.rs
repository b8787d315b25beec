//! Flips bits in every file of a run directory: damaged files are made again, or the start is refused.

use std::fs;
use std::path::Path;

use trimill::testing::graph::file::read_layout;

use super::restarts::{killed_when, spills};
use super::support::{COLLABORATION, FRIENDS, Known, Place, ROUTERS, copy, data, files, stderr};

const PARTS: [&str; 5] = ["--partitioner", "contiguous", "--parts", "4", "--no-cache"];

fn flip(path: &Path, at: usize) {
    let at = (at as u64).min(fs::metadata(path).unwrap().len() - 1);
    crate::common::flip(path, 8 * at + at % 8);
}

#[test]
fn a_damaged_record_is_counted_again_and_an_empty_lock_beside_the_record_of_the_job_is_used() {
    let place = Place::new();
    killed_when(&place, ROUTERS, &PARTS, |place| place.records().len() == 2);
    copy(&place.path("run"), &place.path("saved"));
    let record = *place.records().keys().next().unwrap();
    let path = |part: u32| place.path(format!("run/part-{part:05}.json"));
    let length = fs::read(path(record)).unwrap().len();
    for at in (0..length).step_by(length / 8) {
        copy(&place.path("saved"), &place.path("run"));
        flip(&path(record), at);
        let (_, said) = place.resumes(ROUTERS, &PARTS, 1);
        assert!(said.contains(&format!("partition {record} is counted again")), "{said}");
    }
    // A record under the name of another partition is used for neither.
    copy(&place.path("saved"), &place.path("run"));
    let free = (0..4).find(|part| !place.records().contains_key(part)).unwrap();
    fs::copy(path(record), path(free)).unwrap();
    let (result, said) = place.completes(ROUTERS, &PARTS);
    assert!(said.contains("belongs to another partition"), "{said}");
    assert!(!result.partitions[free as usize].counted().resumed, "{said}");
    // A lock as a power failure leaves it: the file has its name, but not its text.
    copy(&place.path("saved"), &place.path("run"));
    place.write("run/lock", "");
    place.resumes(ROUTERS, &PARTS, 2);
    assert!(place.read("run/lock").starts_with("trimill run directory"));
    place.write("run/lock", "");
    flip(&place.path("run/job.json"), 33);
    place.start_refused(3, &data(ROUTERS.0), &PARTS, &["is no run directory"]);
    assert_eq!(place.read("run/lock"), "");
}

#[test]
fn a_damaged_spill_is_built_again() {
    let place = Place::new();
    killed_when(&place, COLLABORATION, &PARTS, |place| !spills(place).is_empty());
    copy(&place.path("run"), &place.path("saved"));
    let spill = spills(&place).remove(0);
    let length = fs::read(&spill).unwrap().len();
    // Header, blocks, index: whether the damage is found when the spill is opened or when a block is read.
    for at in [0, 9, 40, 130, length / 4, length / 2, length - 40, length - 1] {
        copy(&place.path("saved"), &place.path("run"));
        flip(&spill, at);
        let (_, said) = place.completes(COLLABORATION, &PARTS);
        let told: Vec<&str> = said.lines().filter(|line| line.contains("is built again")).collect();
        let once = |line: &&str| line.matches(".spill").count() == 1 && !line.contains("delete");
        assert!(!told.is_empty() && told.iter().all(once), "byte {at}: {said}");
    }
    copy(&place.path("saved"), &place.path("run"));
    fs::write(&spill, &fs::read(&spill).unwrap()[..length / 2]).unwrap();
    assert!(place.completes(COLLABORATION, &PARTS).1.contains("is built again"));
}

#[test]
fn a_damaged_plan_list_of_locals_or_graph_is_made_again() {
    let place = Place::new();
    killed_when(&place, ROUTERS, &PARTS, |place| place.records().len() == 2);
    copy(&place.path("run"), &place.path("saved"));
    for file in ["plan.json", "locals.zst"] {
        for at in [0, 20, usize::MAX] {
            copy(&place.path("saved"), &place.path("run"));
            flip(&place.path("run").join(file), at);
            // The same settings give the same plan, so counted partitions remain valid.
            let (_, said) = place.resumes(ROUTERS, &PARTS, 2);
            assert_eq!(said.matches("the job is planned anew").count(), 1, "{file}: {said}");
        }
    }
    copy(&place.path("saved"), &place.path("run"));
    fs::remove_file(place.path("run/locals.zst")).unwrap();
    place.completes(ROUTERS, &PARTS);
    copy(&place.path("saved"), &place.path("run"));
    let graph = files(&place.path("run/graph")).remove(0);
    let layout = read_layout(&graph).unwrap();
    for section in [layout.range("index"), layout.range("degrees")] {
        copy(&place.path("saved"), &place.path("run"));
        flip(&graph, section.start as usize + 3);
        let (_, said) = place.completes(ROUTERS, &PARTS);
        assert!(said.contains("it is made again"), "{said}");
    }
    // Rows are checked when they are read: the job ends, the file is removed, and the next start makes it again.
    copy(&place.path("saved"), &place.path("run"));
    flip(&graph, layout.range("rows").start as usize + 100);
    let file = graph.file_name().unwrap().to_str().unwrap();
    place.start_refused(1, &data(ROUTERS.0), &PARTS, &[file, "it was removed: start again"]);
    assert!(!graph.exists());
    place.resumes(ROUTERS, &PARTS, 2);
}

/// Checks that the job succeeds with the published count, whichever parts it repeats.
fn counted(place: &Place, arguments: &[&str], shown: &str) {
    let output = place.start(&data(ROUTERS.0), arguments);
    assert_eq!(output.status.code(), Some(0), "{shown}: {}", stderr(&output));
    let result: trimill::RunResult = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result.triangles, ROUTERS.1, "{shown}");
    result.check(Path::new(shown)).unwrap();
}

/// Other jobs have another seed, other parts, or another graph.
#[test]
fn no_file_of_another_job_is_used() {
    let place = Place::new();
    for partitioner in ["random", "rank"] {
        let settings = |parts, seed| ["--partitioner", partitioner, "--parts", parts, "--seed", seed, "--no-cache"];
        let mine = settings("4", "1");
        // Either the job is begun (a partition is counted; in the spilled mode others have spills), or it is done.
        let begun = |place: &Place| place.records().len() == 1 && (partitioner == "rank" || !spills(place).is_empty());
        for done in [false, true] {
            let start = |name: Known, arguments: &[&str], saved: &str| {
                if done {
                    let _ = fs::remove_dir_all(place.path("run"));
                    place.completes(name, arguments);
                } else {
                    killed_when(&place, name, arguments, begun);
                }
                copy(&place.path("run"), &place.path(saved));
            };
            start(ROUTERS, &mine, "mine");
            for (name, other) in
                [(ROUTERS, settings("4", "2")), (ROUTERS, settings("3", "1")), (COLLABORATION, settings("4", "1"))]
            {
                start(name, &other, "other");
                let mut swapped = 0;
                for file in files(&place.path("mine")) {
                    let file = file.strip_prefix(place.path("mine")).unwrap();
                    let from = match file.starts_with("graph") {
                        true => files(&place.path("other/graph")).remove(0),
                        false => place.path("other").join(file),
                    };
                    // The job file of another job is refused; see tests/jobs/resume/refusals.rs.
                    if !from.exists() || file == Path::new("job.json") || file == Path::new("lock") {
                        continue;
                    }
                    copy(&place.path("mine"), &place.path("run"));
                    fs::copy(from, place.path("run").join(file)).unwrap();
                    counted(&place, &mine, &format!("{other:?} {}", file.display()));
                    swapped += 1;
                }
                assert!(swapped >= 2, "{partitioner} {other:?}");
                // The plan together with what belongs to it.
                copy(&place.path("mine"), &place.path("run"));
                for file in files(&place.path("other")) {
                    let file = file.strip_prefix(place.path("other")).unwrap();
                    if file != Path::new("job.json") && file != Path::new("lock") && !file.starts_with("graph") {
                        let to = place.path("run").join(file);
                        fs::create_dir_all(to.parent().unwrap()).unwrap();
                        fs::copy(place.path("other").join(file), to).unwrap();
                    }
                }
                counted(&place, &mine, &format!("{other:?} all"));
            }
        }
    }
}

#[test]
fn a_damaged_result_is_put_together_again_from_the_records_unless_the_job_is_not_known() {
    let place = Place::new();
    let (first, _) = place.completes(ROUTERS, &PARTS);
    let length = fs::read(place.path("run/result.json")).unwrap().len();
    for at in [0, length / 3, length / 2, length - 30] {
        flip(&place.path("run/result.json"), at);
        let (result, said) = place.resumes(ROUTERS, &PARTS, first.partitions.len());
        assert!(said.contains("put together again"), "{said}");
        assert_eq!(result.partitions.len(), first.partitions.len());
    }
    flip(&place.path("run/job.json"), 33);
    place.start_refused(1, &data(ROUTERS.0), &PARTS, &["job.json: is damaged", "remove the run directory"]);
}

#[test]
fn a_damaged_record_of_outputs_is_told_with_what_follows() {
    let place = Place::new();
    let settings = ["--partitioner", "rank", "--per-vertex", "v.tsv"];
    place.completes(ROUTERS, &settings);
    flip(&place.path("run/outputs.json"), 40);
    let said = ["v.tsv: is there already", "only --force replaces the files"];
    place.start_refused(2, &data(ROUTERS.0), &settings, &said);
    let (_, said) = place.completes(ROUTERS, &[&settings[..], &["--force"]].concat());
    assert_eq!(said.matches("run/outputs.json: is damaged").count(), 1, "{said}");
    let (_, said) = place.completes(ROUTERS, &settings);
    assert!(!said.contains("outputs.json"), "{said}");
}

/// A block of the graph is damaged while the places of edges are computed: counts that were added before are not added again.
#[test]
fn a_graph_that_is_damaged_while_edges_are_placed_adds_nothing_twice() {
    let parts = ["--no-cache", "--partitioner", "contiguous", "--parts", "2", "--threads", "1"];
    let arguments = [&parts[..], &["--host-memory", "90MiB", "--per-edge", "e.tsv"]].concat();
    let mut damaged = 0;
    for at in [60, 64, 72] {
        let place = Place::new();
        let output = place.with_fault(&format!("damage:{at}"), &data(FRIENDS.0), &arguments);
        let said = stderr(&output);
        if output.status.code() != Some(0) {
            assert!(output.status.code() == Some(1) && said.contains("run/graph/"), "{at}: {said}");
            place.completes(FRIENDS, &arguments);
            damaged += 1;
        }
        let triangles = |line: &str| line.rsplit('\t').next().unwrap().parse::<u128>().unwrap();
        assert_eq!(place.read("e.tsv").lines().skip(1).map(triangles).sum::<u128>(), 3 * FRIENDS.1, "{at}: {said}");
    }
    assert!(damaged > 0);
}
