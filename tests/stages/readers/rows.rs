//! Rows that are already clean are oriented without buckets: the result equals, byte for byte, the graph made by cleaning; others are cleaned.

mod faults;
mod reads;

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use trimill::testing::clean::{Workspace, clean};
use trimill::testing::disk::NewFile;
use trimill::testing::graph::{OrientedGraph, file};
use trimill::testing::input::arcs::{ArcSource, SourceFacts};
use trimill::testing::input::rows::Symmetry;
use trimill::testing::input::{ArcSink, Source};
use trimill::testing::memory::HostMemory;
use trimill::testing::orient::rows::orient_rows;
use trimill::testing::orient::{Destination, MadeGraph, orient};
use trimill::testing::prepare::prepare;
use trimill::{Bytes, Control, Result};

use super::support::{Folder, TINY, data, on, open, pairs32, refused, sg_of_rows as sg, write_bvgraph};
use crate::common;
use faults::{Fault, arcs_of, is_clean, metis, rows_of};

/// A source that does not offer its rows.
struct General<'a>(&'a Source);

impl ArcSource for General<'_> {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        self.0.scan(sink, control)
    }
    fn facts(&self) -> SourceFacts {
        self.0.facts()
    }
}

fn file_of(made: MadeGraph) -> NewFile {
    match made {
        MadeGraph::File(file) => file,
        MadeGraph::Memory(_) => panic!("a graph in memory"),
    }
}

/// A budget slightly above what the program itself takes.
const LITTLE: Bytes = Bytes::mib(17);

/// Whether the rows of the input at `path` are accepted without cleaning; if so, checks that the graph is the one that cleaning makes.
fn taken(path: &Path, memory: Bytes) -> bool {
    taken_beside(path, memory, None, None)
}

/// As [`taken`], with `buckets` bytes of memory for arcs that are sorted, and `scratch` bytes on disk.
fn taken_beside(path: &Path, memory: Bytes, buckets: Option<Bytes>, scratch: Option<Bytes>) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let control = Control::silent();
    let space = Workspace { buckets, scratch, ..Workspace::new(HostMemory::new(memory, 2), dir.path()) };
    let source = open(path).unwrap();
    let made = |place| orient_rows(&source, &mut || Ok("x".into()), place, space, &control).unwrap();
    let Some(MadeGraph::File(rows)) = made(Destination::file(dir.path())) else {
        assert!(made(Destination::memory(Bytes::mib(64), dir.path())).is_none());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the unfinished file is removed");
        return false;
    };
    let oriented =
        |place| orient(clean(&General(&source), space, &control).unwrap(), "x", place, space, &control).unwrap().0;
    let general = file_of(oriented(Destination::file(dir.path())));
    let bytes = std::fs::read(&rows).unwrap();
    assert!(bytes == std::fs::read(&general).unwrap(), "{}", path.display());
    let Some(MadeGraph::Memory(in_memory)) = made(Destination::memory(Bytes::mib(64), dir.path())) else {
        panic!("room for 64 MiB is enough")
    };
    let general = file::open_temporary(general).unwrap();
    same(&in_memory, &general);
    let MadeGraph::Memory(cleaned) = oriented(Destination::memory(Bytes::mib(64), dir.path())) else {
        panic!("room for 64 MiB is enough")
    };
    same(&cleaned, &general);
    // Sections that turn out to be too large go to a file after all.
    let (vertices, of_rows) = (4 * u64::from(in_memory.vertices()), in_memory.stored_bytes().get());
    for most in [vertices + of_rows / 2, vertices + of_rows - 1].map(Bytes) {
        let place = Destination::memory(most, dir.path());
        for made in [made(place).unwrap(), oriented(place)] {
            assert!(bytes == std::fs::read(file_of(made)).unwrap(), "{most}: {}", path.display());
        }
    }
    // Blocks and index as in the file, 4 bytes for the vertex of each rank, 8 for each id and each distinct degree.
    let layout = file::read_layout(rows.path()).unwrap();
    let of_vertex = if layout.has_ids { 12 } else { 4 };
    let held =
        layout.block_bytes + 32 * layout.blocks + 8 * layout.degree_runs + of_vertex * u64::from(layout.vertices);
    assert_eq!(in_memory.held_bytes(), Bytes(held));
    assert!(held <= layout.sections_at_most().get() && layout.file_at_least().get() <= bytes.len() as u64);
    true
}

