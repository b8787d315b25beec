//! The methods on a GPU, against brute force and closed forms. One program, which can be built elsewhere and copied to a machine with a GPU.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use trimill_baselines::{GpuMethod, Organisation, polak, radix_binning, reverse_edge, skiff};
use trimill_counting::{Detail, EdgeShare, PartitionCount, RowBlock, Scope};
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, cuts, random};
use trimill_kernels::{CountingMethod, Gpu};
use trimill_system::Result;

fn polaks() -> Vec<GpuMethod> {
    let with = |on_cpu, block_threads| GpuMethod::Polak(polak::PolakOptions { on_cpu, block_threads });
    vec![with(false, 64), with(true, 64), with(false, 256)]
}

fn reverse_edges() -> Vec<GpuMethod> {
    let with =
        |block_threads, streams| GpuMethod::ReverseEdge(reverse_edge::ReverseEdgeOptions { block_threads, streams });
    vec![with(256, 1), with(256, reverse_edge::STREAMS), with(64, 3)]
}

fn skiffs(nodes: Option<u32>) -> Vec<GpuMethod> {
    let with =
        |organisation, block_threads| GpuMethod::Skiff(skiff::SkiffOptions { organisation, block_threads, nodes });
    vec![with(Organisation::BlockDegree, 64), with(Organisation::BlockIndex, 256), with(Organisation::WarpIndex, 256)]
}

fn binnings() -> Vec<GpuMethod> {
    let with = |radix_bits, threshold, batch| {
        GpuMethod::RadixBinning(radix_binning::RadixBinningOptions { radix_bits, threshold, batch })
    };
    vec![with(6, 32, None), with(8, 16, Some(1 << 22)), with(4, 0, Some(1 << 20)), with(2, 64, Some(100_003))]
}

/// Counts in an arena of `bytes`.
fn count(
    gpu: &mut Gpu,
    method: &GpuMethod,
    detail: Detail,
    partition: &Partition,
    (row_blocks, bytes): (&[RowBlock], Option<u64>),
) -> Result<PartitionCount> {
    // Some methods can begin with less than their footprint.
    let bytes = bytes.unwrap_or_else(|| method.footprint().least(&partition.size_with(row_blocks)));
    gpu.reserve(bytes.next_multiple_of(256)).unwrap();
    let counted = partition.count(gpu, method, detail, row_blocks)?;
    let times = counted.device.unwrap();
    for time in [times.kernels, times.copies, times.preprocessing] {
        assert!(time.as_secs() < 60, "{counted:?}");
    }
    Ok(counted)
}

/// Checks the counts of a partition in row blocks that end at the cuts, of proxies' rows and of all rows.
fn agree(gpu: &mut Gpu, methods: &[GpuMethod], partition: &Partition, all_cuts: &[Vec<u32>], bytes: Option<u64>) {
    let expected = partition.triangles();
    for method in methods {
        for cuts in all_cuts {
            for row_blocks in [partition.row_blocks(cuts), partition.shared_row_blocks(cuts)] {
                let counted = count(gpu, method, Detail::Total, partition, (&row_blocks, bytes));
                let counted = counted.unwrap_or_else(|error| panic!("{method:?}: {error}"));
                assert_eq!(counted.triangles, expected, "{method:?}, {} row blocks", row_blocks.len());
            }
        }
    }
}

fn wedges(partition: &Partition) -> u64 {
    let mut degrees: Vec<u64> = partition.rows.iter().map(|row| row.len() as u64).collect();
    partition.rows.iter().flatten().for_each(|&successor| degrees[successor as usize] += 1);
    degrees.iter().map(|&degree| degree * degree.saturating_sub(1) / 2).sum()
}

/// A clique, stars, a bipartite graph, one without edges, and random graphs with rows of all lengths.
fn graphs() -> Vec<Partition> {
    let bipartite = |b: u32| if b < 100 { vec![] } else { (0..100).collect() };
    vec![
        Partition::whole((0..600u32).map(|b| (0..b).collect()).collect()),
        Partition::whole((0..30_000u32).map(|b| (0..b.min(1)).collect()).collect()),
        Partition::whole((0..1000u32).map(bipartite).collect()),
        Partition::whole(vec![vec![]; 100]),
        Partition::whole(vec![vec![], vec![0], vec![0, 1]]),
        random(31, 20_000, 40, 3, 1.0),
        random(32, 3000, 300, 10, 1.0),
    ]
}

#[test]
fn all_methods_of_the_papers_count_whole_graphs() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for partition in graphs() {
        // Small batches for few wedges only.
        let binnings = if wedges(&partition) < 20_000_000 { binnings() } else { binnings()[..1].to_vec() };
        for methods in [polaks(), reverse_edges(), skiffs(None), binnings] {
            // Enough memory for both directions of all edges where the GPU prepares.
            agree(&mut gpu, &methods, &partition, &[vec![]], Some(1 << 30));
        }
    }
    // With exactly the bytes of their footprint, which for radix binning is that of the default batch.
    let partition = random(33, 5000, 60, 3, 1.0);
    for methods in [polaks(), reverse_edges(), skiffs(None), binnings()[..1].to_vec()] {
        agree(&mut gpu, &methods, &partition, &[vec![]], None);
    }
}

#[test]
fn partitions_are_counted_by_those_methods_of_the_papers_that_can() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, local_share) in [(41, 0.0), (42, 0.2), (43, 0.8)] {
        let partition = random(seed, 3000, 60, 4, local_share);
        for methods in [reverse_edges(), skiffs(None), skiffs(Some(2000))] {
            agree(&mut gpu, &methods, &partition, &cuts(seed, 3000), Some(64 << 20));
        }
        for method in [&polaks()[0], &binnings()[0]] {
            assert_ne!(method.footprint().scope, Scope::Partitions);
            let refused = count(&mut gpu, method, Detail::Total, &partition, (&partition.row_blocks(&[]), None));
            assert!(refused.is_err_and(|error| error.to_string().contains("counts whole graphs only")));
        }
    }
}

#[test]
fn tries_whose_keys_all_fall_into_one_node_are_right() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let keys = |many: u32, step: u32| (0..many).map(|i| 7 + i * step).collect::<Vec<_>>();
    let mut rows: Vec<Vec<u32>> = vec![vec![]; 80_000];
    // Chains of 1 to 40 nodes, at several numbers of first nodes.
    for (many, step) in [(31, 32), (33, 32), (64, 64), (70, 1024), (500, 32), (1200, 64), (70, 1024)] {
        let mut row = keys(many, step);
        row.extend(80_000..rows.len() as u32);
        rows.push(row);
    }
    for step in 1..5 {
        rows.push((0..rows.len() as u32).step_by(step).collect());
    }
    let partition = Partition::whole(rows);
    assert!(partition.triangles() > 5000);
    agree(&mut gpu, &skiffs(None), &partition, &[vec![]], Some(1 << 30));
    agree(&mut gpu, &skiffs(Some(20_000)), &partition, &[vec![], vec![80_001]], Some(1 << 30));
}

#[test]
fn shares_of_several_devices_add_up() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let partition = random(51, 20_000, 40, 3, 1.0);
    let row_blocks = partition.row_blocks(&[]);
    let method = GpuMethod::Polak(polak::PolakOptions::default());
    let share = |gpu: &mut Gpu, share| {
        count(gpu, &method, Detail::Share(share), &partition, (&row_blocks, None)).unwrap().triangles
    };
    for of in [2, 3, 8] {
        let sum: u64 = (0..of).map(|i| share(&mut gpu, EdgeShare { index: i, of })).sum();
        assert_eq!(sum, partition.triangles());
    }
}
