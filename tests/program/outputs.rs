//! What the program prints and writes if files are links, devices or pipes, if disks are full, if limits are exceeded, and with `--json`;
//! and that no file is lost (`announced`) and no answer (`answers`).

mod announced;
mod answers;

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Stdio;

use serde_json::Value;

use crate::common::job::typed;
use crate::common::place::{Place, make_pipe, number_after, text};

/// Zachary's karate club: 34 vertices, 78 edges, 45 triangles.
fn karate() -> String {
    typed("karate.mtx")
}

#[test]
fn a_batch_goes_on_when_standard_output_is_full() {
    let place = Place::without_gpus();
    let jobs =
        "[[job]]\nname = 'a'\n[[job]]\nname = 'b'\ninput.path = 'none.txt'\n[[job]]\nname = 'c'\noutput.dir = 'o'\n";
    place.write("j.toml", format!("[defaults]\ninput.path = '{}'\n{jobs}", karate()));
    for arguments in [&["run", "j.toml", "--json"][..], &["run", "j.toml"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = place.command(arguments).stdout(full).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(place.path("o/result.json").is_file(), "{said}");
        for (job, outcome) in [("a", "counted; resource"), ("b", "none.txt"), ("c", "counted; resource")] {
            let is_line = |line: &&str| line.contains(&format!(" {job} ")) && line.contains('│');
            assert!(said.lines().find(is_line).is_some_and(|line| line.contains(outcome)), "{job}: {said}");
        }
        fs::remove_dir_all(place.path("o")).unwrap();
    }
}

#[test]
fn what_standard_output_has_no_room_for_is_an_error() {
    let place = Place::without_gpus();
    let edges = ["generate", "complete", "--vertices", "3", "-o", "-"];
    for arguments in [&["--version"][..], &["help"], &["count", "--help"], &["doctor"], &["man"], &edges] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = place.command(arguments).stdout(full).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(said.contains("standard output: cannot be written") && said.contains("have it go elsewhere"), "{said}");
    }
}

#[test]
fn a_quiet_batch_has_only_errors_on_standard_error() {
    let place = Place::without_gpus();
    place.write("j.toml", format!("[[job]]\ninput.path = '{}'\n", karate()));
    for set in ["count.backend=cpu", "output.by_degree=-"] {
        let output = place.run(&["run", "j.toml", "--json", "-q", "--set", set]);
        let said = text(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty() && !said.contains("outcome"), "{set}: {said}");
    }
}

#[test]
fn links_and_pipes_are_written_through() {
    let place = Place::without_gpus();
    fs::create_dir(place.path("o")).unwrap();
    place.write("real.json", "old");
    symlink("../real.json", place.path("o/result.json")).unwrap();
    place.prints(&["count", &karate(), "--output", "o", "--force"]);
    assert!(place.path("o/result.json").is_symlink());
    let result: Value = serde_json::from_slice(&fs::read(place.path("real.json")).unwrap()).unwrap();
    assert_eq!(result["triangles"], 45);
    assert!(place.read("o/partitions.tsv").starts_with("id\t"));

    let numbers: Vec<u8> = [0u32, 1, 0, 2, 1, 2].iter().flat_map(|id| id.to_le_bytes()).collect();
    for (name, bytes) in [("pipe.txt", &b"0 1\n0 2\n1 2\n"[..]), ("pipe.bin", &numbers[..])] {
        let path = place.path(name);
        make_pipe(&path);
        let reader = std::thread::spawn(move || fs::read(path).unwrap());
        place.prints(&["generate", "complete", "--vertices", "3", "-o", name]);
        assert!(place.path(name).metadata().unwrap().file_type().is_fifo(), "{name}");
        assert_eq!(reader.join().unwrap(), bytes, "{name}");
    }
    symlink("/dev/full", place.path("full.txt")).unwrap();
    place.refuses(&["generate", "complete", "--vertices", "3", "-o", "full.txt"], 3, &[]);
    assert!(place.path("full.txt").is_symlink());
}

#[test]
fn a_file_that_is_standard_output_keeps_the_answer() {
    let place = Place::without_gpus();
    let all = fs::File::create(place.path("all")).unwrap();
    let arguments = ["bench", &karate(), "--methods", "bitmap", "--runs", "1", "--json", "--output", "/dev/stdout"];
    let status = place.command(&arguments).stdout(all).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    // The indented report, and the answer in one line.
    let said = place.read("all");
    let reports: Vec<Value> =
        serde_json::Deserializer::from_str(&said).into_iter().collect::<Result<_, _>>().expect(&said);
    assert_eq!(reports.len(), 2, "{said}");
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn limits_of_the_system_end_with_3_and_are_named() {
    let place = Place::without_gpus();
    place.prints(&["generate", "complete", "--vertices", "2000", "-o", "k.txt"]);
    // 512 KiB: the text of the graph takes far more. Shells count blocks of 512 or 1024 bytes.
    for (line, words) in [
        ("ulimit -f 512; trimill generate complete --vertices 2000 -o l.txt", "File too large"),
        ("ulimit -n 8; trimill count --no-cache k.txt k.txt k.txt k.txt k.txt k.txt k.txt", "Too many open files"),
    ] {
        let output = place.shell(line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}: {said}");
        assert!(said.contains(words) && said.contains("ulimit"), "{line}: {said}");
    }
    assert!(!place.path("l.txt").exists());
    // Another folder would not help.
    let output = place.shell("ulimit -f 1; trimill count k.txt --cache-dir c");
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("ulimit -f"), "{said}");
    assert!(said.contains("goes on without the cache\n"), "{said}");
}

