//! Random graphs in formats that are prepared in different ways, under every combination of settings: counts and files
//! against all pairs of neighbours.

use std::path::{Path, PathBuf};

use crate::common::job::{count, listing};
use crate::common::{pairs32, simple};
use crate::figures::{by_all_pairs, far, rows_of};
use crate::vertices;
use proptest::prelude::*;

/// A random graph, with loops, duplicates, both directions, isolated vertices.
fn arcs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    (3u64..70).prop_flat_map(|n| prop::collection::vec((0..n, 0..n), 1..700))
}

/// Writes the arcs in one of the formats; in some of them the file has the symmetric closure.
fn write(arcs: &[(u64, u64)], format: &str, dir: &Path) -> PathBuf {
    let n = arcs.iter().map(|&(u, v)| u.max(v) + 1).max().unwrap_or(0);
    let edges = simple(arcs);
    let (name, bytes): (&str, Vec<u8>) = match format {
        "text" => ("g.txt", arcs.iter().flat_map(|(u, v)| format!("{u}\t{v}\n").into_bytes()).collect()),
        "sparse" => {
            ("g.txt", arcs.iter().flat_map(|&(u, v)| format!("{} {}\n", far(u), far(v)).into_bytes()).collect())
        }
        "matrix-market" => {
            let header = format!("%%MatrixMarket matrix coordinate pattern general\n{n} {n} {}\n", arcs.len());
            let lines = arcs.iter().map(|(u, v)| format!("{} {}\n", u + 1, v + 1));
            ("g.mtx", std::iter::once(header).chain(lines).flat_map(String::into_bytes).collect())
        }
        "metis" => {
            let mut rows = vec![String::new(); n as usize];
            for &(u, v) in &edges {
                rows[u as usize] += &format!("{} ", v + 1);
                rows[v as usize] += &format!("{} ", u + 1);
            }
            ("g.graph", format!("{n} {}\n{}\n", edges.len(), rows.join("\n")).into_bytes())
        }
        _ => ("g.bin", pairs32(arcs)),
    };
    std::fs::write(dir.join(name), bytes).unwrap();
    dir.join(name)
}

fn settings() -> impl Strategy<Value = String> {
    let partitioner = prop::sample::select(vec!["auto", "rank", "random", "contiguous", "contiguous-vertices", "file"]);
    let kind = prop::sample::select(vec![
        "prune = 'none', ", "prune = 'zero-indegree', ", "prune = 'direct', ", "", "", "", "",
    ]);
    let block = prop::sample::select(vec!["", "memory.block = 1100", "memory.block = 2000", "memory.block = '1MiB'"]);
    let host = prop::sample::select(vec!["", "memory.host = '160MiB'", "memory.host = '400MiB'"]);
    let spill = prop::sample::select(vec!["disk", "memory"]);
    let partition = (partitioner, 1u32..10, kind, any::<u32>()).prop_map(|(partitioner, parts, kind, seed)| {
        format!("partition = {{ partitioner = '{partitioner}', parts = {parts}, {kind}seed = {seed} }}")
    });
    (partition, block, host, spill, 1usize..4).prop_map(|(partition, block, host, spill, threads)| {
        format!("{partition}\ncount.threads = {threads}\nspill.to = '{spill}'\n{block}\n{host}\n")
    })
}

/// The total alone is counted in another way than with counts at vertices or on edges.
const FILES: [&str; 6] = ["", "", "", "per_vertex = 'v.tsv'", "per_edge = 'e.tsv'", ALL];
const ALL: &str = "per_vertex = 'v.tsv', per_edge = 'e.tsv', by_degree = 'd.tsv'";

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_setting_gives_the_counts_of_all_pairs_of_neighbours(
        arcs in arcs(),
        format in prop::sample::select(vec!["text", "sparse", "matrix-market", "metis", "bin-u32"]),
        settings in settings(),
        files in prop::sample::select(&FILES[..]),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let file = write(&arcs, format, dir.path());
        let id = |v: u64| match format { "sparse" => far(v), "matrix-market" | "metis" => v + 1, _ => v };
        let edges = simple(&arcs.iter().map(|&(u, v)| (id(u), id(v))).collect::<Vec<_>>());
        let settings = if settings.contains("'file'") {
            let ids: std::collections::BTreeSet<u64> = arcs.iter().flat_map(|&(u, v)| [u, v]).collect();
            let lines: String = ids.iter().map(|&v| format!("{} {}\n", id(v), v % 4)).collect();
            std::fs::write(dir.path().join("parts.txt"), lines).unwrap();
            settings.replace("'file'", "'file:parts.txt'")
        } else {
            settings
        };
        let format_of = match format {
            "bin-u32" => "input.format = 'bin-u32'",
            // The first arc of a short list could be taken for a header.
            "text" | "sparse" => "input.header = 'no'",
            _ => "",
        };
        let input = format!("input.path = '{}'\n{format_of}", file.display());
        let toml = format!("{input}\n{settings}\noutput = {{ {files} }}");
        match count(&toml, dir.path()) {
            Ok(result) => {
                let (at_vertices, on_edges) = by_all_pairs(&edges);
                let sides: u128 = on_edges.values().map(|&triangles| u128::from(triangles)).sum();
                prop_assert_eq!(3 * result.triangles, sides, "{}", toml);
                prop_assert_eq!(result.edges as usize, edges.len());
                let (verified, of_vertices, of_degrees) = vertices::verified(&input, dir.path());
                let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
                if files.contains("v.tsv") {
                    prop_assert_eq!(vertices::rows(&text("v.tsv")), at_vertices, "{}", toml);
                    prop_assert_eq!(text("v.tsv"), of_vertices, "{}", toml);
                }
                if files.contains("e.tsv") {
                    prop_assert_eq!(rows_of(&text("e.tsv"), "triangles"), on_edges, "{}", toml);
                    prop_assert_eq!(text("e.tsv"), text("verified-edges.tsv"), "{}", toml);
                }
                if files.contains("d.tsv") {
                    prop_assert_eq!(text("d.tsv"), of_degrees, "{}", toml);
                    prop_assert_eq!(result.clustering.unwrap().quantiles, verified.clustering.unwrap().quantiles);
                }
            }
            // A job is rightly refused if its row blocks are smaller than the longest row, or too large for the budget.
            Err(error) => {
                let text = error.to_string();
                let small = settings.contains("block = 1100") && text.contains("which hold the longest row");
                let large = settings.contains("block = '1MiB'") && text.contains("two row blocks of 1.0 MiB");
                // With rank ranges nothing is pruned.
                let both = settings.contains("'rank'") && text.contains("the partitioner rank, and");
                prop_assert!(small || large || both, "{}: {}", toml, text);
            }
        }
        prop_assert!(listing(&dir.path().join("work")).is_empty());
    }
}
