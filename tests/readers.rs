//! The readers on real graphs and on every kind of bad input, through the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use trimill::control::Control;
use trimill::error::{Error, Kind, Result};
use trimill::input::{ArcSink, Format, Source};

/// Keeps all arcs.
#[derive(Default)]
struct Keep(Mutex<Vec<(u64, u64)>>);

impl ArcSink for Keep {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(batch);
        Ok(())
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn work_dir() -> PathBuf {
    std::env::temp_dir()
}

fn open(path: &Path) -> Result<Source> {
    Source::open(&[path.to_path_buf()], None, &work_dir())
}

/// All arcs, sorted.
fn arcs(source: &Source) -> Result<Vec<(u64, u64)>> {
    let keep = Keep::default();
    let found = source.scan(&keep, &Control::silent())?;
    let mut arcs = keep.0.into_inner().unwrap();
    assert_eq!(found, arcs.len() as u64);
    arcs.sort_unstable();
    Ok(arcs)
}

fn read(path: &Path) -> Result<Vec<(u64, u64)>> {
    arcs(&open(path)?)
}

/// The undirected simple graph: sorted pairs `(min, max)`, each once, without loops.
fn edges(arcs: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut edges: Vec<_> = arcs.iter().filter(|(u, v)| u != v).map(|&(u, v)| (u.min(v), u.max(v))).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Name, format, declared vertices, arcs, loops, vertices with an edge, edges: the figures that came with the data.
type Known = (&'static str, Format, Option<u64>, usize, usize, usize, usize);

const REAL: [Known; 12] = [
    ("cnr-2000.graph", Format::Bvgraph, Some(325_557), 3_216_152, 87_442, 325_557, 2_738_969),
    ("dblp-2010.graph", Format::Bvgraph, Some(326_186), 1_615_400, 0, 300_647, 807_700),
    ("soc-Slashdot0902.txt.gz", Format::Text, None, 948_464, 78_303, 82_168, 504_230),
    ("wiki-Vote.txt", Format::Text, None, 103_689, 0, 7_115, 100_762),
    ("facebook_combined.txt", Format::Text, None, 88_234, 0, 4_039, 88_234),
    ("ca-HepTh.txt", Format::Text, None, 51_971, 25, 9_875, 25_973),
    ("as20000102.txt", Format::Text, None, 13_895, 1_323, 6_474, 12_572),
    ("p2p-Gnutella04.txt", Format::Text, None, 39_994, 0, 10_876, 39_994),
    ("delaunay_n15.graph", Format::Metis, Some(32_768), 196_548, 0, 32_768, 98_274),
    ("bcsstk13.mtx", Format::MatrixMarket, Some(2_003), 42_943, 2_003, 2_003, 40_940),
    ("karate.mtx", Format::MatrixMarket, Some(34), 78, 0, 34, 78),
    ("chesapeake.mtx", Format::MatrixMarket, Some(39), 170, 0, 39, 170),
];

#[test]
fn real_graphs_have_the_known_arcs_loops_vertices_and_edges() {
    for (name, format, declared, count, loops, vertices, edge_count) in REAL {
        let source = open(&data(name)).unwrap();
        assert_eq!(source.format(), format, "{name}");
        assert_eq!(source.declared_vertices(), declared, "{name}");
        assert_eq!(source.one_based(), matches!(format, Format::MatrixMarket | Format::Metis), "{name}");
        let arcs = arcs(&source).unwrap();
        assert_eq!(arcs.len(), count, "arcs of {name}");
        assert!(source.arcs_at_most() >= count as u64, "{name}: at most {}", source.arcs_at_most());
        assert_eq!(arcs.iter().filter(|(u, v)| u == v).count(), loops, "loops of {name}");
        let edges = edges(&arcs);
        assert_eq!(edges.len(), edge_count, "edges of {name}");
        let mut ends: Vec<u64> = edges.iter().flat_map(|&(u, v)| [u, v]).collect();
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(ends.len(), vertices, "vertices of {name}");
    }
}

#[test]
fn a_second_scan_and_a_single_thread_give_the_same() {
    for (name, _, _, count, ..) in REAL {
        let source = open(&data(name)).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let alone = pool.install(|| arcs(&source)).unwrap();
        let again = arcs(&source).unwrap();
        assert_eq!(alone.len(), count, "{name}");
        assert!(alone == again, "{name}");
    }
}

#[test]
fn a_bvgraph_may_be_named_by_its_base_name_or_its_properties() {
    for name in ["cnr-2000", "cnr-2000.properties"] {
        let source = open(&data(name)).unwrap();
        assert_eq!((source.format(), source.arcs_at_most()), (Format::Bvgraph, 3_216_152), "{name}");
    }
    let by_graph = open(&data("cnr-2000.graph")).unwrap().identity().unwrap().unwrap();
    assert_eq!(open(&data("cnr-2000")).unwrap().identity().unwrap().unwrap(), by_graph);
    assert_eq!(by_graph.files.len(), 2);
}

/// A folder for the files of one test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// The error of opening and reading what `bytes` are under `name`.
    fn error(&self, name: &str, bytes: impl AsRef<[u8]>) -> Error {
        let path = self.write(name, &bytes);
        read(&path).map(|arcs| arcs.len()).expect_err(&format!(
            "{name}: {}",
            String::from_utf8_lossy(&bytes.as_ref()[..bytes.as_ref().len().min(80)])
        ))
    }

    /// Checks that reading ends with an error of the data that has all of `parts`.
    fn refuses(&self, name: &str, bytes: impl AsRef<[u8]>, parts: &[&str]) {
        let error = self.error(name, &bytes);
        assert_eq!(error.kind(), Kind::Data, "{error}");
        let message = error.to_string();
        assert!(message.contains(name), "no file in: {message}");
        for part in parts {
            assert!(message.contains(part), "no '{part}' in: {message}");
        }
    }
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Vertices 0 to 4; a loop at 2, the arc 0 -> 1 twice, 3 -> 4 and 4 -> 3; vertex 5 alone.
const TINY: [(u64, u64); 8] = [(0, 1), (0, 1), (1, 2), (2, 2), (0, 2), (3, 4), (4, 3), (1, 4)];

fn text_of(arcs: &[(u64, u64)], separator: &str, end: &str) -> String {
    arcs.iter().map(|(u, v)| format!("{u}{separator}{v}{end}")).collect()
}

fn bytes_of<const N: usize>(arcs: &[(u64, u64)], record: impl Fn(u64, u64) -> [u8; N]) -> Vec<u8> {
    arcs.iter().flat_map(|&(u, v)| record(u, v)).collect()
}

/// A `.sg` file of a graph with `n` vertices, in the layout that the GAP Benchmark Suite writes.
fn sg(n: u64, arcs: &[(u64, u64)], directed: bool) -> Vec<u8> {
    let csr = |arcs: &[(u64, u64)]| {
        let mut sorted = arcs.to_vec();
        sorted.sort_unstable();
        let mut bytes = Vec::new();
        for vertex in 0..=n {
            bytes.extend((sorted.partition_point(|a| a.0 < vertex) as i64).to_le_bytes());
        }
        bytes.extend(sorted.iter().flat_map(|a| (a.1 as i32).to_le_bytes()));
        bytes
    };
    let mut bytes = vec![u8::from(directed)];
    bytes.extend((arcs.len() as i64).to_le_bytes());
    bytes.extend((n as i64).to_le_bytes());
    bytes.extend(csr(arcs));
    if directed {
        bytes.extend(csr(&arcs.iter().map(|&(u, v)| (v, u)).collect::<Vec<_>>()));
    }
    bytes
}

#[test]
fn the_same_tiny_graph_comes_out_of_every_format() {
    let folder = Folder::new();
    let mut sorted = TINY.to_vec();
    sorted.sort_unstable();
    let same = |path: &Path, format: Format, base: u64| {
        let source = open(path).unwrap();
        assert_eq!(source.format(), format, "{}", path.display());
        let arcs: Vec<_> = arcs(&source).unwrap().iter().map(|(u, v)| (u - base, v - base)).collect();
        assert!(source.arcs_at_most() >= arcs.len() as u64 || path.extension().unwrap() == "zst");
        arcs
    };
    let plain = text_of(&TINY, "\t", "\n");
    let texts = [
        ("snap.txt", format!("# Directed\r\n# FromNodeId\tToNodeId\r\n{}", text_of(&TINY, "\t", "\r\n"))),
        ("out.konect", format!("% asym\n% 8 5\n{}", text_of(&TINY, " ", " 1 1234567\n"))),
        ("challenge.tsv", text_of(&TINY, "\t", "\t1\n")),
        ("gap.el", text_of(&TINY, " ", "\n")),
        ("table.csv", format!("source,target,weight\n{}", text_of(&TINY, ",", ",0.5\n"))),
        ("quoted.csv", format!("\u{feff}\"from\",\"to\"\n{}", text_of(&TINY, ", ", "\n"))),
        ("counted.txt", format!("6\r\n{}", text_of(&TINY, "\t", "\r\n"))),
        ("blanks.txt", format!("\n  \n{}\n\n", text_of(&TINY, " \t ", "  \n").replace("\n", "\n\n "))),
        ("unended", plain.trim_end().to_string()),
        ("unended-cr", format!("{}\r", plain.trim_end())),
    ];
    for (name, text) in texts {
        assert_eq!(same(&folder.write(name, text), Format::Text, 0), sorted, "{name}");
    }
    assert_eq!(same(&folder.write("one.txt.gz", gz(plain.as_bytes())), Format::Text, 0), sorted);
    let (first, second) = plain.split_at(11);
    let members = [gz(first.as_bytes()), gz(second.as_bytes())].concat();
    assert_eq!(same(&folder.write("members.el.gz", members), Format::Text, 0), sorted);
    let zst = [first, second].map(|text| zstd::encode_all(text.as_bytes(), 1).unwrap()).concat();
    assert_eq!(same(&folder.write("frames.tsv.zst", zst), Format::Text, 0), sorted);

    let pairs32 = bytes_of::<8>(&TINY, |u, v| (u | v << 32).to_le_bytes());
    assert_eq!(same(&folder.write("pairs.bin", pairs32), Format::BinU32, 0), sorted);
    let pairs64 = bytes_of::<16>(&TINY, |u, v| (u128::from(u) | u128::from(v) << 64).to_le_bytes());
    assert_eq!(same(&folder.write("pairs.bin64", pairs64), Format::BinU64, 0), sorted);
    let packed = bytes_of::<12>(&TINY, |u, v| {
        let words = [u as u32, v as u32, 0].map(u32::to_le_bytes);
        words.as_flattened().try_into().unwrap()
    });
    assert_eq!(same(&folder.write("packed.g500", packed), Format::Graph500, 0), sorted);
    assert_eq!(same(&folder.write("directed.sg", sg(6, &TINY, true)), Format::GapbsSg, 0), sorted);
    assert_eq!(same(&folder.write("no-suffix-sg", sg(6, &TINY, true)), Format::GapbsSg, 0), sorted);

    let entries: String = TINY.iter().map(|(u, v)| format!("{} {} 1.5\n", u + 1, v + 1)).collect();
    let general = format!("%%MatrixMarket matrix coordinate real general\n% words\n\n6 6 8\n{entries}");
    assert_eq!(same(&folder.write("general.mtx", &general), Format::MatrixMarket, 1), sorted);
    assert_eq!(same(&folder.write("general.mtx.gz", gz(general.as_bytes())), Format::MatrixMarket, 1), sorted);

    // What METIS, a symmetric matrix and an undirected .sg can say: the undirected simple graph.
    let simple = edges(&TINY);
    let both: Vec<_> = simple.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
    assert_eq!(edges(&same(&folder.write("undirected.sg", sg(6, &both, false)), Format::GapbsSg, 0)), simple);
    let lower: String = simple.iter().map(|(u, v)| format!("{} {}\n", v + 1, u + 1)).collect();
    let symmetric = format!("%%MatrixMarket MATRIX Coordinate Pattern Symmetric\n6 6 {}\n{lower}", simple.len());
    assert_eq!(edges(&same(&folder.write("symmetric.mtx", symmetric), Format::MatrixMarket, 1)), simple);
    for (fmt, before, after) in
        [("", "", ""), (" 1", "", " 7"), (" 10", " 3", ""), (" 011 2", " 3 4", " 9"), (" 111 1", " 5 3", " 2")]
    {
        let mut text = format!("% a comment\n6 {}{fmt}\n", simple.len());
        for vertex in 0..6 {
            text += before;
            for (_, head) in both.iter().filter(|(tail, _)| *tail == vertex) {
                text += &format!(" {}{after}", head + 1);
            }
            text += "\n% between\n";
        }
        let path = folder.write("tiny.metis", &text);
        let arcs = same(&path, Format::Metis, 1);
        assert_eq!(arcs.len(), both.len());
        assert_eq!(edges(&arcs), simple, "{text}");
        assert_eq!(edges(&same(&folder.write("tiny.graph", &text), Format::Metis, 1)), simple, "{text}");
        let packed = folder.write("tiny.graph.gz", gz(text.as_bytes()));
        assert_eq!(edges(&same(&packed, Format::Metis, 1)), simple, "{text}");
    }
}

#[test]
fn a_graph_may_lie_in_several_files() {
    let folder = Folder::new();
    let (first, second) = TINY.split_at(3);
    let mut sorted = TINY.to_vec();
    sorted.sort_unstable();
    let several = |paths: &[PathBuf]| arcs(&Source::open(paths, None, &work_dir()).unwrap()).unwrap();
    let paths = [
        folder.write("a.txt", format!("# one\nsource target\n{}", text_of(first, " ", "\n").trim_end())),
        folder.write("b.csv.gz", gz(format!("from,to\n{}", text_of(second, ",", "\n")).as_bytes())),
    ];
    assert_eq!(several(&paths), sorted);
    let source = Source::open(&paths, None, &work_dir()).unwrap();
    assert_eq!(source.identity().unwrap().unwrap().files.len(), 2);
    assert_eq!(source.bytes(), paths.iter().map(|path| path.metadata().unwrap().len()).sum::<u64>());
    let halves = [("a.bin", first), ("b.bin", second)]
        .map(|(name, arcs)| folder.write(name, bytes_of::<8>(arcs, |u, v| (u | v << 32).to_le_bytes())));
    assert_eq!(several(&halves), sorted);
    let usage = |paths: &[PathBuf], format| {
        let error = Source::open(paths, format, &work_dir()).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        error.to_string()
    };
    assert!(usage(&[data("karate.mtx"), data("chesapeake.mtx")], None).contains("matrix-market"));
    assert!(usage(&[data("cnr-2000"), data("dblp-2010")], None).contains("bvgraph"));
    assert!(usage(&["-".into(), paths[0].clone()], None).contains("standard input"));
    assert!(usage(&["-".into()], Some(Format::Bvgraph)).contains("standard input"));
    assert!(usage(&[], None).contains("no input"));
    let mixed = Source::open(&[paths[0].clone(), halves[0].clone()], None, &work_dir()).unwrap_err();
    assert!(mixed.to_string().contains("looks like bin-u32"), "{mixed}");
    let path = folder.write("late.txt", "# x\n1 2\n3 x\n");
    let late = arcs(&Source::open(&[paths[0].clone(), path], None, &work_dir()).unwrap()).unwrap_err();
    assert!(late.to_string().contains("late.txt:3: 'x'"), "{late}");
}

#[test]
fn a_pipe_is_read_as_a_file_is() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, gz(text_of(&TINY, " ", "\n").as_bytes())).unwrap());
    let source = open(&pipe).unwrap();
    writer.join().unwrap();
    assert_eq!(arcs(&source).unwrap().len(), TINY.len());
    assert_eq!(arcs(&source).unwrap().len(), TINY.len());
    assert_eq!(source.identity().unwrap(), None);
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 1);
}

