//! Every step against a plain computation on the host.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use proptest::prelude::*;

use super::runs::Runs;
use super::work::PrepareSpace;
use super::*;
use crate::engine::Stream;
use crate::error::GpuError;
use crate::testing::partitions::{distances, put_groups};
use crate::testing::prepared::{Prepared, RunInMemory, RunsInMemory, ids_of, ranks};
use crate::testing::{Double, Pace, has_compiler};

/// Appends a sequence of numbers as the graph file has it: with the groups of bits that take the fewest bits.
fn sequence(numbers: &[u32], bytes: &mut Vec<u8>) {
    let further = |number: u32, [first, more]: [u32; 2]| {
        (0..).find(|groups| u64::from(number) >> (first + more * groups) == 0).unwrap()
    };
    let bits = |groups: [u32; 2]| {
        let of = |&number: &u32| u64::from(1 + groups[0] + further(number, groups) * (1 + groups[1]));
        numbers.iter().map(of).sum::<u64>()
    };
    let all = (1..=4).flat_map(|more| (0..=32).map(move |first| [first, more]));
    let groups = all.min_by_key(|&groups| bits(groups)).unwrap();
    let control: u64 = numbers.iter().map(|&number| u64::from(1 + further(number, groups))).sum();
    let header = u64::from(groups[0]) | u64::from(groups[1]) << 8 | control << 16;
    bytes.extend_from_slice(&header.to_le_bytes());
    put_groups(numbers, groups, bytes);
}

/// The expected result, on the host, by definition.
fn expected(arcs: &[(u32, u32)], rows: usize) -> Prepared {
    let distinct: BTreeSet<_> = arcs.iter().collect();
    let edges: BTreeSet<_> = arcs.iter().map(|&(u, v)| (u.min(v), u.max(v))).collect();
    let mut neighbours: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for &(u, v) in &edges {
        neighbours.entry(u).or_default().insert(v);
        neighbours.entry(v).or_default().insert(u);
    }
    let degree = |id| neighbours.get(&id).map_or(0, |around| around.len() as u32);
    let degrees: Vec<u32> = (0..ids_of(arcs) as u32).map(degree).collect();
    let (rank_of, ranked) = ranks(&degrees);
    let of_rank = |(own, id): (usize, &u32)| {
        let row = neighbours[id].iter().map(|&other| rank_of[other as usize]);
        let mut row: Vec<u32> = row.filter(|&rank| rank < own as u32).collect();
        row.sort_unstable();
        row
    };
    let all: Vec<Vec<u32>> = ranked.iter().enumerate().map(of_rank).collect();
    let (mut bytes, mut positions, mut first_arcs, mut arcs) = (vec![], vec![0], vec![0], 0);
    for block in all.chunks(rows) {
        let distances = distances(block.iter().map(|row| &row[..]));
        arcs += distances.len() as u64;
        sequence(&block.iter().map(|row| row.len() as u32).collect::<Vec<_>>(), &mut bytes);
        sequence(&distances, &mut bytes);
        positions.push(bytes.len() as u64);
        first_arcs.push(arcs);
    }
    Prepared {
        distinct_arcs: distinct.len() as u64,
        edges: edges.len() as u64,
        degrees,
        lengths: all.iter().map(|row| row.len() as u32).collect(),
        first_arcs,
        positions,
        bytes,
    }
}

fn made(arcs: &[(u32, u32)], rows: usize, pace: Pace) -> Prepared {
    let store = Arc::new(RunsInMemory::default());
    let mut double = Double::new(needed(arcs.len() as u64, ids_of(arcs)), pace).unwrap();
    let made = Prepared::on(&mut double, arcs, rows, store.clone()).unwrap();
    assert_eq!(store.begun(), 0);
    made
}

