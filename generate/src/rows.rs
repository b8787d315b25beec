//! The rows of a generated graph, for formats that store rows.
//!
//! The graph is symmetric: each edge is in both rows, once, without loops. All rows are made in memory, by counting and placing the edges,
//! which are generated twice. Cost: 8 bytes an edge and 16 a vertex of memory.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::output::{blocks, fill};
use crate::{BLOCK, Sequence};
use trimill_system::bytes::Bytes;
use trimill_system::control::Progress;
use trimill_system::error::{Error, Result};
use trimill_system::machine;
use trimill_system::mapped::zeros;
use trimill_system::parallel;

/// Arcs of a chunk, at least.
const CHUNK: u64 = 1 << 18;

/// The rows of all vertices.
pub(super) struct Adjacency {
    /// Where the room for each row begins in `successors`, and where the room for the last one ends.
    begins: Vec<u64>,
    lengths: Vec<u32>,
    /// Each row ascends. After it there is an unused number for each repeated edge.
    successors: Vec<u32>,
}

impl Adjacency {
    /// The rows of `sequence`, for a file at `path`. Advances `progress` by three times the number of edges.
    pub(super) fn new(sequence: &dyn Sequence, path: &Path, progress: &Progress) -> Result<Self> {
        check_memory(sequence, path)?;
        let n = sequence.vertices() as usize;
        let each = |place: &(dyn Fn(u64, u64) + Sync)| {
            let buffer = || Vec::with_capacity(BLOCK as usize);
            parallel::try_each_with(0..blocks(sequence), buffer, |edges, number| {
                fill(sequence, number, edges, progress)?;
                for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
                    place(u, v);
                    place(v, u);
                }
                progress.advance(edges.len() as u64);
                Ok(())
            })
        };
        // The lengths of rows, then how many places of each row are free.
        let free: Vec<AtomicU32> = zeros(n);
        each(&|tail, _| {
            free[tail as usize].fetch_add(1, Ordering::Relaxed);
        })?;
        let mut begins = Vec::with_capacity(n + 1);
        let mut sum = 0;
        begins.push(0);
        begins.extend(free.iter().map(|length| {
            sum += u64::from(length.load(Ordering::Relaxed));
            sum
        }));
        let successors: Vec<AtomicU32> = zeros(sum as usize);
        each(&|tail, head| {
            let place = free[tail as usize].fetch_sub(1, Ordering::Relaxed) - 1;
            successors[(begins[tail as usize] + u64::from(place)) as usize].store(head as u32, Ordering::Relaxed);
        })?;
        drop(free);
        let successors = successors.into_iter().map(AtomicU32::into_inner).collect();
        let mut rows = Self { begins, lengths: zeros(n), successors };
        rows.sort(progress)?;
        progress.advance(sequence.edges());
        Ok(rows)
    }

    /// Sorts all rows, and counts their distinct successors.
    fn sort(&mut self, progress: &Progress) -> Result<()> {
        let chunks = self.chunks();
        let Self { begins, lengths, successors } = self;
        let (mut lengths, mut successors) = (&mut lengths[..], &mut successors[..]);
        let mut parts = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let begins = &begins[chunk.start..=chunk.end];
            let (own, rest) = std::mem::take(&mut lengths).split_at_mut(chunk.len());
            let many = begins[chunk.len()] - begins[0];
            let (rows, after) = std::mem::take(&mut successors).split_at_mut(many as usize);
            (lengths, successors) = (rest, after);
            parts.push((begins, own, rows));
        }
        parallel::try_each(parts, |(begins, lengths, rows)| {
            progress.check()?;
            for (length, ends) in lengths.iter_mut().zip(begins.windows(2)) {
                let row = &mut rows[(ends[0] - begins[0]) as usize..(ends[1] - begins[0]) as usize];
                row.sort_unstable();
                let mut kept = 0;
                for i in 0..row.len() {
                    if i == 0 || row[i] != row[i - 1] {
                        row[kept] = row[i];
                        kept += 1;
                    }
                }
                *length = kept as u32;
            }
            Ok(())
        })
    }

    pub(super) fn vertices(&self) -> usize {
        self.lengths.len()
    }

    /// The number of arcs, two for each edge.
    pub(super) fn arcs(&self) -> u64 {
        self.lengths.par_iter().map(|&length| u64::from(length)).sum()
    }

    /// The successors of a vertex, ascending.
    pub(super) fn row(&self, vertex: usize) -> &[u32] {
        &self.successors[self.begins[vertex] as usize..][..self.lengths[vertex] as usize]
    }

    /// Consecutive vertices with about [`CHUNK`] arcs together. They depend on the graph alone.
    pub(super) fn chunks(&self) -> Vec<Range<usize>> {
        let (mut chunks, mut start) = (Vec::new(), 0);
        let n = self.vertices();
        for end in 1..=n {
            if self.begins[end] - self.begins[start] >= CHUNK || end == n {
                chunks.push(start..end);
                start = end;
            }
        }
        chunks
    }
}

fn check_memory(sequence: &dyn Sequence, path: &Path) -> Result<()> {
    let needed = u128::from(sequence.edges()) * 8 + u128::from(sequence.vertices()) * 16;
    let free = machine::free_memory();
    // Some systems do not say.
    if free == Bytes::ZERO || needed <= u128::from(free.get()) {
        return Ok(());
    }
    let needed = u64::try_from(needed).map_or_else(|_| format!("{needed} bytes"), |bytes| Bytes(bytes).to_string());
    Err(Error::resource(format!("the rows of the graph take {needed} of memory and {free} are free"))
        .at(path)
        .advice("write pairs (.bin) or text (.txt), or take smaller parameters"))
}