#[test]
fn large_ids_pass_and_too_large_ones_do_not() {
    let folder = Folder::new();
    let most = u64::MAX - 1;
    let path = folder.write("large.txt", format!("{most} 0\n00000000000000000000000000012 {most}\n"));
    assert_eq!(read(&path).unwrap(), [(12, most), (most, 0)]);
    folder.refuses("max.txt", format!("1 2\n3 {}\n", u64::MAX), &["max.txt:2:", "too large", "ids up to"]);
    folder.refuses("over.txt", "1 2\n\n3 18446744073709551616\n", &["over.txt:3:", "too large"]);
    let pairs = [1u64, 2, 3, u64::MAX].map(u64::to_le_bytes);
    folder.refuses("max.u64", pairs.as_flattened(), &["arc 1", "ids up to"]);
    let high = [[1u32, 2, 0x0004_0003].map(u32::to_le_bytes)];
    let path = folder.write("high.graph500", high.as_flattened().as_flattened());
    assert_eq!(read(&path).unwrap(), [(3 << 32 | 1, 4 << 32 | 2)]);
}

#[test]
fn bad_text_is_refused_with_its_line() {
    let folder = Folder::new();
    for (text, line, found) in [
        ("1 2\nhello world\n", 2, "'hello'"),
        ("# c\n1 2\n3 four\n", 3, "'four'"),
        ("1 2\n-3 4\n", 2, "the negative number -3"),
        ("-1 2\n", 1, "the negative number -1"),
        ("1 2\n3 -4\n", 2, "the negative number -4"),
        ("1 2\n\n3.0 4\n", 3, "the number 3.0, which is not an integer"),
        ("1 2\n3 4.5 6\n", 2, "the number 4.5, which is not an integer"),
        ("1 2\n3 4e1\n", 2, "not an integer"),
        ("1 2\n3\n", 2, "one column only"),
        ("1 2\n3 \r\n", 2, "one column only"),
        ("1 2\n3 4x\n", 2, "'4x'"),
        ("1 2\r3 4\r", 1, "'2\\r3'"),
        ("10\n20\n1 2\n", 2, "one column only"),
        ("a,b\nc,d\n1 2\n", 2, "'c'"),
        ("a,b\n1 2\nc,d\n3 4\n", 3, "'c'"),
        ("a 5\n1 2\n", 1, "'a'"),
        ("hello world\n", 1, "no arc after it"),
        (",1 2\n", 1, "two non-negative integers"),
        ("1 2\n,\n", 2, "without numbers"),
    ] {
        folder.refuses("bad.txt", text, &[&format!("bad.txt:{line}: "), found]);
        folder.refuses("bad.txt.gz", gz(text.as_bytes()), &[&format!("bad.txt.gz:{line}: "), found]);
    }
    let long = format!("1 2\n{}3 4\n5 x\n", "# more\n".repeat(500_000));
    folder.refuses("long.txt", &long, &["long.txt:500003: 'x'"]);
    folder.refuses("long.txt.gz", gz(long.as_bytes()), &["long.txt.gz:500003: 'x'"]);
    let endless = format!("1 2\n{}", "1".repeat(10 << 20));
    folder.refuses("endless.txt", &endless, &["endless.txt:2: a line is longer than"]);
    folder.refuses("endless.txt.gz", gz(endless.as_bytes()), &["endless.txt.gz:2: a line is longer than"]);
}

