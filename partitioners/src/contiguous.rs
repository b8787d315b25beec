//! Contiguous assignments: each part is an interval of ids, which keeps the input's locality. Input: the numbers of vertices and parts, maybe
//! weights. Output: the part of each vertex, non-decreasing over ids. Cost: one pass for equal numbers, two for equal weights; 4 bytes per vertex.

use std::ops::Range;

use rayon::prelude::*;
use trimill_system::starts_of;

const RUN: u32 = 1 << 16;

/// Chunks of equal numbers of vertices, as in LSTC; two chunks differ by at most one vertex. Panics when `parts` is 0.
#[must_use]
pub fn contiguous_vertices(vertices: u32, parts: u32) -> Vec<u32> {
    assert!(parts > 0, "an assignment needs at least one part");
    let part_of = |id: u32| (u64::from(id) * u64::from(parts) / u64::from(vertices)) as u32;
    (0..vertices).into_par_iter().map(part_of).collect()
}

/// Chunks of equal weight (in trimill's partitioner `contiguous` the number of arcs). The sequence of weights is cut into `parts` equal pieces;
/// a vertex belongs to the part that has the middle of its weight. So a cut is off by at most half the weight of the vertex at it, and a part's
/// weight by at most the heaviest vertex. If all weights are 0, chunks have equal numbers of vertices. Panics when `parts` is 0.
#[must_use]
pub fn contiguous_by_weight(vertices: u32, parts: u32, weight: impl Fn(u32) -> u64 + Sync) -> Vec<u32> {
    assert!(parts > 0, "an assignment needs at least one part");
    let total: u128 = (0..vertices).into_par_iter().map(|id| u128::from(weight(id))).sum();
    if total == 0 {
        return contiguous_vertices(vertices, parts);
    }
    // Part k ends where `middle * parts / total` reaches k + 1. `middle` is doubled to stay whole.
    let end_of = |part: u32| (2 * total * (u128::from(part) + 1)).div_ceil(u128::from(parts));
    // A heavy vertex can span many parts, so the next part is computed, not searched for.
    let part_at = |middle: u128| (middle * u128::from(parts) / (2 * total)).min(u128::from(parts - 1)) as u32;
    let ids = |run| ids_of(run, RUN, vertices);
    let weigh = |run| ids(run).map(|id| u128::from(weight(id))).sum();
    let weights: Vec<u128> = (0..vertices.div_ceil(RUN)).into_par_iter().map(weigh).collect();
    let starts = starts_of(weights);
    let mut parts_of = vec![0; vertices as usize];
    parts_of.par_chunks_mut(RUN as usize).zip(starts).enumerate().for_each(|(run, (parts_of, mut before))| {
        let (mut part, mut end) = (0, 0);
        for (id, its) in ids(run as u32).zip(parts_of) {
            let own = u128::from(weight(id));
            let middle = 2 * before + own;
            before += own;
            if middle >= end {
                part = part_at(middle);
                end = if part == parts - 1 { u128::MAX } else { end_of(part) };
            }
            *its = part;
        }
    });
    parts_of
}

pub(crate) fn ids_of(run: u32, length: u32, vertices: u32) -> Range<u32> {
    let first = run * length;
    first..first.saturating_add(length).min(vertices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_numbers_and_equal_weights_by_hand() {
        assert_eq!(contiguous_vertices(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(contiguous_vertices(6, 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(contiguous_vertices(4, 1), [0; 4]);
        assert_eq!(contiguous_vertices(2, 4), [0, 2]);
        assert!(contiguous_vertices(0, 4).is_empty());
        let weights = [1, 1, 1, 1, 4, 8];
        let assignment = contiguous_by_weight(6, 2, |id| weights[id as usize]);
        assert_eq!(assignment, [0, 0, 0, 0, 0, 1]);
        assert_eq!(contiguous_by_weight(3, 4, |id| [0, 9, 0][id as usize]), [0, 2, 3]);
        assert_eq!(contiguous_by_weight(4, 2, |_| 0), [0, 0, 1, 1]);
        assert!(contiguous_by_weight(0, 4, |_| 1).is_empty());
    }

    #[test]
    fn many_vertices_are_in_the_part_of_their_middle() {
        let weight = |id: u32| u64::from(id % 7) * if id.is_multiple_of(70_001) { 1 << 20 } else { 3 };
        let vertices = 3 * RUN + 17;
        let total: u64 = (0..vertices).map(weight).sum();
        for parts in [1, 2, 5, 1000] {
            let mut before = 0;
            let expected: Vec<u32> = (0..vertices)
                .map(|id| {
                    let middle = 2 * before + weight(id);
                    before += weight(id);
                    (u128::from(middle) * u128::from(parts) / u128::from(2 * total)).min(u128::from(parts - 1)) as u32
                })
                .collect();
            assert!(contiguous_by_weight(vertices, parts, weight) == expected, "{parts} parts");
        }
    }

    #[test]
    fn the_last_run_of_the_most_vertices_has_them() {
        assert_eq!(ids_of(65_535, RUN, u32::MAX - 1), 0xffff_0000..u32::MAX - 1);
    }

    proptest! {
        #[test]
        fn vertices_are_balanced(vertices in 0_u32..500, parts in 1_u32..60) {
            let assignment = contiguous_vertices(vertices, parts);
            prop_assert!(assignment.is_sorted());
            let mut sizes = vec![0; parts as usize];
            assignment.iter().for_each(|&part| sizes[part as usize] += 1);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }

        #[test]
        fn weights_are_balanced(
            weights in prop::collection::vec(prop_oneof![0_u64..10, 0_u64..2000, Just(u64::MAX / 3)], 1..200),
            parts in 1_u32..40,
        ) {
            let assignment = contiguous_by_weight(weights.len() as u32, parts, |id| weights[id as usize]);
            prop_assert_eq!(assignment.len(), weights.len());
            prop_assert!(assignment.is_sorted());
            let mut sums = vec![0_u128; parts as usize];
            assignment.iter().zip(&weights).for_each(|(&part, &own)| sums[part as usize] += u128::from(own));
            let (total, heaviest) = (sums.iter().sum::<u128>(), u128::from(*weights.iter().max().unwrap()));
            for sum in sums {
                prop_assert!((sum * u128::from(parts)).abs_diff(total) <= heaviest * u128::from(parts));
            }
        }
    }
}
