//! Damaged files of a run directory, and files of another job: no count is wrong, and following the message helps.

use std::fs;
use std::path::{Path, PathBuf};

use super::{MODES, Shared};
use crate::common::flip;
use crate::common::job::typed;
use crate::common::place::{copy, files, stderr, stopped_by};
use trimill::testing::report::{RunResult, ShardReport};

/// The files below a directory, by their paths in it.
fn files_in(dir: &Path) -> Vec<PathBuf> {
    files(dir).iter().map(|path| path.strip_prefix(dir).unwrap().to_path_buf()).collect()
}

#[test]
fn results_of_another_plan_and_damaged_ones_are_refused() {
    let place = Shared::new();
    let per_edge = ["--partitioner", "rank", "--parts", "3", "--per-edge", "e.tsv"];
    place.prepare("run", "3", &per_edge);
    place.prepare("other", "3", &["--partitioner", "random", "--seed", "5"]);
    assert_eq!((place.count("run", "0/1").missing, place.count("other", "0/1").missing), (0, 0));

    let (mine, kept) = (place.path("run/part-00001.json"), place.path("kept"));
    fs::copy(&mine, &kept).unwrap();
    fs::copy(place.path("other/part-00001.json"), &mine).unwrap();
    place.refuses(&["merge", "run"], 1, &["part-00001.json", "another job", "count its partition again"]);
    let text = fs::read_to_string(&kept).unwrap();
    let damage = || fs::write(&mine, text.replace("\"triangles\":", "\"triangles\":1")).unwrap();
    damage();
    place.refuses(&["merge", "run"], 1, &["part-00001.json", "damaged or edited"]);
    // One of the three shards counts the damaged partition, and replaces its file. Each shard warns once.
    let mut replaced = 0;
    for shard in ["0/3", "1/3", "2/3"] {
        damage();
        let said = stderr(&place.run(&place.shard("run", shard)));
        let [mine, others] = ["partition 1 is counted again", "partition 1 must be counted again, by the shard"]
            .map(|then| said.matches(then).count());
        assert_eq!((mine + others, said.matches("part-00001.json").count()), (1, 1), "{said}");
        replaced += mine;
    }
    assert_eq!(replaced, 1);
    damage();
    let counted = place.count("run", "0/1").partitions;
    assert!(counted.iter().any(|partition| partition.id == 1 && !partition.counted().resumed));

    let counts = place.path("run/part-00002.edges");
    flip(&counts, 8 * (fs::metadata(&counts).unwrap().len() / 2));
    place.refuses(&["merge", "run"], 3, &["1 of 3 partitions are not counted: 2"]);
    place.count("run", "0/1");
    place.merge("run");
    assert_eq!(place.read("e.tsv"), place.verified()[0]);
}

