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
use crate::count::method::CudaMethod;
use crate::rates::Rates;
use trimill_counting::Footprint;
use trimill_graph::GraphSize;
use trimill_system::Bytes;

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

/// The method with the shortest estimate on a GPU, and the estimates of all `choices`.
pub fn choose(
    graph: &GraphSize,
    choices: &[(CudaMethod, Footprint)],
    rates: &Rates,
    device: Bytes,
    largest_row_block: Bytes,
) -> (Option<CudaMethod>, Vec<MethodEstimate>) {
    let of_choice = |choice: &(CudaMethod, Footprint)| {
        let seconds = estimate(graph, choice, rates, device, largest_row_block).map(|of| of.seconds);
        MethodEstimate { method: choice.0.name().into(), seconds }
    };
    let estimates: Vec<MethodEstimate> = choices.iter().map(of_choice).collect();
    let seconds = |of: &MethodEstimate| of.seconds.unwrap_or(f64::INFINITY);
    let fastest = choices.iter().zip(&estimates).min_by(|a, b| seconds(a.1).total_cmp(&seconds(b.1)));
    (fastest.map(|(choice, _)| choice.0), estimates)
}

/// The estimate for a method; none if the budget is below its floor.
pub fn estimate(
    graph: &GraphSize,
    choice: &(CudaMethod, Footprint),
    rates: &Rates,
    device: Bytes,
    largest_row_block: Bytes,
) -> Option<CountingEstimate> {
    let (&GraphSize { vertices, edges, probes, .. }, (method, footprint)) = (graph, choice);
    let speed = if *method == CudaMethod::Packed { Speed::packed(rates) } else { Speed::lstc(rates) };
    let space = Space::new(graph, footprint, device, largest_row_block);
    if !space.is_enough() {
        return None;
    }
    let (n, m, rows) = (f64::from(vertices), edges as f64, Bytes::of::<u32>(edges).get() as f64);
    if space.whole_fits() {
        return Some(CountingEstimate { parts: 1.0, seconds: speed.whole(edges, probes).max(m / rates.gpu_arcs) });
    }
    let resident = footprint.resident(u64::from(vertices), edges).get() as f64;
    let parts = (resident / space.most(space.row_block).get().max(1) as f64).ceil();
    let row_blocks = (rows / space.row_block.get().max(1) as f64).ceil();
    let past = PassingRows { arcs: parts * m, row_blocks: parts * row_blocks, visits: n * row_blocks };
    let seconds = speed.kernels(m, probes as f64, past).max((parts + 1.0) / 2.0 * m / rates.gpu_arcs);
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
    fn chosen(graph: &GraphSize, device: Bytes) -> (Option<CudaMethod>, Vec<Option<f64>>) {
        let choices = [(CudaMethod::Lstc, footprint(4)), (CudaMethod::Packed, footprint(8))];
        let (chosen, estimates) = choose(graph, &choices, &Rates::default(), device, Bytes::mib(256));
        (chosen, estimates.into_iter().map(|estimate| estimate.seconds).collect())
    }

    #[test]
    fn many_probes_or_one_partition_favour_the_fast_method_and_many_passes_the_small_one() {
        let kron = GraphSize { vertices: 9_000_000, edges: 260_000_000, probes: 180_000_000_000, longest_row: 2000 };
        let grid = GraphSize { vertices: 64_000_000, edges: 256_000_000, probes: 1_000_000_000, longest_row: 4 };
        for (graph, device, expected) in [
            (kron, Bytes::mib(8192), CudaMethod::Packed),
            (grid, Bytes::mib(8192), CudaMethod::Packed),
            (kron, Bytes::mib(128), CudaMethod::Packed),
            (kron, Bytes::mib(4), CudaMethod::Lstc),
            (grid, Bytes::mib(1), CudaMethod::Lstc),
        ] {
            let (chosen, seconds) = chosen(&graph, device);
            assert_eq!(chosen, Some(expected), "{graph:?} {device}: {seconds:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_chosen() {
        let graph = GraphSize { vertices: 100_000, edges: 1_000_000, probes: 1_000_000_000, longest_row: 50_000 };
        // Enough memory for the longest row, resident and in two row blocks, at 4 bytes an arc but not at 8.
        let (chosen, seconds) = chosen(&graph, Bytes(740_000));
        assert_eq!(chosen, Some(CudaMethod::Lstc));
        assert!(seconds[0].is_some() && seconds[1].is_none(), "{seconds:?}");
    }
}
