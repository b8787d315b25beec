//! Shards of a prepared job, counted by plain processes: even if these are killed, repeated or run at the same time, the merged result is
//! the published one, and its files are those that the verifier writes.

mod files;

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::job::{data, input, listing, typed};
use crate::common::place::{Place, files as files_below, stderr};
use crate::common::published::{FRIENDS, Known, ROUTERS};
use serde_json::Value;
use trimill::testing::report::{PreparedReport, RunResult, ShardReport};

/// Settings that divide a graph by either mode.
const MODES: [&[&str]; 2] = [&["--partitioner", "rank"], &["--partitioner", "random", "--prune", "zero-indegree"]];

struct Shared {
    place: Place,
    graph: Known,
}

impl Deref for Shared {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Shared {
    fn new() -> Self {
        Self::of(ROUTERS)
    }

    fn of(graph: Known) -> Self {
        Self { place: Place::new(), graph }
    }

    fn input(&self) -> String {
        typed(self.graph.0)
    }

    /// The files of counts on edges and at vertices that the verifier writes.
    fn verified(&self) -> [String; 2] {
        let names = ["verified-edges.tsv", "verified-vertices.tsv"];
        self.prints(&["verify", &self.input(), "--per-edge", names[0], "--per-vertex", names[1]]);
        names.map(|name| self.read(name))
    }

    fn prepare(&self, run: &str, shards: &str, more: &[&str]) -> PreparedReport {
        let input = self.input();
        let words = [&["prepare", &input, "--run-dir", run, "--shards", shards, "--json"], more].concat();
        serde_json::from_slice(&self.prints(&words)).unwrap()
    }

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
        assert_eq!(result.triangles, self.graph.1);
        result
    }
}

#[test]
fn a_shard_that_is_killed_and_one_that_runs_twice_at_the_same_time_change_nothing() {
    let place = Shared::of(FRIENDS);
    let [edges, vertices] = place.verified();
    for (i, mode) in MODES.iter().enumerate() {
        let run = format!("run{i}");
        let files = [format!("e{i}.tsv"), format!("v{i}.tsv"), format!("out{i}")];
        let asked = ["--per-edge", &files[0], "--per-vertex", &files[1], "--output", &files[2]];
        let words = [mode, &asked[..], &["--parts", "9"]].concat();
        let prepared = place.prepare(&run, "4", &words);
        assert_eq!((prepared.parts, prepared.costs.len()), (9, 9));
        assert!(prepared.counts_bytes.get() > 0);
        let graph = files_below(&place.path(&run).join("graph")).into_iter();
        assert_eq!(prepared.graph_bytes.get(), graph.map(|file| file.metadata().unwrap().len()).sum::<u64>());
        assert_eq!(prepared.spilled_bytes.get() > 0, i == 1);
        place.refuses(&["merge", &run], 3, &["9 of 9 partitions are not counted", "--shard 0/4", "--shard 3/4"]);

        // This shard is killed when it writes its second partition; the next start counts the rest.
        let killed = place.run_with("kill:12", &place.shard(&run, "1/4"));
        assert_eq!(killed.status.code(), None, "{}", stderr(&killed));
        let again = place.count(&run, "1/4");
        assert!(again.partitions.iter().any(|partition| !partition.counted().resumed));

        // Two runs at the same time, from beginning to end.
        let both = [place.spawn(&run, "2/4"), place.spawn(&run, "2/4")].map(|child| child.wait_with_output().unwrap());
        both.iter().for_each(|output| assert!(output.status.success(), "{}", stderr(output)));
        place.refuses(&["merge", &run], 3, &["--shard 0/4", "--shard 3/4"]);
        let (first, last) = (place.count(&run, "0/4"), place.count(&run, "3/4"));
        assert_eq!((first.parts, first.missing > 0, last.missing), (9, true, 0));
        // A partition whose counts on edges are gone is counted again, and missing until then.
        fs::remove_file(place.path(format!("{run}/part-{:05}.edges", last.partitions[0].id))).unwrap();
        assert_eq!([place.count(&run, "0/4").missing, place.count(&run, "3/4").missing], [1, 0]);
        // One more run, after all partitions were counted.
        assert!(place.count(&run, "0/4").partitions.iter().all(|partition| partition.counted().resumed));

        let result = place.merge(&run);
        assert_eq!((result.parts, result.clustering.is_some()), (9, true));
        assert_eq!(place.read(&files[0]), edges, "{mode:?}");
        assert_eq!(place.read(&files[1]), vertices, "{mode:?}");
        assert_eq!(listing(&place.path(&files[2])), ["partitions.tsv", "result.json"]);
        let left = listing(&place.path(&run));
        let kept = |name: &String| name.ends_with(".json") || name == "lock" || name == "locals.zst";
        assert!(left.iter().all(kept), "{left:?}");
        assert_eq!(place.merge(&run).partitions, result.partitions, "merged again");
        assert!(place.count(&run, "0/4").merged && place.prepare(&run, "4", &words).merged);
        place.write(&files[1], "changed");
        place.refuses(&["merge", &run], 1, &[&files[1], "not as an earlier merge left it", "trimill prepare"]);
    }
    assert!(listing(&place.path("tmp")).is_empty(), "{:?}", listing(&place.path("tmp")));
}

