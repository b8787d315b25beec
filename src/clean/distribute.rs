//! Distributes arcs to buckets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::buckets::Buckets;
use super::classes::ArcClasses;
use super::ids::FoundIds;
use super::ranges::IdRanges;
use super::unite::ArcsRead;
use trimill_input::arcs::SourceFacts;
use trimill_input::{ArcSink, around_tail, expand};
use trimill_system::{Error, Result};

/// The fewest keys of a batch that is added to a bucket without staging.
const LEAST_PUT: usize = 1 << 10;

pub(super) struct Distribute<F> {
    buckets: Buckets,
    classes: ArcClasses,
    rename: F,
    /// Ids from this one on set `overflow`.
    end: u64,
    pub(super) found: FoundIds,
    pub(super) overflow: AtomicBool,
}

impl<F: Fn(u64) -> Option<u64> + Sync> Distribute<F> {
    pub(super) fn new(classes: ArcClasses, buckets: Buckets, rename: F, end: u64) -> Self {
        Self { buckets, classes, rename, end, found: FoundIds::default(), overflow: AtomicBool::new(false) }
    }

    /// The result of a pass: the `arcs` that were read since `start`.
    pub(super) fn finish(self, source: SourceFacts, arcs: u64, start: Instant) -> Result<ArcsRead> {
        let reading = start.elapsed();
        let Self { buckets, classes, found, .. } = self;
        buckets.flush()?;
        Ok(ArcsRead { buckets, classes, facts: found.finish(source, arcs), table: None, reading })
    }

    /// Takes rows of plain ids below `end`, without staging: as a thread mostly adds to few buckets, staging causes lock contention.
    fn rows_by_ranges(&self, ranges: &IdRanges, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        let (mut class, mut begin, mut end_of_ids, mut loops) = (None, 0, 0, Vec::new());
        for &(tail, end) in rows {
            let row = &heads[begin..end];
            begin = end;
            let now = ranges.range_of(tail);
            if class != Some(now) {
                self.put_own(class, &mut own)?;
                class = Some(now);
            }
            let ids = ranges.ids(now);
            if let Some(&last) = row.last() {
                end_of_ids = end_of_ids.max(tail.max(last.into()) + 1);
            }
            let (below, is_loop, above) = around_tail(tail, row);
            loops.extend(is_loop.then_some(tail));
            let (far, near) = below.split_at(below.partition_point(|&head| u64::from(head) < ids.start));
            others.extend(far.iter().map(|&head| self.classes.split(tail, head.into())));
            own.extend(near.iter().chain(above).map(|&head| self.classes.split(tail, head.into()).1));
        }
        self.put_own(class, &mut own)?;
        self.found.add(end_of_ids, &loops);
        self.buckets.extend(others.into_iter())
    }

    fn put_own(&self, class: Option<usize>, keys: &mut Vec<u64>) -> Result<()> {
        if let Some(class) = class.filter(|_| !keys.is_empty()) {
            match keys.len() >= LEAST_PUT {
                true => self.buckets.put(class, keys.as_slice().to_vec())?,
                false => self.buckets.extend(keys.iter().map(|&key| (class, key)))?,
            }
            keys.clear();
        }
        Ok(())
    }
}

impl<F: Fn(u64) -> Option<u64> + Sync> ArcSink for Distribute<F> {
    fn rows(&self, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
        match &self.classes {
            // Inputs with ranges declare their number of vertices, so ids need not be compared with `end`.
            ArcClasses::Ranges(ranges) if ranges.end <= self.end => self.rows_by_ranges(ranges, rows, heads),
            _ => expand(self, rows, heads),
        }
    }

    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let (mut end, mut loops, mut outside) = (0, Vec::new(), false);
        let keyed = batch.iter().filter_map(|&(u, v)| {
            let (Some(u), Some(v)) = ((self.rename)(u), (self.rename)(v)) else {
                outside = true;
                return None;
            };
            if u.max(v) >= self.end {
                outside = true;
                return None;
            }
            end = end.max(u.max(v) + 1);
            if u == v {
                loops.push(u);
                return None;
            }
            Some(self.classes.split(u, v))
        });
        self.buckets.extend(keyed)?;
        self.found.add(end, &loops);
        if outside {
            self.overflow.store(true, Ordering::Relaxed);
            // Ends this pass; the caller sees the flag and reads again with ranked ids.
            return Err(Error::usage("an id is too large to index arrays"));
        }
        Ok(())
    }
}
