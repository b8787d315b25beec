//! The neighbours of every vertex as bits, where these are dense. A row is an ascending list of 64-bit words over the vertices, without empty words.
//! Vertices are numbered by falling degree, so most neighbours are among the first, and a word holds many: 16 on average for cnr-2000 blown up by 6,
//! and 7 for the last quarter of the edges of GAP-kron 20. So a row is read in a fraction of the time of [`Neighbours`]. A row with half of all words
//! up to its last one also stores the empty ones, so that each is found by its index. Memory: 32 bytes a word, 20 a vertex and 8 an edge.

pub(super) mod search;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rayon::prelude::*;

use super::ends::{FallingEnd, vertex};
use super::neighbours::{Neighbours, ROWS, gallop};
use super::remaining::plain;
use trimill_system::mapped::{prefetch, zeros};

/// From this mean number of neighbours per word on, bits are faster (docs/results/truss-h100.txt), and 2^32 edges make fewer than 2^32 words.
const DENSE: usize = 2;

#[derive(Clone, Copy)]
struct BitRow {
    first: u32,
    words: u32,
    /// Whether it has all words up to its last one.
    is_dense: bool,
}

fn bit(vertex: u32) -> u64 {
    1 << (vertex % 64)
}

fn by_word(entries: &[AtomicU32]) -> impl Iterator<Item = &[AtomicU32]> {
    entries.chunk_by(|a, b| a.load(Relaxed) / 64 == b.load(Relaxed) / 64)
}

pub(super) struct NeighbourBits {
    rows: Vec<BitRow>,
    /// The column of each word: a word of column `i` is for the vertices from `64 i` on.
    columns: Vec<u32>,
    /// The neighbours whose edges are left or falling; and those whose edges are falling.
    present: Vec<AtomicU64>,
    falling: Vec<AtomicU64>,
    /// The original neighbours of each word, before any edge fell; and how many entries of the row are before the word.
    all: Vec<u64>,
    before: Vec<u32>,
    /// CSR offsets of the vertices' edges, which are in the order of neighbours.
    starts: Vec<u64>,
    edges: Vec<AtomicU32>,
}

pub(super) struct BitRowView<'a> {
    pub(super) is_dense: bool,
    pub(super) columns: &'a [u32],
    pub(super) present: &'a [AtomicU64],
    pub(super) falling: &'a [AtomicU64],
    all: &'a [u64],
    before: &'a [u32],
    edges: &'a [AtomicU32],
}

impl BitRowView<'_> {
    /// The index of the first word, from `from` on, whose column is at least `column`.
    #[inline(always)]
    pub(super) fn search(&self, from: usize, column: u32) -> usize {
        if self.is_dense {
            return column as usize;
        }
        gallop(self.columns, from, |&other| other < column)
    }

    /// The index in the row's edges of the edge to the neighbour at a bit of a word.
    #[inline(always)]
    pub(super) fn place(&self, word: usize, bit: u32) -> usize {
        let below = self.all[word] & ((1 << bit) - 1);
        (self.before[word] + below.count_ones()) as usize
    }

    #[inline(always)]
    pub(super) fn edge_at(&self, place: usize) -> u32 {
        self.edges[place].load(Relaxed)
    }
}

