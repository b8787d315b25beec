//! Pairs from a pipe: read once, as they come.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Output};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a line of the shell in `folder`; `trimill` is the program.
fn shell(folder: &std::path::Path, line: &str) -> Output {
    let line = line.replace("trimill", env!("CARGO_BIN_EXE_trimill"));
    Command::new("sh").args(["-c", &line]).current_dir(folder).output().unwrap()
}

fn triangles(output: &Output) -> u64 {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    result["triangles"].as_u64().unwrap()
}

/// Counts on the cores, in the folder `work`.
const COUNT: &str = "trimill count --format bin-u32 --backend cpu --no-cache --work-dir work --json --progress none";

#[test]
fn pairs_from_a_pipe_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    // 719,400 pairs take 5.8 MB, and no file may have more than 0.5.
    let small = "ulimit -f 512";
    let generate = "trimill generate complete --vertices 1200 --progress none --output";
    let of_1200 = 1200 * 1199 * 1198 / 6;
    for (line, written) in [
        (format!("{small}; {generate} - | {COUNT} -"), false),
        (format!("{small}; mkfifo pairs; {generate} - > pairs & {COUNT} pairs"), false),
        // Beyond this they are encoded, and go to files.
        (format!("{generate} - | TRIMILL_BUCKETS=65536 {COUNT} - --threads 2"), true),
    ] {
        let output = shell(folder.path(), &line);
        assert_eq!(triangles(&output), of_1200, "{line}");
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let input = &result["stages"].as_array().unwrap()[0];
        assert_eq!((&input["name"], &input["bytes_in"]), (&"input".into(), &(8 * 719_400).into()), "{input}");
        assert_eq!(input["bytes_out"].as_u64().unwrap() > 0, written, "{input}");
        assert_eq!(std::fs::read_dir(folder.path().join("work")).unwrap().count(), 0, "{line}");
    }
}

#[test]
fn what_comes_through_a_pipe_is_counted_or_refused_as_a_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| File::create(folder.path().join(name)).unwrap().write_all(bytes).unwrap();
    let complete = |ids: [u32; 4]| -> Vec<u8> {
        let pairs = (0..4).flat_map(|i| (0..4).map(move |j| [ids[i], ids[j]]));
        pairs.flatten().flat_map(u32::to_le_bytes).collect()
    };
    let dense = complete([0, 1, 2, 3]);
    write("dense", &dense);
    write("packed", &zstd::bulk::compress(&dense, 1).unwrap());
    write("sparse", &complete([0, 7, 20_000_000, 30_000_000]));
    write("far", &complete([0, 7, 1 << 31, 4_000_000_000]));
    write("cut", &dense[..60]);
    write("empty", &[]);
    let piped = |name, more: &str| shell(folder.path(), &format!("cat {name} | {COUNT} - {more}"));
    for name in ["dense", "packed", "sparse"] {
        assert_eq!(triangles(&piped(name, "")), 4, "{name}");
    }
    // A file is read twice where ids are sparse, a pipe needs memory for all of them.
    assert_eq!(triangles(&shell(folder.path(), &format!("{COUNT} far"))), 4);
    for (name, more, code, said) in [
        ("far", "--host-memory 1GiB", 3, "write the arcs to a file"),
        ("sparse", "--host-memory 100MiB", 3, "--host-memory"),
        ("cut", "", 1, "(standard input): 60 bytes; expected a multiple of 8"),
        ("empty", "", 1, "(standard input): is empty"),
    ] {
        let output = piped(name, more);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {message}");
        assert!(message.contains(said), "{name}: {message}");
    }
}
