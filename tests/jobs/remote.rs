//! Whole jobs on objects of a server: the counts of the same files on disk, in each format that servers can hold; the cache, run directories, shards;
//! refusals; no credentials of a URL are written anywhere. Graphs of several files are in `graphar.rs`, archives in `archives.rs`.

mod archives;
mod graphar;

use std::fs;
use std::path::Path;

use crate::common::job::{arcs, data};
use crate::common::packed::{gz, zipped, zst};
use crate::common::place::{self, Place, stderr};
use crate::common::server::{Answer, Asked, Object, Server};
use crate::common::tables::parquet;
use crate::common::{pairs32, pairs64};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::file::properties::WriterProperties;

/// A published count: SNAP's ca-HepTh.
const TRIANGLES: u64 = 28_339;

/// A table of two columns with several row groups.
fn table(arcs: &[(u64, u64)]) -> Vec<u8> {
    let properties = WriterProperties::builder().set_data_page_size_limit(4 << 10).set_dictionary_enabled(false);
    let columns = "required int64 src; required int64 dst;";
    parquet(columns, properties.build(), arcs.chunks(10_000), |arcs, number, column| {
        let ColumnWriter::Int64ColumnWriter(writer) = column else { panic!("another type") };
        let ids: Vec<i64> = arcs.iter().map(|&(u, v)| if number == 0 { u } else { v } as i64).collect();
        writer.write_batch(&ids, None, None).map(drop).unwrap();
    })
}

/// The graph in all formats that are read from servers.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let text = fs::read_to_string(data("ca-HepTh.txt")).unwrap();
    let arcs = arcs("ca-HepTh.txt");
    let pairs = pairs32(&arcs);
    let header = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({}, 2), }}", arcs.len());
    let npy = [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes(), &pairs].concat();
    let frames = text.lines().collect::<Vec<_>>();
    let frames = frames.chunks(9000).map(|lines| zst(format!("{}\n", lines.join("\n"))));
    let matrix: Vec<String> = arcs.iter().map(|(u, v)| format!("{} {}\n", u + 1, v + 1)).collect();
    let size = 1 + arcs.iter().map(|&(u, v)| u.max(v)).max().unwrap() + 1;
    let banner = format!("%%MatrixMarket matrix coordinate pattern general\n{size} {size} {}\n", arcs.len());
    vec![
        ("g.txt", text.clone().into()),
        ("g.txt.gz", gz(&text)),
        ("g.txt.zst", zst(&text)),
        ("frames.txt.zst", frames.collect::<Vec<_>>().concat()),
        ("g.parquet", table(&arcs)),
        ("g.bin", pairs),
        ("g.u64", pairs64(&arcs)),
        ("g.npy", npy),
        ("g.mtx", format!("{banner}{}", matrix.concat()).into()),
    ]
}

