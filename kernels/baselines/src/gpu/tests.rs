//! Every method against brute force, with its kernels run on the host. The same on a GPU: `tests/gpu.rs`.

mod footprints;
mod primitives;

use super::*;
use trimill_counting::{RowBlock, Scope};
use trimill_kernels::GpuError;
use trimill_kernels::testing::partitions::{Partition, bytes_of, give, pool, random};
use trimill_kernels::testing::{Double, Pace, has_compiler};

impl GpuMethod {
    /// The least device bytes with which the method begins: no more than its footprint.
    fn least_bytes(&self, size: &PartitionExtent) -> u64 {
        match self {
            Self::Polak(_) => super::bytes_of(|take| polak::lay(take, size, false)),
            Self::ReverseEdge(_) => super::bytes_of(|take| reverse_edge::lay(take, size)),
            Self::Skiff(options) => skiff::device_bytes(options, size),
            Self::RadixBinning(options) => super::bytes_of(|take| radix_binning::lay(take, options, size)),
        }
    }
}

/// Counts in an arena of `spare` bytes more than the least.
fn count(
    method: &GpuMethod,
    detail: Detail,
    partition: &Partition,
    row_blocks: &[RowBlock],
    spare: u64,
) -> Result<PartitionCount> {
    let bytes = (method.least_bytes(&partition.size_with(row_blocks)) + spare).next_multiple_of(256);
    partition.count(&mut Double::new(bytes, Pace::Late).unwrap(), method, detail, row_blocks)
}

/// Checks the counts of whole graphs and of partitions, with row blocks of both kinds.
fn agrees(methods: &[GpuMethod], spare: u64, partitions: &[Partition]) {
    let Some(()) = has_compiler() else { return };
    for (i, partition) in partitions.iter().enumerate() {
        let (expected, n) = (partition.triangles(), partition.numbered());
        let whole = partition.local.iter().all(|&local| local);
        let mut cases = vec![partition.row_blocks(&[])];
        if !whole {
            let cuts = [n / 3, n / 2];
            cases.push(partition.shared_row_blocks(&[]));
            cases.extend([partition.row_blocks(&cuts), partition.shared_row_blocks(&cuts)]);
        }
        for method in methods.iter().filter(|method| whole || method.footprint().scope == Scope::Partitions) {
            for row_blocks in &cases {
                let counted = count(method, Detail::Total, partition, row_blocks, spare);
                let counted = counted.unwrap_or_else(|error| panic!("{method:?}: {error}"));
                assert_eq!(counted.triangles, expected, "graph {i}, {method:?}, {} row blocks", row_blocks.len());
            }
        }
    }
}

/// A clique, a path, a star whose hub is first, isolated vertices, and skewed graphs with long rows.
fn graphs() -> Vec<Partition> {
    vec![
        Partition::whole((0..45u32).map(|b| (0..b).collect()).collect()),
        Partition::whole((0..50u32).map(|b| b.checked_sub(1).into_iter().collect()).collect()),
        Partition::whole((0..50u32).map(|b| (0..b.min(1)).collect()).collect()),
        Partition::whole(vec![vec![], vec![0], vec![0, 1], vec![], vec![]]),
        Partition::whole(vec![vec![]; 5]),
        random(1, 200, 20, 1, 1.0),
        random(2, 150, 5, 1, 1.0),
        random(3, 200, 30, 2, 0.5),
        random(4, 200, 20, 1, 0.0),
    ]
}

fn polak(on_cpu: bool, block_threads: u32) -> GpuMethod {
    GpuMethod::Polak(PolakOptions { on_cpu, block_threads })
}

#[test]
fn polak_shares_add_up_and_the_cpu_prepares_where_the_gpu_has_no_room() {
    let Some(()) = has_compiler() else { return };
    let partition = random(7, 250, 40, 3, 1.0);
    let row_blocks = partition.row_blocks(&[]);
    let method = polak(false, 64);
    // Without spare bytes there is memory for edges in one direction only.
    let share = |index| {
        count(&method, Detail::Share(EdgeShare { index, of: 3 }), &partition, &row_blocks, 0).unwrap().triangles
    };
    assert_eq!((0..3).map(share).sum::<u64>(), partition.triangles());
    let size = partition.size_with(&row_blocks);
    let mut double = Double::new((method.least_bytes(&size) + (1 << 20)).next_multiple_of(256), Pace::Late).unwrap();
    let counter = method.begin(&mut double, size, Detail::Total).unwrap();
    assert!(bytes_of(&*counter) > method.least_bytes(&size));
}

