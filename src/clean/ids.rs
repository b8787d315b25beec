//! How the input's ids become `0..n`. *Plain* ids are below 2^32 - 1 and not much sparser than the arcs: they index arrays. *Ranked* ids are any
//! `u64`: a first pass collects and sorts those that occur (8 bytes each); a second replaces them by positions.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use rayon::prelude::*;

use trimill_counting::VertexSetBuilder;
use trimill_input::ArcSink;
use trimill_input::arcs::SourceFacts;
use trimill_system::hash::mix;
use trimill_system::{Result, lock, parallel};

const CHUNK_BITS: u64 = 1 << 20;

/// What is known of an input's arcs once all were read.
#[derive(Default)]
pub struct ArcFacts {
    pub source: SourceFacts,
    pub arcs: u64,
    pub loops: u64,
    /// One more than the largest plain id or position.
    pub ids: u64,
    pub loop_ids: LoopIds,
}

/// What readers find besides arcs between different ids. Thread-safe.
#[derive(Default)]
pub struct FoundIds {
    /// One more than the largest plain id or position; 0 if there is none.
    end: AtomicU64,
    loops: AtomicU64,
    loop_ids: LoopIds,
}

impl FoundIds {
    /// Adds what a batch of arcs has: the end of its ids, and its loops, whose ids are below 2^32.
    pub fn add(&self, end: u64, loops: &[u64]) {
        self.end.fetch_max(end, Ordering::Relaxed);
        self.loops.fetch_add(loops.len() as u64, Ordering::Relaxed);
        loops.iter().for_each(|&id| self.loop_ids.note(id));
    }

    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// After `arcs` arcs of `source` were read.
    pub fn finish(self, source: SourceFacts, arcs: u64) -> ArcFacts {
        let Self { end, loops, loop_ids } = self;
        ArcFacts { source, arcs, loops: loops.into_inner(), ids: end.into_inner(), loop_ids }
    }
}

/// The plain ids of loops, since a vertex may have no other arc: a bit for each, in chunks made when they are first touched.
pub struct LoopIds {
    chunks: Vec<OnceLock<VertexSetBuilder>>,
}

impl Default for LoopIds {
    fn default() -> Self {
        Self { chunks: std::iter::repeat_with(OnceLock::new).take(((1u64 << 32) / CHUNK_BITS) as usize).collect() }
    }
}

impl LoopIds {
    fn note(&self, id: u64) {
        let chunk = &self.chunks[(id / CHUNK_BITS) as usize];
        chunk.get_or_init(|| VertexSetBuilder::new(CHUNK_BITS as u32)).set((id % CHUNK_BITS) as u32);
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let chunks = (0u64..).step_by(CHUNK_BITS as usize).zip(&self.chunks);
        let words = chunks.flat_map(|(first, chunk)| {
            (first..).step_by(64).zip(chunk.get().into_iter().flat_map(VertexSetBuilder::words))
        });
        words.flat_map(|(base, bits)| (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| base + bit))
    }
}

/// Collects the distinct ids of arcs, in at most 24 bytes for each of `most` ids. If there are more, it keeps a sample to estimate their number:
/// the ids whose hash ends with at least `zeros` zero bits; `zeros` is increased by one whenever the sample is too large.
#[derive(Default)]
pub struct Distinct {
    shards: Vec<Mutex<IdShard>>,
    most: u64,
    found: AtomicU64,
    /// Only ids whose hash ends with at least this many zero bits are kept.
    zeros: AtomicU32,
    /// Held by the thread that raises `zeros`.
    thinning: Mutex<()>,
    largest: AtomicU64,
}

#[derive(Default)]
struct IdShard {
    sorted: Vec<u64>,
    fresh: Vec<u64>,
}

impl IdShard {
    fn merge_fresh(&mut self, zeros: u32) {
        self.fresh.sort_unstable();
        self.sorted.append(&mut self.fresh);
        // Two sorted runs: the stable sort merges them in linear time.
        self.sorted.sort();
        self.sorted.dedup();
        if zeros > 0 {
            self.sorted.retain(|&id| mix(id).trailing_zeros() >= zeros);
        }
    }
}

impl Distinct {
    pub fn new(most: u64) -> Self {
        Self { shards: (0..64).map(|_| Mutex::default()).collect(), most, ..Self::default() }
    }

