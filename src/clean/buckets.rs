//! Buckets of 64-bit keys: raw while they fit in memory, else sorted and encoded, else in a file.
//!
//! Input: batches of `(bucket, key)` from many threads. Output: the keys of each bucket, unordered. When `memory` bytes are full, the keys of the
//! bucket being filled become a run: sorted and [encoded](trimill_graph::arcs), in a third of the bytes or less. When runs take half of the memory,
//! those of the bucket being filled go to a file, whose space is freed as buckets are taken. A bucket is encoded only if it has at least half of its
//! share of the memory, and written only if it has a quarter, so that runs are long and dense.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::pair_hash::PairHash;
use super::sort::sort_pairs;
use trimill_graph::arcs::{self, LEAST_BITS, MOST_BYTES};
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::mapped::zeros;
use trimill_system::parallel::IdleValues;
use trimill_system::{Bytes, Error, Result, lock};

/// Keys that a thread stages for a bucket before it locks the bucket to add them.
const STAGED: usize = 256;

/// Bytes for each key of a run while it is made: the key, its sorted copy, and its encoding.
const PER_ENCODED: u64 = 8 + 8 + MOST_BYTES;

/// The least number of keys of a run, if memory is scarce, and the most.
const RUN: std::ops::Range<u64> = 1 << 10..1 << 17;

#[derive(Default)]
pub struct Buckets {
    buckets: Vec<Mutex<KeyBucket>>,
    staged: IdleValues<StagedKeys>,
    makers: IdleValues<RunMaker>,
    /// Keys of a chunk, and the most keys of a run.
    chunk: usize,
    run: usize,
    memory: AtomicU64,
    /// Bytes that are held, and how many of them are encoded.
    held: AtomicU64,
    encoded: AtomicU64,
    written: AtomicU64,
    expected: u64,
    /// The hash that decides the bucket of a key, if not all bits of one need to be stored.
    hash: PairHash,
    overflow: Overflow,
}

#[derive(Default)]
struct KeyBucket {
    filling: Vec<u64>,
    full: Vec<Vec<u64>>,
    runs: Vec<BucketRun>,
    len: u64,
    plain: u64,
    encoded: u64,
}

struct BucketRun {
    keys: u32,
    bytes: WaitingBytes,
}

struct StagedKeys {
    keys: Vec<u64>,
    fill: Vec<u16>,
}

#[derive(Default)]
struct RunMaker {
    keys: Vec<u64>,
    sorted: Vec<u64>,
    encoded: Vec<u8>,
}

/// The least and the most bytes that `keys` keys take in the file, if `memory` bytes of them stay in memory.
pub fn bytes_on_disk(keys: u64, memory: u64) -> [Bytes; 2] {
    [keys / 8 * LEAST_BITS, keys.saturating_mul(MOST_BYTES)].map(|bytes| Bytes(bytes.saturating_sub(memory)))
}

impl Buckets {
    /// `buckets` empty buckets for about `expected` keys; about `memory` bytes are held, the others go to a file in `dir`.
    pub fn new(buckets: usize, expected: u64, memory: u64, dir: &Path) -> Self {
        // Chunks that are being filled, one per bucket, take at most a quarter of the memory; runs that are being made, a sixteenth.
        let chunk = (memory / 4 / 8 / buckets.max(1) as u64).clamp(STAGED as u64, 8192) as usize;
        let run = memory / 16 / PER_ENCODED / rayon::current_num_threads() as u64;
        Self {
            buckets: (0..buckets).map(|_| Mutex::default()).collect(),
            chunk,
            run: run.clamp(RUN.start, RUN.end) as usize,
            memory: AtomicU64::new(memory),
            expected,
            overflow: Overflow::new(dir, MemoryLimit::default()),
            ..Self::default()
        }
    }

    pub fn of_classes(self, hash: PairHash) -> Self {
        Self { hash, ..self }
    }

    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    pub fn bytes_written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Adds keys, each with its bucket. Thread-safe.
    pub fn extend(&self, items: impl Iterator<Item = (usize, u64)>) -> Result<()> {
        let many = self.buckets.len();
        let new = || StagedKeys { keys: vec![0; many * STAGED], fill: vec![0; many] };
        self.staged.with(new, |stage| {
            for (bucket, key) in items {
                let fill = stage.fill[bucket] as usize;
                stage.keys[bucket * STAGED + fill] = key;
                if fill + 1 < STAGED {
                    stage.fill[bucket] = fill as u16 + 1;
                } else {
                    stage.fill[bucket] = 0;
                    self.append(bucket, &stage.keys[bucket * STAGED..][..STAGED])?;
                }
            }
            Ok(())
        })
    }

