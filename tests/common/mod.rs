//! Shared by several test programs: small graphs, and counts that are independent of the library.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod arrow;
pub(crate) mod job;
pub(crate) mod packed;
pub(crate) mod place;
pub(crate) mod published;
pub(crate) mod server;
pub(crate) mod tables;

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use trimill::testing::cache::{Cache, Origin};
use trimill::testing::clean::Workspace;
use trimill::testing::graph::{Direction, OrientedGraph};
use trimill::testing::input::Identity;
use trimill::testing::input::arcs::ArcList;
use trimill::testing::input::format::Format;
use trimill::testing::memory::HostMemory;
use trimill::testing::prepare::{Preparation, prepare};
use trimill::{Bytes, Control, Result};

/// The undirected simple graph of a list of arcs, as a set of pairs `(min, max)`.
pub(crate) fn simple(arcs: &[(u64, u64)]) -> BTreeSet<(u64, u64)> {
    arcs.iter().filter(|(u, v)| u != v).map(|&(u, v)| (u.min(v), u.max(v))).collect()
}

/// The edges of a complete graph.
pub(crate) fn complete(vertices: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..vertices).flat_map(|u| (0..u).map(move |v| (u, v)))
}

/// Arcs as pairs of `u32`.
pub(crate) fn pairs32(arcs: &[(u64, u64)]) -> Vec<u8> {
    arcs.iter().flat_map(|&(u, v)| (u | v << 32).to_le_bytes()).collect()
}

/// Arcs as pairs of `u64`.
pub(crate) fn pairs64(arcs: &[(u64, u64)]) -> Vec<u8> {
    arcs.iter().flat_map(|&(u, v)| [u, v]).flat_map(u64::to_le_bytes).collect()
}

/// The oriented graph of a list of arcs; its files are in `dir`. `buckets` is the memory for buckets.
pub(crate) fn oriented(arcs: &[(u64, u64)], dir: &Path, buckets: Bytes) -> OrientedGraph {
    let source = ArcList { arcs: arcs.to_vec(), declared: None };
    let space = Workspace { buckets: Some(buckets), ..Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir) };
    prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap()
}

pub(crate) fn text(identity: Identity) -> Origin {
    let (version, format, named, names) = (String::new(), Format::Text, false, false);
    Origin { version, format, named, header: None, columns: None, names, doubled: None, identity }
}

/// Caches the graph of a list of arcs in `cache` as that of `origin`, with temporary files in `dir`.
pub(crate) fn cached(arcs: Vec<(u64, u64)>, mut origin: Origin, cache: &Cache, dir: &Path) -> Result<OrientedGraph> {
    let (source, control) = (ArcList { arcs, declared: None }, Control::silent());
    let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir);
    let (source, origin) = (&source, Some(&mut origin));
    let preparation = Preparation { device: None, source, origin, doubled: None, space, control: &control };
    preparation.prepare(Some(cache), &mut Vec::new())
}

/// The arcs of a file of pairs of 32 bits.
pub(crate) fn arcs_of_pairs(path: &Path) -> Vec<(u64, u64)> {
    let bytes = std::fs::read(path).unwrap();
    assert!(bytes.len().is_multiple_of(8), "{} bytes", bytes.len());
    let id = |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.try_into().unwrap()));
    bytes.chunks(8).map(|pair| (id(&pair[..4]), id(&pair[4..]))).collect()
}

/// The graph file of a list of arcs, in a cache in `dir`.
pub(crate) fn graph_file(arcs: Vec<(u64, u64)>, dir: &Path) -> PathBuf {
    let cache = Cache::open(dir, Some(Bytes(u64::MAX))).unwrap();
    let graph = cached(arcs, text(Identity::default()), &cache, dir);
    graph.unwrap().path().unwrap().to_path_buf()
}

pub(crate) fn flip(path: &Path, bit: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).unwrap();
    byte[0] ^= 1 << (bit % 8);
    file.write_all_at(&byte, bit / 8).unwrap();
}

/// Reads all of a graph whose file may be damaged: the order, the ids, the rows.
pub(crate) fn read_all(graph: &OrientedGraph) -> Result<()> {
    graph.order()?;
    graph.ids()?;
    graph.out_degrees()?;
    graph.pass(Bytes::mib(1), Direction::Falling, &Control::silent(), |_| Ok(()))
}

/// The rows of a graph in rank order, as ranks.
pub(crate) fn rows_of(graph: &OrientedGraph) -> Vec<Vec<u32>> {
    let mut rows = Vec::new();
    let passed = graph.pass(Bytes::mib(1), Direction::Rising, &Control::silent(), |block| {
        assert_eq!(block.ranks().start as usize, rows.len(), "blocks without a gap");
        rows.extend(block.ranks().map(|rank| block.row(rank).to_vec()));
        Ok(())
    });
    passed.unwrap();
    rows
}

/// The input's id of each rank.
pub(crate) fn ids_by_rank(graph: &OrientedGraph) -> Vec<u64> {
    let ids = graph.ids().unwrap();
    graph.order().unwrap().into_iter().map(|vertex| ids.original(vertex)).collect()
}

pub(crate) fn degrees_by_rank(graph: &OrientedGraph) -> Vec<u32> {
    graph.degree_runs().iter().flat_map(|run| std::iter::repeat_n(run.degree, run.vertices as usize)).collect()
}
