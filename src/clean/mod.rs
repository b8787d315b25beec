//! From arcs to a clean graph: symmetrised, without loops and duplicates.
//!
//! Enters: the arcs of an [`ArcSource`], in any order, any number of times each. Leaves: a [`CleanGraph`]: every edge
//! once as a pair `(min, max)` in buckets, and the degree of every id.
//!
//! An arc goes to one of `2 B` lanes by a hash of its pair and by its direction, 8 bytes each; so lanes are even in size
//! however skewed the degrees are, all copies of a pair meet in one bucket, and the direction costs no bits. Each
//! bucket is then sorted, freed of duplicates and compared with its other direction, all buckets in parallel.
//!
//! Cost: one reading of the input (two where ids must be ranked), a sort of `arcs / B` keys for each bucket; `8 arcs`
//! bytes written and read once where they do not fit the memory, then 8 bytes an edge. Memory: the given bytes, plus
//! 4 bytes for each id up to the largest (plain ids) or 12 bytes a vertex (ranked ids).

pub mod buckets;
pub mod cache;
pub mod ids;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::error::{Error, Result};
use crate::input::arcs::ArcSource;
use crate::input::{ArcSink, MOST_VERTICES};
use buckets::Buckets;
use ids::{Distinct, Seen, mix};

/// What came in, and what was removed or added. `2 * edges = arcs - loops_removed - duplicates_removed + arcs_added`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanReport {
    /// Vertices that the input declares; for lists of arcs, the distinct ids that occur.
    pub vertices_declared: u64,
    /// Arcs in the input.
    pub arcs: u64,
    /// Arcs from a vertex to itself.
    pub loops_removed: u64,
    /// Arcs that occurred before, in the same direction.
    pub duplicates_removed: u64,
    /// Reverse arcs that were missing.
    pub arcs_added: u64,
    /// Distinct arcs whose reverse is not in the input. If the input was meant to be undirected and lists both
    /// directions, this is 0.
    pub arcs_without_reverse: u64,
}

/// Where the station may work, and in how much memory.
#[derive(Debug, Clone, Copy)]
pub struct Workspace<'a> {
    /// Bytes of host memory for buckets and sorting.
    pub memory: Bytes,
    /// Where buckets go that do not fit.
    pub dir: &'a Path,
    /// Bytes of host memory that an oriented graph may take which is not cached; one that takes more goes to a file.
    pub graph: Bytes,
}

impl Workspace<'_> {
    /// The share of one set of buckets. One set is emptied while the next is filled, so there are two; what is left is
    /// for sorting.
    pub fn for_buckets(&self) -> u64 {
        self.memory.get() * 5 / 16
    }

    /// The share of rows that had to be decoded before they could be oriented.
    pub fn for_rows(&self) -> Bytes {
        Bytes(self.memory.get() / 4)
    }
}

/// How the ids of the clean graph relate to those of the input.
#[derive(Debug)]
pub enum InputIds {
    /// They are the input's own.
    Plain,
    /// They are ranks in this ascending table of the input's ids.
    Ranked(Vec<u64>),
}

/// A clean graph on its way to be oriented.
pub struct CleanGraph {
    /// Each edge once, as `min << 32 | max`; the lanes are in no order, each lane is sorted.
    pub pairs: Buckets,
    /// The degree of each id; 0 for ids that do not occur or whose arcs were all dropped.
    pub degrees: Vec<u32>,
    /// What the ids are.
    pub ids: InputIds,
    /// The number of edges.
    pub edges: u64,
    /// The id of the first declared vertex: single-column assignment files count from here.
    pub first_id: u64,
    /// How many lines a single-column assignment file has: one for each declared vertex, or, in a list of arcs, for
    /// each id up to the largest. `None` where ids are sparse.
    pub declared_lines: Option<u64>,
    /// What was removed and added.
    pub report: CleanReport,
    /// Bytes written to bucket files while the input was read.
    pub bytes_distributed: Bytes,
    /// Bytes written to bucket files afterwards.
    pub bytes_written: Bytes,
    /// How long reading took: the station 'input', with the distribution to buckets.
    pub reading: Duration,
}

