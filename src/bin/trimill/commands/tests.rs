//! The commands, on a wheel of eight vertices, which has seven triangles.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{CommandContext, CommandOutcome};
use crate::cli::{Cli, Command};
use trimill::{Control, Kind, Result};

pub(super) struct Run {
    pub(super) end: Result<CommandOutcome>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Run {
    pub(super) fn kind(&self) -> Option<Kind> {
        match &self.end {
            Ok(outcome) => *outcome,
            Err(error) => Some(error.kind()),
        }
    }
}

/// Parses `line`, in which `@` stands for the directory; words are separated by blanks. Caches are in that directory, too.
pub(super) fn parsed(dir: &Path, line: &str) -> Command {
    let cached = line.starts_with("count ") || line.starts_with("plan ");
    let line = if cached { format!("{line} --cache-dir @/cache") } else { line.to_owned() };
    let words = line.split(' ').map(|word| word.replace('@', dir.to_str().unwrap()));
    Cli::try_parse_from(std::iter::once("trimill".to_owned()).chain(words)).unwrap().command
}

pub(super) fn within(control: Control, command: impl FnOnce(&mut CommandContext<'_>) -> Result<CommandOutcome>) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (terminal, quiet, program) = (false, false, None);
    let end = command(&mut CommandContext { out: &mut out, err: &mut err, terminal, quiet, control, program });
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { end, out: text(out), err: text(err) }
}

pub(super) fn run(dir: &Path, line: &str) -> Run {
    within(Control::silent(), |context| super::run(parsed(dir, line), context))
}

pub(super) fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_path_buf();
    let wheel: String = (1..8).map(|i| format!("0 {i}\n{i} {}\n", i % 7 + 1)).collect();
    std::fs::write(path.join("g.txt"), wheel).unwrap();
    std::fs::write(path.join("odd.txt"), "this is no graph\n").unwrap();
    (dir, path)
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
    let [count, other] = [0, 1].map(|i| &lines[i]["settings"]["count"]);
    assert!(count["tile"].is_null() && count["devices"].is_null());
    assert_eq!((&other["tile"], &other["devices"]), (&64.into(), &serde_json::json!([0])));
    let jobs = "[defaults]\ninput.path='g.txt'\noutput={ report='r.html', against='o.json', trace='t.json' }\n\
                cache.max='1GiB'\n[[job]]\ncluster.engine='slurm'\nrun.dir='R'\n";
    std::fs::write(dir.join("c.toml"), jobs).unwrap();
    let check = run(&dir, "run @/c.toml --check --json");
    assert_eq!(check.kind(), None, "{:?}", check.end);
    let output = &serde_json::from_str::<serde_json::Value>(&check.out).unwrap()["settings"]["output"];
    assert!(["report", "against", "trace"].iter().all(|file| output[file].is_null()), "{output}");
    for (set, words) in [
        ("job.job-1.count.tile=128", ["job 'job-1'", "--tile (count.tile) has no effect with the backend cpu"]),
        ("job.job-2.partition.partitioner=random", ["", ""]),
        ("job.job-1.partition.metis.contract=2", ["--metis-contract", "with the partitioner auto"]),
        ("job.job-2.cluster.shards=4", ["cluster has no effect without a scheduler", "cluster.engine = \"slurm\""]),
        ("cluster.shards=4", ["", ""]),
        ("job.job-1.output.per_edge=e.txt", ["e.txt: job 'job-1'", "expected a name that ends with"]),
        ("count.method=guess", ["job 'job-1'", "the method 'guess'"]),
    ] {
        let run = run(&dir, &format!("run @/b.toml --check --set {set}"));
        match run.end {
            Err(error) => {
                let text = run.err + &error.to_string();
                assert!(text.contains("b.toml: ") && words.iter().all(|word| text.contains(word)), "{text}");
                assert_eq!(error.kind(), Kind::Usage);
            }
            Ok(_) => assert_eq!(words, ["", ""], "{set} is accepted"),
        }
    }
}

#[test]
fn a_job_whose_settings_do_not_go_together_is_refused_before_an_earlier_one_begins() {
    const CLUSTER: &str = "run.dir='R'\ncluster={engine='slurm',shards=4}\n";
    let (_guard, dir) = folder();
    assert_eq!(run(&dir, "partition @/g.txt --spill-dir @/kept --no-cache").kind(), None);
    for (cluster, settings, said) in [
        (CLUSTER, "spill.dir='S'", "a job that is prepared for shards, and a directory for spills"),
        (CLUSTER, "spill={dir='S',keep=true}", "a job that is prepared for shards, and to keep the spills"),
        (CLUSTER, "output.per_vertex='-'", "a table on standard output, of a job that is counted in shards"),
        (CLUSTER, "cache.max='1GiB'", "cache.max has no effect in a job that a cluster counts"),
        (CLUSTER, "cache.enabled=false", "cache.enabled has no effect in a job that a cluster counts"),
        (CLUSTER, "count.method='forward'", "counts whole graphs only, and 4 shards are asked for"),
        ("", "partition.parts=3\ncount.method='forward'", "counts whole graphs only, and 3 parts are asked for"),
        ("", "input.header='yes'\ninput.format='bin-u32'", "--header for a file of format bin-u32"),
        ("", "input.path='kept'\npartition.parts=3", "has spilled partitions, for which --parts cannot be set"),
    ] {
        let input = if settings.contains("input.path") { "" } else { "input.path='g.txt'\n" };
        let jobs = format!("[[job]]\ninput.path='g.txt'\noutput.dir='o'\n[[job]]\n{input}{cluster}{settings}\n");
        std::fs::write(dir.join("b.toml"), jobs).unwrap();
        for more in ["", " --check"] {
            let error = run(&dir, &format!("run @/b.toml{more}")).end.unwrap_err();
            assert_eq!(error.kind(), Kind::Usage, "{settings}{more}: {error}");
            let text = error.to_string();
            assert!(text.contains("job 'job-2'") && text.contains(said), "{settings}{more}: {text}");
        }
        assert!(!dir.join("o").exists(), "{settings}");
    }
}

#[test]
fn settings_for_a_gpu_are_refused_where_none_counts_and_those_of_a_method_where_it_has_none() {
    let (_guard, dir) = folder();
    for (line, words) in [
        ("count @/g.txt --method reverse-edge --backend cuda --tile 64", ["--tile", "with the method reverse-edge"]),
        ("count @/g.txt --method packed --tile 64", ["--tile", "with the method packed"]),
        (
            "count @/g.txt --partitioner file:@/p.txt --parts 2",
            ["--parts (partition.parts)", "with the partitioner file:"],
        ),
        ("plan @/g.txt --method skiff --tile 64", ["--tile", "with the method skiff"]),
        ("count @/g.txt --method packed --block-threads 64", ["--block-threads", "with the method packed"]),
        (
            "plan @/g.txt --method radix-binning --block-threads 64",
            ["--block-threads", "with the method radix-binning"],
        ),
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
        // A GPU need not exist for a plan.
        for backend in ["auto", "cuda"] {
            let planned = run(&dir, &format!("plan @/g.txt --backend {backend} --device-memory 1GiB {setting}"));
            assert_eq!(planned.kind(), None, "{backend} {setting}: {:?}", planned.end);
        }
    }
    if !there {
        assert_eq!(run(&dir, "bench @/g.txt --devices all").kind(), Some(Kind::Usage));
        let absent = run(&dir, "count @/g.txt --method lstc").end.unwrap_err().to_string();
        assert!(absent.contains("--backend cpu, and leave out --devices and a --method of GPUs"), "{absent}");
    }
}

/// Settings are declared once for all commands; each command shows and accepts only those that apply to it.
#[test]
fn settings_that_a_command_does_not_take_are_neither_shown_nor_accepted() {
    use clap::CommandFactory;
    for (line, flag) in [
        ("plan g --run-dir r", "--run-dir"),
        ("plan g --force", "--force"),
        ("partition g --spill-dir s --per-edge e.tsv", "--per-edge"),
        ("partition g --spill-dir s --keep-spill", "--keep-spill"),
        ("verify g --backend cpu", "--backend"),
        ("verify g --device-memory 1GiB", "--device-memory"),
        ("verify g --no-cache", "--no-cache"),
        ("verify g --cache-dir c", "--cache-dir"),
        ("verify g --cache-max 1GiB", "--cache-max"),
        ("prepare g --run-dir r --spill-dir s", "--spill-dir"),
        ("prepare g --run-dir r --no-cache", "--no-cache"),
        ("prepare g --run-dir r --cache-max 1GiB", "--cache-max"),
        ("merge r --cache-dir c", "--cache-dir"),
        ("merge r --method lstc", "--method"),
        ("cluster hq r --time 4:00:00", "--time"),
        ("bench g --tile 64", "--tile"),
        ("bench g --force", "--force"),
    ] {
        let words = || line.split(' ').map(str::to_owned);
        let error = Cli::try_parse_from(std::iter::once("trimill".to_owned()).chain(words())).unwrap_err().to_string();
        assert!(error.starts_with(&format!("error: {flag}: this command has no such option\n")), "{line}: {error}");
        let mut command = Cli::command();
        let mut found = &mut command;
        for name in words().take_while(|word| word != "g" && word != "r") {
            found = found.find_subcommand_mut(name).unwrap();
        }
        let help = found.render_long_help().to_string();
        assert!(!help.contains(&format!("{flag} ")) && !help.contains(&format!("{flag}\n")), "{line}: {help}");
    }
    // Nor are they named where `--force` needs one of a group.
    for line in ["verify g --force", "prepare g --run-dir r --force", "partition g --force"] {
        let error = Cli::try_parse_from(std::iter::once("trimill").chain(line.split(' '))).unwrap_err().to_string();
        assert!(error.contains("required") && !error.contains("--keep-spill"), "{line}: {error}");
    }
    // An input after an unknown flag is not taken for the flag's value.
    let error = Cli::try_parse_from(["trimill", "plan", "--force", "g"]).unwrap_err().to_string();
    assert!(error.starts_with("error: --force: this command has no such option\n"), "{error}");
}

/// Every flag that takes a number from 1 on, of every command.
#[test]
fn zero_is_refused_in_plain_words() {
    use std::any::TypeId;
    use std::num::NonZeroUsize;

    let numbers = [TypeId::of::<NonZeroU32>(), TypeId::of::<NonZeroUsize>()];
    let is_number = |flag: &&clap::Arg| numbers.iter().any(|it| flag.get_value_parser().type_id() == *it);
    let mut seen = 0;
    for (words, command) in super::shell::tests::commands() {
        for flag in command.get_arguments().filter(is_number) {
            let name = flag.get_long().unwrap();
            for (typed, said) in [
                ("0", "expected a whole number from 1 on"),
                ("-1", "expected a whole number from 1 on"),
                ("1.5", "expected a whole number from 1 on"),
                ("many", "expected a whole number from 1 on"),
                ("99999999999999999999999", "the number is too large"),
            ] {
                let typed = format!("--{name}={typed}");
                let error = Cli::try_parse_from(words.iter().chain([&typed])).unwrap_err().to_string();
                assert!(error.contains(said) && error.contains(name), "{words:?} {typed}: {error}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn errors_keep_their_kinds() {
    let (_guard, dir) = folder();
    for (line, kind) in [
        ("count @/g.txt --host-memory 1", Kind::Resource),
        ("plan @/g.txt --method lstc --backend cpu", Kind::Usage),
        ("partition @/g.txt --method forward --devices 0 --spill-dir @/s", Kind::Usage),
        ("bench -", Kind::Usage),
        ("bench @/g.txt @/g.txt --expect 7", Kind::Usage),
        ("bench @/g.txt --metis-contract 8", Kind::Usage),
    ] {
        assert_eq!(run(&dir, line).kind(), Some(kind), "{line}");
    }
}

#[test]
fn the_other_commands_do_what_was_typed() {
    let (_guard, dir) = folder();
    let said = |line: &str| {
        let run = run(&dir, line);
        assert_eq!(run.kind(), None, "{line}: {:?}", run.end);
        run.out
    };
    for line in [
        "generate stars 3-4-5 --kind B1k -o @/s.bin",
        "generate blowup @/g.txt --copies 6 -o @/b.txt",
        "generate tensor-complete @/g.txt --order 4 -o @/t.bin",
        "generate ring-lattice --vertices 10 --k 3 -o @/r.bin",
        "generate kings-grid --rows 3 --columns 4 -o @/k.bin",
        "generate complete --vertices 9 -o @/c.bin",
        "generate ring-of-cliques --cliques 3 --size 4 -o @/q.bin",
        "generate hamming --dimension 3 --order 3 -o @/h.bin",
    ] {
        let triangles = |out: String| serde_json::from_str::<serde_json::Value>(&out).unwrap()["triangles"].clone();
        let known = triangles(said(&format!("{line} --json")));
        let (_, file) = line.rsplit_once(' ').unwrap();
        assert_eq!(known, triangles(said(&format!("verify {file} --json"))), "{line}");
    }
    said("generate gap-kron --scale 8 --output @/k8.bin");
    said("generate gap-urand --scale 8 -o @/u.bin");
    said("partition @/g.txt --spill-dir @/spill --cache-dir @/cache");
    let inspected = said("inspect @/spill --verify");
    assert!(inspected.lines().any(|line| line.starts_with("verified ") && line.ends_with(" yes")), "{inspected}");
    assert!(said("doctor --work-dir @").contains(dir.to_str().unwrap()));
    assert!(said("verify @/g.txt --host-memory 1GiB").contains("triangles     7\n"));
    assert!(said("count @/g.txt").contains("triangles     7\n"));
    assert!(said("cache list --cache-dir @/cache").contains("g.txt"));
    assert!(said("cache remove @/g.txt --max 1KiB --cache-dir @/cache").contains("g.txt"));
    for line in
        ["inspect @/spill", "doctor", "cache clear --cache-dir @/cache", "generate complete --vertices 3 -o @/d.bin"]
    {
        let answer: serde_json::Value = serde_json::from_str(&said(&format!("{line} --json"))).unwrap();
        assert_eq!(answer["schema_version"], 1, "{line}");
    }
}
