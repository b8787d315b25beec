//! Cached graphs with valid checksums that trimill did not write: the graph is rebuilt, or counted, or the job ends with an error of
//! kind data; never with a panic.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;
use trimill::testing::error::{Kind, Result};
use trimill::testing::graph::file::{Layout, open, read_layout};
use xxhash_rust::xxh3::xxh3_64;

use super::place::{CLIQUE, Place, counted, graphs, said};
use crate::common::job::count;
use crate::common::read_all;

const PAGE: usize = 4096;

/// A graph file taken apart.
#[derive(Clone)]
struct Parts {
    version: u32,
    footer: Value,
    sections: Vec<u8>,
}

impl Parts {
    fn of(file: &[u8]) -> Self {
        let end = u64::from_le_bytes(file[16..24].try_into().unwrap()) as usize;
        let footer = serde_json::from_slice(&file[end..]).unwrap();
        Self {
            version: u32::from_le_bytes(file[8..12].try_into().unwrap()),
            footer,
            sections: file[PAGE..end].to_vec(),
        }
    }

    /// The bytes of a section, if it is within the file.
    fn section(&self, range: Range<u64>) -> Option<Range<usize>> {
        let place = |at: u64| usize::try_from(at).ok()?.checked_sub(PAGE);
        let range = place(range.start)?..place(range.end)?;
        self.sections.get(range.clone()).is_some().then_some(range)
    }

    /// The file with valid checksums of the sections that are where the footer says.
    fn sealed(&self) -> Vec<u8> {
        let (mut footer, mut parts) = (self.footer.clone(), self.clone());
        let layout = serde_json::from_value::<Layout>(footer.clone()).ok().filter(is_near);
        if let Some(layout) = &layout {
            if let Some((rows, index)) = self.section(layout.rows()).zip(self.section(layout.index())) {
                let ends =
                    index.clone().skip(32).step_by(32).map(|entry| self.u64_in(entry + 16)).chain([layout.block_bytes]);
                for (entry, end) in index.step_by(32).zip(ends) {
                    let block = self.u64_in(entry + 16) as usize..end as usize;
                    if let Some(block) = self.sections[rows.clone()].get(block) {
                        parts.sections[entry + 24..entry + 32].copy_from_slice(&xxh3_64(block).to_le_bytes());
                    }
                }
            }
            for (name, range) in [
                ("order", layout.order()),
                ("ids", layout.ids()),
                ("index", layout.index()),
                ("degrees", layout.degrees()),
            ] {
                let checksum = parts.section(range).map(|range| xxh3_64(&parts.sections[range]));
                footer["checksums"][name] = checksum.unwrap_or_default().into();
            }
        }
        let footer = serde_json::to_vec(&footer).unwrap();
        let mut file = b"TRIMGRAF".to_vec();
        file.extend(self.version.to_le_bytes());
        file.extend((footer.len() as u32).to_le_bytes());
        file.extend(((PAGE + parts.sections.len()) as u64).to_le_bytes());
        file.extend(xxh3_64(&footer).to_le_bytes());
        file.extend(xxh3_64(&file).to_le_bytes());
        file.resize(PAGE, 0);
        [file, parts.sections, footer].concat()
    }

    fn layout(&self) -> Layout {
        serde_json::from_value(self.footer.clone()).unwrap()
    }

    /// The same with other bytes at `at` of the file.
    fn with(&self, at: u64, bytes: &[u8]) -> Self {
        let mut parts = self.clone();
        parts.sections[at as usize - PAGE..][..bytes.len()].copy_from_slice(bytes);
        parts
    }

    fn u32_at(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.sections[at as usize - PAGE..][..4].try_into().unwrap())
    }

    fn u64_at(&self, at: u64) -> u64 {
        self.u64_in(at as usize - PAGE)
    }

    fn u64_in(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.sections[at..][..8].try_into().unwrap())
    }
}

