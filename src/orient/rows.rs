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
//! All threads take pieces of rows; the arcs that are kept go to the buckets of rank ranges (`ranked`), since rows are read in
//! the order of ids and written in rank order. `O(arcs)` time, and a sort of each row that is kept. Memory: within the host's
//! budget ([`crate::clean::workspace`]), of which pieces take a sixteenth.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::Vertices;
use super::place::{Destination, Made, Write, make};
use super::ranked::RankedArcs;
use crate::bytes::Bytes;
use crate::clean::ids::mix;
use crate::clean::workspace::Ids;
use crate::clean::{CleanReport, InputIds, Shares, Workspace, is_sparse, needs};
use crate::control::{Control, Task, Unit};
use crate::error::Result;
use crate::graph::numbering::{numbers, order};
use crate::input::MOST_VERTICES;
use crate::input::arcs::ArcSource;
use crate::input::rows::AdjacencyRows;
use crate::mapped::prefetch;

/// Successors that are read at a time.
const CHUNK: u64 = 1 << 15;

/// Bounds on the size of pieces, in arcs.
const PIECE: u64 = 1 << 18;
const SMALLEST_PIECE: u64 = 1 << 6;

/// Orients `source` if its rows are those of a clean graph. `note` is called when all was read; it returns the identity of the
/// input, which a graph file records.
///
/// # Errors
/// Files that cannot be read; a graph file that cannot be written; a stop.
pub fn orient_rows(
    source: &dyn ArcSource,
    note: &mut dyn FnMut() -> Result<String>,
    place: Destination<'_>,
    space: Workspace<'_>,
    control: &Control,
) -> Result<Option<Made>> {
    // Arrays over all ids would grow with the number that the header declares; cleaning finds the ids that are used.
    let Some(declared) = source.declared_vertices() else { return Ok(None) };
    if is_sparse(declared, source.arcs_at_most()) {
        return Ok(None);
    }
    // If arrays over all declared ids do not fit, those that cleaning needs may.
    let Ok(shares) = space.beside(&needs(Ids::Plain(declared), source.arcs_at_most() / 2, space)) else {
        return Ok(None);
    };
    let Some(rows) = source.rows(shares.rows(), control)? else { return Ok(None) };
    let Some(lengths) = rows.lengths(control)? else { return Ok(None) };
    let arcs: u64 = lengths.par_iter().map(|&length| u64::from(length)).sum();
    let vertices = Vertices::new(&lengths);
    let last = vertices.ends().map_or(0, |(_, last)| u64::from(last));
    if arcs == 0 || !arcs.is_multiple_of(2) || is_sparse(last, arcs) || last >= MOST_VERTICES {
        return Ok(None);
    }
    let edges = arcs / 2;
    let report = CleanReport { vertices_declared: declared, arcs, ..CleanReport::default() };
    let layout = vertices.layout(&InputIds::Plain, edges, source.first_id(), Some(declared), report);
    let ids: Vec<u32> = vertices.present.members();
    let rank_of = numbers(&lengths);
    let known = Known { rows: &*rows, vertices: &ids, lengths: &lengths, rank_of: &rank_of, key: random() };
    let task = control.task("orient", Some(2 * edges), Unit::Arcs);
    let Some(arcs) = known.orient(edges, &shares, &task, control)? else { return Ok(None) };
    drop((ids, rows));
    let source = note()?;
    let order = order(&rank_of, &vertices.present);
    drop(rank_of);
    let rows = |write: &Write<'_>| arcs.rows(|at, bytes| write(at, bytes.into()), &task, control);
    let ids = vertices.ids(&InputIds::Plain);
    make(place, layout, arcs.degrees(), (order, ids), (|| Ok(source), Bytes(arcs.bytes_written())), rows).map(Some)
}

/// What all pieces share.
struct Known<'a> {
    rows: &'a dyn AdjacencyRows,
    /// The ids with a row that is not empty.
    vertices: &'a [u32],
    lengths: &'a [u32],
    rank_of: &'a [u32],
    /// The key of the hash.
    key: u64,
}

/// Some rows, one after another.
struct Piece {
    /// Positions in the list of vertices.
    vertices: Range<usize>,
    arcs: Range<u64>,
}

/// The rows of a piece, oriented.
#[derive(Default)]
struct Oriented {
    /// The successors that are kept, as ranks.
    successors: Vec<u32>,
    /// Where each row ends in them.
    ends: Vec<u32>,
    /// The hashes of arcs to larger ids, less those of arcs to smaller ids.
    sum: u64,
    /// The buffer for reading successors.
    buffer: Vec<u32>,
}