#[test]
fn a_graph_without_arcs_is_one_and_an_empty_file_is_none() {
    let folder = Folder::new();
    assert_eq!(read(&folder.write("comments.txt", "# nothing\n\n% here\n")).unwrap(), []);
    assert_eq!(read(&folder.write("comments.txt.gz", gz(b"# nothing\n"))).unwrap(), []);
    assert_eq!(
        read(&folder.write("none.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 0\n")).unwrap(),
        []
    );
    assert_eq!(read(&folder.write("none.metis", "3 0\n\n\n\n")).unwrap(), []);
    assert_eq!(read(&folder.write("none.sg", sg(3, &[], false))).unwrap(), []);
    folder.refuses("empty.txt", "", &["is empty", "holds no arcs"]);
    folder.refuses("empty.bin", "", &["is empty", "holds no arcs"]);
    let missing = open(&folder.path("missing.txt")).unwrap_err();
    assert!(missing.kind() == Kind::Data && missing.to_string().contains("missing.txt: does not exist"), "{missing}");
    let directory = open(folder.0.path()).unwrap_err();
    assert!(directory.kind() == Kind::Data && directory.to_string().contains("is a directory"), "{directory}");
}

#[test]
fn damaged_compressed_files_are_refused() {
    let folder = Folder::new();
    let plain = text_of(&(0..5000).map(|i| (i, i * 7919 % 5003)).collect::<Vec<_>>(), " ", "\n");
    let (gz, zst) = (gz(plain.as_bytes()), zstd::encode_all(plain.as_bytes(), 3).unwrap());
    assert_eq!(read(&folder.write("whole.gz", &gz)).unwrap().len(), 5000);
    for cut in [5, 20, gz.len() / 2, gz.len() - 8, gz.len() - 1] {
        folder.refuses("cut.txt.gz", &gz[..cut], &["gzip stream is truncated", "fetch the file again"]);
    }
    for cut in [6, zst.len() / 2, zst.len() - 1] {
        folder.refuses("cut.txt.zst", &zst[..cut], &["zstd stream is truncated"]);
    }
    let mut flipped = gz.clone();
    flipped[gz.len() - 6] ^= 1;
    folder.refuses("flipped.txt.gz", &flipped, &["gzip stream is damaged"]);
    let real = std::fs::read(data("soc-Slashdot0902.txt.gz")).unwrap();
    folder.refuses("slashdot.txt.gz", &real[..real.len() / 2], &["slashdot.txt.gz: the gzip stream is truncated"]);
    folder.refuses("pairs.bin.gz", self::gz(&[0, 1, 0, 0, 2, 0, 0, 0]), &["compressed file of a binary format"]);
}

