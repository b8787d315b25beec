//! The graph file, decoded from its description alone (docs/graph-format.md), and the numbers of its arcs.

mod decoded;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::job::{job, program};
use crate::common::{cached, rows_of, text};
use trimill::testing::cache::Cache;
use trimill::testing::child::Helper;
use trimill::testing::execute::partition::partition;
use trimill::testing::graph::file::open;
use trimill::testing::graph::{Direction, OrientedGraph};
use trimill::testing::input::Identity;
use trimill::testing::spill::Manifest;
use trimill::{Bytes, Control};
use trimill_counting::{Resident, RowBlock};

use decoded::{Decoded, decode, expected};

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

fn written(edges: &BTreeSet<(u64, u64)>, dir: &Path) -> PathBuf {
    let cache = Cache::open(dir, Some(Bytes(u64::MAX))).unwrap();
    let graph = cached(edges.iter().copied().collect(), text(Identity::default()), &cache, dir);
    graph.unwrap().path().unwrap().to_path_buf()
}

/// Opens a copy of the fixture that this user owns, as the library requires.
fn opened(dir: &Path) -> OrientedGraph {
    let path = dir.join("fixture");
    fs::write(&path, fs::read(fixture()).unwrap()).unwrap();
    open(&path).unwrap()
}

/// To be run manually, once for each version of the format: `cargo test --test stages graph_format -- --ignored`.
#[test]
#[ignore = "writes the fixture of the current version"]
fn write_the_fixture() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(fixture().parent().unwrap()).unwrap();
    fs::copy(written(&edges(), dir.path()), fixture()).unwrap();
}

#[test]
fn the_fixture_holds_this_graph_to_the_byte() {
    let (decoded, expected) = (decode(&fixture()), expected(&edges()));
    assert_eq!(decoded, expected);
    assert_eq!(decoded.index.len(), 2, "so that there is a second block");
    let dir = tempfile::tempdir().unwrap();
    let again = fs::read(written(&edges(), dir.path())).unwrap();
    assert!(
        again == fs::read(fixture()).unwrap(),
        "the same graph is written otherwise: raise the version of the format"
    );
    let graph = opened(dir.path());
    assert_eq!(rows_of(&graph), expected.rows);
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
        let file = decode(&written(&edges, &folder));
        if name == "star" {
            // Leaves are ranked by descending id.
            let hub_of_each: Vec<Vec<u32>> = (0..70_000).map(|rank| if rank == 0 { vec![] } else { vec![0] }).collect();
            assert!(file.rows == hub_of_each);
            assert_eq!(file.order[1], 69_999);
            assert_eq!(file.index.len(), 2);
        } else {
            assert!(file == expected(&edges), "{name}");
        }
    }
}

/// The number of every arc, by the ranks of its ends: docs/graph-format.md, 'The index of an arc'.
fn numbers_of_arcs(file: &Decoded) -> BTreeMap<(u32, u32), u64> {
    let arcs = (0..).zip(&file.rows).flat_map(|(tail, row)| row.iter().map(move |&successor| (tail, successor)));
    arcs.zip(0..).collect()
}

#[test]
fn the_graph_stream_tells_the_number_of_every_arc() {
    let dir = tempfile::tempdir().unwrap();
    let numbers = numbers_of_arcs(&decode(&fixture()));
    let graph = opened(dir.path());
    let mut seen = BTreeSet::new();
    let passed = graph.pass(Bytes(1024), Direction::Falling, &Control::silent(), |block| {
        for rank in block.ranks() {
            let begin = graph.first_arc(rank).unwrap();
            for (place, &successor) in (0..).zip(block.row(rank)) {
                assert_eq!(numbers[&(rank, successor)], begin + place);
                assert!(seen.insert(begin + place));
            }
        }
        Ok(())
    });
    passed.unwrap();
    assert_eq!(seen.len() as u64, graph.edges());
}

fn number_of(graph: &OrientedGraph, rows: &[Vec<u32>], tail: u32, successor: u32) -> u64 {
    graph.first_arc(tail).unwrap() + rows[tail as usize].binary_search(&successor).unwrap() as u64
}

#[test]
fn the_partition_stream_tells_the_number_of_every_arc() {
    const PARTS: u32 = 3;
    let dir = tempfile::tempdir().unwrap();
    let list: Vec<String> = edges().iter().map(|(u, v)| format!("{u} {v}\n")).collect();
    fs::write(dir.path().join("graph.txt"), list.concat()).unwrap();
    let file = decode(&fixture());
    let numbers = numbers_of_arcs(&file);
    let graph = opened(dir.path());
    // Vertices are the places of sorted ids; a file with two columns names ids.
    let part_of: Vec<u32> = (0..graph.vertices()).map(|vertex| vertex * vertex % PARTS).collect();
    let lines: Vec<String> = file.ids.iter().zip(&part_of).map(|(id, part)| format!("{id} {part}\n")).collect();
    fs::write(dir.path().join("parts.txt"), lines.concat()).unwrap();

    for name in ["none", "zero-indegree", "direct"] {
        let spills = dir.path().join(name);
        let job = job(
            &format!(
                "input.path = 'graph.txt'\ncache.enabled = false\nmemory.block = '16KiB'\n\
                 partition = {{ partitioner = 'file:parts.txt', prune = '{name}' }}\nspill.dir = '{name}'\n"
            ),
            dir.path(),
        );
        partition(job.unwrap(), Some(Helper::metis(program())), &Control::silent()).unwrap();
        let manifest = Manifest::read(&spills).unwrap();
        let mut resident_arcs = BTreeSet::new();
        for partition in &manifest.partitions {
            let spill = manifest.open(&spills, partition).unwrap();
            let ranks = spill.ranks().unwrap();
            let mut arcs = Vec::new();
            let mut resident = Resident::default();
            spill.read_resident(&mut resident).unwrap();
            for (i, &number) in resident.numbers.iter().enumerate() {
                arcs.extend(resident.row(i).iter().map(|&successor| (number, successor)));
            }
            let residents = arcs.len();
            assert!(spill.row_blocks() > 1, "so that rows pass in several blocks");
            let mut row_block = RowBlock::of(0..0, &[0], &[]).unwrap();
            for i in 0..spill.row_blocks() {
                spill.read_row_block(i, &mut row_block).unwrap();
                let proxies: Vec<u32> = row_block.range.clone().filter(|n| !resident.numbers.contains(n)).collect();
                for (i, number) in proxies.into_iter().enumerate() {
                    arcs.extend(row_block.view().row(i).iter().map(|&successor| (number, successor)));
                }
            }
            assert_eq!(arcs.len() as u64, partition.resident_arcs + partition.row_block_arcs, "{name}");
            for (i, (tail, successor)) in arcs.into_iter().enumerate() {
                let arc = (ranks[tail as usize], ranks[successor as usize]);
                let number = number_of(&graph, &file.rows, arc.0, arc.1);
                assert_eq!(numbers[&arc], number);
                assert!(i >= residents || resident_arcs.insert(number), "arc {number} is resident twice");
            }
        }
        assert_eq!(resident_arcs, (0..graph.edges()).collect(), "each arc is resident in one partition");
    }
}
