//! The counter at its thresholds: any number of hubs, any capacity for postponed arcs, any row blocks, any number of threads.

use trimill_counting::RowBlock;
use trimill_kernels::testing::partitions::{Partition, random};

use super::*;

/// Counts with row blocks of the proxies' rows and with row blocks of all rows, which must give the same.
fn count(partition: &Partition, cpu: &Cpu, ends: &[u32]) -> u64 {
    let with = |row_blocks: Vec<RowBlock>, packed| counted(partition, (cpu, None), &row_blocks, packed).triangles;
    let own = with(partition.row_blocks(ends), false);
    assert_eq!(own, with(partition.shared_row_blocks(ends), false), "{ends:?}");
    if ends.is_empty() {
        assert_eq!(own, with(partition.row_blocks(ends), true), "packed");
    }
    own
}

/// Counts with all hubs that `cpu` allows, even unprofitable ones, and the triangles at the vertices of a window, if there is one.
fn counted(
    partition: &Partition,
    (cpu, vertices): (&Cpu, Option<VertexCounters>),
    row_blocks: &[RowBlock],
    packed: bool,
) -> BitmapState {
    let n = partition.numbered();
    let mut resident = partition.resident();
    let mut work = cpu.work(n, resident.size(), vertices);
    if packed {
        work.pack(&mut resident, cpu.hubs.min(n));
    }
    for row_block in row_blocks {
        let row_block = row_block.view();
        let successors = SuccessorRows::new(&resident, &row_block);
        let end = row_block.range.end;
        let end_of_hubs = cpu.hubs.clamp(row_block.range.start, end);
        // Two thirds of the heads behind the hubs, even unprofitable ones, in buckets of one group, of two, and so on.
        let behind = end_of_hubs..if cpu.by_head == 0 { end_of_hubs } else { end - (end - end_of_hubs) / 3 };
        let groups = behind.len().div_ceil(by_head::GROUP) as u64;
        let arcs: Vec<u64> = (0..groups).collect();
        work.count(&resident, &successors, end_of_hubs, &HeadBuckets::new(behind, &arcs, groups)).unwrap();
    }
    let footprint = cpu.footprint();
    let declared = footprint.overhead(n) + Bytes((footprint.per_local - 12) * resident.numbers.len() as u64);
    assert!(work.bytes() <= declared, "{} of {declared}", work.bytes());
    work
}

/// The triangles at all numbers, counted in windows of `held` counters.
fn counted_at_vertices(partition: &Partition, cpu: &Cpu, held: u64, ends: &[u32], packed: bool) -> Vec<u64> {
    let cpu = Cpu { counters: held, room: Capacity { vertices: true, ..cpu.room }, ..cpu.clone() };
    let row_blocks = partition.shared_row_blocks(ends);
    partition.in_passes(held, |window| {
        counted(partition, (&cpu, Some(window)), &row_blocks, packed).counters.unwrap().finish()
    })
}

fn cpu(hubs: u32, postponed: usize, workers: u64) -> Cpu {
    Cpu {
        workers,
        hubs,
        room: Capacity::holding(DIRECT..hubs, postponed, false),
        by_head: 0,
        counters: 0,
        edges: None,
        progress: None,
    }
}

fn cpu_by_head(hubs: u32, postponed: usize, arcs: usize) -> Cpu {
    let mut cpu = Cpu { by_head: arcs, ..cpu(hubs, postponed, 2) };
    cpu.room.heads = cpu.room.heads.max(by_head::OF_BUCKET);
    cpu
}

#[test]
fn heads_with_long_rows_and_many_arcs_pay_off() {
    let taken = |partition: &Partition, room: usize| {
        let (resident, row_block) = (partition.resident(), partition.row_blocks(&[]).remove(0));
        let row_block = row_block.view();
        let successors = SuccessorRows::new(&resident, &row_block);
        HeadBuckets::that_pay_off(&resident, 1000..partition.numbered(), room, |head| successors.row(head).len())
            .range()
            .clone()
    };
    // Rows of 1,000 up to number 3,000; after them short rows, whose first successors are below 3,000.
    let row = |b: u32| if b < 3000 { (b.saturating_sub(1000)..b).collect() } else { (1500..1503).collect() };
    let long = Partition::whole((0..100_000).map(row).collect());
    let heads = taken(&long, 1 << 20);
    assert!(heads.start == 1000 && (1503..3000).contains(&heads.end), "{heads:?}");
    // If a batch has few arcs, marking a row for them costs as much as probing it.
    assert!(taken(&long, 10).is_empty());
    let short = Partition::whole((0..100_000u32).map(|b| (b.saturating_sub(8)..b).collect()).collect());
    assert!(taken(&short, 1 << 20).is_empty());
}

