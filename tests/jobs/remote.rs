//! Whole jobs on objects of a server: the counts of the same files on disk, in each format that is read so; the cache, run directories,
//! shards; what is refused; and that no part of a URL that may be a credential is written anywhere.

use std::fs;
use std::path::Path;

use crate::common::job::data;
use crate::common::place::{Place, stderr};
use crate::common::server::{Answer, Asked, Object, Server};

/// A published count: SNAP's ca-HepTh.
const TRIANGLES: u64 = 28_339;

fn arcs(text: &str) -> Vec<(u32, u32)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let ends = lines.map(|line| line.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<u32>>());
    ends.map(|ends| (ends[0], ends[1])).collect()
}

/// A table of two columns with several row groups.
fn parquet(arcs: &[(u32, u32)]) -> Vec<u8> {
    use parquet::data_type::Int64Type;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    let schema = parse_message_type("message edges { required int64 src; required int64 dst; }").unwrap();
    let properties =
        WriterProperties::builder().set_data_page_size_limit(4 << 10).set_dictionary_enabled(false).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    for group in arcs.chunks(10_000) {
        let mut row_group = writer.next_row_group().unwrap();
        for column in
            [group.iter().map(|arc| arc.0.into()).collect::<Vec<i64>>(), group.iter().map(|arc| arc.1.into()).collect()]
        {
            let mut values = row_group.next_column().unwrap().unwrap();
            values.typed::<Int64Type>().write_batch(&column, None, None).unwrap();
            values.close().unwrap();
        }
        row_group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

/// The graph in all formats that are read from servers.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let text = fs::read_to_string(data("ca-HepTh.txt")).unwrap();
    let arcs = arcs(&text);
    let pairs: Vec<u8> = arcs.iter().flat_map(|&(u, v)| [u.to_le_bytes(), v.to_le_bytes()]).flatten().collect();
    let wide: Vec<u8> =
        arcs.iter().flat_map(|&(u, v)| [u64::from(u).to_le_bytes(), u64::from(v).to_le_bytes()]).flatten().collect();
    let header = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({}, 2), }}", arcs.len());
    let npy = [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes(), &pairs].concat();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let frames = text.lines().collect::<Vec<_>>();
    let frames =
        frames.chunks(9000).map(|lines| zstd::bulk::compress(format!("{}\n", lines.join("\n")).as_bytes(), 1).unwrap());
    let matrix: Vec<String> = arcs.iter().map(|(u, v)| format!("{} {}\n", u + 1, v + 1)).collect();
    let size = 1 + arcs.iter().map(|&(u, v)| u.max(v)).max().unwrap() + 1;
    let banner = format!("%%MatrixMarket matrix coordinate pattern general\n{size} {size} {}\n", arcs.len());
    vec![
        ("g.txt", text.clone().into()),
        ("g.txt.gz", gzip.finish().unwrap()),
        ("g.txt.zst", zstd::bulk::compress(text.as_bytes(), 1).unwrap()),
        ("frames.txt.zst", frames.collect::<Vec<_>>().concat()),
        ("g.parquet", parquet(&arcs)),
        ("g.bin", pairs),
        ("g.u64", wide),
        ("g.npy", npy),
        ("g.mtx", format!("{banner}{}", matrix.concat()).into()),
    ]
}

