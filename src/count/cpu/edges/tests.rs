//! Counts on arcs against all pairs of successors.

use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use trimill_counting::{CountBackend, CounterMemory, Detail, RowBlock};
use trimill_kernels::testing::partitions::{Partition, random};

use crate::count::cpu::by_head::HeadBuckets;
use crate::count::cpu::pack;
use crate::count::cpu::worker::LocalsRun;
use crate::count::cpu::{Cpu, RUNS_PER_THREAD, runs};
use trimill_system::Bytes;

/// The triangles on each arc, row by row.
type OnArcs = Vec<u32>;

/// Zeros for all arcs, and where those of each row begin.
fn zeros(partition: &Partition) -> (OnArcs, Vec<usize>) {
    let mut arcs = 0;
    let begin = |row: &Vec<u32>| {
        arcs += row.len();
        arcs - row.len()
    };
    let begins = partition.rows.iter().map(begin).collect();
    (vec![0; arcs], begins)
}

fn on_arcs(partition: &Partition) -> OnArcs {
    let (mut found, begins) = zeros(partition);
    partition.each_triangle(|[a, b, c]| {
        for (from, to) in [(a, b), (a, c), (b, c)] {
            found[begins[from as usize] + partition.rows[from as usize].binary_search(&to).unwrap()] += 1;
        }
    });
    found
}

fn counted_on_arcs(partition: &Partition, cpu: &mut Cpu, row_blocks: &[RowBlock]) -> OnArcs {
    let resident = partition.resident();
    let locals = resident.numbers.clone();
    let largest = row_blocks.iter().map(|row_block| row_block.view().size().bytes()).max().unwrap();
    let size = partition.size(largest.get());
    let least = cpu.footprint().overhead(size.numbered) + cpu.footprint().resident(size.locals, size.arcs) + largest;
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut counter = cpu.begin(size, Detail::Edges).unwrap();
    counter.resident(resident, &pool).unwrap();
    let (mut found, begins) = zeros(partition);
    let mut enter = |numbers: Vec<u32>, mut counts: &[u32]| {
        for a in numbers.into_iter().map(|a| a as usize) {
            let (of_row, rest) = counts.split_at(partition.rows[a].len());
            found[begins[a]..].iter_mut().zip(of_row).for_each(|(sum, count)| *sum += count);
            counts = rest;
        }
        assert!(counts.is_empty());
    };
    for row_block in row_blocks {
        let view = row_block.view();
        counter.row_block(&view, &pool).unwrap();
        let CounterMemory::BesidesSections(bytes) = counter.memory() else { panic!("another memory") };
        assert!(bytes + Bytes(4 * size.arcs + 12 * size.locals) <= least, "{bytes} of {least}");
        let mut counts = vec![7; view.size().arcs as usize];
        counter.row_block_edges(&mut counts, &pool).unwrap();
        let has_row = |b: &u32| view.holds_all() || !partition.local[*b as usize];
        enter(view.range.clone().filter(has_row).collect(), &counts);
    }
    let mut counts = vec![7; size.arcs as usize];
    for (i, counts) in counts.chunks_mut(100).enumerate() {
        counter.resident_edges(100 * i as u64, counts, &pool).unwrap();
    }
    enter(locals.iter().collect(), &counts);
    assert_eq!(counter.finish().unwrap().triangles, partition.triangles());
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn triangles_are_counted_on_each_of_their_arcs(
        n in 2u32..700,
        longest in 1u32..60,
        seed in 0u64..1000,
        budget in prop_oneof![Just(0u64), 1u64 << 12..1 << 20, 1u64 << 26..1 << 27],
        room in 1usize..40_000,
        parts in 1u32..4,
        cuts in prop::collection::btree_set(1u32..700, 0..4),
        shared in any::<bool>(),
    ) {
        let partition = random(seed, n, longest, 0, 1.0 / f64::from(parts));
        let mut cpu = Cpu::with_edges(Bytes(budget), n, n);
        prop_assert_eq!(cpu.hubs > 0, budget >= 1 << 26);
        if cpu.hubs > 0 {
            // In many batches; runs of more arcs than that are counted without hubs.
            cpu.by_head = room;
        }
        let ends: Vec<u32> = cuts.into_iter().filter(|&cut| cut < n).collect();
        let row_blocks = if shared { partition.shared_row_blocks(&ends) } else { partition.row_blocks(&ends) };
        prop_assert_eq!(counted_on_arcs(&partition, &mut cpu, &row_blocks), on_arcs(&partition));
    }
}

#[test]
fn hubs_and_long_rows_are_counted_on_their_arcs() {
    let graph = random(3, 2200, 150, 0, 1.0);
    let expected = on_arcs(&graph);
    for budget in [0, 1 << 27] {
        let mut cpu = Cpu::with_edges(Bytes(budget), 2200, 2200);
        assert_eq!(cpu.hubs > 2000, budget > 0);
        assert!(counted_on_arcs(&graph, &mut cpu, &graph.row_blocks(&[])) == expected, "{budget}");
        assert!(counted_on_arcs(&graph, &mut cpu, &graph.shared_row_blocks(&[1000, 2000])) == expected, "{budget}");
    }
}