/// A file of another job in a run directory is refused, or it changes nothing; and following the message helps.
#[test]
fn no_file_of_another_job_is_counted() {
    let place = Shared::new();
    let (routers, karate) = (place.input(), typed("karate.mtx"));
    let [_, vertices] = place.verified();
    for mode in MODES {
        let settings = [mode, &["--per-vertex", "v.tsv", "--force"]].concat();
        let prepare = |run: &str, input: &str, more: &[&str]| {
            place.prints(&[&["prepare", input, "--run-dir", run, "--quiet"][..], &settings, more].concat());
        };
        // Counts, unless all is counted, and merges. A count must be that of this job; an error is a refusal's message.
        let counted = |is_counted: bool, shown: &str| {
            let (shard, merge) = (place.shard("run", "0/1"), ["merge", "run", "--json"]);
            let commands = [&shard[..], &merge];
            for words in &commands[usize::from(is_counted)..] {
                let output = place.run(words);
                if !output.status.success() {
                    let (code, said) = (output.status.code(), stderr(&output));
                    assert!(code == Some(1) || code == Some(3) && !is_counted, "{shown}: {said}");
                    return Err(said);
                }
                if words[0] == "merge" {
                    let result: RunResult = serde_json::from_slice(&output.stdout).unwrap();
                    assert_eq!(result.triangles, place.graph.1, "{shown}");
                }
            }
            assert!(is_counted || fs::read_to_string(place.path("v.tsv")).unwrap() == vertices, "{shown}");
            Ok(())
        };
        let mine = ["--parts", "3"];
        let others: [(&str, &[&str]); 3] =
            [(&routers, &["--parts", "3", "--seed", "9"]), (&karate, &mine), (&routers, &["--parts", "4"])];
        let mut refused = 0;
        // The files after preparing, after counting, and after merging.
        for stage in 0..3 {
            let make = |run: &str, input: &str, more: &[&str]| {
                let _ = fs::remove_dir_all(place.path(run));
                let _ = fs::remove_file(place.path("v.tsv"));
                prepare(run, input, more);
                if stage > 0 {
                    place.count(run, "0/1");
                }
                if stage > 1 {
                    place.prints(&["merge", run]);
                }
                let _ = fs::remove_file(place.path("v.tsv"));
            };
            make("mine", &routers, &mine);
            for (input, more) in others {
                make("other", input, more);
                if stage > 1 {
                    // The file now has the other job's vertices, so ours must not be considered merged.
                    place.write("v.tsv", "");
                }
                for file in files_in(&place.path("mine")) {
                    let other = place.path("other");
                    let from = match file.starts_with("graph") {
                        true => files(&other.join("graph")).into_iter().next(),
                        false => Some(other.join(&file)).filter(|path| path.exists()),
                    };
                    let Some(from) = from else { continue };
                    copy(&place.path("mine"), &place.path("run"));
                    fs::copy(from, place.path("run").join(&file)).unwrap();
                    let shown = format!("{mode:?} {more:?} {stage} {}", file.display());
                    // If the job was merged already, its recorded result is used, or the start is refused.
                    let Err(said) = counted(stage > 1, &shown) else { continue };
                    refused += 1;
                    assert!(said.contains("run 'trimill prepare' again"), "{shown}: {said}");
                    let words = ["; expected ", " again with the same settings"];
                    assert!(stage > 1 || words.iter().all(|word| said.contains(word)), "{shown}: {said}");
                    // Following the message helps; not with another job's job file, which alone says whose the directory is.
                    if stage > 1 || file == Path::new("job.json") {
                        continue;
                    }
                    prepare("run", &routers, &mine);
                    counted(false, &shown).unwrap_or_else(|said| panic!("{shown}: {said}"));
                    let _ = fs::remove_file(place.path("v.tsv"));
                }
            }
        }
        assert!(refused >= 12, "{refused} of {mode:?}");
    }
}

/// A run directory that was copied without its lock.
#[test]
fn a_prepared_job_that_lost_its_lock_is_merged() {
    let place = Shared::new();
    place.prepare("run", "2", &["--partitioner", "rank"]);
    place.count("run", "0/1");
    let (lock, prepared) = (place.path("run/lock"), place.path("run/prepared.json"));
    fs::remove_file(&lock).unwrap();
    let good = fs::read_to_string(&prepared).unwrap();
    fs::write(&prepared, good.replace("prepared job", "other job")).unwrap();
    let again = ["prepare", &place.input(), "--run-dir", "run", "--partitioner", "rank"];
    place.refuses(&again, 3, &["holds files and is no run directory"]);
    assert!(!lock.exists());
    fs::write(&prepared, good).unwrap();
    place.merge("run");
    assert!(fs::read_to_string(&lock).unwrap().starts_with("trimill run directory"));
}

/// Intact spills of another seed: each matches its manifest, and none the job.
#[test]
fn all_spills_of_another_job_are_refused() {
    let place = Shared::new();
    for (run, seed) in [("mine", "1"), ("other", "2")] {
        place.prepare(run, "3", &["--partitioner", "random", "--parts", "3", "--seed", seed]);
    }
    fs::remove_dir_all(place.path("mine/spills")).unwrap();
    copy(&place.path("other/spills"), &place.path("mine/spills"));
    let said = ["mine/spills/manifest.json: is of another job, with the fingerprint ", "; expected ", "prepare"];
    place.refuses(&place.shard("mine", "0/1"), 1, &said);
    place.refuses(&["merge", "mine"], 1, &said);
    place.prepare("mine", "3", &["--partitioner", "random", "--parts", "3", "--seed", "1"]);
    place.count("mine", "0/1");
    place.merge("mine");
}

