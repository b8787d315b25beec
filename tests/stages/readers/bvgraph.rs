//! BVGraphs that WebGraph's library wrote (`tests/bvgraphs`): both byte orders, other codes and windows, far references.

use std::path::Path;

use trimill::Control;
use trimill::testing::input::Source;
use trimill::testing::input::format::Format;

use super::support::{
    Folder, TINY, arcs, bvgraph_fixture, data, gamma_coded, gz, in_gamma_code, on, open, read, refused, work_dir,
};

#[test]
fn a_written_graph_is_read_in_both_byte_orders_and_with_any_flags() {
    let folder = Folder::new();
    let karate = read(&data("karate.mtx")).unwrap();
    let hub: Vec<_> = (0..200_000).map(|head| (7, head)).chain((0..200_000).map(|tail| (tail, 7))).collect();
    let all = ["usual", "no-intervals", "no-window", "short-intervals", "delta", "omega", "zeta5", "no-references"];
    for (graph, mut expected, flags) in
        [("tiny", TINY.to_vec(), &all[..]), ("karate", karate, &all[..]), ("hub", hub, &all[..2])]
    {
        expected.sort_unstable();
        expected.dedup();
        for flags in flags {
            for order in ["big", "little"] {
                let name = format!("{graph}-{flags}-{order}");
                bvgraph_fixture(&name, &folder.path(&name));
                let source = open(&folder.path(&format!("{name}.graph"))).unwrap();
                assert_eq!(source.format(), Format::Bvgraph, "{name}");
                assert!(arcs(&source).unwrap() == expected, "{name}");
            }
        }
    }
}

