//! The rows of a generated graph, for formats that store rows. Each edge is once in the rows of both of its ends; there are no loops. If the
//! graph is made from a given one, any row is made from its rows; rows of other families are all in memory ([`Adjacency`]), made of edges that are
//! generated twice: 8 bytes per edge and 16 per vertex.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::output::{blocks, fill, size};
use crate::{BLOCK, SizedSequence};
use trimill_system::control::{Control, Progress, Unit};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, machine, parallel, starts_of};

/// The fewest arcs of a chunk, except the last.
const CHUNK: u64 = 1 << 18;

/// Which arcs of an edge are in the rows of a file that stores rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RowArcs {
    /// Both: the file is symmetric
    #[default]
    Both,
    /// One: from the smaller id to the larger, before ids are permuted
    Up,
    /// One: from the larger id to the smaller, before ids are permuted
    Down,
}

impl RowArcs {
    fn has(self, tail: u64, head: u64) -> bool {
        match self {
            Self::Both => tail != head,
            Self::Up => tail < head,
            Self::Down => tail > head,
        }
    }
}

#[derive(Clone, Copy)]
pub struct GeneratedFile<'a> {
    pub path: &'a Path,
    /// Which arcs of an edge the rows have; without rows, both.
    pub arcs: RowArcs,
    /// Whether an existing file of that name is replaced.
    pub force: bool,
    pub control: &'a Control,
}

pub(super) trait GeneratedRows: Sync {
    fn arcs(&self) -> u64;

    fn length(&self, vertex: u64) -> u64;

    fn append(&self, vertex: u64, row: &mut Vec<u32>);

    /// Whether a vertex has the same row as the one before it.
    fn repeats(&self, vertex: u64) -> bool {
        let _ = vertex;
        false
    }

    /// The period with which rows repeat, if they do; all ids grow by it each time.
    fn period(&self) -> Option<u64> {
        None
    }
}

pub(super) fn rows<'a>(
    sequence: &'a SizedSequence<'_>,
    wanted: &GeneratedFile<'_>,
) -> Result<Box<dyn GeneratedRows + 'a>> {
    match sequence.blocks.rows(wanted)? {
        Some(rows) => Ok(rows),
        None => Ok(Box::new(Adjacency::new(sequence, wanted)?)),
    }
}

/// Cuts the vertices below `end`, all or those of a period, into runs with about [`CHUNK`] arcs; each begins where it `may_begin`.
pub(super) fn chunks(rows: &dyn GeneratedRows, end: u64, may_begin: impl Fn(u64) -> bool) -> Vec<Range<u64>> {
    let (mut chunks, mut start, mut arcs) = (Vec::new(), 0, 0);
    for vertex in 0..end {
        arcs += rows.length(vertex);
        if arcs >= CHUNK && vertex + 1 < end && may_begin(vertex + 1) {
            chunks.push(start..vertex + 1);
            (start, arcs) = (vertex + 1, 0);
        }
    }
    chunks.push(start..end);
    chunks
}

pub(super) struct Adjacency {
    /// Where each row begins in `successors`, and where the last one ends.
    begins: Vec<u64>,
    lengths: Vec<u32>,
    /// Each row ascends. After it there is an unused place for each repeated edge.
    successors: Vec<u32>,
}

impl Adjacency {
    pub(super) fn new(sequence: &SizedSequence<'_>, wanted: &GeneratedFile<'_>) -> Result<Self> {
        let &GeneratedFile { path, arcs, control, .. } = wanted;
        check_memory(sequence, path)?;
        let task = control.task("generate", Some(3 * sequence.edges), Unit::Arcs);
        let progress: &Progress = &task;
        let n = sequence.vertices as usize;
        let each = |place: &(dyn Fn(u64, u64) + Sync)| {
            let buffer = || Vec::with_capacity(BLOCK as usize);
            parallel::try_each_with(0..blocks(sequence), buffer, |edges, number| {
                fill(sequence, number, edges, progress)?;
                for (tail, head) in edges.iter().flat_map(|&[u, v]| [(u, v), (v, u)]) {
                    if arcs.has(tail, head) {
                        place(tail, head);
                    }
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
        let begins = starts_of(free.iter().map(|length| u64::from(length.load(Ordering::Relaxed))));
        let successors: Vec<AtomicU32> = zeros(begins[n] as usize);
        each(&|tail, head| {
            let place = free[tail as usize].fetch_sub(1, Ordering::Relaxed) - 1;
            successors[(begins[tail as usize] + u64::from(place)) as usize].store(head as u32, Ordering::Relaxed);
        })?;
        drop(free);
        let successors = successors.into_iter().map(AtomicU32::into_inner).collect();
        let mut rows = Self { begins, lengths: zeros(n), successors };
        rows.sort(progress)?;
        progress.advance(sequence.edges);
        Ok(rows)
    }

    fn sort(&mut self, progress: &Progress) -> Result<()> {
        let Self { begins, lengths, successors } = self;
        let mut chunks = vec![0];
        for end in 1..=lengths.len() {
            if begins[end] - begins[chunks[chunks.len() - 1]] >= CHUNK || end == lengths.len() {
                chunks.push(end);
            }
        }
        let chunks = chunks.windows(2).map(|ends| &begins[ends[0]..=ends[1]]);
        let arcs = |begins: &[u64]| (begins[begins.len() - 1] - begins[0]) as usize;
        let lengths = parallel::cut(lengths, chunks.clone().map(|begins| begins.len() - 1));
        let rows = parallel::cut(successors, chunks.clone().map(arcs));
        parallel::try_each(chunks.zip(lengths).zip(rows), |((begins, lengths), rows)| {
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

    pub(super) fn row(&self, vertex: u64) -> &[u32] {
        &self.successors[self.begins[vertex as usize] as usize..][..self.lengths[vertex as usize] as usize]
    }
}

impl GeneratedRows for Adjacency {
    fn arcs(&self) -> u64 {
        self.lengths.par_iter().map(|&length| u64::from(length)).sum()
    }

    fn length(&self, vertex: u64) -> u64 {
        self.lengths[vertex as usize].into()
    }

    fn append(&self, vertex: u64, row: &mut Vec<u32>) {
        row.extend_from_slice(self.row(vertex));
    }
}

fn check_memory(sequence: &SizedSequence<'_>, path: &Path) -> Result<()> {
    let needed = u128::from(sequence.edges) * 8 + u128::from(sequence.vertices) * 16;
    let free = machine::free_memory();
    // Some systems do not report free memory.
    if free == Bytes::ZERO || needed <= u128::from(free.get()) {
        return Ok(());
    }
    Err(Error::resource(format!("the rows of the graph take {} of memory and {free} are free", size(needed)))
        .at(path)
        .advice("write pairs (.bin) or text (.txt), or take smaller parameters"))
}
