//! What the program refuses: the exit code, what the message names, and that nothing is left behind.

mod stopped;

use std::fs;

use crate::common::job::{listing, typed as data};
use crate::common::pairs32;
use crate::common::place::{Place, SmallDisk, number_after, stderr};

/// The program ends with `code`, says all of `parts`, and leaves nothing behind.
#[track_caller]
fn refuses(place: &Place, code: i32, arguments: &[&str], parts: &[&str]) {
    assert!(place.refuses(arguments, code, parts).stdout.is_empty(), "{arguments:?}");
    is_clean(place);
}

#[track_caller]
fn is_clean(place: &Place) {
    assert!(listing(&place.path("tmp")).is_empty(), "{:?}", listing(&place.path("tmp")));
}

#[test]
fn budgets_below_the_floor_name_the_smallest_that_works() {
    let place = Place::new();
    let graph = data("wiki-Vote.txt");
    // The longest row fits in far smaller row blocks than those of 20 KiB.
    for blocks in [&[][..], &["--block-bytes", "20KiB"]] {
        let words = |command: &'static str, bytes| {
            [&[command, &*graph, "--backend", "cpu", "--device-memory", bytes][..], blocks].concat()
        };
        let text = stderr(&place.refuses(&words("count", "1KiB"), 3, &[]));
        let smallest = number_after("raise --device-memory to ", &text);
        // The smallest budget works, and a byte less does not.
        let below = (smallest.parse::<u64>().unwrap() - 1).to_string();
        refuses(&place, 3, &words("count", &below), &["device budget"]);
        place.answer(&words("plan", &smallest));
    }
    for (backend, said) in [("cpu", "on the CPU: a device budget"), ("cuda", "on a GPU: a device budget")] {
        refuses(&place, 3, &["plan", &graph, "--backend", backend, "--device-memory", "1KiB"], &[said]);
    }
    refuses(&place, 3, &["count", &graph, "--block-bytes", "100"], &["row blocks of 100 bytes", "longest row"]);
    let said = ["4000000000 is not a number of parts", "1048576"];
    refuses(&place, 2, &["count", &graph, "--parts", "4000000000"], &said);
    let kept = ["count", &graph, "--partitioner", "rank", "--keep-spill", "--spill-dir", "kept"];
    refuses(&place, 2, &kept, &["the partitioner rank", "kept"]);
    let partition = ["partition", &graph, "--partitioner", "rank", "--spill-dir", "kept"];
    refuses(&place, 2, &partition, &["the partitioner rank", "spilled"]);
    assert!(!place.path("kept").exists());
    refuses(&place, 3, &["count", &graph, "--backend", "cuda"], &["--backend cpu"]);
    is_clean(&place);
}

#[test]
fn a_job_that_fails_leaves_no_empty_directory_for_its_result() {
    let place = Place::new();
    place.write("odd.txt", "this is no graph\n");
    let count = ["count", "odd.txt", "--output", "o/new"];
    refuses(&place, 1, &count, &["odd.txt:1"]);
    assert!(!place.path("o").exists());
    fs::create_dir(place.path("o")).unwrap();
    refuses(&place, 1, &count, &["odd.txt:1"]);
    assert!(place.path("o").exists() && listing(&place.path("o")).is_empty());
}

/// Whichever write of a BVGraph fails, the error says so, and none of its files is left.
#[test]
fn a_disk_that_fills_while_a_graph_is_generated_is_described() {
    let place = Place::new();
    for write in 1..100 {
        let _ = fs::remove_dir_all(place.path("out"));
        fs::create_dir(place.path("out")).unwrap();
        let generate = ["generate", "gap-urand", "--scale", "10", "--output", "out/u.graph"];
        let output = place.run_with(&format!("write:{write}"), &generate);
        let text = stderr(&output);
        if output.status.code() == Some(0) {
            assert!(write > 6 && place.path("out/u.graph").exists(), "{write}: {text}");
            return;
        }
        assert!(output.status.code() == Some(3) && text.contains("cannot be written"), "{write}: {text}");
        assert!(listing(&place.path("out")).is_empty(), "{write}: {:?}", listing(&place.path("out")));
    }
    panic!("no end");
}

