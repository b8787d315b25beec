//! Peels on the cores.
//!
//! Falling edges are sorted by both ends ([`super::ends`]). Rows of neighbours are lists, where an edge's triangles are found at one end
//! ([`super::triangles`]), or bits if these are dense, where each end lowers the edges of its own row ([`super::bits`]). Many rounds are short, so a
//! round has few parallel steps: ends of edges, their order, marks in rows, triangles, rows without these edges. Very many falling edges are treated
//! in several groups; edges of later groups still count as left.
//!
//! Cost of a round: for each falling edge, the row of one end, up to the last triangle, as lists, or of both ends as bits; and the row of each end,
//! once or twice. Memory: that of [`Neighbours`] and, if free, of [`NeighbourBits`]; 32 bytes for each edge of a group, which has at most an eighth
//! of the edges; for each thread 6 bytes a vertex, and some for the edges of a task.

use std::mem::take;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::bits::NeighbourBits;
use super::bits::search::{self, BitScratch};
use super::ends::{EndsPart, FallingEnd, FallingEnds, vertex};
use super::falling::{EdgeValues, TakenTriangles};
use super::neighbours::{Neighbours, gallop};
use super::remaining::{RemainingEdges, is_left};
use super::triangles::{self, ListScratch};
use trimill_counting::{FALLEN, Peeling};
use trimill_system::mapped::zeros;
use trimill_system::{Control, Result, lock, parallel};

/// Below these numbers of edges or row entries, one thread is used.
const FEW: usize = 1 << 11;
const FEW_ENTRIES: usize = 1 << 15;

/// Row entries that a task reads, about at least; and the most ends of one vertex that it has.
const TASK_ENTRIES: usize = 1 << 13;
const GROUP_ENDS: usize = 1 << 14;

const TASKS: usize = 4;

struct EndsTask {
    ends: Range<usize>,
    entries: usize,
}

enum Rows {
    Lists(Neighbours),
    Bits(NeighbourBits),
}

impl Rows {
    /// Entries or words of a row.
    fn length(&self, vertex: u32) -> usize {
        match self {
            Self::Lists(rows) => rows.length(vertex),
            Self::Bits(rows) => rows.length(vertex),
        }
    }

    fn mark(&self, ends: &mut [FallingEnd]) {
        match self {
            Self::Lists(rows) => rows.mark(ends),
            Self::Bits(rows) => rows.mark(ends),
        }
    }

    fn settle(&self, ends: &[FallingEnd]) {
        match self {
            Self::Lists(rows) => rows.settle(ends),
            Self::Bits(rows) => rows.settle(ends),
        }
    }
}

struct Scratch {
    lists: ListScratch,
    bits: BitScratch,
    taken: TakenTriangles,
}

impl Scratch {
    fn new(vertices: usize) -> Self {
        Self { lists: ListScratch::new(vertices), bits: BitScratch::default(), taken: TakenTriangles::new() }
    }

    fn bytes(vertices: u64) -> u64 {
        let rows = ListScratch::bytes(vertices, GROUP_ENDS as u64) + BitScratch::bytes(vertices);
        rows + TakenTriangles::bytes(vertices)
    }
}

pub(super) struct OnCores<'a> {
    edges: &'a RemainingEdges,
    values: Vec<AtomicU32>,
    control: &'a Control,
    rows: Rows,
    /// The gathered edges, in parts that threads search in parallel.
    gathered: Vec<Vec<u32>>,
    bound: u32,
    falling: Vec<u32>,
    ends: FallingEnds,
    /// Buffers that are free for reuse.
    idle: Mutex<Vec<Scratch>>,
}

impl<'a> OnCores<'a> {
    /// With `room` bytes in addition to [`Self::bytes`].
    pub(super) fn new(edges: &'a RemainingEdges, values: Vec<u32>, room: u64, control: &'a Control) -> Self {
        let values: Vec<AtomicU32> = values.into_iter().map(AtomicU32::new).collect();
        let lists = Neighbours::new(&edges.firsts, &edges.heads);
        let rows = NeighbourBits::new(lists, room).map_or_else(Rows::Lists, Rows::Bits);
        let (gathered, falling, ends) = (Vec::new(), Vec::new(), FallingEnds::default());
        Self { edges, values, control, rows, gathered, bound: 0, falling, ends, idle: Mutex::default() }
    }