/// The lines of the graph, in two parts.
fn halves() -> [String; 2] {
    let text = fs::read_to_string(data("ca-HepTh.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (one, other) = lines.split_at(lines.len() / 2);
    [one.join("\n"), other.join("\n")]
}

fn serve<N: std::fmt::Display + Send + Sync + 'static>(files: Vec<(N, Vec<u8>)>) -> Server {
    Server::start(move |asked| {
        let path = asked.target.split('?').next().unwrap_or_default();
        match files.iter().find(|(name, _)| path == format!("/{name}")) {
            Some((name, bytes)) => Object::tagged(bytes.clone(), &format!("\"{name}\"")).answer(asked),
            None => Answer::status(404),
        }
    })
}

#[track_caller]
fn counts(place: &Place, words: &[&str]) {
    assert_eq!(place.answer(words)["triangles"], TRIANGLES, "{words:?}");
}

#[test]
fn objects_count_as_files_do() {
    let (place, server) = (Place::new(), serve(files()));
    for (name, bytes) in files() {
        let url = server.url(name);
        for settings in [&[][..], &["--threads", "4"], &["--host-memory", "64MiB", "--threads", "1"]] {
            counts(&place, &[&["count", &*url, "--no-cache"], settings].concat());
        }
        place.write(name, bytes);
        counts(&place, &["count", name, "--no-cache"]);
    }
    // A file and an object of one graph.
    let [one, other] = halves();
    place.write("one.txt", one);
    let server = serve(vec![("other.txt", other.into())]);
    counts(&place, &["count", "one.txt", &server.url("other.txt"), "--no-cache"]);
    let planned = place.prints(&["plan", "--json", &server.url("other.txt")]);
    assert!(String::from_utf8_lossy(&planned).contains("\"vertices\""));
}

#[test]
fn a_list_of_objects_stands_for_them() {
    let place = Place::new();
    let [one, other] = halves();
    // Paths relative to the folder of the list and, as Common Crawl has them, to the root.
    let server = serve(vec![
        ("graph/edges.paths.gz", gz("host/one.txt\ngraph/host/other.txt\n")),
        ("graph/host/one.txt", one.into()),
        ("graph/host/other.txt", other.into()),
        ("graph/wrong.paths", b"host/one.txt\n/etc/hosts\n".to_vec()),
        ("graph/numbers.paths", b"0 1\n1 2\n".to_vec()),
    ]);
    counts(&place, &["count", &server.url("graph/edges.paths.gz"), "--no-cache"]);
    for (name, said) in [
        ("wrong.paths", "wrong.paths:2: a path that is not below the folder of the list"),
        ("numbers.paths", "numbers.paths:1: a line of numbers; expected the path or the URL of a file on each line"),
    ] {
        place.refuses(&["count", &server.url(&format!("graph/{name}")), "--no-cache"], 1, &[said]);
    }
    // A list on disk, of files on the server.
    let urls = ["one", "other"].map(|name| server.url(&format!("graph/host/{name}.txt")));
    place.write("edges.paths", urls.join("\n") + "\n");
    counts(&place, &["count", "edges.paths", "--no-cache"]);
}

#[test]
fn connections_that_break_change_no_count_and_objects_that_change_have_none() {
    let place = Place::new();
    let mut refused = 0;
    for (name, bytes) in files() {
        let object = Object::tagged(bytes, "\"1\"");
        counts(&place, &["count", &Server::cutting(object.clone()).url(name), "--no-cache"]);
        // The first answer has all of a shorter object.
        if object.bytes.len() > 128 << 10 {
            let server = Server::changing(object);
            let said = format!("{}: changed while it was read (its ETag differs)", server.url(name));
            place.refuses(&["count", &server.url(name)], 1, &[&said]);
            refused += 1;
        }
    }
    assert!(refused >= 4, "{refused}");
}

#[test]
fn only_an_unchanged_object_is_in_the_cache() {
    let place = Place::new();
    let text = fs::read_to_string(data("ca-HepTh.txt")).unwrap();
    let modified = Some("Wed, 01 Jan 2025 00:00:00 GMT");
    let with = |tag: Option<&str>| Object { bytes: text.clone().into(), tag: tag.map(String::from), modified };
    let cached = |server: &Server, query: &str| {
        let url = format!("{}?{query}", server.url("g.txt"));
        place.answer(&["count", "--cache-dir", "cache", &url])["stages"][0]["name"] == "cached"
    };
    let [one, two] = ["\"1\"", "\"2\""].map(|tag| with(Some(tag)));
    let server = Server::start(move |asked| if asked.target.contains("two") { &two } else { &one }.answer(asked));
    assert!(!cached(&server, "a=1"));
    let before = server.asked().len();
    // With another query it is the same object; only its version is requested.
    assert!(cached(&server, "a=2"));
    assert_eq!(server.asked().len(), before + 1);
    let listed = place.prints(&["cache", "list", "--cache-dir", "cache"]);
    assert!(String::from_utf8_lossy(&listed).contains(&server.url("g.txt")));
    place.prints(&["cache", "remove", "--cache-dir", "cache", &format!("{}?a=3", server.url("g.txt"))]);
    assert!(!cached(&server, "a=1"));
    assert!(!cached(&server, "v=two"), "it has another ETag");
    // Without a strong ETag nothing is cached.
    for tag in [Some("W/\"1\""), None] {
        let server = Server::of(with(tag));
        assert!(!cached(&server, "") && !cached(&server, ""), "{tag:?}");
        place.refuses(&["count", &server.url("g.txt"), "--run-dir", "run"], 2, &["a URL with a strong ETag"]);
    }
}

fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let paths = place::files(dir).into_iter();
    paths.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

#[test]
fn no_credential_is_written_anywhere() {
    let (place, server) = (Place::new(), serve(files()));
    let url = |name: &str| format!("http://me:hunter2@127.0.0.1:{}/{name}?sig=hunter2#hunter2", server.port);
    let shown = server.url("g.txt");
    let job = |name: &str| format!("[[job]]\ninput.path = '{}'\n", url(name));
    place.write("jobs.toml", job("g.txt") + &job("gone"));
    let text = url("g.txt");
    let outputs = ["--report", "r.html", "--trace", "t.json", "--output", "out", "--run-dir", "run"];
    let commands: [&[&str]; 11] = [
        &[&["count", &text, "-vvv", "--json"], &outputs[..]].concat(),
        &["count", &text, "-vvv", "--run-dir", "run", "--seed", "9"],
        &["count", &text, "--against", "all", "-v"],
        &["prepare", &text, "--run-dir", "prepared", "--shards", "2", "--lcc", "l.txt", "-vvv"],
        &["plan", &text, "--report", "p.html", "-vvv"],
        &["run", "jobs.toml", "--check", "--json"],
        &["run", "jobs.toml", "--check"],
        &["run", "jobs.toml", "-vvv"],
        &["verify", &text, "-vvv"],
        &["inspect", &text],
        &["count", "karate.txt", "--per-vertex", &text],
    ];
    let mut printed = String::new();
    for words in commands {
        let output = place.run(words);
        printed.push_str(&format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output)));
    }
    fs::remove_file(place.path("jobs.toml")).unwrap();
    assert!(printed.contains(&shown), "{printed}");
    let lines = printed.lines().filter(|line| line.contains("hunter2") || line.contains("me:")).collect::<Vec<_>>();
    assert!(lines.is_empty(), "{lines:?}");
    let written = contents(&place.path(""));
    let named = |wanted: &str| {
        let named = written.iter().filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(wanted));
        named.map(|(name, _)| name).collect::<Vec<_>>()
    };
    for file in ["r.html", "job.json", "p.html"] {
        assert!(named(&shown).iter().any(|name| name.ends_with(file)), "{file}: {:?}", named(&shown));
    }
    assert!(named("hunter2").is_empty(), "{:?}", named("hunter2"));
    // It was sent with each request, though.
    let used = |asked: &Asked| asked.headers.contains_key("authorization") && asked.target.contains("hunter2");
    assert!(server.asked().iter().all(used));
}

