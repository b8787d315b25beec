//! The graph file, decoded here from its description alone: docs/graph-format.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::job::{job, program};
use crate::common::rows_of;
use serde_json::Value;
use trimill::testing::cache::{Cache, Origin};
use trimill::testing::child::Helper;
use trimill::testing::clean::Workspace;
use trimill::testing::execute::partition::partition;
use trimill::testing::graph::file::open;
use trimill::testing::graph::{Direction, OrientedGraph};
use trimill::testing::input::Identity;
use trimill::testing::input::arcs::ArcList;
use trimill::testing::input::format::Format;
use trimill::testing::memory::HostMemory;
use trimill::testing::prepare::Preparation;
use trimill::testing::spill::Manifest;
use trimill::{Bytes, Control};
use trimill_counting::{Resident, RowBlock};
use xxhash_rust::xxh3::xxh3_64;

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
    let source = ArcList { arcs: edges.iter().copied().collect(), declared: None };
    let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir);
    let cache = Cache::open(dir, Some(Bytes(u64::MAX))).unwrap();
    let mut origin =
        Origin { format: Format::Text, header: None, columns: None, names: false, identity: Identity::default() };
    let control = Control::silent();
    let graph = Preparation { device: None, source: &source, origin: Some(&mut origin), space, control: &control }
        .prepare(Some(&cache), &mut Vec::new());
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

/// The contents of a graph file, decoded without the library.
#[derive(Debug, PartialEq)]
struct Decoded {
    order: Vec<u32>,
    ids: Vec<u64>,
    degrees: Vec<u32>,
    rows: Vec<Vec<u32>>,
    /// First rank, first arc, position and checksum of each file block.
    index: Vec<[u64; 4]>,
    longest_row: u64,
    probes: u64,
}

fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
}

fn u64s(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|eight| u64::from_le_bytes(eight.try_into().unwrap())).collect()
}

/// Takes a sequence of `many` numbers from the front of some bytes: one bit after another.
fn sequence(bytes: &mut &[u8], many: u64) -> Vec<u64> {
    let bit = |bytes: &[u8], i: u64| u64::from(bytes[(i / 8) as usize] >> (i % 8) & 1);
    let header = u64s(&bytes[..8])[0];
    let (first, more, control_bits) = (header & 0xff, header >> 8 & 0xff, header >> 16);
    let (control, rest) = bytes[8..].split_at(8 * control_bits.div_ceil(64) as usize);
    let (mut next, mut data, mut numbers) = (0, 0, Vec::new());
    for _ in 0..many {
        let mut length = first;
        while bit(control, next) == 0 {
            (next, length) = (next + 1, length + more);
        }
        next += 1;
        numbers.push((0..length).map(|i| bit(rest, data + i) << i).sum());
        data += length;
    }
    assert_eq!(next, control_bits);
    *bytes = &rest[8 * (data.div_ceil(64) + 1) as usize..];
    numbers
}

fn table(mut bytes: &[u8], many: u64, halves: u32) -> Vec<Vec<u64>> {
    let chunks = (0..many).step_by(1 << 16).map(|first| {
        let many = (many - first).min(1 << 16);
        let low = sequence(&mut bytes, many);
        match halves {
            1 => low,
            _ => low.into_iter().zip(sequence(&mut bytes, many)).map(|(low, high)| low | high << 32).collect(),
        }
    });
    let chunks = chunks.collect();
    assert!(bytes.is_empty());
    chunks
}