#[test]
fn bad_matrices_are_refused() {
    let folder = Folder::new();
    let banner = "%%MatrixMarket matrix coordinate pattern general";
    for (text, parts) in [
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n".to_string(), &["bad.mtx:1: 'matrix array'"][..]),
        (
            "%%MatrixMarket matrix coordinate complex general\n1 1 0\n".into(),
            &["bad.mtx:1:", "'complex'", "pattern, integer or real"],
        ),
        ("%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n".into(), &["bad.mtx:1:", "'hermitian'"]),
        ("%%MatrixMarket matrix coordinate\n1 1 0\n".into(), &["bad.mtx:1:", "banner"]),
        (format!("{banner}\n% c\n3 4 1\n1 1\n"), &["bad.mtx:3:", "3 rows and 4 columns", "square"]),
        (format!("{banner}\n"), &["ends before the size"]),
        (format!("{banner}\n3 3\n1 1\n"), &["bad.mtx:2: '3 3'", "rows, columns, entries"]),
        (format!("{banner}\n3 3 2\n1 1\n1 4\n"), &["bad.mtx:4:", "outside of the matrix", "1 to 3"]),
        (format!("{banner}\n3 3 2\n0 1\n1 1\n"), &["bad.mtx:3:", "outside of the matrix"]),
        (format!("{banner}\n3 3 2\n1 1\n"), &["bad.mtx:4: 1 entries", "expected 2 entries"]),
        (format!("{banner}\n3 3 1\n1 1\n% c\n2 2\n3 3\n"), &["bad.mtx:5: 3 entries", "expected 1 entries"]),
        (format!("{banner}\n3 3 1\n1 x\n"), &["bad.mtx:3: 'x'"]),
        (format!("{banner}\n4294967295 4294967295 0\n"), &["bad.mtx:2: 4294967295 vertices", "at most 4294967294"]),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1\n".into(), &["bad.mtx:3:", "without a value"]),
        ("34 34 78\n1 2\n".into(), &["bad.mtx:1:", "banner"]),
    ] {
        folder.refuses("bad.mtx", text, parts);
    }
    let whole = std::fs::read_to_string(data("karate.mtx")).unwrap();
    let cut = whole.lines().take(60).map(|line| format!("{line}\n")).collect::<String>();
    folder.refuses("karate.mtx", cut, &["entries; expected 78 entries, as the header says"]);
}

