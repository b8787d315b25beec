//! The rows of all edges of a graph in the order of the input's ids, without temporary files. Sums are in rank order. A first pass counts, for each
//! vertex, the edges whose smaller end it is. Then, for each window of as many consecutive vertices as fit in memory, a pass puts their edges into
//! the list of the smaller end, and the lists are sorted. Memory: 8 bytes an edge and 8 a vertex of the window; 8 a vertex of the graph, and 8 more
//! if ids have gaps ([`fixed_bytes`]). If all edges fit, the sums are read once.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::rows::{EdgeRows, least, names, packed};
use super::runs::{EdgeRun, HUBS, LATER, RunScratch, in_runs, pass_bytes};
use crate::sums::{ByArc, Sums};
use crate::table::columns::CountsInOrder;
use crate::truss::TrussWanted;
use trimill_graph::{Ids, OrientedGraph};
use trimill_system::mapped::{prefetch, zeros};
use trimill_system::{Bytes, Control, Error, Result, parallel};

/// A thread sorts a chunk of lists: about the least number of its edges, and the number of chunks for each thread.
const SHORT: usize = 1 << 14;
const CHUNKS: usize = 8;

/// The sums on all edges of a graph, to be read window by window in the order of the input's ids.
pub struct EdgesOfGraph<'a> {
    pub graph: &'a OrientedGraph,
    pub sums: &'a Sums<ByArc>,
    /// Set if the numbers are trussness; edges outside the truss at which peeling ends are then left out.
    pub truss: Option<TrussWanted>,
    /// The most bytes of a window and of the passes over the graph. A vertex whose list is longer is a window by itself.
    pub memory: Bytes,
    pub control: &'a Control,
}

/// Bytes besides the window, whatever its size.
pub fn fixed_bytes(vertices: u32) -> Bytes {
    Bytes(16 * u64::from(vertices))
}

/// The least bytes of a window: at most some 16 windows, each a pass over the graph, and the list of any vertex. Blocks of rows take a quarter of it.
pub fn least_window(vertices: u32, edges: u64, largest_degree: u32) -> Bytes {
    let list = Bytes((list_bytes(largest_degree) * 4).div_ceil(3));
    Bytes(8 * (edges + u64::from(vertices)) / 12).max(list).max(Bytes::mib(8))
}

/// Bytes of the window of a vertex that has at most `edges` edges.
fn list_bytes(edges: u32) -> u64 {
    16 + 8 * u64::from(edges)
}

impl CountsInOrder for EdgesOfGraph<'_> {
    type Rows<'r> = EdgeRows<'r>;

    fn names(&self) -> Vec<&'static str> {
        names(self.truss)
    }

    fn has_names(&self) -> bool {
        self.graph.has_names()
    }

    /// Writes window by window. Runs in the current thread pool.
    fn in_order(&self, write: &mut dyn FnMut(&EdgeRows<'_>) -> Result<()>) -> Result<()> {
        let memory = self.memory.max(Bytes::mib(8));
        let pass = pass_bytes(memory);
        let room = memory.get() - 2 * pass.get();
        // Larger ends are in random order, so reading names by blocks would not help.
        let of_names = room.saturating_sub(list_bytes(self.graph.largest_degree())).min(memory.get() / 4);
        let ids = self.graph.ids()?.with_names_held(Bytes(of_names))?;
        let lists = LargerEnds::new(self, pass)?;
        tracing::debug!("the edges of each vertex are counted");
        let room = room - ids.names().map_or(0, |names| names.held_bytes().get());
        lists.each_window(&ids, room, write)
    }
}

struct LargerEnds<'a> {
    of: &'a EdgesOfGraph<'a>,
    pass: Bytes,
    /// The smallest sum of an edge that is written.
    least: u32,
    order: Vec<u32>,
    /// For each vertex, the number of edges whose smaller end it is.
    lengths: Vec<AtomicU32>,
}

