//! Peels on the cores.
//!
//! The edges that fall are sorted by both of their ends; each end lowers the values of the edges in its own row: of a list of neighbours
//! ([`super::triangles`]) or, where these are dense, of bits ([`super::bits`]).
//!
//! Many rounds are short, so a round has few parallel steps: the ends of edges; their order; their marks in the rows; triangles; and rows
//! without these edges. If very many edges fall, this is done with some of them at a time: those that wait are still left.
//!
//! Cost of a round: for each edge that falls, a row of each end, or twice the shorter one where they differ much; and the row of each end,
//! once or twice. Memory: that of [`Neighbours`], and where it is free that of [`NeighbourBits`]; 16 bytes for each edge that falls, of at most a quarter of the edges; and for each thread
//! 4 bytes a vertex, and some for the edges of a task.

use std::mem::take;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::bits::NeighbourBits;
use super::bits::search::{BitScratch, take_group};
use super::falling::{EdgeValues, FallingEnd, vertex};
use super::neighbours::Neighbours;
use super::remaining::{RemainingEdges, is_left};
use super::triangles::{PeelingScratch, TriangleSearch, entries_read};
use trimill_counting::{FALLEN, Peeling};
use trimill_system::mapped::zeros;
use trimill_system::{Control, Result, lock, parallel};

/// Fewer edges or row entries than this are not worth several threads.
const FEW: usize = 1 << 11;
const FEW_ENTRIES: usize = 1 << 15;

/// Row entries that a task reads, more or less; of ends of one vertex, whose row is not much longer; and how many of these it has.
const TASK_ENTRIES: usize = 1 << 13;
const GROUP_ENTRIES: usize = 1 << 16;
const GROUP_ENDS: usize = 1 << 14;

/// Tasks of a step for each thread.
const TASKS: usize = 4;

/// In the place of an end without triangles; comes last.
const NO_END: FallingEnd = FallingEnd::MAX;

/// Ends of falling edges, and about how many row entries are read for them.
struct EndsTask {
    ends: Range<usize>,
    entries: usize,
}

impl EndsTask {
    /// Returns this one; the next one begins at its end.
    fn begin_next(&mut self) -> Self {
        let next = Self { ends: self.ends.end..self.ends.end, entries: 0 };
        std::mem::replace(self, next)
    }
}

