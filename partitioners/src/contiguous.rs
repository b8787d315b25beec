//! Contiguous assignments: every part is an interval of ids, so the locality of the input's order is kept.
//!
//! Enters: the number of vertices and of parts, and a weight for each vertex or none. Leaves: the part of each vertex,
//! non-decreasing over the ids. Costs one pass for equal numbers, two for equal weights, and 4 bytes a vertex.

use rayon::prelude::*;

/// Chunks of equal numbers of vertices, as in LSTC; two chunks differ by at most one vertex.
///
/// # Panics
/// When `parts` is 0.
#[must_use]
pub fn contiguous_vertices(vertices: u32, parts: u32) -> Vec<u32> {
    assert!(parts > 0, "an assignment needs at least one part");
    let part_of = |id: u32| (u64::from(id) * u64::from(parts) / u64::from(vertices)) as u32;
    (0..vertices).into_par_iter().map(part_of).collect()
}

/// Chunks of equal weight. With the arcs of each vertex as its weight this is the default of trimill.
///
/// A vertex belongs to the part in which the middle of its weight falls, when the weights are laid end to end and cut
/// into `parts` equal pieces. So each cut misses its ideal place by at most half the weight of the vertex there, and a
/// part its ideal weight by at most that of the heaviest vertex. Where nothing weighs anything, vertices are counted.
///
/// # Panics
/// When `parts` is 0.
#[must_use]
pub fn contiguous_by_weight(vertices: u32, parts: u32, weight: impl Fn(u32) -> u64 + Sync) -> Vec<u32> {
    assert!(parts > 0, "an assignment needs at least one part");
    let total: u128 = (0..vertices).into_par_iter().map(|id| u128::from(weight(id))).sum();
    if total == 0 {
        return contiguous_vertices(vertices, parts);
    }
    // Part k ends where `middle * parts / total` reaches k + 1. `middle` is doubled to stay whole.
    let end_of = |part: u32| (2 * total * (u128::from(part) + 1)).div_ceil(u128::from(parts));
    let (mut part, mut end, mut before) = (0, end_of(0), 0_u128);
    (0..vertices)
        .map(|id| {
            let own = u128::from(weight(id));
            let middle = 2 * before + own;
            before += own;
            if middle >= end {
                // A heavy vertex can span many parts, so the next one is computed rather than searched for.
                part = (middle * u128::from(parts) / (2 * total)).min(u128::from(parts - 1)) as u32;
                end = if part == parts - 1 { u128::MAX } else { end_of(part) };
            }
            part
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_numbers() {
        assert_eq!(contiguous_vertices(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(contiguous_vertices(6, 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(contiguous_vertices(4, 1), [0; 4]);
        assert_eq!(contiguous_vertices(2, 4), [0, 2]);
        assert!(contiguous_vertices(0, 4).is_empty());
    }

    #[test]
    fn equal_weights_by_hand() {
        let weights = [1, 1, 1, 1, 4, 8];
        let assignment = contiguous_by_weight(6, 2, |id| weights[id as usize]);
        assert_eq!(assignment, [0, 0, 0, 0, 0, 1]);
        assert_eq!(contiguous_by_weight(3, 4, |id| [0, 9, 0][id as usize]), [0, 2, 3]);
        assert_eq!(contiguous_by_weight(4, 2, |_| 0), [0, 0, 1, 1]);
        assert!(contiguous_by_weight(0, 4, |_| 1).is_empty());
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
                // |sum - total / parts| <= heaviest, in whole numbers
                prop_assert!((sum * u128::from(parts)).abs_diff(total) <= heaviest * u128::from(parts));
            }
        }
    }
}
