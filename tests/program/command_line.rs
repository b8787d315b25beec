//! The program as a user runs it: exit codes, standard output and error, and the example job files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::job::{listing, typed};
use crate::common::place::{Place, stderr, text};

pub(crate) fn trimill(arguments: &[&str]) -> Output {
    Place::new().with("COLUMNS", "100").run(arguments)
}

pub(crate) fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn commands_that_are_printed_can_be_copied_to_a_shell() {
    let place = Place::new().with("COLUMNS", "100");
    let run = place.path("it's $HOME; a run");
    let input = root("tests/data/karate.mtx");
    let arguments = ["prepare", input.to_str().unwrap(), "--run-dir", run.to_str().unwrap(), "--shards", "1"];
    let mut printed = text(&place.prints(&arguments));
    for command in ["trimill count --run-dir", "trimill merge"] {
        let line = printed.lines().find_map(|line| Some(&line[line.find(command)?..])).expect(&printed);
        let output = place.shell(&line.replace("I/1", "0/1"));
        assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stderr));
        printed = text(&output.stdout);
    }
    assert!(printed.contains("triangles") && printed.contains(" 45\n"), "{printed}");
}

#[test]
fn doctor_gives_each_rate_its_unit() {
    let shown = text(&trimill(&["doctor"]).stdout);
    let (_, rates) = shown.split_once("\nrates for estimates of time").unwrap();
    let rows: Vec<&str> = rates.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).collect();
    assert!(rows.len() >= 5, "{shown}");
    for row in rows {
        assert!(["edges/s", "MB/s", "times as fast as"].iter().any(|unit| row.contains(unit)), "{row}");
    }
}

/// Rates in the cache directory decide what `auto` chooses, and `trimill doctor` shows them; a damaged file of rates is ignored.
#[test]
fn auto_chooses_by_the_rates_of_the_machine() {
    use trimill::testing::rates::{ArcRates, RATES_NAME, Rates};
    let (place, graph) = (Place::new(), typed("wiki-Vote.txt"));
    let cache = place.path("cache/trimill");
    let mode = || {
        let plan = place.answer(&["plan", &graph, "--backend", "cpu", "--parts", "16"]);
        let seconds = |mode: &str| plan["estimates"][mode].as_f64().unwrap();
        (plan["mode"].clone(), seconds("in_place"), seconds("spilled"))
    };
    let usual = Rates::default();
    let (chosen, in_place, spilled) = mode();
    assert!(chosen == "in-place" && in_place < spilled, "{chosen} {in_place} {spilled}");
    // A core that reads the graph file slowly and spills very fast.
    let slow = Rates { cpu: ArcRates { graph: 1e4, spill: 1e9 }, ..usual };
    slow.store(&cache).unwrap();
    let (chosen, in_place, spilled) = mode();
    assert!(chosen == "spilled" && in_place > spilled, "{chosen} {in_place} {spilled}");
    let doctor = place.answer(&["doctor"]);
    assert_eq!((&doctor["rates"]["cpu"]["graph"], &doctor["rates_measured"]), (&1e4.into(), &true.into()));
    let file = cache.join(RATES_NAME);
    let damaged = std::fs::read_to_string(&file).unwrap().replace("10000", "10001");
    std::fs::write(&file, damaged).unwrap();
    assert_eq!(mode().0, "in-place");
    assert_eq!(place.answer(&["doctor"])["rates_measured"], false);
}

#[test]
fn schema_completions_and_manual_go_to_standard_output() {
    assert_eq!(text(&trimill(&["schema"]).stdout), std::fs::read_to_string(root("schemas/job.schema.json")).unwrap());
    assert!(text(&trimill(&["completions", "bash"]).stdout).contains("trimill"));
    assert!(text(&trimill(&["man"]).stdout).contains(".SH NAME"));
    assert!(text(&trimill(&["man", "count"]).stdout).contains("trimill\\-count"));
}

#[test]
fn the_job_files_that_come_with_it_are_right() {
    let mut files = 0;
    for entry in std::fs::read_dir(root("configs")).unwrap() {
        let path = entry.unwrap().path();
        let output = trimill(&["run", path.to_str().unwrap(), "--check"]);
        // The exit code is 1 if only the input is missing: a crawl that the user must download.
        let brought = path.ends_with("billion-edge-crawl.toml") || !root("tests/data/cnr-2000.graph").exists();
        assert_eq!(output.status.code(), Some(brought.into()), "{}: {}", path.display(), text(&output.stderr));
        assert!(text(&output.stdout).contains("partitioner"), "{}", path.display());
        files += 1;
    }
    assert!(files >= 4);
}