impl Known<'_> {
    /// The arcs that are kept; `None` if the rows are not clean.
    fn orient(&self, edges: u64, shares: &Shares<'_>, task: &Task, control: &Control) -> Result<Option<RankedArcs>> {
        let arcs = RankedArcs::new(self.lengths, edges, shares);
        // Successors, kept successors and ends: at most 12 bytes an arc.
        let size = (shares.left.get() / 16 / 12 / shares.threads).clamp(SMALLEST_PIECE, PIECE);
        let clean = AtomicBool::new(true);
        let oriented =
            self.pieces(size).into_par_iter().with_max_len(1).map_init(Oriented::default, |oriented, piece| {
                control.check()?;
                if !clean.load(Ordering::Relaxed) || !self.orient_piece(&piece, oriented)? {
                    clean.store(false, Ordering::Relaxed);
                    return Ok((0, 0));
                }
                arcs.extend(self.kept(&piece, oriented))?;
                task.advance(piece.arcs.end - piece.arcs.start);
                Ok((oriented.sum, oriented.successors.len() as u64))
            });
        let (sum, kept) = oriented.try_reduce(|| (0, 0), |a, b| Ok((a.0.wrapping_add(b.0), a.1 + b.1)))?;
        Ok((clean.into_inner() && sum == 0 && kept == edges).then_some(arcs))
    }

    /// The arcs that are kept of a piece.
    fn kept<'a>(&'a self, piece: &Piece, oriented: &'a Oriented) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let begins = std::iter::once(0).chain(oriented.ends.iter().copied());
        let rows = self.vertices[piece.vertices.clone()].iter().zip(begins.zip(&oriented.ends));
        rows.flat_map(|(&id, (begin, &end))| {
            let rank = self.rank_of[id as usize];
            oriented.successors[begin as usize..end as usize].iter().map(move |&successor| (rank, successor))
        })
    }

    /// Divides the rows into pieces of at most `size` arcs, or of one row that is longer.
    fn pieces(&self, size: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut first, mut start, mut end) = (0, 0, 0);
        for (vertex, &id) in self.vertices.iter().enumerate() {
            let length = u64::from(self.lengths[id as usize]);
            if end + length > start + size && vertex > first {
                pieces.push(Piece { vertices: first..vertex, arcs: start..end });
                (first, start) = (vertex, end);
            }
            end += length;
        }
        pieces.push(Piece { vertices: first..self.vertices.len(), arcs: start..end });
        pieces
    }

    /// Orients the rows of a piece; false if they are not clean.
    fn orient_piece(&self, piece: &Piece, oriented: &mut Oriented) -> Result<bool> {
        let arcs = piece.arcs.end - piece.arcs.start;
        let mut buffer = std::mem::take(&mut oriented.buffer);
        buffer.resize(arcs.min(CHUNK) as usize, 0);
        oriented.successors.clear();
        oriented.ends.clear();
        oriented.sum = 0;
        let mut vertices = self.vertices[piece.vertices.clone()].iter();
        let mut row = Row::default();
        let mut at = piece.arcs.start;
        'chunks: while at < piece.arcs.end {
            let chunk = &mut buffer[..(piece.arcs.end - at).min(CHUNK) as usize];
            self.rows.successors(at, chunk)?;
            let mut rest = &mut chunk[..];
            while !rest.is_empty() {
                if row.left == 0 {
                    let Some(&id) = vertices.next() else { return Ok(false) };
                    row = Row::new(id, self, at, oriented);
                }
                let now = rest.len().min(row.left);
                let (part, after) = rest.split_at_mut(now);
                // The next row's, which is about as long.
                for &successor in &after[..now.min(after.len())] {
                    prefetch(self.rank_of, successor as usize);
                }
                if !row.ascends(part) {
                    if now == row.length {
                        part.sort_unstable();
                    } else {
                        if !row.take_sorted(self, oriented)? {
                            return Ok(false);
                        }
                        at = row.at + row.length as u64;
                        continue 'chunks;
                    }
                }
                if !row.take(part, self, oriented) {
                    return Ok(false);
                }
                (rest, at) = (after, at + now as u64);
            }
        }
        oriented.buffer = buffer;
        Ok(true)
    }
}

/// The row that is being read.
#[derive(Default)]
struct Row {
    id: u32,
    rank: u32,
    length: usize,
    /// Where it begins among all arcs.
    at: u64,
    /// The number of successors that are still to be read.
    left: usize,
    /// The last successor so far.
    last: Option<u32>,
    /// Where its kept successors begin, and the sum of hashes before it.
    start: usize,
    sum: u64,
}

impl Row {
    fn new(id: u32, known: &Known<'_>, at: u64, oriented: &Oriented) -> Self {
        let (length, rank) = (known.lengths[id as usize] as usize, known.rank_of[id as usize]);
        Self { id, rank, length, at, left: length, last: None, start: oriented.successors.len(), sum: oriented.sum }
    }

    /// Whether `part`, which is not empty, ascends strictly from what came before.
    #[inline]
    fn ascends(&self, part: &[u32]) -> bool {
        let within = part.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]));
        within & self.last.is_none_or(|last| last < part[0])
    }

    /// Takes the next part of the row; false if it is not clean.
    #[inline]
    fn take(&mut self, part: &[u32], known: &Known<'_>, oriented: &mut Oriented) -> bool {
        let last = part[part.len() - 1];
        if !self.ascends(part) || last as usize >= known.rank_of.len() {
            return false;
        }
        self.last = Some(last);
        oriented.sum = oriented.sum.wrapping_add(self.hash(part, known.key));
        self.keep(part, known.rank_of, &mut oriented.successors);
        self.left -= part.len();
        if self.left == 0 {
            oriented.ends.push(oriented.successors.len() as u32);
        }
        true
    }

    /// Takes the whole row again, sorted, after a part of it was taken that does not ascend; false if it is not clean.
    #[cold]
    fn take_sorted(&mut self, known: &Known<'_>, oriented: &mut Oriented) -> Result<bool> {
        let mut all = vec![0; self.length];
        known.rows.successors(self.at, &mut all)?;
        all.sort_unstable();
        oriented.successors.truncate(self.start);
        oriented.sum = self.sum;
        (self.left, self.last) = (self.length, None);
        Ok(self.take(&all, known, oriented))
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
    fn keep(&self, part: &[u32], rank_of: &[u32], successors: &mut Vec<u32>) {
        let mut end = successors.len();
        successors.resize(end + part.len(), 0);
        for &successor in part {
            let rank = rank_of[successor as usize];
            successors[end] = rank;
            end += usize::from(rank < self.rank);
        }
        successors.truncate(end);
    }
}

/// A key that no input can be made for.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
