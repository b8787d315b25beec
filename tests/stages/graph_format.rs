//! The graph file, decoded from its description alone (docs/graph-format.md).

pub(crate) mod decoded;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{graph_file, rows_of};
use trimill::testing::graph::file::open;

use decoded::{decode, expected};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/graph-v5/dense.trimgraf")
}

/// The edges of the fixture, with gaps between ids: 400 vertices that are nearly all adjacent, and a tail. Two file blocks.
fn edges() -> BTreeSet<(u64, u64)> {
    let dense = (0..400_u64).flat_map(|i| (i + 1..400).map(move |j| (i, j)));
    let dense = dense.filter(|(i, j)| !(i * j + 3 * i + j).is_multiple_of(11));
    let tail = (400..420).flat_map(|i| [(i - 1, i), (i * i % 397, i)]);
    dense.chain(tail).map(|(i, j)| (7 * i + 3, 7 * j + 3)).collect()
}

/// To be run manually, once for each version of the format: `cargo test --test stages graph_format -- --ignored`.
#[test]
#[ignore = "writes the fixture of the current version"]
fn write_the_fixture() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(fixture().parent().unwrap()).unwrap();
    fs::copy(graph_file(edges().into_iter().collect(), dir.path()), fixture()).unwrap();
}

#[test]
fn the_fixture_holds_this_graph_to_the_byte() {
    let (decoded, expected) = (decode(&fixture()), expected(&edges()));
    assert_eq!(decoded, expected);
    assert_eq!(decoded.index.len(), 2, "so that there is a second block");
    let dir = tempfile::tempdir().unwrap();
    let again = fs::read(graph_file(edges().into_iter().collect(), dir.path())).unwrap();
    let same = again == fs::read(fixture()).unwrap();
    assert!(same, "the same graph is written otherwise: raise the version of the format");
    // Makes a copy that belongs to this user, as the library requires.
    let path = dir.path().join("fixture");
    fs::write(&path, fs::read(fixture()).unwrap()).unwrap();
    let graph = open(&path).unwrap();
    assert_eq!(rows_of(&graph), expected.rows);
    let mut arcs = 0;
    for (rank, row) in (0..).zip(&expected.rows) {
        assert_eq!(graph.first_arc(rank).unwrap(), arcs, "docs/graph-format.md, 'The index of an arc'");
        arcs += row.len() as u64;
    }
    assert_eq!(graph.order().unwrap(), expected.order);
}

#[test]
fn other_graphs_are_what_the_description_says() {
    let dir = tempfile::tempdir().unwrap();
    // The example of the page, a star, a path without gaps between ids, and a graph with ids of 64 bits.
    let example = BTreeSet::from([(0, 1), (1, 2), (0, 2), (2, 3)]);
    let star: BTreeSet<(u64, u64)> = (1..70_000).map(|leaf| (0, leaf)).collect();
    let path: BTreeSet<(u64, u64)> = (10..400).map(|v| (v, v + 1)).collect();
    let far: BTreeSet<(u64, u64)> = (1..300).map(|v| (v << 52 | 5, (v % 17) << 51)).filter(|(u, v)| u != v).collect();
    for (name, edges) in [("example", example), ("star", star), ("path", path), ("far", far)] {
        let edges: BTreeSet<(u64, u64)> = edges.into_iter().map(|(u, v)| (u.min(v), u.max(v))).collect();
        let folder = dir.path().join(name);
        fs::create_dir(&folder).unwrap();
        let file = decode(&graph_file(edges.iter().copied().collect(), &folder));
        assert_eq!(file.index.len(), if name == "star" { 2 } else { 1 }, "{name}");
        assert!(file == expected(&edges), "{name}");
    }
}
