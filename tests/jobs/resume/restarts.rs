//! What a start reuses from an earlier one, and which settings may change.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use trimill::Control;
use trimill::testing::job::Mode;
use trimill::testing::report::RunResult;
use trimill::testing::spill::Manifest;

use crate::common::flip;
use crate::common::job::input;
use crate::common::place::{SmallDisk, number_after, stopped_by};

use super::support::{COLLABORATION, FRIENDS, Known, Place, ROUTERS, STRIKES, copy, data, files, stderr, with_suffix};

const PARTS: [&str; 7] = ["--partitioner", "contiguous", "--parts", "6", "--no-cache", "--threads", "2"];

/// Writes between two kills: a state lasts for several writes, so not every write has to be tried.
const STEP: usize = 4;

/// Kills the job at later and later writes (every fourth first, then those between) until its run directory satisfies `wanted`.
pub(crate) fn killed_when(place: &Place, known: Known, arguments: &[&str], wanted: impl Fn(&Place) -> bool) {
    for first in 1..=STEP {
        for at in (first..).step_by(STEP) {
            // Removes what the previous start left.
            for folder in ["run", "tmp", "kept"] {
                let _ = fs::remove_dir_all(place.path(folder));
            }
            let _ = fs::remove_file(place.path("out.tsv"));
            fs::create_dir(place.path("tmp")).unwrap();
            let output = place.with_fault(&format!("kill:{at}"), &data(known.0), arguments);
            if !stderr(&output).contains(STRIKES) {
                break;
            }
            if wanted(place) {
                return;
            }
        }
    }
    panic!("no kill at a write leaves the run directory so");
}

pub(crate) fn spills(place: &Place) -> Vec<PathBuf> {
    with_suffix(&place.path("run"), "spill")
}

#[test]
fn a_done_job_is_answered_at_once_with_the_recorded_result() {
    let place = Place::new();
    let (first, _) = place.completes(ROUTERS, &PARTS);
    let contents = || files(&place.path("run")).into_iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
    let before = contents();
    // All measured times are equal to the last digit: nothing was done again.
    let output = place.start(&data(ROUTERS.0), &PARTS);
    assert_eq!(serde_json::from_slice::<RunResult>(&output.stdout).unwrap(), first);
    // Only the lock differs: it names another process.
    assert_eq!(before.iter().zip(contents()).filter(|(before, after)| *before != after).count(), 1);
    let recorded = fs::read(place.path("run/result.json")).unwrap();
    assert_eq!(serde_json::from_slice::<RunResult>(&recorded).unwrap(), first);
}

#[test]
fn a_done_job_keeps_trusses_that_a_later_start_does_not_ask_for() {
    let place = Place::new();
    let (first, _) = place.completes(ROUTERS, &["--truss"]);
    assert!(first.truss.is_some());
    assert_eq!(place.completes(ROUTERS, &[]).0, first);
    // A file of edges is to have their triangles.
    assert!(place.completes(ROUTERS, &["--per-edge", "e.tsv"]).0.truss.is_none());
}

/// Root can write in any directory, except on a file system that is mounted read-only.
#[test]
fn a_done_job_is_answered_from_a_directory_that_cannot_be_written() {
    let place = Place::new();
    let small = if rustix::process::geteuid().is_root() { SmallDisk::mount(&place, "4m") } else { None };
    let (routers, run) = (data(ROUTERS.0), place.path("small/run"));
    fs::create_dir_all(&run).unwrap();
    let words = ["count", &routers, "--backend", "cpu", "--run-dir", "small/run", "--per-vertex", "v.tsv"];
    let first = place.answer(&words);
    place.sharded("small/merged", &[&routers]);
    let dirs = [run, place.path("small/merged")];
    let mode = |mode| dirs.iter().for_each(|dir| fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap());
    match &small {
        Some(small) => small.end_writing(),
        None => mode(0o555),
    }
    for more in [&[][..], &["--no-cache"], &["--work-dir", "work"]] {
        assert_eq!(place.answer(&[&words[..], more].concat()), first, "{more:?}");
    }
    place.prints(&["prepare", &routers, "--run-dir", "small/merged", "--shards", "2", "--backend", "cpu"]);
    if rustix::fs::access(&dirs[0], rustix::fs::Access::WRITE_OK).is_err() {
        let refused = |more: &[&str], said| place.refuses(&[&words[..], more].concat(), 3, &["small/run: ", said]);
        refused(&["--by-degree", "d.tsv"], "run: cannot be written (");
        refused(&["--seed", "9"], "run: belongs to another job (seed: recorded 1, now 9)");
    }
    assert!(files(&place.path("tmp")).is_empty() && files(&place.path("work")).is_empty());
    if small.is_none() {
        mode(0o755);
    }
}

