//! The counter at its thresholds: any number of hubs, any capacity for postponed arcs, any row blocks, any number of threads.

use rayon::ThreadPoolBuilder;

use super::*;
use crate::count::testing::Rows;

impl Rows {
    /// Counts with row blocks of the proxies' rows and with row blocks of all rows, which must give the same.
    fn count(&self, cpu: &Cpu, ends: &[u32], local: impl Fn(u32) -> bool + Copy) -> u64 {
        let own = self.count_with(cpu, ends, local, local, false);
        assert_eq!(own, self.count_with(cpu, ends, local, |_| false, false), "{ends:?}");
        if ends.is_empty() {
            assert_eq!(own, self.count_with(cpu, ends, local, local, true), "packed");
        }
        own
    }

    /// Counts with `cpu` in row blocks that end at `ends` and lack the rows that are `absent`, with all hubs that it allows, even unprofitable ones.
    fn count_with(
        &self,
        cpu: &Cpu,
        ends: &[u32],
        local: impl Fn(u32) -> bool + Copy,
        absent: impl Fn(u32) -> bool + Copy,
        packed: bool,
    ) -> u64 {
        self.counted((cpu, None), ends, local, absent, packed).triangles
    }

    /// Counts as [`Self::count_with`] does, and the triangles at the vertices of a window, if there is one.
    fn counted(
        &self,
        (cpu, vertices): (&Cpu, Option<VertexCounters>),
        ends: &[u32],
        local: impl Fn(u32) -> bool + Copy,
        absent: impl Fn(u32) -> bool + Copy,
        packed: bool,
    ) -> BitmapState {
        let n = self.0.len() as u32;
        let mut resident = self.resident(local);
        let mut work = cpu.work(n, resident.size(), vertices);
        if packed {
            work.pack(&mut resident, cpu.hubs.min(n));
        }
        let mut start = 0;
        for end in ends.iter().copied().filter(|&end| end < n).chain([n]) {
            let row_block = self.row_block(start..end, absent);
            let row_block = row_block.view();
            let successors = SuccessorRows::new(&resident, &row_block);
            let end_of_hubs = cpu.hubs.clamp(start, end);
            // Two thirds of the other heads, even unprofitable ones, in buckets of one group, of two, and so on.
            let behind = end_of_hubs..if cpu.by_head == 0 { end_of_hubs } else { end - (end - end_of_hubs) / 3 };
            let groups = behind.len().div_ceil(by_head::GROUP) as u64;
            let arcs: Vec<u64> = (0..groups).collect();
            work.count(&resident, n, &successors, end_of_hubs, &HeadBuckets::new(behind, &arcs, groups)).unwrap();
            start = end;
        }
        let footprint = cpu.footprint();
        let declared = footprint.overhead(n) + Bytes((footprint.per_local - 12) * resident.numbers.len() as u64);
        assert!(work.bytes() <= declared, "{} of {declared}", work.bytes());
        work
    }