    /// Adds the keys that are still staged. To be called once, after the last `extend`, before buckets are taken.
    pub fn flush(&self) -> Result<()> {
        for stage in self.staged.take_all() {
            for bucket in 0..self.buckets.len() {
                self.append(bucket, &stage.keys[bucket * STAGED..][..stage.fill[bucket] as usize])?;
            }
        }
        Ok(())
    }

    /// Adds many keys to a bucket, without staging.
    pub fn put(&self, bucket: usize, keys: Vec<u64>) -> Result<()> {
        let mut slot = lock(&self.buckets[bucket]);
        slot.len += keys.len() as u64;
        self.keep(&mut slot, keys)
    }

    fn append(&self, bucket: usize, keys: &[u64]) -> Result<()> {
        let mut slot = lock(&self.buckets[bucket]);
        slot.len += keys.len() as u64;
        if slot.filling.capacity() == 0 {
            slot.filling.reserve_exact(self.chunk);
        }
        slot.filling.extend_from_slice(keys);
        if slot.filling.len() + STAGED > self.chunk {
            let chunk = std::mem::take(&mut slot.filling);
            self.keep(&mut slot, chunk)?;
        }
        Ok(())
    }

    fn most(&self) -> u64 {
        self.memory.load(Ordering::Relaxed) / 16 * 11
    }

    /// Keeps a chunk; if it does not fit, encodes the keys of its bucket, and then writes them if that does not suffice.
    fn keep(&self, slot: &mut KeyBucket, chunk: Vec<u64>) -> Result<()> {
        let (bytes, most) = (chunk.capacity() as u64 * 8, self.most());
        slot.plain += bytes;
        slot.full.push(chunk);
        let share = most / self.buckets.len() as u64;
        if self.held.fetch_add(bytes, Ordering::Relaxed) + bytes > most && slot.plain >= share / 2 {
            self.encode(slot);
            if self.encoded.load(Ordering::Relaxed) > most / 2 && slot.encoded >= share / 4 {
                self.write(slot)?;
            }
        }
        Ok(())
    }

    /// From now on holds at most about `memory` bytes of keys.
    pub fn keep_at_most(&self, memory: u64) -> Result<()> {
        self.memory.store(memory, Ordering::Relaxed);
        let is_beyond = || self.held.load(Ordering::Relaxed) > self.most();
        for bucket in (0..self.buckets.len()).take_while(|_| is_beyond()) {
            self.encode(&mut lock(&self.buckets[bucket]));
        }
        for bucket in (0..self.buckets.len()).take_while(|_| is_beyond()) {
            self.write(&mut lock(&self.buckets[bucket]))?;
        }
        Ok(())
    }

    fn encode(&self, slot: &mut KeyBucket) {
        let before = slot.runs.len();
        self.makers.with(RunMaker::default, |maker| {
            for chunk in slot.full.drain(..) {
                let mut rest = &chunk[..];
                while !rest.is_empty() {
                    let (now, after) = rest.split_at(rest.len().min(self.run - maker.keys.len()));
                    maker.keys.extend_from_slice(now);
                    rest = after;
                    if maker.keys.len() == self.run {
                        slot.runs.push(maker.run(self.hash));
                    }
                }
            }
            if !maker.keys.is_empty() {
                slot.runs.push(maker.run(self.hash));
            }
        });
        let more: u64 = slot.runs[before..].iter().map(|run| run.bytes.held()).sum();
        slot.encoded += more;
        self.encoded.fetch_add(more, Ordering::Relaxed);
        self.held.fetch_add(more, Ordering::Relaxed);
        self.held.fetch_sub(std::mem::take(&mut slot.plain), Ordering::Relaxed);
    }