    pub fn is_full(&self) -> bool {
        self.zeros.load(Ordering::Relaxed) > 0
    }

    pub fn largest(&self) -> u64 {
        self.largest.load(Ordering::Relaxed)
    }

    /// The number of distinct ids: exact if all are kept; else a bound, six standard deviations above an estimate from a sample.
    pub fn at_most(&self) -> u64 {
        let kept: u64 = parallel::map(&self.shards, |shard| self.merged(&mut lock(shard))).into_iter().sum();
        match self.zeros.load(Ordering::Relaxed) {
            0 => kept,
            zeros => ((kept as f64 + 6.0 * (kept as f64).sqrt() + 6.0) * f64::from(zeros).exp2()) as u64,
        }
    }

    /// Merges the fresh ids of a shard; returns the number of its ids.
    fn merged(&self, shard: &mut IdShard) -> u64 {
        let before = shard.sorted.len() as u64;
        shard.merge_fresh(self.zeros.load(Ordering::Relaxed));
        let now = shard.sorted.len() as u64;
        // A thread may subtract before others add, so the sum may wrap around temporarily.
        self.found.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
        now
    }

    fn is_beyond(&self) -> bool {
        // May be negative temporarily, see `merged`.
        self.found.load(Ordering::Relaxed) as i64 > self.most as i64
    }

    /// Keeps about half of the ids, if there are too many.
    fn thin(&self) {
        let _one = lock(&self.thinning);
        if self.is_beyond() {
            self.zeros.fetch_add(1, Ordering::Relaxed);
            self.shards.iter().for_each(|shard| {
                self.merged(&mut lock(shard));
            });
        }
    }

    pub fn finish(self) -> Vec<u64> {
        let mut shards: Vec<IdShard> =
            self.shards.into_iter().map(|s| s.into_inner().unwrap_or_else(|e| e.into_inner())).collect();
        parallel::each(&mut shards, |shard| shard.merge_fresh(0));
        let mut ids: Vec<u64> = shards.into_iter().flat_map(|s| s.sorted).collect();
        ids.par_sort_unstable();
        ids
    }
}

impl ArcSink for Distinct {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let zeros = self.zeros.load(Ordering::Relaxed);
        let (mut ids, mut largest) = (Vec::new(), 0);
        for id in batch.iter().flat_map(|&(u, v)| [u, v]) {
            let hash = mix(id);
            largest = largest.max(id);
            if zeros == 0 || hash.trailing_zeros() >= zeros {
                ids.push(((hash >> 58) as u8, id));
            }
        }
        self.largest.fetch_max(largest, Ordering::Relaxed);
        ids.sort_unstable();
        ids.dedup();
        for run in ids.chunk_by(|a, b| a.0 == b.0) {
            let mut shard = lock(&self.shards[run[0].0 as usize]);
            shard.fresh.extend(run.iter().map(|&(_, id)| id));
            // Merging takes as many bytes again.
            if shard.fresh.len() > shard.sorted.len() / 4 + 8192 {
                self.merged(&mut shard);
            }
        }
        if self.is_beyond() {
            self.thin();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_collected_or_about_how_many_there_are_is_known() {
        for (ids, step) in [(1u64, 1u64), (5_000, 3), (1_000_000, 1), (1_000_000, 1 << 30)] {
            let arcs: Vec<(u64, u64)> = (0..ids).map(|i| (i * step, (ids - 1 - i) * step)).collect();
            for most in [ids, 6_000, 100_000] {
                let distinct = Distinct::new(most);
                arcs.par_chunks(1000).for_each(|batch| distinct.arcs(batch).unwrap());
                let told = distinct.at_most();
                assert_eq!(distinct.largest(), (ids - 1) * step);
                assert!(!distinct.is_full() || most < ids, "{ids} of {most}");
                // Ids are merged in batches, so `distinct` may become full only some ids later.
                assert!(distinct.is_full() || ids < most + (1 << 20), "{ids} of {most}");
                assert!((ids..=ids * 5 / 4).contains(&told), "{told} for {ids}, {most} kept");
                if most >= ids {
                    assert_eq!((told, distinct.finish()), (ids, (0..ids).map(|i| i * step).collect()));
                }
            }
        }
    }
}
