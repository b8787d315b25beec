//! Pairs and Arrow streams from a pipe: read once, as they arrive.

use std::process::Output;
use std::sync::Arc;

use serde_json::Value;

use crate::common::arrow::arrow;
use crate::common::place::{Place, text};

#[track_caller]
fn result(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Counts on the cores, in the folder `work`.
const COUNT: &str = "trimill count --format bin-u32 --backend cpu --no-cache --work-dir work --json --progress none";

#[test]
fn a_file_that_appears_while_an_earlier_job_is_counted_is_not_replaced() {
    let place = Place::new();
    let job = |path: &str, more: &str| {
        format!("[[job]]\ninput.path = '{path}'\ncache.enabled = false\ncount.backend = 'cpu'\n{more}\n")
    };
    let jobs = [job("pairs", "input.format = 'bin-u32'"), job("g.txt", "output.per_edge = 'e.tsv'")].concat();
    place.write("jobs.toml", jobs);
    place.write("g.txt", "0 1\n1 2\n0 2\n");
    // The pipe can be opened for writing once the first job reads it.
    let generate = "exec 3> pairs; echo mine > e.tsv; trimill generate complete --vertices 5 -q --output - >&3";
    let output = place.shell(&format!("mkfifo pairs; ({generate}) & trimill run jobs.toml --json"));
    let (said, found) = (text(&output.stderr), place.read("e.tsv"));
    assert_eq!((output.status.code(), found.as_str()), (Some(2), "mine\n"), "{said}");
    assert!(said.contains("e.tsv") && said.contains("--force"), "{said}");
    assert!(text(&output.stdout).contains("\"triangles\":10,"), "{}", text(&output.stdout));
}

#[test]
fn pairs_from_a_pipe_are_not_copied() {
    let place = Place::new();
    // 719,400 pairs take 5.8 MB, and no file may have more than 0.5.
    let small = "ulimit -f 512";
    let generate = "trimill generate complete --vertices 1200 --progress none --output";
    let of_1200 = 1200_u64 * 1199 * 1198 / 6;
    for (line, written) in [
        (format!("{small}; {generate} - | {COUNT} -"), false),
        (format!("{small}; mkfifo pairs; {generate} - > pairs & {COUNT} pairs"), false),
        // Beyond this limit they are encoded, and written to files.
        (format!("{generate} - | TRIMILL_BUCKETS=65536 {COUNT} - --threads 2"), true),
    ] {
        let result = result(&place.shell(&line));
        assert_eq!(result["triangles"], of_1200, "{line}");
        let input = &result["stages"][0];
        assert_eq!((&input["name"], &input["bytes_in"]), (&"input".into(), &(8 * 719_400).into()), "{input}");
        assert_eq!(input["bytes_out"].as_u64().unwrap() > 0, written, "{input}");
        assert_eq!(std::fs::read_dir(place.path("work")).unwrap().count(), 0, "{line}");
    }
}

#[test]
fn what_comes_through_a_pipe_is_counted_or_refused_as_a_file_is() {
    let place = Place::new();
    let complete = |ids: [u32; 4]| -> Vec<u8> {
        let pairs = (0..4).flat_map(|i| (0..4).map(move |j| [ids[i], ids[j]]));
        pairs.flatten().flat_map(u32::to_le_bytes).collect()
    };
    let dense = complete([0, 1, 2, 3]);
    place.write("dense", &dense);
    place.write("packed", zstd::bulk::compress(&dense, 1).unwrap());
    place.write("sparse", complete([0, 7, 20_000_000, 30_000_000]));
    place.write("far", complete([0, 7, 1 << 31, 4_000_000_000]));
    place.write("cut", &dense[..60]);
    place.write("empty", "");
    place.write("refused", "404: Not Found \n");
    let piped = |name, more: &str| place.shell(&format!("cat {name} | {COUNT} - {more}"));
    for name in ["dense", "packed", "sparse"] {
        assert_eq!(result(&piped(name, ""))["triangles"], 4, "{name}");
    }
    // A file is read twice where ids are sparse, a pipe needs memory for all of them.
    assert_eq!(result(&place.shell(&format!("{COUNT} far")))["triangles"], 4);
    for (name, more, code, said) in [
        ("far", "--host-memory 1GiB", 3, "write the arcs to a file"),
        ("sparse", "--host-memory 100MiB", 3, "--host-memory"),
        ("cut", "", 1, "(standard input): 60 bytes; expected a multiple of 8"),
        ("empty", "", 1, "(standard input): is empty"),
        ("refused", "", 1, "(standard input): is the answer of a server that refused"),
    ] {
        let output = piped(name, more);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {message}");
        assert!(message.contains(said), "{name}: {message}");
    }
}

#[test]
fn a_product_of_a_graph_from_a_pipe_is_that_of_its_file() {
    let place = Place::new();
    place.write("g.txt", "0 1\n0 2\n0 3\n1 2\n1 3\n2 3\n3 4\n");
    let make = "timeout 60 trimill generate blowup --format text --copies 2 --progress none";
    let made = |line: &str, name: &str| {
        let output = place.shell(&format!("{line} -o {name}"));
        let said = text(&output.stderr);
        assert!(output.status.success() && !said.contains("counting on"), "{line}: {said}");
        std::fs::read(place.path(name)).unwrap()
    };
    let of_file = made(&format!("{make} g.txt"), "file.bin");
    // Each of the 7 edges becomes 4 pairs of 8 bytes.
    assert_eq!(of_file.len(), 7 * 4 * 8);
    assert_eq!(made(&format!("cat g.txt | {make} -"), "piped.bin"), of_file);
    assert_eq!(made(&format!("mkfifo fifo; cat g.txt > fifo & {make} fifo"), "named.bin"), of_file);
}

/// A stream of Arrow with the arcs of a complete graph, as `u32`, or `i64` if `wide`, in batches of `rows` rows.
fn arrow_stream(vertices: u32, rows: usize, wide: bool) -> Vec<u8> {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
    let arcs: Vec<[u32; 2]> = (0..vertices).flat_map(|u| (0..vertices).map(move |v| [u, v])).collect();
    let batch = |arcs: &[[u32; 2]]| {
        let column = |end: usize| -> ArrayRef {
            let ids = arcs.iter().map(|arc| arc[end]);
            match wide {
                true => Arc::new(ids.map(i64::from).collect::<Int64Array>()),
                false => Arc::new(ids.collect::<UInt32Array>()),
            }
        };
        RecordBatch::try_from_iter([("src", column(0)), ("dst", column(1))]).unwrap()
    };
    arrow(&arcs.chunks(rows).map(batch).collect::<Vec<_>>(), false)
}

#[test]
fn streams_of_arrow_from_a_pipe_are_read_as_they_come() {
    let place = Place::new();
    let small = arrow_stream(4, 7, false);
    place.write("batches", arrow_stream(1200, 1 << 16, false));
    place.write("single", arrow_stream(1200, usize::MAX, false));
    place.write("wide", arrow_stream(1200, 1 << 16, true));
    place.write("open", &small[..small.len() - 8]);
    place.write("cut", &small[..small.len() - 30]);
    place.write("two", [&small[..], &small[..]].concat());
    let count = COUNT.replace("--format bin-u32", "--host-memory 100MiB --threads 2");
    let piped = |limit: &str, name: &str| place.shell(&format!("{limit} cat {name} | {count} -"));
    let of_1200 = 1200_u64 * 1199 * 1198 / 6;
    // 1,440,000 arcs take 11.5 MB, and no file may have more than 0.5.
    let batches = result(&piped("ulimit -f 512;", "batches"));
    assert_eq!(batches["triangles"], of_1200);
    assert!(batches["stages"][0]["bytes_in"].as_u64().unwrap() > 11_500_000, "{}", batches["stages"][0]);
    // A batch that takes more than a thread may hold, and ids that may need a second pass, are copied.
    for name in ["single", "wide"] {
        assert_eq!(result(&piped("", name))["triangles"], of_1200, "{name}");
        assert!(!piped("ulimit -f 512;", name).status.success(), "{name}");
        assert_eq!(std::fs::read_dir(place.path("work")).unwrap().count(), 0, "{name}");
    }
    for (name, said) in [
        ("open", "3 record batches without the mark of a stream's end"),
        ("cut", "a message that is cut"),
        ("two", "more bytes behind the mark of a stream's end"),
    ] {
        let output = piped("", name);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {message}");
        assert!(message.contains("(standard input): ") && message.contains(said), "{name}: {message}");
    }
}
