//! Graphs that a device prepares, and a store of its sorted runs.

use std::cmp::Reverse;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::engine::Engine;
use crate::error::GpuResult;
use crate::prepare::{DeviceArcs, RankedRows, RunStore, StoredRun};
use trimill_system::lock;

#[derive(Debug, Default, PartialEq)]
pub struct Prepared {
    pub distinct_arcs: u64,
    pub edges: u64,
    pub degrees: Vec<u32>,
    pub lengths: Vec<u32>,
    pub first_arcs: Vec<u64>,
    pub positions: Vec<u64>,
    /// The encoded bytes of all file blocks, one after another.
    pub bytes: Vec<u8>,
}

impl Prepared {
    /// Prepares the graph of `arcs` on a device, in file blocks of `rows` rows.
    pub fn on(engine: &mut dyn Engine, arcs: &[(u32, u32)], rows: usize, store: Arc<dyn RunStore>) -> GpuResult<Self> {
        let ids = ids_of(arcs);
        let words: Vec<u64> = arcs.iter().map(|&(u, v)| u64::from(u) << 32 | u64::from(v)).collect();
        let mut device = DeviceArcs::new(engine, Some(store))?;
        for batch in words.chunks(1000) {
            let mut buffer = device.buffer(1000, 3)?;
            buffer[..batch.len()].copy_from_slice(batch);
            device.put(buffer, batch.len())?;
        }
        let mut edges = device.clean(ids)?;
        let mut made = Self { distinct_arcs: edges.distinct_arcs, edges: edges.edges, ..Self::default() };
        made.degrees = vec![0; ids as usize];
        edges.degrees(&mut made.degrees)?;
        let (rank_of, ranked) = ranks(&made.degrees);
        let vertices = ranked.len() as u32;
        let mut on_device = RankedRows::new(edges, &rank_of, vertices.into())?;
        let cuts: Vec<u32> = (0..vertices).step_by(rows).chain([vertices]).collect();
        (made.first_arcs, made.positions) = (vec![0], vec![0]);
        let mut first = 0;
        while first + 1 < cuts.len() {
            let mut blocks = on_device.cut(&cuts, first)?;
            let [arc, position] = [&made.first_arcs, &made.positions].map(|all| all[all.len() - 1]);
            made.first_arcs.extend(blocks.first_arcs[1..].iter().map(|first| arc + first));
            made.positions.extend(blocks.positions[1..].iter().map(|at| position + at));
            // A few blocks are encoded at a time.
            let many = blocks.blocks.len();
            for first in (0..many).step_by(7) {
                let end = many.min(first + 7);
                let mut bytes = vec![0; (blocks.positions[end] - blocks.positions[first]) as usize];
                blocks.encode(first..end, &mut bytes)?;
                made.bytes.extend(bytes);
            }
            first = blocks.blocks.end;
        }
        made.lengths = vec![0; ranked.len()];
        on_device.lengths(&mut made.lengths)?;
        Ok(made)
    }
}

pub fn ids_of(arcs: &[(u32, u32)]) -> u64 {
    arcs.iter().map(|&(u, v)| u64::from(u.max(v)) + 1).max().unwrap_or(0)
}

/// The rank of each id, and the id of each rank, of those with an edge.
pub fn ranks(degrees: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut ranked: Vec<u32> = (0..degrees.len() as u32).filter(|&id| degrees[id as usize] > 0).collect();
    ranked.sort_by_key(|&id| Reverse((degrees[id as usize], id)));
    let mut rank_of = vec![u32::MAX; degrees.len()];
    for (rank, &id) in (0..).zip(&ranked) {
        rank_of[id as usize] = rank;
    }
    (rank_of, ranked)
}

/// Stores runs in memory, and counts them.
#[derive(Default)]
pub struct RunsInMemory {
    begun: AtomicUsize,
}

impl RunsInMemory {
    pub fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }
}

impl RunStore for RunsInMemory {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(RunInMemory::default()))
    }
}

#[derive(Default)]
pub struct RunInMemory(Mutex<Vec<u8>>);

impl StoredRun for RunInMemory {
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut all, end) = (lock(&self.0), at as usize + bytes.len());
        let longer = all.len().max(end);
        all.resize(longer, 0xff);
        all[at as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let all = lock(&self.0);
        bytes.copy_from_slice(&all[at as usize..][..bytes.len()]);
        Ok(())
    }

    /// Bit by bit, by the description in `graph/src/arcs.rs`.
    fn decode(&self, mut encoded: &[u8], keys: &mut [u64]) -> io::Result<()> {
        for keys in keys.chunks_mut(512) {
            let bit = |at: usize| u64::from(encoded[at / 8] >> (at % 8) & 1);
            let number = |at: usize, bits: usize| (0..bits).map(|i| bit(at + i) << i).sum::<u64>();
            let (first, low, of_heads) = (number(0, 64), number(64, 8) as usize, number(72, 8) as u32);
            let ones = 96 + (keys.len() * low).next_multiple_of(8);
            let narrowed = (first >> 32 << of_heads) + (first & 0xffff_ffff);
            let mut at = ones;
            for (i, key) in keys.iter_mut().enumerate() {
                while bit(at) == 0 {
                    at += 1;
                }
                let steps = (at - ones - i) as u64;
                let narrow = narrowed + (steps << low) + number(96 + i * low, low);
                *key = narrow >> of_heads << 32 | narrow & !(u64::MAX << of_heads);
                at += 1;
            }
            let zeros = number(80, 16) as usize;
            encoded = &encoded[ones / 8 + (keys.len() + zeros).div_ceil(64) * 8..];
        }
        Ok(())
    }
}