#[test]
fn bad_metis_files_are_refused() {
    let folder = Folder::new();
    for (text, parts) in [
        ("3 2\n2\n1 3\n", &["2 lines of vertices", "expected 3"][..]),
        ("3 2\n2\n1 3\n2\n1\n", &["bad.metis:5:", "a line for vertex 4"]),
        ("3 3\n2\n1 3\n2\n", &["4 neighbours in all lines", "expected 6"]),
        ("3 1\n2\n1 3\n2\n", &["4 neighbours in all lines", "expected 2"]),
        ("3 2\n2\n1 4\n2\n", &["bad.metis:3: neighbour 4", "from 1 to 3"]),
        ("3 2\n2\n1 0\n2\n", &["bad.metis:3: neighbour 0"]),
        ("3 2\n2\n1 -3\n2\n", &["bad.metis:3: '-'"]),
        ("3 2\n2\n1 x\n2\n", &["bad.metis:3: 'x'"]),
        ("3 2 1\n2 5\n1 5 3\n2 5\n", &["bad.metis:3: 3 numbers in the line of vertex 2"]),
        ("3 2 10\n1 2\n\n1 2\n", &["bad.metis:3: 0 numbers in the line of vertex 2"]),
        ("3 2 7\n2\n1 3\n2\n", &["bad.metis:1: the header '3 2 7'"]),
        ("% c\nthree two\n", &["bad.metis:2: the header 'three two'"]),
        ("% c\n", &["ends before the header"]),
        ("4294967295 0\n", &["4294967295 vertices", "at most 4294967294"]),
        ("3 99999999999999999999\n", &["the header"]),
        ("3 18446744073709551615\n2\n1\n\n", &["neighbours in all lines"]),
    ] {
        folder.refuses("bad.metis", text, parts);
    }
    let whole = std::fs::read_to_string(data("delaunay_n15.graph")).unwrap();
    folder.refuses("cut.graph", &whole[..whole.len() / 2], &["cut.graph:", "lines of vertices; expected 32768"]);
}

