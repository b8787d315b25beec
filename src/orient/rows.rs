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
//! A directed graph whose arcs would not fit in memory while they are sorted takes this way too: its rows are united with their reverse
//! ([`united`]).
//!
//! All threads take chunks of rows. What is kept of a row is sorted, encoded, and waits in memory for its place in the file ([`waiting`]),
//! since rows are read in the order of ids and written in rank order. If not all of them fit, the input is read several times. So nothing
//! is written but the graph.
//!
//! `O(arcs)` time for each pass, and a sort of each row that is kept. Memory: within the host's budget ([`crate::clean::workspace`]); a
//! thread reads 32,768 successors, or a row of a BVGraph, at a time.
//!
//! [`waiting`]: super::waiting
//! [`united`]: super::united

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use super::UsedIds;
use super::joined::BlocksInOrder;
use super::place::{Destination, MadeGraph, VertexSections, Write, make};
use super::united::UnitedRows;
use super::waiting::{WaitingRows, encode_row};
use crate::clean::buckets::bytes_on_disk;
use crate::clean::workspace::{GraphToPrepare, IdCount, InputForm, ORIENT_ROWS, READ_ROWS_AGAIN};
use crate::clean::{BEYOND_MEMORY, CleanReport, InputIds, Shares, Workspace, is_sparse, needs};
use trimill_counting::VertexSet;
use trimill_graph::file::Layout;
use trimill_graph::numbering::{numbers, order};
use trimill_input::MOST_VERTICES;
use trimill_input::arcs::ArcSource;
use trimill_input::rows::{AdjacencyRows, RowChunk, Symmetry};
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, NOTE, Task, Unit};
use trimill_system::error::{Error, Result};
use trimill_system::hash::mix;
use trimill_system::mapped::prefetch;
use trimill_system::parallel;

/// Bytes for each id that uniting rows with their reverse holds besides: their lengths, as they are given and united.
const PER_UNITED_ID: u64 = 8;

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
    let start = Instant::now();
    let Some(rows) = source.rows(shares.rows(), control)? else { return Ok(None) };
    // Sorting the arcs takes less time, and 8 bytes for each.
    let unite = Bytes::of::<u64>(source.arcs_at_most()) > Bytes(shares.buckets());
    let Some(lengths) = rows.lengths(unite, control)? else { return Ok(None) };
    let arcs: u64 = lengths.par_iter().map(|&length| u64::from(length)).sum();
    let report = CleanReport { vertices_declared: declared, arcs, ..CleanReport::default() };
    let graph = |form, edges| GraphToPrepare { form, ids: declared, arcs, edges, row_bytes: None };
    let mut rows_to_orient = RowsToOrient { source, space, shares, place, control, report, start };
    let (rows, lengths) = match rows.symmetry() {
        Symmetry::Missing => (rows, lengths),
        Symmetry::Demanded | Symmetry::Unknown => {
            space.expect(&graph(InputForm::SymmetricRows, arcs / 2), control);
            match rows_to_orient.orient(rows, lengths, note)? {
                Ok(made) => return Ok(Some(made)),
                Err(unclean) => unclean,
            }
        }
    };
    // Not every arc has its reverse.
    if !unite || rows.symmetry() == Symmetry::Demanded {
        return Ok(None);
    }
    let united =
        needs(IdCount::Plain(declared), source.arcs_at_most() / 2, space).array(PER_UNITED_ID, declared, "ids");
    let Ok(shares) = space.beside(&united) else { return Ok(None) };
    rows_to_orient.shares = shares;
    space.expect(&graph(InputForm::DirectedRows, arcs), control);
    // Each edge is there once or twice.
    let least = source.arcs_at_least();
    let tails = [bytes_on_disk(least, shares.tails())[0], bytes_on_disk(arcs, shares.tails())[1]];
    let layout = Layout { edges: least.div_ceil(2), ..Layout::default() };
    let later = space.later_needs(0, layout.edges);
    place.check_room(&layout, later.into_iter().chain([shares.on_disk(BEYOND_MEMORY, tails)]))?;
    let Some(rows) = UnitedRows::new(rows, lengths, &shares, control)? else { return Ok(None) };
    let Some(lengths) = rows.lengths(true, control)? else { return Ok(None) };
    let both: u64 = lengths.par_iter().map(|&length| u64::from(length)).sum();
    let added = both - (arcs - rows.loops);
    let CleanReport { loops_removed, arcs_added, arcs_without_reverse, .. } = &mut rows_to_orient.report;
    (*loops_removed, *arcs_added) = (rows.loops, added);
    *arcs_without_reverse = if source.symmetric() { 0 } else { added };
    Ok(rows_to_orient.orient(Box::new(rows), lengths, note)?.ok())
}

