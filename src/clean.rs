//! From arcs to a clean graph: symmetrised, without loops and duplicates.
//!
//! Input: the arcs of an [`ArcSource`], in any order, any number of times each. Output: a [`CleanGraph`]: every edge
//! once as a pair `(min, max)` in buckets, and the degree of every id.
//!
//! An arc goes, as an 8-byte key, to one of the two lanes of one of `B` buckets: the bucket by a hash of its pair, the lane by
//! its direction. So lanes have about the same size however skewed the degrees are, all copies of a pair are in one bucket, and
//! the direction takes no bits. Where the order of the input allows it, buckets are ranges of ids instead ([`ranges`]). Then each lane is sorted ([`sort`]) and deduplicated and the two lanes of a bucket are merged, all
//! buckets in parallel.
//!
//! Cost: one pass over the input (two if ids must be ranked), a sort of `arcs / B` keys for each bucket; `8 arcs` bytes
//! written and read once if they do not fit in memory, then 8 bytes an edge. Memory: within the host's budget, [`PER_ID`] or
//! [`PER_VERTEX`] for arrays, the rest in the shares of module [`workspace`].

pub mod buckets;
pub mod ids;
mod ranges;
mod sort;
pub mod workspace;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::error::{Error, Result};
use crate::input::arcs::ArcSource;
use crate::input::{ArcSink, MOST_VERTICES};
use crate::mapped::{prefetch, with_capacity, zeros};
use buckets::Buckets;
use ids::{Distinct, Seen, mix};
use ranges::{BySmallerId, IdRanges};
use sort::sort_pairs;
use workspace::{Ids, PER_KEY, Pool};
pub use workspace::{PER_ID, PER_VERTEX, Shares, Workspace, needs};

/// Keys whose degrees are prefetched before they are needed.
const AHEAD: usize = 24;

/// Counts of the input, and of what was removed and added. `2 * edges = arcs - loops_removed - duplicates_removed + arcs_added`.
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

/// How the ids of the clean graph relate to those of the input.
#[derive(Debug)]
pub enum InputIds {
    /// They are the input's own.
    Plain,
    /// They are positions in this ascending table of the input's ids.
    Ranked(Vec<u64>),
}

/// A clean graph on its way to be oriented.
pub struct CleanGraph {
    /// Each edge once, as `min << 32 | max`; the lanes are in no order, each lane is sorted.
    pub pairs: Buckets,
    /// The degree of each id; 0 for ids that do not occur or whose arcs were all dropped.
    pub degrees: Vec<u32>,
    /// How ids map to those of the input.
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
    /// How long the stage 'input' took: reading, and the distribution to buckets.
    pub reading: Duration,
}

/// Cleans the graph that `source` delivers.
///
/// # Errors
/// As [`read`] and [`ArcsRead::clean`].
#[cfg(feature = "testing")]
pub fn clean(source: &dyn ArcSource, space: Workspace<'_>, control: &Control) -> Result<CleanGraph> {
    read(source, space, control)?.clean(space, control)
}

