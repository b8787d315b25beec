//! Ranks: positions in descending degree order. The vertex of largest degree has rank 0; among equal degrees the larger id comes first. So arcs of
//! the oriented graph (lower degree to higher, ties to the larger id: LSTC, section 4.1.1) go from larger to smaller rank. Runs of ids are sorted by
//! a parallel counting sort, the few vertices of large degree by comparisons. Cost: `O(n)`; 16 KiB a thread, 8 bytes per such vertex, 8 per
//! vertex for results.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::DegreeRun;
use trimill_counting::VertexSet;
use trimill_system::mapped::zeros;
use trimill_system::parallel;

/// Degrees below this are counted; few vertices have larger ones.
const SMALL: usize = 1 << 12;

const SMALLEST_RUN: usize = 1 << 14;

/// The vertex of each rank, from the ranks of all ids; vertices are the ids in `present`, from 0. 4 bytes per vertex.
pub fn order(rank_of: &[u32], present: &VertexSet) -> Vec<u32> {
    by_rank(rank_of, present, |vertex, _| vertex)
}

/// The id of each rank, as [`order`].
pub fn ids_by_rank(rank_of: &[u32], present: &VertexSet) -> Vec<u32> {
    by_rank(rank_of, present, |_, id| id)
}

fn by_rank(rank_of: &[u32], present: &VertexSet, of: impl Fn(u32, u32) -> u32 + Sync) -> Vec<u32> {
    let order: Vec<AtomicU32> = zeros(present.count() as usize);
    let run = |first: u32| {
        let ids = present.iter(first..first.saturating_add(SMALLEST_RUN as u32));
        for (vertex, id) in (present.rank(first)..).zip(ids) {
            order[rank_of[id as usize] as usize].store(of(vertex, id), Ordering::Relaxed);
        }
    };
    let runs = present.universe().div_ceil(SMALLEST_RUN as u32);
    parallel::each(0..runs, |i| run(i * SMALLEST_RUN as u32));
    order.into_iter().map(AtomicU32::into_inner).collect()
}

/// How many ids of each run have each small degree; and the ids of larger degree, the largest degree first.
struct CountedDegrees {
    run: usize,
    counts: Vec<Vec<u32>>,
    /// Degree and id, ties by descending id.
    large: Vec<(u32, u32)>,
}

impl CountedDegrees {
    fn of(degrees: &[u32]) -> Self {
        let run = degrees.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_RUN);
        let of_run = |(i, degrees): (usize, &[u32])| {
            let (mut counts, mut large) = (vec![0; SMALL], Vec::new());
            for (id, &degree) in (i * run..).zip(degrees) {
                match counts.get_mut(degree as usize) {
                    Some(count) => *count += 1,
                    None => large.push((degree, id as u32)),
                }
            }
            (counts, large)
        };
        let (counts, large): (_, Vec<_>) = parallel::map(degrees.chunks(run).enumerate(), of_run).into_iter().unzip();
        let mut large = large.concat();
        large.par_sort_unstable_by(|a, b| b.cmp(a));
        Self { run, counts, large }
    }
}

/// The rank of each id. Ids of degree 0 come last.
pub fn numbers(degrees: &[u32]) -> Vec<u32> {
    let CountedDegrees { run, mut counts, large } = CountedDegrees::of(degrees);
    // Where the ranks of each degree end in each run: ids are visited ascending, and the larger id has the smaller rank.
    let mut end = large.len() as u32;
    for degree in (0..SMALL).rev() {
        for counts in counts.iter_mut().rev() {
            end += counts[degree];
            counts[degree] = end;
        }
    }
    let mut numbers = zeros(degrees.len());
    let runs = numbers.chunks_mut(run).zip(degrees.chunks(run)).zip(counts);
    parallel::each(runs, |((numbers, degrees), mut next): ((&mut [u32], &[u32]), Vec<u32>)| {
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

/// All vertices' degrees, from 1 up, in rank order, as runs. `O(n)` time; 16 KiB per thread, 8 bytes per vertex of large degree.
pub fn degree_runs(degrees: &[u32]) -> Vec<DegreeRun> {
    let CountedDegrees { counts, large, .. } = CountedDegrees::of(degrees);
    let equal = large.chunk_by(|a, b| a.0 == b.0);
    let mut runs: Vec<DegreeRun> =
        equal.map(|equal| DegreeRun { degree: equal[0].0, vertices: equal.len() as u32 }).collect();
    let small = |degree: u32| DegreeRun { degree, vertices: counts.iter().map(|counts| counts[degree as usize]).sum() };
    runs.extend((1..SMALL as u32).rev().map(small).filter(|run| run.vertices > 0));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill_counting::VertexSetBuilder;

    fn present(degrees: &[u32]) -> VertexSet {
        let marks = VertexSetBuilder::new(degrees.len() as u32);
        (0..).zip(degrees).filter(|&(_, &degree)| degree > 0).for_each(|(id, _)| marks.set(id));
        marks.finish()
    }

    #[test]
    fn many_vertices_are_numbered_as_a_sort_would() {
        // Many runs; degrees below and above the bound, the same degree in several runs.
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
            let ranks = parallel::within(&pool, || numbers(&degrees));
            assert!(sorted.iter().zip(0..).all(|(&id, rank)| ranks[id as usize] == rank));
            let present = present(&degrees);
            let order = parallel::within(&pool, || order(&ranks, &present));
            let vertices = sorted.iter().filter(|&&id| degrees[id as usize] > 0).map(|&id| present.rank(id));
            assert!(order.into_iter().eq(vertices));
        }
    }
}
