//! The neighbours of every vertex, as far as the edges between them are left.
//!
//! A row holds all neighbours of its vertex, ascending, each with the number of the edge. Edges that fell stay in it until they are a
//! quarter of it; then the row is made shorter where it lies. Memory: 16 bytes an edge and 16 a vertex.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rayon::prelude::*;

use trimill_system::mapped::zeros;
use trimill_system::parallel;

/// Rows of vertices that a thread takes at a time, at least.
const ROWS: usize = 256;

/// The first vertices, in whose rows each chunk of edges has places of its own. Threads would wait for each other at common counters.
const HUBS: usize = 1 << 14;

/// Chunks of edges for each thread.
const CHUNKS: usize = 4;

/// Each edge in the rows of both of its ends.
pub(super) struct Neighbours {
    /// Where each row begins, and the end.
    starts: Vec<u64>,
    /// The entries of each row.
    lengths: Vec<AtomicU32>,
    /// How many entries of each row are edges that fell.
    fallen: Vec<AtomicU32>,
    /// Entries: the neighbour in the high half, the edge in the low one.
    pub(super) entries: Vec<AtomicU64>,
}

impl Neighbours {
    /// Of the oriented graph whose row of vertex `v` is `heads[firsts[v]..firsts[v + 1]]`: smaller vertices, ascending. An edge's number
    /// is its place in `heads`. Runs in the current thread pool.
    pub(super) fn new(firsts: &[u64], heads: &[u32]) -> Self {
        let many = firsts.len() - 1;
        let chunks = chunks(firsts);
        let hubs = many.min(HUBS);
        // How many larger neighbours each vertex has; of the hubs, which most edges have for a head, in each chunk.
        let larger: Vec<AtomicU32> = zeros(many);
        let mut of_hubs = parallel::map(&chunks, |chunk| {
            let mut of_hubs = vec![0u32; hubs];
            for &head in &heads[firsts[chunk.start] as usize..firsts[chunk.end] as usize] {
                match of_hubs.get_mut(head as usize) {
                    Some(count) => *count += 1,
                    None => _ = larger[head as usize].fetch_add(1, Relaxed),
                }
            }
            of_hubs
        });
        for (hub, larger) in larger[..hubs].iter().enumerate() {
            let before =
                of_hubs.iter_mut().fold(0, |before, of_hubs| before + std::mem::replace(&mut of_hubs[hub], before));
            larger.store(before, Relaxed);
        }
        let mut starts = Vec::with_capacity(many + 1);
        starts.push(0);
        starts.extend(firsts.windows(2).zip(&larger).scan(0, |end, (row, larger)| {
            *end += row[1] - row[0] + u64::from(larger.load(Relaxed));
            Some(*end)
        }));
        let lengths = starts.windows(2).map(|row| AtomicU32::new((row[1] - row[0]) as u32)).collect();
        let all = Self { starts, lengths, fallen: zeros(many), entries: zeros(2 * heads.len()) };
        // Where the larger neighbours of a vertex are, which follow its smaller ones.
        let after = |v: usize| all.starts[v] as usize + (firsts[v + 1] - firsts[v]) as usize;
        // Those of hubs are put in order, chunk by chunk; those of others in any order, from the end, and are sorted.
        parallel::each(chunks.iter().zip(&mut of_hubs), |(chunk, of_hubs)| {
            for tail in chunk.clone() {
                for (place, edge) in (all.starts[tail] as usize..).zip(firsts[tail]..firsts[tail + 1]) {
                    let head = heads[edge as usize];
                    all.put(place, head, edge as u32);
                    let i = match of_hubs.get_mut(head as usize) {
                        Some(next) => std::mem::replace(next, *next + 1),
                        None => larger[head as usize].fetch_sub(1, Relaxed) - 1,
                    };
                    all.put(after(head as usize) + i as usize, tail as u32, edge as u32);
                }
            }
        });
        (hubs..many).into_par_iter().with_min_len(ROWS).for_each_init(Vec::new, |sorted: &mut Vec<u64>, v| {
            let places = after(v)..all.starts[v + 1] as usize;
            let entries = &all.entries[places];
            sorted.clear();
            sorted.extend(entries.iter().map(|entry| entry.load(Relaxed)));
            sorted.sort_unstable();
            entries.iter().zip(sorted.iter()).for_each(|(entry, &sorted)| entry.store(sorted, Relaxed));
        });
        all
    }

    /// Bytes of the neighbours of so many vertices and edges.
    pub(super) fn bytes(vertices: u64, edges: u64) -> u64 {
        16 * (vertices + edges)
    }

    fn put(&self, place: usize, vertex: u32, edge: u32) {
        self.entries[place].store(u64::from(vertex) << 32 | u64::from(edge), Relaxed);
    }

    /// How many entries the row of a vertex has.
    pub(super) fn length(&self, vertex: u32) -> usize {
        self.lengths[vertex as usize].load(Relaxed) as usize
    }

    /// Where the row of a vertex is.
    pub(super) fn row(&self, vertex: u32) -> Range<usize> {
        let start = self.starts[vertex as usize] as usize;
        start..start + self.length(vertex)
    }

    /// How many edges of a vertex are left.
    pub(super) fn left(&self, vertex: u32) -> u32 {
        self.lengths[vertex as usize].load(Relaxed) - self.fallen[vertex as usize].load(Relaxed)
    }

    /// Notes that an edge of a vertex fell; whether the row is now to be made shorter, which is said once.
    pub(super) fn note_fallen(&self, vertex: u32) -> bool {
        let fallen = self.fallen[vertex as usize].fetch_add(1, Relaxed) + 1;
        fallen == self.lengths[vertex as usize].load(Relaxed) / 4 + 1
    }

    /// Keeps of a row the edges that are `left`.
    pub(super) fn shorten(&self, vertex: u32, left: impl Fn(u32) -> bool) {
        let row = &self.entries[self.row(vertex)];
        let mut end = 0;
        for entry in row {
            let entry = entry.load(Relaxed);
            if left(entry as u32) {
                row[end].store(entry, Relaxed);
                end += 1;
            }
        }
        self.lengths[vertex as usize].store(end as u32, Relaxed);
        self.fallen[vertex as usize].store(0, Relaxed);
    }
}

/// Cuts the vertices into chunks that have about as many edges in their rows, a few for each thread.
fn chunks(firsts: &[u64]) -> Vec<Range<usize>> {
    let (edges, chunks) = (firsts[firsts.len() - 1], (CHUNKS * rayon::current_num_threads()) as u64);
    let cut = |i: u64| firsts[..firsts.len() - 1].partition_point(|&first| first < edges * i / chunks);
    let cuts: Vec<usize> = (0..chunks).map(cut).chain([firsts.len() - 1]).collect();
    cuts.windows(2).map(|cut| cut[0]..cut[1]).collect()
}