#[test]
fn graphs_of_every_kind_are_prepared_as_defined() {
    let Some(()) = has_compiler() else { return };
    let star: Vec<(u32, u32)> = (1..9000).map(|i| (0, i)).collect();
    let cases: Vec<Vec<(u32, u32)>> = vec![
        vec![],
        vec![(7, 3)],
        vec![(3, 7), (7, 3), (3, 7)],
        star.iter().map(|&(u, v)| (v, u)).chain(star.iter().copied()).collect(),
        (0..5000).map(|i| (i, i + 1)).collect(),
        (0..70).flat_map(|i| (0..i).map(move |j| (1000 * i, 1000 * j))).collect(),
        vec![(0, (1 << 18) - 1), (5, 1 << 17), (0, 5)],
    ];
    for arcs in cases {
        for rows in [1, 50] {
            assert!(made(&arcs, rows, Pace::Late) == expected(&arcs, rows), "{} arcs of {rows} rows", arcs.len());
        }
    }
}

#[test]
fn what_the_device_does_not_hold_at_once_is_made_in_ranges() {
    let Some(()) = has_compiler() else { return };
    let star: Vec<(u32, u32)> = (1..9000).flat_map(|i| [(0, i), (i, 0)]).collect();
    let dense: Vec<(u32, u32)> = (0..150).flat_map(|i| (0..150).map(move |j| (7 * i, 7 * j))).collect();
    let mixed: Vec<(u32, u32)> = (0..20_000u32).map(|i| (i * i % 4099, i * 31 % 2003 + i % 7)).collect();
    let mut seen = 0;
    for arcs in [star, dense, mixed] {
        let arcs: Vec<_> = arcs.into_iter().filter(|(u, v)| u != v).collect();
        let ids = ids_of(&arcs);
        for part in [5, 12] {
            let arena = crate::padded(needed(arcs.len() as u64 / part, ids) + 60 * ids);
            let store = Arc::new(RunsInMemory::default());
            let mut double = Double::new(arena, Pace::Random(part)).unwrap();
            let made = Prepared::on(&mut double, &arcs, 40, store.clone()).unwrap();
            assert_eq!(made, expected(&arcs, 40), "{} arcs", arcs.len());
            let stored = store.begun();
            seen += stored;
            if stored > 0 {
                is_told(arena, &arcs, Arc::new(Full), "the disk is full");
                is_told(arena, &arcs, Arc::new(Torn), "damaged");
            }
            assert_eq!(Arc::strong_count(&store), 1, "all runs were dropped");
        }
    }
    assert!(seen > 10, "{seen} runs");
}

/// Checks the error for runs that cannot be stored or read.
fn is_told(arena: u64, arcs: &[(u32, u32)], store: Arc<dyn RunStore>, what: &str) {
    let refused = Prepared::on(&mut Double::new(arena, Pace::Late).unwrap(), arcs, 40, store).unwrap_err();
    assert!(matches!(&refused, GpuError::Store { reason } if reason.contains(what)), "{refused}");
}

/// Keys that are far apart, near each other, equal, or with few bits in their low half.
fn keys() -> Vec<Vec<u64>> {
    let sorted = |mut keys: Vec<u64>| {
        keys.sort_unstable();
        keys
    };
    let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    vec![
        vec![u64::MAX],
        vec![0, u64::MAX],
        vec![5; 9_001],
        (0..4096).collect(),
        sorted((0..20_000).map(spread).collect()),
        sorted((0..5_000).map(|i| spread(i) >> 40 << 32 | spread(i) & 0xfff).collect()),
        sorted((0..12_345).map(|i| spread(i / 3) >> 1).collect()),
        (0..700).map(|i| if i < 600 { i << 32 } else { u64::MAX - 700 + i }).collect(),
    ]
}

#[test]
fn runs_are_encoded_as_described_and_decoded_from_any_place() {
    let Some(()) = has_compiler() else { return };
    for keys in keys() {
        let count = keys.len() as u64;
        let mut double = Double::new(4 * needed(count, 1), Pace::Late).unwrap();
        let mut work = PrepareSpace::new(&mut double).unwrap();
        let sorted = work.take_keys(count).unwrap();
        work.send(sorted.keys, bytemuck::cast_slice(&keys)).unwrap();
        let mut runs = Runs::new(Some(Arc::new(RunsInMemory::default())));
        runs.fetch(&mut work, sorted, count).unwrap();
        for end in [keys[0], keys[keys.len() / 3], keys[keys.len() - 1]] {
            assert_eq!(runs.below(end).unwrap(), [keys.partition_point(|&key| key < end) as u64]);
        }
        for range in [0..count, 0..count / 2, count / 3..count, count / 5..count / 5 + 1] {
            let (from, to) = ([range.start], [range.end]);
            let before = work.next();
            let (loaded, many) = runs.load(&mut work, &from, &to).unwrap();
            assert_eq!(many, range.end - range.start);
            let mut found = vec![0u64; many as usize];
            work.engine.read(Stream::Compute, loaded.keys, bytemuck::cast_slice_mut(&mut found)).unwrap();
            assert!(found == keys[range.start as usize..range.end as usize], "{range:?} of {count}");
            work.release(before);
        }
    }
}