#[test]
fn any_number_of_hubs_gives_the_same_count() {
    let (whole, third) = (random(1, 700, 60, 0, 1.0), random(1, 700, 60, 0, 1.0 / 3.0));
    let (all, part) = (whole.triangles(), third.triangles());
    assert!(part > 1000);
    for hubs in [0, 1, 63, 64, 65, 127, 128, 129, 640, 699, 700] {
        for postponed in [0, 1, 5] {
            assert_eq!(count(&whole, &cpu(hubs, postponed, 1), &[]), all, "{hubs} hubs");
            for ends in [&[64][..], &[1, 63, 65, 128, 300], &[100, 101, 102, 650]] {
                assert_eq!(count(&third, &cpu(hubs, postponed, 1), ends), part, "{hubs} hubs, row blocks to {ends:?}");
            }
        }
    }
}

#[test]
fn short_rows_are_counted_near_each_other_and_far_apart() {
    // Rows that fill registers of each width, some of them longer; the large graph's rows are far apart, so they are prefetched.
    for (n, longest) in [(200, 4), (300, 8), (400, 16), (500, 20), (30_000, 12)] {
        let (whole, third) = (random(3, n, longest, 0, 1.0), random(3, n, longest, 0, 1.0 / 3.0));
        assert!(whole.triangles() > 0, "{n}");
        assert_eq!(count(&whole, &cpu(0, 0, 2), &[]), whole.triangles(), "{n}");
        assert_eq!(count(&third, &cpu(64, 5, 2), &[n / 3, n / 2]), third.triangles(), "{n}");
    }
}

#[test]
fn packed_rows_are_counted_as_they_were() {
    // In a clique, all rows are packed. If every third row is spread out, most rows are packed for a large clique, some for a small one.
    for n in [7, 64, 300] {
        let clique: Vec<Vec<u32>> = (0..n).map(|b| (0..b).collect()).collect();
        let triangles = u64::from(n) * u64::from(n - 1) * u64::from(n - 2) / 6;
        let spread = (n..3 * n).map(|b| if b % 3 == 0 { (0..b).step_by(70).collect() } else { vec![b - 1] });
        let spread = Partition::whole(clique.iter().cloned().chain(spread).collect());
        let (clique, all) = (Partition::whole(clique), spread.triangles());
        for hubs in [0, 5, 64, 200] {
            assert_eq!(count(&clique, &cpu(hubs.min(n), 0, 2), &[]), triangles, "{n}, {hubs} hubs");
            assert_eq!(count(&spread, &cpu(hubs, 0, 2), &[]), all, "{n} and spread, {hubs} hubs");
        }
    }
}

#[test]
fn postponed_arcs_and_those_by_head_are_counted_once() {
    // Enough hubs for several blocks of rows, and rows of several lengths around those of the arrays.
    let (whole, most) = (random(2, 3500, 120, 0, 1.0), random(2, 3500, 120, 0, 0.8));
    let (all, part) = (whole.triangles(), most.triangles());
    for hubs in [0, 64, 2048, 2049, 3500] {
        for (postponed, arcs) in [(0, 0), (1, 1), (7, 0), (777, 20_000), (1024, 0), (1 << 17, 0), (1 << 17, 1 << 30)] {
            let of = format!("{hubs} hubs, {postponed} postponed, batches of {arcs} by head");
            let cpu = cpu_by_head(hubs, postponed, arcs);
            assert_eq!(count(&whole, &cpu, &[]), all, "{of}");
            assert_eq!(count(&most, &cpu, &[500, 501, 2000, 2047, 2050, 3000]), part, "{of}");
        }
    }
}

