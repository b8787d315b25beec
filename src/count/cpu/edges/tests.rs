//! Counts on arcs against all pairs of successors.

use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use trimill_counting::{CountBackend, CounterMemory, Detail, EdgeShare, PartitionExtent};

use crate::count::cpu::by_head::HeadBuckets;
use crate::count::cpu::pack;
use crate::count::cpu::worker::LocalsRun;
use crate::count::cpu::{Cpu, RUNS_PER_THREAD, runs};
use crate::count::testing::Rows;
use trimill_system::Bytes;

/// The triangles on each arc, row by row.
type OnArcs = Vec<u32>;

impl Rows {
    /// Zeros for all arcs, and where those of each row begin.
    fn zeros(&self) -> (OnArcs, Vec<usize>) {
        let mut arcs = 0;
        let begin = |row: &Vec<u32>| {
            arcs += row.len();
            arcs - row.len()
        };
        let begins = self.0.iter().map(begin).collect();
        (vec![0; arcs], begins)
    }

    fn on_arcs(&self, local: impl Fn(u32) -> bool) -> OnArcs {
        let (mut found, begins) = self.zeros();
        self.each_triangle(local, |[a, b, c]| {
            for (from, to) in [(a, b), (a, c), (b, c)] {
                found[begins[from as usize] + self.0[from as usize].binary_search(&to).unwrap()] += 1;
            }
        });
        found
    }