    /// The triangles at all numbers, counted in windows of `held` counters.
    fn counted_at_vertices(
        &self,
        cpu: &Cpu,
        held: u64,
        ends: &[u32],
        local: impl Fn(u32) -> bool + Copy,
        packed: bool,
    ) -> Vec<u64> {
        let cpu = Cpu { counters: held, room: Capacity { vertices: true, ..cpu.room }, ..cpu.clone() };
        let n = self.0.len() as u64;
        let locals: Vec<u32> = (0..n as u32).filter(|&b| local(b)).collect();
        let locals_at = if locals.len() as u64 == n { 0 } else { n };
        let all = if locals_at == 0 { n } else { n + locals.len() as u64 };
        let mut counts = Vec::new();
        for first in (0..all).step_by(held as usize) {
            let window = VertexCounters { window: first..all.min(first + held), locals_at };
            let work = self.counted((&cpu, Some(window)), ends, local, |_| false, packed);
            counts.extend(work.counters.unwrap().finish());
        }
        let mut found = counts[..n as usize].to_vec();
        locals.iter().zip(&counts[n as usize..]).for_each(|(&local, count)| found[local as usize] += count);
        found
    }
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
fn arcs_counted_by_their_heads_are_counted_once() {
    let rows = Rows::skewed(2200, 60, 5);
    let most = |b: u32| !b.is_multiple_of(5);
    let (all, part) = (rows.triangles(|_| true), rows.triangles(most));
    for (hubs, postponed) in [(0, 1), (64, 777), (2112, 1 << 14), (2200, 100)] {
        for arcs in [1, 20_000, 1 << 30] {
            let (cpu, of) = (cpu_by_head(hubs, postponed, arcs), format!("{hubs} hubs, batches of {arcs}"));
            assert_eq!(rows.count(&cpu, &[], |_| true), all, "{of}");
            assert_eq!(rows.count(&cpu, &[500, 501, 1500], most), part, "{of}, row blocks");
        }
    }
}

#[test]
fn heads_with_long_rows_and_many_arcs_pay_off() {
    let taken = |rows: &Rows, room: usize| {
        let n = rows.0.len() as u32;
        let resident = rows.resident(|_| true);
        let row_block = rows.row_block(0..n, |_| true);
        let row_block = row_block.view();
        let successors = SuccessorRows::new(&resident, &row_block);
        HeadBuckets::that_pay_off(&resident, 1000..n, room, |head| successors.row(head).len()).range().clone()
    };
    // Rows of 1,000 up to number 3,000, and behind them short ones that begin with a few of these.
    let row = |b: u32| if b < 3000 { (b.saturating_sub(1000)..b).collect() } else { (1500..1503).collect() };
    let rows = Rows((0..100_000).map(row).collect());
    let heads = taken(&rows, 1 << 20);
    assert!(heads.start == 1000 && (1503..3000).contains(&heads.end), "{heads:?}");
    // Few arcs in a batch: marking a row for them costs as much as probing by it.
    assert!(taken(&rows, 10).is_empty());
    let rows = Rows((0..100_000u32).map(|b| (b.saturating_sub(8)..b).collect()).collect());
    assert!(taken(&rows, 1 << 20).is_empty());
}

#[test]
fn any_number_of_hubs_gives_the_same_count() {
    let rows = Rows::skewed(700, 60, 1);
    let third = |b: u32| b % 3 == 1;
    let (all, part) = (rows.triangles(|_| true), rows.triangles(third));
    assert!(part > 1000);
    for hubs in [0, 1, 63, 64, 65, 127, 128, 129, 640, 699, 700] {
        for postponed in [0, 1, 5] {
            assert_eq!(rows.count(&cpu(hubs, postponed, 1), &[], |_| true), all, "{hubs} hubs");
            for ends in [&[64][..], &[1, 63, 65, 128, 300], &[100, 101, 102, 650]] {
                assert_eq!(
                    rows.count(&cpu(hubs, postponed, 1), ends, third),
                    part,
                    "{hubs} hubs, row blocks to {ends:?}"
                );
            }
        }
    }
}

#[test]
fn short_rows_are_counted_near_each_other_and_far_apart() {
    // Of each width of registers, and longer ones among them; the large graph's rows are far apart, so they are prefetched.
    for (n, longest) in [(200, 4), (300, 8), (400, 16), (500, 20), (30_000, 12)] {
        let rows = Rows::skewed(n, longest, 3);
        let third = |b: u32| b % 3 == 1;
        let (all, part) = (rows.triangles(|_| true), rows.triangles(third));
        assert!(all > 0, "{n}");
        assert_eq!(rows.count(&cpu(0, 0, 2), &[], |_| true), all, "{n}");
        assert_eq!(rows.count(&cpu(64, 5, 2), &[n / 3, n / 2], third), part, "{n}");
    }
}

#[test]
fn packed_rows_are_counted_as_they_were() {
    // A clique: all rows are packed. Every third row spread out: most or some are, as the clique is large or small.
    for n in [7, 64, 300] {
        let clique: Vec<Vec<u32>> = (0..n).map(|b| (0..b).collect()).collect();
        let triangles = u64::from(n) * u64::from(n - 1) * u64::from(n - 2) / 6;
        let spread = (n..3 * n).map(|b| if b % 3 == 0 { (0..b).step_by(70).collect() } else { vec![b - 1] });
        let spread = Rows(clique.iter().cloned().chain(spread).collect());
        let (clique, all) = (Rows(clique), spread.triangles(|_| true));
        for hubs in [0, 5, 64, 200] {
            assert_eq!(clique.count(&cpu(hubs.min(n), 0, 2), &[], |_| true), triangles, "{n}, {hubs} hubs");
            assert_eq!(spread.count(&cpu(hubs, 0, 2), &[], |_| true), all, "{n} and spread, {hubs} hubs");
        }
    }
}

#[test]
fn postponed_arcs_are_counted_once() {
    // Enough hubs for several blocks of rows, and rows of several lengths around those of the arrays.
    let rows = Rows::skewed(3500, 300, 2);
    let most = |b: u32| !b.is_multiple_of(5);
    let (all, part) = (rows.triangles(|_| true), rows.triangles(most));
    for hubs in [2048, 2049, 3500] {
        for postponed in [0, 1, 7, 1024, 1 << 17] {
            assert_eq!(rows.count(&cpu(hubs, postponed, 2), &[], |_| true), all, "{hubs} hubs, {postponed} postponed");
            let ends = [2000, 2047, 2050, 3000];
            assert_eq!(rows.count(&cpu(hubs, postponed, 2), &ends, most), part, "{hubs} hubs, {postponed} postponed");
        }
    }
}

#[test]
fn rows_around_the_number_of_successors_that_are_looked_up_together() {
    for longest in [1, 31, 32, 33, 64, 65] {
        // Every row as long as it can be, so that every pair of successors is an arc where it can be.
        let rows = Rows((0..200u32).map(|b| (b.saturating_sub(longest)..b).collect()).collect());
        assert_eq!(rows.count(&cpu(0, 0, 1), &[], |_| true), rows.triangles(|_| true), "rows of {longest}");
    }
}

#[test]
fn fewer_workers_than_threads_and_the_other_way_round() {
    let rows = Rows::skewed(3000, 200, 3);
    let all = rows.triangles(|_| true);
    for threads in [1, 2, 5] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for workers in [1, 2, 8] {
            let count = pool.install(|| rows.count(&cpu(3000, 2000, workers), &[500, 2500], |_| true));
            assert_eq!(count, all, "{threads} threads, {workers} workers");
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
    let count = |rows: &Rows| {
        let n = rows.0.len() as u32;
        let resident = rows.resident(|_| true);
        let row_block = rows.row_block(0..n, |_| true);
        let row_block = row_block.view();
        let successors = SuccessorRows::new(&resident, &row_block);
        end_of_hubs(&resident, &successors, n, false)
    };
    // A clique: rows are long, and 64 entries make a word.
    assert!(count(&Rows((0..2000).map(|b| (0..b).collect()).collect())) > 1000);
    assert_eq!(count(&Rows((0..2000u32).map(|b| b.checked_sub(1).into_iter().collect()).collect())), 0);
}

#[test]
fn every_corner_of_a_triangle_is_counted_at_its_vertex() {
    // Hubs that are counted at once and that are postponed, other successors in rows of all lengths, packed rows.
    let dense = Rows((0..300).map(|b| (0..b).filter(|c| c % 7 != b % 7).collect()).collect());
    let graphs = [Rows::skewed(2200, 60, 2), Rows::skewed(700, 12, 1), Rows::skewed(900, 60, 4), dense];
    let most = |b: u32| !b.is_multiple_of(5);
    for rows in &graphs {
        let n = rows.0.len() as u32;
        let (all, part) = (rows.at_vertices(|_| true), rows.at_vertices(most));
        assert_eq!(all.iter().sum::<u64>(), 3 * rows.triangles(|_| true));
        for hubs in [0, 64, 129, 2112, n].into_iter().filter(|&hubs| hubs <= n) {
            for (postponed, arcs) in [(0, 0), (7, 20_000), (1 << 14, 0), (1 << 14, 1 << 30)] {
                let cpu = cpu_by_head(hubs, postponed, arcs);
                for held in [1 << 20, 1000].into_iter().filter(|&held| held > 1000 || postponed < 1 << 14) {
                    let of =
                        format!("{n} numbers, {hubs} hubs, {postponed} postponed, {arcs} by head, {held} counters");
                    assert_eq!(rows.counted_at_vertices(&cpu, held, &[], |_| true, false), all, "{of}");
                    assert_eq!(rows.counted_at_vertices(&cpu, held, &[], |_| true, true), all, "{of}, packed");
                    assert_eq!(rows.counted_at_vertices(&cpu, held, &[n / 3, n / 2], most, false), part, "{of}");
                }
            }
        }
    }
}