/// The edges of each vertex.
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

    /// How many of them are read at the end `a` of an edge, about.
    fn read(&self, a: u32, b: u32) -> usize {
        match self {
            Self::Lists(rows) => entries_read(rows, a, b),
            Self::Bits(rows) => rows.length(a).min(rows.length(b)),
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

/// The edges that are left, on the cores.
pub(super) struct OnCores<'a> {
    edges: &'a RemainingEdges,
    values: Vec<AtomicU32>,
    control: &'a Control,
    rows: Rows,
    gathered: Vec<u32>,
    bound: u32,
    falling: Vec<u32>,
    /// Memory for the ends of edges that fall.
    ends: Vec<FallingEnd>,
    /// Buffers that no thread is using, for lists and for bits. Only one of the two is used; that for bits is the smaller one.
    idle: Mutex<Vec<(PeelingScratch, BitScratch)>>,
}

impl<'a> OnCores<'a> {
    /// With `room` bytes beside [`Self::bytes`].
    pub(super) fn new(edges: &'a RemainingEdges, values: Vec<u32>, room: u64, control: &'a Control) -> Self {
        let values: Vec<AtomicU32> = values.into_iter().map(AtomicU32::new).collect();
        let lists = Neighbours::new(&edges.firsts, &edges.heads);
        let rows = NeighbourBits::new(lists, room).map_or_else(Rows::Lists, Rows::Bits);
        let (gathered, falling, ends) = (Vec::new(), Vec::new(), Vec::new());
        Self { edges, values, control, rows, gathered, bound: 0, falling, ends, idle: Mutex::default() }
    }

    /// Bytes that peeling so many vertices and edges takes on `threads` threads, besides the edges: their neighbours; edges that fall and
    /// are gathered, all of them at worst; the ends of some; the buffers of threads.
    pub(super) fn bytes(vertices: u64, edges: u64, threads: u64) -> u64 {
        Neighbours::bytes(vertices, edges)
            + (4 + 4 + 4) * edges
            + threads * PeelingScratch::bytes(vertices, GROUP_ENDS as u64)
    }

    fn value(&self, edge: u32) -> u32 {
        self.values[edge as usize].load(Relaxed)
    }

    /// Edges that are removed at a time.
    fn most_removed(&self) -> usize {
        FEW.max(self.edges.edges() / 4)
    }

    /// Removes edges, which ascend, and lowers the values of the others.
    fn remove(&mut self, falling: &[u32], level: u32) {
        let is_much = falling.len() >= FEW;
        let tasks = if is_much { TASKS * rayon::current_num_threads() } else { 1 };
        let mut ends = take(&mut self.ends);
        ends.resize(2 * falling.len(), NO_END);
        let each = falling.len().div_ceil(tasks);
        in_parallel(is_much, falling.chunks(each).zip(ends.chunks_mut(2 * each)), |(falling, ends)| {
            self.put_ends(falling, level, ends);
        });
        if is_much {
            ends.par_sort_unstable()
        } else {
            ends.sort_unstable()
        }
        ends.truncate(ends.partition_point(|&end| end != NO_END));
        let parts = by_vertex(&ends, ends.len().div_ceil(tasks));
        let mut rest = &mut ends[..];
        let marked = parts.iter().map(|part| {
            let (now, after) = take(&mut rest).split_at_mut(part.len());
            rest = after;
            (part.start, now)
        });
        let tasks = in_parallel(is_much, marked, |(first, ends)| self.mark(first, ends));
        let is_much_to_read = tasks.iter().flatten().map(|task| task.entries).sum::<usize>() >= FEW_ENTRIES;
        in_parallel(is_much_to_read, tasks.into_iter().flatten(), |task| self.take_triangles(&ends[task.ends], level));
        in_parallel(is_much, parts, |part| {
            for ends in ends[part].chunk_by(|&a, &b| vertex(a) == vertex(b)) {
                self.rows.settle(ends);
            }
        });
        for (scratch, _) in lock(&self.idle).iter_mut() {
            self.falling.append(&mut scratch.reached.falling);
            self.gathered.append(&mut scratch.reached.gathered);
        }
        ends.clear();
        self.ends = ends;
    }

    /// Marks the values of edges, which ascend, and puts down their ends, but for edges without triangles.
    fn put_ends(&self, falling: &[u32], level: u32, put: &mut [FallingEnd]) {
        let RemainingEdges { firsts, heads, .. } = self.edges;
        let mut tail = 0;
        for (&edge, put) in falling.iter().zip(put.chunks_exact_mut(2)) {
            // The next tail is near, but for the first one.
            if firsts[tail + 1] <= u64::from(edge) {
                tail += firsts[tail..].partition_point(|&first| first <= u64::from(edge)) - 1;
            }
            let (tail, head) = (tail as u64, u64::from(heads[edge as usize]));
            if self.values[edge as usize].swap(FALLEN | level, Relaxed) > 0 {
                put.copy_from_slice(&[tail << 32 | head, head << 32 | tail]);
            }
        }
    }

    /// Marks edges in the rows of their ends, which are those from the end `first` on, sorted, and cuts them into tasks.
    fn mark(&self, first: usize, ends: &mut [FallingEnd]) -> Vec<EndsTask> {
        let rows = &self.rows;
        let mut tasks = Vec::new();
        let mut task = EndsTask { ends: first..first, entries: 0 };
        for group in ends.chunk_by_mut(|&a, &b| vertex(a) == vertex(b)) {
            let a = vertex(group[0]);
            let length = rows.length(a);
            let most = TASK_ENTRIES + GROUP_ENTRIES.max(4 * length);
            task.entries += length.min(TASK_ENTRIES);
            for (i, &end) in (1..).zip(&*group) {
                task.ends.end += 1;
                task.entries += rows.read(a, end as u32);
                if task.entries > most || i % GROUP_ENDS == 0 {
                    tasks.push(task.begin_next());
                }
            }
            if task.entries > TASK_ENTRIES {
                tasks.push(task.begin_next());
            }
            rows.mark(group);
        }
        tasks.push(task);
        tasks
    }

    /// Lowers values for all ends of a task.
    fn take_triangles(&self, ends: &[FallingEnd], level: u32) {
        let idle = lock(&self.idle).pop();
        let new = || (PeelingScratch::new(self.edges.vertices()), BitScratch::default());
        let (mut scratch, mut bits) = idle.unwrap_or_else(new);
        let values = EdgeValues { values: &self.values, level, bound: self.bound };
        for group in ends.chunk_by(|&a, &b| vertex(a) == vertex(b)) {
            match &self.rows {
                Rows::Lists(neighbours) => TriangleSearch { neighbours, values }.take_group(group, &mut scratch),
                Rows::Bits(rows) => take_group(rows, group, values, &mut bits, &mut scratch.reached),
            }
        }
        lock(&self.idle).push((scratch, bits));
    }
}

/// Cuts sorted ends into parts of about so many, with all those of a vertex in one.
fn by_vertex(ends: &[FallingEnd], many: usize) -> Vec<Range<usize>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    while start < ends.len() {
        let end = (start + many).min(ends.len());
        let last = vertex(ends[end - 1]);
        let end = end + ends[end..].partition_point(|&end| vertex(end) == last);
        parts.push(start..end);
        start = end;
    }
    parts
}

/// What `part` makes of each of `items`, in their order.
fn in_parallel<T: Send, R: Send>(
    is_much: bool,
    items: impl IntoIterator<Item = T>,
    part: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if is_much { parallel::map(items, part) } else { items.into_iter().map(part).collect() }
}

fn those(items: &[u32], is: impl Fn(u32) -> bool + Sync + Send) -> Vec<u32> {
    match items.len() < FEW {
        true => items.iter().copied().filter(|&item| is(item)).collect(),
        false => items.par_iter().copied().filter(|&item| is(item)).collect(),
    }
}

impl Peeling for OnCores<'_> {
    fn least(&mut self) -> Result<Option<u32>> {
        let left = self.values.par_iter().map(|value| value.load(Relaxed)).filter(|&value| is_left(value));
        Ok(left.min())
    }

    fn gather(&mut self, bound: u32) -> Result<()> {
        self.bound = bound;
        let all = (0..self.edges.edges() as u32).into_par_iter();
        self.gathered = all.filter(|&edge| self.value(edge) <= bound).collect();
        Ok(())
    }

    fn least_gathered(&mut self) -> Result<Option<u32>> {
        self.gathered = those(&take(&mut self.gathered), |edge| is_left(self.value(edge)));
        Ok(self.gathered.iter().map(|&edge| self.value(edge)).min())
    }

    fn begin(&mut self, level: u32) -> Result<u64> {
        self.falling = those(&self.gathered, |edge| self.value(edge) <= level);
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
        // No round needs its buffers now.
        (self.ends, self.idle) = (Vec::new(), Mutex::default());
        let mut values = zeros(self.values.len());
        values.par_iter_mut().zip(&self.values).for_each(|(to, value): (&mut u32, _)| *to = value.load(Relaxed));
        Ok(values)
    }
}
