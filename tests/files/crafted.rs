//! Cached graphs that no trimill wrote, with right checksums: the graph is made again or counted, and nobody panics.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;
use trimill::error::Kind;
use trimill::graph::file::{Layout, Place as FilePlace, open, read_layout};
use xxhash_rust::xxh3::xxh3_64;

use crate::common::job::count;
use crate::place::{CLIQUE, Place, counted, graphs, said};

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

    /// The file, with checksums that are right.
    fn sealed(&self) -> Vec<u8> {
        let mut footer = self.footer.clone();
        footer["checksums"] = self.sections.chunks(16 << 20).map(xxh3_64).collect();
        let footer = serde_json::to_vec(&footer).unwrap();
        let mut file = b"TRIMGRAF".to_vec();
        file.extend(self.version.to_le_bytes());
        file.extend((footer.len() as u32).to_le_bytes());
        file.extend(((PAGE + self.sections.len()) as u64).to_le_bytes());
        file.extend(xxh3_64(&footer).to_le_bytes());
        file.extend(xxh3_64(&file).to_le_bytes());
        file.resize(PAGE, 0);
        [file, self.sections.clone(), footer].concat()
    }

    fn layout(&self) -> Layout {
        serde_json::from_value(self.footer.clone()).unwrap()
    }

    /// With other bytes at `at` of the file.
    fn with(&self, at: usize, bytes: &[u8]) -> Self {
        let mut parts = self.clone();
        parts.sections[at - PAGE..][..bytes.len()].copy_from_slice(bytes);
        parts
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.sections[at - PAGE..][..4].try_into().unwrap())
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.sections[at - PAGE..][..8].try_into().unwrap())
    }
}

/// Every number of the footer set to others, wherever it stands.
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
    let every = |range: Range<usize>, size: usize| range.step_by(size);
    for at in every(layout.offsets(), 8) {
        let value = parts.u64_at(at);
        for other in [0, value.wrapping_sub(1), value + 1, layout.edges, 1 << 40, u64::MAX] {
            all.push((format!("offset at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
        }
    }
    for at in every(layout.heads(), 4) {
        let value = parts.u32_at(at);
        for other in [0, value.wrapping_sub(1), value + 1, n - 1, n, 1 << 31, u32::MAX] {
            all.push((format!("head at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
        }
    }
    let degrees = layout.degrees();
    for at in every(degrees.clone(), 4) {
        let value = parts.u32_at(at);
        for other in [0, n - 1, n, u32::MAX] {
            all.push((format!("degree at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
        }
        // One more here and one less there: the sum stays.
        for to in every(degrees.clone(), 4).filter(|&to| to != at && parts.u32_at(to) > 0) {
            let moved = parts.with(at, &(value + 1).to_le_bytes()).with(to, &(parts.u32_at(to) - 1).to_le_bytes());
            all.push((format!("a degree of {to} to {at}"), moved));
        }
    }
    for at in layout.ids().into_iter().flat_map(|ids| every(ids, 8)) {
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

/// The graph of a text as the cache holds it.
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
    let ways = [
        "",
        "partition = { parts = 3, prune = 'none', frames = 'own', partitioner = 'random' }",
        "partition = { parts = 3, prune = 'zero-indegree', frames = 'own' }",
        "partition = { parts = 3, prune = 'direct', frames = 'own', partitioner = 'contiguous-vertices' }",
        "partition = { parts = 3, frames = 'shared' }",
        "count.method = 'forward'",
        "count.method = 'compact-forward'",
        "count.method = 'reverse-edge'\npartition.parts = 1",
    ];
    let mutations = mutations(&parts);
    assert!(mutations.len() > 500, "{}", mutations.len());
    let mut taken = 0;
    for (i, (name, crafted)) in mutations.iter().enumerate() {
        let file = crafted.sealed();
        // One way in turn, and all of them for what is taken as it is.
        for (j, way) in ways.iter().enumerate() {
            std::fs::write(&path, &file).unwrap();
            let toml = format!("input.path = 'g.txt'\ncache.dir = 'cache'\ncount.threads = 2\n{way}");
            let counted = catch_unwind(AssertUnwindSafe(|| count(&toml, dir.path())));
            let is_cached = match counted.unwrap_or_else(|_| panic!("{name}: {way}: a panic")) {
                Ok(result) => {
                    let is_cached = result.stations[0].name == "cached";
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
    // What says nothing wrong of the rows is taken: numbers of the report, single degrees.
    assert!(taken > 100, "{taken}");
    std::fs::write(&path, parts.sealed()).unwrap();
    let result = count("input.path = 'g.txt'\ncache.dir = 'cache'", dir.path()).unwrap();
    assert_eq!((result.triangles, result.stations[0].name.as_str()), (TRIANGLES, "cached"));
}

#[test]
fn rows_are_checked_wherever_they_lie() {
    // Heads over several windows of a mebibyte, rows across their borders.
    let n = 400_000u64;
    let text: String = (0..n).map(|v| format!("{v} {}\n{v} {}\n", (v + 1) % n, (v + 2) % n)).collect();
    let dir = tempfile::tempdir().unwrap();
    let (path, parts) = cached(&text, dir.path());
    let (heads, mut refused) = (parts.layout().heads(), 0);
    assert!(heads.len() > 3 << 20);
    let borders = (1..16).map(|i| PAGE + i * (1 << 20)).filter(|at| heads.contains(at));
    let places = borders.flat_map(|at| [at - 8, at - 4, at, at + 4]).chain([
        heads.start,
        heads.end - 4,
        heads.start + 1_000_000,
    ]);
    for at in places {
        for other in [u32::MAX, n as u32] {
            std::fs::write(&path, parts.with(at, &other.to_le_bytes()).sealed()).unwrap();
            let error = open(FilePlace::Cached(path.clone())).map(drop).unwrap_err();
            assert_eq!(error.kind(), Kind::Data);
            assert!(error.to_string().contains("its rows do not ascend"), "{error}");
            refused += 1;
        }
        // Two heads of a row that are the same, or in the wrong order, whichever window each is in.
        let (before, this) = (parts.u32_at((at - 4).max(heads.start)), parts.u32_at(at));
        if before < this {
            std::fs::write(&path, parts.with(at, &before.to_le_bytes()).sealed()).unwrap();
            refused += usize::from(open(FilePlace::Cached(path.clone())).is_err());
        }
    }
    assert!(refused > 20, "{refused}");
    std::fs::write(&path, parts.sealed()).unwrap();
    open(FilePlace::Cached(path)).unwrap();
}

#[test]
fn a_graph_of_an_earlier_version_is_made_again_and_told_of() {
    let place = Place::new();
    place.write("g.txt", CLIQUE);
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    let path = place.cached().remove(0);
    let parts = Parts { version: 1, ..Parts::of(&std::fs::read(&path).unwrap()) };
    // Under the name of today, and under one of then, when names depended on more.
    for name in [path.clone(), path.with_file_name("0123456789abcdef.trimgraf")] {
        std::fs::remove_file(place.cached().remove(0)).unwrap();
        std::fs::write(&name, parts.sealed()).unwrap();
        let output = place.count("g.txt", &[]);
        assert_eq!(counted(&output), (4, false));
        let said = said(&output);
        assert_eq!(
            said.lines().filter(|line| line.contains("version 1") && line.contains("made again")).count(),
            1,
            "{said}"
        );
        assert_eq!(place.cached(), std::slice::from_ref(&path));
        assert!(read_layout(&path).is_ok());
        assert_eq!(counted(&place.count("g.txt", &[])), (4, true));
    }
}