/// Cleans the graph that `source` delivers.
///
/// # Errors
/// What is wrong with the input; more than 2^32 - 2 vertices ([`crate::error::Kind::Data`]); bucket files that cannot
/// be written ([`crate::error::Kind::Resource`]).
pub fn clean(source: &dyn ArcSource, space: Workspace<'_>, control: &Control) -> Result<CleanGraph> {
    if let Some(n) = source.declared_vertices()
        && n > MOST_VERTICES
    {
        return Err(too_many(n));
    }
    let start = Instant::now();
    let buckets = bucket_count(source, space);
    let seen = Seen::default();
    let plain = Distribute::new(buckets, space, Some, Some(&seen), plain_ids(source));
    let scanned = source.scan(&plain, control);
    if !plain.overflow.load(Ordering::Relaxed) {
        let arcs = scanned?;
        let (distinct, first, last) = seen.extent().unwrap_or((0, 0, 0));
        // An array over all ids up to the largest is worth it while it is not much longer than the list of arcs.
        if last < (1 << 22) || last / 8 <= arcs {
            let range = if distinct == 0 { 0 } else { last + 1 };
            let first_id = source.declared_vertices().map_or(first.min(1), |_| source.first_id());
            let came = Came {
                arcs,
                loops: plain.loops.load(Ordering::Relaxed),
                declared: source.declared_vertices().unwrap_or(distinct),
                first_id,
                lines: source.declared_vertices().or(Some(range.saturating_sub(first_id))),
                symmetric: source.symmetric(),
                reading: start.elapsed(),
            };
            return unite(plain.finish()?, range as usize, InputIds::Plain, &came, space, control);
        }
    }
    drop(plain);

    let distinct = Distinct::default();
    source.scan(&distinct, control)?;
    let table = distinct.finish();
    if table.len() as u64 > MOST_VERTICES {
        return Err(too_many(table.len() as u64));
    }
    let rank = |id| table.binary_search(&id).ok().map(|i| i as u64);
    let ranked = Distribute::new(buckets, space, rank, None, MOST_VERTICES);
    let arcs = source.scan(&ranked, control)?;
    if ranked.overflow.load(Ordering::Relaxed) {
        return Err(Error::usage("the input changed while it was read").advice("run again when it is complete"));
    }
    let n = table.len();
    let came = Came {
        arcs,
        loops: ranked.loops.load(Ordering::Relaxed),
        declared: source.declared_vertices().unwrap_or(n as u64),
        first_id: source.first_id(),
        lines: source.declared_vertices(),
        symmetric: source.symmetric(),
        reading: start.elapsed(),
    };
    let keyed = ranked.finish()?;
    unite(keyed, n, InputIds::Ranked(table), &came, space, control)
}

/// Ids from here on are too sparse to index arrays, so the first reading ends with the first of them: what it notes of ids
/// takes a bit for each id below, so a few bytes for each arc. Estimates of arcs may be low, hence the factor.
fn plain_ids(source: &dyn ArcSource) -> u64 {
    source.arcs_at_most().saturating_mul(64).clamp(1 << 22, MOST_VERTICES)
}

fn too_many(n: u64) -> Error {
    Error::data("input", format!("{n} vertices"))
        .expected(format!("at most {MOST_VERTICES}: vertices are numbered in 32 bits"))
}

/// How many keys a thread sorts at once: a quarter of the memory is for that, and a bucket, its other direction and
/// their union are there at a time.
fn keys_at_once(space: Workspace<'_>) -> u64 {
    (space.memory.get() / 4 / rayon::current_num_threads() as u64 / 24).max(1024)
}

/// A power of two: buckets of about a million keys sort in a core's cache; the staging areas of all threads (two lanes
/// a bucket, 2 KiB each) take at most an eighth of the memory.
fn bucket_count(source: &dyn ArcSource, space: Workspace<'_>) -> usize {
    let wanted = source.arcs_at_most() / keys_at_once(space).min(1 << 20);
    let most = (space.memory.get() / 8 / rayon::current_num_threads() as u64 / 4096).clamp(8, 2048);
    1 << wanted.clamp(8, most).ilog2()
}

/// The sink that sends arcs to their lanes.
struct Distribute<'a, F> {
    buckets: Buckets,
    shift: u32,
    rename: F,
    seen: Option<&'a Seen>,
    /// Ids from here on overflow.
    end: u64,
    loops: AtomicU64,
    overflow: AtomicBool,
}

impl<'a, F: Fn(u64) -> Option<u64> + Sync> Distribute<'a, F> {
    fn new(buckets: usize, space: Workspace<'_>, rename: F, seen: Option<&'a Seen>, end: u64) -> Self {
        Self {
            buckets: Buckets::new(2 * buckets, space.for_buckets(), space.dir),
            shift: 64 - buckets.ilog2(),
            rename,
            seen,
            end,
            loops: AtomicU64::new(0),
            overflow: AtomicBool::new(false),
        }
    }

    fn finish(self) -> Result<Buckets> {
        self.buckets.flush()?;
        Ok(self.buckets)
    }
}

