//! From clean rows to the oriented graph, without sorting arcs: for inputs that list every edge from both ends.
//!
//! Input: [`AdjacencyRows`]. Output: the same oriented graph that cleaning and [`super::orient`] make, in a file or in
//! memory; or `None` if the rows are not those of a clean graph, which is then cleaned. A row keeps the successors of smaller
//! rank, and degrees are the lengths of rows, so ranks are known before any arc is read.
//!
//! The rows are checked. A row, sorted if it is not, must ascend strictly, and its successors must be vertices: so no arc occurs
//! twice. The arcs must be symmetric: a keyed hash of the pair is added for each arc to a larger id and subtracted for each to a
//! smaller one, modulo 2^64, and the sum must be 0. The key is random in each run, so arcs without their reverse pass with
//! probability 2^-64 only, whatever they are. A loop counts as an arc to a larger id without a reverse. One end of each edge
//! keeps it, so exactly half of the arcs must be kept.
//!
//! All threads take chunks of rows; the arcs that are kept go to the buckets of rank ranges (`ranked`), since rows are read in
//! the order of ids and written in rank order. `O(arcs)` time, and a sort of each row that is kept. Memory: within the host's
//! budget ([`crate::clean::workspace`]); a thread reads 32,768 successors, or a row of a BVGraph, at a time.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::UsedIds;
use super::place::{Destination, MadeGraph, VertexSections, Write, make};
use super::ranked::RankedArcs;
use crate::clean::workspace::IdCount;
use crate::clean::{CleanReport, InputIds, Shares, Workspace, is_sparse, needs};
use trimill_graph::file::Layout;
use trimill_graph::numbering::{numbers, order};
use trimill_input::MOST_VERTICES;
use trimill_input::arcs::ArcSource;
use trimill_input::rows::{AdjacencyRows, RowChunk};
use trimill_system::control::{Control, Task, Unit};
use trimill_system::error::Result;
use trimill_system::hash::mix;
use trimill_system::mapped::prefetch;
use trimill_system::parallel;

/// The most arcs of a chunk, unless the source says where chunks begin.
const CHUNK: u64 = 1 << 18;

/// Orients `source` if its rows are those of a clean graph. `note` is called when all was read; it returns the identity of the
/// input, which a graph file records.
pub fn orient_rows(
    source: &dyn ArcSource,
    note: &mut dyn FnMut() -> Result<String>,
    place: Destination<'_>,
    space: Workspace<'_>,
    control: &Control,
) -> Result<Option<MadeGraph>> {
    // Arrays over all ids would grow with the number that the header declares; cleaning finds the ids that are used.
    let Some(declared) = source.declared_vertices() else { return Ok(None) };
    if is_sparse(declared, source.arcs_at_most()) {
        return Ok(None);
    }
    // If arrays over all declared ids do not fit, those that cleaning needs may.
    let Ok(shares) = space.beside(&needs(IdCount::Plain(declared), source.arcs_at_most() / 2, space)) else {
        return Ok(None);
    };
    let Some(rows) = source.rows(shares.rows(), control)? else { return Ok(None) };
    let Some(lengths) = rows.lengths(control)? else { return Ok(None) };
    let arcs: u64 = lengths.par_iter().map(|&length| u64::from(length)).sum();
    let vertices = UsedIds::new(&lengths);
    let last = vertices.ends().map_or(0, |(_, last)| u64::from(last));
    if arcs == 0 || !arcs.is_multiple_of(2) || is_sparse(last, arcs) || last >= MOST_VERTICES {
        return Ok(None);
    }
    let edges = arcs / 2;
    let report = CleanReport { vertices_declared: declared, arcs, ..CleanReport::default() };
    let (first_id, declared_lines) = (source.first_id(), Some(declared));
    let layout = Layout { first_id, declared_lines, report, ..vertices.layout(&InputIds::Plain, edges) };
    let ids: Vec<u32> = vertices.present.members();
    let rank_of = numbers(&lengths);
    let known = RowInputs { rows: &*rows, vertices: &ids, lengths: &lengths, rank_of: &rank_of, key: random() };
    let task = control.task("orient", Some(2 * edges), Unit::Arcs);
    let Some(arcs) = known.orient(edges, &shares, &task, control)? else { return Ok(None) };
    drop((ids, rows));
    let source = note()?;
    let order = order(&rank_of, &vertices.present);
    drop(rank_of);
    let rows = |write: &Write<'_>| arcs.rows(|at, bytes| write(at, bytes.into()), &task, control);
    let vertices = VertexSections { degrees: arcs.degrees(), order, ids: vertices.ids(&InputIds::Plain) };
    make(place, layout, vertices, || Ok(source), rows).map(Some)
}