/// Whether all counts are so small that no position overflows.
fn is_near(layout: &Layout) -> bool {
    let Layout { vertices, edges, blocks, block_bytes, degree_runs, .. } = *layout;
    u64::from(vertices).max(edges).max(blocks).max(block_bytes).max(degree_runs) < 1 << 40
}

/// Opens a graph file and reads all of it.
fn read(path: &Path) -> Result<()> {
    read_all(&open(path)?)
}

/// Sets every number of the footer, at any depth, to other values.
fn footers(value: &Value, set: &dyn Fn(Value) -> Value, found: &mut Vec<(String, Value)>, name: &str) {
    match value {
        Value::Object(fields) => {
            for (field, inner) in fields.iter().filter(|(field, _)| *field != "checksums") {
                let set = |inner: Value| {
                    let mut fields = fields.clone();
                    fields[field] = inner;
                    set(Value::Object(fields))
                };
                footers(inner, &set, found, field);
            }
        }
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            for other in [0, 1, number.wrapping_sub(1), number + 1, 2 * number, u64::from(u32::MAX), 1 << 40, u64::MAX]
            {
                found.push((format!("{name} = {other}"), set(other.into())));
            }
            found.push((format!("{name} = null"), set(Value::Null)));
        }
        Value::Bool(is) => found.push((format!("{name} = {}", !is), set((!is).into()))),
        _ => {}
    }
}