fn reverse_edge(block_threads: u32, streams: u32) -> GpuMethod {
    GpuMethod::ReverseEdge(ReverseEdgeOptions { block_threads, streams })
}

fn skiffs(block_threads: u32, nodes: Option<u32>) -> [GpuMethod; 3] {
    [Organisation::BlockDegree, Organisation::BlockIndex, Organisation::WarpIndex]
        .map(|organisation| GpuMethod::Skiff(SkiffOptions { organisation, block_threads, nodes }))
}

#[test]
fn skiff_chains_nodes_when_all_keys_fall_into_one() {
    let mut rows: Vec<Vec<u32>> = vec![vec![]; 20_000];
    let keys = |many: u32, step: u32| (0..many).map(|i| 5 + i * step).collect::<Vec<_>>();
    // All keys have the same first node: steps are multiples of the width times the first nodes (1, 2, 4, 8). Chains of 1 to 7 nodes.
    let chained = [(32, 32), (33, 64), (64, 64), (100, 128), (128, 128), (150, 128), (200, 64)];
    rows.extend(chained.map(|(many, step)| keys(many, step)));
    // A row longer than any of these, with an arc to each of them.
    rows.push((0..20_007).collect());
    let partition = Partition::whole(rows);
    assert_eq!(partition.triangles(), chained.iter().map(|&(many, _)| u64::from(many)).sum::<u64>());
    for nodes in [None, Some(1700)] {
        agrees(&skiffs(64, nodes), 1 << 20, std::slice::from_ref(&partition));
    }
}

#[test]
fn skiff_cuts_what_does_not_fit_and_refuses_a_row_that_never_will() {
    let Some(()) = has_compiler() else { return };
    let partition = random(9, 300, 60, 2, 0.7);
    let row_blocks = partition.row_blocks(&[100]);
    for nodes in [40, 70, 1000] {
        for method in skiffs(64, Some(nodes)) {
            let counted = count(&method, Detail::Total, &partition, &row_blocks, 1 << 20).unwrap();
            assert_eq!(counted.triangles, partition.triangles(), "{method:?}");
            // The test double's clock counts a second for each slice of rows.
            assert!(counted.device.unwrap().kernels.as_secs() > if nodes < 100 { 6 } else { 1 }, "{counted:?}");
        }
    }
    let refused = count(&skiffs(64, Some(3))[0], Detail::Total, &partition, &row_blocks, 1 << 20);
    assert!(refused.is_err_and(|error| error.to_string().contains("do not fit the budget")));
}

fn binning(radix_bits: u32, threshold: u32, batch: Option<u32>) -> GpuMethod {
    GpuMethod::RadixBinning(RadixBinningOptions { radix_bits, threshold, batch })
}

#[test]
fn every_method_counts() {
    let (graphs, batch) = (graphs(), Some(1 << 15));
    // With the spare bytes the GPU prepares for Polak's method, unless the options say otherwise.
    agrees(&[polak(false, 64), polak(true, 64)], 1 << 20, &graphs);
    agrees(&[polak(false, 128), reverse_edge(256, 1), reverse_edge(64, STREAMS), reverse_edge(32, 3)], 0, &graphs);
    agrees(&skiffs(64, None), 1 << 16, &graphs);
    agrees(&skiffs(64, None)[1..2], 0, &graphs[7..]);
    agrees(&[binning(6, 32, batch), binning(2, 4, batch), binning(8, 1, batch)], 0, &graphs);
}

