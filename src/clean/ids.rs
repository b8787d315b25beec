//! The ids of the input: which occur, and how they become `0..n`.
//!
//! There are two cases. *Plain*: ids are below 2^32 - 1 and not much sparser than the arcs, so they index arrays as they are;
//! one bit per id records which occur. *Ranked*: any `u64`; the distinct ids are collected in a first pass over the input and
//! sorted (8 bytes a vertex), and every id is replaced by its position in a second pass.

use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use trimill_input::ArcSink;
use trimill_system::error::{Error, Result};
use trimill_system::lock;
use trimill_system::parallel;

const CHUNK_BITS: u64 = 1 << 20;

/// Which plain ids occur: one bit per id, in chunks made when they are first touched.
pub struct Seen {
    chunks: Vec<OnceLock<Vec<AtomicU64>>>,
}

impl Default for Seen {
    /// The empty set.
    fn default() -> Self {
        Self { chunks: std::iter::repeat_with(OnceLock::new).take(((1u64 << 32) / CHUNK_BITS) as usize).collect() }
    }
}

impl Seen {
    /// Adds an id below 2^32.
    #[inline]
    pub fn note(&self, id: u64) {
        let chunk = self.chunks[(id / CHUNK_BITS) as usize].get_or_init(|| {
            let mut words = Vec::new();
            words.resize_with((CHUNK_BITS / 64) as usize, AtomicU64::default);
            words
        });
        let (word, bit) = (&chunk[(id % CHUNK_BITS / 64) as usize], 1u64 << (id % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// All ids, ascending.
    pub fn members(&self) -> impl Iterator<Item = u64> + '_ {
        let chunks = self
            .chunks
            .iter()
            .enumerate()
            .flat_map(|(c, chunk)| chunk.get().into_iter().flatten().zip((c as u64 * CHUNK_BITS..).step_by(64)));
        chunks.flat_map(|(word, base)| {
            let bits = word.load(Ordering::Relaxed);
            (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| base + bit)
        })
    }

    /// The number of distinct ids, the smallest and the largest.
    pub fn extent(&self) -> Option<(u64, u64, u64)> {
        let mut extent = None;
        for (c, chunk) in self.chunks.iter().enumerate() {
            for (w, word) in chunk.get().into_iter().flatten().enumerate() {
                let bits = word.load(Ordering::Relaxed);
                if bits != 0 {
                    let base = c as u64 * CHUNK_BITS + w as u64 * 64;
                    let (low, high) =
                        (base + u64::from(bits.trailing_zeros()), base + 63 - u64::from(bits.leading_zeros()));
                    let (count, first, _) = extent.unwrap_or((0, low, high));
                    extent = Some((count + u64::from(bits.count_ones()), first, high));
                }
            }
        }
        extent
    }
}

/// Collects the distinct ids of arcs, up to a limit; memory is at most 24 bytes a distinct id.
pub struct Distinct {
    shards: Vec<Mutex<Shard>>,
    most: u64,
    /// How many are known to be distinct.
    found: AtomicU64,
}

#[derive(Default)]
struct Shard {
    sorted: Vec<u64>,
    fresh: Vec<u64>,
}

impl Shard {
    fn merge_fresh(&mut self) {
        self.fresh.sort_unstable();
        self.sorted.append(&mut self.fresh);
        // Two sorted runs: the stable sort merges them in linear time.
        self.sorted.sort();
        self.sorted.dedup();
    }
}

impl Distinct {
    /// No ids yet; collecting fails after more than `most`.
    pub fn new(most: u64) -> Self {
        Self { shards: (0..64).map(|_| Mutex::default()).collect(), most, found: AtomicU64::new(0) }
    }

    /// The most ids.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Whether more than that were found.
    pub fn is_full(&self) -> bool {
        self.found.load(Ordering::Relaxed) > self.most
    }

    /// All distinct ids, ascending.
    pub fn finish(self) -> Vec<u64> {
        let mut shards: Vec<Shard> =
            self.shards.into_iter().map(|s| s.into_inner().unwrap_or_else(|e| e.into_inner())).collect();
        parallel::each(&mut shards, Shard::merge_fresh);
        let mut ids: Vec<u64> = shards.into_iter().flat_map(|s| s.sorted).collect();
        ids.par_sort_unstable();
        ids
    }
}

impl ArcSink for Distinct {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let mut ids: Vec<(u8, u64)> =
            batch.iter().flat_map(|&(u, v)| [u, v]).map(|id| ((mix(id) >> 58) as u8, id)).collect();
        ids.sort_unstable();
        ids.dedup();
        for run in ids.chunk_by(|a, b| a.0 == b.0) {
            let mut shard = lock(&self.shards[run[0].0 as usize]);
            shard.fresh.extend(run.iter().map(|&(_, id)| id));
            if self.is_full() {
                return Err(Error::resource("more distinct ids than fit in memory"));
            }
            // Merging takes as many bytes again.
            if shard.fresh.len() > shard.sorted.len() / 4 + 8192 {
                let before = shard.sorted.len();
                shard.merge_fresh();
                self.found.fetch_add((shard.sorted.len() - before) as u64, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// Mixes the bits of a key, so that any of them can select a shard or lane (the finaliser of MurmurHash3).
#[inline]
pub fn mix(mut key: u64) -> u64 {
    key = (key ^ (key >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    key = (key ^ (key >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ (key >> 33)
}
