//! Shards of a prepared job, counted by plain processes: whatever is killed, repeated or run at the same time, the merged result is what
//! others published, and its files are what the verifier writes.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::job::{data, listing};
use crate::common::place::{Place, stderr};
use trimill::testing::report::{PreparedReport, RunResult, ShardReport};

/// A graph of `tests/data`, its triangles as published, and settings that divide it by either mode.
const GRAPH: (&str, u128) = ("soc-Slashdot0902.txt.gz", 602_592);
const MODES: [&[&str]; 2] = [&["--partitioner", "rank"], &["--partitioner", "random", "--prune", "zero-indegree"]];

/// A directory with run directories, as several nodes see it.
struct Shared(Place);

impl Deref for Shared {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0
    }
}

impl Shared {
    fn new() -> Self {
        Self(Place::new())
    }

    fn prepare(&self, run: &str, shards: &str, more: &[&str]) -> PreparedReport {
        let input = data(GRAPH.0).display().to_string();
        let words = [&["prepare", &input, "--run-dir", run, "--shards", shards, "--json"], more].concat();
        serde_json::from_slice(&self.prints(&words)).unwrap()
    }

    /// The words that count a shard.
    fn shard<'a>(&self, run: &'a str, shard: &'a str) -> Vec<&'a str> {
        let backend =
            if std::env::var_os("TRIMILL_TEST_BACKEND").is_some_and(|name| name == "cuda") { "cuda" } else { "cpu" };
        vec!["count", "--run-dir", run, "--shard", shard, "--backend", backend, "--threads", "2", "--json"]
    }

    #[track_caller]
    fn count(&self, run: &str, shard: &str) -> ShardReport {
        serde_json::from_slice(&self.prints(&self.shard(run, shard))).unwrap()
    }

