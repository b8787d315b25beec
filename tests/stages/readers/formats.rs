//! The same tiny graph in every format, in several files, through a pipe.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;
use trimill::testing::input::{ArcSink, Source};
use trimill::{Control, Error, Kind, Result};

use super::bad_tables::{matrix, npy, table_of, words};
use super::support::{
    Folder, SORTED, TINY, arcs, data, edges, gz, on, open, pairs32, pairs64, read, read_files, refused, sg, text_of,
    work_dir, zst_with,
};
use crate::common::job::fixture;
use crate::common::packed::zst;
use crate::common::place::make_pipe;

#[test]
fn the_same_tiny_graph_comes_out_of_every_format() {
    let folder = Folder::new();
    let same = |path: &Path, format: Format, base: u64| {
        let source = open(path).unwrap();
        assert_eq!(source.format(), format, "{}", path.display());
        let arcs: Vec<_> = arcs(&source).unwrap().iter().map(|(u, v)| (u - base, v - base)).collect();
        assert!(source.facts().arcs_at_most >= arcs.len() as u64 || path.extension().unwrap() == "zst");
        arcs
    };
    let plain = text_of(&TINY, "\t", "\n");
    let texts = [
        ("snap.txt", format!("# Directed\r\n# FromNodeId\tToNodeId\r\n{}", text_of(&TINY, "\t", "\r\n"))),
        ("out.konect", format!("% asym\n% 8 5\n{}", text_of(&TINY, " ", " 1 1234567\n"))),
        ("quoted.csv", format!("\u{feff}\"from\",\"to\"\n{}", text_of(&TINY, ", ", "\n"))),
        ("counted.txt", format!("6\r\n{}", text_of(&TINY, "\t", "\r\n"))),
        ("blanks.txt", format!("\n  \n{}\n\n", text_of(&TINY, " \t ", "  \n").replace("\n", "\n\n "))),
        ("unended", plain.trim_end().to_string()),
        ("unended-cr", format!("{}\r", plain.trim_end())),
    ];
    for (name, text) in texts {
        assert_eq!(same(&folder.write(name, text), Format::Text, 0), SORTED, "{name}");
    }
    assert_eq!(same(&folder.write("one.txt.gz", gz(plain.as_bytes())), Format::Text, 0), SORTED);
    let (first, second) = plain.split_at(11);
    let members = [gz(first.as_bytes()), gz(second.as_bytes())].concat();
    assert_eq!(same(&folder.write("members.el.gz", members), Format::Text, 0), SORTED);
    let zst = [first, second].map(|text| zstd::encode_all(text.as_bytes(), 1).unwrap()).concat();
    assert_eq!(same(&folder.write("row_blocks.tsv.zst", zst), Format::Text, 0), SORTED);

    assert_eq!(same(&folder.write("pairs.bin", pairs32(&TINY)), Format::BinU32, 0), SORTED);
    assert_eq!(same(&folder.write("pairs.bin64", pairs64(&TINY)), Format::BinU64, 0), SORTED);
    let packed: Vec<u8> = TINY.iter().flat_map(|&(u, v)| [u as u32, v as u32, 0]).flat_map(u32::to_le_bytes).collect();
    assert_eq!(same(&folder.write("packed.g500", packed), Format::Graph500, 0), SORTED);
    assert_eq!(same(&folder.write("directed.sg", sg(6, &TINY, true)), Format::GapbsSg, 0), SORTED);
    assert_eq!(same(&folder.write("no-suffix-sg", sg(6, &TINY, true)), Format::GapbsSg, 0), SORTED);

    let ends = |column: usize| TINY.iter().map(move |&(u, v)| [u, v][column] as i64).collect::<Vec<_>>();
    let rows: Vec<i64> = TINY.iter().flat_map(|&(u, v)| [u as i64, v as i64]).collect();
    let array = npy(1, "<i2", false, "(8, 2)", &words::<2>(&rows));
    assert_eq!(same(&folder.write("edges.npy.gz", gz(&array)), Format::Npy, 0), SORTED);
    assert_eq!(same(&folder.write("no-suffix-npy", array), Format::Npy, 0), SORTED);
    let vector = |numbers: &[i64]| Some(npy(1, "<i8", false, &format!("({},)", numbers.len()), &words::<8>(numbers)));
    let (shape, row, col) = (vector(&[6, 6]), vector(&ends(0)), vector(&ends(1)));
    let arrays = [("shape.npy", shape), ("row.npy", row), ("col.npy", col), ("data.npy", None)];
    let matrix = matrix("coo", zip::CompressionMethod::Deflated, &arrays);
    assert_eq!(same(&folder.write("no-suffix-npz", matrix), Format::ScipyNpz, 0), SORTED);
    assert_eq!(same(&folder.write("no-suffix-parquet", table_of(&TINY)), Format::Parquet, 0), SORTED);

    let entries: String = TINY.iter().map(|(u, v)| format!("{} {} 1.5\n", u + 1, v + 1)).collect();
    let general = format!("%%MatrixMarket matrix coordinate real general\n% words\n\n6 6 8\n{entries}");
    assert_eq!(same(&folder.write("general.mtx", &general), Format::MatrixMarket, 1), SORTED);
    assert_eq!(same(&folder.write("general.mtx.gz", gz(general.as_bytes())), Format::MatrixMarket, 1), SORTED);

    // METIS, a symmetric matrix and an undirected .sg can represent the undirected simple graph only.
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
    let several = |paths: &[PathBuf]| read_files(paths).unwrap();
    let paths = [
        folder.write("a.txt", format!("# one\nsource target\n{}", text_of(first, " ", "\n").trim_end())),
        folder.write("b.csv.gz", gz(format!("from,to\n{}", text_of(second, ",", "\n")).as_bytes())),
    ];
    assert_eq!(several(&paths), SORTED);
    let source = Source::open(&paths, None, &work_dir()).unwrap();
    assert_eq!(source.identity(&Control::silent()).unwrap().unwrap().files.len(), 2);
    assert_eq!(source.bytes(), paths.iter().map(|path| path.metadata().unwrap().len()).sum::<u64>());
    let halves = [("a.bin", first), ("b.bin", second)].map(|(name, arcs)| folder.write(name, pairs32(arcs)));
    assert_eq!(several(&halves), SORTED);
    let tables = [("a.parquet", first), ("b.pq", second)].map(|(name, arcs)| folder.write(name, table_of(arcs)));
    assert_eq!(several(&tables), SORTED);
    let arrays = [("a.npy", first, 3), ("b.npy", second, 5)].map(|(name, arcs, rows)| {
        let numbers: Vec<i64> = arcs.iter().flat_map(|&(u, v)| [u as i64, v as i64]).collect();
        folder.write(name, npy(1, "<u8", false, &format!("({rows}, 2)"), &words::<8>(&numbers)))
    });
    assert_eq!(several(&arrays), SORTED);
    // A pattern stands for its files, as a directory does; its identity is that of the files, in order.
    let pattern = [folder.path("?.bin")];
    assert_eq!(several(&pattern), SORTED);
    let identity = |paths: &[PathBuf]| {
        Source::open(paths, None, &work_dir()).unwrap().identity(&Control::silent()).unwrap().unwrap()
    };
    assert_eq!(identity(&pattern).files, identity(&halves).files);
    let usage = |paths: &[PathBuf], format| {
        let error = Source::open(paths, format, &work_dir()).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        error.to_string()
    };
    assert!(usage(&[data("karate.mtx"), data("chesapeake.mtx")], None).contains("matrix-market"));
    assert!(usage(&[data("cnr-2000"), data("cnr-symmetric")], None).contains("bvgraph"));
    assert!(usage(&["-".into(), paths[0].clone()], None).contains("standard input"));
    assert!(usage(&["-".into()], Some(Format::Bvgraph)).contains("standard input"));
    assert!(usage(&[], None).contains("no input"));
    refused(read_files(&[paths[0].clone(), halves[0].clone()]), &["looks like bin-u32"]);
    let path = folder.write("late.txt", "# x\n1 2\n3 x\n");
    refused(read_files(&[paths[0].clone(), path]), &["late.txt:3: 'x'"]);
}