impl<F: Fn(u64) -> Option<u64> + Sync> ArcSink for Distribute<'_, F> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let mut loops = 0;
        let mut outside = false;
        let keyed = batch.iter().filter_map(|&(u, v)| {
            let (Some(u), Some(v)) = ((self.rename)(u), (self.rename)(v)) else {
                outside = true;
                return None;
            };
            if u.max(v) >= self.end {
                outside = true;
                return None;
            }
            if let Some(seen) = self.seen {
                seen.note(u);
                seen.note(v);
            }
            if u == v {
                loops += 1;
                return None;
            }
            let key = u.min(v) << 32 | u.max(v);
            Some(((mix(key) >> self.shift) as usize * 2 + usize::from(u > v), key))
        });
        self.buckets.extend(keyed)?;
        self.loops.fetch_add(loops, Ordering::Relaxed);
        if outside {
            self.overflow.store(true, Ordering::Relaxed);
            // Ends this reading; the caller sees the flag and reads again with ranked ids.
            return Err(Error::usage("an id is too large to index arrays"));
        }
        Ok(())
    }
}

/// What was learned while reading.
struct Came {
    arcs: u64,
    loops: u64,
    declared: u64,
    first_id: u64,
    lines: Option<u64>,
    /// Whether each arc stands for its reverse, too.
    symmetric: bool,
    reading: Duration,
}

/// Sorts every bucket, drops duplicates, unites the two directions and counts degrees.
fn unite(
    arcs: Buckets,
    range: usize,
    ids: InputIds,
    came: &Came,
    space: Workspace<'_>,
    control: &Control,
) -> Result<CleanGraph> {
    let piece = keys_at_once(space) as usize;
    let mut degrees: Vec<AtomicU32> = Vec::new();
    degrees.resize_with(range, AtomicU32::default);
    let pairs = Buckets::new(arcs.lanes() / 2, space.for_buckets(), space.dir);
    let task = control.task("clean", Some(came.arcs), Unit::Arcs);
    let (edges, distinct, without_reverse) = (0..arcs.lanes() / 2)
        .into_par_iter()
        .map(|bucket| -> Result<(u64, u64, u64)> {
            control.check()?;
            let incoming = arcs.len(2 * bucket) + arcs.len(2 * bucket + 1);
            let forward = distinct_keys(&arcs, 2 * bucket, piece)?;
            let backward = distinct_keys(&arcs, 2 * bucket + 1, piece)?;
            let distinct = (forward.len() + backward.len()) as u64;
            let union = merge(forward, backward);
            let edges = union.len() as u64;
            for run in union.chunk_by(|a, b| a >> 32 == b >> 32) {
                degrees[(run[0] >> 32) as usize].fetch_add(run.len() as u32, Ordering::Relaxed);
                for key in run {
                    degrees[*key as u32 as usize].fetch_add(1, Ordering::Relaxed);
                }
            }
            pairs.put(bucket, union)?;
            task.advance(incoming);
            Ok((edges, distinct, 2 * edges - distinct))
        })
        .try_reduce(|| (0, 0, 0), |a, b| Ok((a.0 + b.0, a.1 + b.1, a.2 + b.2)))?;
    let report = CleanReport {
        vertices_declared: came.declared,
        arcs: came.arcs,
        loops_removed: came.loops,
        duplicates_removed: came.arcs - came.loops - distinct,
        arcs_added: without_reverse,
        arcs_without_reverse: if came.symmetric { 0 } else { without_reverse },
    };
    let (bytes_distributed, bytes_written) = (Bytes(arcs.bytes_written()), Bytes(pairs.bytes_written()));
    let degrees = degrees.into_iter().map(AtomicU32::into_inner).collect();
    let (first_id, declared_lines) = (came.first_id, came.lines);
    Ok(CleanGraph {
        pairs,
        degrees,
        ids,
        edges,
        first_id,
        declared_lines,
        report,
        bytes_distributed,
        bytes_written,
        reading: came.reading,
    })
}

/// The distinct keys of a lane, ascending. A lane that is longer than `piece` (one pair repeated very often) is sorted
/// piece by piece, so memory follows the distinct keys.
fn distinct_keys(buckets: &Buckets, lane: usize, piece: usize) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    buckets.take_in_pieces(lane, piece, |mut keys| {
        keys.sort_unstable();
        keys.dedup();
        all = merge(std::mem::take(&mut all), keys);
        Ok(())
    })?;
    Ok(all)
}

/// The union of two ascending lists without duplicates.
fn merge(a: Vec<u64>, b: Vec<u64>) -> Vec<u64> {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b } else { a };
    }
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        out.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
    out.shrink_to_fit();
    out
}