/// Reads the arcs that `source` delivers, and distributes them to buckets.
///
/// # Errors
/// Invalid input; more than 2^32 - 2 vertices ([`crate::error::Kind::Data`]); bucket files that cannot be written
/// ([`crate::error::Kind::Resource`]).
pub fn read(source: &dyn ArcSource, space: Workspace<'_>, control: &Control) -> Result<ArcsRead> {
    if let Some(n) = source.declared_vertices()
        && n > MOST_VERTICES
    {
        return Err(too_many(n));
    }
    let start = Instant::now();
    // The numbers of ids and arcs are not known yet: this takes the shares of a graph without any.
    let shares = space.beside(&needs(Ids::Plain(0), 0, space))?;
    let estimate = source.arcs_at_most();
    let buckets = shares.bucket_count(estimate);
    let seen = Seen::default();
    let place = match id_ranges(source, buckets, space, control)? {
        Some(ranges) => Place::Ranges(ranges),
        None => Place::hash(buckets),
    };
    let plain = Distribute::new(place, &shares, Some, Some(&seen), plain_ids(source, shares.left));
    let scanned = source.scan(&plain, control);
    if !plain.overflow.load(Ordering::Relaxed) {
        let arcs = scanned?;
        let (distinct, first, last) = seen.extent().unwrap_or((0, 0, 0));
        if !is_sparse(last, arcs) {
            let range = if distinct == 0 { 0 } else { last + 1 };
            let first_id = source.declared_vertices().map_or(first.min(1), |_| source.first_id());
            let totals = InputTotals {
                arcs,
                loops: plain.loops.load(Ordering::Relaxed),
                declared: source.declared_vertices().unwrap_or(distinct),
                first_id,
                lines: source.declared_vertices().or(Some(range.saturating_sub(first_id))),
                symmetric: source.symmetric(),
                reading: start.elapsed(),
            };
            let (buckets, place) = plain.finish()?;
            return Ok(ArcsRead { buckets, place, range, ids: InputIds::Plain, totals });
        }
    }
    drop(plain);

    // Until they are sorted, the collected ids contain duplicates.
    let distinct = Distinct::new(shares.left.get() / PER_VERTEX);
    let collected = source.scan(&distinct, control);
    if distinct.is_full() {
        // More ids than fit. This fails, and names the budget that one id more than fit would take.
        space.beside(&needs(Ids::Ranked(distinct.most() + 1), 0, space))?;
    }
    let arcs = collected?;
    let table = distinct.finish();
    if table.len() as u64 > MOST_VERTICES {
        return Err(too_many(table.len() as u64));
    }
    let shares = space.beside(&needs(Ids::Ranked(table.len() as u64), arcs, space))?;
    let rank = |id| table.binary_search(&id).ok().map(|i| i as u64);
    let ranked = Distribute::new(Place::hash(shares.bucket_count(estimate)), &shares, rank, None, MOST_VERTICES);
    let arcs = source.scan(&ranked, control)?;
    if ranked.overflow.load(Ordering::Relaxed) {
        return Err(Error::usage("the input changed while it was read").advice("run again when it is complete"));
    }
    let n = table.len() as u64;
    let totals = InputTotals {
        arcs,
        loops: ranked.loops.load(Ordering::Relaxed),
        declared: source.declared_vertices().unwrap_or(n),
        first_id: source.first_id(),
        lines: source.declared_vertices(),
        symmetric: source.symmetric(),
        reading: start.elapsed(),
    };
    let (buckets, place) = ranked.finish()?;
    Ok(ArcsRead { buckets, place, range: n, ids: InputIds::Ranked(table), totals })
}

/// Ranges of ids for about `buckets` buckets, if the input comes in the order of ids and each range can be sorted at once.
fn id_ranges(
    source: &dyn ArcSource,
    buckets: usize,
    space: Workspace<'_>,
    control: &Control,
) -> Result<Option<IdRanges>> {
    let Some(ids) = source.declared_vertices().filter(|_| source.is_ordered()) else { return Ok(None) };
    let Ok(shares) = space.beside(&needs(Ids::Plain(ids), source.arcs_at_most(), space)) else { return Ok(None) };
    let counted = BySmallerId::new(ids);
    source.scan(&counted, control)?;
    Ok(counted.ranges(buckets, shares.keys_at_once()))
}

/// The smallest id that is too large to index arrays; the first pass ends when it finds one. [`Seen`] takes a bit for each id
/// below it, so a few bytes for each arc. Estimates of arcs may be low, hence the factor. Arrays of more ids would not fit in
/// `left` bytes either.
pub(crate) fn plain_ids(source: &dyn ArcSource, left: Bytes) -> u64 {
    let wanted = source.arcs_at_most().saturating_mul(64).clamp(ALWAYS_PLAIN, MOST_VERTICES);
    wanted.min((left.get() / PER_ID).max(1 << 16))
}

/// Ids below this are never sparse.
const ALWAYS_PLAIN: u64 = 1 << 22;

