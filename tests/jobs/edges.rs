//! The triangles on each edge: against the verifier; those of random graphs, also at vertices, against all pairs.

use std::path::Path;

use super::figures::{OnEdges, by_all_pairs, counted_by, list, some_arcs};
use super::vertices;
use crate::common::job::count;
use crate::common::published::Published;
use crate::common::simple;
use proptest::prelude::*;

pub(super) fn rows(text: &str) -> OnEdges {
    rows_of(text, "triangles")
}

/// The rows of a file of edges, with this count of each.
pub(super) fn rows_of(text: &str, counts: &str) -> OnEdges {
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

/// The triangles on the edges of a real graph must be those that the verifier wrote to `verified-edges.tsv`.
pub(super) fn are_those_of_the_verifier(graph: &Published, settings: &[&str], input: &str, dir: &Path) {
    let text = std::fs::read_to_string(dir.join("verified-edges.tsv")).unwrap();
    let (name, on_edges) = (&graph.name, rows(&text));
    let sum: u128 = on_edges.values().map(|&triangles| u128::from(triangles)).sum();
    assert_eq!((sum, on_edges.len() as u64), (3 * graph.triangles, graph.edges), "{name}");
    for settings in settings {
        let asked = format!("{input}\noutput.per_edge = 'e.tsv'");
        let Some(result) = counted_by(settings, &asked, dir) else { continue };
        assert_eq!(result.triangles, graph.triangles, "{name} {settings}");
        assert!(result.clustering.is_none(), "{name} {settings}: nothing was asked of vertices");
        assert!(std::fs::read_to_string(dir.join("e.tsv")).unwrap() == text, "{name} {settings}");
    }
}

const FILES: [&str; 3] =
    ["per_vertex = 'v.tsv'", "per_edge = 'e.tsv'", "per_vertex = 'v.tsv', per_edge = 'e.tsv', by_degree = 'd.tsv'"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_graphs_have_the_counts_of_all_pairs_of_neighbours(
        arcs in some_arcs(70, 700),
        partitioner in prop::sample::select(&["auto", "rank", "random", "contiguous", "contiguous-vertices"][..]),
        prune in prop::sample::select(&["none", "zero-indegree", "direct"][..]),
        parts in 1u32..9,
        block in 1u64..5,
        files in prop::sample::select(&FILES[..]),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let input = list(&arcs, dir.path());
        let prune = if ["auto", "rank"].contains(&partitioner) { String::new() } else { format!(", prune = '{prune}'") };
        let settings = format!(
            "{input}\npartition = {{ partitioner = '{partitioner}', parts = {parts}{prune} }}\nmemory.block = '{block}KiB'\noutput = {{ {files} }}"
        );
        let found = count(&settings, dir.path()).unwrap();
        let (at_vertices, on_edges) = by_all_pairs(&simple(&arcs));
        let (verified, of_vertices, of_degrees) = vertices::verified(input, dir.path());
        let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        if files.contains("v.tsv") {
            prop_assert_eq!(vertices::rows(&text("v.tsv")), at_vertices);
            prop_assert_eq!(text("v.tsv"), of_vertices);
        }
        if files.contains("e.tsv") {
            prop_assert_eq!(rows(&text("e.tsv")), on_edges);
            prop_assert_eq!(text("e.tsv"), text("verified-edges.tsv"));
        }
        if files.contains("d.tsv") {
            prop_assert_eq!(text("d.tsv"), of_degrees);
            prop_assert_eq!(found.clustering.unwrap().quantiles, verified.clustering.unwrap().quantiles);
        }
    }
}