/// The error of a disk that is full while buckets are written says where, how much was written and is needed, and what helps.
#[test]
fn a_disk_that_fills_while_preparing_is_described() {
    let place = Place::new().with("TRIMILL_BUCKETS", "0");
    let mut described = 0;
    for write in 1..=12 {
        let count = ["count", &data("ca-HepTh.txt"), "--no-cache", "--work-dir", "work"];
        let output = place.run_with(&format!("write:{write}"), &count);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        let error = text.lines().last().unwrap();
        let says = |words: &[&str]| words.iter().for_each(|words| assert!(error.contains(words), "{words}: {error}"));
        says(&["work", "are free in", "free some space"]);
        if error.contains("arcs that are sorted") {
            described += 1;
            says(&["at most, of which", "were written", "--work-dir", "--host-memory"]);
        }
        assert!(listing(&place.path("work")).is_empty());
    }
    assert!(described >= 3, "{described}");
}

/// `plan` is asked about other machines; what counts must have the memory.
#[test]
fn budgets_above_the_memory_of_this_machine_are_planned_and_not_counted() {
    let place = Place::new();
    let karate = data("karate.mtx");
    let job = |name: char, more: &str| format!("[[job]]\nname = '{name}'\ninput.path = '{karate}'\n{more}");
    place.write("job.toml", job('a', "") + &job('b', "memory.host = '512TiB'\n"));
    let host = ["--host-memory", "512TiB"];
    for command in [&["count", &karate][..], &["verify", &karate], &["partition", &karate, "--spill-dir", "s"]] {
        refuses(&place, 2, &[command, &host].concat(), &["512.0 TiB", "at most", "the memory of this machine"]);
    }
    let block = ["count", &karate, "--backend", "cpu", "--block-bytes", "1EiB"];
    refuses(&place, 3, &block, &["row blocks of 1152921504606846976 bytes"]);
    // Refused before the first job.
    refuses(&place, 2, &["run", "job.toml"], &["job.toml", "job 'b'", "512.0 TiB"]);
    for device in ["1GiB", "512TiB"] {
        let options = ["plan", &karate, "--device-memory", device];
        let planned = |more: &[&str]| place.answer(&[&options[..], more].concat());
        // With or without a GPU, the plan is for one with this memory.
        if trimill_kernels::find().is_err() {
            assert_eq!(planned(&[])["backend"], "cuda");
            let bytes = if device == "1GiB" { 1u64 << 30 } else { 512 << 40 };
            assert_eq!(planned(&host)["device_memory"].as_u64(), Some(bytes));
        }
        assert_eq!(planned(&["--backend", "cpu"])["backend"], "cpu");
        // On the CPU a budget of the device is the most of the host's that counting takes.
        let counted = place.answer(&["count", &karate, "--backend", "cpu", "--device-memory", device]);
        assert_eq!(counted["triangles"], 45);
        assert!(counted["device_memory"].as_u64() <= counted["host_memory"].as_u64());
    }
    is_clean(&place);
}

#[test]
fn a_spill_directory_that_is_a_file_or_full_ends_with_3() {
    let place = Place::new();
    place.write("file", "x");
    let crawl = data("cnr-2000.graph");
    let contiguous = ["count", &crawl, "--parts", "3", "--partitioner", "contiguous"];
    refuses(&place, 3, &[&contiguous[..], &["--spill-dir", "file/below"]].concat(), &["file"]);
    let Some(small) = SmallDisk::mount(&place, "64k") else { return };
    let output = place.run(&[&contiguous[..], &["--spill-dir", "small", "--work-dir", "tmp"]].concat());
    let left = fs::read_dir(place.path("small")).unwrap().count();
    // The in-place mode needs no space there, even if the rows do not fit the host's budget.
    let ranges = ["--partitioner", "rank", "--work-dir", "small", "--host-memory", "40MiB", "--device-memory", "8MiB"];
    let counted = place.run(&[&["count", &crawl, "--parts", "3"], &ranges[..]].concat());
    drop(small);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("small") && text.contains("64.0 KiB"), "{text}");
    let in_ram = "small is in RAM: what is written there takes memory; name a disk with ";
    assert!(text.contains(&format!("{in_ram}--spill-dir")), "{text}");
    let said = stderr(&counted);
    assert!(said.contains(&format!("{in_ram}--work-dir")), "{said}");
    assert_eq!(left, 0);
    assert!(counted.status.success() && String::from_utf8_lossy(&counted.stdout).contains("20,977,629"));
    is_clean(&place);
}

