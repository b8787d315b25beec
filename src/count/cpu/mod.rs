//! The CPU backend, method `bitmap`.
//!
//! For each local `a` its row is marked in a bitmap of the worker, and the row of every head `b` is probed against it:
//! one shift and one test a probe, no merging, no branches that go wrong. All entries of `b`'s row lie below `b`, so
//! only the entries of `a`'s row before `b` are marked or can match.
//!
//! Where `b` is one of the first few thousand numbers (the hubs, where most arcs of a skewed graph end) and its row is
//! longer than that prefix of `a`'s, the roles are exchanged: `b`'s row lies ready as bits ([`hubs`]) and the prefix
//! probes it. So an arc costs about `min(d+(b), position of b in a's row)` probes.
//!
//! Parallel over locals in small runs (rayon). Memory: 16 bytes a local, a bitmap over the numbering for each worker
//! that has one, the hubs' bits.

mod hubs;

use std::sync::Mutex;

use rayon::prelude::*;

use super::{Backend, PartitionCounter, Terms};
use crate::bytes::Bytes;
use crate::error::Result;
use crate::graph::bits::{Bits, Marks};
use crate::lock;
use crate::partition::section::{Frame, Resident};
use hubs::Hubs;

/// Locals in a unit of parallel work.
const RUN: usize = 32;

/// The backend.
#[derive(Debug, Clone, Copy)]
pub struct Cpu {
    workers: u64,
    hubs: u32,
}

impl Cpu {
    /// Counts with as many workers as the current thread pool has, and with up to an eighth of `budget` in tables.
    pub fn new(budget: Bytes, vertices: u32) -> Self {
        let share = budget.get() / 16;
        let table = (u64::from(vertices).div_ceil(64) * 8).max(1);
        Self {
            workers: (share / table).clamp(1, rayon::current_num_threads() as u64),
            hubs: hubs::largest_count(Bytes(share)).min(vertices),
        }
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn method(&self) -> &'static str {
        "bitmap"
    }

    fn terms(&self) -> Terms {
        Terms {
            per_resident_arc: 4,
            per_local: 4 + 8 + 4,
            tables: |numbered, workers| Bytes(u64::from(numbered).div_ceil(64) * 8 * workers),
            workers: self.workers,
            fixed: hubs::bytes(self.hubs),
        }
    }

    fn begin<'a>(&'a self, resident: &'a Resident, numbered: u32) -> Result<Box<dyn PartitionCounter + 'a>> {
        Ok(Box::new(Counting {
            resident,
            numbered,
            cursors: vec![0; resident.numbers.len()],
            tables: (0..self.workers).map(|_| Mutex::default()).collect(),
            hubs: Hubs::new(self.hubs.min(numbered)),
            triangles: 0,
        }))
    }
}

struct Counting<'a> {
    resident: &'a Resident,
    numbered: u32,
    /// How much of each local's row the frames so far have covered.
    cursors: Vec<u32>,
    /// The bitmaps; all zero between uses, empty until the first.
    tables: Vec<Mutex<Vec<u64>>>,
    hubs: Hubs,
    triangles: u64,
}

impl PartitionCounter for Counting<'_> {
    fn frame(&mut self, frame: &Frame) -> Result<()> {
        let heads = HeadRows::new(self.resident, frame);
        self.hubs.take(&frame.range, |b| heads.row(b));
        let (resident, hubs, tables, numbered) = (self.resident, &self.hubs, &self.tables, self.numbered);
        self.triangles += self
            .cursors
            .par_chunks_mut(RUN)
            .enumerate()
            .map(|(run, cursors)| {
                let mut table = borrow(tables);
                table.resize((numbered as usize).div_ceil(64), 0);
                let mut count = 0;
                for (i, cursor) in cursors.iter_mut().enumerate() {
                    let row = resident.row(run * RUN + i);
                    let start = *cursor as usize;
                    let end = start + row[start..].partition_point(|&b| b < frame.range.end);
                    *cursor = end as u32;
                    count += count_row(&row[..end], start, &heads, hubs, &mut table);
                }
                count
            })
            .sum::<u64>();
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        Ok(self.triangles)
    }

    fn bytes(&self) -> Bytes {
        let tables = self.tables.iter().map(|t| Bytes::of::<u64>(lock(t).capacity() as u64)).sum::<Bytes>();
        tables + Bytes::of::<u32>(self.cursors.capacity() as u64) + self.hubs.bytes()
    }
}

/// A free table; where there are fewer tables than threads, waits for one.
fn borrow(tables: &[Mutex<Vec<u64>>]) -> std::sync::MutexGuard<'_, Vec<u64>> {
    let mine = rayon::current_thread_index().unwrap_or(0) % tables.len();
    (mine..tables.len()).chain(0..mine).find_map(|t| tables[t].try_lock().ok()).unwrap_or_else(|| lock(&tables[mine]))
}

/// Counts the triangles whose lowest corner has `row` and whose middle corner is one of `row[start..]`.
fn count_row(row: &[u32], start: usize, heads: &HeadRows<'_>, hubs: &Hubs, table: &mut [u64]) -> u64 {
    let mut count = 0;
    let mut marked = 0;
    // The first entry has no entry before it that could close a triangle.
    for (k, &b) in row.iter().enumerate().skip(start.max(1)) {
        if let Some(bits) = hubs.get(b, k) {
            count += row[..k].iter().map(|&c| bits[c as usize / 64] >> (c % 64) & 1).sum::<u64>();
            continue;
        }
        let head_row = heads.row(b);
        if head_row.is_empty() {
            continue;
        }
        for &c in &row[marked..k] {
            table[c as usize / 64] |= 1 << (c % 64);
        }
        marked = k;
        count += probe(head_row, table);
    }
    for &c in &row[..marked] {
        table[c as usize / 64] = 0;
    }
    count
}

/// How many of `row` are marked.
#[inline]
fn probe(row: &[u32], table: &[u64]) -> u64 {
    let (fours, rest) = row.as_chunks::<4>();
    let mut counts = [0; 4];
    for four in fours {
        for (count, &c) in counts.iter_mut().zip(four) {
            *count += table[c as usize / 64] >> (c % 64) & 1;
        }
    }
    counts.iter().sum::<u64>() + rest.iter().map(|&c| table[c as usize / 64] >> (c % 64) & 1).sum::<u64>()
}

/// The rows of all heads in a frame's range: locals' rows are resident, proxies' in the frame.
struct HeadRows<'a> {
    resident: &'a Resident,
    frame: &'a Frame,
    /// Which of the range is local; `None` when all of it is.
    local: Option<Bits>,
    /// The first local of the range.
    first: usize,
}

impl<'a> HeadRows<'a> {
    fn new(resident: &'a Resident, frame: &'a Frame) -> Self {
        let range = &frame.range;
        let first = resident.numbers.partition_point(|&number| number < range.start);
        let end = resident.numbers.partition_point(|&number| number < range.end);
        let local = (end - first < range.len()).then(|| {
            let marks = Marks::new(range.len() as u32);
            resident.numbers[first..end].par_iter().for_each(|&number| marks.set(number - range.start));
            marks.finish()
        });
        Self { resident, frame, local, first }
    }

    #[inline]
    fn row(&self, b: u32) -> &'a [u32] {
        let place = b - self.frame.range.start;
        match &self.local {
            None => self.resident.row(self.first + place as usize),
            Some(local) => {
                let before = local.rank(place);
                if local.contains(place) {
                    self.resident.row(self.first + before as usize)
                } else {
                    self.frame.row((place - before) as usize)
                }
            }
        }
    }
}