#[test]
fn control_characters_in_names_of_files_are_escaped() {
    let place = Place::without_gpus();
    let name = "a\u{1b}[2J\u{7}\r.txt";
    place.write(name, "0 1\n1 2\n2 0\n");
    let job = "[[job]]\nname = \"j\\u001b[1m\"\ninput.path = \"a\\u001b[2J\\u0007\\r.txt\"\n";
    place.write("j.toml", job);
    for arguments in [
        &["count", name][..],
        &["count", name, "--no-cache", "-vv"],
        &["count", name, "--format", "metis"],
        &["count", "b\u{1b}[2J.txt"],
        &["count", name, "--method", "m\u{1b}[2J"],
        &["count", name, "--parts", "\u{1b}[2J"],
        &["run", "j.toml"],
        &["run", "j.toml", "--check"],
        &["run", "j\u{1b}[2J.toml"],
        &["verify", name],
        &["bench", name, "--methods", "bitmap", "--runs", "1"],
        &["cache", "list"],
        &["inspect", name],
    ] {
        let output = place.run(arguments);
        for said in [text(&output.stdout), text(&output.stderr)] {
            let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
            assert!(!said.contains(steers), "{arguments:?}: {said:?}");
        }
    }
    let listed = text(&place.run(&["cache", "list"]).stdout);
    assert!(listed.contains(r"a\u{1b}[2J\u{7}\r.txt"), "{listed}");
}

#[test]
fn with_json_a_failure_is_an_object_on_standard_output() {
    let (place, karate) = (Place::without_gpus(), karate());
    for (code, kind, arguments) in [
        (1, "data", &["count", "missing.txt"][..]),
        (1, "data", &["plan", "missing.txt"]),
        (1, "data", &["verify", "missing.txt"]),
        (1, "data", &["partition", "missing.txt", "--spill-dir", "s"]),
        (1, "data", &["inspect", "missing"]),
        (1, "data", &["run", "missing.toml"]),
        (1, "data", &["bench", "missing.txt"]),
        (1, "data", &["generate", "blowup", "missing.txt", "--copies", "2", "-o", "b.txt"]),
        (3, "resource", &["generate", "complete", "--vertices", "3", "-o", "missing/k.txt"]),
        (2, "usage", &["count", "missing.txt", "--parts", "0"]),
        (2, "usage", &["count", "missing.txt", "--method", "guess"]),
        (2, "usage", &["generate", "complete", "-o", "k.xyz"]),
        (2, "usage", &["count", &karate, "--threads", "1000000"]),
        (2, "usage", &["generate", "complete", "--vertices", "3", "-o", "k.txt", "--threads", "1000000"]),
    ] {
        let output = place.run(&[arguments, &["--json"]].concat());
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        let failure: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{arguments:?}: {said}"));
        assert_eq!((&failure["error"]["kind"], &failure["schema_version"]), (&kind.into(), &1.into()), "{arguments:?}");
        assert!(failure["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(text(&output.stderr).starts_with("error: "), "{arguments:?}");
    }
}

#[test]
fn empty_parts_are_left_out_and_the_others_keep_their_order() {
    let place = Place::without_gpus();
    let count = |more: &[&str]| place.answer(&[&["count", &karate(), "--no-cache", "--backend", "cpu"], more].concat());
    for partitioner in ["auto", "rank", "random", "contiguous", "contiguous-vertices", "metis"] {
        let result = count(&["--parts", "1000000", "--partitioner", partitioner]);
        let parts = result["parts"].as_u64().unwrap();
        assert!(result["triangles"] == 45 && (30..=34).contains(&parts), "{partitioner}: {parts} parts");
        let mode = if ["auto", "rank"].contains(&partitioner) { "in-place" } else { "spilled" };
        assert_eq!(result["mode"], mode, "{partitioner}");
    }
    // The first vertex is in the part with the larger number.
    place.write("p.txt", format!("1000000\n{}", "12\n".repeat(33)));
    let result = count(&["--partitioner", "file:p.txt", "--run-dir", "r"]);
    assert_eq!((&result["triangles"], &result["parts"]), (&45.into(), &2.into()));
    let locals: Vec<u64> =
        result["partitions"].as_array().unwrap().iter().map(|p| p["local_vertices"].as_u64().unwrap()).collect();
    assert_eq!(locals, [33, 1]);
}

#[test]
fn the_verifier_keeps_to_its_budget_or_names_a_larger_one() {
    let place = Place::without_gpus();
    place.prints(&["generate", "gap-urand", "--scale", "15", "-o", "u.bin"]);
    let within = |budget| ["verify", "u.bin", "--threads", "1", "--host-memory", budget];
    let said = ["524288 arcs", "raise --host-memory to "];
    let refused = text(&place.refuses(&within("32MiB"), 3, &said).stderr);
    let enough = number_after(said[1], &refused);
    // 80 bytes for each of 2^19 arcs, the program and what it reads with.
    assert!((42_000_000..80_000_000).contains(&enough.parse::<u64>().unwrap()), "{enough}");
    assert_eq!(place.answer(&within(&enough))["input"]["arcs"], 524_288);
}