#[test]
fn a_directory_stands_for_its_regular_files_if_they_are_the_current_ones() {
    let folder = Folder::new();
    for (place, arc) in [("d/a.txt", "0 1\n"), ("d/_year=1/b.txt", "1 2\n"), ("d/_tmp/c.txt", "2 3\n"), ("e", "3 4\n")]
    {
        folder.write(place, arc);
    }
    std::os::unix::fs::symlink("../e", folder.path("d/e.txt")).unwrap();
    make_pipe(folder.path("d/pipe"));
    let dir = [folder.path("d")];
    assert_eq!(read_files(&dir).unwrap(), [(0, 1), (1, 2), (3, 4)]);
    for (log, kind) in
        [("_delta_log/0.json", "Delta Lake"), (".hoodie/x", "Apache Hudi"), ("metadata/v1.metadata.json", "Iceberg")]
    {
        let log = folder.write(&format!("d/_year=1/{log}"), "{}");
        refused(read_files(&dir), &[kind, "files with removed rows; expected"]);
        std::fs::remove_dir_all(log.parent().unwrap()).unwrap();
    }
}

#[test]
fn a_pipe_is_read_as_a_file_is() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    make_pipe(&pipe);
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, gz(text_of(&TINY, " ", "\n").as_bytes())).unwrap());
    let source = open(&pipe).unwrap();
    writer.join().unwrap();
    assert_eq!(arcs(&source).unwrap().len(), TINY.len());
    assert_eq!(arcs(&source).unwrap().len(), TINY.len());
    assert_eq!(source.identity(&Control::silent()).unwrap(), None);
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 1);
}

