//! Files of counts, at vertices or on edges: how they are made, and what holds for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use trimill::{Kind, RunResult};

use crate::common::job::{count, listing};

/// Degree and triangles of each vertex.
pub(crate) type AtVertices<K = u64> = BTreeMap<K, (u32, u64)>;

/// Triangles on edges, with the smaller id first.
pub(crate) type OnEdges<K = u64> = BTreeMap<(K, K), u32>;

/// Degree and triangles of each vertex of a simple graph, and the triangles on each edge, from the common neighbours of the ends of edges.
pub(crate) fn by_all_pairs<K: Ord + Clone>(edges: &BTreeSet<(K, K)>) -> (AtVertices<K>, OnEdges<K>) {
    let mut neighbours = BTreeMap::<&K, BTreeSet<&K>>::new();
    for (u, v) in edges {
        neighbours.entry(u).or_default().insert(v);
        neighbours.entry(v).or_default().insert(u);
    }
    let on = |u: &K, v: &K| neighbours[u].intersection(&neighbours[v]).count() as u32;
    let at = |u: &K| neighbours[u].iter().map(|v| u64::from(on(u, v))).sum::<u64>();
    let vertices = neighbours.iter().map(|(&u, around)| (u.clone(), (around.len() as u32, at(u) / 2)));
    (vertices.collect(), edges.iter().map(|(u, v)| ((u.clone(), v.clone()), on(u, v))).collect())
}

/// The triangles of a simple graph.
pub(crate) fn triangles(edges: &BTreeSet<(u64, u64)>) -> u128 {
    by_all_pairs(edges).1.into_values().map(u128::from).sum::<u128>() / 3
}

/// Counts `input` and returns the contents of the file of this name, which is asked for with `option`.
pub(crate) fn file(option: &str, input: &str, name: &str, dir: &Path) -> Vec<u8> {
    count(&format!("{input}\noutput.{option} = '{name}'"), dir).unwrap();
    std::fs::read(dir.join(name)).unwrap()
}

pub(crate) fn taken(dir: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(dir.join(name)).unwrap();
    std::fs::remove_file(dir.join(name)).unwrap();
    text
}

/// Counts; checks that predictions hold, no work file is left, and the graph is prepared once. `None`: the least budget is too low.
pub(crate) fn counted_by(settings: &str, input_and_output: &str, dir: &Path) -> Option<RunResult> {
    let result = match count(&format!("{input_and_output}\n{settings}\ncache.dir = 'cache'"), dir) {
        Err(error) if settings.contains("1MiB") && error.kind() == Kind::Resource => return None,
        result => result.unwrap(),
    };
    assert!(result.partitions.iter().all(|part| part.counted().peak_bytes <= part.peak_bytes_predicted), "{settings}");
    assert!(listing(&dir.join("work")).is_empty(), "{settings}");
    Some(result)
}

/// The rows of a file of edges, with this count of each.
pub(crate) fn rows_of(text: &str, counts: &str) -> OnEdges {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(&*format!("u\tv\t{counts}")));
    let row = |line: &str| {
        let mut cells = line.splitn(3, '\t').map(|cell| cell.parse::<u64>().unwrap());
        let [u, v, triangles] = [(); 3].map(|()| cells.next().unwrap());
        assert!(u < v, "{line}");
        ((u, v), u32::try_from(triangles).unwrap())
    };
    let rows: Vec<_> = lines.map(row).collect();
    assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "rows ascend by u, then v");
    rows.into_iter().collect()
}

/// Every third id is far away, the last one at the largest id that there is.
pub(crate) fn far(id: u64) -> u64 {
    if id.is_multiple_of(3) { u64::MAX - 1 - (id << 40) } else { id }
}

/// Arcs between ids below `ids`, of which some may be far away.
pub(crate) fn some_arcs(ids: u64, most: usize) -> impl Strategy<Value = Vec<(u64, u64)>> {
    (prop::collection::vec((0..ids, 0..ids), 0..most), any::<bool>()).prop_map(move |(mut arcs, some_are_far)| {
        if some_are_far {
            arcs.iter_mut().for_each(|(u, v)| (*u, *v) = (far(*u), far(*v)));
        }
        arcs
    })
}
