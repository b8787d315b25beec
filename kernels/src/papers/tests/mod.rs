//! Every method against brute force, its kernels emulated on the host. The same on a GPU: `tests/gpu.rs`, `tests/papers.rs`.

pub(crate) mod emulated;
mod primitives;

use emulated::Emulated;

use super::*;
use crate::row_block_bytes;
use crate::testing::common::{OwnedRowBlock, Partition, cuts, random};
use polak::Preprocess;
use skiff::Organisation;

/// Counts in an arena of `spare` bytes more than is said to suffice. Resident runs are short.
fn count(
    machine: Emulated,
    method: &Method,
    partition: &Partition,
    row_blocks: &[OwnedRowBlock],
    spare: u64,
) -> (Emulated, Result<Counted>) {
    let limit = row_blocks.iter().map(|row_block| row_block.bytes()).max().unwrap_or(0);
    let size = partition.size(limit);
    let machine = machine.with((method.device_bytes(&size) + spare).next_multiple_of(256));
    let mut counting = Counting::begin(machine, method, size).unwrap_or_else(|error| panic!("{method:?}: {error}"));
    for run in partition.resident_runs(size.locals as usize / 3 + 1) {
        counting.resident(&run).unwrap();
    }
    let counted = row_blocks.iter().try_for_each(|row_block| counting.row_block(&row_block.slices()));
    let counted = counted.and_then(|()| counting.finish_in_place());
    let bytes = counting.machine.layout().capacity();
    assert!(counting.so_far.peak_bytes <= bytes);
    (counting.machine, counted)
}

/// Counts whole graphs and partitions in row blocks of both kinds.
fn agrees(methods: &[Method], spare: u64, partitions: &[Partition]) {
    let Some(mut machine) = Emulated::new(methods[0].source()) else { return };
    for (i, partition) in partitions.iter().enumerate() {
        let expected = partition.triangles();
        for method in methods {
            let n = partition.numbered();
            let whole = partition.local.iter().all(|&local| local);
            if method.whole() && !whole {
                continue;
            }
            let all_cuts = if whole { vec![vec![]] } else { vec![vec![], vec![n / 3, n / 2]] };
            for cuts in all_cuts {
                let mut kinds = vec![partition.row_blocks(&cuts), partition.shared_row_blocks(&cuts)];
                kinds.truncate(if whole { 1 } else { 2 });
                for row_blocks in kinds {
                    let (again, counted) = count(machine, method, partition, &row_blocks, spare);
                    machine = again;
                    let counted = counted.unwrap_or_else(|error| panic!("{error}"));
                    assert_eq!(counted.triangles, expected, "graph {i}, {method:?}, {cuts:?}");
                }
            }
        }
    }
}

fn whole(rows: Vec<Vec<u32>>) -> Partition {
    let local = vec![true; rows.len()];
    Partition::new(rows, local)
}

/// A clique, a path, a star whose hub is first, vertices without edges, and graphs with skew and long rows.
fn graphs() -> Vec<Partition> {
    vec![
        whole((0..45u32).map(|b| (0..b).collect()).collect()),
        whole((0..50u32).map(|b| b.checked_sub(1).into_iter().collect()).collect()),
        whole((0..50u32).map(|b| (0..b.min(1)).collect()).collect()),
        whole(vec![vec![], vec![0], vec![0, 1], vec![], vec![]]),
        whole(vec![vec![]; 5]),
        random(1, 200, 20, 1, 1.0),
        random(2, 150, 5, 1, 1.0),
        random(3, 200, 30, 2, 0.5),
        random(4, 200, 20, 1, 0.0),
    ]
}

#[test]
fn polak_counts() {
    let with = |preprocess, block_threads| {
        Method::Polak(polak::Options { preprocess, block_threads, ..polak::Options::default() })
    };
    let methods = [with(Preprocess::Gpu, 64), with(Preprocess::Cpu, 64), with(Preprocess::Auto, 128)];
    agrees(&methods, 0, &graphs());
}

