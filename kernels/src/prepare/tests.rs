//! Every step against a plain computation on the host.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::work::PrepareSpace;
use super::*;
use crate::engine::{Engine, HostWords, Stream};
use crate::error::GpuError;
use crate::testing::partitions::put_groups;
use crate::testing::{Double, Pace, has_compiler};

/// What preparing a graph gives.
#[derive(Debug, Default, PartialEq)]
struct Made {
    distinct_arcs: u64,
    edges: u64,
    ids: Vec<u32>,
    order: Vec<u32>,
    degrees: Vec<(u32, u32)>,
    probes: u64,
    longest: u32,
    first_arcs: Vec<u64>,
    positions: Vec<u64>,
    bytes: Vec<u8>,
}

/// A sequence of numbers, by the description of the graph file: of all groups of bits those with which it has the fewest bits.
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

/// Begins a file block every `rows` rows.
fn cuts(vertices: u32, rows: usize) -> Vec<u32> {
    (0..vertices).step_by(rows).chain([vertices]).collect()
}

/// On the host, by definition.
fn expected(arcs: &[(u32, u32)], rows: usize) -> Made {
    let distinct: BTreeSet<_> = arcs.iter().collect();
    let edges: BTreeSet<_> = arcs.iter().map(|&(u, v)| (u.min(v), u.max(v))).collect();
    let mut neighbours: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for &(u, v) in &edges {
        neighbours.entry(u).or_default().insert(v);
        neighbours.entry(v).or_default().insert(u);
    }
    let ids: Vec<u32> = neighbours.keys().copied().collect();
    let mut ranked = ids.clone();
    ranked.sort_by_key(|id| (std::cmp::Reverse(neighbours[id].len()), std::cmp::Reverse(*id)));
    let rank = |id: u32| ranked.iter().position(|&other| other == id).unwrap() as u32;
    let order = ranked.iter().map(|id| ids.binary_search(id).unwrap() as u32).collect();
    let mut degrees: Vec<(u32, u32)> = Vec::new();
    for (first, id) in (0..).zip(&ranked) {
        let degree = neighbours[id].len() as u32;
        if degrees.last().is_none_or(|last| last.0 != degree) {
            degrees.push((degree, first));
        }
    }
    let of_rank = |(own, id): (usize, &u32)| {
        let mut row: Vec<u32> = neighbours[id].iter().map(|&other| rank(other)).filter(|&r| r < own as u32).collect();
        row.sort_unstable();
        row
    };
    let all: Vec<Vec<u32>> = ranked.iter().enumerate().map(of_rank).collect();
    let (mut bytes, mut positions, mut first_arcs, mut arcs) = (vec![], vec![0], vec![0], 0);
    for block in all.chunks(rows) {
        let mut distances = Vec::new();
        for row in block {
            let mut least = 0;
            for &successor in row {
                distances.push(successor - least);
                least = successor + 1;
            }
            arcs += row.len() as u64;
        }
        sequence(&block.iter().map(|row| row.len() as u32).collect::<Vec<_>>(), &mut bytes);
        sequence(&distances, &mut bytes);
        positions.push(bytes.len() as u64);
        first_arcs.push(arcs);
    }
    Made {
        distinct_arcs: distinct.len() as u64,
        edges: edges.len() as u64,
        ids,
        order,
        degrees,
        probes: all.iter().flatten().map(|&successor| all[successor as usize].len() as u64).sum(),
        longest: all.iter().map(Vec::len).max().unwrap_or(0) as u32,
        first_arcs,
        positions,
        bytes,
    }
}

/// On the device.
fn made(arcs: &[(u32, u32)], rows: usize, pace: Pace) -> Made {
    made_within(needed(arcs.len() as u64, ids_of(arcs)), arcs, rows, pace)
}

fn ids_of(arcs: &[(u32, u32)]) -> u64 {
    arcs.iter().map(|&(u, v)| u64::from(u.max(v)) + 1).max().unwrap_or(0)
}

/// On a device with so much memory.
fn made_within(arena: u64, arcs: &[(u32, u32)], rows: usize, pace: Pace) -> Made {
    let host = HostKeys { in_memory: arcs.len() as u64, store: None };
    made_with(arena, host, arcs, rows, pace)
}

