//! Whole jobs on a damaged cached graph: the graph is rebuilt, or the job ends and the next one rebuilds it; a count is never wrong.

use std::path::Path;

use trimill::Kind;
use trimill::testing::graph::file::read_layout;

use super::parts::Parts;
use super::{IN_CACHE, cached_graph, spread};
use crate::common::flip;
use crate::common::job::count;
use crate::common::place::{Place, stderr};

/// Five vertices, two triangles; no vertex has the id 4.
const EDGES: &str = "0 1\n1 2\n2 0\n2 3\n3 0\n5 0\n";

fn is_cached(place: &Place, what: &str) -> bool {
    let result = count(IN_CACHE, &place.path("")).unwrap();
    assert_eq!((result.triangles, result.edges), (2, 6), "{what}");
    result.stages[0].name == "cached"
}

#[test]
fn a_damaged_section_ends_the_job_that_reads_it_and_the_next_one_makes_the_graph_again() {
    let (place, file) = cached_graph(EDGES);
    place.write("parts.txt", "0 0\n1 1\n2 0\n3 1\n5 1\n");
    let layout = read_layout(&file).unwrap();
    assert!(layout.has_ids, "ids with a gap");
    // Settings, and whether they read the order, the ids, and the rows.
    let ways = [
        ("", [false, false, true]),
        ("partition = { partitioner = 'rank', parts = 2 }", [false, false, true]),
        ("partition = { partitioner = 'random', parts = 2 }", [true, false, true]),
        ("partition = { partitioner = 'contiguous', parts = 2, prune = 'zero-indegree' }", [true, false, true]),
        ("partition.partitioner = 'file:parts.txt'", [true, true, true]),
        ("count.method = 'forward'", [false, false, true]),
    ];
    let sections = ["order", "ids", "rows"].map(|name| layout.range(name));
    for (section, range) in sections.iter().cloned().enumerate() {
        for bit in spread(8 * range.start..8 * range.end, 3) {
            for (way, reads) in ways {
                let what = format!("section {section}, bit {bit}, {way}");
                flip(&file, bit);
                match count(&format!("{IN_CACHE}\n{way}"), &place.path("")) {
                    Ok(result) => {
                        assert!(!reads[section], "{what}: nobody noticed");
                        assert_eq!((result.triangles, result.edges), (2, 6), "{what}");
                        assert_eq!(result.stages[0].name, "cached", "{what}");
                        flip(&file, bit);
                    }
                    Err(error) => {
                        assert!(reads[section] && error.kind() == Kind::Data, "{what}: {error}");
                        let text = error.to_string();
                        assert!(text.contains(&file.display().to_string()), "{what}: {text}");
                        assert!(text.contains("it was removed: start again") && !file.exists(), "{what}: {text}");
                        assert!(!is_cached(&place, &what));
                    }
                }
                assert!(is_cached(&place, &format!("after {what}")));
            }
        }
    }
    // The program does the same, also with other commands that read rows.
    let spill = ["--spill-dir", "spills"];
    let parts = ["--partitioner", "random", "--parts", "2"];
    for (command, more) in [("count", &[][..]), ("plan", &[]), ("plan", &parts), ("partition", &spill)] {
        flip(&file, 8 * sections[2].start);
        let words = [&[command, "g.txt", "--backend", "cpu", "--cache-dir", "cache"], more].concat();
        place.refuses(&words, 1, &[file.file_name().unwrap().to_str().unwrap(), "it was removed"]);
        assert!(!file.exists(), "{command}");
        assert!(!is_cached(&place, command));
    }
}

/// Changes a field of the footer of a graph file and corrects the checksums.
fn edit(path: &Path, field: &str, value: u64) {
    let mut parts = Parts::of(path);
    assert!(parts.footer[field].is_number());
    parts.footer[field] = value.into();
    std::fs::write(path, parts.sealed()).unwrap();
}

#[test]
fn ids_beyond_those_that_a_cached_graph_declares_are_no_defect() {
    // Ids without a gap, which are known when the graph is opened, and ids that are stored.
    for (edges, has_ids) in [("1 2\n2 3\n3 1\n3 4\n4 1\n5 1\n", false), (EDGES, true)] {
        let (place, file) = cached_graph(edges);
        let counted = || {
            let settings = format!("{IN_CACHE}\noutput.per_vertex = 'counts.npy'");
            let _ = std::fs::remove_file(place.path("counts.npy"));
            count(&settings, &place.path("")).map(|result| (result.triangles, result.stages[0].name == "cached"))
        };
        let layout = read_layout(&file).unwrap();
        let (first, lines) = (layout.first_id, layout.declared_lines.unwrap());
        assert_eq!((layout.has_ids, first + lines), (has_ids, 6), "the largest id is 5");
        for (field, value) in
            [("declared_lines", 0), ("declared_lines", 1), ("declared_lines", lines - 1), ("first_id", first + 1)]
        {
            edit(&file, field, value);
            match counted() {
                Ok(found) => assert!(!has_ids && found == (2, false), "{field} = {value}: {found:?}"),
                Err(error) => {
                    assert!(has_ids && error.kind() == Kind::Data, "{field} = {value}: {error}");
                    let text = error.to_string();
                    assert!(text.contains("it declares") && text.contains("it was removed: start again"), "{text}");
                    assert!(!place.path("counts.npy").exists());
                }
            }
            assert_eq!(counted().unwrap().0, 2);
            assert!(counted().unwrap().1, "{field} = {value}: it was made again");
            edit(&file, field, value);
            let output =
                place.run(&["count", "g.txt", "--backend", "cpu", "--cache-dir", "cache", "--per-vertex", "more.npy"]);
            assert_eq!(output.status.code(), Some(i32::from(has_ids)), "{}", stderr(&output));
            assert!(stderr(&output).contains("it declares"), "{}", stderr(&output));
            assert_eq!(counted().unwrap().0, 2);
            let _ = std::fs::remove_file(place.path("more.npy"));
        }
    }
}
