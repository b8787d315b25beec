//! Peels on the cores. Falling edges are sorted by both ends ([`super::ends`]). Rows of neighbours are lists, where an edge's triangles are found at
//! one end ([`super::triangles`]), or bits if these are dense, where each end lowers the edges of its own row ([`super::bits`]). Many rounds are
//! short, so a round has four parallel steps: ends of edges, marks in rows, triangles, rows without these edges. Very many falling edges are treated
//! in several groups; edges of later groups still count as left.
//!
//! Cost of a round: for each falling edge, the row of one end, up to the last triangle, as lists, or of both ends as bits; and the row of each end,
//! once or twice. Memory: that of [`Neighbours`] and, if free, of [`NeighbourBits`]; up to 40 bytes for each edge of a group, which has about a tenth
//! of the edges at most; for each thread 6 bytes a vertex, and some for the edges of a task.

use std::mem::take;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::bits::NeighbourBits;
use super::bits::search::{self, BitScratch};
use super::ends::{CutLists, FallingEnd, vertex};
use super::falling::{EdgeValues, Reached, TakenTriangles};
use super::neighbours::{Neighbours, gallop};
use super::remaining::{RemainingEdges, is_left};
use super::triangles::{self, ListScratch};
use trimill_counting::{FALLEN, Peeling};
use trimill_system::mapped::zeros;
use trimill_system::parallel::{self, IdleValues};
use trimill_system::{Control, Result};

/// Below these numbers of edges or row entries, one thread is used.
const FEW: usize = 1 << 10;
const FEW_ENTRIES: usize = 1 << 12;

/// Row entries that a task reads: about the least, and about the most if it has edges of several vertices. The most ends of one vertex in a task.
const TASK_ENTRIES: usize = 1 << 11;
const LARGE_TASK: usize = 1 << 15;
const GROUP_ENDS: usize = 1 << 14;

/// Parts of a round's edges or of the gathered ones, for each thread; a part has at least `PART` edges.
const TASKS: usize = 4;
const PART: usize = 1 << 8;

/// Falling edges, ascending; and the ends of falling edges with triangles, ascending by tail and by head.
struct FallingPart {
    edges: Vec<u32>,
    of_tails: Vec<FallingEnd>,
    of_heads: Vec<FallingEnd>,
}

/// The ends of falling edges at some vertices, and their tasks.
struct EndsPart {
    ends: Vec<FallingEnd>,
    tasks: Vec<EndsTask>,
}

struct EndsTask {
    ends: Range<usize>,
    entries: usize,
}