fn decode(path: &Path) -> Decoded {
    let file = fs::read(path).unwrap();
    assert_eq!(&file[..8], b"TRIMGRAF");
    let (version, footer_length) = (u32s(&file[8..12])[0], u32s(&file[12..16])[0] as usize);
    let [begin, checksum, of_header] = u64s(&file[16..40])[..] else { panic!("three numbers") };
    assert_eq!((version, of_header), (5, xxh3_64(&file[..32])));
    let footer = &file[begin as usize..];
    assert_eq!((footer.len(), checksum), (footer_length, xxh3_64(footer)));
    let footer: Value = serde_json::from_slice(footer).unwrap();
    let field = |name: &str| footer[name].as_u64().unwrap();
    let (n, m) = (field("vertices"), field("edges"));
    let (mut next, mut sections) = (4096, BTreeMap::new());
    for section in footer["sections"].as_array().unwrap() {
        let [at, length] = ["at", "bytes"].map(|name| section[name].as_u64().unwrap());
        assert_eq!((at, &section["needed"]), (next, &true.into()));
        let bytes = &file[at as usize..(at + length) as usize];
        next = (at + length).next_multiple_of(4096);
        let checksum = section["checksum"].as_u64();
        assert!(checksum.is_none_or(|checksum| checksum == xxh3_64(bytes)));
        assert_eq!(checksum.is_none(), section["name"] == "rows");
        sections.insert(section["name"].as_str().unwrap().to_owned(), bytes);
    }
    let section = |name: &str| sections.get(name).copied();
    let [order, rows, index, degrees] = ["order", "rows", "index", "degrees"].map(|name| section(name).unwrap());
    assert_eq!(footer["has_ids"].as_bool().unwrap(), section("ids").is_some());
    assert_eq!((rows.len() as u64, index.len() as u64), (field("block_bytes"), 32 * field("blocks")));
    let ids = section("ids").map(|ids| {
        let chunks = table(ids, n, 2).into_iter().map(|chunk| {
            let mut next = 0u64;
            let id = |distance: u64| {
                let id = next + distance;
                next = id.wrapping_add(1);
                id
            };
            chunk.into_iter().map(id).collect::<Vec<_>>()
        });
        chunks.collect::<Vec<_>>().concat()
    });
    let ids = ids.unwrap_or_else(|| (0..n).map(|v| v + field("offset_of_ids")).collect());
    assert_eq!(degrees.len() as u64, 8 * field("degree_runs"));
    let degrees: Vec<u32> = u32s(degrees).chunks(2).flat_map(|run| vec![run[0]; run[1] as usize]).collect();
    let mut vertices: Vec<u32> = Vec::new();
    for number in table(order, n, 1).concat() {
        let rank = vertices.len();
        let begins = rank.is_multiple_of(1 << 16) || degrees[rank] != degrees[rank - 1];
        vertices.push(if begins { number as u32 } else { vertices[rank - 1] - number as u32 - 1 });
    }
    let index: Vec<[u64; 4]> = u64s(index).chunks(4).map(|entry| entry.try_into().unwrap()).collect();
    let mut ends = index[1..].to_vec();
    ends.push([n, m, rows.len() as u64, 0]);
    let decoded = index.iter().zip(&ends).flat_map(|(from, to)| {
        let mut bytes = &rows[from[2] as usize..to[2] as usize];
        assert_eq!(from[3], xxh3_64(bytes), "the block of rank {}", from[0]);
        let lengths = sequence(&mut bytes, to[0] - from[0]);
        assert_eq!(lengths.iter().sum::<u64>(), to[1] - from[1]);
        let mut distances = sequence(&mut bytes, to[1] - from[1]).into_iter();
        let rows: Vec<Vec<u32>> = lengths
            .into_iter()
            .map(|length| {
                let mut next = 0;
                let successor = |distance: u64| {
                    let successor = next + distance;
                    next = successor + 1;
                    u32::try_from(successor).unwrap()
                };
                distances.by_ref().take(length as usize).map(successor).collect()
            })
            .collect();
        assert!(bytes.is_empty());
        rows
    });
    let rows = decoded.collect();
    let (longest_row, probes) = (field("longest_row"), field("probes"));
    Decoded { order: vertices, ids, degrees, rows, index, longest_row, probes }
}