    /// As [`Self::on_arcs`], counted by `cpu` in row blocks that end at `ends` and lack the rows that are `absent`.
    fn counted_on_arcs(
        &self,
        cpu: &mut Cpu,
        ends: &[u32],
        local: impl Fn(u32) -> bool + Copy,
        absent: impl Fn(u32) -> bool + Copy,
    ) -> OnArcs {
        let n = self.0.len() as u32;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let blocks: Vec<_> = starts.zip(ends.iter().copied().chain([n])).collect();
        let row_blocks: Vec<_> = blocks.iter().map(|&(start, end)| self.row_block(start..end, absent)).collect();
        let resident = self.resident(local);
        let (locals, arcs) = (resident.numbers.clone(), resident.size().arcs);
        let largest = row_blocks.iter().map(|row_block| row_block.view().size().bytes()).max().unwrap();
        let size = PartitionExtent { locals: locals.len() as u64, arcs, numbered: n, row_block_limit: largest.get() };
        let least = cpu.footprint().overhead(n) + cpu.footprint().resident(size.locals, arcs) + largest;
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let mut counter = cpu.begin(size, EdgeShare::ALL, Detail::Edges).unwrap();
        counter.resident(resident, &pool).unwrap();
        let (mut found, begins) = self.zeros();
        let mut enter = |numbers: Vec<u32>, mut counts: &[u32]| {
            for a in numbers.into_iter().map(|a| a as usize) {
                let (of_row, rest) = counts.split_at(self.0[a].len());
                found[begins[a]..].iter_mut().zip(of_row).for_each(|(sum, count)| *sum += count);
                counts = rest;
            }
            assert!(counts.is_empty());
        };
        for (row_block, (start, end)) in row_blocks.iter().zip(blocks) {
            counter.row_block(&row_block.view(), &pool).unwrap();
            let CounterMemory::BesidesSections(bytes) = counter.memory() else { panic!("another memory") };
            assert!(bytes + Bytes(4 * arcs + 12 * size.locals) <= least, "{bytes} of {least}");
            let mut counts = vec![7; row_block.view().size().arcs as usize];
            counter.row_block_edges(&mut counts, &pool).unwrap();
            enter((start..end).filter(|&b| !absent(b)).collect(), &counts);
        }
        let mut counts = vec![7; arcs as usize];
        for (i, counts) in counts.chunks_mut(100).enumerate() {
            counter.resident_edges(100 * i as u64, counts, &pool).unwrap();
        }
        enter(locals, &counts);
        assert_eq!(counter.finish().unwrap().triangles, self.triangles(local));
        found
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn triangles_are_counted_on_each_of_their_arcs(
        n in 2u32..700,
        longest in 1u64..60,
        seed in 0u64..1000,
        budget in prop_oneof![Just(0u64), 1u64 << 12..1 << 20, 1u64 << 26..1 << 27],
        room in 1usize..40_000,
        parts in 1u32..4,
        cuts in prop::collection::btree_set(1u32..700, 0..4),
        shared in any::<bool>(),
    ) {
        let rows = Rows::skewed(n, longest, seed);
        let local = |b: u32| b.wrapping_mul(0x9E37_79B1).is_multiple_of(parts);
        let mut cpu = Cpu::with_edges(Bytes(budget), n, n);
        prop_assert_eq!(cpu.hubs > 0, budget >= 1 << 26);
        if cpu.hubs > 0 {
            // In many batches; runs of more arcs than that are counted without hubs.
            cpu.by_head = room;
        }
        let ends: Vec<u32> = cuts.into_iter().filter(|&cut| cut < n).collect();
        let found = match shared {
            true => rows.counted_on_arcs(&mut cpu, &ends, local, |_| false),
            false => rows.counted_on_arcs(&mut cpu, &ends, local, local),
        };
        prop_assert_eq!(found, rows.on_arcs(local));
    }
}

#[test]
fn hubs_and_long_rows_are_counted_on_their_arcs() {
    let rows = Rows::skewed(2200, 300, 3);
    let expected = rows.on_arcs(|_| true);
    for budget in [0, 1 << 27] {
        let mut cpu = Cpu::with_edges(Bytes(budget), 2200, 2200);
        assert_eq!(cpu.hubs > 2000, budget > 0);
        assert!(rows.counted_on_arcs(&mut cpu, &[], |_| true, |_| true) == expected, "{budget}");
        assert!(rows.counted_on_arcs(&mut cpu, &[1000, 2000], |_| true, |_| false) == expected, "{budget}");
    }
}

#[test]
fn heads_that_pay_off_are_counted_on_their_arcs() {
    // Every 30th number, so that rows are not packed: 200 of them up to number 6,000, and behind that a few in the middle of these.
    let row = |b: u32| match b {
        _ if b % 30 >= 8 => Vec::new(),
        ..6000 => (b % 30..b).step_by(30).rev().take(200).rev().collect(),
        _ => (3000 + b % 30..6000).step_by(30).take((b % 12) as usize).collect(),
    };
    let rows = Rows((0..24_000).map(row).collect());
    let n = rows.0.len() as u32;
    let resident = rows.resident(|_| true);
    let pays_off = HeadBuckets::that_pay_off(&resident, 64..n, 1 << 20, |head| rows.0[head as usize].len());
    assert!(pays_off.range().contains(&3300), "{:?}", pays_off.range());
    let expected = rows.on_arcs(|_| true);
    for room in [20_000, 1 << 20] {
        let mut cpu = Cpu::with_edges(Bytes(1 << 30), n, n);
        assert!(cpu.by_head >= room);
        (cpu.hubs, cpu.by_head) = (64, room);
        assert!(rows.counted_on_arcs(&mut cpu, &[], |_| true, |_| true) == expected, "{room}");
        assert!(rows.counted_on_arcs(&mut cpu, &[3200, 3500], |_| true, |_| false) == expected, "{room}, row blocks");
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
    let rows = Rows((0..20_400).map(row).collect());
    let n = rows.0.len() as u32;
    let resident = rows.resident(|_| true);
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let arcs = |run: &LocalsRun<'_>| run.arcs(&resident);
    let runs: Vec<u64> =
        pool.install(|| runs(&resident, &mut vec![0; n as usize], RUNS_PER_THREAD).iter().map(arcs).collect());
    let large = runs.iter().position(|&arcs| arcs > ROOM).unwrap();
    let after = runs.iter().skip(large).find(|&&arcs| arcs <= ROOM).unwrap();
    assert!(large > 0 && runs[large - 1] + after <= ROOM, "{runs:?}");
    let mut cpu = Cpu::with_edges(Bytes(1 << 28), n, n);
    cpu.by_head = ROOM as usize;
    let expected = rows.on_arcs(|_| true);
    assert!(rows.counted_on_arcs(&mut cpu, &[], |_| true, |_| true) == expected);
    assert!(rows.counted_on_arcs(&mut cpu, &[40], |_| true, |_| false) == expected);
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
    let rows = Rows((0..3000).map(row).collect());
    let n = rows.0.len() as u32;
    assert!(pack::most_can_be_packed(&rows.resident(|_| true)));
    let expected = rows.on_arcs(|_| true);
    // Without room each addition is made by tail; with little, runs of more arcs have theirs made so.
    for room in [0, 5000, 1 << 20] {
        let mut cpu = Cpu::with_edges(Bytes(1 << 27), n, n);
        cpu.by_head = room;
        assert!(rows.counted_on_arcs(&mut cpu, &[], |_| true, |_| true) == expected, "{room}");
    }
    let mut small = Cpu::with_edges(Bytes(0), n, n);
    assert!(rows.counted_on_arcs(&mut small, &[], |_| true, |_| true) == expected);
}

#[test]
fn an_arc_is_in_more_triangles_than_planes_hold() {
    // Each arc of a clique is in as many triangles as there are other vertices.
    const N: u32 = 700;
    let rows = Rows((0..N).map(|b| (0..b).collect()).collect());
    let mut cpu = Cpu::with_edges(Bytes(1 << 27), N, N);
    assert!(cpu.hubs > 0);
    for ends in [&[][..], &[300]] {
        let found = rows.counted_on_arcs(&mut cpu, ends, |_| true, |_| false);
        assert!(found.iter().all(|&triangles| triangles == N - 2));
    }
}