#[test]
fn bad_binary_files_are_refused() {
    let folder = Folder::new();
    folder.refuses("odd.bin", [0; 12], &["a size of 12 bytes", "a multiple of 8", "--format"]);
    folder.refuses("odd.bin64", [0; 24], &["a size of 24 bytes", "a multiple of 16"]);
    folder.refuses("odd.g500", [0; 16], &["a size of 16 bytes", "a multiple of 12"]);
    folder.refuses("unknown.dat", [0; 16], &["cannot be told", "bvgraph, text, matrix-market, metis"]);
    let path = folder.write("named.dat", [1, 0, 0, 0, 2, 0, 0, 0]);
    let named = Source::open(&[path], Some(Format::BinU32), &work_dir()).unwrap();
    assert_eq!(arcs(&named).unwrap(), [(1, 2)]);

    let whole = sg(6, &TINY, true);
    folder.refuses("short.sg", &whole[..10], &["no header"]);
    folder.refuses("few.sg", &whole[..40], &["too small for its 6 vertices"]);
    folder.refuses("cut.sg", &whole[..whole.len() - 1], &["a size of", "expected"]);
    let altered = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        bytes
    };
    folder.refuses("count.sg", altered(1, 7), &["8 stored arcs; expected 7"]);
    folder.refuses("offset.sg", altered(17 + 8 * 2, 200), &["do not ascend"]);
    folder.refuses("first.sg", altered(17, 1), &["do not begin with 0"]);
    folder.refuses("head.sg", altered(17 + 8 * 7, 6), &["neighbour 6 of vertex 0", "from 0 to 5"]);
    folder.refuses("negative.sg", altered(17 + 8 * 7 + 3, 0xff), &["neighbour -"]);
    folder.refuses("vertices.sg", altered(9 + 4, 1), &["4294967302 vertices"]);
}

