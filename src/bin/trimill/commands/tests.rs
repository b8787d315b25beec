//! The commands with an engine that counts nothing and records its requests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::RefCell;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{CommandContext, CommandOutcome};
use crate::cli::Cli;
use trimill::Bytes;
use trimill::Control;
use trimill::program::Engine;
use trimill::program::Job;
use trimill::program::{
    BenchReport, CacheReport, ClusterReport, DoctorReport, GenerateReport, PartitionReport, PlannedPartition,
    PreparedReport, ShardReport, VerifyReport,
};
use trimill::program::{BenchRequest, ClusterRequest, DoctorRequest, GenerateRequest, InspectRequest, RemoveRequest};
use trimill::program::{Mode, ShardChoice};
use trimill::{Error, Kind, Result};
use trimill::{PartitionResult, PlanReport, RunResult};

/// Answers every job with 7 triangles, except that some seeds cause an error.
#[derive(Default)]
struct Fake {
    asked: RefCell<Vec<String>>,
}

impl Fake {
    fn note(&self, asked: String) {
        self.asked.borrow_mut().push(asked);
    }
}

impl Engine for Fake {
    fn count(&self, job: &Job, control: &Control) -> Result<RunResult> {
        self.note(format!("count {} {}", job.title(), job.partitioner));
        match job.seed {
            101 => return Err(Error::data(&job.inputs[0], "is odd")),
            103 => return Err(Error::resource("the disk is full")),
            130 => {
                control.stop();
                control.check()?;
            }
            // The directory for the result is removed while the job counts.
            104 => std::fs::remove_dir_all(job.output.as_ref().unwrap())
                .and_then(|()| std::fs::write(job.output.as_ref().unwrap(), "in the way"))
                .unwrap(),
            _ => {}
        }
        let mut result = RunResult::of(job);
        (result.vertices, result.edges, result.wedges) = (6, 10, 42);
        result.partitions = vec![PartitionResult { triangles: 7, arcs_kept: 10, ..PartitionResult::default() }];
        Ok(result.complete())
    }
    fn prepare(&self, job: &Job, shards: Option<NonZeroU32>, _: &Control) -> Result<PreparedReport> {
        self.note(format!("prepare {} for {shards:?}", job.title()));
        Ok(PreparedReport { parts: 3, ..PreparedReport::of(job) })
    }
    fn count_shard(&self, how: &Job, shard: ShardChoice, _: &Control) -> Result<ShardReport> {
        self.note(format!("count {shard:?} of {} on {}", how.run_dir.as_ref().unwrap().display(), how.backend));
        Ok(ShardReport::new("run".into(), "0/2".into(), 3, Mode::Graph))
    }
    fn merge(&self, how: &Job, control: &Control) -> Result<(RunResult, Option<PathBuf>)> {
        self.note(format!("merge {}", how.run_dir.as_ref().unwrap().display()));
        Ok((self.count(how, control)?, None))
    }
    fn cluster(&self, request: &ClusterRequest) -> Result<ClusterReport> {
        self.note(format!("cluster {} {:?}", request.run.display(), request.cluster.engine));
        Ok(ClusterReport::new("run".into(), NonZeroU32::MIN, vec!["run/a".into()], vec!["submit".into()]))
    }
    fn plan(&self, job: &Job, _: &Control) -> Result<PlanReport> {
        let mut plan = PlanReport::of(job);
        plan.partitions = vec![PlannedPartition { peak_bytes_predicted: Bytes(1000), ..Default::default() }];
        plan.advice = vec!["take more".into()];
        Ok(plan.complete())
    }
    fn partition(&self, job: &Job, _: &Control) -> Result<PartitionReport> {
        assert!(job.keep_spill);
        Ok(PartitionReport::of(job))
    }
    fn verify(&self, _: &Job, _: &Control) -> Result<VerifyReport> {
        let report = VerifyReport { triangles: 7, vertices: 6, edges: 10, wedges: 42, ..VerifyReport::default() };
        Ok(VerifyReport { seconds: 0.5, ..report.complete() })
    }
    fn bench(
        &self,
        request: &BenchRequest,
        _: &Control,
        done: &mut dyn FnMut(&BenchReport) -> Result<()>,
    ) -> Result<BenchReport> {
        self.note(format!("bench {:?} {:?} {} {:?}", request.methods, request.baseline, request.runs, request.timeout));
        let mut report = trimill::program::example();
        let methods = &mut report.graphs[0].methods;
        match request.methods.first().map(String::as_str) {
            Some("right") => methods.truncate(2),
            Some("late") => drop(methods.drain(..3)),
            _ => {}
        }
        done(&report)?;
        Ok(report)
    }
    fn generate(&self, request: &GenerateRequest, _: &Control) -> Result<GenerateReport> {
        self.note(format!("{request:?}"));
        Ok(GenerateReport { triangles: Some(u128::MAX), ..GenerateReport::default() })
    }
    fn inspect(&self, request: &InspectRequest, _: &Control) -> Result<serde_json::Value> {
        Ok(serde_json::json!({ "path": request.path, "verified": request.verify }))
    }
    fn doctor(&self, request: &DoctorRequest, _: &Control) -> Result<DoctorReport> {
        self.note(format!("doctor {:?}", request.work_dir));
        Ok(DoctorReport { no_gpu: Some("no driver".into()), ..DoctorReport::default() })
    }
    fn cache_list(&self, dir: Option<&Path>) -> Result<CacheReport> {
        self.note(format!("list {dir:?}"));
        Ok(CacheReport::default())
    }
    fn cache_remove(&self, _: Option<&Path>, request: &RemoveRequest) -> Result<CacheReport> {
        self.note(format!("{request:?}"));
        Ok(CacheReport::default())
    }
    fn cache_clear(&self, _: Option<&Path>) -> Result<CacheReport> {
        self.note("clear".into());
        Ok(CacheReport::default())
    }
    fn metis_child(&self, arguments: &[OsString]) -> Result<()> {
        self.note(format!("metis {arguments:?}"));
        Ok(())
    }
}

