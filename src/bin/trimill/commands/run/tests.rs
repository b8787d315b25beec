use clap::Parser;

use crate::cli::Cli;
use crate::commands;
use crate::commands::tests::{folder, parsed, run, within};
use trimill::program::{Tables, key_of};
use trimill::{Control, Kind};

#[test]
fn advice_for_a_job_names_the_key_of_its_file() {
    let (_guard, dir) = folder();
    std::fs::write(dir.join("b.toml"), "[[job]]\ninput.path='g.txt'\ncache.enabled=false\nmemory.device='1'\n")
        .unwrap();
    let memory = run(&dir, "run @/b.toml");
    assert!(memory.err.contains("raise --device-memory"), "{}", memory.err);
    assert!(memory.err.contains("in a job file --device-memory is `memory.device`"), "{}", memory.err);
    // Could be a header or an arc: --header is named twice.
    std::fs::write(dir.join("l.txt"), "3 2\n3 1\n3 2\n").unwrap();
    std::fs::write(dir.join("b.toml"), "[[job]]\ninput.path='l.txt'\ncache.enabled=false\n").unwrap();
    let header = run(&dir, "run @/b.toml").err;
    let told = header.lines().filter_map(|line| line.strip_prefix("error: ")).collect::<String>();
    assert_eq!(told.matches("in a job file --header is `input.header`").count(), 1, "{header}");
    // Before a job begins.
    std::fs::write(dir.join("b.toml"), "[[job]]\ninput={path='g.txt',format='bin-u32',header='yes'}\n").unwrap();
    let refused = run(&dir, "run @/b.toml").end.unwrap_err().to_string();
    assert!(refused.contains("--header for a file") && refused.contains("is `input.header`"), "{refused}");
}

#[test]
fn every_flag_of_a_job_has_a_key() {
    let tables = serde_json::to_value(Tables::default()).unwrap();
    let job = <Tables as clap::Args>::augment_args(clap::Command::new("job"));
    let flags: Vec<String> = job.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    assert!(flags.len() > 40, "{flags:?}");
    for flag in flags {
        let key = key_of(&flag).unwrap_or_else(|| panic!("{flag}"));
        assert!(tables.pointer(&format!("/{}", key.replace('.', "/"))).is_some(), "{flag}: {key}");
    }
    assert_eq!(key_of("--metis-contract").as_deref(), Some("partition.metis.contract"));
    assert_eq!([key_of("--features"), key_of("--path")], [None, None]);
}

/// So that the settings in a report can repeat the job.
#[test]
fn a_seed_is_one_that_a_job_file_can_hold() {
    let typed = |seed: &str| Cli::try_parse_from(["trimill", "count", "g", "--seed", seed]);
    assert!(typed("9223372036854775807").is_ok());
    let error = typed("9223372036854775808").unwrap_err().to_string();
    assert!(error.contains("'--seed <SEED>'") && error.contains("0..=9223372036854775807"), "{error}");
}

const BATCH: &str = "
[defaults]
input.path = 'g.txt'
cache.dir = 'cache'
[[job]]
name = 'good'
[[job]]
name = 'bad'
input.path = 'odd.txt'
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
    assert!(batch.err.contains("job 'bad'") && batch.err.contains("odd.txt:1"), "{}", batch.err);
    let summary = &batch.out[batch.out.rfind('┌').unwrap()..];
    for words in [["good", "done"], ["bad", "odd.txt"], ["gone", "cannot be read"], ["last", "done"]] {
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
    let memory = run(&dir, "run @/b.toml --set job.last.memory.host=1");
    assert_eq!(memory.kind(), Some(Kind::Resource));
    let control = Control::silent();
    control.stop();
    let stopped = within(control, |context| commands::run(parsed(&dir, "run @/b.toml"), context));
    assert_eq!(stopped.kind(), Some(Kind::Interrupted));
    assert!(stopped.out.matches("not started").count() == 4, "{}", stopped.out);
    assert_eq!(run(&dir, "run @/b.toml --only good --only last").kind(), None);
}

#[test]
fn check_runs_nothing_and_looks_for_every_file() {
    let (_guard, dir) = folder();
    std::fs::write(dir.join("b.toml"), BATCH).unwrap();
    let check = run(&dir, "run @/b.toml --check --set partition.parts=5");
    assert_eq!(check.kind(), Some(Kind::Data));
    assert!(!dir.join("cache").exists(), "nothing is read");
    assert!(check.out.contains(" 5 ") && check.out.contains("random"), "{}", check.out);
    assert!(check.err.contains("job 'gone'") && check.err.contains("missing.txt"), "{}", check.err);
    // A run refuses these before its first job; a check accepts budgets of other machines.
    for (set, kind, words) in [
        ("job.last.memory.host=\"1EiB\"", Kind::Usage, "job 'last': a host budget"),
        ("job.last.output.per_vertex=nowhere/v.tsv", Kind::Resource, "job 'last': cannot be written"),
    ] {
        for more in ["", " --check"] {
            let run = run(&dir, &format!("run @/b.toml --only good --only last --set {set}{more}"));
            let kind = Some(kind).filter(|_| !(set.contains("memory.host") && more == " --check"));
            assert_eq!(run.kind(), kind, "{set}{more}");
            let said = run.end.err().map_or(run.err, |error| error.to_string());
            assert!(kind.is_none() || said.contains(words), "{set}{more}: {said}");
            assert!(!dir.join("cache").exists(), "nothing is read");
        }
    }
    for place in ["spill.dir=g.txt/s", "run.dir=g.txt/r", "work.dir=g.txt/w/x"] {
        let check = run(&dir, &format!("run @/b.toml --check --only last --set job.last.{place}"));
        assert_eq!(check.kind(), Some(Kind::Resource), "{place}");
        assert!(check.err.contains("g.txt: is not a directory"), "{place}: {}", check.err);
    }
    let json = run(&dir, "run @/b.toml --check --json --only last");
    assert_eq!(json.kind(), None);
    let job: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!([&job["name"], &job["settings"]["partition"]["partitioner"]], ["last", "random"]);
}

#[test]
fn a_check_names_the_faults_of_all_jobs_in_their_order() {
    let (_guard, dir) = folder();
    let jobs = "[defaults]\ninput.path='g.txt'\n[[job]]\ncount={ backend='cpu', tile=64 }\n[[job]]\nspill.keep=true\n\
                [[job]]\n[[job]]\noutput.k=2\n";
    std::fs::write(dir.join("b.toml"), jobs).unwrap();
    // The last object is of the error that ends the command.
    for (more, faults, objects) in
        [("", &["1"][..], 0), (" --check", &["1", "2", "4"], 0), (" --check --json", &["1", "2", "4"], 2)]
    {
        let run = run(&dir, &format!("run @/b.toml{more}"));
        assert_eq!(run.out.lines().count(), objects, "{}", run.out);
        let said = run.err + &run.end.unwrap_err().to_string();
        let jobs: Vec<&str> = said.split("b.toml: job 'job-").skip(1).map(|rest| &rest[..1]).collect();
        assert_eq!(jobs, faults, "{said}");
    }
}