/// Whether ids up to `last` are looked up in a table. An array over all of them is worth it while it is not much longer than the list of
/// arcs.
pub(crate) const fn is_sparse(last: u64, arcs: u64) -> bool {
    last >= ALWAYS_PLAIN && last / 8 > arcs
}

/// The most ids, one more than the largest, of so many arcs that are not sparse.
pub(crate) fn most_ids(arcs: u64) -> u64 {
    arcs.saturating_add(1).saturating_mul(8).clamp(ALWAYS_PLAIN, MOST_VERTICES)
}

fn too_many(n: u64) -> Error {
    Error::data("input", format!("{n} vertices"))
        .expected(format!("at most {MOST_VERTICES}: vertices are numbered in 32 bits"))
}

/// Which bucket a pair goes to.
enum Place {
    /// By a hash of the pair, shifted by so many bits.
    Hash { shift: u32 },
    /// By the smaller id.
    Ranges(IdRanges),
}

impl Place {
    /// For a power of two of buckets.
    fn hash(buckets: usize) -> Self {
        Self::Hash { shift: 64 - buckets.ilog2() }
    }

    fn buckets(&self) -> usize {
        match self {
            Self::Hash { shift } => 1 << (64 - shift),
            Self::Ranges(ranges) => ranges.buckets(),
        }
    }

    #[inline]
    fn bucket_of(&self, key: u64) -> usize {
        match self {
            Self::Hash { shift } => (mix(key) >> shift) as usize,
            Self::Ranges(ranges) => ranges.bucket_of(key >> 32),
        }
    }

    /// The smaller ids of a bucket, of a graph whose ids are below `end`.
    fn ids(&self, bucket: usize, end: u64) -> Range<u64> {
        match self {
            Self::Hash { .. } => 0..end,
            Self::Ranges(ranges) => ranges.ids(bucket),
        }
    }
}

/// The sink that sends arcs to their lanes.
struct Distribute<'a, F> {
    buckets: Buckets,
    place: Place,
    rename: F,
    seen: Option<&'a Seen>,
    /// Ids from this one on set `overflow`.
    end: u64,
    loops: AtomicU64,
    overflow: AtomicBool,
}

impl<'a, F: Fn(u64) -> Option<u64> + Sync> Distribute<'a, F> {
    fn new(place: Place, shares: &Shares<'_>, rename: F, seen: Option<&'a Seen>, end: u64) -> Self {
        Self {
            buckets: Buckets::new(2 * place.buckets(), shares.buckets(), shares.dir),
            place,
            rename,
            seen,
            end,
            loops: AtomicU64::new(0),
            overflow: AtomicBool::new(false),
        }
    }

    fn finish(self) -> Result<(Buckets, Place)> {
        self.buckets.flush()?;
        Ok((self.buckets, self.place))
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
            Some((self.place.bucket_of(key) * 2 + usize::from(u > v), key))
        });
        self.buckets.extend(keyed)?;
        self.loops.fetch_add(loops, Ordering::Relaxed);
        if outside {
            self.overflow.store(true, Ordering::Relaxed);
            // Ends this pass; the caller sees the flag and reads again with ranked ids.
            return Err(Error::usage("an id is too large to index arrays"));
        }
        Ok(())
    }
}

/// What is known of the input once it is read.
struct InputTotals {
    arcs: u64,
    loops: u64,
    declared: u64,
    first_id: u64,
    lines: Option<u64>,
    /// Whether each arc stands for its reverse, too.
    symmetric: bool,
    reading: Duration,
}

/// The arcs of an input, in buckets.
pub struct ArcsRead {
    buckets: Buckets,
    place: Place,
    /// One more than the largest id.
    range: u64,
    ids: InputIds,
    totals: InputTotals,
}

