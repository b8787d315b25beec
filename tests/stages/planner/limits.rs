//! A plan fits the device, and its row blocks the host, and a graph that fits is one partition.

use super::draws::Partitioner;
use crate::common::oriented;
use trimill::testing::count::cpu::Cpu;
use trimill::testing::plan::sets::VertexInfo;
use trimill::testing::plan::{GraphCut, PlanLimits, Planner};
use trimill::{Bytes, Control};
use trimill_counting::CountBackend;

#[test]
fn a_plan_fits_the_device_and_the_row_blocks_of_the_host() {
    let mix = trimill_system::hash::mix;
    let arcs: Vec<(u64, u64)> = (0..40_000u64).map(|i| (mix(i) % 3000, mix(i + 77_777) % 3000)).collect();
    let dir = tempfile::tempdir().unwrap();
    let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
    let footprint = Cpu::new(Bytes::ZERO, graph.vertices()).footprint();
    let whole = footprint.resident(u64::from(graph.vertices()), graph.edges());
    let vertices = VertexInfo::of(&graph).unwrap();
    let cut = Partitioner { vertices: &vertices, way: 1, parts: None };
    for (device, row_block, one) in [
        (whole.get() * 2, whole.get() * 2, true),
        (whole.get() * 2, whole.get() / 50, true),
        (whole.get() / 2, whole.get() / 50, false),
        (whole.get() / 4, whole.get(), false),
    ] {
        let limits = PlanLimits { device: Bytes(device), largest_row_block: Bytes(row_block), ..super::limits() };
        let control = Control::silent();
        let planner = Planner { graph: &graph, footprint: &footprint, limits: &limits, control: &control };
        let of_sets = planner.sets(planner.assigned(&vertices, &cut).unwrap()).unwrap();
        let of_ranges = planner.ranges(None).unwrap();
        assert!(matches!((&of_sets.cut, &of_ranges.cut), (GraphCut::Sets(_), GraphCut::Ranges(_))));
        for plan in [of_sets, of_ranges] {
            assert_eq!(plan.parts() == 1, one);
            for prediction in &plan.predictions {
                assert!(prediction.peak <= limits.device, "{} of {}", prediction.peak, limits.device);
                assert!(
                    one || prediction.largest_row_block <= limits.largest_row_block,
                    "{}",
                    prediction.largest_row_block
                );
            }
            assert_eq!(plan.sizes.iter().map(|size| size.locals).sum::<u64>(), u64::from(graph.vertices()));
            assert_eq!(plan.sizes.iter().map(|size| size.resident_arcs).sum::<u64>(), graph.edges());
            // The rows do not fit fewer parts.
            let least = whole.get().div_ceil(device);
            assert!(u64::from(plan.parts()) >= least);
        }
    }
}