    /// Bytes for peeling, besides the edges: neighbours; falling and gathered edges, at worst all; ends of a group; buffers of threads.
    pub(super) fn bytes(vertices: u64, edges: u64, threads: u64) -> u64 {
        Neighbours::bytes(vertices, edges) + (4 + 4 + 4) * edges + threads * Scratch::bytes(vertices)
    }

    fn value(&self, edge: u32) -> u32 {
        self.values[edge as usize].load(Relaxed)
    }

    fn most_removed(&self) -> usize {
        FEW.max(self.edges.edges() / 8)
    }

    /// Removes ascending edges, and lowers the values of the others.
    fn remove(&mut self, falling: &[u32], level: u32) {
        let is_much = falling.len() >= FEW;
        let tasks = if is_much { TASKS * rayon::current_num_threads() } else { 1 };
        let mut ends = take(&mut self.ends);
        if ends.all.is_empty() {
            ends = FallingEnds::new(self.most_removed());
        }
        let each = falling.len().div_ceil(tasks);
        let put = falling.chunks(each).zip(ends.of_tails.chunks_mut(each).zip(ends.of_heads.chunks_mut(each)));
        let put =
            in_parallel(is_much, put, |(falling, (of_tails, of_heads))| self.put_ends(falling, of_tails, of_heads));
        let parts = ends.sort(each, &put, tasks);
        let FallingEnds { of_tails, of_heads, all } = &mut ends;
        let merged = parts.iter().zip(parallel::cut(all, parts.iter().map(|part| part.all().len())));
        let tasks = in_parallel(is_much, merged, |(part, ends): (&EndsPart, &mut [FallingEnd])| {
            part.merge(of_tails, of_heads, ends);
            self.mark(part.all().start, ends)
        });
        let entries = tasks.iter().flatten().map(|task| task.entries).sum::<usize>();
        let most = TASK_ENTRIES.max(entries / (TASKS * rayon::current_num_threads()));
        let tasks = tasks.into_iter().flatten().flat_map(|task| self.divide(task, all, most));
        in_parallel(entries >= FEW_ENTRIES, tasks, |ends| self.take_triangles(ends, level));
        in_parallel(is_much, parts, |part| {
            for ends in all[part.all()].chunk_by(|&a, &b| vertex(a) == vertex(b)) {
                self.rows.settle(ends);
            }
        });
        in_parallel(is_much, falling.chunks(each), |falling| {
            falling.iter().for_each(|&edge| self.values[edge as usize].store(FALLEN | level, Relaxed));
        });
        for (i, Scratch { taken, .. }) in lock(&self.idle).iter_mut().enumerate() {
            self.falling.append(&mut taken.reached.falling);
            let part = i % self.gathered.len();
            self.gathered[part].append(&mut taken.reached.gathered);
        }
        self.ends = ends;
    }

    /// Marks the values of ascending edges, which keep their triangles, and writes the ends of those with triangles; returns how many these are.
    fn put_ends(&self, falling: &[u32], of_tails: &mut [FallingEnd], of_heads: &mut [FallingEnd]) -> usize {
        let RemainingEdges { firsts, heads, .. } = self.edges;
        let (mut tail, mut put) = (0, 0);
        for &edge in falling {
            let value = &self.values[edge as usize];
            let triangles = value.load(Relaxed);
            value.store(FALLEN | triangles, Relaxed);
            if triangles == 0 {
                continue;
            }
            // The next tail is near, except the first one.
            if firsts[tail + 1] <= u64::from(edge) {
                tail += gallop(&firsts[tail..], 0, |&first| first <= u64::from(edge)) - 1;
            }
            let (tail, head) = (tail as u64, u64::from(heads[edge as usize]));
            (of_tails[put], of_heads[put]) = (tail << 32 | head, head << 32 | tail);
            put += 1;
        }
        put
    }

    /// Marks edges in the rows of their sorted ends, which begin at index `first`, and cuts these into tasks between vertices.
    fn mark(&self, first: usize, ends: &mut [FallingEnd]) -> Vec<EndsTask> {
        let rows = &self.rows;
        let mut tasks = Vec::new();
        let mut task = EndsTask { ends: first..first, entries: 0 };
        for group in ends.chunk_by_mut(|&a, &b| vertex(a) == vertex(b)) {
            let length = rows.length(vertex(group[0]));
            let read = group.iter().map(|&end| length.min(rows.length(end as u32))).sum::<usize>();
            task.entries += length.min(TASK_ENTRIES) + read;
            task.ends.end += group.len();
            if task.entries > TASK_ENTRIES {
                let next = EndsTask { ends: task.ends.end..task.ends.end, entries: 0 };
                tasks.push(std::mem::replace(&mut task, next));
            }
            rows.mark(group);
        }
        tasks.push(task);
        tasks
    }