/// What all chunks share.
struct RowInputs<'a> {
    rows: &'a dyn AdjacencyRows,
    /// The ids with a row that is not empty.
    vertices: &'a [u32],
    lengths: &'a [u32],
    rank_of: &'a [u32],
    /// The key of the hash.
    key: u64,
}

struct RowCut {
    /// Positions in the list of vertices.
    vertices: Range<usize>,
    rows: RowChunk,
}

#[derive(Default)]
struct OrientedRows {
    /// The successors that are kept of a part, as ranks.
    successors: Vec<u32>,
    /// The rank of each row of the part, and where it ends in them.
    rows: Vec<(u32, u32)>,
    /// The hashes of arcs to larger ids, less those of arcs to smaller ids.
    sum: u64,
    /// The number of successors that were kept.
    kept: u64,
    /// For reading successors.
    memory: Vec<u32>,
}

impl OrientedRows {
    /// The arcs that are kept of a part.
    fn arcs(&self) -> impl Iterator<Item = (u32, u32)> + use<'_> {
        let begins = std::iter::once(0).chain(self.rows.iter().map(|&(_, end)| end));
        begins.zip(&self.rows).flat_map(|(begin, &(rank, end))| {
            self.successors[begin as usize..end as usize].iter().map(move |&successor| (rank, successor))
        })
    }
}

impl RowInputs<'_> {
    /// The arcs that are kept; `None` if the rows are not clean.
    fn orient(&self, edges: u64, shares: &Shares<'_>, task: &Task, control: &Control) -> Result<Option<RankedArcs>> {
        let arcs = RankedArcs::new(self.lengths, edges, shares);
        let clean = AtomicBool::new(true);
        let oriented = parallel::try_map_with(self.chunks(), OrientedRows::default, |oriented, chunk| {
            control.check()?;
            if !clean.load(Ordering::Relaxed) || !self.orient_chunk(&chunk, oriented, &arcs)? {
                clean.store(false, Ordering::Relaxed);
                return Ok((0, 0));
            }
            task.advance(chunk.rows.arcs.end - chunk.rows.arcs.start);
            Ok((oriented.sum, oriented.kept))
        })?;
        let (sum, kept) = oriented.into_iter().fold((0u64, 0), |a, b| (a.0.wrapping_add(b.0), a.1 + b.1));
        Ok((clean.into_inner() && sum == 0 && kept == edges).then_some(arcs))
    }

    /// Divides the rows: where the source says, or into chunks of at most [`CHUNK`] arcs, or of one row that is longer.
    fn chunks(&self) -> Vec<RowCut> {
        let starts = self.rows.starts();
        let n = self.lengths.len() as u64;
        let (mut chunks, mut first, mut start, mut end) = (Vec::new(), 0, 0, 0);
        if let Some(starts) = starts {
            let ends = starts.iter().skip(1).copied().chain([n]);
            for (id, next_id) in starts.iter().copied().zip(ends) {
                let next = first + self.vertices[first..].partition_point(|&vertex| u64::from(vertex) < next_id);
                end += self.vertices[first..next].iter().map(|&id| u64::from(self.lengths[id as usize])).sum::<u64>();
                if next > first {
                    chunks
                        .push(RowCut { vertices: first..next, rows: RowChunk { ids: id..next_id, arcs: start..end } });
                }
                (first, start) = (next, end);
            }
            return chunks;
        }
        let mut id = 0;
        for (vertex, &next_id) in self.vertices.iter().enumerate() {
            let length = u64::from(self.lengths[next_id as usize]);
            if end + length > start + CHUNK && vertex > first {
                let ids = id..u64::from(next_id);
                chunks.push(RowCut { vertices: first..vertex, rows: RowChunk { ids: ids.clone(), arcs: start..end } });
                (first, start, id) = (vertex, end, ids.end);
            }
            end += length;
        }
        chunks.push(RowCut { vertices: first..self.vertices.len(), rows: RowChunk { ids: id..n, arcs: start..end } });
        chunks
    }

    /// Orients the rows of a chunk into `arcs`; false if they are not clean.
    fn orient_chunk(&self, chunk: &RowCut, oriented: &mut OrientedRows, arcs: &RankedArcs) -> Result<bool> {
        let mut memory = std::mem::take(&mut oriented.memory);
        (oriented.sum, oriented.kept) = (0, 0);
        let mut vertices = self.vertices[chunk.vertices.clone()].iter();
        let mut row = InputRow::default();
        let mut at = chunk.rows.arcs.start;
        // Rows in several parts that do not ascend from one to the next.
        let mut unsorted = Vec::new();
        let mut clean = true;
        self.rows.read(&chunk.rows, &mut memory, &mut |part| {
            oriented.successors.clear();
            oriented.rows.clear();
            let mut rest = part;
            while !rest.is_empty() {
                if row.left == 0 {
                    let Some(&id) = vertices.next() else {
                        clean = false;
                        return Ok(false);
                    };
                    row = InputRow::new(id, self, at);
                }
                let now = rest.len().min(row.left);
                let (part, after) = rest.split_at_mut(now);
                // Prefetches for the next row, which is taken to be as long as this one.
                for &successor in &after[..now.min(after.len())] {
                    prefetch(self.rank_of, successor as usize);
                }
                if !row.take(part, self, oriented) {
                    clean = false;
                    return Ok(false);
                }
                if row.left == 0 && row.is_unsorted {
                    unsorted.push(row.whole());
                }
                (rest, at) = (after, at + now as u64);
            }
            oriented.kept += oriented.successors.len() as u64;
            arcs.extend(oriented.arcs())?;
            Ok(true)
        })?;
        oriented.memory = memory;
        for row in unsorted {
            clean = clean && self.is_distinct(&row)?;
        }
        Ok(clean && at == chunk.rows.arcs.end)
    }

    /// Whether no successor occurs twice in a row.
    #[cold]
    fn is_distinct(&self, row: &RowChunk) -> Result<bool> {
        let mut all = Vec::with_capacity((row.arcs.end - row.arcs.start) as usize);
        self.rows.read(row, &mut Vec::new(), &mut |part| {
            all.extend_from_slice(part);
            Ok(true)
        })?;
        all.sort_unstable();
        Ok(all.windows(2).all(|pair| pair[0] < pair[1]))
    }
}