#[test]
fn polak_shares_add_up_and_the_cpu_prepares_where_the_gpu_has_no_room() {
    let Some(mut machine) = Emulated::new(&crate::compile::POLAK) else { return };
    let partition = random(7, 250, 40, 3, 1.0);
    let row_blocks = partition.row_blocks(&[]);
    let mut sum = 0;
    for share in 0..3 {
        let method = Method::Polak(polak::Options { share: (share, 3), ..polak::Options::default() });
        let (again, counted) = count(machine, &method, &partition, &row_blocks, 0);
        machine = again;
        let counted = counted.unwrap();
        // Room for edges in one direction only.
        assert_eq!(counted.copied_bytes, 8 * partition.size(0).arcs);
        sum += counted.triangles;
    }
    assert_eq!(sum, partition.triangles());
    let (_, counted) = count(machine, &Method::Polak(Default::default()), &partition, &row_blocks, 1 << 20);
    assert_eq!(counted.unwrap().copied_bytes, 16 * partition.size(0).arcs);
}

#[test]
fn reverse_edge_counts() {
    let with = |block_threads, streams| Method::ReverseEdge(reverse_edge::Options { block_threads, streams });
    agrees(&[with(256, 1), with(64, reverse_edge::STREAMS), with(32, 3)], 0, &graphs());
}

fn skiffs(nodes: Option<u32>) -> [Method; 3] {
    [Organisation::BlockDegree, Organisation::BlockIndex, Organisation::WarpIndex]
        .map(|organisation| Method::Skiff(skiff::Options { organisation, block_threads: 64, nodes }))
}

#[test]
fn skiff_counts() {
    agrees(&skiffs(None), 1 << 16, &graphs());
    // With no room to spare.
    agrees(&skiffs(None)[1..2], 0, &graphs()[7..]);
}

#[test]
fn skiff_chains_nodes_when_all_keys_fall_into_one() {
    let mut rows: Vec<Vec<u32>> = vec![vec![]; 20_000];
    let keys = |many: u32, step: u32| (0..many).map(|i| 5 + i * step).collect::<Vec<_>>();
    // One item for all keys: steps are multiples of the width times the first nodes (1, 2, 4, 8). Chains of 1 to 7 nodes.
    let chained = [(32, 32), (33, 64), (64, 64), (100, 128), (128, 128), (150, 128), (200, 64)];
    rows.extend(chained.map(|(many, step)| keys(many, step)));
    // Longer than any of them, and with an arc to each.
    rows.push((0..20_007).collect());
    let partition = whole(rows);
    assert_eq!(partition.triangles(), chained.iter().map(|&(many, _)| u64::from(many)).sum());
    for nodes in [None, Some(1700)] {
        agrees(&skiffs(nodes), 1 << 20, std::slice::from_ref(&partition));
    }
}

#[test]
fn skiff_cuts_what_does_not_fit_and_refuses_a_row_that_never_will() {
    let Some(mut machine) = Emulated::new(&crate::compile::SKIFF) else { return };
    let partition = random(9, 300, 60, 2, 0.7);
    let row_blocks = partition.row_blocks(&[100]);
    for nodes in [40, 70, 1000] {
        for method in skiffs(Some(nodes)) {
            let (again, counted) = count(machine, &method, &partition, &row_blocks, 1 << 20);
            machine = again;
            let counted = counted.unwrap();
            assert_eq!(counted.triangles, partition.triangles(), "{method:?}");
            assert!(counted.rounds > if nodes < 100 { 6 } else { 1 }, "{counted:?}");
        }
    }
    let (_, refused) = count(machine, &skiffs(Some(3))[0], &partition, &row_blocks, 1 << 20);
    assert!(matches!(refused, Err(Error::Budget { .. })), "{refused:?}");
}

fn binning(radix_bits: u32, threshold: u32, batch: Option<u32>) -> Method {
    Method::RadixBinning(radix_binning::Options { radix_bits, threshold, batch })
}