impl NeighbourBits {
    /// Converts neighbours, of which no edge fell, if they are dense enough and `room` bytes are free. Runs in the current thread pool.
    pub(super) fn new(neighbours: Neighbours, room: u64) -> Result<Self, Neighbours> {
        let vertices = neighbours.vertices_of_rows();
        let words = |v: u32| {
            let row = &neighbours.vertices[neighbours.row(v)];
            let columns = by_word(row).count();
            let all = row.last().map_or(0, |last| last.load(Relaxed) as usize / 64 + 1);
            let is_dense = 2 * columns >= all;
            BitRow { first: 0, words: if is_dense { all } else { columns } as u32, is_dense }
        };
        let mut rows: Vec<BitRow> = (0..vertices).into_par_iter().with_min_len(ROWS).map(words).collect();
        let many = rows.iter().map(|row| row.words as usize).sum::<usize>();
        if DENSE * many > neighbours.vertices.len() || (32 * many + 12 * vertices as usize) as u64 > room {
            return Err(neighbours);
        }
        let mut first = 0;
        for row in &mut rows {
            row.first = first;
            first += row.words;
        }
        let (columns, before): (Vec<AtomicU32>, Vec<AtomicU32>) = (zeros(many), zeros(many));
        let present: Vec<AtomicU64> = zeros(many);
        (0..vertices).into_par_iter().with_min_len(ROWS).for_each(|v| {
            let row = rows[v as usize];
            let (mut word, mut entries) = (row.first as usize, 0);
            for some in by_word(&neighbours.vertices[neighbours.row(v)]) {
                let column = some[0].load(Relaxed) / 64;
                if row.is_dense {
                    let at = (row.first + column) as usize;
                    (word..at).for_each(|empty| columns[empty].store(empty as u32 - row.first, Relaxed));
                    word = at;
                }
                columns[word].store(column, Relaxed);
                before[word].store(entries, Relaxed);
                let bits = some.iter().fold(0, |bits, entry| bits | bit(entry.load(Relaxed)));
                present[word].store(bits, Relaxed);
                entries += some.len() as u32;
                word += 1;
            }
        });
        let (starts, edges) = neighbours.into_edges();
        let all = present.par_iter().map(|bits| bits.load(Relaxed)).collect();
        Ok(Self {
            rows,
            columns: plain(columns),
            present,
            falling: zeros(many),
            all,
            before: plain(before),
            starts,
            edges,
        })
    }

    fn words(&self) -> usize {
        self.rows.len().div_ceil(64)
    }

    pub(super) fn length(&self, vertex: u32) -> usize {
        self.rows[vertex as usize].words as usize
    }

    #[inline(always)]
    pub(super) fn row(&self, vertex: u32) -> BitRowView<'_> {
        let BitRow { first, words, is_dense } = self.rows[vertex as usize];
        let at = first as usize..(first + words) as usize;
        let edges = self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize;
        BitRowView {
            is_dense,
            columns: &self.columns[at.clone()],
            present: &self.present[at.clone()],
            falling: &self.falling[at.clone()],
            all: &self.all[at.clone()],
            before: &self.before[at],
            edges: &self.edges[edges],
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, vertex: u32) {
        prefetch(&self.rows, vertex as usize);
        prefetch(&self.starts, vertex as usize);
    }

    /// Marks falling edges in the row of one end, given these sorted ends. No other thread may change the row meanwhile.
    pub(super) fn mark(&self, ends: &[FallingEnd]) {
        self.each_word(ends, |row, word, bits| row.falling[word].store(bits, Relaxed));
    }

    pub(super) fn settle(&self, ends: &[FallingEnd]) {
        self.each_word(ends, |row, word, bits| {
            row.present[word].store(row.present[word].load(Relaxed) & !bits, Relaxed);
            row.falling[word].store(0, Relaxed);
        });
    }

    fn each_word(&self, ends: &[FallingEnd], act: impl Fn(&BitRowView<'_>, usize, u64)) {
        let row = self.row(vertex(ends[0]));
        let mut word = 0;
        for some in ends.chunk_by(|&a, &b| a as u32 / 64 == b as u32 / 64) {
            word = row.search(word, some[0] as u32 / 64);
            act(&row, word, some.iter().fold(0, |bits, &end| bits | bit(end as u32)));
        }
    }
}

/// A bit for each vertex of the word of `column` that is larger than `than`.
#[inline(always)]
pub(super) fn larger(than: u32, column: u32) -> u64 {
    match column.cmp(&(than / 64)) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => !(bit(than) | (bit(than) - 1)),
        std::cmp::Ordering::Greater => u64::MAX,
    }
}
