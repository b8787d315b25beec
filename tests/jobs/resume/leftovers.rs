//! Files left by a killed process without a run directory are removed at the next start, unless in use; graphs that are cut while they are read.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use trimill::RunResult;

use crate::common::packed::zst;
use crate::common::place::{assert_private, below, stopped_by};

use super::support::{COLLABORATION, LITTLE, MESH, Place, ROUTERS, STRIKES, buckets_on_disk, data, files, stderr};

const PARTS: [&str; 6] = ["--partitioner", "contiguous", "--parts", "6", "--threads", "2"];

fn without_run_dir(place: &Place, fault: &str, input: &str, arguments: &[&str]) -> Command {
    let mut command = place.command(&["count", input, "--json", "--backend", "cpu"]);
    command.args(arguments).env("TRIMILL_FAULT", fault).envs(buckets_on_disk(arguments));
    command
}

fn triangles(output: &[u8]) -> u128 {
    serde_json::from_slice::<RunResult>(output).unwrap().triangles
}

#[test]
fn leftovers_of_a_killed_process_are_removed_at_the_next_start() {
    let mut left = 0;
    let little = ["--host-memory", LITTLE, "--no-cache"];
    for (more, step) in [(&little[..], 37), (&["--no-cache"], 3), (&[], 4)] {
        for at in (1..).step_by(step) {
            let place = Place::new();
            let arguments = [&PARTS[..], more].concat();
            let input = data(COLLABORATION.0);
            let output = without_run_dir(&place, &format!("kill:{at}"), &input, &arguments).output().unwrap();
            if !stderr(&output).contains(STRIKES) {
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
                break;
            }
            assert_eq!(output.status.code(), None);
            below(&place.path("tmp")).iter().for_each(|path| assert_private(path));
            let unfinished = |path: &PathBuf| path.extension().is_none_or(|suffix| suffix != "trimgraf");
            let in_cache = || files(&place.path("cache")).into_iter().filter(unfinished).count();
            let leftovers = || in_cache() + fs::read_dir(place.path("tmp")).unwrap().count();
            left += usize::from(leftovers() > 0);
            let output = without_run_dir(&place, "", &input, &arguments).output().unwrap();
            assert_eq!(triangles(&output.stdout), COLLABORATION.1, "{}", stderr(&output));
            assert_eq!(leftovers(), 0, "kill:{at} {more:?}");
        }
    }
    assert!(left > 20, "only {left} times anything was left");
}

#[test]
fn files_of_a_running_process_stay() {
    let place = Place::new();
    let arguments = [&PARTS[..], &["--no-cache"]].concat();
    let mut first = without_run_dir(&place, "", &data(COLLABORATION.0), &arguments);
    let first = stopped_by("device-stop:3", &mut first, || {
        let before = files(&place.path("tmp"));
        assert!(!before.is_empty());
        let output = without_run_dir(&place, "", &data(ROUTERS.0), &arguments).output().unwrap();
        assert_eq!(triangles(&output.stdout), ROUTERS.1, "{}", stderr(&output));
        assert_eq!(files(&place.path("tmp")), before);
    });
    assert_eq!(triangles(&first.stdout), COLLABORATION.1);
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0);
}

/// The plain text of compressed METIS input is copied to the disk, and that disk is full at any write of the copy.
#[test]
fn a_disk_that_is_full_while_input_is_expanded_names_the_input() {
    let place = Place::new();
    let input = place.write("mesh.graph.zst", zst(fs::read(data(MESH.0)).unwrap())).display().to_string();
    let (mut named, arguments) = (0, ["--no-cache", "--format", "metis"]);
    for at in 1.. {
        let output = without_run_dir(&place, &format!("write:{at}"), &input, &arguments).output().unwrap();
        let said = stderr(&output);
        if !said.contains(STRIKES) {
            assert_eq!(triangles(&output.stdout), MESH.1, "{said}");
            break;
        }
        assert_eq!(output.status.code(), Some(3), "{said}");
        let copy = format!("/tmp: the plain text of {input}: cannot be written (No space left on device");
        named += usize::from(said.contains(&copy));
        assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0);
    }
    assert!(named >= 2, "{named}");
}

/// The job is stopped when it begins to count, its graph file is truncated, and it continues with later ranges, in other file blocks.
#[test]
fn a_graph_that_is_cut_while_it_is_read_is_named_and_made_again() {
    const CRAWL: (&str, u128) = ("cnr-2000.graph", 20_977_629);
    let place = Place::new();
    let ranges = ["--partitioner", "rank", "--parts", "6", "--threads", "2"];
    let mut graph = PathBuf::new();
    let output = stopped_by("device-stop:1", &mut place.start_command(&data(CRAWL.0), &ranges), || {
        graph = files(&place.path("cache")).remove(0);
        fs::File::options().write(true).open(&graph).unwrap().set_len(4096).unwrap();
    });
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("error: {}: cannot be read", graph.display())), "{said}");
    assert!(said.contains("it was removed: start again") && !graph.exists(), "{said}");
    place.completes(CRAWL, &ranges);
    assert!(graph.exists());
}