    fn write(&self, slot: &mut KeyBucket) -> Result<()> {
        for run in &mut slot.runs {
            let WaitingBytes::Memory(bytes) = &run.bytes else { continue };
            let length = bytes.len() as u64;
            run.bytes = self.overflow.write(bytes).map_err(|error| self.without_room(error))?;
            slot.encoded -= length;
            self.released(length);
            self.written.fetch_add(length, Ordering::Relaxed);
        }
        Ok(())
    }

    fn without_room(&self, error: Error) -> Error {
        if !error.is_for_room() {
            return error;
        }
        let most = match self.expected {
            // How much comes through a pipe is not known.
            u64::MAX => String::new(),
            keys => format!(" {} at most,", Bytes(keys.saturating_mul(MOST_BYTES))),
        };
        let written = Bytes(self.bytes_written());
        error
            .expected(format!("room for the arcs that are sorted,{most} of which {written} were written"))
            .also("--work-dir names a directory on a larger disk, and with a larger --host-memory less is written")
    }

    fn released(&self, encoded: u64) {
        self.encoded.fetch_sub(encoded, Ordering::Relaxed);
        self.held.fetch_sub(encoded, Ordering::Relaxed);
    }

    pub fn len(&self, bucket: usize) -> u64 {
        lock(&self.buckets[bucket]).len
    }

    pub fn take(&self, bucket: usize) -> Result<Vec<Vec<u64>>> {
        let mut all = Vec::new();
        self.take_in_parts(bucket, usize::MAX, |chunks| {
            all = chunks;
            Ok(())
        })?;
        Ok(all)
    }

    /// Takes a bucket in parts. A part is chunks of up to `most` keys in total, or one longer chunk. There is at least one part, maybe empty.
    pub fn take_in_parts(
        &self,
        bucket: usize,
        most: usize,
        mut each: impl FnMut(Vec<Vec<u64>>) -> Result<()>,
    ) -> Result<()> {
        let KeyBucket { filling, full, runs, .. } = std::mem::take(&mut *lock(&self.buckets[bucket]));
        // An empty chunk would count as one.
        let filling = Some(filling).filter(|filling| !filling.is_empty()).map(Ok);
        let full = full.into_iter().map(|chunk| {
            self.held.fetch_sub(chunk.capacity() as u64 * 8, Ordering::Relaxed);
            Ok(chunk)
        });
        let runs = runs.into_iter().map(|run| self.decoded(&run, bucket));
        let (mut chunks, mut keys) = (Vec::new(), 0);
        for chunk in filling.into_iter().chain(full).chain(runs) {
            let chunk = chunk?;
            if keys > 0 && keys + chunk.len() > most {
                each(std::mem::take(&mut chunks))?;
                keys = 0;
            }
            keys += chunk.len();
            chunks.push(chunk);
        }
        each(chunks)
    }

    /// The keys of a run of a bucket; frees its bytes.
    fn decoded(&self, run: &BucketRun, bucket: usize) -> Result<Vec<u64>> {
        let mut keys = zeros(run.keys as usize);
        // The bytes may have been damaged in the file.
        arcs::decode(&self.overflow.read_all(&run.bytes)?, &mut keys).map_err(|wrong| {
            Error::data("", format!("arcs that wait to be sorted cannot be read back: {wrong}"))
                .advice("check the disk and the memory of this machine")
        })?;
        keys.iter_mut().for_each(|key| *key = self.hash.restored(*key, bucket));
        self.released(run.bytes.held());
        self.overflow.free(&run.bytes);
        Ok(keys)
    }
}

impl RunMaker {
    fn run(&mut self, hash: PairHash) -> BucketRun {
        let Self { keys, sorted, encoded } = self;
        if !keys.is_sorted() {
            let tails =
                keys.iter().fold((u64::MAX, 0), |(first, last), key| (first.min(key >> 32), last.max(key >> 32)));
            sort_pairs(std::slice::from_ref(keys), &(tails.0..tails.1 + 1), sorted);
            std::mem::swap(keys, sorted);
        }
        keys.iter_mut().for_each(|key| *key = hash.shortened(*key));
        encoded.clear();
        arcs::encode(keys, encoded);
        let run = BucketRun { keys: keys.len() as u32, bytes: WaitingBytes::Memory(encoded.as_slice().into()) };
        keys.clear();
        run
    }
}

#[cfg(test)]
mod tests;