#[test]
fn a_directed_crawl_with_offsets_is_cleaned_by_ranges_of_ids() {
    let folder = Folder::new();
    let arcs = super::support::arcs(&open(&data("cnr-2000.graph")).unwrap()).unwrap();
    write_bvgraph(&folder.path("crawl"), &arcs);
    let source = open(&folder.path("crawl.graph")).unwrap();
    assert!(ArcSource::is_ordered(&source) && !ArcSource::is_ordered(&General(&source)));
    // With little memory, buckets go to files.
    for memory in [Bytes::mib(256), Bytes::mib(36)] {
        let dir = tempfile::tempdir().unwrap();
        let (space, control) = (Workspace::new(HostMemory::new(memory, 2), dir.path()), Control::silent());
        let made = |source: &dyn ArcSource| {
            let cleaned = clean(source, space, &control).unwrap();
            assert_eq!(cleaned.bytes_distributed > Bytes::ZERO, memory < Bytes::mib(100));
            assert_eq!((cleaned.edges, cleaned.facts.arcs), (2_738_969, 3_216_152));
            let made = orient(cleaned, "x", Destination::file(dir.path()), space, &control).unwrap().0;
            std::fs::read(file_of(made)).unwrap()
        };
        assert!(made(&source) == made(&General(&source)), "{memory}");
    }
}

