//! Which partition each vertex is local in.

use std::ops::Range;

use rayon::prelude::*;
use trimill_system::parallel;

/// For every vertex the partition where it is local; vertices by id or by rank. 4 bytes a vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    part_of: Vec<u32>,
    counts: Vec<u64>,
}

impl Assignment {
    /// From the part of each vertex. Panics if one is not below `parts`.
    pub fn new(part_of: Vec<u32>, parts: u32) -> Self {
        let mut counts = vec![0; parts as usize];
        part_of.iter().for_each(|&part| counts[part as usize] += 1);
        Self { part_of, counts }
    }

    /// Turns an assignment by id into one by rank; `order` has the vertex of each rank.
    #[must_use]
    pub fn by_rank(&self, order: &[u32]) -> Self {
        let part_of = order.par_iter().map(|&vertex| self.part_of[vertex as usize]).collect();
        Self { part_of, counts: self.counts.clone() }
    }

    pub fn parts(&self) -> u32 {
        self.counts.len() as u32
    }

    #[inline]
    pub fn part(&self, vertex: u32) -> u32 {
        self.part_of[vertex as usize]
    }

    pub fn count(&self, part: u32) -> u64 {
        self.counts[part as usize]
    }

    pub fn part_of(&self) -> &[u32] {
        &self.part_of
    }

    /// The locals of each partition, ascending. 4 bytes a vertex.
    fn members(&self) -> Vec<Vec<u32>> {
        let mut members: Vec<Vec<u32>> = self.counts.iter().map(|&count| Vec::with_capacity(count as usize)).collect();
        self.part_of.iter().zip(0..).for_each(|(&part, vertex)| members[part as usize].push(vertex));
        members
    }

    /// Splits parts above weight `most` into runs of locals (ascending ids) of even weight, or single vertices: any subset of a part is a partition.
    #[must_use]
    pub fn split(mut self, most: u64, weight: impl Fn(u32) -> u64 + Sync) -> Self {
        let members = self.members();
        let all: Vec<_> = parallel::map(&members, |locals| runs(locals, most, &weight));
        if all.iter().all(|runs| runs.len() < 2) {
            return self;
        }
        let mut parts = 0;
        for (locals, runs) in members.iter().zip(&all) {
            for run in runs {
                for &id in &locals[run.clone()] {
                    self.part_of[id as usize] = parts;
                }
                parts += 1;
            }
            parts += u32::from(runs.is_empty());
        }
        Self::new(self.part_of, parts)
    }
}

/// Cuts `locals` into the fewest runs of at most `most`, of about the same weight.
fn runs(locals: &[u32], most: u64, weight: impl Fn(u32) -> u64) -> Vec<Range<usize>> {
    let cut = |limit: u64| {
        let mut runs = Vec::new();
        let (mut start, mut sum) = (0, 0u64);
        for (i, &id) in locals.iter().enumerate() {
            let w = weight(id);
            if sum + w > limit && i > start {
                runs.push(start..i);
                (start, sum) = (i, 0);
            }
            sum += w;
        }
        if start < locals.len() {
            runs.push(start..locals.len());
        }
        runs
    };
    let fewest = cut(most);
    if fewest.len() < 2 {
        return fewest;
    }
    let total: u64 = locals.iter().map(|&id| weight(id)).sum();
    // The even share grows in small steps until the runs are as few as those of the greedy cut.
    let (even, mut slack) = (total.div_ceil(fewest.len() as u64), 0);
    while even + slack < most {
        let runs = cut(even + slack);
        if runs.len() == fewest.len() {
            return runs;
        }
        slack += (even / 64).max(1);
    }
    fewest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_keeps_every_vertex_and_every_bound() {
        let assignment = Assignment::new((0..1000).map(|id| id % 3).collect(), 4);
        let weight = |id: u32| u64::from(id % 17) + 1;
        let split = assignment.clone().split(200, weight);
        assert!(split.parts() > 4);
        let mut seen = vec![false; 1000];
        for locals in split.members() {
            assert!(locals.iter().map(|&id| weight(id)).sum::<u64>() <= 200);
            assert!(locals.iter().all(|id| id % 3 == locals[0] % 3), "a split never joins parts");
            locals.iter().for_each(|&id| assert!(!std::mem::replace(&mut seen[id as usize], true)));
        }
        assert!(seen.into_iter().all(|s| s));
        assert_eq!(assignment.clone().split(u64::MAX, weight), assignment);
    }

    #[test]
    fn a_vertex_heavier_than_the_bound_stands_alone() {
        let split = Assignment::new(vec![0; 5], 1).split(10, |id| if id == 2 { 50 } else { 4 });
        assert_eq!(split.members(), [vec![0, 1], vec![2], vec![3, 4]]);
    }
}