impl<'a> LargerEnds<'a> {
    fn new(of: &'a EdgesOfGraph<'a>, pass: Bytes) -> Result<Self> {
        let lengths: Vec<AtomicU32> = zeros(of.graph.vertices() as usize);
        let lists = Self { of, pass, least: least(of.truss), order: of.graph.order()?, lengths };
        in_runs(of.graph, pass, of.control, |run, scratch| {
            // If all edges are written, whatever their sums, these are read once for each window only.
            match lists.least {
                0 => scratch.fit(run),
                _ => scratch.read(of.sums, run)?,
            }
            let RunScratch { sums, hubs, later } = scratch;
            let add = |vertex: u32, edges: u32| {
                lists.lengths[vertex as usize].fetch_add(edges, Relaxed);
            };
            for (rank, row, sums) in run.rows(sums) {
                let (tail, mut mine) = (lists.order[rank as usize], 0);
                for (head, _) in lists.written(row, sums) {
                    match lists.order[head as usize] {
                        vertex if vertex > tail => mine += 1,
                        _ if head < HUBS => hubs[head as usize] += 1,
                        vertex => {
                            prefetch(&lists.lengths, vertex as usize);
                            if later.len() == LATER {
                                later.drain(..).for_each(|(vertex, _)| add(vertex, 1));
                            }
                            later.push((vertex, 0));
                        }
                    }
                }
                add(tail, mine);
            }
            later.drain(..).for_each(|(vertex, _)| add(vertex, 1));
            for (&hub, &edges) in lists.order.iter().zip(&*hubs).filter(|(_, edges)| **edges > 0) {
                add(hub, edges as u32);
            }
            Ok(())
        })?;
        Ok(lists)
    }

    /// Calls `write` with the edges of each window of at most `room` bytes, or of one vertex.
    fn each_window(&self, ids: &Ids, room: u64, write: &mut dyn FnMut(&EdgeRows<'_>) -> Result<()>) -> Result<()> {
        let mut first = 0;
        while first < self.of.graph.vertices() {
            let vertices = first..self.last_fitting(first, room);
            let (starts, edges) = self.fill(&vertices)?;
            tracing::debug!("the edges of vertices below {} are sorted", vertices.end);
            write(&EdgeRows { ids, first, starts: &starts, edges: &edges })?;
            tracing::debug!("the edges of vertices below {} are written", vertices.end);
            first = vertices.end;
        }
        Ok(())
    }

    /// The heads of a row's edges that are written, and their sums.
    #[inline(always)]
    fn written(&self, row: &[u32], sums: &[u32]) -> impl Iterator<Item = (u32, u32)> {
        let least = self.least;
        row.iter().copied().zip(sums.iter().copied()).filter(move |&(_, sum)| sum >= least)
    }

    /// The end of the longest window from `first` on that takes at most `room` bytes, or of one vertex.
    fn last_fitting(&self, first: u32, room: u64) -> u32 {
        let (mut end, mut bytes) = (first, 8);
        while let Some(edges) = self.lengths.get(end as usize) {
            bytes += 8 + 8 * u64::from(edges.load(Relaxed));
            if bytes > room && end > first {
                break;
            }
            end += 1;
        }
        end
    }

    fn fill(&self, vertices: &Range<u32>) -> Result<(Vec<u64>, Vec<u64>)> {
        let lengths = &self.lengths[vertices.start as usize..vertices.end as usize];
        let (mut ends, mut all) = (Vec::with_capacity(lengths.len() + 1), 0);
        for length in lengths {
            all += u64::from(length.load(Relaxed));
            ends.push(AtomicU64::new(all));
        }
        let edges: Vec<AtomicU64> = zeros(all as usize);
        in_runs(self.of.graph, self.pass, self.of.control, |run, scratch| {
            scratch.read(self.of.sums, run)?;
            self.scatter(run, scratch, &EdgeChunk { first: vertices.start, ends: &ends, edges: &edges });
            Ok(())
        })?;
        // Each `ends` entry was decremented to its list's start during filling.
        let mut starts: Vec<u64> = ends.into_iter().map(AtomicU64::into_inner).collect();
        starts.push(all);
        let is_full = |pair: &[u64], length: u32| pair[1].wrapping_sub(pair[0]) == u64::from(length);
        if !starts.par_windows(2).zip(lengths).all(|(pair, length)| is_full(pair, length.load(Relaxed))) {
            return Err(Error::defect("two passes over a graph found different edges"));
        }
        tracing::debug!("the edges of {} vertices are in lists", vertices.len());
        let mut edges: Vec<u64> = edges.into_iter().map(AtomicU64::into_inner).collect();
        sort(&starts, &mut edges);
        Ok((starts, edges))
    }

    fn scatter(&self, run: &EdgeRun<'_>, scratch: &mut RunScratch, window: &EdgeChunk<'_>) {
        let RunScratch { sums, hubs, later } = scratch;
        // Reserves the places of all edges of a hub in this run at once.
        for (rank, row, sums) in run.rows(sums) {
            let tail = self.order[rank as usize];
            for (head, _) in self.written(row, sums).take_while(|&(head, _)| head < HUBS) {
                let vertex = self.order[head as usize];
                hubs[head as usize] += u64::from(vertex < tail && window.has(vertex));
            }
        }
        for (&hub, edges) in self.order.iter().zip(&mut *hubs).filter(|(_, edges)| **edges > 0) {
            *edges = window.take(hub, *edges);
        }
        for (rank, row, sums) in run.rows(sums) {
            let tail = self.order[rank as usize];
            let larger = |&(head, _): &(u32, u32)| self.order[head as usize] > tail;
            let mut mine = match window.has(tail) {
                true => window.take(tail, self.written(row, sums).filter(larger).count() as u64),
                false => 0,
            };
            for (head, triangles) in self.written(row, sums) {
                let vertex = self.order[head as usize];
                let (smaller, larger) = (vertex.min(tail), vertex.max(tail));
                if !window.has(smaller) {
                    continue;
                }
                let edge = packed(larger, triangles);
                if smaller == tail {
                    mine = mine.wrapping_sub(1);
                    window.put(mine, edge);
                } else if let Some(place) = hubs.get_mut(head as usize) {
                    *place = place.wrapping_sub(1);
                    window.put(*place, edge);
                } else {
                    prefetch(window.ends, (vertex - window.first) as usize);
                    if later.len() == LATER {
                        window.put_all(later);
                    }
                    later.push((vertex, edge));
                }
            }
        }
        window.put_all(later);
    }
}

/// A window that is being filled, each list from its end.
struct EdgeChunk<'a> {
    first: u32,
    /// The end of each list's free places.
    ends: &'a [AtomicU64],
    edges: &'a [AtomicU64],
}

