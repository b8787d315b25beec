//! Peels on the cores.
//!
//! A round takes the edges that fall, grouped by the end with the longer row, in which the shorter ones are looked up
//! ([`super::triangles`]).
//!
//! Most rounds are short, so a round has few parallel steps: ends of edges; their order; triangles; and all that follows from these. The
//! values that a triangle lowers are noted in lists, each of which is applied by one thread: threads that change the same cache lines
//! wait for each other.
//!
//! Cost of a round: the shorter row of each edge that falls, a longer row for each group; together some three look-ups for each triangle
//! of the graph. Memory: that of [`Neighbours`]; 8 bytes for each edge that falls; and for each thread 12 bytes for 64 vertices, and
//! what it noted of a batch of edges.

use std::mem::take;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::neighbours::Neighbours;
use super::remaining::{RemainingEdges, is_left};
use super::states::EdgeStates;
use super::triangles::{ENTRIES_PER_PROBE, FallingEdge, LISTS, PeelingScratch, TriangleSearch};
use trimill_counting::{FALLEN, Peeling};
use trimill_system::control::Control;
use trimill_system::error::Result;
use trimill_system::mapped::zeros;
use trimill_system::{lock, parallel};

/// Fewer edges or look-ups than this are not worth several threads.
const FEW: usize = 1 << 12;
const FEW_PROBES: usize = 1 << 16;

/// Look-ups of a group, where the longer row is not much longer.
const PROBES: usize = 1 << 16;

/// Tasks of a step for each thread.
const TASKS: usize = 8;

/// Rows that a task makes shorter.
const SHORTENED: usize = 16;

/// Groups of edges that fall and have the longer row in common, and about how many look-ups they take.
#[derive(Default)]
struct GroupTask<'f> {
    groups: Vec<&'f [FallingEdge]>,
    probes: usize,
}

/// The edges that come to fall, and those that come to be gathered.
#[derive(Default)]
struct LoweredEdges {
    falling: Vec<u32>,
    gathered: Vec<u32>,
}

/// A part of the last step of a round.
#[derive(Clone, Copy)]
enum AfterTriangles<'f> {
    /// To lower the values of a list.
    Lower(usize),
    /// To mark edges as fallen.
    Settle(&'f [u32]),
    /// To make rows shorter.
    Shorten(&'f [u32]),
}

/// The edges that are left, on the cores.
pub(super) struct OnCores<'a> {
    edges: &'a RemainingEdges,
    values: Vec<AtomicU32>,
    states: EdgeStates,
    control: &'a Control,
    neighbours: Neighbours,
    gathered: Vec<u32>,
    bound: u32,
    falling: Vec<u32>,
    /// Memory for the edges of a round.
    ends: Vec<FallingEdge>,
    /// Buffers that no thread is using.
    idle: Mutex<Vec<PeelingScratch>>,
}

impl<'a> OnCores<'a> {
    pub(super) fn new(edges: &'a RemainingEdges, values: Vec<u32>, control: &'a Control) -> Self {
        let values: Vec<AtomicU32> = values.into_iter().map(AtomicU32::new).collect();
        let states = EdgeStates::left(values.len());
        let neighbours = Neighbours::new(&edges.firsts, &edges.heads);
        let (gathered, falling, ends) = (Vec::new(), Vec::new(), Vec::new());
        Self { edges, values, states, control, neighbours, gathered, bound: 0, falling, ends, idle: Mutex::default() }
    }

    /// Bytes that peeling so many vertices and edges takes on `threads` threads, besides the edges: their neighbours and states; edges that fall and
    /// are gathered, all of them at worst; the ends of some, and what they lower; the sets of bits, and what is taken from a row.
    pub(super) fn bytes(vertices: u64, edges: u64, threads: u64) -> u64 {
        Neighbours::bytes(vertices, edges)
            + (4 + 4 + 2 + 2) * edges
            + edges.div_ceil(4)
            + threads * (12 * (vertices / 64 + 1) + 4 * vertices)
    }