struct Run {
    end: Result<CommandOutcome>,
    out: String,
    err: String,
    asked: Vec<String>,
}

impl Run {
    fn kind(&self) -> Option<Kind> {
        match &self.end {
            Ok(outcome) => *outcome,
            Err(error) => Some(error.kind()),
        }
    }
}

/// Runs a command line whose words are separated by blanks, in which `@` stands for the directory.
fn run(dir: &Path, line: &str) -> Run {
    let words = line.split(' ').map(|word| word.replace('@', dir.to_str().unwrap()));
    let cli = Cli::try_parse_from(std::iter::once("trimill".to_owned()).chain(words)).unwrap();
    let (fake, mut out, mut err) = (Fake::default(), Vec::new(), Vec::new());
    let control = Control::silent();
    let end =
        super::run(&fake, cli.command, &mut CommandContext { out: &mut out, err: &mut err, terminal: false, control });
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { end, out: text(out), err: text(err), asked: fake.asked.into_inner() }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("g.txt"), "0 1\n").unwrap();
    let path = dir.path().to_path_buf();
    (dir, path)
}

#[test]
fn count_answers_as_a_table_as_json_and_in_files() {
    let (_guard, dir) = folder();
    let table = run(&dir, "count @/g.txt --partitioner random");
    assert_eq!(table.kind(), None);
    assert!(table.out.contains("triangles     7\n") && table.out.contains("by random"), "{}", table.out);
    let json = run(&dir, "count @/g.txt --json --output @/out");
    let result: RunResult = serde_json::from_str(&json.out).unwrap();
    assert_eq!((result.triangles, result.job), (7, None));
    assert_eq!(trimill::program::json::read_result(&dir.join("out/result.json")).unwrap().triangles, 7);
    assert!(dir.join("out/partitions.tsv").is_file());
}