/// What is the same for rows as they are and for those united with their reverse.
struct RowsToOrient<'a> {
    source: &'a dyn ArcSource,
    space: Workspace<'a>,
    shares: Shares<'a>,
    place: Destination<'a>,
    control: &'a Control,
    report: CleanReport,
    start: Instant,
}

/// Rows, and the length of each.
type RowsAndLengths<'r> = (Box<dyn AdjacencyRows + 'r>, Vec<u32>);

impl RowsToOrient<'_> {
    /// Orients rows; gives them back if they are not those of a clean graph.
    fn orient<'r>(
        &self,
        rows: Box<dyn AdjacencyRows + 'r>,
        lengths: Vec<u32>,
        note: &mut dyn FnMut() -> Result<String>,
    ) -> Result<std::result::Result<MadeGraph, RowsAndLengths<'r>>> {
        let Self { source, space, shares, place, control, report, start } = self;
        let (declared, arcs) =
            (report.vertices_declared, lengths.par_iter().map(|&length| u64::from(length)).sum::<u64>());
        let vertices = UsedIds::new(&lengths);
        let last = vertices.ends().map_or(0, |(_, last)| u64::from(last));
        if arcs == 0 || !arcs.is_multiple_of(2) || is_sparse(last, arcs) || last >= MOST_VERTICES {
            return Ok(Err((rows, lengths)));
        }
        let edges = arcs / 2;
        let (first_id, declared_lines) = (source.first_id(), Some(declared));
        let layout =
            Layout { first_id, declared_lines, report: report.clone(), ..vertices.layout(&InputIds::Plain, edges) };
        // Before all rows are read for it; there may be fewer edges if the rows are not clean.
        let least = edges.min(source.arcs_at_least() / 2);
        let later = space.later_needs(layout.vertices.into(), least);
        place.check_room(&Layout { edges: least, ..layout.clone() }, later)?;
        let rank_of = numbers(&lengths);
        let mut waiting = WaitingRows::new(&lengths, edges, shares, shares.rows_that_wait(place.is_file(&layout)));
        let degrees = waiting.degrees().to_vec();
        let known = RowInputs { rows: &*rows, present: &vertices.present, lengths: &lengths, rank_of: &rank_of };
        let task = control.task(ORIENT_ROWS, Some(arcs + edges / 2), Unit::Arcs);
        let looking = start.elapsed();
        let first = known.orient(&waiting, Some(random()), &task, control)?;
        let first_pass = start.elapsed() - looking;
        if !first.clean || first.kept != edges && !waiting.has_left_out() {
            return Ok(Err((rows, lengths)));
        }
        let task = match waiting.has_left_out() {
            false => task,
            true => {
                let passes = edges.div_ceil(first.kept.max(1)).max(2);
                let share = shares.rows_that_wait(place.is_file(&layout));
                tracing::info!(
                    target: NOTE,
                    "the input is read at least {passes} times: {share} of its encoded rows fit in memory at a time (--host-memory)"
                );
                let (form, row_bytes) = (InputForm::SymmetricRows, Some(Bytes(passes * share.get())));
                let graph = GraphToPrepare { form, ids: declared, arcs, edges, row_bytes };
                space.expect_further_passes(&graph, control);
                control.task(READ_ROWS_AGAIN, Some((passes - 1) * arcs + edges / 2), Unit::Arcs)
            }
        };
        let order = order(&rank_of, &vertices.present);
        let (present, mut left) = (&vertices.present, Some((rows, lengths, rank_of)));
        let rows = |write: &Write<'_>| {
            let (in_order, writing, mut passes) = (BlocksInOrder::default(), Instant::now(), 1);
            while waiting.has_left_out() {
                passes += 1;
                waiting.rows(&in_order, write, &task, control)?;
                waiting.begin_next_pass();
                if let Some((rows, lengths, rank_of)) = &left {
                    RowInputs { rows: &**rows, present, lengths, rank_of }.orient(&waiting, None, &task, control)?;
                }
            }
            // The last pass needs nothing else of the input.
            left = None;
            waiting.rows(&in_order, write, &task, control)?;
            tracing::debug!(
                "the lengths of rows took {:.3} s, the first pass over them {:.3} s, writing and {} more passes {:.3} s",
                looking.as_secs_f64(),
                first_pass.as_secs_f64(),
                passes - 1,
                writing.elapsed().as_secs_f64()
            );
            match in_order.arcs() == edges {
                true => Ok(in_order.finish()),
                false => Err(Error::data("", "the rows of the input changed while they were read")
                    .advice("run again when nothing writes to it")),
            }
        };
        let vertices = VertexSections { degrees: &degrees, order, ids: vertices.ids(&InputIds::Plain) };
        make(*place, layout, vertices, note, rows).map(Ok)
    }
}