#[test]
fn radix_binning_reaches_the_last_level_and_cuts_wedges_anywhere() {
    let graphs = [random(2, 100, 8, 1, 1.0), Partition::whole((0..20u32).map(|b| (0..b).collect()).collect())];
    // Threshold 0: no keys are compared one by one, and every candidate continues to the last bit.
    agrees(&[binning(2, 0, Some(3000)), binning(4, 0, Some(1 << 14)), binning(8, 0, Some(500))], 0, &graphs);
    agrees(&[binning(6, 2, Some(701))], 0, &graphs);
}

#[test]
fn radix_binning_drops_what_has_nothing_on_the_other_side() {
    // A star: many candidates, but no edge in their buckets. A bipartite graph: no edge on the side where all candidates are.
    let star = Partition::whole((0..300u32).map(|b| (0..b.min(1)).collect()).collect());
    let bipartite = Partition::whole((0..60u32).map(|b| if b < 30 { vec![] } else { (0..30).collect() }).collect());
    agrees(&[binning(4, 0, Some(1 << 16)), binning(6, 32, Some(1 << 16))], 0, &[star, bipartite]);
}

#[test]
fn runs_and_row_blocks_that_are_missing_are_noticed() {
    let partition = random(1, 100, 5, 0, 0.5);
    let row_blocks = partition.row_blocks(&[50]);
    let method = reverse_edge(256, 1);
    let size = partition.size_with(&row_blocks);
    let Some(mut double) = Double::new(method.least_bytes(&size).next_multiple_of(256), Pace::Late) else { return };
    let mut counting = method.begin(&mut double, size, Detail::Total).unwrap();
    let inconsistent = |text: String| assert!(text.contains("sections are inconsistent"), "{text}");
    inconsistent(counting.row_block(&row_blocks[0].view(), pool()).unwrap_err().to_string());
    // Half of the row blocks.
    give(&mut *counting, partition.runs(1000), &row_blocks[..1]).unwrap();
    inconsistent(counting.finish().unwrap_err().to_string());
}

#[test]
fn shapes_out_of_bounds_and_what_a_method_does_not_count_are_refused() {
    let Some(()) = has_compiler() else { return };
    let [size, part] = [1.0, 0.5].map(|share| random(1, 50, 5, 0, share).size(0));
    let share = |index, of| Detail::Share(EdgeShare { index, of });
    for (method, detail) in [
        (polak(false, 33), Detail::Total),
        (polak(false, 2048), Detail::Total),
        (polak(false, 64), share(1, 1)),
        (reverse_edge(100, 1), Detail::Total),
        (reverse_edge(64, 0), Detail::Total),
        (reverse_edge(64, 17), Detail::Total),
        (reverse_edge(64, 1), share(1, 2)),
        (binning(3, 1, None), Detail::Total),
        (binning(2, 1, Some(0)), Detail::Total),
        (binning(2, 1, None), share(1, 2)),
        (skiffs(8, None)[2], Detail::Total),
    ] {
        let mut double = Double::new(1 << 20, Pace::Late).unwrap();
        let refused = method.begin(&mut double, size, detail).map(drop);
        assert!(matches!(refused, Err(GpuError::Shape(_))), "{method:?}: {refused:?}");
    }
    for (size, detail) in [(part, Detail::Total), (size, Detail::Edges)] {
        let mut double = Double::new(1 << 24, Pace::Late).unwrap();
        let refused = polak(false, 64).begin(&mut double, size, detail).map(drop);
        assert!(matches!(refused, Err(GpuError::Shape(_))), "{refused:?}");
    }
}

#[test]
fn every_pace_of_the_device_gives_the_count_of_brute_force() {
    let Some(()) = has_compiler() else { return };
    let partition = random(5, 150, 30, 2, 0.5);
    let row_blocks = partition.row_blocks(&[70]);
    let size = partition.size_with(&row_blocks);
    for method in [reverse_edge(32, 5), skiffs(64, None)[2]] {
        for pace in Pace::all(1) {
            let mut double = Double::new((method.least_bytes(&size) + (1 << 16)).next_multiple_of(256), pace).unwrap();
            let counted = partition.count(&mut double, &method, Detail::Total, &row_blocks).unwrap();
            assert_eq!(counted.triangles, partition.triangles(), "{method:?} {pace:?}");
        }
    }
}