    fn spawn(&self, run: &str, shard: &str) -> Child {
        self.command(&self.shard(run, shard)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    fn merge(&self, run: &str) -> RunResult {
        let result: RunResult = serde_json::from_slice(&self.prints(&["merge", run, "--json"])).unwrap();
        result.check(Path::new(run)).unwrap();
        assert_eq!(result.triangles, GRAPH.1);
        result
    }
}

/// The file that the verifier writes for a flag.
fn verified(place: &Shared, flag: &str, name: &str) -> String {
    place.prints(&["verify", &data(GRAPH.0).display().to_string(), "--no-cache", flag, name]);
    fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn a_shard_that_is_killed_and_one_that_runs_twice_at_the_same_time_change_nothing() {
    let place = Shared::new();
    let (edges, vertices) = (verified(&place, "--per-edge", "e.tsv"), verified(&place, "--per-vertex", "v.tsv"));
    for (i, mode) in MODES.iter().enumerate() {
        let run = format!("run{i}");
        let files = [format!("e{i}.tsv"), format!("v{i}.tsv"), format!("out{i}")];
        let asked = ["--per-edge", &files[0], "--per-vertex", &files[1], "--output", &files[2]];
        let prepared = place.prepare(&run, "4", &[mode, &asked[..], &["--parts", "9"]].concat());
        assert_eq!((prepared.parts, prepared.costs.len()), (9, 9));
        assert!(prepared.counts_bytes.get() > 0 && prepared.graph_bytes.get() > 0);
        assert_eq!(prepared.spilled_bytes.get() > 0, i == 1);
        place.refuses(&["merge", &run], 3, &["9 of 9 partitions are not counted", "--shard 0/4", "--shard 3/4"]);

        // Killed when it writes its second partition; started again, it counts the rest.
        let killed = place.command(&place.shard(&run, "1/4")).env("TRIMILL_FAULT", "kill:12").output().unwrap();
        assert_eq!(killed.status.code(), None, "{}", stderr(&killed));
        let again = place.count(&run, "1/4");
        assert!(again.partitions.iter().any(|partition| !partition.counted().resumed));

        // Twice at the same time, from beginning to end.
        let both = [place.spawn(&run, "2/4"), place.spawn(&run, "2/4")].map(|child| child.wait_with_output().unwrap());
        both.iter().for_each(|output| assert!(output.status.success(), "{}", stderr(output)));
        place.refuses(&["merge", &run], 3, &["--shard 0/4", "--shard 3/4"]);
        let first = place.count(&run, "0/4");
        assert_eq!(first.parts, 9);
        assert!(first.missing > 0);
        assert_eq!(place.count(&run, "3/4").missing, 0);
        // And once more, after all were counted.
        assert!(place.count(&run, "0/4").partitions.iter().all(|partition| partition.counted().resumed));

        let result = place.merge(&run);
        assert_eq!((result.parts, result.method.as_str() != "", result.clustering.is_some()), (9, true, true));
        assert_eq!(fs::read_to_string(place.path(&files[0])).unwrap(), edges, "{mode:?}");
        assert_eq!(fs::read_to_string(place.path(&files[1])).unwrap(), vertices, "{mode:?}");
        assert_eq!(listing(&place.path(&files[2])), ["partitions.tsv", "result.json"]);
        let left = listing(&place.path(&run));
        let kept = |name: &String| name.ends_with(".json") || name == "lock" || name == "locals.zst";
        assert!(left.iter().all(kept), "{left:?}");
        assert_eq!(place.merge(&run).partitions, result.partitions, "merged again");
        assert!(place.count(&run, "0/4").merged);
    }
    assert!(listing(&place.path("tmp")).is_empty(), "{:?}", listing(&place.path("tmp")));
}

#[test]
fn the_counts_are_exact_whenever_a_shard_is_killed() {
    let place = Shared::new();
    let edges = verified(&place, "--per-edge", "e.tsv");
    let mut ended = false;
    for at in (1..).step_by(5) {
        let run = format!("run{at}");
        let file = format!("e{at}.tsv");
        place.prepare(&run, "2", &["--parts", "3", "--partitioner", "rank", "--per-edge", &file]);
        let fault = format!("kill:{at}");
        let output = place.command(&place.shard(&run, "0/2")).env("TRIMILL_FAULT", &fault).output().unwrap();
        ended = output.status.success();
        place.count(&run, "0/2");
        place.count(&run, "1/2");
        place.merge(&run);
        assert!(fs::read_to_string(place.path(&file)).unwrap() == edges, "{fault}");
        if ended {
            break;
        }
    }
    assert!(ended);
}

#[test]
fn a_scheduler_names_the_shard() {
    let place = Shared::new();
    place.prepare("run", "3", &["--partitioner", "rank", "--parts", "3"]);
    let auto = |variables: &[(&str, &str)]| {
        let mut command = place.command(&place.shard("run", "auto"));
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let said = stderr(&auto(&[("HQ_TASK_ID", "0")]));
    assert!(said.contains("shard 0/3, by HQ_TASK_ID"), "{said}");
    let array = [
        ("SLURM_ARRAY_TASK_ID", "2"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
        ("SLURM_ARRAY_TASK_MIN", "1"),
        ("PMI_RANK", "7"),
    ];
    let said = stderr(&auto(&array));
    assert!(said.contains("shard 1/3, by SLURM_ARRAY_TASK_ID"), "{said}");
    let none = auto(&[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("SLURM_PROCID"), "{}", stderr(&none));
    place.refuses(
        &["merge", "run"],
        3,
        &["1 of 3 partitions are not counted", "'trimill count --run-dir run --shard 2/3'"],
    );
    assert!(auto(&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3")]).status.success());
    place.merge("run");
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
    fs::write(&mine, text.replace("\"triangles\":", "\"triangles\":1")).unwrap();
    place.refuses(&["merge", "run"], 1, &["part-00001.json", "damaged or edited"]);
    // A shard replaces it.
    assert!(
        place.count("run", "0/1").partitions.iter().any(|partition| partition.id == 1 && !partition.counted().resumed)
    );

    let counts = place.path("run/part-00002.edges");
    let mut bytes = fs::read(&counts).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&counts, bytes).unwrap();
    place.refuses(&["merge", "run"], 3, &["1 of 3 partitions are not counted: 2"]);
    place.count("run", "0/1");
    place.merge("run");
    assert_eq!(fs::read_to_string(place.path("e.tsv")).unwrap(), verified(&place, "--per-edge", "v.tsv"));
}

/// All files below a directory, by their paths in it.
fn files_in(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => {
                found.extend(files_in(&path).into_iter().map(|file| Path::new(&entry.file_name()).join(file)));
            }
            _ => found.push(entry.file_name().into()),
        }
    }
    found.sort();
    found
}

/// Puts a copy of the directory `from` in the place of `to`.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    for file in files_in(from) {
        fs::create_dir_all(to.join(&file).parent().unwrap()).unwrap();
        fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
}

/// The routers of `as20000102.txt`, their triangles as published, and another graph.
const ROUTERS: (&str, u128) = ("as20000102.txt", 6_584);
const KARATE: &str = "karate.mtx";

/// A job of `ROUTERS` that the test below prepares, counts and merges, and what it says when that is refused.
struct Swapped<'a> {
    place: &'a Shared,
    settings: Vec<&'a str>,
    input: String,
}

impl Swapped<'_> {
    fn prepare(&self, run: &str, input: &str, more: &[&str]) {
        self.place.prints(&[&["prepare", input, "--run-dir", run, "--quiet"][..], &self.settings, more].concat());
    }

    /// Counts and merges `run`; what was said if that was refused. It must not give another count.
    fn counted(&self, run: &str, words: &[&str]) -> Result<(), String> {
        for words in [&self.place.shard(run, "0/1")[..], &["merge", run, "--json"]] {
            let output = self.place.run(words);
            let said = stderr(&output);
            if !output.status.success() {
                assert!(matches!(output.status.code(), Some(1 | 3)), "{words:?}: {said}");
                return Err(said);
            }
            if words[0] == "merge" {
                let result: RunResult = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(result.triangles, ROUTERS.1, "{words:?}");
            }
        }
        let sum: u128 = fs::read_to_string(self.place.path("v.tsv"))
            .unwrap()
            .lines()
            .skip(1)
            .map(|line| line.split('\t').nth(2).unwrap().parse::<u128>().unwrap())
            .sum();
        assert_eq!(sum, 3 * ROUTERS.1, "{words:?}");
        Ok(())
    }
}

/// A file of another job in a run directory is refused, or it changes nothing; and what the message says helps.
#[test]
fn no_file_of_another_job_is_counted() {
    let place = Shared::new();
    for mode in MODES {
        let job = Swapped {
            place: &place,
            settings: [mode, &["--per-vertex", "v.tsv", "--force"]].concat(),
            input: data(ROUTERS.0).display().to_string(),
        };
        let karate = data(KARATE).display().to_string();
        let others: [(&str, &[&str]); 3] = [
            (&job.input, &["--parts", "3", "--seed", "9"]),
            (&karate, &["--parts", "3"]),
            (&job.input, &["--parts", "4"]),
        ];
        let mut refused = 0;
        for (input, more) in others {
            // As they are when prepared, when counted, and when merged.
            for stage in 0..3 {
                for (run, input, more) in [("mine", &job.input[..], &["--parts", "3"][..]), ("other", input, more)] {
                    let _ = fs::remove_dir_all(place.path(run));
                    let _ = fs::remove_file(place.path("v.tsv"));
                    job.prepare(run, input, more);
                    if stage > 0 {
                        place.count(run, "0/1");
                    }
                    if stage > 1 {
                        place.prints(&["merge", run]);
                    }
                }
                let _ = fs::remove_file(place.path("v.tsv"));
                if stage > 1 {
                    // The other job's vertices are in the file now: ours must not be taken to be merged without them.
                    fs::write(place.path("v.tsv"), "").unwrap();
                }
                for file in files_in(&place.path("mine")) {
                    let graph = |run: &str| {
                        let dir = place.path(run).join("graph");
                        files_in(&dir).first().map(|name| dir.join(name))
                    };
                    let from = if file.starts_with("graph") {
                        graph("other")
                    } else {
                        Some(place.path("other").join(&file)).filter(|path| path.exists())
                    };
                    let Some(from) = from else { continue };
                    copy(&place.path("mine"), &place.path("run"));
                    fs::copy(from, place.path("run").join(&file)).unwrap();
                    let shown = format!("{mode:?} {more:?} {stage} {}", file.display());
                    if stage > 1 {
                        // Merged already: the recorded result is this job's, or it is refused.
                        let output = place.run(&["merge", "run", "--json"]);
                        match output.status.code() {
                            Some(0) => {
                                let result: RunResult = serde_json::from_slice(&output.stdout).unwrap();
                                assert_eq!(result.triangles, ROUTERS.1, "{shown}");
                            }
                            code => {
                                let said = stderr(&output);
                                assert!(
                                    code == Some(1) && said.contains("run 'trimill prepare' again"),
                                    "{shown}: {said}"
                                );
                                refused += 1;
                            }
                        }
                        continue;
                    }
                    let Err(said) = job.counted("run", &[&shown]) else { continue };
                    refused += 1;
                    assert!(said.contains("; expected "), "{shown}: {said}");
                    assert!(said.contains("run 'trimill prepare' again with the same settings"), "{shown}: {said}");
                    // The message helps. A job file of another job says so, since nothing else can.
                    if file == Path::new("job.json") {
                        continue;
                    }
                    job.prepare("run", &job.input, &["--parts", "3"]);
                    job.counted("run", &[&shown]).unwrap_or_else(|said| panic!("{shown}: {said}"));
                    let _ = fs::remove_file(place.path("v.tsv"));
                }
            }
        }
        assert!(refused >= 12, "{refused} of {mode:?}");
    }
}

/// Spills of another seed, whole: each fits its manifest, and none the job.
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

/// Whatever is damaged after a job was prepared, to prepare it again helps, as the message says.
#[test]
fn prepared_again_what_is_damaged_is_made_again() {
    let place = Shared::new();
    for mode in MODES {
        let settings = [mode, &["--parts", "3", "--per-vertex", "v.tsv"]].concat();
        let _ = fs::remove_dir_all(place.path("good"));
        place.prepare("good", "3", &settings);
        // The lock says that the directory is this program's: without it nothing there is touched.
        for file in files_in(&place.path("good")).into_iter().filter(|file| file != Path::new("lock")) {
            let length = fs::metadata(place.path("good").join(&file)).unwrap().len();
            // The header, the middle, the end; and no file at all.
            for at in [Some(20), Some(length / 2), Some(length - 1), None] {
                copy(&place.path("good"), &place.path("run"));
                let path = place.path("run").join(&file);
                match at {
                    Some(at) => {
                        let mut bytes = fs::read(&path).unwrap();
                        bytes[at as usize] ^= 1;
                        fs::write(&path, bytes).unwrap();
                    }
                    None => fs::remove_file(&path).unwrap(),
                }
                let shown = format!("{mode:?}: byte {at:?} of {}", file.display());
                let output = place.run(&place.shard("run", "0/1"));
                let said = stderr(&output);
                if output.status.success() {
                    // The file is not needed any more.
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
        // Counted again for a file that is gone.
        let vertices = fs::read(place.path("v.tsv")).unwrap();
        fs::remove_file(place.path("v.tsv")).unwrap();
        place.refuses(&["merge", "run"], 1, &["run/graph/", "run 'trimill prepare' again with the same settings"]);
        place.prepare("run", "3", &settings);
        place.count("run", "0/1");
        place.merge("run");
        assert_eq!(fs::read(place.path("v.tsv")).unwrap(), vertices);
        fs::remove_dir_all(place.path("run")).unwrap();
        fs::remove_file(place.path("v.tsv")).unwrap();
    }
}

#[test]
fn paths_that_are_not_utf8_are_prepared_counted_and_merged() {
    let place = Shared::new();
    let odd = |name: &[u8]| place.path("").join(OsStr::from_bytes(name));
    let (input, run, vertices) = (odd(b"g\xe9.txt"), odd(b"r\xff"), OsStr::from_bytes(b"v\xfe.tsv"));
    fs::copy(data(ROUTERS.0), &input).unwrap();
    for mode in MODES {
        let prepare = || {
            let mut command = place.command(&["prepare"]);
            command.arg(&input).arg("--run-dir").arg(&run).arg("--per-vertex").arg(vertices).args(mode);
            command
                .args(["--parts", "3", "--shards", "2", "--work-dir"])
                .arg(odd(b"w\xe9"))
                .arg("--output")
                .arg(odd(b"o\xe9"));
            command
        };
        let mut shard = place.command(&["count", "--shard", "0/1", "--backend", "cpu", "--json", "--run-dir"]);
        let mut merge = place.command(&["merge", "--json"]);
        // Prepared twice: what was recorded is compared with what is asked for.
        for command in [&mut prepare(), &mut prepare(), shard.arg(&run), merge.arg(&run)] {
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{command:?}: {}", stderr(&output));
        }
        let result: RunResult = serde_json::from_slice(&merge.output().unwrap().stdout).unwrap();
        assert_eq!(result.triangles, ROUTERS.1);
        assert!(place.path("").join(vertices).is_file() && odd(b"o\xe9").join("result.json").is_file());
        let inspected = place.command(&["inspect"]).arg(&input).output().unwrap();
        assert_eq!(inspected.status.code(), Some(1), "{}", stderr(&inspected));
        for gone in [&run, &odd(b"o\xe9")] {
            fs::remove_dir_all(gone).unwrap();
        }
        fs::remove_file(place.path("").join(vertices)).unwrap();
    }
}

#[test]
fn more_shards_than_there_may_be_partitions_are_refused() {
    let place = Shared::new();
    place.prepare("run", "3", &["--partitioner", "rank", "--parts", "3"]);
    for shards in ["1048577", "300000000", "4294967295"] {
        let said = [&format!("{shards} shards")[..], "at most 1048576"];
        place.refuses(&place.shard("run", &format!("0/{shards}")), 2, &said);
        let mut by_slurm = place.command(&place.shard("run", "auto"));
        let output = by_slurm.envs([("SLURM_PROCID", "0"), ("SLURM_NTASKS", shards)]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(said.iter().all(|words| stderr(&output).contains(words)), "{}", stderr(&output));
        place.refuses(
            &["prepare", &data(ROUTERS.0).display().to_string(), "--run-dir", "new", "--shards", shards],
            2,
            &said,
        );
        place.refuses(&["cluster", "hq", "run", "--shards", shards], 2, &said);
    }
    assert!(!place.path("new").exists());
    // As many tasks as there are partitions, whatever is asked for.
    place.prints(&["cluster", "hq", "run", "--shards", "1000000", "--gpus-per-task", "0", "--cpus-per-task", "1"]);
    let file: toml::Table = fs::read_to_string(place.path("run/hq/count.toml")).unwrap().parse().unwrap();
    assert_eq!(file["array"]["ids"].as_str(), Some("0-2"));
    for shard in ["0/1048576", "1/1048576", "2/1048576", "3/1048576"] {
        place.count("run", shard);
    }
    place.merge("run");
}

#[test]
fn a_damaged_plan_is_not_replaced_by_a_shard() {
    let place = Shared::new();
    place.prepare("run", "2", &["--partitioner", "rank", "--parts", "3"]);
    let plan = place.path("run/plan.json");
    let good = fs::read_to_string(&plan).unwrap();
    let bad = good.replace("\"parts\": 3", "\"parts\": 4");
    assert_ne!(bad, good);
    fs::write(&plan, &bad).unwrap();
    place.refuses(&place.shard("run", "0/2"), 1, &["plan", "missing or damaged", "'trimill prepare' again"]);
    assert_eq!(fs::read_to_string(&plan).unwrap(), bad);
    fs::write(&plan, good).unwrap();
    place.count("run", "0/1");
    place.merge("run");
}

#[test]
fn what_is_not_prepared_or_does_not_fit_is_refused() {
    let place = Shared::new();
    let input = data(GRAPH.0).display().to_string();
    place.refuses(&["count", "--run-dir", "none", "--shard", "0/2"], 3, &["none", "no prepared job"]);
    place.refuses(&["merge", "none"], 3, &["no prepared job"]);
    place.refuses(&["cluster", "slurm", "none"], 3, &["no prepared job"]);
    place.refuses(&["count", &input, "--run-dir", "run", "--shard", "0/2"], 2, &["--shard"]);
    place.refuses(&["count", "--shard", "0/2"], 2, &["--run-dir"]);
    place.refuses(&["count", "--run-dir", "run", "--shard", "0/2", "--parts", "3"], 2, &["--parts"]);
    place.refuses(&["count", "--run-dir", "run", "--shard", "2/2"], 2, &["0/2 to 1/2"]);
    assert!(!place.path("none").exists() && !place.path("run").exists());

    let first = place.prepare("run", "2", &["--partitioner", "rank"]);
    place.refuses(&["count", &input, "--run-dir", "run"], 3, &["prepared for shards", "trimill merge"]);
    place.refuses(
        &["prepare", &input, "--run-dir", "run", "--partitioner", "rank", "--per-edge", "e.tsv"],
        3,
        &["other outputs"],
    );
    place.refuses(
        &["prepare", &input, "--run-dir", "run", "--partitioner", "rank", "--shards", "3"],
        3,
        &["is prepared for 2 shards", "leave --shards out"],
    );
    place.refuses(
        &["prepare", &input, "--run-dir", "run", "--partitioner", "rank", "--seed", "9"],
        3,
        &["another job", "seed"],
    );
    place.refuses(
        &["count", "--run-dir", "run", "--shard", "0/2", "--backend", "cpu", "--device-memory", "100KiB"],
        3,
        &["the largest partition of the recorded plan takes"],
    );
    place.refuses(
        &["count", "--run-dir", "run", "--shard", "0/2", "--method", "forward"],
        2,
        &["'forward' counts whole graphs only", "prepared in 2 partitions", "bitmap"],
    );
    place.refuses(
        &["prepare", &input, "--run-dir", "whole", "--shards", "2", "--method", "compact-forward"],
        2,
        &["'compact-forward' counts whole graphs only", "2 shards"],
    );
    // Prepared again: what is there stays.
    place.count("run", "0/2");
    let before = listing(&place.path("run"));
    let again = place.prepare("run", "2", &["--partitioner", "rank"]);
    assert_eq!(listing(&place.path("run")), before);
    let (stages, seconds, peak_host_bytes) = (first.stages.clone(), first.seconds, first.peak_host_bytes);
    assert_eq!(PreparedReport { stages, seconds, peak_host_bytes, ..again }, first);
    place.count("run", "1/2");
    place.merge("run");
}

#[test]
fn a_machine_without_a_gpu_prepares_for_one() {
    if trimill_kernels::find().is_ok() {
        return;
    }
    let place = Shared::new();
    let prepared = place.prepare("run", "2", &["--backend", "cuda", "--device-memory", "2MiB"]);
    assert!(prepared.parts > 2, "{}", prepared.parts);
    place.refuses(&["count", "--run-dir", "run", "--shard", "0/1", "--backend", "cuda"], 3, &["no usable GPU"]);
    assert_eq!(place.count("run", "0/1").missing, 0);
    place.merge("run");
}

#[test]
fn a_job_file_names_the_cluster() {
    let place = Shared::new();
    let text = format!(
        "[[job]]\nname = 'crawl'\ninput.path = '{}'\nrun.dir = 'run'\npartition.partitioner = 'rank'\n\
         cluster = {{ engine = 'slurm', shards = 3, time = '1:00:00', gpus_per_task = 0 }}\n",
        data(GRAPH.0).display()
    );
    fs::write(place.path("jobs.toml"), &text).unwrap();
    let said = String::from_utf8(place.prints(&["run", "jobs.toml"])).unwrap();
    assert!(said.contains("prepared: sh ") && said.contains("run/slurm/submit"), "{said}");
    assert_eq!(listing(&place.path("run/slurm")), ["count.sbatch", "merge.sbatch", "submit"]);
    for script in ["count.sbatch", "merge.sbatch", "submit"] {
        let checked = Command::new("bash").arg("-n").arg(place.path("run/slurm").join(script)).status().unwrap();
        assert!(checked.success(), "{script}");
    }
    let script = fs::read_to_string(place.path("run/slurm/count.sbatch")).unwrap();
    assert!(
        script.contains("--array=0-2") && script.contains("--time=1:00:00") && !script.contains("--gres"),
        "{script}"
    );

    fs::write(place.path("jobs.toml"), text.replace("run.dir = 'run'\n", "")).unwrap();
    place.refuses(&["run", "jobs.toml"], 2, &["crawl", "run.dir"]);
}

/// The tasks that the files describe, run as the scheduler would.
#[test]
fn the_commands_of_job_files_count_and_merge() {
    let place = Shared::new();
    place.prepare("a run", "2", &["--partitioner", "rank"]);
    place.prints(&["cluster", "hq", "a run", "--gpus-per-task", "0", "--cpus-per-task", "1", "--memory", "1GiB"]);
    let read =
        |name: &str| -> toml::Table { fs::read_to_string(place.path("a run/hq").join(name)).unwrap().parse().unwrap() };
    let (count, merge) = (read("count.toml"), read("merge.toml"));
    for (task, id) in [(&count["array"], "0"), (&count["array"], "1"), (&merge["task"][0], "0")] {
        let words: Vec<&str> = task["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("HQ_TASK_ID", id).current_dir(task["cwd"].as_str().unwrap());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    place.merge("a run");
}