/// Files of others under the names of this program's: no message tells to remove them, and none is changed.
#[test]
fn nobody_is_told_to_remove_what_this_program_did_not_write() {
    let place = Place::new();
    place.write("g.txt", "0 1\n1 2\n2 0\n");
    let manifest = b"{\"version\": 2, \"name\": \"site\", \"icons\": []}";
    let texts: [&[u8]; 7] = [b"0 1\n1 2\n2 0\n", b"x", b"{}", manifest, b"[1, 2]", &[0; 200], &[b'7'; 200]];
    let names = [
        "edges.txt", "manifest.json", "prepared.json", "job.json", "result.json", "part-00000.json", "g.trimgraf",
        "r.html",
    ];
    for text in texts {
        for name in names {
            let file = format!("mine/{name}");
            let commands: [&[&str]; 13] = [
                &["inspect", &file],
                &["inspect", "mine"],
                &["count", "mine"],
                &["count", "--run-dir", "mine", "--shard", "0/2"],
                &["merge", "mine"],
                &["cluster", "slurm", "mine"],
                &["count", "g.txt", "--run-dir", "mine"],
                &["prepare", "g.txt", "--run-dir", "mine"],
                &["partition", "g.txt", "--spill-dir", "mine/manifest.json"],
                &["count", "g.txt", "--output", "mine", "--keep-spill", "--spill-dir", "mine"],
                &["count", "g.txt", "--report", "mine/r.html"],
                &["cache", "list", "--cache-dir", "mine"],
                &["count", "g.txt", "--cache-dir", "mine"],
            ];
            // A command that is given the name of a file looks at no other.
            let looks_at_it = |words: &[&str]| words.iter().all(|word| !word.starts_with("mine/") || *word == file);
            for words in commands.into_iter().filter(|words| looks_at_it(words)) {
                let _ = fs::remove_dir_all(place.path("mine"));
                fs::create_dir(place.path("mine")).unwrap();
                place.write(&file, text);
                let output = place.run(words);
                let said = stderr(&output).to_lowercase();
                assert_ne!(output.status.code(), Some(101), "{words:?}: {said}");
                let told = ["remove", "delete", "clear"].iter().any(|word| said.contains(word));
                assert!(!told, "{file} {words:?}: {said}");
                assert_eq!(fs::read(place.path(&file)).unwrap(), text, "{file} {words:?}");
            }
        }
    }
}

/// They are refused before the input is read: it is no graph. Which methods these are is tested with the methods.
#[test]
fn methods_of_whole_graphs_are_refused_where_there_may_be_partitions() {
    let place = Place::new();
    place.write("g.txt", "this is no graph\n");
    place.write("p.txt", "0\n0\n1\n");
    for cut in [["--parts", "2"], ["--partitioner", "file:p.txt"]] {
        for command in ["count", "plan", "prepare --run-dir run", "partition --spill-dir spills"] {
            let command: Vec<&str> = command.split(' ').collect();
            let words = [&command[..], &["g.txt", "--method", "forward"], &cut].concat();
            refuses(&place, 2, &words, &["'forward' counts whole graphs only"]);
        }
    }
    assert!(!place.path("run").exists());
    // Parts that an earlier start recorded.
    place.write("g.txt", "0 1\n1 2\n2 0\n2 3\n3 4\n");
    place.prints(&["count", "g.txt", "--parts", "2", "--partitioner", "rank", "--run-dir", "run"]);
    for record in ["result", "part-00000", "part-00001"] {
        fs::remove_file(place.path(format!("run/{record}.json"))).unwrap();
    }
    let again = ["count", "g.txt", "--partitioner", "rank", "--run-dir", "run", "--method", "forward"];
    refuses(&place, 2, &again, &["'forward' counts whole graphs only", "an earlier start recorded 2 parts"]);
}

