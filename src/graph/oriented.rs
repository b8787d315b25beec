//! The oriented graph: each edge once, as an arc from the larger rank to the smaller.
//!
//! Vertices `0..n` are those with an edge, in the order of the input's ids; a vertex's *rank* is its position in falling degree
//! order, ties by falling id. Row `r` holds the successors of the vertex of rank `r`, as ranks: ascending, all below `r`.
//!
//! Rows are stored in rank order, compact, in file blocks ([`super::file`]) or, if a graph that is not cached fits the budget, in
//! the same blocks in memory. Otherwise this value holds only an index of the blocks: a few bytes for each ten thousand arcs or
//! so. Rows are read in runs of ranks ([`OrientedGraph::read`]) or all of them in sequence ([`OrientedGraph::pass`]); a block's
//! checksum and the order of its rows are checked each time it is read.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use trimill_kernels::CompactPart;

use super::bits::Marks;
use super::codec;
use super::file::{Checksums, Layout, RowsWritten, section};
use super::index::{DegreeRun, Degrees, Index};
use super::layout::REMAKE;
use super::offset::Offset;
use super::store::{BlockBytes, Store};
use crate::clean::CleanReport;
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};
use trimill_system::lock;
use trimill_system::parallel;

/// A graph, oriented and ready to be partitioned.
#[derive(Debug)]
pub struct OrientedGraph {
    pub(super) store: Store,
    pub(super) layout: Layout,
    pub(super) index: Index,
    pub(super) degrees: Degrees,
    pub(super) checksums: Checksums,
    /// The block whose row ends were requested last, and these ends.
    pub(super) lengths: Mutex<Option<(usize, Arc<[u64]>)>>,
}

/// The sizes that plans and methods need before they read a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphSize {
    /// Vertices with an edge.
    pub vertices: u32,
    /// Edges.
    pub edges: u64,
    /// The most successors of a vertex.
    pub longest_row: u32,
    /// The sum over all arcs of the number of successors of the arc's head.
    pub probes: u64,
}

/// Buffers with which a thread reads and decodes blocks.
#[derive(Default)]
struct Scratch {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    ends: Vec<u64>,
    successors: Vec<u32>,
}

/// The input's ids of all vertices.
#[derive(Debug)]
pub struct Ids {
    /// All of them, ascending, if they are not consecutive.
    table: Option<Vec<u64>>,
    first: u64,
    vertices: u32,
}

impl Ids {
    /// These ascending ids.
    pub fn listed(table: Vec<u64>) -> Self {
        Self { vertices: table.len() as u32, table: Some(table), first: 0 }
    }

    /// The id that the input used for `vertex`.
    pub fn original(&self, vertex: u32) -> u64 {
        self.table.as_ref().map_or(self.first + u64::from(vertex), |table| table[vertex as usize])
    }

    /// The vertex that the input called `original`, if it has an edge.
    pub fn vertex_of(&self, original: u64) -> Option<u32> {
        match &self.table {
            Some(table) => table.binary_search(&original).ok().map(|vertex| vertex as u32),
            None => original
                .checked_sub(self.first)
                .filter(|&vertex| vertex < u64::from(self.vertices))
                .map(|vertex| vertex as u32),
        }
    }
}

impl OrientedGraph {
    /// A graph whose sections are in memory; `layout` holds what is known before rows are made.
    pub(crate) fn in_memory(
        mut layout: Layout,
        rows: RowsWritten,
        pieces: Vec<BlockBytes>,
        degrees: Vec<DegreeRun>,
        (order, ids): (Vec<u32>, Vec<u64>),
    ) -> Result<Self> {
        rows.note(&mut layout, &degrees);
        let defect = || Error::defect("rows that contradict their counts");
        Ok(Self {
            index: Index::new(rows.entries, &layout).ok_or_else(defect)?,
            degrees: Degrees::new(degrees, &layout).ok_or_else(defect)?,
            store: Store::Memory { pieces, order, ids },
            layout,
            checksums: Checksums::default(),
            lengths: Mutex::default(),
        })
    }

