//! Real graphs and their published figures.

use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;

use super::support::{arcs, data, edges, open};

/// Name, format, declared vertices, arcs, loops, vertices with an edge, edges: the figures that came with the data.
type Known = (&'static str, Format, Option<u64>, usize, usize, usize, usize);

const REAL: [Known; 12] = [
    ("cnr-2000.graph", Format::Bvgraph, Some(325_557), 3_216_152, 87_442, 325_557, 2_738_969),
    ("cnr-symmetric.graph", Format::Bvgraph, Some(130_000), 2_057_910, 0, 128_927, 1_028_955),
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
        assert_eq!(source.first_id() == 1, matches!(format, Format::MatrixMarket | Format::Metis), "{name}");
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