#[test]
fn a_run_directory_and_shards_belong_to_an_object() {
    let (place, server) = (Place::new(), serve(files()));
    let url = server.url("g.bin");
    counts(&place, &["count", &url, "--run-dir", "run", "--no-cache"]);
    counts(&place, &["count", &url, "--run-dir", "run", "--no-cache"]);
    let other = Server::of(Object::tagged(files()[5].1.clone(), "\"other\""));
    place.refuses(&["count", &other.url("g.bin"), "--run-dir", "run"], 3, &["belongs to another job (input: recorded"]);
    assert_eq!(place.sharded("shards", &[&url, "--parts", "4"])["triangles"], TRIANGLES);
}

#[test]
fn what_cannot_be_read_from_a_server_is_refused() {
    let place = Place::new();
    let sg = [&[0u8][..], &0i64.to_le_bytes(), &2i64.to_le_bytes(), &[0; 24]].concat();
    let server = serve(vec![
        ("g.sg", sg),
        ("g.graph", fs::read(data("cnr-2000.graph")).unwrap()),
        ("g.properties", fs::read(data("cnr-2000.properties")).unwrap()),
        ("metis.graph", b"3 3\n2 3\n1 3\n1 2\n".to_vec()),
        ("matrix.npz", zipped(&[("format.npy", b"\x93NUMPY")])),
        ("bad.txt", b"0 1\n1 x\n".to_vec()),
    ]);
    for (name, said) in [
        ("g.sg", "a file of format gapbs-sg on a server"),
        ("g.graph", "a file of format bvgraph on a server"),
        ("g.properties", "a file of format bvgraph on a server"),
        ("metis.graph", "a file of format metis on a server"),
        ("matrix.npz", "a file of format scipy-npz on a server"),
    ] {
        let url = server.url(name);
        place.refuses(&["count", &url], 2, &[&format!("{url}: {said}"), "download it first"]);
    }
    let bad = server.url("bad.txt");
    place.refuses(&["count", &bad], 1, &[&format!("{bad}:2: ")]);
    place.refuses(&["count", &server.url("gone.txt")], 1, &["404 Not Found", "check the URL"]);
    place.refuses(&["count", "gs://bucket/a"], 2, &["gs://bucket/a: a URL of the scheme gs, which is not read"]);
    place.refuses(&["count", "s3://key:secret@bucket/a"], 2, &["s3://bucket/a: an s3 URL with a user"]);
    place.write("k.txt", "0 1\n1 2\n2 0\n");
    let said = "https://host/v.tsv: the file of the triangles at each vertex is a URL";
    place.refuses(&["count", "k.txt", "--per-vertex", "https://host/v.tsv"], 2, &[said]);
    place.refuses(&["inspect", "https://host/spill"], 2, &["https://host/spill: a URL"]);
}