    /// Cuts a task with many edges of one vertex into parts that read about `most` entries, or four times the vertex's row if that is more.
    fn divide<'e>(&self, task: EndsTask, ends: &'e [FallingEnd], most: usize) -> std::slice::Chunks<'e, FallingEnd> {
        let ends = &ends[task.ends];
        let length = ends.first().map_or(0, |&end| self.rows.length(vertex(end)));
        let parts = (task.entries / most.max(4 * length)).max(ends.len().div_ceil(GROUP_ENDS)).max(1);
        ends.chunks(ends.len().div_ceil(parts).max(1))
    }

    fn take_triangles(&self, ends: &[FallingEnd], level: u32) {
        let idle = lock(&self.idle).pop();
        let mut scratch = idle.unwrap_or_else(|| Scratch::new(self.edges.vertices()));
        let Scratch { lists, bits, taken } = &mut scratch;
        let values = EdgeValues { values: &self.values, level, bound: self.bound };
        for group in ends.chunk_by(|&a, &b| vertex(a) == vertex(b)) {
            match &self.rows {
                Rows::Lists(rows) => triangles::take_group(rows, group, values, lists, taken),
                Rows::Bits(rows) => search::take_group(rows, group, values, bits, taken),
            }
        }
        lock(&self.idle).push(scratch);
    }
}

fn in_parallel<T: Send, R: Send>(
    is_much: bool,
    items: impl IntoIterator<Item = T>,
    part: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if is_much { parallel::map(items, part) } else { items.into_iter().map(part).collect() }
}

impl Peeling for OnCores<'_> {
    fn least(&mut self) -> Result<Option<u32>> {
        let left = self.values.par_iter().map(|value| value.load(Relaxed)).filter(|&value| is_left(value));
        Ok(left.min())
    }

    fn gather(&mut self, bound: u32) -> Result<()> {
        self.bound = bound;
        let each = FEW.max(self.values.len().div_ceil(TASKS * rayon::current_num_threads()));
        let firsts = (0..self.values.len()).step_by(each);
        self.gathered = parallel::map(firsts, |first| {
            let edges = first..self.values.len().min(first + each);
            edges.map(|edge| edge as u32).filter(|&edge| self.value(edge) <= bound).collect()
        });
        Ok(())
    }

    fn least_gathered(&mut self) -> Result<Option<u32>> {
        let values = &self.values;
        let value = |edge: u32| values[edge as usize].load(Relaxed);
        let is_much = self.gathered.iter().map(Vec::len).sum::<usize>() >= FEW;
        let least = in_parallel(is_much, &mut self.gathered, |part| {
            let mut least = FALLEN;
            part.retain(|&edge| {
                least = least.min(value(edge));
                is_left(value(edge))
            });
            least
        });
        Ok(least.into_iter().min().filter(|&least| is_left(least)))
    }

    fn begin(&mut self, level: u32) -> Result<u64> {
        let is_much = self.gathered.iter().map(Vec::len).sum::<usize>() >= FEW;
        let falls =
            |part: &Vec<u32>| -> Vec<u32> { part.iter().copied().filter(|&edge| self.value(edge) <= level).collect() };
        self.falling = in_parallel(is_much, &self.gathered, falls).concat();
        Ok(self.falling.len() as u64)
    }

    fn round(&mut self, level: u32) -> Result<u64> {
        let mut falling = take(&mut self.falling);
        if falling.len() >= FEW {
            falling.par_sort_unstable()
        } else {
            falling.sort_unstable()
        }
        for falling in falling.chunks(self.most_removed()) {
            self.control.check()?;
            self.remove(falling, level);
        }
        Ok(self.falling.len() as u64)
    }

    fn worth_leaving(&self, all: u64) -> u64 {
        all / 2
    }

    fn values(&mut self) -> Result<Vec<u32>> {
        // Frees the buffers of rounds, which are not in use now.
        (self.ends, self.idle) = (FallingEnds::default(), Mutex::default());
        let mut values = zeros(self.values.len());
        values.par_iter_mut().zip(&self.values).for_each(|(to, value): (&mut u32, _)| *to = value.load(Relaxed));
        Ok(values)
    }
}