impl ArcsRead {
    /// Sorts every bucket, drops duplicates, merges the two directions and counts degrees.
    ///
    /// # Errors
    /// Too little memory, or bucket files that cannot be written or read ([`crate::error::Kind::Resource`]); a stop.
    pub fn clean(self, space: Workspace<'_>, control: &Control) -> Result<CleanGraph> {
        let Self { buckets: arcs, place, range, ids, totals } = self;
        let of_ids = if matches!(ids, InputIds::Plain) { Ids::Plain(range) } else { Ids::Ranked(range) };
        let shares = space.beside(&needs(of_ids, totals.arcs, space))?;
        arcs.keep_at_most(shares.buckets())?;
        let piece = shares.keys_at_once() as usize;
        let pool = Pool::of_sorting(&shares);
        let degrees: Vec<AtomicU32> = zeros(range as usize);
        let pairs = Buckets::new(arcs.lanes() / 2, shares.buckets(), shares.dir);
        let task = control.task("clean", Some(totals.arcs), Unit::Arcs);
        let (edges, distinct, without_reverse) = (0..arcs.lanes() / 2)
            .into_par_iter()
            .map(|bucket| -> Result<(u64, u64, u64)> {
                control.check()?;
                let incoming = arcs.len(2 * bucket) + arcs.len(2 * bucket + 1);
                let (taken, ids) = (pool.take(incoming * PER_KEY), place.ids(bucket, range));
                let forward = distinct_keys((&arcs, 2 * bucket), (&ids, piece), |keys| taken.check(keys * PER_KEY))?;
                let before = forward.len() as u64;
                let check = |keys| taken.check((before + keys) * PER_KEY);
                let backward = distinct_keys((&arcs, 2 * bucket + 1), (&ids, piece), check)?;
                let distinct = (forward.len() + backward.len()) as u64;
                let union = merge(forward, backward);
                let edges = union.len() as u64;
                add_degrees(&union, &degrees);
                pairs.put(bucket, union)?;
                task.advance(incoming);
                Ok((edges, distinct, 2 * edges - distinct))
            })
            .try_reduce(|| (0, 0, 0), |a, b| Ok((a.0 + b.0, a.1 + b.1, a.2 + b.2)))?;
        let report = CleanReport {
            vertices_declared: totals.declared,
            arcs: totals.arcs,
            loops_removed: totals.loops,
            duplicates_removed: totals.arcs - totals.loops - distinct,
            arcs_added: without_reverse,
            arcs_without_reverse: if totals.symmetric { 0 } else { without_reverse },
        };
        let (bytes_distributed, bytes_written) = (Bytes(arcs.bytes_written()), Bytes(pairs.bytes_written()));
        let degrees = degrees.into_iter().map(AtomicU32::into_inner).collect();
        let (first_id, declared_lines) = (totals.first_id, totals.lines);
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
            reading: totals.reading,
        })
    }
}

/// Adds the edges of a bucket to the degrees of their ends. An atomic addition waits for its cache line, and nothing overtakes it; so
/// the lines are prefetched.
fn add_degrees(union: &[u64], degrees: &[AtomicU32]) {
    let mut at = 0;
    for run in union.chunk_by(|a, b| a >> 32 == b >> 32) {
        degrees[(run[0] >> 32) as usize].fetch_add(run.len() as u32, Ordering::Relaxed);
        for key in run {
            if let Some(&ahead) = union.get(at + AHEAD) {
                prefetch(degrees, ahead as u32 as usize);
            }
            degrees[*key as u32 as usize].fetch_add(1, Ordering::Relaxed);
            at += 1;
        }
    }
}

/// The distinct keys of a lane, ascending. A lane that is longer than `piece` (one pair repeated very often) is sorted
/// piece by piece, so memory is proportional to the distinct keys; `check` receives their number after each piece.
fn distinct_keys(
    (buckets, lane): (&Buckets, usize),
    (ids, piece): (&Range<u64>, usize),
    check: impl Fn(u64) -> Result<()>,
) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    buckets.take_in_pieces(lane, piece, |keys| {
        let mut keys = sort_pairs(keys, ids);
        keys.dedup();
        all = merge(std::mem::take(&mut all), keys);
        check(all.len() as u64)
    })?;
    Ok(all)
}

/// The union of two ascending lists without duplicates.
fn merge(a: Vec<u64>, b: Vec<u64>) -> Vec<u64> {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b } else { a };
    }
    let mut out = with_capacity(a.len() + b.len());
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
