//! Runs every command of the README, except for names that users choose, and compares the output that it and docs/guide.md show.

use std::fs;

use super::command_line::root;
use crate::common::place::{Place, text};

/// The commands of the shell blocks, without comments.
fn shell_lines(text: &str) -> Vec<String> {
    text.split("```sh\n")
        .skip(1)
        .flat_map(|block| block.split("```").next().unwrap_or_default().lines())
        .map(|line| line.split(" #").next().unwrap_or_default().trim().to_string())
        .filter(|line| !line.is_empty())
        .collect()
}

/// The commands in running text and in the table.
fn inline(text: &str) -> Vec<String> {
    let outside: String = text.split("```").step_by(2).collect();
    outside.split('`').skip(1).step_by(2).filter(|code| code.starts_with("trimill ")).map(String::from).collect()
}

#[test]
fn every_command_of_the_readme_works() {
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let ci = fs::read_to_string(root(".ci/run")).unwrap();
    // The machine is measured by a small graph.
    let place = Place::new().with("TRIMILL_SCALE", "14");
    let input = root("tests/data/facebook_combined.txt");
    let quick_start = root("configs/quick-start.toml");
    let (mut ran, mut counted) = (0, false);
    let commands = [shell_lines(&readme), inline(&readme)].concat();
    for command in &commands {
        if command.starts_with("cargo test") || command.starts_with("cargo install") {
            assert!(ci.lines().any(|line| line.starts_with(command.as_str())), ".ci/run does not run '{command}'");
            continue;
        }
        let command =
            command.strip_prefix("cargo run --release -- ").or(command.strip_prefix("trimill ")).expect(command);
        let command = command
            .replace("configs/quick-start.toml", "JOB.toml")
            .replace("JOB.toml", quick_start.to_str().unwrap())
            .replace("INPUT", input.to_str().unwrap())
            .replace("DIR", "spill")
            .replace("RUN", "run")
            // All shards in one process.
            .replace("--shard 0/16", "--shard 0/1")
            // Reduce the size of a large graph.
            .replace("--scale 22", "--scale 10");
        let output = text(&place.prints(&command.split(' ').collect::<Vec<_>>()));
        if ["run ", "count", "merge", "verify", "bench"].iter().any(|word| command.starts_with(word)) {
            let triangles = if command.starts_with("run ") { "20,977,629" } else { "1,612,010" };
            assert!(output.contains(triangles), "{command}: {output}");
            counted = true;
        }
        ran += 1;
    }
    assert!(ran >= 8 && counted, "{commands:?}");
}

/// The part of a line that is the same on every machine: with single spaces, without times, bytes and numbers of threads.
fn without_measures(line: &str) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "s", "threads"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit =
        |word: Option<&&str>| word.is_some_and(|word| UNITS.contains(&word.trim_matches(|c| ",;()".contains(c))));
    let kept = (0..words.len()).map(|at| if unit(words.get(at + 1)) || unit(words.get(at)) { "~" } else { words[at] });
    let percent = |word: &&str| !word.ends_with("%)");
    kept.filter(percent).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_the_readme_and_the_guide_show_is_what_the_program_prints() {
    let documents = ["README.md", "docs/guide.md"].map(|path| fs::read_to_string(root(path)).unwrap());
    let place = Place::without_gpus();
    for (suffix, name) in
        [("graph", "cnr-2000"), ("graph", "crawl"), ("properties", "cnr-2000"), ("properties", "crawl")]
    {
        let from = root(&format!("tests/data/cnr-2000.{suffix}"));
        fs::copy(from, place.path(format!("{name}.{suffix}"))).unwrap();
    }
    let mut compared = 0;
    let blocks = documents.iter().flat_map(|text| text.split("```console\n").skip(1));
    for command in blocks.flat_map(|block| block.split("```").next().unwrap().split("$ ").skip(1)) {
        let (command, expected) = command.split_once('\n').unwrap();
        let run = place.shell(command);
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
        let output = String::from_utf8(run.stdout).unwrap();
        let printed: Vec<String> = output.lines().map(without_measures).collect();
        let cut = expected.lines().any(|line| line == "...");
        for line in expected.lines().filter(|line| *line != "...") {
            assert!(printed.contains(&without_measures(line)), "{command}: not '{line}', but:\n{output}");
            compared += 1;
        }
        let lines = expected.lines().count();
        assert!(cut || lines == printed.len(), "{command}: {lines} lines and no '...', but:\n{output}");
    }
    assert!(compared > 30, "{compared} lines");
}

#[test]
fn the_citation_is_of_this_version() {
    let citation = fs::read_to_string(root("CITATION.cff")).unwrap();
    let version = citation.lines().find_map(|line| line.strip_prefix("version: "));
    assert_eq!(version, Some(env!("CARGO_PKG_VERSION")), "CITATION.cff");
}