    /// The number of vertices with an edge.
    pub fn vertices(&self) -> u32 {
        self.layout.vertices
    }

    /// The number of edges; each is one arc here.
    pub fn edges(&self) -> u64 {
        self.layout.edges
    }

    /// The sizes that plans and methods need.
    pub fn size(&self) -> GraphSize {
        let Layout { vertices, edges, longest_row, probes, .. } = self.layout;
        GraphSize { vertices, edges, longest_row, probes }
    }

    /// What cleaning removed and added.
    pub fn report(&self) -> &CleanReport {
        &self.layout.report
    }

    /// The most successors of a vertex.
    pub fn longest_row(&self) -> u32 {
        self.layout.longest_row
    }

    /// Bytes of all rows as they are stored.
    pub fn stored_bytes(&self) -> Bytes {
        Bytes(self.layout.block_bytes)
    }

    /// Bytes of the graph as plain arrays: offsets (8 a vertex) and successors (4 an arc).
    pub fn csr_bytes(&self) -> Bytes {
        Bytes::of::<u64>(u64::from(self.vertices()) + 1) + Bytes::of::<u32>(self.edges())
    }

    /// Bytes of the host's memory that the sections take: none if they are in a file.
    pub fn held_bytes(&self) -> Bytes {
        match &self.store {
            Store::File { .. } => Bytes::ZERO,
            Store::Memory { .. } => self.layout.sections_bytes(),
        }
    }