#[test]
fn rows_around_the_number_of_successors_that_are_looked_up_together() {
    for longest in [1, 31, 32, 33, 64, 65] {
        // Every row as long as it can be, so that every pair of successors is an arc where it can be.
        let whole = Partition::whole((0..200u32).map(|b| (b.saturating_sub(longest)..b).collect()).collect());
        assert_eq!(count(&whole, &cpu(0, 0, 1), &[]), whole.triangles(), "rows of {longest}");
    }
}

#[test]
fn fewer_workers_than_threads_and_the_other_way_round() {
    let whole = random(3, 3000, 200, 0, 1.0);
    let all = whole.triangles();
    for threads in [1, 2, 5] {
        for workers in [1, 2, 8] {
            let counted = parallel::on(threads, || count(&whole, &cpu(3000, 2000, workers), &[500, 2500]));
            assert_eq!(counted, all, "{threads} threads, {workers} workers");
        }
    }
}

#[test]
fn budgets_bound_the_tables() {
    let n = 1 << 20;
    for budget in (12..36).map(|bits| Bytes(1 << bits)) {
        let cpu = Cpu::new(budget, n);
        // The minimum: a worker, and the last offset of the resident section.
        let least = per_worker(n) + cpu.room.bytes() + Bytes(8);
        let tables = cpu.footprint().overhead(n);
        assert!(tables <= Bytes(budget.get() / 8).max(least + Bytes(budget.get() / 16)), "{tables} of {budget}");
    }
    // Arcs are sorted by head only where a worker has arrays to sort in; a bitmap of many vertices may leave no room for them.
    for (n, budget) in [18, 24, 31].into_iter().flat_map(|bits| (12..44).map(move |budget| (1 << bits, budget))) {
        let cpu = Cpu::new(Bytes(1 << budget), n);
        assert!(cpu.by_head == 0 || cpu.room.arcs > 0 && cpu.room.heads >= by_head::OF_BUCKET, "{n} and {budget} bits");
    }
}

#[test]
fn hubs_that_pay_off_are_taken_and_others_are_not() {
    let hubs = |rows: Vec<Vec<u32>>| {
        let partition = Partition::whole(rows);
        let (resident, row_block) = (partition.resident(), partition.row_blocks(&[]).remove(0));
        let row_block = row_block.view();
        end_of_hubs(&resident, &SuccessorRows::new(&resident, &row_block), partition.numbered(), false)
    };
    // A clique: rows are long, and 64 entries make a word.
    assert!(hubs((0..2000).map(|b| (0..b).collect()).collect()) > 1000);
    assert_eq!(hubs((0..2000u32).map(|b| b.checked_sub(1).into_iter().collect()).collect()), 0);
}

#[test]
fn every_corner_of_a_triangle_is_counted_at_its_vertex() {
    // Hubs that are counted at once or postponed, other successors in rows of all lengths, packed rows.
    let dense: Vec<Vec<u32>> = (0..300u32).map(|b| (0..b).filter(|c| c % 7 != b % 7).collect()).collect();
    let graph = |seed, n, longest| random(seed, n, longest, 0, 1.0).rows;
    for rows in [graph(2, 2200, 60), graph(1, 700, 12), dense] {
        let n = rows.len() as u32;
        let local = (0..n).map(|b| !b.is_multiple_of(5)).collect();
        let (whole, most) = (Partition::whole(rows.clone()), Partition::new(rows, local));
        let (all, part) = (whole.at_vertices(), most.at_vertices());
        assert_eq!(all.iter().sum::<u64>(), 3 * whole.triangles());
        for hubs in [0, 64, 129, 2112, n].into_iter().filter(|&hubs| hubs <= n) {
            for (postponed, arcs) in [(0, 0), (7, 20_000), (1 << 14, 0), (1 << 14, 1 << 30)] {
                let cpu = cpu_by_head(hubs, postponed, arcs);
                for held in [1 << 20, 1000].into_iter().filter(|&held| held > 1000 || postponed < 1 << 14) {
                    let of =
                        format!("{n} numbers, {hubs} hubs, {postponed} postponed, {arcs} by head, {held} counters");
                    assert_eq!(counted_at_vertices(&whole, &cpu, held, &[], false), all, "{of}");
                    assert_eq!(counted_at_vertices(&whole, &cpu, held, &[], true), all, "{of}, packed");
                    assert_eq!(counted_at_vertices(&most, &cpu, held, &[n / 3, n / 2], false), part, "{of}");
                }
            }
        }
    }
}