impl EdgeChunk<'_> {
    fn has(&self, vertex: u32) -> bool {
        (vertex.wrapping_sub(self.first) as usize) < self.ends.len()
    }

    fn take(&self, vertex: u32, edges: u64) -> u64 {
        self.ends[(vertex - self.first) as usize].fetch_sub(edges, Relaxed)
    }

    /// Puts up to [`LATER`] edges into these lists. Takes all places first: an atomic operation waits for earlier stores, mostly cache misses.
    fn put_all(&self, edges: &mut Vec<(u32, u64)>) {
        let mut places = [0; LATER];
        for (place, &(vertex, _)) in places.iter_mut().zip(&*edges) {
            *place = self.take(vertex, 1).wrapping_sub(1);
            prefetch(self.edges, *place as usize);
        }
        places.iter().zip(edges.drain(..)).for_each(|(&place, (_, edge))| self.put(place, edge));
    }

    fn put(&self, place: u64, edge: u64) {
        // Out of bounds only if two passes found different edges, which `fill` reports later.
        if let Some(free) = self.edges.get(place as usize) {
            free.store(edge, Relaxed);
        }
    }
}

/// Sorts each list; only long lists are sorted by several threads together.
fn sort(starts: &[u64], edges: &mut [u64]) {
    let most = SHORT.max(edges.len() / (CHUNKS * rayon::current_num_threads()));
    let (mut chunks, mut rest, mut first) = (Vec::new(), edges, 0);
    while first + 1 < starts.len() {
        let fitting = starts[first..].partition_point(|&start| start - starts[first] <= most as u64);
        let end = first + (fitting - 1).max(1);
        let (mine, after) = rest.split_at_mut((starts[end] - starts[first]) as usize);
        chunks.push((&starts[first..=end], mine));
        (rest, first) = (after, end);
    }
    parallel::each(chunks, |(starts, mut edges): (&[u64], &mut [u64])| {
        for list in starts.windows(2) {
            let (list, after) = edges.split_at_mut((list[1] - list[0]) as usize);
            edges = after;
            if list.len() <= most {
                list.sort_unstable();
            } else {
                list.par_sort_unstable();
            }
        }
    });
}

#[cfg(test)]
mod tests;