/// On a device with so much memory, and a host that holds so much in runs.
fn made_with(arena: u64, host: HostKeys, arcs: &[(u32, u32)], rows: usize, pace: Pace) -> Made {
    let in_memory = host.in_memory;
    let ids = ids_of(arcs);
    let mut double = Double::new(arena, pace).unwrap();
    let words: Vec<u64> = arcs.iter().map(|&(u, v)| u64::from(u) << 32 | u64::from(v)).collect();
    let mut device = DeviceArcs::new(&mut double, host).unwrap();
    for batch in words.chunks(1000) {
        let mut buffer = device.buffer(1000, 3).unwrap();
        buffer[..batch.len()].copy_from_slice(batch);
        device.put(buffer, batch.len()).unwrap();
    }
    let edges = device.clean(ids, in_memory).unwrap();
    let mut made = Made { distinct_arcs: edges.distinct_arcs(), edges: edges.edges(), ..Made::default() };
    let mut ranks = RankedVertices::new(edges).unwrap();
    made.ids = vec![0; ranks.vertices() as usize];
    made.order = made.ids.clone();
    ranks.ids(&mut made.ids).unwrap();
    ranks.order(&mut made.order).unwrap();
    made.degrees = ranks.degrees().unwrap();
    let mut on_device = RankedRows::new(ranks).unwrap();
    let cuts = cuts(made.ids.len() as u32, rows);
    (made.first_arcs, made.positions) = (vec![0], vec![0]);
    let mut first = 0;
    while first + 1 < cuts.len() {
        let mut blocks = on_device.cut(&cuts, first).unwrap();
        let (arc, position) = (*made.first_arcs.last().unwrap(), *made.positions.last().unwrap());
        made.first_arcs.extend(blocks.first_arcs[1..].iter().map(|first| arc + first));
        made.positions.extend(blocks.positions[1..].iter().map(|at| position + at));
        // Some blocks at a time.
        let many = blocks.blocks.len();
        for first in (0..many).step_by(7) {
            let end = many.min(first + 7);
            let mut bytes = vec![0; (blocks.positions[end] - blocks.positions[first]) as usize];
            blocks.encode(first..end, &mut bytes).unwrap();
            made.bytes.extend(bytes);
        }
        first = blocks.blocks.end;
    }
    (made.probes, made.longest) = on_device.sums().unwrap();
    made
}

#[test]
fn graphs_of_every_kind_are_prepared_as_defined() {
    if !has_compiler() {
        return;
    }
    let star: Vec<(u32, u32)> = (1..9000).map(|i| (0, i)).collect();
    let cases: Vec<Vec<(u32, u32)>> = vec![
        vec![],
        vec![(7, 3)],
        vec![(3, 7), (7, 3), (3, 7)],
        star.iter().map(|&(u, v)| (v, u)).chain(star.iter().copied()).collect(),
        (0..5000).map(|i| (i, i + 1)).collect(),
        (0..70).flat_map(|i| (0..i).map(move |j| (1000 * i, 1000 * j))).collect(),
        vec![(0, (1 << 22) - 1), (5, 1 << 21), (0, 5)],
    ];
    for arcs in cases {
        for rows in [1, 50] {
            assert!(made(&arcs, rows, Pace::Late) == expected(&arcs, rows), "{} arcs of {rows} rows", arcs.len());
        }
    }
}

#[test]
fn what_the_device_does_not_hold_at_once_is_made_in_ranges() {
    if !has_compiler() {
        return;
    }
    let star: Vec<(u32, u32)> = (1..9000).flat_map(|i| [(0, i), (i, 0)]).collect();
    let dense: Vec<(u32, u32)> = (0..150).flat_map(|i| (0..150).map(move |j| (7 * i, 7 * j))).collect();
    let mixed: Vec<(u32, u32)> = (0..20_000u32).map(|i| (i * i % 4099, i * 31 % 2003 + i % 7)).collect();
    let mut seen = 0;
    for arcs in [star, dense, mixed] {
        let arcs: Vec<_> = arcs.into_iter().filter(|(u, v)| u != v).collect();
        let ids = ids_of(&arcs);
        for part in [5, 12] {
            let arena = crate::padded(needed(arcs.len() as u64 / part, ids) + 60 * ids);
            assert_eq!(made_within(arena, &arcs, 40, Pace::Random(part)), expected(&arcs, 40), "{} arcs", arcs.len());
            // No run, some or most of them are in memory.
            for in_memory in [0, arcs.len() as u64 / 3, arcs.len() as u64] {
                let store = Arc::new(Shelf::default());
                let host = HostKeys { in_memory, store: Some(store.clone()) };
                let made = made_with(arena, host, &arcs, 40, Pace::Random(part));
                assert_eq!(made, expected(&arcs, 40), "{} arcs, {in_memory} in memory", arcs.len());
                let stored = store.begun.load(Ordering::Relaxed);
                assert!(stored == 0 || in_memory < arcs.len() as u64, "{stored} runs");
                seen += stored;
                if in_memory == 0 && stored > 0 {
                    is_told_of_a_full_store(arena, &arcs);
                }
                assert_eq!(Arc::strong_count(&store), 1, "all runs were dropped");
            }
        }
    }
    assert!(seen > 20, "{seen} runs");
}