    fn value(&self, edge: u32) -> u32 {
        self.values[edge as usize].load(Relaxed)
    }

    /// Edges whose ends are put in order at a time.
    fn most_ends(&self) -> usize {
        FEW.max(self.edges.edges() / 8)
    }

    /// Look-ups at a time: what these lower takes 16 bytes for each, or for each edge 2.
    fn most_probes(&self) -> usize {
        FEW_PROBES.max(self.edges.edges() / 8)
    }

    /// Lowers the values of all edges in a triangle with edges that fall, which are sorted.
    fn take_triangles(&mut self, ends: &[FallingEdge], level: u32) -> Result<()> {
        let mut tasks = self.tasks(ends).into_iter().peekable();
        while tasks.peek().is_some() {
            self.control.check()?;
            let (mut now, mut probes) = (Vec::new(), 0);
            while let Some(task) = tasks.next_if(|_| probes <= self.most_probes()) {
                probes += task.probes;
                now.push(task);
            }
            let is_much = probes >= FEW_PROBES;
            match is_much {
                true => parallel::each(now, |task| self.take_task(&task)),
                false => now.iter().for_each(|task| self.take_task(task)),
            }
            let lists: Vec<_> = (0..LISTS).map(AfterTriangles::Lower).collect();
            self.finish(&lists, is_much, level);
        }
        Ok(())
    }

    /// Edges, which ascend, with their tails and heads.
    fn with_ends<'e>(&'e self, edges: &'e [u32]) -> impl Iterator<Item = (u32, [u32; 2])> {
        let RemainingEdges { firsts, heads, .. } = self.edges;
        let mut tail = 0;
        edges.iter().map(move |&edge| {
            // The next tail is near, but for the first one.
            if firsts[tail + 1] <= u64::from(edge) {
                tail += firsts[tail..].partition_point(|&first| first <= u64::from(edge)) - 1;
            }
            (edge, [tail as u32, heads[edge as usize]])
        })
    }

    /// Marks edges as falling; returns the vertices whose rows are to be made shorter.
    fn mark(&self, falling: &[u32], level: u32) -> Vec<u32> {
        let mut shorter = Vec::new();
        for (edge, ends) in self.with_ends(falling) {
            self.values[edge as usize].store(FALLEN | level, Relaxed);
            self.states.falls(edge);
            shorter.extend(ends.into_iter().filter(|&vertex| self.neighbours.note_fallen(vertex)));
        }
        shorter
    }

    /// Puts the ends of edges in order.
    fn put_ends(&self, falling: &[u32], put: &mut [FallingEdge]) {
        for ((edge, [tail, head]), put) in self.with_ends(falling).zip(put) {
            let (long, short) = match self.neighbours.length(tail) > self.neighbours.length(head) {
                true => (tail, head),
                false => (head, tail),
            };
            *put = FallingEdge { long, short, edge };
        }
    }

    /// Cuts sorted edges into groups that have the longer row in common, and large groups into several; groups into tasks.
    fn tasks<'f>(&self, falling: &'f [FallingEdge]) -> Vec<GroupTask<'f>> {
        let least = FEW_PROBES / TASKS;
        let (mut tasks, mut task) = (Vec::new(), GroupTask::default());
        for mut rest in falling.chunk_by(|a, b| a.long == b.long) {
            let row = self.neighbours.length(rest[0].long);
            let most = PROBES.max(4 * row);
            while !rest.is_empty() {
                let (mut probes, mut edges) = (0, 0);
                while edges < rest.len() && probes <= most {
                    probes += self.neighbours.length(rest[edges].short);
                    edges += 1;
                }
                let (group, after) = rest.split_at(edges);
                rest = after;
                task.groups.push(group);
                task.probes += probes + row / ENTRIES_PER_PROBE;
                if task.probes > least {
                    tasks.push(take(&mut task));
                }
            }
        }
        tasks.push(task);
        tasks
    }

    /// Notes the values that the triangles of a task lower.
    fn take_task(&self, task: &GroupTask<'_>) {
        let idle = lock(&self.idle).pop();
        let mut scratch = idle.unwrap_or_else(|| PeelingScratch::new(self.edges.vertices()));
        let search = TriangleSearch { states: &self.states, neighbours: &self.neighbours };
        task.groups.iter().for_each(|group| search.take_group(group, &mut scratch));
        lock(&self.idle).push(scratch);
    }

    /// Takes what is in a list of all threads from the values.
    fn apply(&self, list: usize, all: &[PeelingScratch], level: u32) -> LoweredEdges {
        let mut found = LoweredEdges::default();
        for &lowered in all.iter().flat_map(|scratch| &scratch.lowered[list]) {
            let (edge, by) = ((lowered >> 32) as u32, lowered as u32);
            let value = &self.values[edge as usize];
            let before = value.load(Relaxed);
            let after = before - by;
            value.store(after, Relaxed);
            if before > level && after <= level {
                found.falling.push(edge);
            } else if before > self.bound && after <= self.bound {
                found.gathered.push(edge);
            }
        }
        found
    }

    /// Does parts of the last step of a round, in parallel if there is much to do.
    fn finish(&mut self, parts: &[AfterTriangles<'_>], is_much: bool, level: u32) {
        let mut all = take(&mut *lock(&self.idle));
        let part = |part: AfterTriangles<'_>| {
            match part {
                AfterTriangles::Lower(list) => return self.apply(list, &all, level),
                AfterTriangles::Settle(fallen) => {
                    fallen.iter().for_each(|&edge| self.states.fell(edge));
                }
                AfterTriangles::Shorten(rows) => {
                    rows.iter().for_each(|&vertex| self.neighbours.shorten(vertex, |edge| self.states.is_left(edge)));
                }
            }
            LoweredEdges::default()
        };
        let found: Vec<LoweredEdges> = match is_much {
            true => parallel::map(parts.iter().copied(), part),
            false => parts.iter().copied().map(part).collect(),
        };
        all.iter_mut().flat_map(|scratch| &mut scratch.lowered).for_each(Vec::clear);
        *lock(&self.idle) = all;
        for LoweredEdges { falling, gathered } in found {
            self.falling.extend(falling);
            self.gathered.extend(gathered);
        }
    }
}