#[test]
fn the_answer_is_printed_whatever_becomes_of_its_files() {
    let (_guard, dir) = folder();
    for json in ["", " --json"] {
        let _ = std::fs::remove_file(dir.join("out"));
        let lost = run(&dir, &format!("count @/g.txt --seed 104 --output @/out{json}"));
        assert_eq!(lost.kind(), Some(Kind::Resource));
        assert!(lost.out.contains("triangles") && lost.out.contains('7'), "{}", lost.out);
        assert!(lost.err.starts_with("error: ") && lost.err.contains("/out"), "{}", lost.err);
    }
    let batch = "[[job]]\ninput.path='g.txt'\npartition.seed=104\noutput.dir='o'\n[[job]]\ninput.path='g.txt'";
    std::fs::write(dir.join("b.toml"), batch).unwrap();
    let lost = run(&dir, "run @/b.toml --json");
    assert_eq!(lost.kind(), Some(Kind::Resource));
    let lines: Vec<serde_json::Value> = lost.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line["triangles"] == 7), "{}", lost.out);
    assert!(lost.err.contains("error: job 'job-1': ") && lost.err.contains("counted; resource: "), "{}", lost.err);
}

#[test]
fn a_result_is_not_written_over_unless_that_is_asked_for() {
    let (_guard, dir) = folder();
    assert_eq!(run(&dir, "count @/g.txt --output @/out").kind(), None);
    let before = std::fs::read(dir.join("out/result.json")).unwrap();
    let refused = run(&dir, "count @/g.txt --output @/out/../out");
    assert_eq!(refused.kind(), Some(Kind::Usage));
    assert!(refused.asked.is_empty(), "nothing is counted");
    assert!(refused.end.unwrap_err().to_string().contains("--force"));
    assert_eq!(std::fs::read(dir.join("out/result.json")).unwrap(), before);
    assert_eq!(run(&dir, "count @/g.txt --output @/out --force").kind(), None);
    // A batch is refused before its first job, by `--check` too.
    let batch = "[[job]]\ninput.path='g.txt'\n[[job]]\ninput.path='g.txt'\noutput.dir='out'";
    std::fs::write(dir.join("b.toml"), batch).unwrap();
    for more in ["", " --check"] {
        let refused = run(&dir, &format!("run @/b.toml{more}"));
        assert_eq!((refused.kind(), refused.asked.len()), (Some(Kind::Usage), 0));
    }
    assert_eq!(run(&dir, "run @/b.toml --set output.force=true").kind(), None);
    // That a job began in its run directory is no reason to replace what it did not announce.
    std::fs::create_dir(dir.join("r")).unwrap();
    std::fs::write(dir.join("r/job.json"), "{}").unwrap();
    assert_eq!(run(&dir, "count @/g.txt --output @/out --run-dir @/r").kind(), Some(Kind::Usage));
}

#[test]
fn settings_without_effect_are_refused_where_they_are_of_the_job_itself() {
    let (_guard, dir) = folder();
    let jobs = "[defaults]\ninput.path='g.txt'\ncount={ tile=64, devices=[0] }\npartition.metis.contract=4\n\
                [[job]]\ncount.backend='cpu'\n[[job]]\ncount.method='lstc'\npartition.partitioner='metis'\n";
    std::fs::write(dir.join("b.toml"), jobs).unwrap();
    let check = run(&dir, "run @/b.toml --check --json");
    assert_eq!(check.kind(), None, "{:?}", check.end);
    let lines: Vec<serde_json::Value> = check.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["tile"].is_null() && lines[0]["devices"].is_null());
    assert_eq!((&lines[1]["tile"], &lines[1]["devices"]), (&64.into(), &serde_json::json!([0])));
    for (set, words) in [
        ("job.job-1.count.tile=128", ["job 'job-1'", "--tile (count.tile) has no effect with the backend cpu"]),
        ("job.job-2.partition.partitioner=random", ["", ""]),
        ("job.job-1.partition.metis.contract=2", ["--metis-contract", "on the partitioner auto"]),
        ("count.method=guess", ["job 'job-1'", "the method 'guess'"]),
    ] {
        let run = run(&dir, &format!("run @/b.toml --check --set {set}"));
        match run.end {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("b.toml: ") && words.iter().all(|word| text.contains(word)), "{text}");
                assert_eq!(error.kind(), Kind::Usage);
            }
            Ok(_) => assert_eq!(words, ["", ""], "{set} is accepted"),
        }
    }
}