/// The work of a round after its triangles were taken.
enum LastStep<'r> {
    Settle(&'r EndsPart),
    Store(&'r FallingPart),
    /// The edges that fall next, of one thread.
    Sort(Vec<u32>),
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
    /// The edges that fall in the next round, in ascending lists.
    falling: Vec<Vec<u32>>,
    idle: IdleValues<Scratch>,
}

impl<'a> OnCores<'a> {
    /// Begins peeling, with `room` bytes in addition to [`Self::bytes`].
    pub(super) fn new(edges: &'a RemainingEdges, values: Vec<u32>, room: u64, control: &'a Control) -> Self {
        let values: Vec<AtomicU32> = values.into_iter().map(AtomicU32::new).collect();
        let lists = Neighbours::new(&edges.firsts, &edges.heads);
        let rows = NeighbourBits::new(lists, room).map_or_else(Rows::Lists, Rows::Bits);
        Self {
            edges,
            values,
            control,
            rows,
            gathered: Vec::new(),
            bound: 0,
            falling: Vec::new(),
            idle: IdleValues::default(),
        }
    }

    /// Bytes for peeling, besides the edges: neighbours; falling and gathered edges, at worst all; ends of a group; buffers of threads.
    pub(super) fn bytes(vertices: u64, edges: u64, threads: u64) -> u64 {
        Neighbours::bytes(vertices, edges) + (4 + 4 + 4) * edges + threads * Scratch::bytes(vertices)
    }

    fn value(&self, edge: u32) -> u32 {
        self.values[edge as usize].load(Relaxed)
    }

    fn most_removed(&self) -> usize {
        FEW.max(self.edges.edges() / 10)
    }

    fn remove(&mut self, falling: &CutLists<'_, u32>, parts: Range<usize>, level: u32) {
        let is_much = falling.parts() > 1;
        let falling = in_parallel(is_much, parts, |i| self.put_ends(falling.part(i)));
        // The parts' ends of tails ascend when concatenated.
        let lists = falling.iter().map(|part| &part.of_tails[..]).chain(falling.iter().map(|part| &part.of_heads[..]));
        let ends = CutLists::new(lists, falling.len(), |end| end >> 32 << 32);
        let ends = in_parallel(is_much, 0..ends.parts(), |i| self.mark(ends.part(i)));
        let entries = ends.iter().flat_map(|part| &part.tasks).map(|task| task.entries).sum::<usize>();
        let most = TASK_ENTRIES.max(entries / (TASKS * rayon::current_num_threads()));
        let tasks = ends.iter().flat_map(|part| self.divide(part, most));
        in_parallel(entries >= FEW_ENTRIES, tasks, |ends| self.take_triangles(ends, level));
        let mut steps: Vec<LastStep<'_>> =
            ends.iter().map(LastStep::Settle).chain(falling.iter().map(LastStep::Store)).collect();
        for Scratch { taken, .. } in self.idle.all_mut() {
            let Reached { falling, gathered } = take(&mut taken.reached);
            steps.push(LastStep::Sort(falling));
            match self.gathered.first_mut() {
                Some(first) if gathered.len() < PART => first.extend(gathered),
                _ => self.gathered.push(gathered),
            }
        }
        let reached = in_parallel(is_much, steps, |step| self.end(step, level));
        self.falling.extend(reached.into_iter().filter(|list| !list.is_empty()));
    }

    fn end(&self, step: LastStep<'_>, level: u32) -> Vec<u32> {
        match step {
            LastStep::Settle(part) => {
                let ends = part.ends.chunk_by(|&a, &b| vertex(a) == vertex(b));
                ends.for_each(|ends| self.rows.settle(ends));
            }
            LastStep::Store(part) => {
                part.edges.iter().for_each(|&edge| self.values[edge as usize].store(FALLEN | level, Relaxed));
            }
            LastStep::Sort(mut edges) => {
                edges.sort_unstable();
                return edges;
            }
        }
        Vec::new()
    }

    /// Marks the values of ascending edges, which keep their triangles, and lists the ends of edges with triangles.
    fn put_ends(&self, edges: Vec<u32>) -> FallingPart {
        let RemainingEdges { firsts, heads, .. } = self.edges;
        let (mut of_tails, mut of_heads) = (Vec::with_capacity(edges.len()), Vec::with_capacity(edges.len()));
        let mut tail = 0;
        for &edge in &edges {
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
            of_tails.push(tail << 32 | head);
            of_heads.push(head << 32 | tail);
        }
        of_heads.sort_unstable();
        FallingPart { edges, of_tails, of_heads }
    }

    /// Marks edges in the rows of their sorted ends, and cuts these into tasks between vertices.
    fn mark(&self, mut ends: Vec<FallingEnd>) -> EndsPart {
        let rows = &self.rows;
        let mut tasks = Vec::new();
        let mut task = EndsTask { ends: 0..0, entries: 0 };
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
        EndsPart { ends, tasks }
    }

    /// The tasks of a part, joined up to `LARGE_TASK` entries; edges of one vertex are split by about `most` entries, or four rows if that is more.
    fn divide<'e>(&self, part: &'e EndsPart, most: usize) -> Vec<&'e [FallingEnd]> {
        let mut tasks = Vec::new();
        let (mut first, mut entries) = (0, 0);
        for (task, next) in part.tasks.iter().zip(part.tasks[1..].iter().map(Some).chain([None])) {
            entries += task.entries;
            if next.is_some_and(|next| entries + next.entries <= most.min(LARGE_TASK)) {
                continue;
            }
            let ends = &part.ends[first..task.ends.end];
            let length = ends.first().map_or(0, |&end| self.rows.length(vertex(end)));
            let parts = (entries / most.max(4 * length)).max(ends.len().div_ceil(GROUP_ENDS)).max(1);
            tasks.extend(ends.chunks(ends.len().div_ceil(parts).max(1)));
            (first, entries) = (task.ends.end, 0);
        }
        tasks
    }

    fn take_triangles(&self, ends: &[FallingEnd], level: u32) {
        let new = || Scratch::new(self.edges.vertices());
        let values = EdgeValues { values: &self.values, level, bound: self.bound };
        self.idle.with(new, |Scratch { lists, bits, taken }| {
            for group in ends.chunk_by(|&a, &b| vertex(a) == vertex(b)) {
                match &self.rows {
                    Rows::Lists(rows) => triangles::take_group(rows, group, values, lists, taken),
                    Rows::Bits(rows) => search::take_group(rows, group, values, bits, taken),
                }
            }
        });
    }
}

fn total(lists: &[Vec<u32>]) -> usize {
    lists.iter().map(Vec::len).sum()
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
        let least = in_parallel(total(&self.gathered) >= FEW, &mut self.gathered, |part| {
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
        self.falling = in_parallel(total(&self.gathered) >= FEW, &self.gathered, |part| {
            let mut falling: Vec<u32> = part.iter().copied().filter(|&edge| self.value(edge) <= level).collect();
            falling.sort_unstable();
            falling
        });
        Ok(total(&self.falling) as u64)
    }

    fn round(&mut self, level: u32) -> Result<u64> {
        let falling = take(&mut self.falling);
        let many = total(&falling);
        let parts = (many / PART).clamp(1, TASKS * rayon::current_num_threads());
        let groups = many.div_ceil(self.most_removed());
        let falling = CutLists::new(falling.iter().map(Vec::as_slice), parts.max(groups), |edge| edge);
        let all = falling.parts();
        for group in 0..groups {
            self.control.check()?;
            self.remove(&falling, all * group / groups..all * (group + 1) / groups, level);
        }
        Ok(total(&self.falling) as u64)
    }

    fn worth_leaving(&self, all: u64) -> u64 {
        all / 2
    }

    fn values(&mut self) -> Result<Vec<u32>> {
        // Frees the buffers of rounds, which are not in use now.
        self.idle = IdleValues::default();
        let mut values = zeros(self.values.len());
        values.par_iter_mut().zip(&self.values).for_each(|(to, value): (&mut u32, _)| *to = value.load(Relaxed));
        Ok(values)
    }
}
