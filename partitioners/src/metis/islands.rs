//! Removes isolated vertices before METIS runs: they cost it quadratic time (a million: over a minute) and memory not bounded by the number of arcs.
//! A clean graph has none; a contracted graph has one for each run without edges to other runs. The remaining graph has at least as many arcs as
//! vertices. Isolated vertices are assigned to the lightest parts. Costs one pass over the graph if it has any.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::symmetric::Symmetric;
use trimill_system::starts_of;

pub(super) struct Islands {
    weights: Vec<i32>,
    is_island: Vec<bool>,
}

pub(super) fn remove(graph: Symmetric) -> (Symmetric, Islands) {
    let is_island: Vec<bool> = graph.offsets.windows(2).map(|ends| ends[0] == ends[1]).collect();
    let Symmetric { mut offsets, mut successors, arc_weights, vertex_weights: weights } = graph;
    let mut kept = weights.clone();
    if is_island.contains(&true) {
        offsets.dedup();
        let places = starts_of(is_island.iter().map(|&island| i32::from(!island)));
        successors.iter_mut().for_each(|successor| *successor = places[*successor as usize]);
        let mut islands = is_island.iter();
        kept.retain(|_| islands.next() == Some(&false));
    }
    (Symmetric { offsets, successors, arc_weights, vertex_weights: kept }, Islands { weights, is_island })
}

impl Islands {
    /// The parts of all vertices; `others` has the parts of vertices with edges. Each isolated vertex, in order, goes to the lightest part so far.
    pub(super) fn restore(&self, others: Vec<u32>, parts: u32) -> Vec<u32> {
        if others.len() == self.weights.len() {
            return others;
        }
        let mut others = others.into_iter();
        let mut loads = vec![0_u64; parts as usize];
        let mut all: Vec<u32> = Vec::with_capacity(self.weights.len());
        for (&weight, &island) in self.weights.iter().zip(&self.is_island) {
            let part = if island { 0 } else { others.next().unwrap_or(0) };
            loads[part as usize] += if island { 0 } else { weight as u64 };
            all.push(part);
        }
        let mut lightest: BinaryHeap<_> = loads.into_iter().zip(0_u32..).map(Reverse).collect();
        for (at, part) in all.iter_mut().enumerate().filter(|&(at, _)| self.is_island[at]) {
            if let Some(mut top) = lightest.peek_mut() {
                *part = top.0.1;
                top.0.0 += self.weights[at] as u64;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolated_vertices_are_removed_and_restored() {
        // The vertices 0..6 with the edges 1 - 3 and 3 - 4.
        let graph = Symmetric {
            offsets: vec![0, 0, 1, 1, 3, 4, 4],
            successors: vec![3, 1, 4, 3],
            arc_weights: Some(vec![7, 7, 9, 9]),
            vertex_weights: vec![5, 10, 6, 20, 1, 30],
        };
        let (rest, islands) = remove(graph);
        let expected = Symmetric {
            offsets: vec![0, 1, 3, 4],
            successors: vec![1, 0, 2, 1],
            arc_weights: Some(vec![7, 7, 9, 9]),
            vertex_weights: vec![10, 20, 1],
        };
        assert_eq!(rest, expected);
        // Loads 10, 21, 0: vertex 0 to part 2 (5), vertex 2 there too (11), vertex 5 to part 0.
        assert_eq!(islands.restore(vec![0, 1, 1], 3), [2, 0, 2, 1, 1, 0]);
    }
}