    /// The file that holds the rows, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.store.path()
    }

    /// The distinct degrees, falling, each with the number of its vertices: run by run, the degrees of all vertices in rank order.
    pub fn degree_runs(&self) -> &[DegreeRun] {
        &self.degrees.0
    }

    /// The number of paths of two edges: the sum of `deg (deg - 1) / 2`.
    pub fn wedges(&self) -> u128 {
        let of = |run: &DegreeRun| u128::from(run.vertices) * (u128::from(run.degree) * u128::from(run.degree - 1) / 2);
        self.degree_runs().iter().map(of).sum()
    }

    /// The id of the first declared vertex, to which line 1 of a single-column assignment file belongs.
    pub fn first_declared_id(&self) -> u64 {
        self.layout.first_id
    }

    /// How many lines a single-column assignment file has; `None` where ids are sparse.
    pub fn declared_lines(&self) -> Option<u64> {
        self.layout.declared_lines
    }

    /// The vertex of each rank: 4 bytes each, read in the current thread pool.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] if they cannot be read, are damaged, or do not contain every vertex once.
    pub fn order(&self) -> Result<Vec<u32>> {
        match &self.store {
            Store::Memory { order, .. } => Ok(order.clone()),
            Store::File { file, .. } => {
                let order: Vec<u32> = section(file, self.layout.order(), self.checksums.order, "order")?;
                let seen = Marks::new(self.vertices());
                order.par_iter().filter(|&&vertex| vertex < self.vertices()).for_each(|&vertex| seen.set(vertex));
                if seen.finish().count() != self.vertices() {
                    return Err(Error::data(&file.path, "its order of vertices leaves some out").advice(REMAKE));
                }
                Ok(order)
            }
        }
    }

    /// The input's ids: 8 bytes a vertex if they are not consecutive.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] if they cannot be read, are damaged or do not ascend.
    pub fn ids(&self) -> Result<Ids> {
        let table = match &self.store {
            _ if !self.layout.has_ids => None,
            Store::Memory { ids, .. } => Some(ids.clone()),
            Store::File { file, .. } => {
                let ids: Vec<u64> = section(file, self.layout.ids(), self.checksums.ids, "ids")?;
                if !ids.is_sorted_by(|a, b| a < b) {
                    return Err(Error::data(&file.path, "its ids do not ascend").advice(REMAKE));
                }
                Some(ids)
            }
        };
        Ok(Ids { table, first: self.layout.offset_of_ids, vertices: self.vertices() })
    }

    /// How many successors the vertex of each rank has: 4 bytes each. Reads all rows once, in the current thread pool.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn out_degrees(&self) -> Result<Vec<u32>> {
        let mut lengths = trimill_system::mapped::zeros(self.vertices() as usize);
        let mut rest = &mut lengths[..];
        let mut places = Vec::with_capacity(self.index.len());
        for block in 0..self.index.len() {
            let (mine, after) = std::mem::take(&mut rest).split_at_mut(self.index.ranks(block).len());
            places.push((block, mine));
            rest = after;
        }
        parallel::try_each_with(places, Vec::new, |buffer, (block, lengths)| {
            let bytes = self.block(block, buffer)?;
            let arcs = self.index.arcs(block);
            codec::lengths(bytes, lengths, arcs.end - arcs.start).map_err(|wrong| self.wrong(block, wrong))?;
            Ok(())
        })?;
        Ok(lengths)
    }

    /// The number of arcs in all rows before that of `rank`, which is at most `n`. Reads a block unless `rank` begins one.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn first_arc(&self, rank: u32) -> Result<u64> {
        if rank >= self.vertices() {
            return Ok(self.edges());
        }
        let block = self.index.block_of(rank);
        let (first, arcs) = (self.index.ranks(block).start, self.index.arcs(block));
        match rank - first {
            0 => Ok(arcs.start),
            rows => Ok(arcs.start + self.row_ends(block)?[rows as usize - 1]),
        }
    }

    /// The largest rank `to` above `from` such that `fits` accepts the numbers of rows and arcs of `from..to`; `from + 1` if not
    /// even one row fits. `fits` must be monotonic: smaller numbers than accepted ones are accepted. Reads one or two blocks.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn last_fitting(&self, from: u32, fits: impl Fn(u64, u64) -> bool) -> Result<u32> {
        let before = self.first_arc(from)?;
        let holds = |rank: u32, arc: u64| fits(u64::from(rank - from), arc - before);
        if holds(self.vertices(), self.edges()) {
            return Ok(self.vertices());
        }
        let block = self.index.last_where(self.index.block_of(from), holds);
        let (first, arcs) = (self.index.ranks(block).start, self.index.arcs(block).start);
        let ends = self.row_ends(block)?;
        let skipped = (from.max(first) - first) as usize;
        let rows = ends[skipped..].iter().zip(first + skipped as u32 + 1..);
        let fitting = rows.take_while(|&(end, rank)| holds(rank, arcs + end)).count();
        Ok((first + (skipped + fitting) as u32).max(from + 1))
    }

    /// As [`Self::last_fitting`], but `to` begins a file block or is `n`, and the range has at least one block. Reads nothing if
    /// `from` begins a block.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn last_fitting_block(&self, from: u32, fits: impl Fn(u64, u64) -> bool) -> Result<u32> {
        let before = self.first_arc(from)?;
        let holds = |rank: u32, arc: u64| fits(u64::from(rank - from), arc - before);
        if holds(self.vertices(), self.edges()) {
            return Ok(self.vertices());
        }
        let first = self.index.block_of(from);
        let last = self.index.last_where(first, holds);
        Ok(self.index.ranks(if last == first { first } else { last - 1 }).end)
    }

    /// The end of each row of a block, in arcs from the block's first.
    fn row_ends(&self, block: usize) -> Result<Arc<[u64]>> {
        if let Some((_, ends)) = lock(&self.lengths).as_ref().filter(|(of, _)| *of == block) {
            return Ok(Arc::clone(ends));
        }
        let mut lengths = vec![0; self.index.ranks(block).len()];
        let (mut buffer, arcs) = (Vec::new(), self.index.arcs(block));
        let bytes = self.block(block, &mut buffer)?;
        codec::lengths(bytes, &mut lengths, arcs.end - arcs.start).map_err(|wrong| self.wrong(block, wrong))?;
        let mut end = 0;
        let end_of = |length: u32| {
            end += u64::from(length);
            end
        };
        let ends: Arc<[u64]> = lengths.into_iter().map(end_of).collect();
        *lock(&self.lengths) = Some((block, Arc::clone(&ends)));
        Ok(ends)
    }

    /// Reads the rows of `ranks`: their begins, counted from 0 and with one more at the end, into `begins`, and their successors,
    /// whose number [`Self::first_arc`] gives, into `successors`. Blocks are read and decoded by all threads of the current pool,
    /// directly into place. Takes `O(rows + arcs)` time, and a block per thread in addition to the result.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] if the file cannot be read, a block is damaged, or its rows are not those of an oriented
    /// graph.
    pub fn read<O: Offset>(&self, ranks: Range<u32>, begins: &mut [O], successors: &mut [u32]) -> Result<()> {
        begins[0] = O::of(0);
        if ranks.is_empty() {
            return Ok(());
        }
        let (begin, end) = (self.first_arc(ranks.start)?, self.first_arc(ranks.end)?);
        let (mut ends_left, mut successors_left) = (&mut begins[1..], successors);
        let mut parts = Vec::new();
        for block in self.index.block_of(ranks.start)..=self.index.block_of(ranks.end - 1) {
            let (rows, arcs) = (self.index.ranks(block), self.index.arcs(block));
            let rows = rows.start.max(ranks.start)..rows.end.min(ranks.end);
            let arcs = arcs.start.max(begin)..arcs.end.min(end);
            let (ends, after) = std::mem::take(&mut ends_left).split_at_mut(rows.len());
            let (mine, rest) = std::mem::take(&mut successors_left).split_at_mut((arcs.end - arcs.start) as usize);
            parts.push((block, rows, arcs.start - begin, ends, mine));
            (ends_left, successors_left) = (after, rest);
        }
        parallel::try_each_with(parts, Scratch::default, |scratch, (block, rows, base, ends, successors)| {
            self.decode(block, rows, base, ends, successors, scratch)
        })
    }

    /// Reads the rows `rows` of a block; `base` arcs of the requested rows come before them.
    fn decode<O: Offset>(
        &self,
        block: usize,
        rows: Range<u32>,
        base: u64,
        ends: &mut [O],
        into: &mut [u32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { bytes, lengths, ends: all_ends, successors } = scratch;
        let (bytes, longest) = (self.block(block, bytes)?, self.layout.longest_row);
        let (all, arcs) = (self.index.ranks(block), self.index.arcs(block));
        let wrong = |wrong| self.wrong(block, wrong);
        if rows == all {
            return codec::decode(bytes, all.start, longest, base, ends, (lengths, into)).map_err(wrong);
        }
        all_ends.resize(all.len(), 0);
        successors.resize((arcs.end - arcs.start) as usize, 0);
        codec::decode(bytes, all.start, longest, 0, all_ends, (lengths, successors)).map_err(wrong)?;
        let (from, to) = ((rows.start - all.start) as usize, (rows.end - all.start) as usize);
        let begin = if from == 0 { 0 } else { all_ends[from - 1] };
        ends.iter_mut().zip(&all_ends[from..to]).for_each(|(place, end)| *place = O::of(base + end - begin));
        into.copy_from_slice(&successors[begin as usize..begin as usize + into.len()]);
        Ok(())
    }

    /// Whether `rank` begins a file block, or is `n`.
    pub fn begins_block(&self, rank: u32) -> bool {
        rank >= self.vertices() || self.index.ranks(self.index.block_of(rank)).start == rank
    }

    /// The most stored bytes of a file block, and the most bytes of one as plain rows with offsets of 64 bits.
    pub fn largest_block(&self) -> [Bytes; 2] {
        let blocks = || 0..self.index.len();
        let stored = |i| self.index.bytes(i).end - self.index.bytes(i).start;
        let plain =
            |i| 8 * (self.index.ranks(i).len() as u64 + 1) + 4 * (self.index.arcs(i).end - self.index.arcs(i).start);
        [blocks().map(stored).max(), blocks().map(plain).max()].map(|most| Bytes(most.unwrap_or(0)))
    }

    /// The bytes of the file blocks with the rows of `ranks`, which are whole file blocks.
    pub fn stored_of(&self, ranks: &Range<u32>) -> Bytes {
        let end = |rank| if rank >= self.vertices() { self.index.len() } else { self.index.block_of(rank) };
        let blocks = end(ranks.start)..end(ranks.end);
        Bytes(blocks.map(|i| self.index.bytes(i).end - self.index.bytes(i).start).sum())
    }

    /// Reads the file blocks with the rows of `ranks`, which are whole file blocks, as they are stored: their bytes, whose number
    /// [`Self::stored_of`] gives, into `bytes`, and the begins of their rows, counted from `before`, into `begins`. Returns what a
    /// device needs to decode them. Blocks are read by all threads of the current pool; of their rows only the lengths are
    /// decoded.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_stored<O: Offset>(
        &self,
        ranks: Range<u32>,
        before: u64,
        begins: &mut [O],
        bytes: &mut [u8],
    ) -> Result<Vec<CompactPart>> {
        begins[0] = O::of(before);
        if ranks.is_empty() {
            return Ok(Vec::new());
        }
        let blocks = self.index.block_of(ranks.start)..self.index.block_of(ranks.end - 1) + 1;
        let (first_byte, first_arc) = (self.index.bytes(blocks.start).start, self.index.arcs(blocks.start).start);
        let (mut ends_left, mut bytes_left) = (&mut begins[1..], bytes);
        let mut parts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let length = self.index.bytes(block).end - self.index.bytes(block).start;
            let (ends, after) = std::mem::take(&mut ends_left).split_at_mut(self.index.ranks(block).len());
            let (mine, rest) = std::mem::take(&mut bytes_left).split_at_mut(length as usize);
            parts.push((block, ends, mine));
            (ends_left, bytes_left) = (after, rest);
        }
        let read = |lengths: &mut Vec<u32>, (block, ends, mine): (usize, &mut [O], &mut [u8])| {
            self.store.read(self.index.bytes(block), mine)?;
            self.check(block, mine)?;
            let (rows, arcs) = (self.index.ranks(block), self.index.arcs(block));
            let wrong = |wrong| self.wrong(block, wrong);
            lengths.resize(rows.len(), 0);
            let taken = codec::lengths(mine, lengths, arcs.end - arcs.start).map_err(wrong)?;
            codec::check_numbers(&mine[taken..], arcs.end - arcs.start).map_err(wrong)?;
            if (rows.start..).zip(&*lengths).any(|(rank, &length)| length > rank.min(self.layout.longest_row)) {
                return Err(wrong("rows that do not ascend to smaller ranks"));
            }
            let mut end = before + (arcs.start - first_arc);
            for (place, &length) in ends.iter_mut().zip(&*lengths) {
                end += u64::from(length);
                *place = O::of(end);
            }
            let begin = self.index.bytes(block).start - first_byte;
            Ok(CompactPart {
                begin: (begin + taken as u64) as u32,
                end: (begin + mine.len() as u64) as u32,
                row: rows.start - ranks.start,
                rows: rows.len() as u32,
                arc: (arcs.start - first_arc) as u32,
                arcs: (arcs.end - arcs.start) as u32,
                bound: rows.start,
                bound_step: 1,
            })
        };
        parallel::try_map_with(parts, Vec::new, read)
    }

    /// The bytes of a block, checked.
    fn block<'a>(&'a self, block: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let bytes = self.store.bytes(self.index.bytes(block), buffer)?;
        self.check(block, bytes)?;
        Ok(bytes)
    }

    /// Checks the bytes of a block if they come from a file; blocks in memory were made by this process.
    fn check(&self, block: usize, bytes: &[u8]) -> Result<()> {
        match self.path().is_some() && xxh3_64(bytes) != self.index.checksum(block) {
            true => Err(self.wrong(block, "another checksum than the index says: it is damaged")),
            false => Ok(()),
        }
    }

    fn wrong(&self, block: usize, what: &str) -> Error {
        let path = self.path().unwrap_or(Path::new("the graph in memory"));
        Error::data(path, format!("file block {block} of {} has {what}", self.index.len())).advice(REMAKE)
    }

    /// How many file blocks there are.
    pub fn blocks(&self) -> usize {
        self.index.len()
    }
}
