//! Chooses the counting method with the shortest estimate on a device, from the graph's size, its probes, and each method's footprint and speed.
//!
//! ```text
//! kernels = arc * m + probe * probes + parts * (streamed * m + row blocks * pass) + visit * n * row blocks
//! seconds = max(kernels, (parts + 1) / 2 * m / arcs copied to the device in a second)
//! ```
//!
//! If the graph fits as one partition, the terms for parts and row blocks are left out. Partitions are assumed to be rank ranges, which
//! stream half of the rows on average; others stream fewer bytes, for every method alike.

use serde::{Deserialize, Serialize};

use super::cost::{PassingRows, Speed};
use super::space::Space;
use trimill_counting::Footprint;
use trimill_graph::GraphSize;
use trimill_system::Bytes;

pub struct Candidate<'a> {
    pub name: &'static str,
    pub footprint: &'a Footprint,
    pub speed: Speed,
}

/// The estimate for a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MethodEstimate {
    /// The method.
    pub method: String,
    /// Seconds on the device; null where the budget is below its floor.
    pub seconds: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountingEstimate {
    pub parts: f64,
    pub seconds: f64,
}

/// Estimates the candidates on a GPU to which `gpu_arcs` arcs are copied in a second; returns the index of the fastest, and all.
pub fn choose(
    graph: &GraphSize,
    candidates: &[Candidate<'_>],
    device: Bytes,
    largest_row_block: Bytes,
    gpu_arcs: f64,
) -> (usize, Vec<MethodEstimate>) {
    let estimate = |candidate| estimate(graph, candidate, device, largest_row_block, gpu_arcs).map(|of| of.seconds);
    let seconds: Vec<_> = candidates.iter().map(estimate).collect();
    let least = (0..candidates.len())
        .min_by(|&a, &b| seconds[a].unwrap_or(f64::INFINITY).total_cmp(&seconds[b].unwrap_or(f64::INFINITY)));
    let estimate =
        |(candidate, &seconds): (&Candidate<'_>, _)| MethodEstimate { method: candidate.name.into(), seconds };
    (least.unwrap_or(0), candidates.iter().zip(&seconds).map(estimate).collect())
}

/// The estimate for a candidate; none if the budget is below its floor.
pub fn estimate(
    graph: &GraphSize,
    candidate: &Candidate<'_>,
    device: Bytes,
    largest_row_block: Bytes,
    gpu_arcs: f64,
) -> Option<CountingEstimate> {
    let &GraphSize { vertices, edges, probes, .. } = graph;
    let space = Space::new(graph, candidate.footprint, device, largest_row_block);
    if !space.is_enough() {
        return None;
    }
    let (n, m, rows) = (f64::from(vertices), edges as f64, Bytes::of::<u32>(edges).get() as f64);
    if space.whole_fits() {
        return Some(CountingEstimate { parts: 1.0, seconds: candidate.speed.whole(edges, probes).max(m / gpu_arcs) });
    }
    let resident = candidate.footprint.resident(u64::from(vertices), edges).get() as f64;
    let parts = (resident / space.most(space.row_block).get().max(1) as f64).ceil();
    let row_blocks = (rows / space.row_block.get().max(1) as f64).ceil();
    let past = PassingRows { arcs: parts * m, row_blocks: parts * row_blocks, visits: n * row_blocks };
    let seconds = candidate.speed.kernels(m, probes as f64, past).max((parts + 1.0) / 2.0 * m / gpu_arcs);
    Some(CountingEstimate { parts, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill_counting::RowBlockRoom;

    fn footprint(per_resident_arc: u64) -> Footprint {
        Footprint {
            per_resident_arc,
            per_local: 8,
            row_blocks: RowBlockRoom::Always(2),
            fixed: Bytes(1000),
            ..Footprint::NOTHING
        }
    }

    /// The choice between a slow method that takes little memory and a fast one that takes more and prepares each row block.
    fn chosen(graph: &GraphSize, device: Bytes) -> (usize, Vec<Option<f64>>) {
        let (small, large) = (footprint(4), footprint(8));
        let slow = Speed { arc: 2e-10, probe: 5e-12, streamed: 0.0, pass: 1e-5, visit: 0.0 };
        let fast = Speed { arc: 1e-10, probe: 1e-13, streamed: 1e-11, pass: 2e-4, visit: 0.0 };
        let candidates = [
            Candidate { name: "small", footprint: &small, speed: slow },
            Candidate { name: "fast", footprint: &large, speed: fast },
        ];
        let (chosen, estimates) = choose(graph, &candidates, device, Bytes::mib(256), 12e9);
        (chosen, estimates.into_iter().map(|estimate| estimate.seconds).collect())
    }

    #[test]
    fn many_probes_or_one_partition_favour_the_fast_method_and_many_passes_the_small_one() {
        let kron = GraphSize { vertices: 9_000_000, edges: 260_000_000, probes: 180_000_000_000, longest_row: 2000 };
        let grid = GraphSize { vertices: 64_000_000, edges: 256_000_000, probes: 1_000_000_000, longest_row: 4 };
        for (graph, device, expected) in [
            (kron, Bytes::mib(8192), 1),
            (grid, Bytes::mib(8192), 1),
            (kron, Bytes::mib(128), 1),
            (kron, Bytes::mib(4), 0),
            (grid, Bytes::mib(256), 0),
        ] {
            let (chosen, seconds) = chosen(&graph, device);
            assert_eq!(chosen, expected, "{graph:?} {device}: {seconds:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_chosen() {
        let graph = GraphSize { vertices: 100_000, edges: 1_000_000, probes: 1_000_000_000, longest_row: 50_000 };
        // Enough memory for the longest row, resident and in two row blocks, at 4 bytes an arc but not at 8.
        let (chosen, seconds) = chosen(&graph, Bytes(740_000));
        assert!(chosen == 0 && seconds[0].is_some() && seconds[1].is_none(), "{chosen} {seconds:?}");
    }
}
