//! Sorted runs of arcs that neither the device nor, as plain keys, the host's memory holds: they are [encoded](trimill_graph::arcs), and
//! wait in memory, or, beyond the host's budget, in files.
//!
//! Runs come from a device in chunks, and are read from any place on, while they are merged. A chunk is encoded in blocks of
//! [`RUN_BLOCK`] keys. Cost: 1 to 4 bytes an arc, and some nanoseconds of a core.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use trimill_graph::arcs::{self, BLOCK};
use trimill_kernels::prepare::{RUN_BLOCK, RunStore, StoredRun};
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::{Bytes, Error};

const _: () = assert!(RUN_BLOCK.is_multiple_of(BLOCK));

/// Bytes that are allocated for each key that is encoded.
const USUAL: usize = 4;

/// Runs, and how much memory they may take.
pub(super) struct EncodedRuns {
    limit: Arc<MemoryLimit>,
    dir: PathBuf,
}

struct EncodedRun {
    limit: Arc<MemoryLimit>,
    overflow: Overflow,
    chunks: RwLock<Vec<EncodedChunk>>,
}

/// Consecutive blocks.
struct EncodedChunk {
    first_key: u64,
    keys: u64,
    ends: Vec<u32>,
    bytes: WaitingBytes,
}

impl EncodedRuns {
    /// Runs of at most `most` bytes in memory; others go to files in `dir`.
    pub(super) fn new(dir: &Path, most: Bytes) -> Self {
        Self { limit: Arc::new(MemoryLimit::new(most)), dir: dir.to_path_buf() }
    }

    /// Bytes of the runs that are in memory.
    pub(super) fn held(&self) -> Bytes {
        self.limit.held()
    }

    /// From now on at most `most` bytes are to be in memory. Returns whether there are no more already.
    pub(super) fn keep_at_most(&self, most: Bytes) -> bool {
        self.limit.lower(most)
    }
}

impl RunStore for EncodedRuns {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        let overflow = Overflow::new(&self.dir);
        Ok(Box::new(EncodedRun { limit: self.limit.clone(), overflow, chunks: RwLock::default() }))
    }
}

impl StoredRun for EncodedRun {
    fn write(&self, at: u64, keys: &[u64]) -> io::Result<()> {
        let (mut bytes, mut ends) = (Vec::with_capacity(USUAL * keys.len()), Vec::new());
        for block in keys.chunks(RUN_BLOCK) {
            arcs::encode(block, &mut bytes);
            ends.push(bytes.len() as u32);
        }
        let bytes = self.overflow.put(bytes, &self.limit).map_err(told)?;
        let chunk = EncodedChunk { first_key: at, keys: keys.len() as u64, ends, bytes };
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        let behind = chunks.partition_point(|chunk| chunk.first_key < at);
        chunks.insert(behind, chunk);
        Ok(())
    }

    fn read(&self, at: u64, mut keys: &mut [u64]) -> io::Result<()> {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let first = chunks.partition_point(|chunk| chunk.first_key + chunk.keys <= at);
        let mut from = at;
        for chunk in &chunks[first..] {
            let now = (chunk.first_key + chunk.keys).saturating_sub(from).min(keys.len() as u64);
            if now == 0 {
                break;
            }
            let (into, rest) = keys.split_at_mut(now as usize);
            let begin = from - chunk.first_key;
            self.read_chunk(chunk, begin..begin + now, into)?;
            (from, keys) = (from + now, rest);
        }
        Ok(())
    }
}

impl EncodedRun {
    /// Reads some keys of a chunk.
    fn read_chunk(&self, chunk: &EncodedChunk, keys: Range<u64>, mut into: &mut [u64]) -> io::Result<()> {
        let blocks = keys.start as usize / RUN_BLOCK..(keys.end as usize).div_ceil(RUN_BLOCK);
        let begin = blocks.start.checked_sub(1).map_or(0, |before| chunk.ends[before]);
        let bytes = begin as usize..chunk.ends[blocks.end - 1] as usize;
        let bytes = self.overflow.read(&chunk.bytes, bytes).map_err(told)?;
        let (mut encoded, mut block_keys) = (&*bytes, [0; RUN_BLOCK]);
        for block in blocks {
            let first = (block * RUN_BLOCK) as u64;
            let of_block = RUN_BLOCK.min((chunk.keys - first) as usize);
            let skipped = keys.start.saturating_sub(first) as usize;
            let now = of_block.min((keys.end - first) as usize) - skipped;
            let (part, rest) = into.split_at_mut(now);
            let whole = now == of_block;
            let decoded = if whole { &mut *part } else { &mut block_keys[..of_block] };
            encoded = arcs::decode(encoded, decoded).map_err(|wrong| {
                io::Error::other(format!("arcs that wait to be merged cannot be read back: {wrong}"))
            })?;
            if !whole {
                part.copy_from_slice(&block_keys[skipped..][..now]);
            }
            into = rest;
        }
        Ok(())
    }
}

impl Drop for EncodedRun {
    fn drop(&mut self) {
        let chunks = self.chunks.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.limit.release(chunks.iter().map(|chunk| chunk.bytes.held()).sum());
    }
}

/// With the text that names the directory.
fn told(error: Error) -> io::Error {
    io::Error::other(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn runs_are_read_from_any_place_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let keys: Vec<u64> = (0..100_003u64).map(|i| ((i * i / 7) << 20) | ((i * 31) & 0xfffff)).collect();
        assert!(keys.is_sorted());
        for most in [0, 70_000, 1 << 30] {
            let store = EncodedRuns::new(dir.path(), Bytes(most));
            let runs: Vec<_> = (0..2).map(|_| store.begin().unwrap()).collect();
            for run in &runs {
                let chunks: Vec<_> = keys.chunks(3 * RUN_BLOCK).enumerate().collect();
                chunks
                    .into_par_iter()
                    .rev()
                    .for_each(|(i, chunk)| run.write((3 * RUN_BLOCK * i) as u64, chunk).unwrap());
            }
            let held = store.limit.held().get();
            assert!(held <= most && (held == 0) == (most == 0), "{held}");
            assert_eq!((store.keep_at_most(Bytes(held)), store.keep_at_most(Bytes(held / 2))), (true, held == 0));
            for (at, many) in
                [(0, keys.len()), (1, 1), (4095, 2), (12_287, 30_000), (99_999, 4), (5_000, 0), (4096, 4096)]
            {
                let mut read = vec![0; many];
                runs[1].read(at as u64, &mut read).unwrap();
                assert_eq!(read, keys[at..at + many], "{many} from {at}");
            }
            drop(runs);
            assert_eq!(store.limit.held(), Bytes::ZERO);
        }
    }
}