#[test]
fn heads_that_pay_off_are_counted_on_their_arcs() {
    // Rows of every 30th number, so that none is packed: up to 200 numbers in rows below 6,000, later a few between 3,000 and 6,000.
    let row = |b: u32| match b {
        _ if b % 30 >= 8 => Vec::new(),
        ..6000 => (b % 30..b).step_by(30).rev().take(200).rev().collect(),
        _ => (3000 + b % 30..6000).step_by(30).take((b % 12) as usize).collect(),
    };
    let graph = Partition::whole((0..24_000).map(row).collect());
    let n = graph.numbered();
    let resident = graph.resident();
    let pays_off = HeadBuckets::that_pay_off(&resident, 64..n, 1 << 20, |head| graph.rows[head as usize].len());
    assert!(pays_off.range().contains(&3300), "{:?}", pays_off.range());
    let expected = on_arcs(&graph);
    for room in [20_000, 1 << 20] {
        let mut cpu = Cpu::with_edges(Bytes(1 << 30), n, n);
        assert!(cpu.by_head >= room);
        (cpu.hubs, cpu.by_head) = (64, room);
        assert!(counted_on_arcs(&graph, &mut cpu, &graph.row_blocks(&[])) == expected, "{room}");
        let row_blocks = graph.shared_row_blocks(&[3200, 3500]);
        assert!(counted_on_arcs(&graph, &mut cpu, &row_blocks) == expected, "{room}, row blocks");
    }
}

#[test]
fn runs_beside_one_that_has_no_room_are_counted_on_their_arcs() {
    const ROOM: u64 = 7000;
    let row = |b: u32| match b {
        ..64 => (0..b).collect(),
        10_000..10_400 => (0..60).collect(),
        _ if b.is_multiple_of(5) => vec![1, 5, 9],
        _ => Vec::new(),
    };
    let graph = Partition::whole((0..20_400).map(row).collect());
    let n = graph.numbered();
    let resident = graph.resident();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let arcs = |run: &LocalsRun<'_>| run.arcs(&resident);
    let runs: Vec<u64> =
        pool.install(|| runs(&resident, &mut vec![0; n as usize], RUNS_PER_THREAD).iter().map(arcs).collect());
    let large = runs.iter().position(|&arcs| arcs > ROOM).unwrap();
    let after = runs.iter().skip(large).find(|&&arcs| arcs <= ROOM).unwrap();
    assert!(large > 0 && runs[large - 1] + after <= ROOM, "{runs:?}");
    let mut cpu = Cpu::with_edges(Bytes(1 << 28), n, n);
    cpu.by_head = ROOM as usize;
    let expected = on_arcs(&graph);
    assert!(counted_on_arcs(&graph, &mut cpu, &graph.row_blocks(&[])) == expected);
    assert!(counted_on_arcs(&graph, &mut cpu, &graph.shared_row_blocks(&[40])) == expected);
}

#[test]
fn packed_rows_are_counted_on_their_arcs() {
    // As in a crawl: a clique in which most rows end, and numbers near each other, with gaps. Some rows are too short or too long to be packed.
    let row = |b: u32| match b {
        ..100 => (0..b).collect(),
        2900 => (0..b).collect(),
        _ if b.is_multiple_of(10) => vec![1, 70, b - 1],
        _ => (60..100).chain(b.saturating_sub(b % 90).max(100)..b).filter(|c| c % 7 != b % 5).collect::<Vec<_>>(),
    };
    let graph = Partition::whole((0..3000).map(row).collect());
    let n = graph.numbered();
    assert!(pack::most_can_be_packed(&graph.resident()));
    let expected = on_arcs(&graph);
    // Without room all counts are added by tail; with little room, only those of runs with more arcs.
    for room in [0, 5000, 1 << 20] {
        let mut cpu = Cpu::with_edges(Bytes(1 << 27), n, n);
        cpu.by_head = room;
        assert!(counted_on_arcs(&graph, &mut cpu, &graph.row_blocks(&[])) == expected, "{room}");
    }
    let mut small = Cpu::with_edges(Bytes(0), n, n);
    assert!(counted_on_arcs(&graph, &mut small, &graph.row_blocks(&[])) == expected);
}

#[test]
fn an_arc_is_in_more_triangles_than_planes_hold() {
    // Each arc of a clique is in as many triangles as there are other vertices.
    const N: u32 = 400;
    let graph = Partition::whole((0..N).map(|b| (0..b).collect()).collect());
    let mut cpu = Cpu::with_edges(Bytes(1 << 27), N, N);
    assert!(cpu.hubs > 0);
    for ends in [&[][..], &[170]] {
        let found = counted_on_arcs(&graph, &mut cpu, &graph.shared_row_blocks(ends));
        assert!(found.iter().all(|&triangles| triangles == N - 2));
    }
}
