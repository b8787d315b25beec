//! The list of tests, and tests of the assignments and of refused graphs.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use tempfile::TempDir;
use trimill_partitioners::RowsById;
use trimill_partitioners::metis::{MetisAssignment, MetisOptions, assign};
use trimill_system::child::Helper;
use trimill_system::parallel::on;
use trimill_system::{Bytes, Control, Error, Kind};

use crate::graphs::{cut, edges_of_ring, oriented, ring_of_cliques, scrambled};
use crate::{CHILD, endings};

type Test = (&'static str, fn());

pub(crate) const ALL: &[Test] = &[
    ("a_ring_of_cliques_is_cut_at_its_joints", a_ring_of_cliques_is_cut_at_its_joints),
    ("contraction_keeps_runs_together", contraction_keeps_runs_together),
    ("runs_without_outer_edges_fill_the_lightest_parts", runs_without_outer_edges_fill_the_lightest_parts),
    ("the_same_seed_gives_the_same_assignment", the_same_seed_gives_the_same_assignment),
    ("arcs_are_balanced", arcs_are_balanced),
    ("every_number_of_parts", every_number_of_parts),
    ("nothing_to_decide_needs_no_child", nothing_to_decide_needs_no_child),
    ("runs_beyond_the_budget_are_refused", runs_beyond_the_budget_are_refused),
    ("a_work_dir_that_is_missing", a_work_dir_that_is_missing),
    ("a_child_killed_by_a_signal_is_an_error", endings::a_child_killed_by_a_signal_is_an_error),
    ("a_child_heeds_signals_that_its_parent_ignores", endings::a_child_heeds_signals_that_its_parent_ignores),
    ("sigterm_at_any_moment_is_an_error", endings::sigterm_at_any_moment_is_an_error),
    ("a_wish_to_stop_kills_the_child", endings::a_wish_to_stop_kills_the_child),
    ("children_that_give_no_assignment", endings::children_that_give_no_assignment),
    ("the_child_dies_with_its_parent", endings::the_child_dies_with_its_parent),
];

pub(crate) static HELPER: LazyLock<Helper> =
    LazyLock::new(|| Helper { program: std::env::current_exe().unwrap(), arguments: vec![CHILD.into()] });
static SILENT: LazyLock<Control> = LazyLock::new(Control::silent);

/// Options for this binary as the helper, in a fresh directory that must be empty at the end.
pub(crate) fn options(parts: u32, dir: &TempDir) -> MetisOptions<'_> {
    MetisOptions {
        parts,
        seed: 1,
        contract: None,
        host_memory: Bytes::mib(1 << 10),
        beside: Bytes::ZERO,
        work_dir: dir.path(),
        helper: &HELPER,
        control: &SILENT,
    }
}

fn contracted(parts: u32, run: u32, dir: &TempDir) -> MetisOptions<'_> {
    MetisOptions { contract: NonZeroU32::new(run), ..options(parts, dir) }
}

pub(crate) fn assert_empty(dir: &TempDir) {
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "something was left behind");
}

#[track_caller]
pub(crate) fn found(graph: &RowsById, options: &MetisOptions<'_>, dir: &TempDir) -> MetisAssignment {
    let assignment = assign(graph, options).unwrap();
    assert_eq!(assignment.parts.len(), graph.vertices() as usize);
    assert!(assignment.parts.iter().all(|&part| part < options.parts));
    assert_eq!(assignment.cut, cut(graph, &assignment.parts));
    assert_empty(dir);
    assignment
}

/// Whether all vertices of each run of `length` have the same part.
fn runs_are_whole(parts: &[u32], length: usize) -> bool {
    parts.chunks(length).all(|run| run.iter().all(|&part| part == run[0]))
}

fn a_ring_of_cliques_is_cut_at_its_joints() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(24, 20));
    for parts in [2, 3, 4, 8, 12] {
        let assignment = found(&graph, &options(parts, &dir), &dir);
        assert!(runs_are_whole(&assignment.parts, 20), "{parts} parts split a clique");
        // The optimum is one joint for each part. METIS is a heuristic, and a part may consist of two pieces.
        let joints = u64::from(parts)..=2 * u64::from(parts);
        assert!(joints.contains(&assignment.cut), "{} joints for {parts} parts", assignment.cut);
        assert!(assignment.child_peak_bytes > 1 << 20);
    }
}

fn contraction_keeps_runs_together() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(24, 20));
    for run in [1, 4, 10, 20, 40] {
        let assignment = found(&graph, &contracted(4, run, &dir), &dir);
        assert!((4..=8).contains(&assignment.cut), "runs of {run}: {} of 24 joints", assignment.cut);
        assert!(runs_are_whole(&assignment.parts, run as usize));
    }
    // A run length that does not divide the cliques: the best cut is worse, but runs stay together.
    let assignment = found(&graph, &contracted(4, 7, &dir), &dir);
    assert!(runs_are_whole(&assignment.parts, 7));
}

