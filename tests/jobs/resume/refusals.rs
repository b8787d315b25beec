//! Starts that are refused: another job, another input, another process, a directory with other files.

use std::fs;

use trimill::Kind;
use trimill::testing::run_dir::RunDir;

use super::support::{COLLABORATION, Place, ROUTERS, data, files, stderr};
use crate::common::place::make_pipe;
use crate::files::dated;

#[test]
fn another_job_is_told_what_differs() {
    let place = Place::new();
    let routers = data(ROUTERS.0);
    place.completes(ROUTERS, &["--parts", "4"]);
    let parts_of_metis = ["--parts", "4", "--partitioner", "metis"];
    let mode = "mode: recorded auto, now spilled, as --prune or --keep-spill asks for)";
    for (arguments, said) in [
        (&["--parts", "5"][..], "(parts: recorded 4, now 5)".to_string()),
        (&["--parts", "4", "--seed", "9"], "(seed: recorded 1, now 9)".into()),
        (&["--parts", "4", "--prune", "none"], format!("(prune: recorded direct, now none; {mode}")),
        (&["--parts", "4", "--prune", "direct"], format!("({mode}")),
        (&["--parts", "4", "--partitioner", "random"], "(partitioner: recorded auto, now random)".into()),
        (&["--parts", "4", "--block-bytes", "1MiB"], "(block bytes: recorded none, now 1048576)".into()),
        (&[&parts_of_metis[..], &["--metis-contract", "4"]].concat(), "; metis contract: recorded none, now 4".into()),
    ] {
        place.start_refused(3, &routers, arguments, &["run: belongs to another job", &said, "another --run-dir"]);
    }
    let other = data("karate.mtx");
    place.start_refused(3, &other, &["--parts", "4"], &["recorded text, now matrix-market", "as20000102.txt, now"]);
    // The run directory is unchanged.
    place.completes(ROUTERS, &["--parts", "4"]);
}

#[test]
fn a_start_without_a_plan_does_not_keep_other_jobs_out() {
    let place = Place::new();
    let routers = data(ROUTERS.0);
    place.write("bad.txt", "no part\n");
    let bad = ["--partitioner", "file:bad.txt", "--no-cache"];
    place.start_refused(1, &routers, &bad, &["bad.txt:1: "]);
    assert!(place.path("run/job.json").exists() && !place.path("run/plan.json").exists());
    // The graph that is kept there is for later starts with its input.
    place.start_refused(3, &data(COLLABORATION.0), &[], &["run: belongs to another job", "as20000102.txt, now"]);
    let (result, said) = place.completes(ROUTERS, &["--parts", "4", "--no-cache"]);
    assert!(result.stages[0].name == "cached" && !said.contains("another job"), "{said}");
    fs::remove_dir_all(place.path("run")).unwrap();
    place.start_refused(1, &routers, &bad[..2], &["bad.txt:1: "]);
    place.completes(COLLABORATION, &[]);
    assert_eq!(place.read("run/job.json").matches("ca-HepTh").count(), 1);
}

#[test]
fn what_a_start_that_was_refused_would_have_written_is_no_file_of_the_next_job() {
    let place = Place::new();
    let routers = data(ROUTERS.0);
    place.start_refused(3, &routers, &["--per-vertex", "v.tsv", "--device-memory", "10"], &["--device-memory"]);
    place.write("v.tsv", "of somebody");
    for input in [&routers, &data(COLLABORATION.0)] {
        place.start_refused(2, input, &["--per-vertex", "v.tsv"], &["v.tsv: is there already"]);
    }
    assert_eq!(place.read("v.tsv"), "of somebody");
}

#[test]
fn a_start_that_is_refused_leaves_no_empty_directories() {
    for more in [&["--device-memory", "10", "--spill-dir", "tmp"][..], &["--format", "metis", "--no-cache"]] {
        let place = Place::new();
        assert!(!place.start(&data(ROUTERS.0), more).status.success());
        let left = [place.path("run"), place.path("tmp")].map(|dir| fs::read_dir(dir).unwrap());
        assert!(left.into_iter().flatten().flatten().all(|entry| entry.path().is_file()), "{more:?}");
        assert!(place.path("run/lock").exists());
    }
}

