//! The rows of all edges of a graph in the order of the input's ids, without temporary files.
//!
//! Sums are in rank order. A first pass over the graph counts, for each vertex, the edges of which it is the smaller end. Then come
//! windows of consecutive vertices, as many as fit the memory: a pass over the graph puts each of their edges somewhere into the list of
//! its smaller end, and the lists are sorted. Memory: 8 bytes an edge and 8 a vertex of the window; 8 for each vertex of the graph, and 8
//! more where ids have gaps ([`fixed_bytes`]). Where all edges fit, the graph is read twice and the sums once.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

pub use super::rows::{EdgeFigure, EdgeRows, ListedEdges};

use super::rows::packed;
use super::runs::{EdgeRun, HUBS, RunScratch, in_runs, pass_bytes};
use crate::sums::{ByArc, Sums};
use crate::table::columns::CountsInOrder;
use trimill_graph::OrientedGraph;
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::error::{Error, Result};
use trimill_system::mapped::{prefetch, zeros};

/// Longer lists are sorted by several threads.
const LONG: usize = 1 << 14;

/// The sums on all edges of a graph, to be read window by window in the order of the input's ids.
pub struct EdgesOfGraph<'a> {
    pub graph: &'a OrientedGraph,
    pub sums: &'a Sums<ByArc>,
    pub figure: EdgeFigure,
    /// The most bytes of a window, and of the passes over the graph. A vertex whose list is longer is a window by itself.
    pub memory: Bytes,
    pub control: &'a Control,
}

/// Bytes that are taken besides the window, whatever its size.
pub fn fixed_bytes(vertices: u32) -> Bytes {
    Bytes(16 * u64::from(vertices))
}

/// The least bytes of a window, with which the graph is read some 16 times at most. Blocks of rows take a quarter of it.
pub fn least_window(vertices: u32, edges: u64) -> Bytes {
    Bytes(8 * (edges + u64::from(vertices)) / 12).max(Bytes::mib(8))
}

impl CountsInOrder for EdgesOfGraph<'_> {
    type Rows<'r> = EdgeRows<'r>;

    fn names(&self) -> Vec<&'static str> {
        self.figure.names()
    }

    fn has_names(&self) -> bool {
        self.graph.has_names()
    }

    /// In windows. Runs in the current thread pool.
    fn in_order(&self, write: &mut dyn FnMut(&EdgeRows<'_>) -> Result<()>) -> Result<()> {
        let memory = self.memory.max(Bytes::mib(8));
        let pass = pass_bytes(memory);
        // The larger ends come in no order that blocks of names would serve.
        let ids = self.graph.ids()?.with_names_held(Bytes(memory.get() / 4))?;
        let lists = LargerEnds::new(self, pass)?;
        let room = memory.get() - 2 * pass.get() - ids.names().map_or(0, |names| names.held_bytes().get());
        let mut first = 0;
        while first < self.graph.vertices() {
            let vertices = first..lists.last_fitting(first, room);
            let starts = lists.starts(vertices.clone());
            let edges = lists.fill(&vertices, &starts)?;
            write(&EdgeRows::new(&ids, first, &starts, &edges))?;
            first = vertices.end;
        }
        Ok(())
    }
}

impl EdgesOfGraph<'_> {
    /// Visits all edges that are to be written; where some are not, with their sums.
    fn runs(&self, pass: Bytes, visit: impl Fn(&EdgeRun<'_>, &mut RunScratch) -> Result<()> + Sync) -> Result<()> {
        in_runs(self.graph, pass, self.control, |run, scratch| match self.figure.least() {
            0 => visit(run, scratch),
            least => {
                scratch.read(self.sums, run)?;
                let run = run.at_least(least, &mut scratch.sums);
                visit(&run, scratch)
            }
        })
    }
}

/// The lists of the larger ends of edges, by the smaller ends.
struct LargerEnds<'a> {
    of: &'a EdgesOfGraph<'a>,
    /// The bytes of a block of a pass.
    pass: Bytes,
    /// The vertex of each rank.
    order: Vec<u32>,
    /// Of each vertex, how many of the edges of which it is the smaller end are in no list yet.
    left: Vec<AtomicU32>,
}

impl<'a> LargerEnds<'a> {
    fn new(of: &'a EdgesOfGraph<'a>, pass: Bytes) -> Result<Self> {
        let left: Vec<AtomicU32> = zeros(of.graph.vertices() as usize);
        let lists = Self { of, pass, order: of.graph.order()?, left };
        of.runs(pass, |run, scratch| {
            let add = |vertex: u32, edges: u32| {
                lists.left[vertex as usize].fetch_add(edges, Relaxed);
            };
            for rank in run.ranks.clone() {
                let (tail, mut mine) = (lists.order[rank as usize], 0);
                for &head in run.row(rank) {
                    match lists.order[head as usize] {
                        vertex if vertex > tail => mine += 1,
                        _ if head < HUBS => scratch.hubs[head as usize] += 1,
                        vertex => {
                            prefetch(&lists.left, vertex as usize);
                            if scratch.later.is_full() {
                                scratch.later.drain().for_each(|(vertex, _)| add(vertex, 1));
                            }
                            scratch.later.push(vertex, 0);
                        }
                    }
                }
                add(tail, mine);
            }
            scratch.later.drain().for_each(|(vertex, _)| add(vertex, 1));
            for (&hub, &edges) in lists.order.iter().zip(&scratch.hubs).filter(|(_, edges)| **edges > 0) {
                add(hub, edges as u32);
            }
            Ok(())
        })?;
        Ok(lists)
    }