#[test]
fn a_start_that_is_refused_leaves_a_done_job_as_it_is() {
    // With one part, keeping its spill takes another plan.
    for parts in ["3", "1"] {
        let place = Place::new();
        place.prints(&["partition", &data(COLLABORATION.0), "--parts", "2", "--spill-dir", "foreign"]);
        let done = ["--partitioner", "contiguous", "--parts", parts, "--per-edge", "e.tsv"];
        let (first, _) = place.completes(ROUTERS, &done);
        for (more, said) in [
            (&["--per-vertex", "v.tsv", "--device-memory", "1"][..], "does not fit the device budget of 1 byte;"),
            (&["--per-vertex", "v.tsv", "--host-memory", "1MiB"], "raise --host-memory"),
            (&["--keep-spill", "--spill-dir", "foreign"], "holds the spilled partitions of another job"),
        ] {
            place.start_refused(3, &data(ROUTERS.0), &[&done[..4], more].concat(), &[said]);
            assert_eq!(place.completes(ROUTERS, &done).0, first, "{more:?}");
        }
        let prepare = ["prepare", &data(ROUTERS.0), "--run-dir", "run", "--partitioner", "contiguous"];
        place.refuses(&prepare, 3, &["run: holds a job that 'trimill count' finished; name another --run-dir"]);
        assert_eq!(place.completes(ROUTERS, &done).0, first);
    }
}

#[test]
fn counted_partitions_and_finished_spills_are_taken_and_the_graph_is_not_made_again() {
    let place = Place::new();
    killed_when(&place, COLLABORATION, &PARTS, |place| place.records().len() == 3 && !spills(place).is_empty());
    let waiting = spills(&place).len();
    let (result, said) = place.resumes(COLLABORATION, &PARTS, 3);
    assert!(waiting > 0 && !said.contains("again"), "{said}");
    let stages: Vec<&str> = result.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert!(stages.contains(&"cached") && !stages.contains(&"input"), "{stages:?}");
    assert_eq!(place.read("run/result.json").matches("\"resumed\": true").count(), 3);
}

#[test]
fn counted_rank_ranges_are_taken_too_and_the_mode_stays() {
    let parts = |partitioner: &'static str| ["--no-cache", "--parts", "6", "--partitioner", partitioner];
    for (first, now, differs) in [
        ("rank", "contiguous", "(partitioner: recorded rank, now contiguous)"),
        ("auto", "random", "(partitioner: recorded auto, now random)"),
    ] {
        let place = Place::new();
        killed_when(&place, ROUTERS, &parts(first), |place| place.records().len() == 4);
        place.start_refused(3, &data(ROUTERS.0), &parts(now), &[differs]);
        assert!(spills(&place).is_empty() && !place.path("run/locals.zst").exists());
        let (result, _) = place.resumes(ROUTERS, &parts(first), 4);
        assert_eq!((result.mode, result.partitioner.as_str()), (Mode::InPlace, "rank"));
    }
}

#[test]
fn threads_budgets_and_method_may_change_and_the_parts_stay_unless_the_plan_is_lost() {
    let place = Place::new();
    let auto = ["--no-cache", "--device-memory", "60KiB", "--host-memory", "64MiB"];
    killed_when(&place, COLLABORATION, &auto, |place| place.records().len() == 2);
    copy(&place.path("run"), &place.path("saved"));
    let plan = fs::read(place.path("run/plan.json")).unwrap();
    // A budget that the recorded parts do not fit: the error names one that is enough, and nothing is lost.
    let little = ["--no-cache", "--device-memory", "40KiB"];
    let said = ["the recorded plan does not fit", "--device-memory to "];
    let text = place.start_refused(3, &data(COLLABORATION.0), &little, &said);
    let needed = number_after(said[1], &text);
    assert_eq!(fs::read(place.path("run/plan.json")).unwrap(), plan);
    let enough = ["--no-cache", "--device-memory", &needed, "--threads", "1", "--method", "bitmap"];
    let more = ["--device-memory", "1GiB", "--host-memory", "2GiB"];
    for budgets in [&enough[..], &more] {
        copy(&place.path("saved"), &place.path("run"));
        let parts = place.resumes(COLLABORATION, budgets, 2).0.parts;
        assert!(parts > 2, "{parts}");
        // The recorded number of parts may also be given.
        place.completes(COLLABORATION, &["--parts", &parts.to_string()]);
    }
    // If the plan is lost and the new one differs, the records are invalid, and none of them is added.
    copy(&place.path("saved"), &place.path("run"));
    fs::remove_file(place.path("run/plan.json")).unwrap();
    let (_, said) = place.resumes(COLLABORATION, &["--no-cache", "--device-memory", "80KiB"], 0);
    assert!(said.contains("is counted again"), "{said}");
}

