//! Cached graphs with valid checksums that trimill did not write: the graph is rebuilt or counted, or the job ends with a data error; no panic.

use std::collections::HashSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::Value;
use trimill::testing::graph::file::open;
use trimill::{Kind, Result};

use super::parts::{PAGE, Parts};
use super::{IN_CACHE, cached_graph};
use crate::common::job::count;
use crate::common::read_all;
use crate::readers::support;

fn read(path: &Path) -> Result<()> {
    read_all(&open(path)?)
}

fn refused(path: &Path, parts: &Parts, words: &str) {
    std::fs::write(path, parts.sealed()).unwrap();
    support::refused(read(path), &[words, "trimill cache remove"]);
}

/// The places in the footer, at any depth, of all values but checksums, as JSON pointers.
fn leaves(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(field, _)| *field != "checksum");
            fields.for_each(|(field, inner)| leaves(inner, format!("{place}/{field}"), found));
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(i, inner)| leaves(inner, format!("{place}/{i}"), found));
        }
        _ => found.push(place),
    }
}

/// A copy of `numbers` with those of `to` from the `i`-th on.
fn changed(numbers: &[u32], i: usize, to: &[u32]) -> Vec<u32> {
    [&numbers[..i], to, &numbers[i + to.len()..]].concat()
}