/// A copy of dblp-2010 under `name` whose files are altered.
fn altered_dblp(folder: &Folder, name: &str, alter: impl FnOnce(&mut Vec<u8>, &mut String)) -> PathBuf {
    let mut graph = std::fs::read(data("dblp-2010.graph")).unwrap();
    let mut properties = std::fs::read_to_string(data("dblp-2010.properties")).unwrap();
    alter(&mut graph, &mut properties);
    folder.write(&format!("{name}.properties"), properties);
    folder.write(&format!("{name}.graph"), graph)
}

#[test]
fn bad_bvgraphs_are_refused() {
    let folder = Folder::new();
    let refuses = |name: &str, parts: &[&str], alter: &dyn Fn(&mut Vec<u8>, &mut String)| {
        let path = altered_dblp(&folder, name, alter);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let error = pool.install(|| read(&path).map(|arcs| arcs.len())).expect_err(name);
            assert_eq!(error.kind(), Kind::Data, "{name}: {error}");
            for part in parts {
                assert!(error.to_string().contains(part), "{name}: no '{part}' in: {error}");
            }
        }
    };
    let replace = |from: &'static str, to: &'static str| {
        move |_: &mut Vec<u8>, text: &mut String| {
            assert!(text.contains(from));
            *text = text.replace(from, to);
        }
    };
    refuses("cut", &["the stream ends too early", "cut.graph"], &|graph, _| graph.truncate(700_001));
    refuses("cut-a-byte", &["cut-a-byte.graph"], &|graph, _| graph.truncate(graph.len() - 1));
    refuses("longer", &["bytes; expected 1395498"], &|graph, _| graph.extend([0; 40]));
    refuses("zeros", &["zeros.graph"], &|graph, _| graph[5000..].fill(0));
    refuses("ones", &["ones.graph"], &|graph, _| graph[5000..].fill(0xff));
    refuses("no-nodes", &["Missing 'nodes'", "no-nodes.properties"], &replace("\nnodes=326186", ""));
    refuses("no-arcs", &["Missing 'arcs'"], &replace("\narcs=1615400", ""));
    refuses("words", &["'nodes'", "words.properties"], &replace("nodes=326186", "nodes=many"));
    refuses("more-nodes", &["too early"], &replace("nodes=326186", "nodes=326187"));
    refuses("fewer-nodes", &["fewer-nodes.graph"], &replace("nodes=326186", "nodes=326000"));
    refuses("more-arcs", &["1615400 arcs in 326186 rows; expected 1615401"], &replace("arcs=1615400", "arcs=1615401"));
    refuses("fewer-arcs", &["fewer-arcs.graph"], &replace("arcs=1615400", "arcs=1615399"));
    refuses("window", &["a window of"], &replace("windowsize=7", "windowsize=999999999999"));
    refuses("window-word", &["window-word.properties"], &replace("windowsize=7", "windowsize=x"));
    refuses("small-window", &["small-window.graph"], &replace("windowsize=7", "windowsize=1"));
    refuses("intervals", &["intervals.graph"], &replace("minintervallength=4", "minintervallength=3"));
    refuses("class", &["a graph of class"], &replace("webgraph.BVGraph", "webgraph.EFGraph"));
    refuses("codes", &["codes.properties"], &replace("compressionflags=", "compressionflags=RESIDUALS_MORSE"));
    refuses("other-codes", &["other-codes.graph"], &replace("compressionflags=", "compressionflags=RESIDUALS_DELTA"));
    refuses("limit", &["4294967295 vertices", "2^32 - 2"], &replace("nodes=326186", "nodes=4294967295"));
    refuses("most", &["most.graph"], &replace("nodes=326186", "nodes=4294967294"));
    refuses("endian", &["endian.properties"], &replace("version=0", "version=0\nendianness=middle"));

    let alone = folder.write("alone.graph", std::fs::read(data("dblp-2010.graph")).unwrap());
    let missing = open(&alone).unwrap_err();
    assert!(missing.to_string().contains("alone.properties: does not exist"), "{missing}");
    let lonely = folder.write("lonely.properties", std::fs::read(data("dblp-2010.properties")).unwrap());
    let missing = open(&lonely).unwrap_err();
    assert!(missing.to_string().contains("lonely.graph: does not exist"), "{missing}");
    altered_dblp(&folder, "crawl.2024", |_, _| {});
    for name in ["crawl.2024", "crawl.2024.graph", "crawl.2024.properties"] {
        let dotted = open(&folder.path(name)).unwrap_err();
        assert!(
            dotted.kind() == Kind::Data && dotted.to_string().contains("rename both files to crawl-2024.graph"),
            "{dotted}"
        );
    }
}