/// What all chunks share.
#[derive(Clone, Copy)]
struct RowInputs<'a> {
    rows: &'a dyn AdjacencyRows,
    /// The ids with a row that is not empty.
    present: &'a VertexSet,
    lengths: &'a [u32],
    rank_of: &'a [u32],
}

/// A pass over the rows.
struct RowPass<'a> {
    input: RowInputs<'a>,
    vertices: Vec<u32>,
    waiting: &'a WaitingRows,
    /// The key of the hash, in the first pass.
    key: Option<u64>,
}

/// What a pass has found.
struct PassFound {
    /// Whether all rows are those of a clean graph, as far as the pass has looked.
    clean: bool,
    /// The arcs of the rows that it has taken.
    kept: u64,
}

struct RowCut {
    /// Positions in the list of vertices.
    vertices: Range<usize>,
    rows: RowChunk,
}

/// What a thread needs while it orients rows.
#[derive(Default)]
struct RowScratch {
    /// The successors that are kept of the current row, as ranks, and their encoding.
    kept: Vec<u32>,
    encoded: Vec<u8>,
    /// For reading successors.
    memory: Vec<u32>,
}

/// Sums over rows.
#[derive(Default, Clone, Copy)]
struct RowSums {
    /// The hashes of arcs to larger ids, less those of arcs to smaller ids.
    hash: u64,
    kept: u64,
}

impl RowInputs<'_> {
    /// Orients all rows that are wanted. With a key it checks that every arc has its reverse.
    fn orient(&self, waiting: &WaitingRows, key: Option<u64>, task: &Task, control: &Control) -> Result<PassFound> {
        let pass = RowPass { input: *self, vertices: self.present.members(), waiting, key };
        let clean = AtomicBool::new(true);
        let sums = parallel::try_map_with(pass.chunks(), RowScratch::default, |scratch, chunk| {
            control.check()?;
            let sums = match clean.load(Ordering::Relaxed) {
                true => pass.orient_chunk(&chunk, scratch)?,
                false => None,
            };
            if sums.is_none() {
                clean.store(false, Ordering::Relaxed);
            }
            task.advance(chunk.rows.arcs.end - chunk.rows.arcs.start);
            Ok(sums.unwrap_or_default())
        })?;
        let (hash, kept) = sums.into_iter().fold((0u64, 0), |a, b| (a.0.wrapping_add(b.hash), a.1 + b.kept));
        Ok(PassFound { clean: clean.into_inner() && hash == 0, kept })
    }
}

