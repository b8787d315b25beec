//! Shards of a prepared job, counted by plain processes: whatever is killed, repeated or run at the same time, the merged result is what
//! others published, and its files are what the verifier writes.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::job::{data, listing};
use common::place::{Place, stderr};
use trimill::testing::report::{PreparedReport, RunResult, ShardReport};

/// A graph of `tests/data`, its triangles as published, and settings that divide it by either stream.
const GRAPH: (&str, u128) = ("soc-Slashdot0902.txt.gz", 602_592);
const STREAMS: [&[&str]; 2] = [&["--partitioner", "rank"], &["--partitioner", "random", "--prune", "zero-indegree"]];

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
    for (i, stream) in STREAMS.iter().enumerate() {
        let run = format!("run{i}");
        let files = [format!("e{i}.tsv"), format!("v{i}.tsv"), format!("out{i}")];
        let asked = ["--per-edge", &files[0], "--per-vertex", &files[1], "--output", &files[2]];
        let prepared = place.prepare(&run, "4", &[stream, &asked[..], &["--parts", "9"]].concat());
        assert_eq!((prepared.parts, prepared.costs.len()), (9, 9));
        assert!(prepared.counts_bytes.get() > 0 && prepared.graph_bytes.get() > 0);
        assert_eq!(prepared.spilled_bytes.get() > 0, i == 1);
        place.refuses(&["merge", &run], 3, &["9 of 9 partitions are not counted", "--shard 0/4", "--shard 3/4"]);

        // Killed when it writes its second partition; started again, it counts the rest.
        let killed = place.command(&place.shard(&run, "1/4")).env("TRIMILL_FAULT", "kill:12").output().unwrap();
        assert_eq!(killed.status.code(), None, "{}", stderr(&killed));
        let again = place.count(&run, "1/4");
        assert!(again.partitions.iter().any(|partition| !partition.resumed));

        // Twice at the same time, from beginning to end.
        let both = [place.spawn(&run, "2/4"), place.spawn(&run, "2/4")].map(|child| child.wait_with_output().unwrap());
        both.iter().for_each(|output| assert!(output.status.success(), "{}", stderr(output)));
        place.refuses(&["merge", &run], 3, &["--shard 0/4", "--shard 3/4"]);
        let first = place.count(&run, "0/4");
        assert_eq!(first.parts, 9);
        assert!(first.missing > 0);
        assert_eq!(place.count(&run, "3/4").missing, 0);
        // And once more, after all were counted.
        assert!(place.count(&run, "0/4").partitions.iter().all(|partition| partition.resumed));

        let result = place.merge(&run);
        assert_eq!((result.parts, result.method.as_str() != "", result.clustering.is_some()), (9, true, true));
        assert_eq!(fs::read_to_string(place.path(&files[0])).unwrap(), edges, "{stream:?}");
        assert_eq!(fs::read_to_string(place.path(&files[1])).unwrap(), vertices, "{stream:?}");
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
    assert!(place.count("run", "0/1").partitions.iter().any(|partition| partition.id == 1 && !partition.resumed));

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

#[test]
fn a_damaged_plan_is_not_replaced_by_a_shard() {
    let place = Shared::new();
    place.prepare("run", "2", &["--partitioner", "rank", "--parts", "3"]);
    let plan = place.path("run/plan.json");
    let good = fs::read_to_string(&plan).unwrap();
    let bad = good.replace("\"parts\": 3", "\"parts\": 4");
    assert_ne!(bad, good);
    fs::write(&plan, &bad).unwrap();
    place.refuses(&place.shard("run", "0/2"), 1, &["plan", "missing or damaged", "prepare the job again"]);
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
        &["other files"],
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

/// The task that a script describes, run as the scheduler would.
#[test]
fn the_command_of_a_job_file_counts_its_shard() {
    let place = Shared::new();
    place.prepare("run", "2", &["--partitioner", "rank"]);
    place.prints(&["cluster", "hq", "run", "--gpus-per-task", "0", "--cpus-per-task", "1"]);
    let file: toml::Table = fs::read_to_string(place.path("run/hq/job.toml")).unwrap().parse().unwrap();
    for task in file["task"].as_array().unwrap() {
        let words: Vec<&str> = task["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let mut command = Command::new(words[0]);
        let output = command.args(&words[1..]).current_dir(task["cwd"].as_str().unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    place.merge("run");
}