#[test]
fn radix_binning_counts() {
    let batch = Some(1 << 15);
    agrees(&[binning(6, 32, batch), binning(2, 4, batch), binning(8, 1, batch)], 0, &graphs());
}

#[test]
fn radix_binning_reaches_the_last_level_and_cuts_wedges_anywhere() {
    let graphs = [random(2, 100, 8, 1, 1.0), whole((0..20u32).map(|b| (0..b).collect()).collect())];
    // Threshold 0: nothing is counted one by one, and every candidate goes on to the last bit.
    agrees(&[binning(2, 0, Some(3000)), binning(4, 0, Some(1 << 14)), binning(8, 0, Some(500))], 0, &graphs);
    agrees(&[binning(6, 2, Some(701))], 0, &graphs);
}

#[test]
fn radix_binning_drops_what_has_nothing_on_the_other_side() {
    // Stars: many candidates and not one edge in their buckets. A bipartite graph: candidates between sides that have none.
    let star = whole((0..300u32).map(|b| (0..b.min(1)).collect()).collect());
    let bipartite = whole((0..60u32).map(|b| if b < 30 { vec![] } else { (0..30).collect() }).collect());
    agrees(&[binning(4, 0, Some(1 << 16)), binning(6, 32, Some(1 << 16))], 0, &[star, bipartite]);
}

#[test]
fn whole_graphs_are_asked_for_with_the_bytes_that_they_take() {
    let Some(machine) = Emulated::new(&crate::compile::POLAK) else { return };
    let size = random(1, 100, 5, 0, 0.5).size(0);
    let method = Method::Polak(Default::default());
    let refused = Counting::begin(machine, &method, size).map(|_| ());
    let bytes = method.device_bytes(&size);
    assert_eq!(refused, Err(Error::Whole { method: "polak", bytes }));
    assert!(bytes > 16 * size.arcs);
}

#[test]
fn runs_and_row_blocks_that_are_missing_are_noticed() {
    let Some(machine) = Emulated::new(&crate::compile::REVERSE_EDGE) else { return };
    let partition = random(1, 100, 5, 0, 0.5);
    let row_blocks = partition.row_blocks(&[50]);
    let limit = row_blocks.iter().map(|row_block| row_block.bytes()).max().unwrap();
    let method = Method::ReverseEdge(Default::default());
    let size = partition.size(limit);
    let machine = machine.with(method.device_bytes(&size).next_multiple_of(256));
    let mut counting = Counting::begin(machine, &method, size).unwrap();
    assert!(matches!(counting.row_block(&row_blocks[0].slices()), Err(Error::Section(_))), "no resident section");
    for run in partition.resident_runs(1000) {
        counting.resident(&run).unwrap();
    }
    counting.row_block(&row_blocks[0].slices()).unwrap();
    assert!(matches!(counting.finish(), Err(Error::Section(_))), "half of the row blocks");
}

#[test]
fn shapes_out_of_bounds_are_refused() {
    let Some(mut machine) = Emulated::new(&crate::compile::POLAK) else { return };
    machine = machine.with(1 << 20);
    let size = random(1, 50, 5, 0, 1.0).size(0);
    let polak =
        |block_threads, share| Method::Polak(polak::Options { block_threads, share, ..polak::Options::default() });
    let reverse = |block_threads, streams| Method::ReverseEdge(reverse_edge::Options { block_threads, streams });
    for method in [
        polak(33, (0, 1)),
        polak(2048, (0, 1)),
        polak(64, (1, 1)),
        reverse(100, 1),
        reverse(64, 0),
        reverse(64, 17),
        binning(3, 1, None),
        binning(2, 1, Some(0)),
        Method::Skiff(skiff::Options { block_threads: 8, ..skiff::Options::default() }),
    ] {
        let refused = method.begin(&mut machine, size).map(|_| ());
        assert!(matches!(refused, Err(Error::Shape(_))), "{method:?}: {refused:?}");
    }
    assert_eq!(row_block_bytes(0, 0, 0, false), 4);
    assert!(!cuts(0, 64).is_empty());
}
