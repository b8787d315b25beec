//! Which partition each vertex is local in.

use std::ops::Range;

use rayon::prelude::*;
use trimill_system::parallel;

/// For every vertex the partition where it is local, and for every partition its locals. Takes 8 bytes per vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    part_of: Vec<u32>,
    members: Vec<u32>,
    starts: Vec<u32>,
}

impl Assignment {
    /// From the part of each vertex. Panics if one is not below `parts`.
    pub fn new(part_of: Vec<u32>, parts: u32) -> Self {
        if part_of.par_windows(2).all(|pair| pair[0] <= pair[1]) {
            return Self::of_intervals(part_of, parts);
        }
        let mut starts = vec![0u32; parts as usize + 1];
        for &part in &part_of {
            starts[part as usize + 1] += 1;
        }
        for part in 0..parts as usize {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let mut members = vec![0; part_of.len()];
        for (id, &part) in part_of.iter().enumerate() {
            members[next[part as usize] as usize] = id as u32;
            next[part as usize] += 1;
        }
        Self { part_of, members, starts }
    }

    /// As [`Self::new`], if `part_of` ascends, so that parts are intervals of ids.
    fn of_intervals(part_of: Vec<u32>, parts: u32) -> Self {
        assert!(part_of.last().is_none_or(|&last| last < parts), "a part is not below the number of parts");
        let starts = (0..=parts).map(|part| part_of.partition_point(|&its| its < part) as u32).collect();
        Self { members: (0..part_of.len() as u32).into_par_iter().collect(), starts, part_of }
    }

    pub fn parts(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    pub fn part_of(&self) -> &[u32] {
        &self.part_of
    }

    /// The ids of a partition's locals, ascending.
    pub fn locals(&self, part: u32) -> &[u32] {
        &self.members[self.starts[part as usize] as usize..self.starts[part as usize + 1] as usize]
    }

    /// Splits parts above weight `most` into runs of locals (ascending ids) of even weight, or single vertices: any subset of a part is a partition.
    #[must_use]
    pub fn split(self, most: u64, weight: impl Fn(u32) -> u64 + Sync) -> Self {
        let runs_of = |part| runs(self.locals(part), most, &weight);
        let all: Vec<_> = parallel::map(0..self.parts(), runs_of);
        if all.iter().all(|runs| runs.len() < 2) {
            return self;
        }
        let mut part_of = self.part_of.clone();
        let mut parts = 0;
        for (part, runs) in (0..).zip(&all) {
            for run in runs {
                for &id in &self.locals(part)[run.clone()] {
                    part_of[id as usize] = parts;
                }
                parts += 1;
            }
            parts += u32::from(runs.is_empty());
        }
        Self::new(part_of, parts)
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
        for part in 0..split.parts() {
            let locals = split.locals(part);
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
        assert_eq!(
            (0..split.parts()).map(|p| split.locals(p).to_vec()).collect::<Vec<_>>(),
            [vec![0, 1], vec![2], vec![3, 4]]
        );
    }
}
