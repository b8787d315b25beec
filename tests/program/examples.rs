//! The programs in `examples/`, run unchanged, print known answers.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::job::typed;
use crate::common::place::stderr;

/// Runs an example, which Cargo builds with the tests, beside them.
fn run(name: &str, arguments: &[&str]) -> Output {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    Command::new(&built).args(arguments).output().unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo test` builds it, with --test only after `cargo build --examples`", built.display())
    })
}

fn prints(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn edges_in_memory() {
    // An octahedron has 8 faces and 12 edges.
    assert_eq!(prints("count_edges", &[]), "8 triangles in 12 edges\n");
}

#[test]
fn a_file_within_a_budget() {
    // The figure that SNAP publishes.
    let file = typed("ca-HepTh.txt");
    let said = prints("count_file", &[&file, "64KiB"]);
    assert!(said.starts_with("28339 triangles, counted in ") && !said.contains(" in 1 partitions"), "{said}");

    let refused = run("count_file", &[&file, "1KiB"]);
    let said = stderr(&refused);
    assert!(!refused.status.success() && said.contains("enough would be "), "{said}");

    let dir = tempfile::tempdir().unwrap();
    let wrong = dir.path().join("wrong.txt");
    std::fs::write(&wrong, "0 1\n1 2\n2 zero\n").unwrap();
    let said = stderr(&run("count_file", &[wrong.to_str().unwrap()]));
    assert!(said.contains(&format!("look at line 3 of {}", wrong.display())), "{said}");
}

#[test]
fn the_clustering_of_each_vertex() {
    let said = prints("clustering", &[]);
    // Each of the 10 edges of the rim is in one triangle, with the hub, and each spoke is in two.
    let rim = (0..10).map(|id| format!("vertex {id}: 2 of 3 pairs of neighbours are neighbours\n")).collect::<String>();
    let hub = "vertex 100: 10 of 45 pairs of neighbours are neighbours\n";
    assert_eq!(said, format!("10 triangles\n{rim}{hub}at most 2 triangles on an edge: 10\n"));
}

#[test]
fn trusses() {
    // In a complete graph of k vertices each edge is in k - 2 triangles; the two edges between such graphs are in none.
    let said = prints("trusses", &[]);
    let sizes = "the 2-truss has 12 vertices and 21 edges\nthe 3-truss has 12 vertices and 19 edges\n\
                 the 4-truss has 9 vertices and 16 edges\nthe 5-truss has 5 vertices and 10 edges\n";
    let inner = (20..25).flat_map(|u| (u + 1..25).map(move |v| format!("({u}, {v})"))).collect::<Vec<_>>().join(", ");
    assert_eq!(said, format!("{sizes}the innermost edges: [{inner}]\n"));
}