#[test]
fn settings_for_a_gpu_are_refused_where_none_counts_and_those_of_a_method_where_it_has_none() {
    let (_guard, dir) = folder();
    for (line, words) in [
        ("count @/g.txt --method reverse-edge --backend cuda --tile 64", ["--tile", "on the method reverse-edge"]),
        ("count @/g.txt --method packed --tile 64", ["--tile", "on the method packed"]),
        ("plan @/g.txt --method skiff --tile 64", ["--tile", "on the method skiff"]),
        ("count @/g.txt --method packed --block-threads 64", ["--block-threads", "on the method packed"]),
        ("plan @/g.txt --method radix-binning --block-threads 64", ["--block-threads", "on the method radix-binning"]),
    ] {
        let run = run(&dir, line);
        assert_eq!(run.kind(), Some(Kind::Usage), "{line}");
        let text = run.end.unwrap_err().to_string();
        assert!(words.iter().all(|word| text.contains(word)) && text.contains("has no effect"), "{line}: {text}");
    }
    let there = trimill_kernels::find().is_ok();
    for setting in ["--devices all", "--devices 0", "--tile 64", "--block-threads 64", "--device-timeout 5"] {
        for command in
            ["count @/g.txt", "plan @/g.txt", "prepare @/g.txt --run-dir @/r", "count @/g.txt --method reverse-edge"]
        {
            if there || setting.starts_with("--tile") && command.contains("reverse") {
                continue;
            }
            let run = run(&dir, &format!("{command} {setting}"));
            assert_eq!(run.kind(), Some(Kind::Usage), "{command} {setting}");
            let text = run.end.unwrap_err().to_string();
            assert!(text.contains("has no effect on the CPU, which counts here: "), "{text}");
        }
        // A GPU that need not be here.
        let planned = run(&dir, &format!("plan @/g.txt --backend cuda --device-memory 1000 {setting}"));
        assert_eq!(planned.kind(), None, "{setting}");
    }
    if !there {
        assert_eq!(run(&dir, "bench @/g.txt --devices all").kind(), Some(Kind::Usage));
    }
}

/// Every flag that takes a number from 1 on, of every command.
#[test]
fn zero_is_refused_in_plain_words() {
    use clap::CommandFactory;
    use std::any::TypeId;
    use std::num::NonZeroUsize;

    fn check(command: &clap::Command, words: &[String], seen: &mut u32) {
        let numbers = [TypeId::of::<NonZeroU32>(), TypeId::of::<NonZeroUsize>()];
        for flag in
            command.get_arguments().filter(|flag| numbers.iter().any(|it| flag.get_value_parser().type_id() == *it))
        {
            let name = flag.get_long().unwrap();
            for (typed, said) in [
                ("0", "expected a whole number from 1 on"),
                ("-1", "expected a whole number from 1 on"),
                ("1.5", "expected a whole number from 1 on"),
                ("many", "expected a whole number from 1 on"),
                ("99999999999999999999999", "the number is too large"),
            ] {
                let error =
                    Cli::try_parse_from([words, &[format!("--{name}={typed}")]].concat()).unwrap_err().to_string();
                assert!(error.contains(said) && error.contains(name), "{words:?} --{name}={typed}: {error}");
            }
            *seen += 1;
        }
        for below in command.get_subcommands() {
            check(below, &[words, &[below.get_name().to_owned()]].concat(), seen);
        }
    }
    let mut seen = 0;
    check(&Cli::command(), &["trimill".to_owned()], &mut seen);
    assert!(seen >= 20, "{seen}");
}