impl RowPass<'_> {
    /// Divides the rows: where the source says, or into chunks of at most [`CHUNK`] arcs, or of one row that is longer.
    fn chunks(&self) -> Vec<RowCut> {
        let RowInputs { rows, lengths, .. } = self.input;
        let (starts, n) = (rows.starts(), lengths.len() as u64);
        let (mut chunks, mut first, mut start, mut end) = (Vec::new(), 0, 0, 0);
        if let Some(starts) = starts {
            let ends = starts.iter().skip(1).copied().chain([n]);
            for (id, next_id) in starts.iter().copied().zip(ends) {
                let next = first + self.vertices[first..].partition_point(|&vertex| u64::from(vertex) < next_id);
                end += self.vertices[first..next].iter().map(|&id| u64::from(lengths[id as usize])).sum::<u64>();
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
            let length = u64::from(lengths[next_id as usize]);
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

    /// Orients the rows of a chunk; `None` if they are not clean.
    fn orient_chunk(&self, chunk: &RowCut, scratch: &mut RowScratch) -> Result<Option<RowSums>> {
        let RowInputs { rows, rank_of, .. } = self.input;
        let mut memory = std::mem::take(&mut scratch.memory);
        let (mut stage, mut sums) = (self.waiting.stage(), RowSums::default());
        let mut vertices = self.vertices[chunk.vertices.clone()].iter();
        let mut row = InputRow::default();
        let mut at = chunk.rows.arcs.start;
        // Rows in several parts that do not ascend from one to the next.
        let mut unsorted = Vec::new();
        let mut clean = true;
        rows.read(&chunk.rows, &mut memory, &mut |part| {
            let mut rest = part;
            while !rest.is_empty() {
                if row.left == 0 {
                    let Some(&id) = vertices.next() else {
                        clean = false;
                        return Ok(false);
                    };
                    row = InputRow::new(id, self, at);
                    scratch.kept.clear();
                }
                let now = rest.len().min(row.left);
                let (part, after) = rest.split_at_mut(now);
                // Prefetches for the next row, which is taken to be as long as this one.
                for &successor in &after[..now.min(after.len())] {
                    prefetch(rank_of, successor as usize);
                }
                if !row.take(part, self, &mut sums, &mut scratch.kept) {
                    clean = false;
                    return Ok(false);
                }
                (rest, at) = (after, at + now as u64);
                if row.left == 0 {
                    if row.is_unsorted {
                        unsorted.push(row.whole());
                    }
                    sums.kept += scratch.kept.len() as u64;
                    if !scratch.kept.is_empty() {
                        encode_row(&mut scratch.kept, &mut scratch.encoded);
                        self.waiting.add(row.rank, scratch.kept.len() as u32, &scratch.encoded, &mut stage)?;
                    }
                }
            }
            Ok(true)
        })?;
        scratch.memory = memory;
        self.waiting.give_back(stage);
        for row in unsorted {
            clean = clean && self.is_distinct(&row)?;
        }
        Ok((clean && at == chunk.rows.arcs.end).then_some(sums))
    }

    /// Whether no successor occurs twice in a row.
    #[cold]
    fn is_distinct(&self, row: &RowChunk) -> Result<bool> {
        let mut all = Vec::with_capacity((row.arcs.end - row.arcs.start) as usize);
        self.input.rows.read(row, &mut Vec::new(), &mut |part| {
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
    /// Whether this pass takes it.
    is_wanted: bool,
}

impl InputRow {
    fn new(id: u32, pass: &RowPass<'_>, at: u64) -> Self {
        let (length, rank) = (pass.input.lengths[id as usize] as usize, pass.input.rank_of[id as usize]);
        Self { id, rank, length, at, left: length, last: None, is_unsorted: false, is_wanted: pass.waiting.wants(rank) }
    }

    /// All of it.
    fn whole(&self) -> RowChunk {
        let id = u64::from(self.id);
        RowChunk { ids: id..id + 1, arcs: self.at..self.at + self.length as u64 }
    }

    /// Takes the next part of the row, which is not empty: appends the ranks that it keeps to `kept`. False if it is not clean.
    #[inline]
    fn take(&mut self, part: &mut [u32], pass: &RowPass<'_>, sums: &mut RowSums, kept: &mut Vec<u32>) -> bool {
        self.left -= part.len();
        if pass.key.is_none() && !self.is_wanted {
            return true;
        }
        if !ascends(part) {
            part.sort_unstable();
            if !ascends(part) {
                return false;
            }
            self.is_unsorted |= part.len() < self.length;
        }
        self.is_unsorted |= self.last.is_some_and(|last| last >= part[0]);
        let last = part[part.len() - 1];
        if last as usize >= pass.input.rank_of.len() {
            return false;
        }
        self.last = Some(last);
        if let Some(key) = pass.key {
            sums.hash = sums.hash.wrapping_add(hash(self.id, part, key));
        }
        if self.is_wanted {
            self.keep(part, pass.input.rank_of, kept);
        }
        true
    }

    /// Appends the ranks of the successors that are kept.
    #[inline]
    fn keep(&self, part: &[u32], rank_of: &[u32], kept: &mut Vec<u32>) {
        let mut end = kept.len();
        kept.resize(end + part.len(), 0);
        for &successor in part {
            let rank = rank_of[successor as usize];
            kept[end] = rank;
            end += usize::from(rank < self.rank);
        }
        kept.truncate(end);
    }
}

/// The hashes of the arcs of a part of a row to larger ids, less those of the arcs to smaller ids.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn hash(id: u32, part: &[u32], key: u64) -> u64 {
    let (below, above) = part.split_at(part.partition_point(|&successor| successor < id));
    let id = u64::from(id);
    let down = |sum: u64, &successor: &u32| sum.wrapping_add(mix((u64::from(successor) << 32 | id) ^ key));
    let up = |sum: u64, &successor: &u32| sum.wrapping_add(mix((id << 32 | u64::from(successor)) ^ key));
    above.iter().fold(0, up).wrapping_sub(below.iter().fold(0, down))
}

fn ascends(part: &[u32]) -> bool {
    part.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]))
}

/// A random key, so that nobody can make a wrong input that passes the check.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