#[test]
fn the_two_files_may_be_in_different_folders() {
    let folder = Folder::new();
    let karate = read(&data("karate.mtx")).unwrap();
    bvgraph_fixture("karate-usual-big", &folder.path("crawl"));
    for name in ["elsewhere", "other"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    let [graph, properties] = ["crawl.graph", "elsewhere/crawl.properties"].map(|name| folder.path(name));
    std::fs::rename(folder.path("crawl.properties"), &properties).unwrap();
    let both = |first: &Path, second: &Path| {
        Source::open(&[first.to_path_buf(), second.to_path_buf()], None, &work_dir())
            .map(|source| arcs(&source).unwrap())
    };
    assert!(both(&graph, &properties).unwrap() == karate && both(&properties, &graph).unwrap() == karate);
    refused(open(&graph), &["crawl.properties: does not exist", "name both"]);
    // Another graph's properties are not used.
    let other = folder.path("other/web.properties");
    std::fs::rename(&properties, &other).unwrap();
    let error = both(&other, &graph).unwrap_err().to_string();
    assert!(error.contains("2 files of format bvgraph") && error.contains("NAME.graph and NAME.properties"), "{error}");
}

#[test]
fn a_graph_whose_bytes_are_text_is_told_by_its_properties() {
    let folder = Folder::new();
    let properties = "nodes=4\narcs=2\nwindowsize=0\nmaxrefcount=3\nminintervallength=0\nzetak=3\ncompressionflags=\n";
    folder.write("g.properties", format!("graphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\n{properties}"));
    // Without the properties these bytes are the beginning of JSON.
    let source = open(&folder.write("g.graph", "[Y")).unwrap();
    assert_eq!((source.format(), arcs(&source).unwrap().len()), (Format::Bvgraph, 2));
}

#[test]
fn a_crawl_is_read_as_it_is_published() {
    let folder = Folder::new();
    let karate = read(&data("karate.mtx")).unwrap();
    std::fs::create_dir(folder.path("crawl")).unwrap();
    bvgraph_fixture("karate-usual-big", &folder.path("crawl/web"));
    for (name, bytes) in [
        // A dump of webgraph-rs, which is not read.
        ("web.ef", &b"epserde \x02\0\0\0\x08"[..]),
        ("web.md5sums", b"0  web.graph\n"),
        ("web.urls.gz", &gz(b"a\nb\n")),
        ("web.stats", b"x=1\n"),
    ] {
        folder.write(&format!("crawl/{name}"), bytes);
    }
    let read_by = |names: &[&str]| {
        for name in names {
            let source = open(&folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((source.format(), arcs(&source).unwrap()), (Format::Bvgraph, karate.clone()), "{name}");
        }
    };
    read_by(&["crawl", "crawl/web", "crawl/web.graph", "crawl/web.properties", "crawl/web.offsets", "crawl/web.ef"]);
    std::fs::remove_file(folder.path("crawl/web.offsets")).unwrap();
    read_by(&["crawl", "crawl/web.graph", "crawl/web.ef"]);
    // A file that is no part of the graph counts as a second graph.
    folder.write("crawl/other.txt", "0 1\n");
    refused(open(&folder.path("crawl")), &["web.graph: looks like bvgraph"]);
    std::fs::remove_file(folder.path("crawl/other.txt")).unwrap();
    // Names with dots, which other programs treat as suffixes.
    for end in ["graph", "properties", "ef"] {
        std::fs::rename(folder.path(&format!("crawl/web.{end}")), folder.path(&format!("crawl/web.2024.{end}")))
            .unwrap();
    }
    std::fs::remove_file(folder.path("crawl/web.stats")).unwrap();
    std::fs::remove_file(folder.path("crawl/web.md5sums")).unwrap();
    std::fs::remove_file(folder.path("crawl/web.urls.gz")).unwrap();
    read_by(&["crawl", "crawl/web.2024", "crawl/web.2024.graph", "crawl/web.2024.ef"]);
    let identity = |name: &str| open(&data(name)).unwrap().identity(&Control::silent()).unwrap().unwrap();
    assert_eq!(identity("cnr-2000"), identity("cnr-2000.graph"));
    assert_eq!(identity("cnr-2000.properties").files.len(), 2);
}

/// The arcs between the first 37,000 vertices of a crawl: four chunks of 131,072 arcs.
fn crawl() -> Vec<(u64, u64)> {
    let mut crawl = read(&data("cnr-symmetric.graph")).unwrap();
    crawl.retain(|&(u, v)| u.max(v) < 37_000);
    assert_eq!(crawl.len(), 479_828);
    crawl
}

#[test]
fn a_crawl_is_read_whatever_its_chains_of_references() {
    // Rows refer to rows that refer to others, so the rows of a chunk need many earlier rows, or all of them.
    let (folder, expected) = (Folder::new(), crawl());
    // Windows of 7, 64 and 500 rows, and chains of any length, but of 2 in the last.
    for name in ["crawl-long", "crawl-long-wide", "crawl-short-wide"] {
        bvgraph_fixture(name, &folder.path(name));
        let source = open(&folder.path(&format!("{name}.graph"))).unwrap();
        for threads in [1, 3] {
            assert!(on(threads, || arcs(&source)).unwrap() == expected, "{name} on {threads} threads");
        }
    }
}

/// The properties of a graph under another window.
fn with_window(properties: &str, from: u64, to: u64) -> String {
    let (from, to) = (format!("windowsize={from}"), format!("windowsize={to}"));
    assert!(properties.contains(&from), "{properties}");
    properties.replace(&from, &to)
}

#[test]
fn rows_that_are_kept_and_stand_for_more_than_the_file_can_mean_are_refused() {
    // 90 rows of 50,000 arcs each in a few bytes, which refer to near rows: windows of 7 and 200 both keep eight rows, since no row refers farther
    // back. With a file of offsets the reader does not know this, so a window of 200 keeps all.
    let folder = Folder::new();
    bvgraph_fixture("equal-rows", &folder.path("long"));
    let bytes = std::fs::metadata(folder.path("long.graph")).unwrap().len();
    assert!(bytes < 10_000, "{bytes}");
    let properties = std::fs::read_to_string(folder.path("long.properties")).unwrap();
    for window in [7, 200, 1_000_000] {
        folder.write("long.properties", with_window(&properties, 7, window));
        if window == 200 {
            let told = format!("the row of vertex {} cannot be decoded", ((4 << 20) + 8 * bytes) / 50_000);
            refused(read(&folder.path("long")), &[&told]);
            std::fs::remove_file(folder.path("long.offsets")).unwrap();
        }
        assert_eq!(read(&folder.path("long")).unwrap().len(), 90 * 50_000, "a window of {window}");
    }
    let nodes = format!("nodes={}", 8 * bytes + 1);
    folder.write("long.properties", properties.replace("nodes=50000", &nodes));
    refused(open(&folder.path("long")), &["the stream ends too early"]);

    // A row that copies from the first one, over 199 rows between them, which all have to be kept.
    bvgraph_fixture("far-row", &folder.path("far"));
    let bytes = std::fs::metadata(folder.path("far.graph")).unwrap().len();
    assert!(bytes < 16_000, "the last row is encoded again in {bytes} bytes");
    std::fs::remove_file(folder.path("far.offsets")).unwrap();
    let properties = std::fs::read_to_string(folder.path("far.properties")).unwrap();
    let told = format!("the row of vertex {} cannot be decoded", ((4 << 20) + 8 * bytes - 16_000) / 50_000 + 1);
    for window in [200, 1_000_000] {
        folder.write("far.properties", with_window(&properties, 200, window));
        refused(read(&folder.path("far")), &[&told]);
    }
}

#[test]
fn rows_may_refer_over_many_chunks() {
    // Six rows are repeated after 300 dissimilar rows, so 600,000 arcs are between a row and the one that it copies.
    const STRIDES: [u64; 11] = [29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71];
    let folder = Folder::new();
    let row = |tail: u64, many: u64| (0..many).map(move |i| (tail, tail / 11 + i * STRIDES[tail as usize % 11]));
    let first: Vec<_> = (0..6).flat_map(|tail| row(tail, 3000)).collect();
    let between = (6..306).flat_map(|tail| row(tail, 2000));
    let last = first.iter().map(|&(tail, head)| (tail + 310, head));
    let expected: Vec<_> = first.iter().copied().chain(between).chain(last).collect();
    bvgraph_fixture("far-chunks", &folder.path("far"));
    std::fs::remove_file(folder.path("far.offsets")).unwrap();
    let properties = std::fs::read_to_string(folder.path("far.properties")).unwrap();
    for window in [512, 1_000_000] {
        folder.write("far.properties", with_window(&properties, 512, window));
        for threads in [1, 3] {
            let found = on(threads, || read(&folder.path("far"))).unwrap();
            assert!(found == expected, "a window of {window} on {threads} threads");
        }
    }
    folder.write("far.properties", with_window(&properties, 512, 309));
    refused(read(&folder.path("far")), &["the row of vertex 310 cannot be decoded"]);
}

#[test]
fn a_file_of_offsets_changes_nothing_and_is_not_trusted() {
    let (folder, expected) = (Folder::new(), crawl());
    for name in ["crawl-big", "crawl-little"] {
        bvgraph_fixture(name, &folder.path("crawl"));
        let path = folder.path("crawl.graph");
        let offsets = std::fs::read(folder.path("crawl.offsets")).unwrap();
        let lengths = gamma_coded(&offsets, 37_001);
        let whole = || read(&path).map(|found| assert!(found == expected));
        whole().unwrap();
        // Offsets that cannot be the graph's are ignored: a truncated file, one of too few rows, no file at all, one that ends elsewhere.
        folder.write("crawl.offsets", &offsets[..offsets.len() / 2]);
        whole().unwrap();
        folder.write("crawl.offsets", in_gamma_code(&lengths[1..]));
        whole().unwrap();
        let mut longer = lengths.clone();
        longer[9] += 300;
        folder.write("crawl.offsets", in_gamma_code(&longer));
        whole().unwrap();
        folder.write("crawl.offsets", []);
        whole().unwrap();
        std::fs::remove_file(folder.path("crawl.offsets")).unwrap();
        whole().unwrap();
        assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 2, "nothing is written beside the input");
        // Offsets that might be the graph's are compared with the rows while these are decoded: within a chunk, and around its beginning.
        for row in [5, 20_000, 36_998] {
            let mut moved = lengths.clone();
            moved[row] += 1;
            moved[row + 1] -= 1;
            folder.write("crawl.offsets", in_gamma_code(&moved));
            let told = format!("crawl.offsets: the row of vertex {} is not where the file says", row - 1);
            refused(whole(), &[&told]);
        }
        // A chain longer than the properties say.
        let properties = std::fs::read_to_string(folder.path("crawl.properties")).unwrap();
        assert!(properties.contains("maxrefcount=3"), "{properties}");
        folder.write("crawl.offsets", &offsets);
        folder.write("crawl.properties", properties.replace("maxrefcount=3", "maxrefcount=0"));
        refused(whole(), &["crawl.offsets: the row of vertex"]);
    }
}

#[test]
fn rows_have_no_more_arcs_than_the_properties_say() {
    let folder = Folder::new();
    let karate = read(&data("karate.mtx")).unwrap();
    bvgraph_fixture("karate-usual-big", &folder.path("karate"));
    let properties = std::fs::read_to_string(folder.path("karate.properties")).unwrap();
    let [whole, fewer] = [0, 1].map(|missing| format!("\narcs={}\n", karate.len() - missing));
    assert!(properties.contains(&whole), "{properties}");
    folder.write("karate.properties", properties.replace(&whole, &fewer));
    let told = format!("karate.graph: the row of vertex {} cannot be decoded", karate[karate.len() - 1].0);
    for with_offsets in [true, false] {
        assert_eq!(folder.path("karate.offsets").exists(), with_offsets);
        refused(read(&folder.path("karate")), &[&told]);
        let _ = std::fs::remove_file(folder.path("karate.offsets"));
    }
}
