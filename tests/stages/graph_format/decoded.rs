//! A graph file decoded from its description, docs/graph-format.md, without the library; and what it must hold of a list of edges.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) order: Vec<u32>,
    pub(crate) ids: Vec<u64>,
    pub(crate) degrees: Vec<u32>,
    pub(crate) rows: Vec<Vec<u32>>,
    /// First rank and first arc of each file block. Positions and checksums are compared with the rows when these are decoded; that no
    /// shorter encoding exists is tested in `graph/src/sequence.rs`.
    pub(crate) index: Vec<[u64; 2]>,
    pub(crate) longest_row: u64,
    pub(crate) probes: u64,
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

/// Numbers that ascend strictly, from their distances.
fn ascending(distances: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut next = 0u64;
    let number = |distance: u64| {
        let number = next + distance;
        next = number.wrapping_add(1);
        number
    };
    distances.into_iter().map(number).collect()
}

pub(super) fn decode(path: &Path) -> Decoded {
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
    let zeros = |range: Range<u64>| file[range.start as usize..range.end as usize].iter().all(|&byte| byte == 0);
    let (mut end, mut sections) = (56_u64, BTreeMap::new());
    for section in footer["sections"].as_array().unwrap() {
        let [at, length] = ["at", "bytes"].map(|name| section[name].as_u64().unwrap());
        assert_eq!((at, &section["needed"]), (end.next_multiple_of(4096), &true.into()));
        assert!(zeros(end..at));
        let bytes = &file[at as usize..(at + length) as usize];
        end = at + length;
        let checksum = section["checksum"].as_u64();
        assert!(checksum.is_none_or(|checksum| checksum == xxh3_64(bytes)));
        assert_eq!(checksum.is_none(), section["name"] == "rows");
        sections.insert(section["name"].as_str().unwrap().to_owned(), bytes);
    }
    assert_eq!(end, begin);
    let section = |name: &str| sections.get(name).copied();
    let [order, rows, index, degrees] = ["order", "rows", "index", "degrees"].map(|name| section(name).unwrap());
    assert_eq!(footer["has_ids"].as_bool().unwrap(), section("ids").is_some());
    assert_eq!((rows.len() as u64, index.len() as u64), (field("block_bytes"), 32 * field("blocks")));
    let ids = section("ids").map(|ids| table(ids, n, 2).into_iter().flat_map(ascending).collect());
    let ids: Vec<u64> = ids.unwrap_or_else(|| (0..n).map(|v| v + field("offset_of_ids")).collect());
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
        let row = |length: u64| {
            let row = ascending(distances.by_ref().take(length as usize));
            row.into_iter().map(|successor| u32::try_from(successor).unwrap()).collect::<Vec<u32>>()
        };
        let rows: Vec<Vec<u32>> = lengths.into_iter().map(row).collect();
        assert!(bytes.is_empty());
        rows
    });
    let rows = decoded.collect();
    let index = index.iter().map(|entry| [entry[0], entry[1]]).collect();
    let (longest_row, probes) = (field("longest_row"), field("probes"));
    Decoded { order: vertices, ids, degrees, rows, index, longest_row, probes }
}

/// What a graph file must hold of these edges: ranks are positions in descending degree order, ties by descending id; vertices are in the
/// order of ids.
pub(crate) fn expected(edges: &BTreeSet<(u64, u64)>) -> Decoded {
    let mut neighbours: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for &(u, v) in edges {
        neighbours.entry(u).or_default().push(v);
        neighbours.entry(v).or_default().push(u);
    }
    let ids: Vec<u64> = neighbours.keys().copied().collect();
    let mut by_rank = ids.clone();
    by_rank.sort_by_key(|id| std::cmp::Reverse((neighbours[id].len(), *id)));
    let ranks: BTreeMap<u64, u32> = by_rank.iter().copied().zip(0..).collect();
    let row = |id: &u64| {
        let smaller = neighbours[id].iter().map(|other| ranks[other]).filter(|other| *other < ranks[id]);
        let mut row: Vec<u32> = smaller.collect();
        row.sort_unstable();
        row
    };
    let rows: Vec<Vec<u32>> = by_rank.iter().map(row).collect();
    let degrees: Vec<u32> = by_rank.iter().map(|id| neighbours[id].len() as u32).collect();
    // docs/graph-format.md has the rule by which blocks are cut.
    let cap = (2.0 * edges.len() as f64).sqrt() as u32 + 1;
    let (mut index, mut weight, mut arcs) = (Vec::new(), u64::MAX, 0);
    for (rank, degree) in (0..).zip(&degrees) {
        let more = u64::from((*degree).min(cap)) + 1;
        weight = weight.saturating_add(more);
        if weight > 1 << 17 {
            weight = more;
            index.push([rank, arcs]);
        }
        arcs += rows[rank as usize].len() as u64;
    }
    Decoded {
        order: by_rank.iter().map(|id| ids.binary_search(id).unwrap() as u32).collect(),
        longest_row: rows.iter().map(|row| row.len() as u64).max().unwrap_or(0),
        probes: rows.iter().flatten().map(|&successor| rows[successor as usize].len() as u64).sum(),
        ids,
        degrees,
        rows,
        index,
    }
}
