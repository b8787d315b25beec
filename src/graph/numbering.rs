//! Numbers: positions in falling degree order.
//!
//! The vertex of largest degree has number 0; among equal degrees the larger id comes first. So every arc of the
//! oriented graph (lower degree to higher, ties from the smaller id to the larger, as in LSTC, section 4.1.1) goes from
//! the larger number to the smaller one. A counting sort over runs of ids in parallel, and a sort of the few vertices whose
//! degrees are not small: `O(n)` time, 16 KiB a thread and 8 bytes for each of the few on top of the two results of 4 bytes
//! a vertex.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::mapped::zeros;

/// Degrees below this are counted; few vertices have larger ones.
const SMALL: usize = 1 << 12;

/// Ids of a run, at least.
const SMALLEST_RUN: usize = 1 << 14;

/// The numbers of `n` vertices and the way back.
#[derive(Debug, Clone, Default)]
pub struct Numbering {
    /// `number_of[id]`.
    pub number_of: Vec<u32>,
    /// `id_of[number]`.
    pub id_of: Vec<u32>,
}

impl Numbering {
    /// Numbers vertices by their degrees.
    pub fn by_degree(degrees: &[u32]) -> Self {
        Self::of(numbers(degrees))
    }

    /// The way there and back, from the numbers of all ids.
    pub fn of(number_of: Vec<u32>) -> Self {
        let mut id_of = Vec::new();
        id_of.resize_with(number_of.len(), AtomicU32::default);
        number_of
            .par_iter()
            .enumerate()
            .for_each(|(id, &number)| id_of[number as usize].store(id as u32, Ordering::Relaxed));
        let id_of = id_of.into_iter().map(AtomicU32::into_inner).collect();
        Self { number_of, id_of }
    }
}

/// The number of each vertex. Vertices of degree 0 come last.
pub fn numbers(degrees: &[u32]) -> Vec<u32> {
    let run = degrees.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_RUN);
    // For each run of ids how many there are of each small degree, and the vertices of the others.
    let (mut counts, large): (Vec<_>, Vec<_>) = degrees
        .par_chunks(run)
        .enumerate()
        .map(|(i, degrees)| {
            let (mut counts, mut large) = (vec![0; SMALL], Vec::new());
            for (id, &degree) in (i * run..).zip(degrees) {
                match counts.get_mut(degree as usize) {
                    Some(count) => *count += 1,
                    None => large.push((degree, id as u32)),
                }
            }
            (counts, large)
        })
        .unzip();
    let mut large = large.concat();
    large.par_sort_unstable_by(|a, b| b.cmp(a));
    // Where the numbers of each degree end in each run: ids are met in ascending order, and the larger id has the smaller
    // number.
    let mut end = large.len() as u32;
    for degree in (0..SMALL).rev() {
        for counts in counts.iter_mut().rev() {
            end += counts[degree];
            counts[degree] = end;
        }
    }
    let mut numbers = zeros(degrees.len());
    numbers.par_chunks_mut(run).zip(degrees.par_chunks(run)).zip(counts).for_each(|((numbers, degrees), mut next)| {
        for (number, &degree) in numbers.iter_mut().zip(degrees) {
            if let Some(next) = next.get_mut(degree as usize) {
                *next -= 1;
                *number = *next;
            }
        }
    });
    for (&(_, id), number) in large.iter().zip(0..) {
        numbers[id as usize] = number;
    }
    numbers
}

/// The degrees of all vertices of degree 1 and more in rank order, as runs: a degree, and how many vertices have it. `O(n)` time,
/// 16 KiB a thread and 4 bytes for each vertex whose degree is not small.
pub fn degree_runs(degrees: &[u32]) -> Vec<(u32, u32)> {
    let (mut counts, mut large) = degrees
        .par_chunks(SMALLEST_RUN)
        .fold(
            || (vec![0u32; SMALL], Vec::new()),
            |(mut counts, mut large), degrees| {
                for &degree in degrees {
                    match counts.get_mut(degree as usize) {
                        Some(count) => *count += 1,
                        None => large.push(degree),
                    }
                }
                (counts, large)
            },
        )
        .reduce(
            || (vec![0; SMALL], Vec::new()),
            |(mut counts, mut large), (others, more)| {
                counts.iter_mut().zip(others).for_each(|(count, other)| *count += other);
                large.extend(more);
                (counts, large)
            },
        );
    large.par_sort_unstable_by(|a, b| b.cmp(a));
    let mut runs: Vec<(u32, u32)> = large.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
    counts[0] = 0;
    runs.extend((0..SMALL as u32).zip(counts).rev().filter(|&(_, count)| count > 0));
    runs
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn falling_degree_and_ties_by_falling_id() {
        let degrees = [2, 5, 2, 0, 5, 1];
        let numbering = Numbering::by_degree(&degrees);
        assert_eq!(numbering.id_of, [4, 1, 2, 0, 5, 3]);
        assert_eq!(numbering.number_of, [3, 1, 2, 5, 0, 4]);
    }

    #[test]
    fn many_vertices_are_numbered_as_a_sort_would() {
        // Many runs; degrees below and above the bound, equal ones in several runs.
        let degree = |id: u32| match id % 97 {
            0 => SMALL as u32 - 1 + id % 3,
            1 => 1 << (id % 31),
            rest => rest % 13,
        };
        let degrees: Vec<u32> = (0..200_000).map(degree).collect();
        let mut sorted: Vec<u32> = (0..200_000).collect();
        sorted.sort_by_key(|&id| std::cmp::Reverse((degrees[id as usize], id)));
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let numbering = pool.install(|| Numbering::by_degree(&degrees));
            assert!(numbering.id_of == sorted);
            assert!(sorted.iter().zip(0..).all(|(&id, number)| numbering.number_of[id as usize] == number));
        }
    }
}