fn is_told_of_a_full_store(arena: u64, arcs: &[(u32, u32)]) {
    let full = HostKeys { in_memory: 0, store: Some(Arc::new(Full)) };
    let mut double = Double::new(arena, Pace::Late).unwrap();
    let mut device = DeviceArcs::new(&mut double, full).unwrap();
    let words: Vec<u64> = arcs.iter().map(|&(u, v)| u64::from(u) << 32 | u64::from(v)).collect();
    let put = device.put(HostWords::Plain(words), arcs.len());
    let refused = put.and_then(|()| device.clean(ids_of(arcs), 0).map(drop)).unwrap_err();
    assert!(matches!(&refused, GpuError::Store { reason } if reason.contains("full")), "{refused}");
}

/// Stores runs in memory, and checks how they are used.
#[derive(Default)]
struct Shelf {
    begun: AtomicUsize,
}

struct Shelved(Mutex<Vec<u64>>);

impl RunStore for Shelf {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Shelved(Mutex::default())))
    }
}

impl StoredRun for Shelved {
    fn write(&self, at: u64, keys: &[u64]) -> io::Result<()> {
        assert!(at.is_multiple_of(RUN_BLOCK as u64) && keys.is_sorted());
        let (mut all, end) = (self.0.lock().unwrap(), at as usize + keys.len());
        let longer = all.len().max(end);
        all.resize(longer, u64::MAX);
        all[at as usize..end].copy_from_slice(keys);
        Ok(())
    }

    fn read(&self, at: u64, keys: &mut [u64]) -> io::Result<()> {
        keys.copy_from_slice(&self.0.lock().unwrap()[at as usize..][..keys.len()]);
        Ok(())
    }
}

/// Stores nothing.
struct Full;

impl RunStore for Full {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        Err(io::Error::other("the disk is full"))
    }
}

#[test]
fn what_is_too_large_is_refused() {
    if !has_compiler() {
        return;
    }
    let mut double = Double::new(needed(10, 100), Pace::Late).unwrap();
    let mut arcs = DeviceArcs::new(&mut double, HostKeys { in_memory: 0, store: None }).unwrap();
    arcs.put(HostWords::Plain(vec![1; 10]), 10).unwrap();
    let many = 1 << 20;
    let refused = arcs.put(HostWords::Plain(vec![0; many]), many);
    assert!(matches!(refused, Err(GpuError::Budget { .. })), "{refused:?}");
    assert_eq!(arcs.taken(), 10);
    assert!(matches!(arcs.clean(1 << 30, 0).err(), Some(GpuError::Budget { .. })));
    let large =
        DeviceArcs::new(&mut double, HostKeys { in_memory: 0, store: None }).unwrap().clean((1 << MOST_ID_BITS) + 1, 0);
    assert!(matches!(large.err(), Some(GpuError::Budget { .. })));
}

/// Sorts on the device.
fn sorted(keys: &[u64], low: u32, bits: u32) -> Vec<u64> {
    let mut double = Double::new(needed(keys.len() as u64, 1), Pace::Late).unwrap();
    let mut work = PrepareSpace::new(&mut double).unwrap();
    let buffers = work.take_keys(keys.len() as u64).unwrap();
    work.take_sort(keys.len() as u64, 0).unwrap();
    // SAFETY: the test double reads the keys during the call.
    unsafe { work.engine.copy(buffers.keys, &[bytemuck::cast_slice(keys)]) }.unwrap();
    work.engine.record(Stream::Copy, 0).unwrap();
    work.engine.wait(Stream::Compute, 0).unwrap();
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
        if !has_compiler() {
            return Ok(());
        }
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
        if !has_compiler() {
            return Ok(());
        }
        let keys: Vec<u64> = keys.into_iter().enumerate().map(|(i, key)| if i % 3 == 0 { key >> skew } else { key }).collect();
        let mut expected = keys.clone();
        // Whole digits are sorted.
        let mask = u64::MAX >> (64 - bits.next_multiple_of(8));
        expected.sort_by_key(|key| key >> low & mask);
        prop_assert!(sorted(&keys, low, bits) == expected);
    }
}