#[test]
fn counts_of_more_partitions_than_files_that_are_open_at_once_are_merged() {
    let place = Shared::new();
    let asked = ["--partitioner", "rank", "--parts", "300", "--per-edge", "e.tsv", "--per-vertex", "v.tsv"];
    let parts = place.prepare("run", "1", &asked).parts;
    assert!(parts > 256, "{parts}");
    assert_eq!(place.count("run", "0/1").missing, 0);
    assert_eq!(place.merge("run").parts, parts);
    assert_eq!(["e.tsv", "v.tsv"].map(|name| place.read(name)), place.verified());
}

#[test]
fn the_counts_are_exact_whenever_a_shard_is_killed() {
    let place = Shared::new();
    let [edges, _] = place.verified();
    for at in (1..).step_by(5) {
        let run = format!("run{at}");
        let file = format!("e{at}.tsv");
        place.prepare(&run, "2", &["--parts", "3", "--partitioner", "rank", "--per-edge", &file]);
        let fault = format!("kill:{at}");
        let ended = place.run_with(&fault, &place.shard(&run, "0/2")).status.success();
        place.count(&run, "0/2");
        place.count(&run, "1/2");
        place.merge(&run);
        assert!(place.read(&file) == edges, "{fault}");
        if ended {
            break;
        }
    }
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
    assert!(auto(&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3")]).status.success());
    let said = ["1 of 3 partitions are not counted", "'trimill count --run-dir run --shard 1/3'"];
    place.refuses(&["merge", "run"], 3, &said);
    place.count("run", "1/3");
    place.merge("run");
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
            command.args(["--parts", "3", "--shards", "2"]).arg("--work-dir").arg(odd(b"w\xe9"));
            command.arg("--output").arg(odd(b"o\xe9"));
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
fn a_plan_of_fewer_partitions_than_shards_is_made_anew() {
    let place = Shared::new();
    let count = ["count", &place.input(), "--partitioner", "rank", "--run-dir", "run", "--backend", "cpu"];
    let failed = place.run_with("device:1", &count);
    assert_eq!(failed.status.code(), Some(3), "{}", stderr(&failed));
    assert!(place.path("run/plan.json").exists());
    assert_eq!(place.prepare("run", "3", &["--partitioner", "rank"]).parts, 3);
    (0..3).for_each(|shard| drop(place.count("run", &format!("{shard}/3"))));
    place.merge("run");
    // A graph of three vertices has no more partitions: the plan of a prepared job is kept.
    place.write("g.txt", "0 1\n1 2\n0 2\n");
    let prepare = ["prepare", "g.txt", "--run-dir", "few", "--shards", "8", "--partitioner", "contiguous"];
    place.prints(&prepare);
    (0..8).for_each(|shard| drop(place.count("few", &format!("{shard}/8"))));
    fs::remove_file(place.path("few/spills/part-00000.spill")).unwrap();
    let again = place.run(&prepare);
    assert!(again.status.success() && !stderr(&again).contains("planned anew"), "{}", stderr(&again));
    let merged: RunResult = serde_json::from_slice(&place.prints(&["merge", "few", "--json"])).unwrap();
    assert_eq!(merged.triangles, 1);
}

#[test]
fn more_shards_than_there_may_be_partitions_are_refused() {
    let place = Shared::new();
    place.prepare("run", "3", &["--partitioner", "rank", "--parts", "3"]);
    let said = ["1048577 shards", "at most 1048576"];
    place.refuses(&place.shard("run", "0/1048577"), 2, &said);
    let mut by_slurm = place.command(&place.shard("run", "auto"));
    let output = by_slurm.envs([("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1048577")]).output().unwrap();
    assert!(output.status.code() == Some(2) && stderr(&output).contains(said[0]), "{}", stderr(&output));
    place.refuses(&["prepare", &place.input(), "--run-dir", "new", "--shards", "1048577"], 2, &said);
    place.refuses(&["cluster", "hq", "run", "--shards", "1048577"], 2, &said);
    assert!(!place.path("new").exists());
    // As many tasks as there are partitions, however many are asked for.
    place.prints(&["cluster", "hq", "run", "--shards", "1000000", "--gpus-per-task", "0", "--cpus-per-task", "1"]);
    let file: toml::Table = place.read("run/hq/count.toml").parse().unwrap();
    assert_eq!(file["array"]["ids"].as_str(), Some("0-2"));
    for shard in ["0/1048576", "1/1048576", "2/1048576", "3/1048576"] {
        place.count("run", shard);
    }
    place.merge("run");
}

#[test]
fn what_is_not_prepared_or_does_not_fit_is_refused() {
    let place = Shared::of(FRIENDS);
    let input = place.input();
    place.refuses(&["count", "--run-dir", "none", "--shard", "0/2"], 3, &["none", "no prepared job"]);
    place.refuses(&["merge", "none"], 3, &["no prepared job"]);
    place.refuses(&["cluster", "slurm", "none"], 3, &["no prepared job"]);
    place.refuses(&["count", &input, "--run-dir", "run", "--shard", "0/2"], 2, &["--shard"]);
    place.refuses(&["count", "--shard", "0/2"], 2, &["--run-dir"]);
    place.refuses(&["count", "--run-dir", "run", "--shard", "0/2", "--parts", "3"], 2, &["--parts"]);
    place.refuses(&["count", "--run-dir", "run", "--shard", "2/2"], 2, &["0/2 to 1/2"]);
    assert!(!place.path("none").exists() && !place.path("run").exists());

    let first = place.prepare("run", "2", &["--partitioner", "rank"]);
    let whole = "prepare INPUT --run-dir whole --shards 2";
    let [again, shard] = ["prepare INPUT --run-dir run --partitioner rank", "count --run-dir run --shard 0/2"];
    for (code, command, more, said) in [
        (3, "count INPUT", "--run-dir run", &["prepared for shards", "trimill merge"][..]),
        (3, again, "--per-edge e.tsv", &["other outputs"]),
        (3, again, "--shards 3", &["is prepared for 2 shards", "leave --shards out"]),
        (3, again, "--seed 9", &["another job", "seed"]),
        (3, shard, "--backend cpu --device-memory 100KiB", &["the recorded plan does not fit the device budget"]),
        (2, shard, "--method forward", &["'forward' counts whole graphs only", "prepared in 2 partitions", "bitmap"]),
        (2, whole, "--method compact-forward", &["'compact-forward' counts whole graphs only", "2 shards"]),
    ] {
        let words = command.split(' ').chain(more.split(' '));
        let words: Vec<&str> = words.map(|word| if word == "INPUT" { input.as_str() } else { word }).collect();
        place.refuses(&words, code, said);
    }
    // A second preparation: all files stay.
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
    let place = Shared::of(FRIENDS);
    let prepared = place.prepare("run", "2", &["--backend", "cuda", "--device-memory", "2MiB"]);
    assert!(prepared.parts > 2, "{}", prepared.parts);
    place.refuses(&["count", "--run-dir", "run", "--shard", "0/1", "--backend", "cuda"], 3, &["no usable GPU"]);
    assert_eq!(place.count("run", "0/1").missing, 0);
    place.merge("run");
}

#[test]
fn a_job_file_names_the_cluster() {
    let place = Shared::new();
    let text = input(ROUTERS.0)
        + "run.dir = 'run'\npartition.partitioner = 'rank'\n\
           cluster = { engine = 'slurm', shards = 3, time = '1:00:00', gpus_per_task = 0 }\n";
    let text = format!("[[job]]\nname = 'crawl'\n{text}");
    place.write("jobs.toml", &text);
    let said = String::from_utf8(place.prints(&["run", "jobs.toml", "--report", "r.html"])).unwrap();
    let prepared: Value = serde_json::from_slice(&fs::read(place.path("run/prepared.json")).unwrap()).unwrap();
    assert_eq!(prepared["job"]["recorded"], false);
    assert!(said.starts_with("job  crawl\nrun directory"), "{said}");
    assert!(said.contains("prepared: sh ") && said.contains("run/slurm/submit"), "{said}");
    assert_eq!(listing(&place.path("run/slurm")), ["count.sbatch", "merge.sbatch", "submit"]);
    for script in ["count.sbatch", "merge.sbatch", "submit"] {
        let checked = Command::new("bash").arg("-n").arg(place.path("run/slurm").join(script)).status().unwrap();
        assert!(checked.success(), "{script}");
    }
    let script = place.read("run/slurm/count.sbatch");
    assert!(["--array=0-2", "--time=1:00:00"].iter().all(|part| script.contains(part)), "{script}");
    assert!(!script.contains("--gres"), "{script}");

    let answer = place.answer(&["run", "jobs.toml"]);
    assert_eq!([&answer["job"], &answer["cluster"]["shards"]], [&Value::from("crawl"), &prepared["report"]["shards"]]);
    place.count("run", "0/1");
    place.merge("run");
    let said = String::from_utf8(place.prints(&["run", "jobs.toml"])).unwrap();
    assert!(said.contains("merged already") && !said.contains("submit"), "{said}");
    place.write("run/slurm/submit", "mine");
    for more in [&[][..], &["--check"]] {
        let words = [&["run", "jobs.toml"][..], more].concat();
        let output = place.refuses(&words, 2, &["run/slurm/submit: is there already, and differs"]);
        assert!(!stderr(&output).contains("on an earlier start"), "{}", stderr(&output));
    }
    place.refuses(&["cluster", "slurm", "run"], 2, &["is there already, and differs", "--force"]);
    let submit = || place.read("run/slurm/submit");
    assert_eq!(submit(), "mine");
    place.prints(&["cluster", "slurm", "run", "--force"]);
    assert!(submit().contains("sbatch"));
    place.write("jobs.toml", text.replace("run.dir = 'run'\n", ""));
    place.refuses(&["run", "jobs.toml"], 2, &["crawl", "run.dir"]);
}