#[test]
fn errors_keep_their_kinds() {
    let (_guard, dir) = folder();
    for (line, kind) in [
        ("count @/missing.txt", Kind::Data),
        ("count @/g.txt --seed 101", Kind::Data),
        ("count @/g.txt --seed 103", Kind::Resource),
        ("count @/g.txt --seed 130", Kind::Interrupted),
        ("count @/g.txt -", Kind::Usage),
        ("count @/g.txt --device-memory 0", Kind::Usage),
        ("count @/g.txt --metis-contract 8", Kind::Usage),
        ("count @/g.txt --method guess", Kind::Usage),
        ("plan @/g.txt --method lstc --backend cpu", Kind::Usage),
        ("count @/g.txt --backend cpu --tile 64", Kind::Usage),
        ("count @/g.txt --method bitmap --block-threads 64", Kind::Usage),
        ("partition @/g.txt --method forward --devices 0 --spill-dir @/s", Kind::Usage),
        ("bench @/g.txt --backend cpu --devices 0", Kind::Usage),
        ("count @/g.txt --output @/g.txt", Kind::Resource),
        ("count @/g.txt --partitioner file:@/parts", Kind::Data),
        ("partition @/g.txt --spill-dir @/g.txt", Kind::Resource),
        ("run @/missing.toml", Kind::Data),
        ("man cuont", Kind::Usage),
    ] {
        assert_eq!(run(&dir, line).kind(), Some(kind), "{line}");
    }
}

#[test]
fn a_plan_that_does_not_fit_is_printed_and_is_a_lack_of_resources() {
    let (_guard, dir) = folder();
    let fits = run(&dir, "plan @/g.txt --device-memory 1000");
    assert_eq!(fits.kind(), None);
    let short = run(&dir, "plan @/g.txt --device-memory 999");
    assert_eq!(short.kind(), Some(Kind::Resource));
    assert!(short.out.contains("advice: take more"), "{}", short.out);
    assert!(run(&dir, "plan @/g.txt --device-memory 999 --json").out.contains("\"fits\":false"));
}

