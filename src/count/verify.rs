//! The verifier: slow, simple, and without code in common with the stages that it checks.
//!
//! It sorts all arcs of a reader in memory, keeps the full neighbourhood of every vertex, and merges both neighbourhoods of every edge, so that each
//! triangle is found three times. Time: the sum of `deg(u) + deg(v)` over the edges `{u, v}`, equal to the sum of squared degrees, on all threads.
//! Memory: at most [`Verifier::bytes_per_arc`]. `brute_force` checks the verifier itself, on tiny graphs.

#[cfg(feature = "testing")]
mod brute_force;
mod clustering;
mod neighbourhoods;
mod trussness;

use std::sync::Mutex;

use rayon::prelude::*;

use crate::report::{InputReport, VerifyReport};
use neighbourhoods::STEPS;
use trimill_input::ArcSink;
use trimill_system::{Control, Result, lock, parallel, unpoisoned};

#[cfg(feature = "testing")]
pub use brute_force::{BRUTE_FORCE_IDS, brute_force};
pub use neighbourhoods::VerifiedEdges;

/// Counts at each vertex with an edge, by ascending id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifiedVertices {
    pub ids: Vec<u64>,
    /// After cleaning.
    pub degrees: Vec<u32>,
    pub triangles: Vec<u64>,
    /// The largest id of the input, even of a loop.
    pub largest_id: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Verifier(Mutex<Vec<(u64, u64)>>);

impl ArcSink for Verifier {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        lock(&self.0).extend_from_slice(batch);
        Ok(())
    }
}

impl Verifier {
    pub fn for_arcs(arcs: u64) -> Self {
        Self(Mutex::new(Vec::with_capacity(arcs as usize)))
    }

    /// The most memory for each arc of the input. While counting: 32 bytes for it and its reverse, as ids; 16 for both as neighbours; 32 for two new
    /// vertices. If counts are written, their summary sorts 16 more a vertex; peeling takes 5 for each neighbour, up to 16 an edge and 4 a vertex.
    pub const fn bytes_per_arc(written: bool, peels: bool) -> u64 {
        match (written, peels) {
            (false, false) => 80,
            (true, false) => 112,
            (_, true) => 128,
        }
    }

    #[cfg(feature = "testing")]
    pub fn finish(self, control: &Control) -> Result<VerifyReport> {
        self.finish_with_counts(false, control).map(|(report, ..)| report)
    }

    /// Counts the collected graph and the triangles at each vertex and, if `per_edge`, on each edge. The report has what follows from the arcs.
    pub fn finish_with_counts(
        self,
        per_edge: bool,
        control: &Control,
    ) -> Result<(VerifyReport, VerifiedVertices, VerifiedEdges)> {
        let mut arcs = unpoisoned(self.0.into_inner());
        let mut input = InputReport { arcs: arcs.len() as u64, ..InputReport::default() };

        let largest_id = arcs.par_iter().map(|&(tail, head)| tail.max(head)).max();
        arcs.retain(|(tail, head)| tail != head);
        input.loops_removed = input.arcs - arcs.len() as u64;
        let with_duplicates = arcs.len();
        sort(&mut arcs, control)?;
        arcs.dedup();
        input.duplicates_removed = (with_duplicates - arcs.len()) as u64;

        let without_reverse = |some: &[(u64, u64)]| {
            control.check()?;
            let reverses = some.iter().map(|&(tail, head)| (head, tail));
            Ok(reverses.filter(|reverse| arcs.binary_search(reverse).is_err()).collect::<Vec<_>>())
        };
        let missing = parallel::try_map(arcs.chunks(STEPS), without_reverse)?.concat();
        (input.arcs_without_reverse, input.arcs_added) = (missing.len() as u64, missing.len() as u64);
        arcs.reserve_exact(missing.len());
        arcs.extend(missing);
        sort(&mut arcs, control)?;

        let mut graph = VerifiedEdges::new(&arcs, control)?;
        drop(arcs);
        let edges = graph.neighbours.len() as u64 / 2;
        assert_eq!(2 * edges, input.arcs - input.loops_removed - input.duplicates_removed + input.arcs_added);

        let corners = graph.corners(per_edge, control)?;
        let sum: u128 = corners.iter().map(|&t| u128::from(t)).sum();
        assert_eq!(sum % 3, 0, "every triangle has three corners");

        let degrees: Vec<u32> = (0..graph.len()).map(|vertex| graph.neighbours_of(vertex).len() as u32).collect();
        let wedges = degrees.iter().map(|&degree| u128::from(degree) * u128::from(degree - 1) / 2).sum();
        let ids = std::mem::take(&mut graph.ids);
        let (triangles, vertices) = (sum / 3, ids.len() as u64);
        let report = VerifyReport { triangles, vertices, edges, wedges, input, ..VerifyReport::default() };
        Ok((report, VerifiedVertices { ids, degrees, triangles: corners, largest_id }, graph))
    }
}

/// Sorts the smaller half and the larger half separately, down to [`STEPS`] items, so that a stop takes effect soon.
fn sort<T: Ord + Send>(all: &mut [T], control: &Control) -> Result<()> {
    control.check()?;
    if all.len() <= STEPS {
        all.sort_unstable();
        return Ok(());
    }
    let (smaller, _, larger) = all.select_nth_unstable(all.len() / 2);
    let (one, other) = rayon::join(|| sort(smaller, control), || sort(larger, control));
    one.and(other)
}

#[cfg(test)]
mod tests;