/// Mutations of every value of every section.
fn mutations(parts: &Parts) -> Vec<(String, Parts)> {
    let layout = parts.layout();
    let (n, mut all) = (layout.vertices, Vec::new());
    let every = |range: Range<u64>, size: usize| range.step_by(size);
    // Sequences: their headers, control bits and data.
    for name in ["order", "ids", "rows"] {
        for at in layout.range(name) {
            let value = parts.sections[at as usize - PAGE];
            for other in [0, 255, value ^ 1, value ^ 16].into_iter().filter(|&other| other != value) {
                all.push((format!("byte at {at} of {name} = {other}"), parts.with(at, &[other])));
            }
        }
    }
    // Rows that are encoded correctly: each number changed, or one number increased and another decreased.
    let [lengths, distances] = parts.block(0);
    let put = |lengths: &[u32], distances: &[u32]| parts.with_rows(0, lengths, distances);
    for (i, &value) in lengths.iter().enumerate() {
        for other in [0, value.wrapping_sub(1), value + 1, n, u32::MAX] {
            all.push((format!("length {i} = {other}"), put(&changed(&lengths, i, &[other]), &distances)));
        }
        if let Some(next) = lengths.get(i + 1).filter(|&&next| next > 0) {
            let moved = put(&changed(&lengths, i, &[value + 1, next - 1]), &distances);
            all.push((format!("one more in row {i} than in the next"), moved));
        }
    }
    for (i, &value) in distances.iter().enumerate() {
        for other in [0, 1, value.wrapping_sub(1), value + 1, n, u32::MAX] {
            all.push((format!("distance {i} = {other}"), put(&lengths, &changed(&distances, i, &[other]))));
        }
    }
    all.push(("one distance more".into(), put(&lengths, &[&distances[..], &[0]].concat())));
    all.push(("one length less".into(), put(&lengths[1..], &distances)));
    for entry in every(layout.range("index"), 32) {
        for (field, at) in ["first rank", "first arc", "position"].iter().zip(every(entry..entry + 24, 8)) {
            let value = parts.u64_at(at);
            for other in [0, 1, value.wrapping_sub(1), value + 1, n.into(), layout.edges, 1 << 40, u64::MAX] {
                all.push((format!("{field} at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
            }
        }
    }
    let degrees = layout.range("degrees");
    for at in every(degrees.clone(), 4) {
        let value = parts.u32_at(at);
        for other in [0, value + 1, n - 1, n, u32::MAX] {
            all.push((format!("degrees at {at} = {other}"), parts.with(at, &other.to_le_bytes())));
        }
        // One number increased and another decreased: the sum stays the same.
        for to in every(degrees.clone(), 4).filter(|&to| to != at && parts.u32_at(to) > 0) {
            let moved = parts.with(at, &(value + 1).to_le_bytes()).with(to, &(parts.u32_at(to) - 1).to_le_bytes());
            all.push((format!("one of {to} of the degrees to {at}"), moved));
        }
    }
    let mut places = Vec::new();
    leaves(&parts.footer, String::new(), &mut places);
    for place in places {
        let others: Vec<Value> = match parts.footer.pointer(&place).unwrap() {
            Value::Number(number) => {
                let number = number.as_u64().unwrap();
                let to = [0, 1, number.wrapping_sub(1), number + 1, 2 * number, u64::from(u32::MAX), 1 << 40, u64::MAX];
                to.into_iter().map(Value::from).chain([Value::Null]).collect()
            }
            Value::Bool(is) => vec![Value::Bool(!is)],
            _ => vec![],
        };
        for other in others {
            let (name, mut changed) = (format!("{place} = {other}"), parts.clone());
            *changed.footer.pointer_mut(&place).unwrap() = other;
            all.push((name, changed));
        }
    }
    all
}

/// Eleven vertices with gaps between their ids, and triangles.
const GRAPH: &str =
    "1 2\n2 3\n3 1\n3 5\n5 8\n8 3\n8 13\n13 21\n21 8\n21 34\n34 55\n55 21\n55 89\n89 144\n144 55\n1 5\n1 8\n2 5\n";

/// By hand: 1-2-3, 3-5-8, 8-13-21, 21-34-55, 55-89-144, then 1-3-5, 1-3-8, 1-5-8, 1-2-5, 2-3-5.
const TRIANGLES: u128 = 10;

#[test]
fn crafted_graphs_are_counted_or_made_again() {
    let (place, path) = cached_graph(GRAPH);
    let parts = Parts::of(&path);
    let lines = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144].map(|id| format!("{id} {}\n", id % 2));
    place.write("parts.txt", lines.concat());
    // Settings, and the sections that they read besides the rows: those in which, as `cached` shows, they notice a flipped bit.
    let ways = [
        ("", ""),
        ("partition = { parts = 3, prune = 'none', partitioner = 'random' }", "order"),
        ("partition = { parts = 3, prune = 'zero-indegree' }", "order"),
        ("partition = { parts = 3, prune = 'direct', partitioner = 'contiguous-vertices' }", "order"),
        ("partition = { parts = 3, partitioner = 'rank' }", ""),
        ("partition.partitioner = 'file:parts.txt'", "order, ids"),
        ("count.method = 'forward'", ""),
        ("count.method = 'compact-forward'", ""),
        ("count.method = 'reverse-edge'\npartition.parts = 1", ""),
    ];
    let mutations = mutations(&parts);
    assert!(mutations.len() > 500, "{}", mutations.len());
    let (mut taken, mut tried) = (0, HashSet::new());
    for (i, (name, crafted)) in mutations.iter().enumerate() {
        let file = crafted.sealed();
        // Some are the same: one less than 1 is 0, too.
        if !tried.insert(file.clone()) {
            continue;
        }
        let section = ["order", "ids"].into_iter().find(|section| name.contains(&format!(" of {section} = ")));
        for (way, _) in ways.into_iter().filter(|(_, read)| section.is_none_or(|section| read.contains(section))) {
            std::fs::write(&path, &file).unwrap();
            let threads = 1 + i % 2;
            let toml = format!("{IN_CACHE}\ncount.threads = {threads}\n{way}");
            let counted = catch_unwind(AssertUnwindSafe(|| count(&toml, &place.path(""))));
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
            // The file is opened before the settings matter, so a graph that is made again with one of them is with all.
            if !is_cached {
                break;
            }
            taken += 1;
        }
    }
    // Mutations that do not concern the rows are accepted: numbers of the report, an order that is not read.
    assert!(taken > 100, "{taken}");
    std::fs::write(&path, parts.sealed()).unwrap();
    let result = count(IN_CACHE, &place.path("")).unwrap();
    assert_eq!((result.triangles, result.stages[0].name.as_str()), (TRIANGLES, "cached"));
}

#[test]
fn rows_are_checked_wherever_they_lie() {
    // A ring where each vertex is joined to the next two: nearly every row has the two ranks before it.
    let n = 200_000u64;
    let text: String = (0..n).map(|v| format!("{v} {}\n{v} {}\n", (v + 1) % n, (v + 2) % n)).collect();
    let (_place, path) = cached_graph(&text);
    let parts = Parts::of(&path);
    let layout = parts.layout();
    assert!(layout.blocks > 6, "{} blocks", layout.blocks);
    let refused = |parts: Parts, words: &str| refused(&path, &parts, words);
    for block in 0..layout.blocks {
        let [lengths, distances] = parts.block(block);
        let put = |lengths: &[u32], distances: &[u32]| parts.with_rows(block, lengths, distances);
        let (last, middle) = (distances.len() - 1, lengths.len() / 2);
        // The last successor of the last row is the rank before it.
        let beyond = changed(&distances, last, &[distances[last] + 1]);
        refused(put(&lengths, &beyond), "rows that do not ascend to smaller ranks");
        refused(put(&lengths, &distances[..last]), "fewer or more numbers than it should have");
        refused(put(&lengths, &[&distances[..], &[0]].concat()), "fewer or more numbers than it should have");
        // Lengths: one is increased, or one is increased and another decreased, which makes a row of three.
        assert_eq!(lengths[middle..middle + 2], [2, 2], "block {block}");
        refused(put(&changed(&lengths, middle, &[3]), &distances), "other lengths of rows than the index says");
        refused(put(&changed(&lengths, middle, &[3, 1]), &distances), "rows that do not ascend to smaller ranks");
        // A first successor that is the row's own rank, in the middle of the block.
        let at = lengths[..middle].iter().sum::<u32>() as usize;
        let rank = parts.u64_at(layout.range("index").start + 32 * block) as u32 + middle as u32;
        refused(put(&lengths, &changed(&distances, at, &[rank])), "rows that do not ascend to smaller ranks");
    }
    std::fs::write(&path, parts.sealed()).unwrap();
    read(&path).unwrap();
}

/// Appends a section of five bytes, which no reader knows.
fn append(parts: &mut Parts, name: &str, needed: bool) {
    parts.sections.resize(parts.sections.len().next_multiple_of(PAGE), 0);
    let at = PAGE + parts.sections.len();
    parts.sections.extend(*b"other");
    let section = serde_json::json!({"name": name, "at": at, "bytes": 5, "checksum": 0, "needed": needed});
    parts.footer["sections"].as_array_mut().unwrap().push(section);
}

#[test]
fn up_to_64_sections_that_are_not_known_are_ignored_unless_they_are_needed() {
    let (_place, path) = cached_graph(GRAPH);
    let parts = Parts::of(&path);
    let mut more = parts.clone();
    append(&mut more, "other", true);
    refused(&path, &more, "'other'");
    more = parts.clone();
    for number in parts.layout().sections.len() + 1..=64 {
        append(&mut more, &format!("other {number}"), false);
        std::fs::write(&path, more.sealed()).unwrap();
        read(&path).unwrap();
    }
    append(&mut more, "other 65", false);
    refused(&path, &more, "has 65 sections, more than 64");
}