fn same(a: &OrientedGraph, b: &OrientedGraph) {
    assert_eq!((a.vertices(), a.edges(), a.report()), (b.vertices(), b.edges(), b.report()));
    assert!(common::rows_of(a) == common::rows_of(b) && a.out_degrees().unwrap() == b.out_degrees().unwrap());
    assert!(a.order().unwrap() == b.order().unwrap() && a.degree_runs() == b.degree_runs());
    let (ids, others) = (a.ids().unwrap(), b.ids().unwrap());
    assert!((0..a.vertices()).all(|vertex| ids.original(vertex) == others.original(vertex)));
    assert!((0..a.vertices()).all(|vertex| ids.vertex_of(ids.original(vertex)) == Some(vertex)));
    assert_eq!((a.size(), a.stored_bytes()), (b.size(), b.stored_bytes()));
    assert_eq!((a.first_declared_id(), a.declared_lines()), (b.first_declared_id(), b.declared_lines()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn clean_rows_are_taken_and_no_others(
        edges in proptest::collection::vec((0..30u64, 0..30u64), 1..200),
        alone in 0..3u64,
        faults in proptest::collection::vec((select(Fault::ALL.to_vec()), any::<Index>(), 0..30u64), 0..3),
        memory in prop_oneof![Just(LITTLE), Just(Bytes::mib(64))],
    ) {
        let mut rows = rows_of(30 + alone, &edges);
        faults.into_iter().for_each(|(fault, at, head)| fault.inject(&mut rows, at, head));
        let clean = is_clean(&rows) && rows.iter().any(|row| !row.is_empty());
        let folder = Folder::new();
        prop_assert_eq!(taken(&folder.write("a.sg", sg(&rows)), memory), clean);
        if let Some(text) = metis(&rows) {
            // Text is parsed into memory first, for which this budget is too small.
            let fits = memory > LITTLE;
            let taken = taken(&folder.write("a.metis", text), memory);
            prop_assert!(taken == clean || (!fits && !taken));
        }
        // A BVGraph cannot have duplicate arcs, and here it has no vertices after the last arc.
        let arcs: Vec<(u64, u64)> = arcs_of(&rows).collect::<BTreeSet<_>>().into_iter().collect();
        if !arcs.is_empty() {
            let clean = arcs.iter().all(|&(u, v)| u != v && arcs.binary_search(&(v, u)).is_ok());
            let edges = arcs.iter().any(|&(u, v)| u != v);
            write_bvgraph(&folder.path("b"), &arcs);
            prop_assert_eq!(taken(&folder.path("b.graph"), Bytes::mib(64)), clean);
            // The graph may be directed: if sorting arcs takes too much memory, their reverse arcs are found without sorting.
            let (large, most) = (8 * arcs.len() > 2100, Bytes(2100));
            let taken = taken_beside(&folder.path("b.graph"), Bytes::mib(64), Some(most), None);
            prop_assert_eq!(taken, clean || large && edges);
        }
    }
}

#[test]
fn a_row_may_be_longer_than_what_is_read_at_a_time() {
    // A wheel whose hub is in the middle of the ids, with a gap behind it.
    let (n, hub) = (50_000u64, 20_000u64);
    let rim: Vec<u64> = (0..n).filter(|&v| v != hub && v != hub + 1).collect();
    let next = rim.iter().zip(rim.iter().cycle().skip(1)).map(|(&u, &v)| (u, v));
    let edges: Vec<(u64, u64)> = rim.iter().map(|&v| (hub, v)).chain(next).collect();
    let mut rows = rows_of(n, &edges);
    let folder = Folder::new();
    for memory in [Bytes::mib(48), Bytes::mib(64)] {
        assert!(taken(&folder.write("wheel.sg", sg(&rows)), memory));
    }
    assert!(taken(&folder.write("wheel.metis", metis(&rows).unwrap()), Bytes::mib(64)));
    // Of a BVGraph, the hub's row is decoded whole.
    write_bvgraph(&folder.path("wheel"), &arcs_of(&rows).collect::<Vec<_>>());
    let path = folder.path("wheel.graph");
    assert!(taken(&path, Bytes::mib(48)));
    let (source, control) = (open(&path).unwrap(), Control::silent());
    let fits = |memory| source.rows(memory, &control).unwrap().unwrap().lengths(false, &control).unwrap().is_some();
    assert!(fits(Bytes::mib(2)) && !fits(Bytes::mib(1)));
    let mut reversed = rows.clone();
    reversed.iter_mut().for_each(|row| row.reverse());
    assert!(taken(&folder.write("reversed.sg", sg(&reversed)), Bytes::mib(64)));
    // A duplicate arc, on both sides of the place where reading pauses.
    let pause = 1 << 15;
    let hub_starts: usize = rows[..hub as usize].iter().map(Vec::len).sum();
    let row = &mut rows[hub as usize];
    let at = pause - hub_starts % pause;
    row[at] = row[at - 1];
    assert!(!taken(&folder.write("twice.sg", sg(&rows)), Bytes::mib(64)));
}

#[test]
fn rows_may_have_hundreds_of_successors_and_a_bvgraph_each_edge_once() {
    let folder = Folder::new();
    let complete: Vec<(u64, u64)> = (0..700).flat_map(|u| (u + 1..700).map(move |v| (u, v))).collect();
    assert!(taken(&folder.write("complete.sg", sg(&rows_of(700, &complete))), Bytes::mib(64)));
    // The arcs are between two sides, so that no arc of the first chunk could have its reverse there.
    let up: Vec<(u64, u64)> =
        (0..1500).flat_map(|u| (0..200).map(move |i| (u, 1500 + (u * u + 7 * i) % 1499))).collect();
    let both: Vec<(u64, u64)> = arcs_of(&rows_of(3000, &up)).collect();
    for (name, arcs, symmetry) in [("up", &up, Symmetry::Missing), ("both", &both, Symmetry::Unknown)] {
        write_bvgraph(&folder.path(name), arcs);
        let path = folder.path(&format!("{name}.graph"));
        let (source, control) = (open(&path).unwrap(), Control::silent());
        let rows = source.rows(Bytes::mib(64), &control).unwrap().unwrap();
        assert!(rows.lengths(true, &control).unwrap().is_some());
        assert_eq!(rows.symmetry(), symmetry, "{name}");
        assert!(taken_beside(&path, Bytes::mib(64), Some(Bytes(1_200_000)), None), "{name}");
    }
}

#[test]
fn heads_whose_tails_do_not_fit_together_are_sorted_in_ranges() {
    // Two million arcs to a thousand heads: 8 MB of tails, and a quarter of what the budget leaves for sorting.
    let arcs: Vec<(u64, u64)> = (0..2000).flat_map(|u| (2000..3000).map(move |v| (u, v))).collect();
    let folder = Folder::new();
    write_bvgraph(&folder.path("many"), &arcs);
    let path = folder.path("many.graph");
    assert!(taken_beside(&path, Bytes::mib(48), Some(Bytes::mib(8)), None));
}

#[test]
fn two_arcs_without_reverse_do_not_make_up_for_each_other() {
    // 0 -> 1 and 3 -> 2 against 0 -> 2 and 3 -> 1: as many arcs to larger as to smaller vertices, and the same degrees.
    let rows = vec![vec![1, 3], vec![3], vec![0], vec![0, 2]];
    assert!(!is_clean(&rows));
    assert!(!taken(&Folder::new().write("a.sg", sg(&rows)), Bytes::mib(64)));
    // A directed ring of four: every vertex has an arc out and one in.
    let ring = vec![vec![1], vec![2], vec![3], vec![0]];
    assert!(!taken(&Folder::new().write("ring.sg", sg(&ring)), Bytes::mib(64)));
}

#[test]
fn real_graphs_are_taken_from_their_rows() {
    assert!(taken(&data("cnr-symmetric.graph"), Bytes::mib(64)));
    assert!(taken(&data("delaunay_n15.graph"), Bytes::mib(64)));
    // A directed graph, in memory for two encoded copies of its arcs and in less.
    assert!(!taken(&data("cnr-2000.graph"), Bytes::mib(24)));
    let (source, control) = (open(&data("cnr-2000.graph")).unwrap(), Control::silent());
    let dir = tempfile::tempdir().unwrap();
    let (place, space) =
        (Destination::file(dir.path()), Workspace::new(HostMemory::new(Bytes::mib(64), 2), dir.path()));
    let cleaned = clean(&General(&source), space, &control).unwrap();
    let expected = std::fs::read(file_of(orient(cleaned, "x", place, space, &control).unwrap().0)).unwrap();
    let made = |buckets: Option<Bytes>, scratch| {
        let space = Workspace { buckets, scratch, ..space };
        let made = orient_rows(&source, &mut || Ok("x".into()), place, space, &control).unwrap();
        std::fs::read(file_of(made.unwrap())).unwrap()
    };
    assert!(made(None, None) == expected);
    // Its reversed arcs, and then its tails, take some 3 MB, so most of them go to files.
    assert!(made(Some(Bytes(1_200_000)), None) == expected);
    // With little disk space, or none, the graph is read once for each band of ids.
    for scratch in [Bytes(300_000), Bytes::ZERO] {
        assert!(made(Some(Bytes(2_000_000)), Some(scratch)) == expected, "{scratch}");
    }
    // Formats without rows, and files that say that they are directed.
    assert!(!taken(&data("karate.mtx"), Bytes::mib(64)));
    assert!(!taken(&Folder::new().write("pairs.bin", pairs32(&TINY)), Bytes::mib(64)));
    let directed = super::support::sg(2, &[(0, 1), (1, 0)], true);
    assert!(!taken(&Folder::new().write("directed.sg", directed), Bytes::mib(64)));
}

#[test]
fn what_is_found_wrong_is_reported_by_cleaning() {
    let folder = Folder::new();
    let prepared = |path: &Path| {
        let space =
            Workspace { graph: Bytes::mib(64), ..Workspace::new(HostMemory::new(Bytes::mib(256), 2), folder.0.path()) };
        prepare(&open(path).unwrap(), space, &Control::silent(), &mut Vec::new())
    };
    let clean = prepared(&folder.write("clean.sg", sg(&[vec![1, 2], vec![0, 2], vec![0, 1]]))).unwrap();
    assert!(clean.held_bytes() > Bytes::ZERO, "in memory");
    let report = clean.report();
    assert_eq!((report.vertices_declared, report.arcs, report.arcs_added, report.loops_removed), (3, 6, 0, 0));
    let unclean = prepared(&folder.write("unclean.sg", sg(&[vec![1, 0, 1], vec![], vec![1]]))).unwrap();
    let report = unclean.report();
    assert_eq!((report.arcs, report.loops_removed, report.duplicates_removed, report.arcs_added), (4, 1, 1, 2));
    assert!(unclean.held_bytes() > Bytes::ZERO, "in memory");
    // Entries of a symmetric matrix have their reverse.
    let karate = prepared(&data("karate.mtx")).unwrap();
    let report = karate.report();
    assert_eq!((report.arcs, report.arcs_added, report.arcs_without_reverse), (78, 78, 0));
    refused(prepared(&folder.write("far.sg", sg(&[vec![1, 7], vec![0]]))), &["neighbour 7 of vertex 0"]);
    refused(prepared(&folder.write("bad.metis", "3 2\n2 3\n1\nx\n")), &["bad.metis:4"]);
}

#[test]
fn memory_follows_the_ids_in_use_and_not_those_declared() {
    // Three edges between the last vertices of 50 million; the zeros before them are a hole in the file.
    let n = 50_000_000u64;
    let folder = Folder::new();
    let path = folder.path("sparse.sg");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(17 + 8 * (n + 1) + 4 * 6).unwrap();
    let put = |bytes: &[u8], at: u64| std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).unwrap();
    put(&6u64.to_le_bytes(), 1);
    put(&n.to_le_bytes(), 9);
    for (vertex, offset) in [(n - 2, 2u64), (n - 1, 4), (n, 6)] {
        put(&offset.to_le_bytes(), 17 + 8 * vertex);
    }
    let heads = [n - 2, n - 1, n - 3, n - 1, n - 3, n - 2];
    put(&heads.iter().flat_map(|&head| (head as u32).to_le_bytes()).collect::<Vec<u8>>(), 17 + 8 * (n + 1));
    let mut graph = None;
    let used = on(1, || {
        allocation_counter::measure(|| {
            let source = open(&path).unwrap();
            let space = Workspace::new(HostMemory::new(Bytes::mib(64), 1), folder.0.path());
            graph = prepare(&source, space, &Control::silent(), &mut Vec::new()).ok();
        })
    });
    let graph = graph.unwrap();
    assert_eq!((graph.vertices(), graph.edges(), graph.ids().unwrap().original(0)), (3, 3, n - 3));
    assert!(used.bytes_max < 40 << 20, "{} bytes", used.bytes_max);
}
