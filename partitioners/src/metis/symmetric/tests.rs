//! The symmetric graph against a simple construction from all pairs.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use trimill_system::child::Helper;
use trimill_system::{Bytes, Kind};

/// With memory for `most` arcs.
fn built(graph: &RowsById, run: u32, most: u64, control: &Control) -> Result<Symmetric> {
    let (contract, host_memory, beside) = (NonZeroU32::new(run), Bytes(most * limits::BYTES_PER_ARC), Bytes::ZERO);
    let (work_dir, helper) = (Path::new("none"), &Helper::metis("none".into()));
    let options = MetisOptions { parts: 4, seed: 1, contract, host_memory, beside, work_dir, helper, control };
    build(graph, run, &options)
}

fn fits(graph: &RowsById, run: u32) -> Symmetric {
    built(graph, run, limits::MOST_ARCS, &Control::silent()).unwrap()
}

#[test]
fn too_many_arcs_are_counted_but_not_kept() {
    let rows: Vec<Vec<u32>> = (0..100).map(|tail| (0..tail).collect()).collect();
    let complete = RowsById::of(&rows);
    let refused = |run, most, words: &str| {
        let message = built(&complete, run, most, &Control::silent()).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    refused(1, 9899, "100 vertices with 9900 arcs");
    assert_eq!(built(&complete, 1, 9900, &Control::silent()).unwrap(), fits(&complete, 1));
    // The rows with each edge once already exceed the limit.
    refused(1, 100, "100 vertices with at least 4950 arcs");
    refused(10, 89, "10 runs of 10 vertices with 90 arcs");
    assert_eq!(fits(&complete, 10).successors.len(), 90);
    assert_eq!(fits(&complete, 10).arc_weights.unwrap(), [100; 90]);
}

#[test]
fn long_rows_are_merged_on_the_way() {
    let mut row = HalfRow::default();
    (0..2_000_000).for_each(|at| row.push(at % 3));
    assert!(row.entries.capacity() < 1 << 20);
    assert_eq!(row.merged(), [666_667, (1 << 32) + 666_667, (2 << 32) + 666_666]);
}

#[test]
fn stops_and_errs() {
    let graph = RowsById::of(&[vec![1], vec![]]);
    let stopped = Control::silent();
    stopped.stop();
    assert_eq!(built(&graph, 1, 10, &stopped).unwrap_err().kind(), Kind::Interrupted);
    let outside = built(&RowsById::of(&[vec![2], vec![]]), 1, 10, &Control::silent());
    assert_eq!(outside.unwrap_err().kind(), Kind::Data);
}

#[test]
fn sums_of_weights_stay_in_range() {
    let limit = 1000;
    let weights = [1, 5, 10_000_000_000, 7_000_000_000, 1];
    let total = weights.iter().sum();
    let made: Vec<i32> = weights.iter().map(|&weight| scaled(weight, 5, total, limit)).collect();
    assert_eq!(made, [1, 1, 586, 410, 1]);
    assert_eq!(scaled(7, 5, 1000, 1000), 7);
    assert_eq!(scaled(u64::MAX / 2, 2, u64::MAX / 2 + 1, i32::MAX as u64), i32::MAX - 1);
}

proptest! {
    #[test]
    fn agrees_with_all_pairs(
        rows in prop::collection::vec(prop::collection::vec(0_u32..60, 0..8), 60),
        run in prop_oneof![Just(1_u32), 1_u32..70],
        threads in 1_usize..4,
    ) {
        let graph = RowsById::of(&rows);
        let mut pairs: BTreeMap<(u32, u32), i32> = BTreeMap::new();
        let mut weights = vec![0; 60_usize.div_ceil(run as usize)];
        for (tail, successors) in (0..).zip(&rows) {
            weights[(tail / run) as usize] += successors.len() as i32 + 1;
            for &successor in successors.iter().filter(|&&successor| successor / run != tail / run) {
                *pairs.entry((tail / run, successor / run)).or_default() += 1;
                *pairs.entry((successor / run, tail / run)).or_default() += 1;
            }
        }
        let made = parallel::on(threads, || fits(&graph, run));
        let arcs = (0_u32..).zip(made.offsets.windows(2));
        let arcs: Vec<_> = arcs.flat_map(|(tail, ends)| (ends[0]..ends[1]).map(move |at| (tail, at as usize))).collect();
        let successors: Vec<_> = arcs.iter().map(|&(tail, at)| (tail, made.successors[at] as u32)).collect();
        prop_assert_eq!(&successors, &pairs.keys().copied().collect::<Vec<_>>());
        prop_assert_eq!(made.arc_weights.is_some(), run > 1);
        if let Some(counts) = made.arc_weights {
            prop_assert_eq!(counts, pairs.values().copied().collect::<Vec<_>>());
        }
        prop_assert_eq!(made.vertex_weights, weights);
    }
}
