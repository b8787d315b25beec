//! Peels on the cores.
//!
//! A round takes the edges that fall, grouped by the end with the longer row. The triangles of an edge are found by looking up the
//! vertices of the shorter row in the longer one: where a group has enough of them, in a set of bits that is made of the longer row
//! once, else by galloping. Every triangle of edges that are left, or fall in this round, takes 1 from the values of those that are left.
//! A triangle with two or three edges that fall is counted for the one with the smallest number.
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
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::neighbours::Neighbours;
use super::remaining::{FALLING, RemainingEdges, is_fallen, is_left};
use trimill_counting::{FALLEN, Peeling};
use trimill_system::error::Result;
use trimill_system::mapped::prefetch;
use trimill_system::{lock, parallel};

/// Fewer edges or look-ups than this are not worth several threads.
const FEW: usize = 1 << 12;
const FEW_PROBES: usize = 1 << 16;

/// Look-ups of a group, where the longer row is not much longer.
const PROBES: usize = 1 << 16;

/// An entry of a longer row goes into the set of bits as fast as this many look-ups by galloping, about a sixth.
const ENTRIES_PER_PROBE: usize = 6;

/// Tasks of a step for each thread.
const TASKS: usize = 8;

/// Vertices of a shorter row that are looked up together.
const AT_A_TIME: usize = 256;

/// Lists of edges whose values are lowered.
const LISTS: usize = 64;

/// Rows that a task makes shorter.
const SHORTENED: usize = 16;

/// Neighbouring edges, which are in the same list.
const VALUES: usize = 1 << 10;

/// An edge that falls, by the end with the longer row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct FallingEdge {
    long: u32,
    short: u32,
    edge: u32,
}

/// Groups of edges that fall and have the longer row in common, and about how many look-ups they take.
#[derive(Default)]
struct GroupTask<'f> {
    groups: Vec<&'f [FallingEdge]>,
    probes: usize,
}

/// What a thread works with.
struct PeelingScratch {
    /// The set of the vertices of a row, empty but while a group is treated, and the place in the row of the first vertex of each word.
    words: Vec<u64>,
    firsts: Vec<u32>,
    /// How much is to be taken from the value of each edge of the row.
    taken: Vec<u32>,
    /// The lists: edges, in the high half, and what is to be taken from their values.
    lowered: Vec<Vec<u64>>,
}

/// A vertex of both rows: its place and the vertex, then the edges to it; its place in the longer row.
#[derive(Debug, Clone, Copy, Default)]
struct RowHit {
    short: u32,
    long: u32,
    i: u32,
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
    neighbours: Neighbours,
    gathered: Vec<u32>,
    bound: u32,
    falling: Vec<u32>,
    /// Memory for the edges of a round.
    ends: Vec<FallingEdge>,
    /// What no thread works with at the moment.
    idle: Mutex<Vec<PeelingScratch>>,
}

impl<'a> OnCores<'a> {
    pub(super) fn new(edges: &'a RemainingEdges) -> Self {
        let neighbours = Neighbours::new(&edges.firsts, &edges.heads);
        let (gathered, falling, ends) = (Vec::new(), Vec::new(), Vec::new());
        Self { edges, neighbours, gathered, bound: 0, falling, ends, idle: Mutex::default() }
    }