#[test]
fn no_option_is_suggested_that_the_command_refuses() {
    for (line, suggests) in
        [("merge r --shard 0/1", false), ("prepare g --keep-spil", false), ("count g --keep-spil", true)]
    {
        let said = text(&trimill(&line.split(' ').collect::<Vec<_>>()).stderr);
        assert!(said.starts_with("error: unexpected argument"), "{said}");
        let found = ["a similar argument exists", "'--keep-spill'"].map(|words| said.contains(words));
        assert_eq!(found, [suggests; 2], "{said}");
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let trimill = env!("CARGO_BIN_EXE_trimill");
    let line = format!("{trimill} completions bash | true; exit ${{PIPESTATUS[0]}}");
    for _ in 0..5 {
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    }
}

#[test]
fn the_quick_start_goes_out_of_core_and_has_the_published_count() {
    let file = root("configs/quick-start.toml");
    let output = trimill(&["run", file.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: trimill::testing::report::RunResult = serde_json::from_slice(&output.stdout).unwrap();
    result.check(&file).unwrap();
    assert_eq!((result.triangles, result.edges, result.wedges), (20_977_629, 2_738_969, 7_861_227_192));
    assert!(result.partitions.len() >= 8);
    for partition in &result.partitions {
        assert!(partition.row_blocks >= 2 && partition.spill_bytes.get() > 0, "{partition:?}");
        assert!(partition.counted().peak_bytes <= result.device_memory, "{partition:?}");
    }
}

#[test]
fn one_line_says_why_the_cpu_counts_unless_it_was_chosen() {
    let (place, graph) = (Place::without_gpus(), typed("karate.mtx"));
    for (more, lines) in [(&[][..], 1), (&["--quiet"], 0), (&["--backend", "cpu"], 0)] {
        let output = place.run(&[&["count", &graph, "--no-cache", "--progress", "none"], more].concat());
        let told = stderr(&output).matches("counting on the CPU: ").count();
        assert_eq!((output.status.code(), told), (Some(0), lines), "{more:?}");
    }
}

#[test]
fn the_first_signal_ends_the_copy_of_standard_input() {
    use std::io::Write;
    use std::process::Stdio;

    let place = Place::new();
    let mut command = place.command(&["count", "-", "--no-cache", "--format", "text", "--work-dir", "work"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // More than a pipe's buffer, so once it is written the program is copying. Then the pipe stays open without further data.
    input.write_all("0 1\n".repeat(1 << 18).as_bytes()).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
    assert!(listing(&place.path("work")).is_empty());
}

#[test]
fn a_header_is_told_in_one_line_and_may_be_decided() {
    let place = Place::new();
    place.write("k4.txt", "4 6\n0 1\n0 2\n0 3\n1 2\n1 3\n2 3\n");
    let count = |more: &[&str]| {
        let output = place.run(&[&["count", "k4.txt", "--json", "--backend", "cpu"], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let told = stderr(&output).matches("'4 6' is a header").count();
        (result["triangles"].as_u64().unwrap(), result["edges"].as_u64().unwrap(), told)
    };
    assert_eq!(count(&[]), (4, 6, 1));
    // Each interpretation has its own entry in the cache.
    for (header, edges) in [("no", 7), ("yes", 6), ("no", 7)] {
        assert_eq!(count(&["--header", header]), (4, edges, 0), "{header}");
    }
}

#[test]
fn columns_that_are_not_read_are_told_once_for_all_files() {
    let place = Place::new();
    for (lines, words) in [
        ("0 1 2 5\n1 0 3 7\n", Some("columns 3 to 4 are not read")),
        ("p,q,r\n0,1,2\n", Some("columns 1 and 2 of 'p,q,r' are taken for the ends of edges")),
        ("index,p,q,r\n7,0,1,2\n", Some("columns 2 and 3 of 'index,p,q,r'")),
        ("source,target,w,t\n0,1,2,3\n", None),
        ("p,q\n0,1\n", None),
        ("0 1 2\n", None),
    ] {
        for name in ["a.csv", "b.csv"] {
            place.write(name, lines);
        }
        let output = place.run(&["count", "a.csv", "b.csv", "--no-cache", "--backend", "cpu"]);
        let said = stderr(&output);
        assert!(output.status.success(), "{lines}: {said}");
        let told: Vec<&str> = said.lines().filter(|line| line.contains("columns")).collect();
        assert_eq!(told.len(), usize::from(words.is_some()), "{lines}: {said}");
        assert!(words.is_none_or(|words| told[0].contains(words)), "{lines}: {said}");
    }
}

#[test]
fn an_answer_takes_ten_lines_of_80_columns_and_more_only_if_that_is_asked_for() {
    let (place, graph) = (Place::new().with("COLUMNS", "100"), typed("wiki-Vote.txt"));
    for (command, first) in [("count", "triangles     608,389"), ("truss", "truss         the largest k is 23, ")] {
        let printed = |more: &[&str]| text(&place.prints(&[&[command, &graph], more].concat()));
        let answer = printed(&[]);
        assert!(answer.starts_with(first), "{answer}");
        let lines: Vec<&str> = answer.lines().collect();
        assert!((5..=10).contains(&lines.len()) && lines.iter().all(|line| line.chars().count() <= 80), "{answer}");
        let words =
            ["vertices", "edges", "transitivity", "removed", "threads of the CPU", "1 part by", "host ", "time"];
        words.iter().for_each(|word| assert!(answer.contains(word), "{word}: {answer}"));
        let details = printed(&["--details"]);
        assert!(details.contains("Partition memory") && details.contains("Stages"), "{details}");
    }
}

#[test]
fn a_table_on_standard_output_is_alone_there() {
    let dir = tempfile::tempdir().unwrap();
    let graph = root("tests/data/karate.mtx").display().to_string();
    for option in ["--per-vertex", "--by-degree", "--per-edge", "--by-k"] {
        let file = |name: &str| dir.path().join(format!("{name}{option}")).display().to_string();
        let count = |place: &str| trimill(&["count", &graph, "--no-cache", "--backend", "cpu", option, place]);
        let [tabs, commas] = ["tsv", "csv"].map(|suffix| {
            let name = format!("{}.{suffix}", file("t"));
            assert!(count(&name).status.success());
            std::fs::read_to_string(name).unwrap()
        });
        let same = tabs.replace('\t', ",") == commas && commas.contains(',');
        assert!(same && tabs.lines().count() > 3, "{option}: {commas}");
        let output = count("-");
        assert_eq!(text(&output.stdout), tabs, "{option}");
        assert!(text(&output.stderr).contains("triangles  "), "{option}: {}", text(&output.stderr));
        // A file that exists already, as when a shell redirects output.
        let (trimill, o) = (env!("CARGO_BIN_EXE_trimill"), file("o"));
        let shell = format!("{trimill} count {graph} --no-cache --backend cpu {option} - > {o} 2> /dev/null");
        assert!(Command::new("sh").args(["-c", &shell]).status().unwrap().success());
        assert_eq!(std::fs::read_to_string(o).unwrap(), tabs, "{option}");
    }
    let job = |input: &str, output: &str| {
        format!("[[job]]\ninput.path = '{input}'\ncache.enabled = false\ncount.backend = 'cpu'\n{output}\n")
    };
    let jobs = dir.path().join("jobs.toml");
    std::fs::write(&jobs, [job(&graph, "output.by_k = '-'"), job(&graph, ""), job("missing", "")].concat()).unwrap();
    let alone = text(&trimill(&["count", &graph, "--no-cache", "--backend", "cpu", "--by-k", "-"]).stdout);
    for json in [&[][..], &["--json"]] {
        let output = trimill(&[&["run", &jobs.display().to_string()], json].concat());
        assert_eq!((text(&output.stdout), output.status.code()), (alone.clone(), Some(1)), "{}", text(&output.stderr));
        let failed = trimill(&[&["count", "missing", "--by-k", "-"], json].concat());
        assert_eq!((text(&failed.stdout), failed.status.code()), (String::new(), Some(1)));
        let refused = [&["--by-k", "-"][..], &["--by-k=-"]]
            .map(|file| trimill(&[&["count", &graph], file, json, &["--k", "1"]].concat()));
        for output in &refused {
            assert_eq!((text(&output.stdout), output.status.code()), (String::new(), Some(2)));
        }
        let [first, second] = &refused;
        let objects = [&output, &failed, first, second]
            .map(|o| text(&o.stderr).lines().filter(|line| line.starts_with('{')).count());
        assert_eq!(objects, if json.is_empty() { [0; 4] } else { [3, 1, 1, 1] }, "{}", text(&output.stderr));
    }
    let run = dir.path().join("run").display().to_string();
    Place::new().refuses(&["prepare", &graph, "--run-dir", &run, "--per-edge", "-"], 2, &[]);
}