/// The items for which `is` holds.
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
        let is_much = falling.len() >= FEW;
        // For each task of a step, or for all of a short round.
        let of_task = if is_much { falling.len().div_ceil(TASKS * rayon::current_num_threads()) } else { FEW };
        let shorter = match is_much {
            true => {
                falling.par_sort_unstable();
                parallel::map(falling.chunks(of_task), |falling| self.mark(falling, level)).concat()
            }
            false => {
                falling.sort_unstable();
                self.mark(&falling, level)
            }
        };
        let mut ends = take(&mut self.ends);
        for batch in falling.chunks(self.most_ends()) {
            ends.resize(batch.len(), FallingEdge::default());
            let each = batch.chunks(of_task).zip(ends.chunks_mut(of_task));
            match is_much {
                true => {
                    parallel::each(each, |(falling, put)| self.put_ends(falling, put));
                    ends.par_sort_unstable();
                }
                false => {
                    each.for_each(|(falling, put)| self.put_ends(falling, put));
                    ends.sort_unstable();
                }
            }
            self.take_triangles(&ends, level)?;
        }
        self.ends = ends;
        // Edges are falling until the triangles of all are found.
        let rows = shorter.chunks(SHORTENED).map(AfterTriangles::Shorten);
        let parts: Vec<_> = falling.chunks(FEW).map(AfterTriangles::Settle).chain(rows).collect();
        self.finish(&parts, is_much || parts.len() > TASKS, level);
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