#[test]
fn the_budget_of_the_host_that_a_start_is_told_holds_the_recorded_parts_too() {
    let place = Place::new();
    let within = |budget: &'static str| ["--partitioner", "rank", "--threads", "1", "--host-memory", budget];
    place.completes(FRIENDS, &within("1GiB"));
    for name in ["result.json", "part-00000.json"] {
        fs::remove_file(place.path("run").join(name)).unwrap();
    }
    // The graph is in the cache: what is refused is counting.
    let said = place.start_refused(3, &data(FRIENDS.0), &within("17MiB"), &[]);
    let needed = number_after("--host-memory to ", &said);
    let (result, _) = place.completes(FRIENDS, &[&within("1GiB")[..5], &[&*needed]].concat());
    assert_eq!(result.parts, 1);
}

#[test]
fn kept_spills_are_all_there_after_a_resume() {
    let place = Place::new();
    let kept = ["--parts", "5", "--no-cache", "--keep-spill", "--spill-dir", "kept"];
    killed_when(&place, ROUTERS, &kept, |place| place.records().len() == 2);
    // The spill of a counted partition is missing: it is rebuilt and its partition counted again; the sum is as published.
    let counted = *place.records().keys().next().unwrap();
    fs::remove_file(place.path(format!("kept/part-{counted:05}.spill"))).unwrap();
    let (result, _) = place.resumes(ROUTERS, &kept, 1);
    assert!(!result.partitions[counted as usize].counted().resumed);
    let manifest = Manifest::read(&place.path("kept")).unwrap();
    assert_eq!(manifest.partitions.len(), 5);
    for partition in &manifest.partitions {
        manifest.open(&place.path("kept"), partition).unwrap().verify(&Control::silent()).unwrap();
    }
}

#[test]
fn a_done_job_does_not_take_a_file_for_another_one() {
    let place = Place::new();
    let headers = ["--per-vertex", "--by-degree", "--per-vertex", "--per-edge"].map(|file| {
        place.completes(ROUTERS, &[file, "a.tsv"]);
        place.read("a.tsv").lines().next().unwrap().to_owned()
    });
    assert!(headers[0] != headers[1] && headers[0] == headers[2] && headers[2] != headers[3], "{headers:?}");
    // Another path of a file is the same output, also of a job for shards.
    let (first, _) = place.completes(ROUTERS, &["--per-edge", "e.tsv"]);
    assert_eq!(place.completes(ROUTERS, &["--per-edge", "tmp/../e.tsv"]).0, first);
    for file in ["v.tsv", "tmp/../v.tsv"] {
        let words = ["prepare", &data(ROUTERS.0), "--run-dir", "shards", "--shards", "2", "--per-vertex", file];
        place.prints(&words);
    }
    // A pipe gets the counts at each start.
    let table = || place.start(&data(ROUTERS.0), &["--per-vertex", "-"]).stdout;
    let first = table();
    assert!(first.starts_with(headers[0].as_bytes()) && table() == first);
}