#[test]
fn a_changed_input_is_told_what_changed() {
    let place = Place::new();
    place.write("g.txt", "0 1\n1 2\n2 0\n");
    assert_eq!(place.start("g.txt", &[]).status.code(), Some(0));
    place.write("g.txt", "0 1\n1 2\n2 0\n2 3\n");
    place.start_refused(3, "g.txt", &[], &["bytes of ", "g.txt: recorded 12, now 16"]);
    dated(&place.write("g.txt", "0 1\n1 2\n2 0\n"));
    place.start_refused(3, "g.txt", &[], &["time of modification", "now 1000000000.000000000"]);
}

#[test]
fn an_assignment_that_changed_is_another_job() {
    let place = Place::new();
    let all_but_one: String = (0..33).map(|id| format!("{}\n", id % 3)).collect();
    let write = |last: u32| place.write("parts.txt", format!("{all_but_one}{last}\n"));
    let karate = data("karate.mtx");
    write(2);
    let arguments = ["--partitioner", "file:parts.txt"];
    let output = place.start(&karate, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    write(10);
    place.start_refused(3, &karate, &arguments, &["parts.txt: recorded"]);
}

#[test]
fn a_second_process_is_refused_and_told_of_the_first() {
    let place = Place::new();
    let first = RunDir::open(&place.path("run")).unwrap();
    let who = format!("in use by process {}", std::process::id());
    place.start_refused(3, &data(ROUTERS.0), &[], &["run: the run directory is", &who, "another --run-dir"]);
    // Even the same process may not open it twice.
    assert_eq!(RunDir::open(&place.path("run")).unwrap_err().kind(), Kind::Resource);
    drop(first);
    place.completes(ROUTERS, &[]);
}

#[test]
fn a_directory_of_other_things_is_left_alone() {
    let place = Place::new();
    let routers = data(ROUTERS.0);
    fs::create_dir_all(place.path("run/work")).unwrap();
    for file in ["work/mine.txt", ".part-mine.tmp"] {
        fs::write(place.path("run").join(file), "precious").unwrap();
        place.start_refused(3, &routers, &[], &["holds files and is no run directory"]);
        assert_eq!(fs::read_to_string(place.path("run").join(file)).unwrap(), "precious");
    }
    // The lock file of another program does not make it a run directory.
    place.write("run/lock", "");
    place.start_refused(3, &routers, &[], &["holds files and is no run directory"]);
    fs::remove_dir_all(place.path("run")).unwrap();
    place.write("run", "a file");
    place.start_refused(3, &routers, &[], &["run"]);
}

#[test]
fn run_directories_of_something_else_are_refused_by_a_check_as_by_a_start() {
    const CLUSTER: &str = "cluster = { engine = 'slurm', shards = 2, gpus_per_task = 0 }\n";
    const KEPT: &str =
        "partition = { partitioner = 'contiguous', parts = 2 }\nspill = { dir = 'foreign', keep = true }\n";
    let place = Place::new();
    let routers = data(ROUTERS.0);
    fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/notes.txt", "precious");
    place.prints(&["prepare", &routers, "--run-dir", "prepared", "--shards", "2", "--backend", "cpu"]);
    place.prints(&["count", &routers, "--run-dir", "done", "--backend", "cpu"]);
    let spilled = ["--partitioner", "contiguous", "--parts", "2", "--backend", "cpu"];
    place.prints(&[&["count", &routers, "--run-dir", "spilled"], &spilled[..]].concat());
    place.prints(&["partition", &data(COLLABORATION.0), "--parts", "2", "--spill-dir", "foreign"]);
    let write = |run: &str, more: &str| {
        let job = format!("[[job]]\ninput.path = '{routers}'\nrun.dir = '{run}'\ncount.backend = 'cpu'\n{more}");
        place.write("b.toml", job);
    };
    for (run, more, said) in [
        ("mine", "", "mine: holds files and is no run directory; expected "),
        ("prepared", "", "prepared: holds a job that is prepared for shards; count its partitions with "),
        ("done", CLUSTER, "done: holds a job that 'trimill count' finished; name another --run-dir"),
        ("spilled", KEPT, "foreign: holds the spilled partitions of another job; name another --spill-dir"),
    ] {
        write(run, more);
        for check in [&["--check"][..], &[]] {
            place.refuses(&[&["run", "b.toml"][..], check].concat(), 3, &[said]);
        }
    }
    for (run, more) in [("new", ""), ("done", ""), ("prepared", CLUSTER), ("mine/new", "")] {
        write(run, more);
        place.prints(&["run", "b.toml", "--check"]);
    }
    assert!(!place.path("new").exists());
    assert_eq!(files(&place.path("mine")), [place.path("mine/notes.txt")]);
}

#[test]
fn a_run_directory_in_another_one_is_refused() {
    let place = Place::new();
    let routers = data(ROUTERS.0);
    place.completes(ROUTERS, &[]);
    for inner in ["run/work", "run/work/deep/inner", "tmp/../run/inner"] {
        let words = ["count", &routers, "--backend", "cpu", "--run-dir", inner];
        place.refuses(&words, 2, &[inner, ": the run directory in another run directory, ", "/run; expected a place"]);
    }
    let count = ["count", &routers, "--backend", "cpu"];
    for (more, said) in [
        (&["--output", "run/work/res"][..], "run/work/res/partitions.tsv: the result in another run directory, "),
        (&["--per-vertex", "run/v.tsv", "--force"], "run/v.tsv: the triangles at each vertex in another "),
        (&["--report", "run/spills/r.html"], "run/spills/r.html: the report in another "),
        (&["--spill-dir", "run/spills/k", "--keep-spill"], "run/spills/k: the spilled partitions in another "),
        (&["--spill-dir", "run"], "run: the directory of temporary spills in another "),
        (&["--work-dir", "run/work"], "run/work: the directory of temporary files in another "),
        (&["--cache-dir", "run/graph"], "run/graph: the cache directory in another "),
    ] {
        place.refuses(&[&count[..], more].concat(), 2, &[said, "run directory, ", "/run; expected a place outside"]);
    }
    place.refuses(&["partition", &routers, "--spill-dir", "run/spills/k"], 2, &["in another run directory"]);
    place.write("b.toml", format!("[[job]]\ninput.path = '{routers}'\noutput.dir = 'run/work/res'\n"));
    let said = "run/work/res/partitions.tsv: the result of job 'job-1' in another run directory";
    place.refuses(&["run", "b.toml", "--check"], 2, &[said]);
    for made in ["work", "inner", "spills", "graph"] {
        assert!(!place.path("run").join(made).exists(), "{made}");
    }
    // A file of that name alone is no sign of a run directory.
    place.write("tmp/lock", "of something else");
    place.prints(&["count", &routers, "--backend", "cpu", "--run-dir", "tmp/run"]);
}

#[test]
fn a_pipe_and_a_link_to_nothing_are_refused_at_once() {
    let place = Place::new();
    let routers = data(ROUTERS.0);
    make_pipe(place.path("pipe"));
    std::os::unix::fs::symlink("nowhere", place.path("link")).unwrap();
    let count = |run| ["count", &routers, "--backend", "cpu", "--run-dir", run];
    place.refuses(&count("pipe"), 3, &["pipe: is not a directory; expected a directory"]);
    place.refuses(&count("link"), 3, &["link: is neither a directory nor a link to one; expected a directory"]);
    for run in ["pipe", "link"] {
        place.refuses(&["merge", run], 3, &[run, ": holds no prepared job; expected the run directory"]);
    }
    // A pipe in place of a file of a run directory.
    place.completes(ROUTERS, &[]);
    for (name, then) in [("plan.json", "the job is planned anew"), ("result.json", "it is put together again")] {
        fs::remove_file(place.path("run").join(name)).unwrap();
        make_pipe(place.path("run").join(name));
        let (_, said) = place.completes(ROUTERS, &[]);
        assert!(said.contains(&format!("{name}: is not a regular file")), "{said}");
        assert_eq!(said.matches(then).count(), 1, "{said}");
    }
    fs::remove_file(place.path("run/job.json")).unwrap();
    make_pipe(place.path("run/job.json"));
    place.start_refused(1, &routers, &[], &["job.json: is not a regular file", "remove the run directory"]);
}

#[test]
fn an_input_that_cannot_be_read_again_is_a_usage_error() {
    let place = Place::new();
    place.start_refused(2, "-", &["--format", "text"], &["standard input", "or count without a run directory"]);
    let pipe = place.path("pipe");
    make_pipe(&pipe);
    let feed = std::thread::spawn(move || fs::write(pipe, "0 1\n1 2\n2 0\n"));
    place.start_refused(2, "pipe", &["--format", "text"], &["not a file", "--run-dir"]);
    let _ = feed.join();
}