/// Mutations of every value of every section.
fn mutations(parts: &Parts) -> Vec<(String, Parts)> {
    let layout = parts.layout();
    let (n, mut all) = (layout.vertices, Vec::new());
    let every = |range: Range<u64>, size: usize| range.step_by(size);
    for at in every(layout.order(), 4) {
        let value = parts.u32_at(at);
        for other in [0, value.wrapping_sub(1), value + 1, n - 1, n, 1 << 31, u32::MAX] {
            all.push((format!("order at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
        }
    }
    // Lengths and successors: each is one byte, so from 128 on a byte says that the number continues.
    let rows = layout.rows();
    for at in rows.clone() {
        let value = parts.sections[at as usize - PAGE];
        for other in [0, 1, value.wrapping_sub(1), value + 1, n as u8, 127, 128, 255] {
            all.push((format!("row byte at {at} = {other}"), parts.with(at, &[other])));
        }
        // One more here and one less there: the sum of lengths, or the rest of the row, stays the same.
        if at + 1 < rows.end && parts.sections[at as usize + 1 - PAGE] > 0 {
            let next = parts.sections[at as usize + 1 - PAGE];
            all.push((format!("one of row byte {} to {at}", at + 1), parts.with(at, &[value + 1, next - 1])));
        }
        // Numbers of several bytes: far too large, or too long.
        for long in [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0xff; 6], &[0x80; 8]] {
            if at + long.len() as u64 <= rows.end {
                all.push((format!("{} bytes at {at}", long.len()), parts.with(at, long)));
            }
        }
    }
    for entry in every(layout.index(), 32) {
        for (field, at) in ["first rank", "first arc", "position"].iter().zip(every(entry..entry + 24, 8)) {
            let value = parts.u64_at(at);
            for other in [0, 1, value.wrapping_sub(1), value + 1, n.into(), layout.edges, 1 << 40, u64::MAX] {
                all.push((format!("{field} at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
            }
        }
    }
    let degrees = layout.degrees();
    for at in every(degrees.clone(), 4) {
        let value = parts.u32_at(at);
        for other in [0, value + 1, n - 1, n, u32::MAX] {
            all.push((format!("degrees at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
        }
        // One more here and one less there: the sum stays the same.
        for to in every(degrees.clone(), 4).filter(|&to| to != at && parts.u32_at(to) > 0) {
            let moved = parts.with(at, &(value + 1).to_le_bytes()).with(to, &(parts.u32_at(to) - 1).to_le_bytes());
            all.push((format!("one of {to} of the degrees to {at}"), moved));
        }
    }
    for at in every(layout.ids(), 8) {
        let value = parts.u64_at(at);
        for other in [0, value.wrapping_sub(1), value + 1, u64::MAX - 1, u64::MAX] {
            all.push((format!("id at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
        }
    }
    let mut found = Vec::new();
    footers(&parts.footer, &|value| value, &mut found, "");
    all.extend(found.into_iter().map(|(name, footer)| (name, Parts { footer, ..parts.clone() })));
    all
}

/// Eleven vertices with gaps between their ids, and triangles.
const GRAPH: &str =
    "1 2\n2 3\n3 1\n3 5\n5 8\n8 3\n8 13\n13 21\n21 8\n21 34\n34 55\n55 21\n55 89\n89 144\n144 55\n1 5\n1 8\n2 5\n";

/// By hand: 1-2-3, 3-5-8, 8-13-21, 21-34-55, 55-89-144, then 1-3-5, 1-3-8, 1-5-8, 1-2-5, 2-3-5.
const TRIANGLES: u128 = 10;

/// The cached graph of a text.
fn cached(text: &str, dir: &Path) -> (PathBuf, Parts) {
    std::fs::write(dir.join("g.txt"), text).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    count("input.path = 'g.txt'\ncache.dir = 'cache'", dir).unwrap();
    let path = graphs(&dir.join("cache")).remove(0);
    let parts = Parts::of(&std::fs::read(&path).unwrap());
    (path, parts)
}

#[test]
fn crafted_graphs_are_counted_or_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let (path, parts) = cached(GRAPH, dir.path());
    let lines = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144].map(|id| format!("{id} {}\n", id % 2));
    std::fs::write(dir.path().join("parts.txt"), lines.concat()).unwrap();
    let ways = [
        "",
        "partition = { parts = 3, prune = 'none', partitioner = 'random' }",
        "partition = { parts = 3, prune = 'zero-indegree' }",
        "partition = { parts = 3, prune = 'direct', partitioner = 'contiguous-vertices' }",
        "partition = { parts = 3, partitioner = 'rank' }",
        "partition.partitioner = 'file:parts.txt'",
        "count.method = 'forward'",
        "count.method = 'compact-forward'",
        "count.method = 'reverse-edge'\npartition.parts = 1",
    ];
    let mutations = mutations(&parts);
    assert!(mutations.len() > 500, "{}", mutations.len());
    let mut taken = 0;
    for (i, (name, crafted)) in mutations.iter().enumerate() {
        let file = crafted.sealed();
        // One of the settings in turn, and all of them if the graph is accepted as it is.
        for (j, way) in ways.iter().enumerate() {
            std::fs::write(&path, &file).unwrap();
            let toml = format!("input.path = 'g.txt'\ncache.dir = 'cache'\ncount.threads = 2\n{way}");
            let counted = catch_unwind(AssertUnwindSafe(|| count(&toml, dir.path())));
            let is_cached = match counted.unwrap_or_else(|_| panic!("{name}: {way}: a panic")) {
                Ok(result) => {
                    let is_cached = result.stages[0].name == "cached";
                    assert!(is_cached || result.triangles == TRIANGLES, "{name}: {way}");
                    is_cached
                }
                Err(error) => {
                    assert_eq!(error.kind(), Kind::Data, "{name}: {way}: {error}");
                    true
                }
            };
            taken += usize::from(is_cached);
            if !is_cached && j >= i % 2 {
                break;
            }
        }
    }
    // Mutations that do not concern the rows are accepted: numbers of the report, an order that is not read.
    assert!(taken > 100, "{taken}");
    std::fs::write(&path, parts.sealed()).unwrap();
    let result = count("input.path = 'g.txt'\ncache.dir = 'cache'", dir.path()).unwrap();
    assert_eq!((result.triangles, result.stages[0].name.as_str()), (TRIANGLES, "cached"));
}

#[test]
fn rows_are_checked_wherever_they_lie() {
    // A ring where each vertex is joined to the next two: nearly every row has the two ranks before it.
    let n = 400_000u64;
    let text: String = (0..n).map(|v| format!("{v} {}\n{v} {}\n", (v + 1) % n, (v + 2) % n)).collect();
    let dir = tempfile::tempdir().unwrap();
    let (path, parts) = cached(&text, dir.path());
    let layout = parts.layout();
    assert!(layout.blocks > 10, "{} blocks", layout.blocks);
    let refused = |parts: Parts, words: &str| {
        std::fs::write(&path, parts.sealed()).unwrap();
        let error = read(&path).unwrap_err();
        assert_eq!(error.kind(), Kind::Data);
        let text = error.to_string();
        assert!(text.contains(words) && text.contains("trimill cache remove"), "{text} instead of {words}");
    };
    for block in 0..layout.blocks {
        let entry = |block: u64| layout.index().start + 32 * block;
        let begin = layout.rows().start + parts.u64_at(entry(block) + 16);
        let (rank, arc) = (parts.u64_at(entry(block)), parts.u64_at(entry(block) + 8));
        let (end, next, arcs) = if block + 1 < layout.blocks {
            let next = entry(block + 1);
            (layout.rows().start + parts.u64_at(next + 16), parts.u64_at(next), parts.u64_at(next + 8) - arc)
        } else {
            (layout.rows().end, n, layout.edges - arc)
        };
        // The last byte is the distance of the last row's last successor from the one before.
        refused(parts.with(end - 1, &[1]), "rows that do not ascend to smaller ranks");
        refused(parts.with(end - 1, &[0x80]), "fewer numbers than its rows have");
        // The last number extends to the end: then there are too few numbers.
        refused(parts.with(end - 2, &[0x81]), "fewer numbers than its rows have");
        // Lengths: one more, or one more and one less, which makes a row of three.
        let length = parts.sections[begin as usize + 5 - PAGE];
        assert_eq!((length, arcs > 2 * (next - rank) - 4), (2, true), "block {block}");
        refused(parts.with(begin + 5, &[3]), "other lengths of rows than the index says");
        refused(parts.with(begin + 5, &[3, 1]), "rows that do not ascend to smaller ranks");
        // A first successor that is the row's own rank, in the middle of the block.
        if rank > 1 << 15 {
            // Its rows have two successors, of three bytes and one.
            let row = begin + (next - rank) + 4 * ((next - rank) / 2);
            let own = rank + (next - rank) / 2;
            let long = [own as u8 | 0x80, (own >> 7) as u8 | 0x80, (own >> 14) as u8];
            if block + 1 < layout.blocks {
                refused(parts.with(row, &long), "rows that do not ascend to smaller ranks");
            }
        }
    }
    std::fs::write(&path, parts.sealed()).unwrap();
    read(&path).unwrap();
}

#[test]
fn a_graph_of_another_version_is_made_again_and_reported() {
    let place = Place::new();
    place.write("g.txt", CLIQUE);
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    let path = place.cached().remove(0);
    let parts = Parts::of(&std::fs::read(&path).unwrap());
    for version in [1, 3, 5] {
        std::fs::write(&path, Parts { version, ..parts.clone() }.sealed()).unwrap();
        let output = place.count("g.txt", &[]);
        assert_eq!(counted(&output), (4, false));
        let said = said(&output);
        assert_eq!(
            said.lines()
                .filter(|line| line.contains(&format!("version {version}")) && line.contains("made again"))
                .count(),
            1,
            "{said}"
        );
        assert_eq!(place.cached(), std::slice::from_ref(&path));
        assert!(read_layout(&path).is_ok());
        assert_eq!(counted(&place.count("g.txt", &[])), (4, true));
    }
}