fn serve(files: Vec<(&'static str, Vec<u8>)>) -> Server {
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
    let printed = place.prints(&[words, &["--json"]].concat());
    let result: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(result["triangles"], TRIANGLES, "{words:?}");
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
    let text = fs::read_to_string(data("ca-HepTh.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (one, other) = lines.split_at(lines.len() / 2);
    place.write("one.txt", one.join("\n"));
    let server = serve(vec![("other.txt", other.join("\n").into())]);
    counts(&place, &["count", "one.txt", &server.url("other.txt"), "--no-cache"]);
    let planned = place.prints(&["plan", "--json", &server.url("other.txt")]);
    assert!(String::from_utf8_lossy(&planned).contains("\"vertices\""));
}

#[test]
fn a_list_of_objects_stands_for_them() {
    let place = Place::new();
    let text = fs::read_to_string(data("ca-HepTh.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (one, other) = lines.split_at(lines.len() / 2);
    let mut list = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Paths from the folder of the list on, and as Common Crawl has them, from the root on.
    std::io::Write::write_all(&mut list, b"host/one.txt\ngraph/host/other.txt\n").unwrap();
    let server = serve(vec![
        ("graph/edges.paths.gz", list.finish().unwrap()),
        ("graph/host/one.txt", one.join("\n").into()),
        ("graph/host/other.txt", other.join("\n").into()),
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
    // A list that was fetched, of files that were not.
    place.write(
        "edges.paths",
        format!("{}\n{}\n", server.url("graph/host/one.txt"), server.url("graph/host/other.txt")),
    );
    counts(&place, &["count", "edges.paths", "--no-cache"]);
}

/// The files below a fixture by their names, and its triangles by networkx.
fn graphar(name: &str) -> (Vec<(String, Vec<u8>)>, u64) {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/inputs");
    let prefix = format!("{}/", inputs.join(name).display());
    let files = contents(&inputs.join(name)).into_iter();
    let counts = fs::read_to_string(inputs.join("counts.tsv")).unwrap();
    let row = counts.lines().map(|line| line.split('\t').collect::<Vec<_>>()).find(|row| row[0] == name).unwrap();
    (
        files.map(|(path, bytes)| (path.strip_prefix(&prefix).unwrap().to_owned(), bytes)).collect(),
        row[3].parse().unwrap(),
    )
}

#[test]
fn a_graph_of_graphar_is_read_by_its_description() {
    let place = Place::new();
    let count = |url: &str, words: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&place.prints(&[&["count", url, "--json"], words].concat())).unwrap()
    };
    for name in ["graphar", "graphar-csv"] {
        let (files, triangles) = graphar(name);
        // Each answer but every third is cut, and the folder asks for a user and a query.
        let served = files.clone();
        let server = Server::start(move |asked| {
            let found = served.iter().find(|(name, _)| asked.target == format!("/a%20b/{name}?sig=hunter2"));
            match found {
                Some((name, bytes)) if asked.headers.contains_key("authorization") => {
                    let answer = Object::tagged(bytes.clone(), &format!("\"{name}\"")).answer(asked);
                    Answer { cut: (asked.number % 3 < 2).then_some(answer.body.len() / 2), ..answer }
                }
                Some(_) => Answer::status(401),
                None => Answer::status(404),
            }
        });
        for description in ["friends.graph.yml", "person_knows_person.edge.yaml"] {
            let url = format!("http://me:hunter2@127.0.0.1:{}/a b/{description}?sig=hunter2", server.port);
            assert_eq!(count(&url, &["--no-cache"])["triangles"], triangles, "{name} {description}");
            let said = place.run(&["count", &url, "--no-cache", "-vvv"]);
            assert!(!stderr(&said).contains("hunter2") && !stderr(&said).contains("me:"), "{}", stderr(&said));
        }
        // A file that is missing is named.
        for missing in files
            .iter()
            .map(|(name, _)| name)
            .filter(|name| !name.contains("/offset/") && !name.contains("vertex.yaml"))
        {
            let served: Vec<_> = files.iter().filter(|(name, _)| name != missing).cloned().collect();
            let server =
                Server::start(move |asked| match served.iter().find(|(name, _)| asked.target == format!("/{name}")) {
                    Some((name, bytes)) => Object::tagged(bytes.clone(), &format!("\"{name}\"")).answer(asked),
                    None => Answer::status(404),
                });
            let said = format!("{}: cannot be read (404 Not Found)", server.url(missing));
            place.refuses(&["count", &server.url("friends.graph.yml"), "--no-cache"], 1, &[&said]);
        }
    }
}

#[test]
fn a_graph_of_graphar_is_in_the_cache_until_a_chunk_changes() {
    let place = Place::new();
    let (files, triangles) = graphar("graphar");
    let chunks: Vec<String> =
        files.iter().map(|file| file.0.clone()).filter(|name| name.contains("/adj_list/")).collect();
    assert_eq!(chunks.len(), 6);
    let changed = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let now = std::sync::Arc::clone(&changed);
    let server = Server::start(move |asked| match files.iter().find(|(name, _)| asked.target == format!("/{name}")) {
        Some((name, bytes)) => {
            let version = u8::from(*name == *now.lock().unwrap());
            Object::tagged(bytes.clone(), &format!("\"{version}\"")).answer(asked)
        }
        None => Answer::status(404),
    });
    let cached = || {
        let output = place.prints(&["count", "--json", "--cache-dir", "cache", &server.url("friends.graph.yml")]);
        let result: serde_json::Value = serde_json::from_slice(&output).unwrap();
        assert_eq!(result["triangles"], triangles);
        String::from_utf8_lossy(&output).contains("\"cached\"")
    };
    assert!(!cached() && cached());
    for chunk in chunks {
        *changed.lock().unwrap() = chunk.clone();
        assert!(!cached() && cached(), "{chunk}");
    }
}

#[test]
fn a_description_on_a_server_names_its_own_files_only() {
    let place = Place::new();
    let edge = "src_type: a\ndst_type: a\nsrc_chunk_size: 1\nchunk_size: 1\nadj_lists: [{file_type: csv}]\nprefix: ";
    let graph = "edges: [g.edge.yml]\nprefix: ";
    let many = u64::MAX.to_le_bytes();
    for (graph, edge, said) in [
        (format!("{graph}/etc/"), format!("{edge}e/"), "g.graph.yml: the path '/etc/', which is not below its folder"),
        (format!("{graph}../"), format!("{edge}e/"), "g.graph.yml: the path '../', which is not below its folder"),
        (format!("{graph}http://u:pw@host/x?q"), format!("{edge}e/"), "g.graph.yml: files at 'http://host/x'"),
        (graph.into(), format!("{edge}/etc/"), "g.edge.yml: the path '/etc/', which is not below its folder"),
        ("edges: [/etc/g.edge.yml]".into(), format!("{edge}e/"), "the path '/etc/g.edge.yml'"),
        (
            graph.into(),
            format!("{edge}e/").replace("src_chunk_size: 1\n", ""),
            "g.edge.yml: no number 'src_chunk_size'",
        ),
        (graph.into(), format!("{edge}e/"), "e/unordered_by_source/vertex_count: more than 1048576 parts"),
        (
            graph.into(),
            format!("{edge}e/").replace("src_chunk_size: 1", &format!("src_chunk_size: {}", 1u64 << 63)),
            "edge_count0: more than 1048576 chunks",
        ),
        (graph.into(), format!("{edge}e/{}", "#".repeat(1 << 20)), "g.edge.yml: 1048"),
    ] {
        let server = serve(vec![
            ("g.graph.yml", graph.into_bytes()),
            ("g.edge.yml", edge.into_bytes()),
            ("e/unordered_by_source/vertex_count", many.to_vec()),
            ("e/unordered_by_source/edge_count0", many.to_vec()),
            ("e/unordered_by_source/edge_count1", many.to_vec()),
        ]);
        place.refuses(&["count", &server.url("g.graph.yml"), "--no-cache"], 1, &[said]);
    }
}

/// A zip archive, whose members are stored if their names say that they are compressed, else deflated.
fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    use zip::write::SimpleFileOptions;

    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, contents) in members {
        let stored = Path::new(name).extension().is_some_and(|suffix| suffix == "gz");
        let method = if stored { zip::CompressionMethod::Stored } else { zip::CompressionMethod::Deflated };
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        std::io::Write::write_all(&mut zip, contents).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tarred(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, contents) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(contents.len() as u64);
        tar.append_data(&mut header, name, *contents).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Archives of the graph beside what is no graph: bytes that compress to nothing less, and that only a tar archive has to be read past.
fn archives() -> Vec<(&'static str, Vec<u8>)> {
    let text = fs::read(data("ca-HepTh.txt")).unwrap();
    let noise: Vec<u8> =
        (0..1u64 << 18).flat_map(|i| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes()).to_le_bytes()).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &text).unwrap();
    let packed = gzip.finish().unwrap();
    let plain = [("README.bin", &noise[..]), ("x/ca-HepTh.txt", &text), ("x/README", b"about")];
    vec![
        ("deflated.zip", zipped(&plain)),
        ("stored.zip", zipped(&[("picture.jpg", &noise), ("ca-HepTh.txt.gz", &packed), ("page.html", &noise)])),
        ("g.tar", tarred(&plain)),
        ("g.tar.zst", zstd::bulk::compress(&tarred(&plain), 1).unwrap()),
    ]
}

#[test]
fn the_graph_in_an_archive_is_fetched_without_the_other_members_of_a_zip() {
    let place = Place::new();
    for (name, bytes) in archives() {
        let object = Object::tagged(bytes, "\"1\"");
        let (whole, broken, later) =
            (object.clone(), object.clone(), Object { tag: Some("\"2\"".into()), ..object.clone() });
        let server = Server::start(move |asked| whole.answer(asked));
        counts(&place, &["count", &server.url(name), "--no-cache"]);
        let fetched =
            server.asked().iter().filter_map(Asked::range).map(|(first, last)| last + 1 - first).sum::<usize>();
        if name.ends_with(".zip") {
            assert!(fetched < 2 << 20, "{name}: {fetched} bytes in {:?}", server.asked());
        }
        let server = Server::start(move |asked| {
            let answer = broken.answer(asked);
            Answer { cut: (asked.number % 3 < 2).then_some(answer.body.len() / 2), ..answer }
        });
        counts(&place, &["count", &server.url(name), "--no-cache", "--threads", "1", "--host-memory", "64MiB"]);
        // What follows the first answer is of another version.
        let server =
            Server::start(move |asked| if asked.number < 1 { object.answer(asked) } else { later.answer(asked) });
        let said = format!("{}: changed while it was read (its ETag differs)", server.url(name));
        place.refuses(&["count", &server.url(name)], 1, &[&said]);
    }
}

#[test]
fn a_crafted_zip_on_a_server_is_refused_as_on_a_disk() {
    let place = Place::new();
    let zip = zipped(&[("g.txt", "3 4\n".repeat(500).as_bytes())]);
    let directory = zip.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    let altered = |at: usize, bytes: &[u8]| {
        let mut zip = zip.clone();
        zip[directory + at..][..bytes.len()].copy_from_slice(bytes);
        zip
    };
    for (bytes, said) in [
        (b"PK\x03\x04 and so on".to_vec(), "the zip archive is damaged"),
        (zip[..zip.len() - 1].to_vec(), "the zip archive is damaged"),
        (altered(8, &[1, 0]), "the member 'g.txt' is encrypted"),
        (altered(16, &[1, 2, 3, 4]), "the member 'g.txt' is damaged (its checksum differs)"),
        // What the list says of the compressed size, of the size, and of where the member begins.
        (altered(20, &[5, 0, 0, 0]), "the member 'g.txt' is damaged"),
        (altered(24, &[7, 0, 0, 0]), "more than the 7 bytes announced"),
        (altered(24, &[0xfe, 0xff, 0xff, 0xff]), "expected a size that compression can lead to"),
        (altered(42, &[0xff, 0xff, 0xff, 0x7f]), "the zip archive is damaged"),
        (zipped(&[("a.txt", b"0 1\n"), ("b.txt", b"1 2\n")]), "2 files that may be the graph: 'a.txt', 'b.txt'"),
        (zipped(&[("i.zip", &zip)]), "g.zip: i.zip: is an archive in an archive"),
        (zipped(&[("g.txt", b"0 1\n1 x\n")]), "g.zip: g.txt:2: 'x'"),
    ] {
        let server = Server::of(Object::tagged(bytes, "\"1\""));
        place.refuses(&["count", &server.url("g.zip"), "--no-cache"], 1, &[&server.url("g.zip"), said]);
    }
}

#[test]
fn connections_that_break_change_no_count_and_objects_that_change_have_none() {
    let place = Place::new();
    let mut refused = 0;
    for (name, bytes) in files() {
        let object = Object::tagged(bytes, "\"1\"");
        let (whole, length) = (object.clone(), object.bytes.len());
        let server = Server::start(move |asked| {
            let answer = whole.answer(asked);
            Answer { cut: (asked.number % 3 < 2).then_some(answer.body.len() / 2), ..answer }
        });
        counts(&place, &["count", &server.url(name), "--no-cache"]);
        let later = Object { tag: Some("\"2\"".into()), ..object.clone() };
        let server =
            Server::start(move |asked| if asked.number < 1 { object.answer(asked) } else { later.answer(asked) });
        // All of a shorter one comes with the first answer.
        if length > 128 << 10 {
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
    let with = |tag: &'static str, text: &str| {
        let object = Object { modified: Some("Wed, 01 Jan 2025 00:00:00 GMT"), ..Object::tagged(text, tag) };
        Server::of(object)
    };
    let cached = |server: &Server, query: &str| {
        let output =
            place.run(&["count", "--json", "--cache-dir", "cache", &format!("{}?{query}", server.url("g.txt"))]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).contains("\"cached\"")
    };
    let server = with("\"1\"", &text);
    assert!(!cached(&server, "a=1"));
    let before = server.asked().len();
    // Another query: the same object. Only its version is asked for.
    assert!(cached(&server, "a=2"));
    assert_eq!(server.asked().len(), before + 1);
    let listed = place.prints(&["cache", "list", "--cache-dir", "cache"]);
    assert!(String::from_utf8_lossy(&listed).contains(&server.url("g.txt")));
    place.prints(&["cache", "remove", "--cache-dir", "cache", &format!("{}?a=3", server.url("g.txt"))]);
    assert!(!cached(&server, "a=1"));
    // Without a strong ETag nothing is kept.
    let server = with("W/\"1\"", &text);
    assert!(!cached(&server, "") && !cached(&server, ""));
    place.refuses(&["count", &server.url("g.txt"), "--run-dir", "run"], 2, &["a URL with a strong ETag"]);
}

fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| match path.is_dir() {
        true => contents(&path),
        false => vec![(path.display().to_string(), fs::read(&path).unwrap())],
    };
    entries.flat_map(read).collect()
}

#[test]
fn no_credential_is_written_anywhere() {
    let (place, server) = (Place::new(), serve(files()));
    let url = |name: &str| format!("http://me:hunter2@127.0.0.1:{}/{name}?sig=hunter2#hunter2", server.port);
    let shown = server.url("g.txt");
    place.write(
        "jobs.toml",
        format!("[[job]]\ninput.path = '{}'\n[[job]]\ninput.path = '{}'\n", url("g.txt"), url("gone")),
    );
    let text = url("g.txt");
    let commands: [&[&str]; 11] = [
        &[
            "count",
            &text,
            "-vvv",
            "--report",
            "r.html",
            "--trace",
            "t.json",
            "--output",
            "out",
            "--run-dir",
            "run",
            "--json",
        ],
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
        written
            .iter()
            .filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(wanted))
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    for file in ["r.html", "job.json", "p.html"] {
        assert!(named(&shown).iter().any(|name| name.ends_with(file)), "{file}: {:?}", named(&shown));
    }
    assert!(named("hunter2").is_empty(), "{:?}", named("hunter2"));
    // It was used, though.
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.headers.contains_key("authorization") && asked.target.contains("hunter2"))
    );
}

#[test]
fn a_run_directory_and_shards_belong_to_an_object() {
    let (place, server) = (Place::new(), serve(files()));
    let url = server.url("g.bin");
    counts(&place, &["count", &url, "--run-dir", "run", "--no-cache"]);
    counts(&place, &["count", &url, "--run-dir", "run", "--no-cache"]);
    let other = Server::of(Object::tagged(files()[5].1.clone(), "\"other\""));
    place.refuses(&["count", &other.url("g.bin"), "--run-dir", "run"], 3, &["belongs to another job (input: recorded"]);
    place.prints(&["prepare", &url, "--run-dir", "shards", "--shards", "2", "--parts", "4"]);
    for shard in ["0/2", "1/2"] {
        place.prints(&["count", "--run-dir", "shards", "--shard", shard]);
    }
    counts(&place, &["merge", "shards"]);
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
    place.refuses(
        &["count", "k.txt", "--per-vertex", "https://host/v.tsv"],
        2,
        &["https://host/v.tsv: the file of the vertices is a URL"],
    );
    place.refuses(&["inspect", "https://host/spill"], 2, &["https://host/spill: a URL"]);
}