#[test]
fn what_is_damaged_in_a_prepared_job_is_made_again_when_it_is_prepared_again() {
    let place = Shared::new();
    for mode in MODES {
        let settings = [mode, &["--parts", "3", "--per-vertex", "v.tsv"]].concat();
        let _ = fs::remove_dir_all(place.path("good"));
        place.prepare("good", "3", &settings);
        // A lock with another text says that the directory is not this program's: nothing there is touched.
        for file in files_in(&place.path("good")).into_iter().filter(|file| file != Path::new("lock")) {
            let length = fs::metadata(place.path("good").join(&file)).unwrap().len();
            // The header, the middle, the end; and no file at all.
            for at in [Some(20), Some(length / 2), Some(length - 1), None] {
                copy(&place.path("good"), &place.path("run"));
                let path = place.path("run").join(&file);
                match at {
                    Some(at) => flip(&path, 8 * at),
                    None => fs::remove_file(&path).unwrap(),
                }
                let shown = format!("{mode:?}: byte {at:?} of {}", file.display());
                let damaged = fs::read(&path).ok();
                let output = place.run(&place.shard("run", "0/1"));
                let said = stderr(&output);
                // Other shards count by that plan, so a shard makes no new one.
                let is_kept = fs::read(&path).ok() == damaged;
                let is_refused = !output.status.success() || mode.contains(&"random");
                assert!(is_kept && is_refused || file != Path::new("plan.json"), "{shown}: {said}");
                if output.status.success() {
                    // The file is no longer needed.
                    place.merge("run");
                    continue;
                }
                let helps = ["run 'trimill prepare' again with the same settings", "holds no prepared job"];
                assert!(helps.iter().any(|words| said.contains(words)), "{shown}: {said}");
                place.prepare("run", "3", &settings);
                place.count("run", "0/1");
                place.merge("run");
            }
        }
        fs::remove_file(place.path("v.tsv")).unwrap();
    }
}

/// Scripts that nobody edited are written again without --force.
#[test]
fn a_job_that_is_prepared_again_has_the_same_scripts() {
    let place = Shared::new();
    let cluster = ["cluster", "slurm", "run", "--gpus-per-task", "0"];
    let first = place.prepare("run", "2", &[]);
    place.prints(&cluster);
    fs::remove_dir_all(place.path("run/graph")).unwrap();
    assert_eq!(place.prepare("run", "2", &[]).device_memory, first.device_memory);
    place.prints(&cluster);
}

#[test]
fn a_merge_knows_its_own_files_though_the_record_of_them_was_gone() {
    let place = Shared::new();
    let settings = ["--partitioner", "rank", "--per-edge", "e.tsv", "--output", "out"];
    let damages: [fn(&Path); 2] = [|path| fs::remove_file(path).unwrap(), |path| flip(path, 8 * 40)];
    for damage in damages {
        place.prepare("run", "2", &settings);
        place.count("run", "0/1");
        damage(&place.path("run/outputs.json"));
        let result = place.merge("run");
        assert_eq!(place.merge("run"), result);
        // What was merged is not refused as a file of others.
        place.prepare("run", "2", &settings);
        for dir in ["run", "out"] {
            fs::remove_dir_all(place.path(dir)).unwrap();
        }
        fs::remove_file(place.path("e.tsv")).unwrap();
    }
}

/// The merge removes the file that the stopped process is writing, and the spills that it has not read yet.
#[test]
fn a_shard_that_runs_twice_and_ends_after_the_merge_says_that_all_is_merged() {
    let place = Shared::new();
    for (i, mode) in MODES.iter().enumerate() {
        let (run, file) = (format!("run{i}"), format!("v{i}.tsv"));
        place.prepare(&run, "1", &[mode, &["--parts", "3", "--per-vertex", &file][..]].concat());
        let output = stopped_by("device-stop:1", &mut place.command(&place.shard(&run, "0/1")), || {
            place.count(&run, "0/1");
            place.merge(&run);
        });
        assert!(output.status.success(), "{mode:?}: {}", stderr(&output));
        let report: ShardReport = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report.merged && report.partitions.is_empty(), "{report:?}");
    }
}

#[test]
fn a_merged_job_is_prepared_again_only_if_its_files_are_gone() {
    let place = Shared::new();
    for mode in MODES {
        let settings = [mode, &["--parts", "3", "--per-vertex", "v.tsv"]].concat();
        let first = place.prepare("run", "3", &settings);
        place.count("run", "0/1");
        let result = place.merge("run");
        let again = place.prepare("run", "3", &settings);
        assert_eq!((again.parts, again.edges, again.graph_bytes), (first.parts, first.edges, first.graph_bytes));
        assert_eq!(place.merge("run"), result);
        // Counted again, since a file is gone.
        let vertices = fs::read(place.path("v.tsv")).unwrap();
        fs::remove_file(place.path("v.tsv")).unwrap();
        let said = ["v.tsv: is not as", "run 'trimill prepare' again with the same settings"];
        place.refuses(&["merge", "run"], 1, &said);
        place.prepare("run", "3", &settings);
        place.count("run", "0/1");
        place.merge("run");
        assert_eq!(fs::read(place.path("v.tsv")).unwrap(), vertices);
        fs::remove_dir_all(place.path("run")).unwrap();
        fs::remove_file(place.path("v.tsv")).unwrap();
    }
}