struct Full;

impl RunStore for Full {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        Err(io::Error::other("the disk is full"))
    }
}

/// A store of runs that are read back with another number of bits than was stored.
struct Torn;

impl RunStore for Torn {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        Ok(Box::new(TornRun(RunInMemory::default())))
    }
}

struct TornRun(RunInMemory);

impl StoredRun for TornRun {
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(at, bytes)
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read(at, bytes)?;
        if at == 0 {
            bytes[8] ^= 1;
        }
        Ok(())
    }

    fn decode(&self, _: &[u8], keys: &mut [u64]) -> io::Result<()> {
        keys.fill(0);
        Ok(())
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let Some(mut double) = Double::new(needed(10, 100), Pace::Late) else { return };
    let mut arcs = DeviceArcs::new(&mut double, None).unwrap();
    arcs.put(Box::new(vec![1u64; 10]), 10).unwrap();
    let many = 1 << 20;
    let refused = arcs.put(Box::new(vec![0u64; many]), many);
    assert!(matches!(refused, Err(GpuError::Budget { .. })), "{refused:?}");
    assert_eq!(arcs.taken(), 10);
    assert!(matches!(arcs.clean(1 << 30).err(), Some(GpuError::Budget { .. })));
    let large = DeviceArcs::new(&mut double, None).unwrap().clean((1 << MOST_ID_BITS) + 1);
    assert!(matches!(large.err(), Some(GpuError::Budget { .. })));
}

fn sorted(keys: &[u64], low: u32, bits: u32) -> Vec<u64> {
    let mut double = Double::new(needed(keys.len() as u64, 1), Pace::Late).unwrap();
    let mut work = PrepareSpace::new(&mut double).unwrap();
    let buffers = work.take_keys(keys.len() as u64).unwrap();
    work.take_sort(keys.len() as u64, 0).unwrap();
    work.send(buffers.keys, bytemuck::cast_slice(keys)).unwrap();
    let sorted = work.sort(buffers, keys.len() as u64, low, bits).unwrap().keys;
    let mut found = vec![0u64; keys.len()];
    work.engine.read(Stream::Compute, sorted, bytemuck::cast_slice_mut(&mut found)).unwrap();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_graph_is_prepared_as_defined(
        arcs in prop::collection::vec((0u32..300, 0u32..300), 0..3000),
        (stretch, rows) in (1u32..40, 1usize..80),
        seed in 0u64..1000,
    ) {
        let Some(()) = has_compiler() else { return Ok(()) };
        let arcs: Vec<_> = arcs.into_iter().filter(|(u, v)| u != v).map(|(u, v)| (u * stretch, v * v / 9)).collect();
        let arcs: Vec<_> = arcs.into_iter().filter(|(u, v)| u != v).collect();
        prop_assert_eq!(made(&arcs, rows, Pace::Random(seed)), expected(&arcs, rows));
    }

    #[test]
    fn keys_are_sorted_by_the_bits_asked_for_and_equal_ones_stay_in_order(
        keys in prop::collection::vec(any::<u64>(), 1..20_000),
        (low, bits) in (0u32..40, 1u32..24),
        skew in 0u32..60,
    ) {
        let Some(()) = has_compiler() else { return Ok(()) };
        let keys: Vec<u64> = keys.into_iter().enumerate().map(|(i, key)| if i % 3 == 0 { key >> skew } else { key }).collect();
        let mut expected = keys.clone();
        // Whole digits are sorted.
        let mask = u64::MAX >> (64 - bits.next_multiple_of(8));
        expected.sort_by_key(|key| key >> low & mask);
        prop_assert!(sorted(&keys, low, bits) == expected);
    }
}
