//! The help of all commands.

use std::process::Command;

use super::command_line::trimill;
use crate::common::job::typed;
use crate::common::place::text;

/// All commands, but for some families of `generate`.
const COMMANDS: [&str; 25] = [
    "", "count", "truss", "run", "prepare", "merge", "cluster", "cluster slurm", "cluster hq", "plan", "partition",
    "inspect", "verify", "bench", "generate", "generate gap-kron", "generate blowup", "doctor", "cache", "cache list",
    "cache remove", "cache clear", "completions", "man", "schema",
];

/// A terminal of 24 lines shows the end of what is printed.
#[test]
fn the_program_alone_ends_with_what_to_try_first() {
    let output = Command::new(env!("CARGO_BIN_EXE_trimill")).env("COLUMNS", "80").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let all = text(&output.stderr);
    let lines: Vec<&str> = all.lines().collect();
    let shown = lines[lines.len().saturating_sub(23)..].join("\n");
    for words in ["Examples:", "  trimill count crawl.graph", "trimill count -h", "trimill --help"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(all.contains("Usage: trimill") && !all.contains("Exit codes:\n"), "{all}");
}

fn described(command: &str) -> String {
    let help = text(&trimill(&[command, "--help"]).stdout);
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn details_are_described_as_they_are_printed() {
    for (command, tables) in [
        ("count", "the tables of partitions, devices and stages"),
        ("plan", "the partitions, the least host memory of each stage, and other numbers of parts"),
        ("partition", "the tables of partitions and stages"),
        ("prepare", "the table of stages"),
    ] {
        let help = described(command);
        assert!(help.contains(&format!("--details Also print {tables} ")), "{help}");
    }
}

/// What both the help and the schema say of a setting has no form that only a flag has.
#[test]
fn the_schema_describes_values_of_a_job_file() {
    let schema = text(&trimill(&["schema"]).stdout);
    let of_flags = ["such as 0,1", "such as src,dst", "may be repeated", "as --sbatch"];
    let told = of_flags.into_iter().filter(|form| schema.contains(form)).collect::<Vec<_>>();
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn the_file_of_edges_is_described_as_it_is_written() {
    let (truss, count) = (described("truss"), described("count"));
    assert!(truss.contains("u, v, trussness") && !truss.contains("u, v, triangles"), "{truss}");
    assert!(count.contains("u, v, triangles") && count.contains("With --truss the trussness"), "{count}");
}

/// A run directory has an input that can be read again.
#[test]
fn no_help_offers_standard_input_where_it_is_refused() {
    for (command, takes) in [("count", true), ("partition", true), ("verify", true), ("prepare", false)] {
        let help = text(&trimill(&[command, "--help"]).stdout);
        assert_eq!(help.contains("`-` is standard input"), takes, "{command}: {help}");
    }
}

#[test]
fn help_is_wrapped_to_the_terminal_alone_and_has_examples() {
    let help = |command: &str, flag: &str, columns: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_trimill"));
        let output = program.args(command.split_whitespace()).arg(flag).env("COLUMNS", columns).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command} {flag}");
        text(&output.stdout)
    };
    let indented = |line: &str| line.len() - line.trim_start().len();
    // Rows of tables, examples and values have lines of their own.
    let is_prose = |line: &str| {
        let (line, others) = (line.trim(), ["-", "trimill ", "zcat "]);
        !line.is_empty() && !line.contains("  ") && !others.iter().any(|begin| line.starts_with(begin))
    };
    for (command, flag) in COMMANDS.iter().flat_map(|command| ["-h", "--help"].map(|flag| (*command, flag))) {
        let narrow = help(command, flag, "80");
        let lines: Vec<&str> = narrow.lines().collect();
        lines.iter().for_each(|line| assert!(line.chars().count() <= 80, "{command} {flag}: {line}"));
        for pair in lines.windows(2) {
            let is_one_text = pair.iter().all(|line| is_prose(line)) && indented(pair[0]) == indented(pair[1]);
            let word = pair[1].split_whitespace().next().unwrap_or_default();
            let fits = pair[0].chars().count() + 1 + word.chars().count() <= 80;
            let by_hand = is_one_text && fits && !pair[0].ends_with(['.', ':']);
            assert!(!by_hand, "{command} {flag}: a line is broken by hand:\n{}", pair.join("\n"));
        }
        // Examples and tables are never broken.
        let wide = help(command, flag, "110");
        assert!(wide.lines().all(|line| line.chars().count() <= 110), "{command} {flag}: {wide}");
        for line in wide.lines().filter(|line| line.starts_with("  trimill ") || indented(line) == 12) {
            assert!(lines.contains(&line), "{command} {flag}: {line}");
        }
        let has_examples = flag == "--help" && !command.contains(' ') && !["", "man", "schema"].contains(&command);
        assert!(!has_examples || wide.contains("Examples:\n  trimill "), "{command}: {wide}");
    }
    assert!(help("count", "--help", "60").lines().filter(|line| is_prose(line)).all(|line| line.chars().count() <= 60));
}

#[test]
fn the_short_help_has_the_usual_options() {
    let help = text(&trimill(&["count", "-h"]).stdout);
    let options: Vec<&str> = help.lines().filter(|line| line.trim_start().starts_with("--")).collect();
    assert_eq!(options.len(), 10, "{help}");
    assert!(help.contains("All options, in groups, and examples: --help"), "{help}");
    assert!(!text(&trimill(&[]).stderr).contains("-child"));
    let all = text(&trimill(&["--help"]).stdout);
    assert!(all.contains("Exit codes:") && !all.contains("-child"), "{all}");
    let gpu = text(&trimill(&["plan", &typed("karate.mtx"), "--backend", "gpu", "--no-cache"]).stderr);
    assert!(!gpu.contains("invalid value"), "{gpu}");
}