#[test]
fn a_comparison_fails_by_a_wrong_count_or_when_nothing_counted() {
    let (_guard, dir) = folder();
    let right = run(&dir, "bench @/g.txt --methods right,other --baseline other --runs 3 --timeout 0.5");
    assert_eq!(right.kind(), None);
    assert_eq!(right.asked, [r#"bench ["right", "other"] Some("other") 3 500ms"#]);
    let wrong = run(&dir, "bench @/g.txt --json --output @/new/b.json --report @/new/b.html");
    assert_eq!(wrong.kind(), Some(Kind::Data));
    assert!(wrong.err.contains("odd <&>@cpu: WRONG: counted 8 triangles; expected 7 (--expect)"), "{}", wrong.err);
    let printed: BenchReport = serde_json::from_str(&wrong.out).unwrap();
    let kept: BenchReport = serde_json::from_slice(&std::fs::read(dir.join("new/b.json")).unwrap()).unwrap();
    assert_eq!((&printed, &kept), (&trimill::program::example(), &printed));
    let page = std::fs::read_to_string(dir.join("new/b.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("odd \\u003c&>"), "{page}");
    let late = run(&dir, "bench @/g.txt --methods late");
    assert_eq!(late.kind(), Some(Kind::Resource));
    assert!(late.err.contains("no method counted") && late.out.contains("stopped after 60 s"), "{}", late.err);
    for line in ["bench -", "bench @/g.txt @/g.txt --expect 7", "bench @/g.txt --metis-contract 8"] {
        assert_eq!(run(&dir, line).kind(), Some(Kind::Usage), "{line}");
    }
}

const BATCH: &str = "
[defaults.input]
path = 'g.txt'
[[job]]
name = 'good'
[[job]]
name = 'bad'
partition.seed = 101
[[job]]
name = 'gone'
input.path = 'missing.txt'
[[job]]
name = 'last'
partition.partitioner = 'random'
";

#[test]
fn one_failing_job_does_not_stop_the_batch() {
    let (_guard, dir) = folder();
    std::fs::write(dir.join("b.toml"), BATCH).unwrap();
    let batch = run(&dir, "run @/b.toml");
    assert_eq!(batch.kind(), Some(Kind::Data));
    assert_eq!(batch.asked, ["count good auto", "count bad auto", "count last random"]);
    assert!(batch.err.contains("job 'bad'") && batch.err.contains("is odd"), "{}", batch.err);
    let summary = &batch.out[batch.out.rfind('┌').unwrap()..];
    for words in [["good", "done"], ["bad", "is odd"], ["gone", "cannot be read"], ["last", "done"]] {
        let line = summary.lines().find(|line| line.contains(&format!(" {} ", words[0]))).expect(words[0]);
        assert!(line.contains(words[1]), "{line}");
    }

    let json = run(&dir, "run @/b.toml --json");
    let lines: Vec<serde_json::Value> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = lines.iter().map(|line| line["job"].as_str().unwrap()).collect();
    assert_eq!(names, ["good", "bad", "gone", "last"]);
    assert_eq!(lines[1]["error"]["kind"], "data");
    assert_eq!(lines[3]["triangles"], 7);
    assert!(json.err.contains("outcome"), "the summary: {}", json.err);
}

#[test]
fn the_batch_ends_with_its_highest_code_and_stops_when_it_is_stopped() {
    let (_guard, dir) = folder();
    std::fs::write(dir.join("b.toml"), BATCH).unwrap();
    let disk = run(&dir, "run @/b.toml --set job.last.partition.seed=103");
    assert_eq!(disk.kind(), Some(Kind::Resource));
    let stopped = run(&dir, "run @/b.toml --set job.bad.partition.seed=130");
    assert_eq!(stopped.kind(), Some(Kind::Interrupted));
    assert_eq!(stopped.asked.len(), 2);
    assert!(stopped.out.contains("not started"));
    assert_eq!(run(&dir, "run @/b.toml --only good --only last").kind(), None);
}

#[test]
fn check_runs_nothing_and_looks_for_every_file() {
    let (_guard, dir) = folder();
    std::fs::write(dir.join("b.toml"), BATCH).unwrap();
    let check = run(&dir, "run @/b.toml --check --set partition.parts=5");
    assert_eq!(check.kind(), Some(Kind::Data));
    assert!(check.asked.is_empty());
    assert!(check.out.contains(" 5 ") && check.out.contains("random"), "{}", check.out);
    assert!(check.err.contains("job 'gone'") && check.err.contains("missing.txt"), "{}", check.err);
    let json = run(&dir, "run @/b.toml --check --json --only last");
    assert_eq!(json.kind(), None);
    let job: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((job["name"].as_str(), job["partitioner"].as_str()), (Some("last"), Some("random")));
}

#[test]
fn the_other_commands_ask_for_what_was_typed() {
    let (_guard, dir) = folder();
    let asked = |line: &str| {
        let run = run(&dir, line);
        assert_eq!(run.kind(), None, "{line}: {:?}", run.end);
        (run.asked.join("\n"), run.out)
    };
    let (request, out) = asked("generate stars 3-4-5 --kind B1k --output s.bin --json");
    assert!(request.contains("leaves: [3, 4, 5], kind: B1k") && request.contains("s.bin"));
    assert!(out.contains("\"triangles\":340282366920938463463374607431768211455,\"seconds\""), "{out}");
    assert!(asked("generate blowup @/g.txt --copies 6 -o b.txt").0.contains("copies: 6"));
    assert!(asked("generate gap-kron --scale 22 --output k22.bin").0.contains("GapKron { scale: 22 }"));
    asked("generate gap-urand --scale 10 -o u.bin");
    asked("generate tensor-complete @/g.txt --order 4 -o u.bin");
    asked("generate ring-lattice --vertices 10 --k 3 -o u.bin");
    asked("generate kings-grid --rows 3 --columns 4 -o u.bin");
    asked("generate complete --vertices 9 -o u.bin");
    asked("generate ring-of-cliques --cliques 3 --size 4 -o u.bin");
    asked("generate hamming --dimension 3 --order 3 -o u.bin");
    assert!(asked("inspect s.spill --verify").1.contains("verified  yes"));
    assert!(asked("doctor --work-dir /w").1.contains("none: no driver"));
    assert!(asked("cache remove abc --max 1KiB").0.contains("Some(Bytes(1024))"));
    asked("cache list --cache-dir /c --json");
    asked("cache clear");
    asked("verify @/g.txt --host-memory 1GiB");
    asked("partition @/g.txt --spill-dir @/spill");
    assert!(asked("metis-child --graph x -k 3").0.contains("\"--graph\", \"x\", \"-k\", \"3\""));
    assert!(asked("man count").1.contains("trimill"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(asked(&format!("completions {shell}")).1.contains("trimill"));
    }
}