#[test]
fn a_done_job_that_is_to_keep_its_spills_makes_those_that_are_missing_or_damaged() {
    let place = Place::new();
    let parts = ["--partitioner", "contiguous", "--parts", "3"];
    let keep = ["--keep-spill", "--spill-dir", "kept"];
    let kept = [&parts[..], &keep].concat();
    // One partition of all is counted in place.
    place.completes(ROUTERS, &parts[..2]);
    let (_, said) = place.completes(ROUTERS, &[&parts[..2], &keep].concat());
    assert!(said.contains("the recorded plan has no spills, which are to be kept"), "{said}");
    assert_eq!(files(&place.path("kept")).len(), 2);
    for folder in ["run", "kept"] {
        fs::remove_dir_all(place.path(folder)).unwrap();
    }
    place.completes(ROUTERS, &parts);
    place.completes(ROUTERS, &kept);
    assert_eq!(Manifest::read(&place.path("kept")).unwrap().partitions.len(), 3);
    let spill = place.path("kept/part-00001.spill");
    for damaged in [None, Some(9), Some(20), Some(40), Some(130)] {
        damaged.map_or_else(|| fs::remove_file(&spill).unwrap(), |byte| flip(&spill, 8 * byte + byte % 8));
        place.completes(ROUTERS, &kept);
        place.prints(&["inspect", "kept", "--verify"]);
    }
    // Another job does not replace them.
    let other = ["count", &data(COLLABORATION.0), "--run-dir", "other", "--backend", "cpu"];
    fs::remove_file(place.path("kept/manifest.json")).unwrap();
    place.refuses(&[&other[..], &keep].concat(), 3, &["is not a spilled partition of this job", "--force"]);
    assert_eq!(files(&place.path("kept")).len(), 3);
}

#[test]
fn a_spill_that_was_removed_meanwhile_is_built_again() {
    let place = Place::new();
    let mut command = place.start_command(&data(ROUTERS.0), &["--partitioner", "contiguous", "--parts", "4"]);
    let remove = || spills(&place).iter().for_each(|spill| fs::remove_file(spill).unwrap());
    let output = stopped_by("device-stop:1", &mut command, remove);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(serde_json::from_slice::<RunResult>(&output.stdout).unwrap().triangles, ROUTERS.1);
}

#[test]
fn spills_of_an_earlier_start_are_removed_if_later_ones_are_elsewhere() {
    let parts = ["--partitioner", "contiguous", "--parts", "4", "--no-cache"];
    let elsewhere = [&parts[..], &["--spill-dir", "tmp/spill"]].concat();
    let [usual, elsewhere] = [&parts[..], &elsewhere[..]];
    for (first, later, dir) in [(usual, elsewhere, "run/spills"), (elsewhere, usual, "tmp/spill")] {
        let place = Place::new();
        killed_when(&place, COLLABORATION, first, |place| !files(&place.path(dir)).is_empty());
        place.completes(COLLABORATION, later);
        assert!(!place.path("run/spills").exists());
        // The folder that the user named stays.
        assert_eq!(fs::read_dir(place.path("tmp/spill")).unwrap().count(), 0);
    }
}

#[test]
fn spills_elsewhere_of_a_run_directory_that_was_renamed_are_removed_and_those_of_a_copied_one_stay() {
    let place = Place::new();
    let elsewhere = ["--partitioner", "contiguous", "--parts", "4", "--no-cache", "--spill-dir", "tmp/spill"];
    killed_when(&place, COLLABORATION, &elsewhere, |place| !files(&place.path("tmp/spill")).is_empty());
    let count = |run: &str| {
        let words = ["count", &data(COLLABORATION.0), "--backend", "cpu", "--run-dir", run];
        assert_eq!(place.answer(&[&words[..], &elsewhere].concat())["triangles"], COLLABORATION.1 as u64);
        fs::read_dir(place.path("tmp/spill")).unwrap().count()
    };
    copy(&place.path("run"), &place.path("copied"));
    assert_eq!(count("copied"), 1);
    fs::rename(place.path("run"), place.path("renamed")).unwrap();
    std::os::unix::fs::symlink("renamed", place.path("run")).unwrap();
    assert_eq!(count("renamed"), 0);
}

#[test]
fn the_next_job_of_a_batch_runs_after_a_panic() {
    let place = Place::new();
    let job = |name: &str| format!("[[job]]\nname = '{name}'\nrun.dir = '{name}'\n");
    place.write("b.toml", format!("[defaults]\n{}partition.parts = 3\n{}{}", input(ROUTERS.0), job("one"), job("two")));
    let run = ["run", "b.toml", "--json"];
    let output = place.run_with("panic:30", &run);
    let lines: Vec<_> = output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!((output.status.code(), lines.len()), (Some(101), 2), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(lines[0]).contains("failed: a fault of TRIMILL_FAULT"));
    assert_eq!(serde_json::from_slice::<RunResult>(lines[1]).unwrap().triangles, ROUTERS.1);
    for (line, name) in place.prints(&run).split(|&byte| byte == b'\n').zip(["one", "two"]) {
        let result: RunResult = serde_json::from_slice(line).unwrap();
        assert_eq!((result.triangles, result.job.as_deref()), (ROUTERS.1, Some(name)));
    }
}