/// The row that is being read.
#[derive(Default)]
struct InputRow {
    id: u32,
    rank: u32,
    length: usize,
    /// Where it begins among all arcs.
    at: u64,
    /// The number of successors that are still to be read.
    left: usize,
    /// The last successor so far.
    last: Option<u32>,
    /// Whether a part of it does not follow the part before it.
    is_unsorted: bool,
}

impl InputRow {
    fn new(id: u32, known: &RowInputs<'_>, at: u64) -> Self {
        let (length, rank) = (known.lengths[id as usize] as usize, known.rank_of[id as usize]);
        Self { id, rank, length, at, left: length, last: None, is_unsorted: false }
    }

    /// All of it.
    fn whole(&self) -> RowChunk {
        let id = u64::from(self.id);
        RowChunk { ids: id..id + 1, arcs: self.at..self.at + self.length as u64 }
    }

    /// Takes the next part of the row, which is not empty; false if it is not clean.
    #[inline]
    fn take(&mut self, part: &mut [u32], known: &RowInputs<'_>, oriented: &mut OrientedRows) -> bool {
        if !ascends(part) {
            part.sort_unstable();
            if !ascends(part) {
                return false;
            }
            self.is_unsorted |= part.len() < self.length;
        }
        self.is_unsorted |= self.last.is_some_and(|last| last >= part[0]);
        let last = part[part.len() - 1];
        if last as usize >= known.rank_of.len() {
            return false;
        }
        self.last = Some(last);
        oriented.sum = oriented.sum.wrapping_add(self.hash(part, known.key));
        self.keep(part, known.rank_of, oriented);
        self.left -= part.len();
        true
    }

    /// The hashes of the arcs to larger ids, less those of the arcs to smaller ids.
    #[inline]
    fn hash(&self, part: &[u32], key: u64) -> u64 {
        let id = u64::from(self.id);
        let (below, above) = part.split_at(part.partition_point(|&successor| successor < self.id));
        let down =
            below.iter().fold(0u64, |sum, &successor| sum.wrapping_add(mix((u64::from(successor) << 32 | id) ^ key)));
        let up =
            above.iter().fold(0u64, |sum, &successor| sum.wrapping_add(mix((id << 32 | u64::from(successor)) ^ key)));
        up.wrapping_sub(down)
    }

    /// Appends the ranks of the successors that are kept.
    #[inline]
    fn keep(&self, part: &[u32], rank_of: &[u32], OrientedRows { successors, rows, .. }: &mut OrientedRows) {
        let mut end = successors.len();
        successors.resize(end + part.len(), 0);
        for &successor in part {
            let rank = rank_of[successor as usize];
            successors[end] = rank;
            end += usize::from(rank < self.rank);
        }
        successors.truncate(end);
        rows.push((self.rank, end as u32));
    }
}

fn ascends(part: &[u32]) -> bool {
    part.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]))
}

/// A random key, so that nobody can make a wrong input that passes the check.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