    /// The end of the longest window from `first` on that takes no more than `room` bytes, or of one vertex.
    fn last_fitting(&self, first: u32, room: u64) -> u32 {
        let (mut end, mut bytes) = (first, 8);
        while let Some(edges) = self.left.get(end as usize) {
            bytes += 8 + 8 * u64::from(edges.load(Relaxed));
            if bytes > room && end > first {
                break;
            }
            end += 1;
        }
        end
    }

    /// Where the list of each vertex of a window begins, and the end.
    fn starts(&self, vertices: Range<u32>) -> Vec<u64> {
        let mut starts = Vec::with_capacity(vertices.len() + 1);
        starts.push(0);
        let lengths = self.left[vertices.start as usize..vertices.end as usize].iter();
        starts.extend(lengths.scan(0, |end, edges| {
            *end += u64::from(edges.load(Relaxed));
            Some(*end)
        }));
        starts
    }

    /// The edges of a window.
    fn fill(&self, vertices: &Range<u32>, starts: &[u64]) -> Result<Vec<AtomicU64>> {
        let mut edges = zeros(starts.last().map_or(0, |&edges| edges as usize));
        self.of.runs(self.pass, |run, scratch| {
            if self.of.figure.least() == 0 {
                scratch.read(self.of.sums, run)?;
            }
            self.scatter(run, scratch, &EdgeChunk { vertices, starts, edges: &edges });
            Ok(())
        })?;
        let left = &self.left[vertices.start as usize..vertices.end as usize];
        if left.par_iter().any(|edges| edges.load(Relaxed) > 0) {
            return Err(Error::defect("two passes over a graph found different edges"));
        }
        sort(starts, &mut edges);
        Ok(edges)
    }

    /// Puts the edges of a run into the lists. A list is filled from its end, so the number of edges left gives the next place.
    fn scatter(&self, run: &EdgeRun<'_>, scratch: &mut RunScratch, window: &EdgeChunk<'_>) {
        let take = |vertex: u32, edges: u32| self.left[vertex as usize].fetch_sub(edges, Relaxed);
        let RunScratch { sums, hubs, later } = scratch;
        let put_later = |(vertex, edge): (u32, u64)| window.put(vertex, take(vertex, 1).wrapping_sub(1), edge);
        // The places of all edges of a hub in this run are taken at once.
        for rank in run.ranks.clone() {
            let tail = self.order[rank as usize];
            for &head in run.row(rank).iter().take_while(|&&head| head < HUBS) {
                let vertex = self.order[head as usize];
                hubs[head as usize] += u64::from(vertex < tail && window.vertices.contains(&vertex));
            }
        }
        for (&hub, edges) in self.order.iter().zip(&mut *hubs).filter(|(_, edges)| **edges > 0) {
            *edges = take(hub, *edges as u32).into();
        }
        for (rank, row, sums) in run.rows(sums) {
            let tail = self.order[rank as usize];
            let larger = |&&head: &&u32| self.order[head as usize] > tail;
            let mut mine = match window.vertices.contains(&tail) {
                true => take(tail, row.iter().filter(larger).count() as u32),
                false => 0,
            };
            for (&head, &triangles) in row.iter().zip(sums) {
                let vertex = self.order[head as usize];
                let (smaller, larger) = (vertex.min(tail), vertex.max(tail));
                if !window.vertices.contains(&smaller) {
                    continue;
                }
                let edge = packed(larger, triangles);
                if smaller == tail {
                    mine = mine.wrapping_sub(1);
                    window.put(tail, mine, edge);
                } else if let Some(left) = hubs.get_mut(head as usize) {
                    *left = left.wrapping_sub(1);
                    window.put(vertex, *left as u32, edge);
                } else {
                    prefetch(&self.left, vertex as usize);
                    prefetch(window.starts, (vertex - window.vertices.start) as usize);
                    if later.is_full() {
                        later.drain().for_each(put_later);
                    }
                    later.push(vertex, edge);
                }
            }
        }
        later.drain().for_each(put_later);
    }
}

/// A window that is being filled.
struct EdgeChunk<'a> {
    vertices: &'a Range<u32>,
    starts: &'a [u64],
    edges: &'a [AtomicU64],
}

impl EdgeChunk<'_> {
    /// Puts an edge into a place of the list of its smaller end.
    fn put(&self, smaller: u32, place: u32, edge: u64) {
        let start = self.starts[(smaller - self.vertices.start) as usize];
        // The place is out of bounds only if two passes found different edges, which `fill` reports afterwards.
        if let Some(free) = self.edges.get((start + u64::from(place)) as usize) {
            free.store(edge, Relaxed);
        }
    }
}

fn sort(starts: &[u64], edges: &mut [AtomicU64]) {
    let list = |i: usize| starts[i] as usize..starts[i + 1] as usize;
    let (lists, shared) = ((0..starts.len() - 1).into_par_iter().with_min_len(64), &*edges);
    lists.clone().filter(|&i| (2..=LONG).contains(&list(i).len())).for_each_init(Vec::new, |sorted, i| {
        sorted.clear();
        sorted.extend(shared[list(i)].iter().map(|edge| edge.load(Relaxed)));
        sorted.sort_unstable();
        shared[list(i)].iter().zip(&*sorted).for_each(|(edge, &sorted)| edge.store(sorted, Relaxed));
    });
    let long: Vec<usize> = lists.filter(|&i| list(i).len() > LONG).collect();
    long.into_iter().for_each(|i| edges[list(i)].par_sort_unstable_by_key(|edge| edge.load(Relaxed)));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "order/tests.rs"]
mod tests;
