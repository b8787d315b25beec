//! The offsets of a BVGraph. Whatever is in the file, the arcs are the same, or an error names the file.

use std::sync::OnceLock;

use trimill::testing::control::Control;
use trimill::testing::input::format::Format;
use trimill_generate::{Family, generate};

use super::{Place, edges, is_told};

struct Graph {
    stream: Vec<u8>,
    properties: Vec<u8>,
    arcs: edges::Arcs,
}

static GRAPH: OnceLock<Graph> = OnceLock::new();

fn graph() -> Graph {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("g.graph");
    let family = Family::RingOfCliques { cliques: 40, size: 9 };
    generate(&family, None, &path, &Control::silent()).expect("a small graph");
    std::fs::remove_file(path.with_extension("offsets")).expect("the offsets");
    let source = edges::open(&path, Some(Format::Bvgraph), None).expect("a BVGraph");
    let arcs = edges::arcs(&source).expect("a whole graph").expect("few arcs");
    let read = |suffix| std::fs::read(path.with_extension(suffix)).expect("a file of the graph");
    Graph { stream: read("graph"), properties: read("properties"), arcs }
}

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let Graph { stream, properties, arcs } = GRAPH.get_or_init(graph);
    place.write("o.properties", properties);
    place.write("o.offsets", bytes);
    let path = place.write("o.graph", stream);
    match edges::open(&path, Some(Format::Bvgraph), None).and_then(|source| edges::arcs(&source)) {
        Ok(found) => assert!(found.as_ref() == Some(arcs), "other arcs"),
        Err(error) => is_told(&error, &path.with_extension("offsets")),
    }
}