/// A copy that ended early, in space reserved for all of it, ends with zeros; an array of NumPy has the same bytes behind its header.
#[test]
fn zeros_at_the_end_of_a_file_are_warned_of() {
    let place = Place::new();
    let warned = |file: &str| {
        let said = stderr(&place.run(&["count", file, "--no-cache", "--backend", "cpu"]));
        said.contains("or more, are zeros: is the file whole?")
    };
    for (zeros, others, warns) in [(4096, 3, true), (4095, 3, false), (5010, 75_000, true), (4096, 75_000, false)] {
        let arcs: Vec<(u64, u64)> =
            (1..=others).map(|i| (i, i % others + 1)).chain(std::iter::repeat_n((0, 0), zeros)).collect();
        let header = |fortran: &str| {
            let shape = format!("{{'descr': '<u4', 'fortran_order': {fortran}, 'shape': ({}, 2), }}", arcs.len());
            [b"\x93NUMPY\x01\x00\x76\x00", format!("{shape:<117}\n").as_bytes()].concat()
        };
        place.write("l.bin", pairs32(&arcs));
        place.write("l.npy", [header("False"), pairs32(&arcs)].concat());
        let (tails, heads): (Vec<u64>, Vec<u64>) = arcs.iter().copied().unzip();
        let columns = [tails, heads].concat().into_iter().flat_map(|id| (id as u32).to_le_bytes());
        place.write("f.npy", [header("True"), columns.collect()].concat());
        // 1/16 of that file are 1/8 of the heads.
        assert_eq!(warned("f.npy"), warns && others == 3, "f.npy, {zeros} after {others}");
        for file in ["l.bin", "l.npy"] {
            assert_eq!(warned(file), warns, "{file}, {zeros} after {others}");
        }
    }
    // Neighbours of one vertex, and of each leaf of a star.
    let star: Vec<i64> = std::iter::once(0).chain(5000..=10_000).collect();
    for (ends, first, warns) in [(vec![0, 1, 4097], 1, true), (star, 5000, false)] {
        let arcs = ends[ends.len() - 1];
        let numbers = [&[arcs, ends.len() as i64 - 1], &ends[..]].concat();
        let neighbours = (1..=first).chain(std::iter::repeat_n(0, arcs as usize - first as usize));
        let bytes = numbers.into_iter().flat_map(i64::to_le_bytes).chain(neighbours.flat_map(i32::to_le_bytes));
        place.write("l.sg", std::iter::once(0).chain(bytes).collect::<Vec<u8>>());
        assert_eq!(warned("l.sg"), warns, "{first} leaves");
    }
}

#[test]
fn a_first_column_that_may_number_the_lines_is_warned_of() {
    let place = Place::new();
    let rows = |lines: u64, third: fn(u64) -> u64, rest: &str| -> String {
        (7..7 + lines).map(|i| format!("{i},{},{}{rest}\n", i % 5, third(i))).collect()
    };
    let numbered = rows(64, |i| i % 9, "");
    for (text, header, warns) in [
        (numbered.clone(), &[][..], true),
        (format!("64\n{numbered}"), &[][..], true),
        (numbered.replace(',', "  "), &[][..], true),
        (format!("# c\n\n{}", rows(99, |i| i % 9, ",0.5").replacen("20,", "# c\n20,", 1)), &[][..], true),
        (numbered.clone(), &["--header", "no"], false),
        (rows(63, |i| i % 9, ""), &[][..], false),
        (rows(99, |_| 1, ""), &[][..], false),
        (numbered.replace("\n60,", "\n61,"), &[][..], false),
        (format!("#source,target,n\n{numbered}"), &[][..], false),
    ] {
        place.write("l.csv", &text);
        let count = [&["count", "l.csv", "--no-cache", "--backend", "cpu"], header].concat();
        let said = stderr(&place.run(&count));
        let write = if text.contains("  ") { "by awk '{print $2, $3}' FILE" } else { "by cut -d, -f2,3 FILE" };
        let warned = said.contains("l.csv: the first column grows by one") && said.contains(write);
        assert_eq!(warned, warns, "{text}: {said}");
    }
}

/// A download of plain text that ended early.
#[test]
fn fewer_lines_than_a_comment_announces_are_warned_of() {
    let place = Place::new();
    for (comment, warns) in [
        ("# Nodes: 3 Edges: 4", true),
        ("# Nodes: 3 Edges: 3", false),
        ("# Nodes: 3 Edges: 2", false),
        ("% sym unweighted\n% 4 3 3", true),
        ("% 3 3 4", true),
        ("% 3 3 3", false),
        ("# 4 3 3", false),
    ] {
        place.write("l.txt", format!("{comment}\n0 1\n1 2\n2 0\n"));
        for names in [&[][..], &["--names"]] {
            let count = [&["count", "l.txt", "--no-cache", "--backend", "cpu"], names].concat();
            let said = stderr(&place.run(&count));
            let found = said.matches("a comment announces 4 edges, and there are 3: is the file whole?").count();
            assert_eq!(found, usize::from(warns), "{comment}: {said}");
        }
    }
}