#[test]
fn no_flipped_bit_of_a_bvgraph_does_more_than_fail_or_pass() {
    let folder = Folder::new();
    let mut failed = 0;
    for round in 0..60u64 {
        let path = altered_dblp(&folder, "flipped", |graph, _| {
            let bit = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % (8 * graph.len());
            graph[bit / 8] ^= 1 << (bit % 8);
        });
        match read(&path) {
            Ok(arcs) => assert_eq!(arcs.len(), 1_615_400),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Data, "{error}");
                assert!(error.to_string().contains("flipped.graph"), "{error}");
                failed += 1;
            }
        }
    }
    assert!(failed > 20, "{failed} of 60");
}

#[test]
fn nothing_is_written_beside_the_input() {
    let folder = Folder::new();
    altered_dblp(&folder, "dblp", |_, _| {});
    assert_eq!(read(&folder.path("dblp")).unwrap().len(), 1_615_400);
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 2);
}

#[test]
fn a_refusal_of_the_sink_and_the_wish_to_stop_end_a_scan() {
    struct Full;
    impl ArcSink for Full {
        fn arcs(&self, _: &[(u64, u64)]) -> Result<()> {
            Err(Error::resource("the disk is full"))
        }
    }
    let folder = Folder::new();
    let names = ["cnr-2000.graph", "wiki-Vote.txt", "soc-Slashdot0902.txt.gz", "delaunay_n15.graph", "bcsstk13.mtx"];
    let mut paths: Vec<_> = names.into_iter().map(data).collect();
    paths.push(folder.write("tiny.sg", sg(6, &TINY, true)));
    paths.push(folder.write("tiny.bin", bytes_of::<8>(&TINY, |u, v| (u | v << 32).to_le_bytes())));
    for path in paths {
        let source = open(&path).unwrap();
        let error = source.scan(&Full, &Control::silent()).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (Kind::Resource, "the disk is full"), "{path:?}");
        let control = Control::silent();
        control.stop();
        assert_eq!(source.scan(&Keep::default(), &control).unwrap_err().kind(), Kind::Interrupted, "{path:?}");
    }
}
