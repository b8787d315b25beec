//! Distributes arcs to buckets.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::buckets::Buckets;
use super::classes::ArcClasses;
use super::ids::Seen;
use super::ranges::IdRanges;
use super::unite::ArcsRead;
use trimill_input::arcs::SourceFacts;
use trimill_input::{ArcSink, around_tail, expand};
use trimill_system::{Error, Result};

/// The fewest keys of a batch that is added to a bucket without staging.
const LEAST_PUT: usize = 1 << 10;

pub(super) struct Distribute<'a, F> {
    buckets: Buckets,
    classes: ArcClasses,
    rename: F,
    seen: Option<&'a Seen>,
    /// Ids from this one on set `overflow`.
    end: u64,
    loops: AtomicU64,
    pub(super) overflow: AtomicBool,
}

impl<'a, F: Fn(u64) -> Option<u64> + Sync> Distribute<'a, F> {
    pub(super) fn new(classes: ArcClasses, buckets: Buckets, rename: F, seen: Option<&'a Seen>, end: u64) -> Self {
        let (loops, overflow) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { buckets, classes, rename, seen, end, loops, overflow }
    }

    /// The result of a pass: the `arcs` that were read since `start`, as if each id below `range` were a vertex.
    pub(super) fn finish(self, facts: &SourceFacts, arcs: u64, range: u64, start: Instant) -> Result<ArcsRead> {
        let reading = start.elapsed();
        self.buckets.flush()?;
        Ok(ArcsRead {
            buckets: self.buckets,
            classes: self.classes,
            range,
            table: None,
            arcs,
            loops: self.loops.into_inner(),
            declared: facts.declared_vertices.unwrap_or(range),
            first_id: facts.first_id,
            lines: facts.declared_vertices,
            symmetric: facts.symmetric,
            reading,
        })
    }
}

impl<F: Fn(u64) -> Option<u64> + Sync> Distribute<'_, F> {
    /// Takes rows of plain ids below `end`, without staging: as a thread mostly adds to few buckets, staging causes lock contention.
    fn rows_by_ranges(&self, ranges: &IdRanges, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
        let mut own = [Vec::new(), Vec::new()];
        let mut others = Vec::new();
        let (mut class, mut begin, mut loops) = (None, 0, 0);
        for &(tail, end) in rows {
            let row = &heads[begin..end];
            begin = end;
            let now = ranges.range_of(tail);
            if class != Some(now) {
                self.put_own(class, &mut own)?;
                class = Some(now);
            }
            let ids = ranges.ids(now);
            if let Some(seen) = self.seen.filter(|_| !row.is_empty()) {
                seen.note(tail);
                row.iter().for_each(|&head| seen.note(head.into()));
            }
            let (below, is_loop, above) = around_tail(tail, row);
            loops += u64::from(is_loop);
            let (far, near) = below.split_at(below.partition_point(|&head| u64::from(head) < ids.start));
            let reverse = |&head: &u32| u64::from(head) << 32 | tail;
            others.extend(far.iter().map(|head| (ranges.range_of((*head).into()) * 2 + 1, reverse(head))));
            own[1].extend(near.iter().map(reverse));
            own[0].extend(above.iter().map(|&head| tail << 32 | u64::from(head)));
        }
        self.put_own(class, &mut own)?;
        self.loops.fetch_add(loops, Ordering::Relaxed);
        self.buckets.extend(others.into_iter())
    }

    fn put_own(&self, class: Option<usize>, own: &mut [Vec<u64>; 2]) -> Result<()> {
        for (direction, keys) in own.iter_mut().enumerate() {
            if let Some(class) = class.filter(|_| !keys.is_empty()) {
                let bucket = 2 * class + direction;
                match keys.len() >= LEAST_PUT {
                    true => self.buckets.put(bucket, keys.as_slice().to_vec())?,
                    false => self.buckets.extend(keys.iter().map(|&key| (bucket, key)))?,
                }
                keys.clear();
            }
        }
        Ok(())
    }
}

impl<F: Fn(u64) -> Option<u64> + Sync> ArcSink for Distribute<'_, F> {
    fn rows(&self, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
        match &self.classes {
            // Inputs with ranges declare their number of vertices, so ids need not be compared with `end`.
            ArcClasses::Ranges(ranges) if ranges.end <= self.end => self.rows_by_ranges(ranges, rows, heads),
            _ => expand(self, rows, heads),
        }
    }

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
            Some((self.classes.class_of(key) * 2 + usize::from(u > v), key))
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
