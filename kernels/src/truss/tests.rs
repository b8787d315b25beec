//! Peeling on the test double against repeated removal.

use std::collections::{BTreeMap, BTreeSet};

use trimill_counting::{FALLEN, GraphToPeel, Peeling as _};

use super::*;
use crate::arena::ALIGNMENT;
use crate::testing::partitions::{random, trussness};
use crate::testing::{Double, Pace, has_compiler};
use trimill_system::Kind;

type Edge = (u32, u32);

fn triangles(edges: &BTreeSet<Edge>, (u, v): Edge) -> u32 {
    let has = |a: u32, b: u32| edges.contains(&(a.max(b), a.min(b)));
    (0..=edges.last().unwrap().0).filter(|&w| has(u, w) && has(v, w)).count() as u32
}

/// Peels on the test double, gathering edges up to `more` above the least value, with this share of the memory that suffices for the whole graph.
fn peeled(edges: &[Edge], more: u32, share: f64, pace: Pace) -> Vec<u32> {
    let vertices = edges.iter().map(|edge| edge.0 + 1).max().unwrap_or(0);
    let set: BTreeSet<Edge> = edges.iter().copied().collect();
    let values: Vec<u32> = edges.iter().map(|&edge| triangles(&set, edge)).collect();
    let heads: Vec<u32> = edges.iter().map(|edge| edge.1).collect();
    let firsts: Vec<u64> = (0..=vertices).map(|vertex| edges.partition_point(|edge| edge.0 < vertex) as u64).collect();
    let (vertices, many) = (u64::from(vertices), edges.len() as u64);
    let least = (0..).step_by(256).find(|&bytes| PeelingPieces::of(vertices, many, bytes).is_some()).unwrap();
    let most = PeelingPieces::on_device(vertices, many);
    let bytes = least + ((most - least) as f64 * share) as u64;
    let mut double = Double::new(bytes / ALIGNMENT * ALIGNMENT, pace).unwrap();
    let graph = GraphToPeel { firsts: &firsts, heads: &heads, values: &values };
    let mut device = PeelingDevice::new(&mut double, graph, &Control::silent()).unwrap();
    assert!(device.far.is_empty() == (share == 1.0) || share == 0.9);
    let mut left = edges.len() as u64;
    while let Some(least) = device.least().unwrap() {
        device.gather(least + more).unwrap();
        while let Some(level) = device.least_gathered().unwrap() {
            let mut falling = device.begin(level).unwrap();
            while falling > 0 {
                left -= falling;
                falling = device.round(level).unwrap();
            }
        }
    }
    assert_eq!(left, 0);
    device.values().unwrap().iter().map(|value| value ^ FALLEN).collect()
}

fn check(edges: &[Edge], more: u32, pace: Pace) {
    // An edge of trussness k falls at level k - 2.
    let expected: BTreeMap<Edge, u32> = trussness(edges).into_iter().map(|(edge, k)| (edge, k - 2)).collect();
    for share in [0.0, 0.15, 0.3, 0.5, 0.9, 1.0] {
        let found: BTreeMap<Edge, u32> = edges.iter().copied().zip(peeled(edges, more, share, pace)).collect();
        assert_eq!(found, expected, "{more} {share} {pace:?}");
    }
}

#[test]
fn the_fields_are_those_of_the_source() {
    let code = TRUSS.code();
    assert_eq!(crate::testing::fields(&code, "PeeledGraph"), crate::testing::fields_of(&PeeledGraph::default()));
}

#[test]
fn levels_are_those_of_repeated_removal() {
    let Some(()) = has_compiler() else { return };
    let sizes = [(12, 8, 0), (30, 14, 1), (40, 20, 3), (60, 16, 0), (25, 20, 9)];
    for (pace, (vertices, longest, more)) in Pace::all(3).into_iter().zip(sizes) {
        let rows = random(7, vertices, longest, 1, 1.0).rows;
        let edges = (0..).zip(&rows).flat_map(|(u, row)| row.iter().map(move |&v| (u, v)));
        check(&edges.collect::<Vec<Edge>>(), more, pace);
    }
}

#[test]
fn long_rows_and_cliques() {
    let Some(()) = has_compiler() else { return };
    // Vertices 0 and 1 are neighbours of all others, which are in cliques of five; a clique of its own beside them.
    let mut edges: Vec<Edge> = vec![(1, 0)];
    for u in 2..700 {
        edges.extend([(u, 0), (u, 1)].into_iter().chain((2..u).filter(|v| u / 5 == v / 5).map(|v| (u, v))));
    }
    edges.extend((700..709).flat_map(|u| (700..u).map(move |v| (u, v))));
    let found = [0.1, 0.6, 1.0].map(|share| peeled(&edges, 2, share, Pace::Random(5)));
    for (&(u, v), level) in found.iter().flat_map(|found| edges.iter().zip(found)) {
        let expected = if v >= 700 {
            7
        } else if (u, v) != (1, 0) && u < 5 {
            3
        } else {
            5
        };
        assert_eq!(*level, expected, "{u} {v}");
    }
}

#[test]
fn a_round_that_fetches_rows_ends_when_the_job_is_stopped() {
    let Some(()) = has_compiler() else { return };
    // A complete graph of 40 vertices, in the least memory that has a cache of rows.
    let heads: Vec<u32> = (0..40).flat_map(|u| 0..u).collect();
    let firsts: Vec<u64> = (0..=40).map(|u: u64| u * u.saturating_sub(1) / 2).collect();
    let fetches = |bytes: &u64| PeelingPieces::of(40, 780, *bytes).is_some_and(|pieces| pieces.fetched > 0);
    let bytes = (0..).step_by(ALIGNMENT as usize).find(fetches).unwrap();
    let (mut double, control) = (Double::new(bytes, Pace::Late).unwrap(), Control::silent());
    let graph = GraphToPeel { firsts: &firsts, heads: &heads, values: &[38; 780] };
    let mut device = PeelingDevice::new(&mut double, graph, &control).unwrap();
    device.gather(38).unwrap();
    assert_eq!(device.begin(38).unwrap(), 780);
    control.stop();
    assert_eq!(device.round(38).unwrap_err().kind(), Kind::Interrupted);
}