#[test]
fn an_error_of_the_sink_and_a_request_to_stop_end_a_scan() {
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
    paths.push(folder.write("tiny.bin", pairs32(&TINY)));
    let names = ["int64.npy", "fortran.npy", "csr.npz", "coo.npz", "arrow.parquet", "konect.tar.bz2", "stored.zip"];
    paths.extend(names.map(fixture));
    for path in paths {
        let source = open(&path).unwrap();
        let error = source.scan(&Full, &Control::silent()).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (Kind::Resource, "the disk is full"), "{path:?}");
        let control = Control::silent();
        control.stop();
        let stopped = source.scan(&Mutex::<Vec<(u64, u64)>>::default(), &control);
        assert_eq!(stopped.unwrap_err().kind(), Kind::Interrupted, "{path:?}");
    }
}

#[test]
fn frames_of_any_sizes_are_read_by_any_number_of_threads() {
    let folder = Folder::new();
    let arcs: Vec<(u64, u64)> = (0..1_500_000).map(|i| (i * 7919 % 100_003, i * 104_729 % 99_991)).collect();
    let text = text_of(&arcs, " ", "\n");
    let mut expected = arcs.clone();
    expected.sort_unstable();
    // Frames cut anywhere in a line: many short ones, an empty one, one of more than 8 MiB, one that is skipped, and short ones again.
    let (head, rest) = text.split_at(5_000_001);
    let (long, tail) = rest.split_at(9 << 20);
    let cut = |text: &str, every: usize| -> Vec<String> {
        text.as_bytes().chunks(every).map(|part| String::from_utf8(part.to_vec()).unwrap()).collect()
    };
    let mut packed: Vec<Vec<u8>> = cut(head, 100_003).iter().map(|part| zst_with(true, part)).collect();
    packed.extend(["", long].map(|part| zst_with(true, part)));
    packed.push([&0x184d_2a53u32.to_le_bytes()[..], &5u32.to_le_bytes(), b"hello"].concat());
    packed.extend(cut(tail, 1_000_003).iter().map(zst));
    let whole = packed.concat();
    let path = folder.write("frames.txt.zst", &whole);
    for threads in [1, 4, 7] {
        let found = on(threads, || read(&path)).unwrap();
        assert!(found == expected, "{threads} threads");
    }
    // Damage in any frame, and what follows the last one, is reported.
    let before: usize = packed[..20].iter().map(Vec::len).sum();
    let mut damaged = whole.clone();
    damaged[before + packed[20].len() / 2..][..9].fill(0xff);
    on(4, || {
        folder.refuses("damaged.txt.zst", damaged, &["zstd stream is damaged"]);
        folder.refuses("cut.txt.zst", &whole[..before + 30], &["zstd stream is truncated"]);
        folder.refuses("cut.txt.zst", &whole[..whole.len() - 3], &["zstd stream is truncated"]);
        folder.refuses("more.txt.zst", [&whole[..], b"0 1\n"].concat(), &["zstd stream is"]);
        let bad_line = ["0 1\n1 2\n", "2 x\n"].map(|part| zst_with(true, part)).concat();
        folder.refuses("line.txt.zst", bad_line, &["line.txt.zst:3:"]);
    });
}