/// The same from a list of edges.
fn expected(edges: &BTreeSet<(u64, u64)>) -> Decoded {
    let mut neighbours: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for &(u, v) in edges {
        neighbours.entry(u).or_default().push(v);
        neighbours.entry(v).or_default().push(u);
    }
    let ids: Vec<u64> = neighbours.keys().copied().collect();
    let mut by_rank = ids.clone();
    by_rank.sort_by_key(|id| std::cmp::Reverse((neighbours[id].len(), *id)));
    let rank = |id: &u64| by_rank.iter().position(|other| other == id).unwrap() as u32;
    let ranks: BTreeMap<u64, u32> = ids.iter().map(|id| (*id, rank(id))).collect();
    let row = |id: &u64| {
        let smaller = neighbours[id].iter().map(|other| ranks[other]).filter(|other| *other < ranks[id]);
        let mut row: Vec<u32> = smaller.collect();
        row.sort_unstable();
        row
    };
    let rows: Vec<Vec<u32>> = by_rank.iter().map(row).collect();
    let degrees: Vec<u32> = by_rank.iter().map(|id| neighbours[id].len() as u32).collect();
    // docs/graph-format.md has the rule by which blocks are cut; their bytes and checksums follow from the rows.
    let cap = (2.0 * edges.len() as f64).sqrt() as u32 + 1;
    let (mut index, mut weight, mut position) = (Vec::new(), u64::MAX, 0);
    let mut arcs = 0;
    for (rank, degree) in (0..).zip(&degrees) {
        let more = u64::from((*degree).min(cap)) + 1;
        weight = weight.saturating_add(more);
        if weight > 1 << 17 {
            weight = more;
            index.push([rank, arcs, 0, 0]);
        }
        arcs += rows[rank as usize].len() as u64;
    }
    let starts: Vec<usize> = index.iter().map(|entry| entry[0] as usize).collect();
    for (i, entry) in index.iter_mut().enumerate() {
        let bytes = block(&rows[starts[i]..starts.get(i + 1).copied().unwrap_or(rows.len())]);
        (entry[2], entry[3]) = (position, xxh3_64(&bytes));
        position += bytes.len() as u64;
    }
    Decoded {
        order: by_rank.iter().map(|id| ids.binary_search(id).unwrap() as u32).collect(),
        longest_row: rows.iter().map(|row| row.len() as u64).max().unwrap(),
        probes: rows.iter().flatten().map(|&successor| rows[successor as usize].len() as u64).sum(),
        ids,
        degrees,
        rows,
        index,
    }
}

/// The bytes of a sequence: of all that have these numbers the shortest one.
fn put_sequence(numbers: &[u32], bytes: &mut Vec<u8>) {
    let lengths = |number: u32, first: u32, more: u32| {
        (first..).step_by(more as usize).find(|&length| u64::from(number) >> length == 0).unwrap()
    };
    let mut choices = (1..=4).flat_map(|more| (0..=32).map(move |first| (first, more)));
    let mut shortest: Option<(u64, u32, u32)> = None;
    for (first, more) in choices.by_ref() {
        let bits = |&number: &u32| {
            let length = lengths(number, first, more);
            u64::from(1 + (length - first) / more + length)
        };
        let bits = numbers.iter().map(bits).sum();
        if shortest.is_none_or(|(least, ..)| bits < least) {
            shortest = Some((bits, first, more));
        }
    }
    let (_, first, more) = shortest.unwrap();
    let (mut control, mut data) = (Vec::new(), Vec::new());
    for &number in numbers {
        let length = lengths(number, first, more);
        control.extend(std::iter::repeat_n(0, ((length - first) / more) as usize).chain([1]));
        data.extend((0..length).map(|bit| u64::from(number) >> bit & 1));
    }
    let words = |bits: &[u64]| -> Vec<u64> {
        bits.chunks(64).map(|word| (0..).zip(word).map(|(i, bit)| bit << i).sum()).collect()
    };
    let header = u64::from(first) | u64::from(more) << 8 | (control.len() as u64) << 16;
    let all = [vec![header], words(&control), words(&data), vec![0]].concat();
    all.into_iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
}

fn block(rows: &[Vec<u32>]) -> Vec<u8> {
    let (mut bytes, mut distances) = (Vec::new(), Vec::new());
    for row in rows {
        distances.extend(row.first());
        distances.extend(row.windows(2).map(|pair| pair[1] - pair[0] - 1));
    }
    put_sequence(&rows.iter().map(|row| row.len() as u32).collect::<Vec<_>>(), &mut bytes);
    put_sequence(&distances, &mut bytes);
    bytes
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
            // Leaves are ranked by falling ids.
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

/// The number of an arc in the graph: that of its row's first arc plus its place in the row.
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