/// A ring of 12 cliques, and as many vertices in runs without edges to other runs.
fn runs_without_outer_edges_fill_the_lightest_parts() {
    let dir = TempDir::new().unwrap();
    let mut edges = edges_of_ring(12, 10);
    for alone in (120..240).step_by(10) {
        edges.extend((1..10).map(|v| (alone, alone + v)));
    }
    let graph = oriented(240, &edges);
    let assignment = found(&graph, &contracted(3, 10, &dir), &dir);
    assert!((3..=6).contains(&assignment.cut), "{} of 12 joints", assignment.cut);
    let mut weights = [0; 3];
    (0..).zip(&assignment.parts).for_each(|(id, &part)| weights[part as usize] += graph.row(id).len() + 1);
    // 12 runs of 56 and 12 of 19: 900 in all.
    assert!(weights.iter().all(|weight| (280..=320).contains(weight)), "{weights:?}");
}

fn the_same_seed_gives_the_same_assignment() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(3000, 8));
    let with = |seed, threads| on(threads, || found(&graph, &MetisOptions { seed, ..options(8, &dir) }, &dir).parts);
    let first = with(5, 1);
    assert_eq!(first, with(5, 1));
    assert_eq!(first, with(5, 3));
    assert_ne!(first, with(6, 1));
    assert_ne!(first, with(5 << 40, 1));
}

fn arcs_are_balanced() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(5000, 8));
    let assignment = found(&graph, &options(5, &dir), &dir);
    let mut weights = [0_u64; 5];
    for (id, &part) in (0..).zip(&assignment.parts) {
        weights[part as usize] += graph.row(id).len() as u64 + 1;
    }
    // METIS allows 3% over the ideal.
    let ideal = weights.iter().sum::<u64>() as f64 / 5.0;
    assert!(weights.iter().all(|&weight| weight as f64 <= 1.031 * ideal), "{weights:?}");
}

fn every_number_of_parts() {
    let dir = TempDir::new().unwrap();
    for graph in [ring_of_cliques(4, 3), oriented(9, &[(0, 8)]), oriented(5, &[(0, 1), (0, 2), (0, 3), (0, 4)])] {
        for parts in (1..=graph.vertices() + 1).chain([1000]) {
            found(&graph, &options(parts, &dir), &dir);
            found(&graph, &contracted(parts, 2, &dir), &dir);
        }
    }
    let scrambled = scrambled(400, 3);
    [100, 300, 390].into_iter().for_each(|parts| _ = found(&scrambled, &options(parts, &dir), &dir));
}

fn nothing_to_decide_needs_no_child() {
    let dir = TempDir::new().unwrap();
    let none = dir.path().join("none");
    let helper = Helper::metis(none.clone());
    let no_helper = |parts, run| MetisOptions { helper: &helper, work_dir: &none, ..contracted(parts, run, &dir) };
    let graph = ring_of_cliques(4, 5);
    assert_eq!(found(&graph, &no_helper(1, 1), &dir).parts, [0; 20]);
    assert_eq!(found(&graph, &no_helper(20, 1), &dir).parts, (0..20).collect::<Vec<_>>());
    assert_eq!(found(&graph, &no_helper(9, 5), &dir).parts[..6], [0, 0, 0, 0, 0, 1]);
    assert_eq!(found(&graph, &no_helper(3, u32::MAX), &dir).parts, [0; 20]);
    assert_eq!(found(&oriented(6, &[]), &no_helper(3, 1), &dir).parts, [0, 0, 1, 1, 2, 2]);
    assert!(found(&oriented(0, &[]), &no_helper(3, 1), &dir).parts.is_empty());
    let pairs = oriented(8, &[(0, 1), (2, 3), (4, 5), (6, 7)]);
    assert_eq!(found(&pairs, &no_helper(2, 2), &dir).parts, [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[track_caller]
pub(crate) fn assert_refused(error: Error, kind: Kind, words: &[&str]) {
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "'{word}' is not in: {message}"));
}

fn runs_beyond_the_budget_are_refused() {
    // 24 runs in a ring: 48 arcs, 3600 bytes.
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(24, 20));
    let tight = |bytes| MetisOptions { host_memory: Bytes(bytes), ..contracted(4, 20, &dir) };
    assert_eq!(found(&graph, &tight(3600), &dir).cut, 4);
    let error = assign(&graph, &tight(3599)).unwrap_err();
    assert_refused(error, Kind::Resource, &["3600 bytes", "24 runs of 20 vertices with 48 arcs", "more than 20"]);
    assert_empty(&dir);
}

fn a_work_dir_that_is_missing() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(3, 3));
    let nowhere = dir.path().join("nowhere");
    let nowhere = MetisOptions { work_dir: &nowhere, ..options(2, &dir) };
    assert_refused(assign(&graph, &nowhere).unwrap_err(), Kind::Resource, &["nowhere", "--work-dir"]);
}