    /// Bytes that peeling so many vertices and edges takes on `threads` threads, besides the edges: their neighbours; edges that fall and
    /// are gathered, all of them at worst; the ends of some, and what they lower; the sets of bits, and what is taken from a row.
    pub(super) fn bytes(vertices: u64, edges: u64, threads: u64) -> u64 {
        Neighbours::bytes(vertices, edges)
            + (4 + 4 + 2 + 2) * edges
            + threads * (12 * (vertices / 64 + 1) + 4 * vertices)
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
    fn take_triangles(&mut self, ends: &[FallingEdge], level: u32) {
        let mut tasks = self.tasks(ends).into_iter().peekable();
        while tasks.peek().is_some() {
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
            self.edges.values[edge as usize].store(FALLING | level, Relaxed);
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
        let words = self.edges.vertices() / 64 + 1;
        let mut scratch = idle.unwrap_or_else(|| PeelingScratch {
            words: vec![0; words],
            firsts: vec![0; words],
            taken: Vec::new(),
            lowered: vec![Vec::new(); LISTS],
        });
        task.groups.iter().for_each(|group| self.take_group(group, &mut scratch));
        lock(&self.idle).push(scratch);
    }

    /// The same for a group.
    fn take_group(&self, group: &[FallingEdge], scratch: &mut PeelingScratch) {
        let PeelingScratch { words, firsts, taken, lowered } = scratch;
        let rows = &self.neighbours;
        let long = &rows.entries[rows.row(group[0].long)];
        let probes: usize = group.iter().map(|falling| rows.length(falling.short)).sum();
        if probes * ENTRIES_PER_PROBE < long.len() {
            group.iter().filter(|falling| self.lowers(falling)).for_each(|falling| self.gallop(falling, lowered));
            return;
        }
        let mut hits = [RowHit::default(); AT_A_TIME + 1];
        taken.clear();
        taken.resize(long.len(), 0);
        for (i, entry) in (0..).zip(long) {
            let vertex = (entry.load(Relaxed) >> 32) as u32;
            let word = &mut words[vertex as usize / 64];
            if *word == 0 {
                firsts[vertex as usize / 64] = i;
            }
            *word |= 1 << (vertex % 64);
        }
        for falling in group.iter().filter(|falling| self.lowers(falling)) {
            for short in rows.entries[rows.row(falling.short)].chunks(AT_A_TIME) {
                // In three steps, so that the processor waits for many values at the same time.
                let mut many = 0;
                for entry in short {
                    let entry = entry.load(Relaxed);
                    let vertex = (entry >> 32) as u32;
                    hits[many] = RowHit { short: entry as u32, long: vertex, i: 0 };
                    many += (words[vertex as usize / 64] >> (vertex % 64) & 1) as usize;
                }
                for hit in &mut hits[..many] {
                    let (word, below) = (hit.long as usize / 64, (1 << (hit.long % 64)) - 1);
                    hit.i = firsts[word] + (words[word] & below).count_ones();
                    hit.long = long[hit.i as usize].load(Relaxed) as u32;
                    prefetch(&self.edges.values, hit.short as usize);
                    prefetch(&self.edges.values, hit.long as usize);
                }
                for hit in &hits[..many] {
                    taken[hit.i as usize] += u32::from(self.triangle(falling.edge, hit.short, hit.long, lowered));
                }
            }
        }
        for (entry, &by) in long.iter().zip(&*taken).filter(|(_, by)| **by > 0) {
            lower(entry.load(Relaxed) as u32, by, lowered);
        }
        for entry in long {
            words[(entry.load(Relaxed) >> 32) as usize / 64] = 0;
        }
    }

    /// The same for one edge, whose shorter row is far shorter than the other: vertices are searched from the last one found on.
    fn gallop(&self, falling: &FallingEdge, lowered: &mut [Vec<u64>]) {
        let rows = &self.neighbours;
        let (long, mut from) = (&rows.entries[rows.row(falling.long)], 0);
        for entry in &rows.entries[rows.row(falling.short)] {
            let (entry, mut step) = (entry.load(Relaxed), 1);
            let is_before = |place: usize| long[place].load(Relaxed) >> 32 < entry >> 32;
            while from + step < long.len() && is_before(from + step) {
                from += step;
                step *= 2;
            }
            let within = &long[from..long.len().min(from + step + 1)];
            from += within.partition_point(|other| other.load(Relaxed) >> 32 < entry >> 32);
            let Some(found) = long.get(from).map(|found| found.load(Relaxed)) else { return };
            if found >> 32 == entry >> 32 && self.triangle(falling.edge, entry as u32, found as u32, lowered) {
                lower(found as u32, 1, lowered);
            }
        }
    }

    /// Whether an edge that falls may lower a value: not if all other edges of its ends fall, too.
    fn lowers(&self, falling: &FallingEdge) -> bool {
        self.neighbours.left(falling.long) > 0 || self.neighbours.left(falling.short) > 0
    }

    /// The triangle of a falling edge and two others, `by_short` on its shorter row. Returns whether the value of the third is to be
    /// lowered, which the caller does.
    #[inline]
    fn triangle(&self, falling: u32, by_short: u32, by_long: u32, lowered: &mut [Vec<u64>]) -> bool {
        let (short, long) = (self.edges.value(by_short), self.edges.value(by_long));
        match (is_left(short), is_left(long)) {
            (true, true) => {
                lower(by_short, 1, lowered);
                true
            }
            (false, true) => !is_fallen(short) && falling < by_short,
            (true, false) => {
                if !is_fallen(long) && falling < by_long {
                    lower(by_short, 1, lowered);
                }
                false
            }
            (false, false) => false,
        }
    }

    /// Takes what is in a list of all threads from the values.
    fn apply(&self, list: usize, all: &[PeelingScratch], level: u32) -> LoweredEdges {
        let mut found = LoweredEdges::default();
        for &lowered in all.iter().flat_map(|scratch| &scratch.lowered[list]) {
            let (edge, by) = ((lowered >> 32) as u32, lowered as u32);
            let value = &self.edges.values[edge as usize];
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
                    fallen.iter().for_each(|&edge| self.edges.values[edge as usize].store(FALLEN | level, Relaxed));
                }
                AfterTriangles::Shorten(rows) => {
                    let left = |edge: u32| is_left(self.edges.value(edge));
                    rows.iter().for_each(|&vertex| self.neighbours.shorten(vertex, left));
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

/// Notes that `by` is to be taken from the value of an edge that is left. Neighbouring edges, which are often lowered together, are in
/// the same list, and all lists become about as long.
#[inline]
fn lower(edge: u32, by: u32, lowered: &mut [Vec<u64>]) {
    lowered[edge as usize / VALUES % LISTS].push(u64::from(edge) << 32 | u64::from(by));
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
        let left = self.edges.values.par_iter().map(|value| value.load(Relaxed)).filter(|&value| is_left(value));
        Ok(left.min())
    }

    fn gather(&mut self, bound: u32) -> Result<()> {
        self.bound = bound;
        let all = (0..self.edges.edges() as u32).into_par_iter();
        self.gathered = all.filter(|&edge| self.edges.value(edge) <= bound).collect();
        Ok(())
    }

    fn least_gathered(&mut self) -> Result<Option<u32>> {
        self.gathered = those(&take(&mut self.gathered), |edge| is_left(self.edges.value(edge)));
        Ok(self.gathered.iter().map(|&edge| self.edges.value(edge)).min())
    }

    fn begin(&mut self, level: u32) -> Result<u64> {
        self.falling = those(&self.gathered, |edge| self.edges.value(edge) <= level);
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
            self.take_triangles(&ends, level);
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

    fn values(&mut self, into: &mut [u32]) -> Result<()> {
        into.par_iter_mut().zip(&self.edges.values).for_each(|(into, value)| *into = value.load(Relaxed));
        Ok(())
    }
}
