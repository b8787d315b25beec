//! Buckets of 64-bit keys, in memory while they fit, else in files of a temporary directory.
//!
//! Input: batches of `(bucket, key)` from many threads. Output: each bucket's keys, once, in no order. At most `memory`
//! bytes of keys are held; past that every further block goes to its bucket's file (8 bytes a key), and so do the blocks
//! of that bucket that were in memory. A bucket's file is deleted when the bucket is taken, so disk space is freed as the
//! buckets are consumed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use trimill_system::bytes::Bytes;
use trimill_system::disk::{self, TemporaryDir};
use trimill_system::error::{Error, Result};
use trimill_system::lock;
use trimill_system::mapped::with_capacity;

/// Keys staged in one thread for one bucket before they are handed to the bucket.
const STAGED: usize = 256;

/// Lanes of keys, filled from many threads.
pub struct Buckets {
    buckets: Vec<Mutex<KeyBucket>>,
    /// Staging areas that no thread uses at the moment.
    idle: Mutex<Vec<StagedKeys>>,
    block: usize,
    memory: AtomicU64,
    held: AtomicU64,
    written: AtomicU64,
    /// How many keys will come, about or at most.
    expected: u64,
    parent: PathBuf,
    dir: OnceLock<TemporaryDir>,
}

#[derive(Default)]
struct KeyBucket {
    filling: Vec<u64>,
    full: Vec<Vec<u64>>,
    len: u64,
    on_disk: u64,
}

/// One thread's staging area: up to [`STAGED`] keys a bucket.
struct StagedKeys {
    keys: Vec<u64>,
    fill: Vec<u16>,
}

impl Buckets {
    /// `buckets` empty buckets for about `expected` keys, of which at most about `memory` bytes are held; files go to a directory made in
    /// `parent` when the first one is needed.
    pub fn new(buckets: usize, expected: u64, memory: u64, parent: &Path) -> Self {
        // Blocks are written as a whole. The blocks that are being filled, one per bucket, take at most a quarter of the memory.
        let block = (memory / 4 / 8 / buckets.max(1) as u64).clamp(STAGED as u64, 8192) as usize;
        Self {
            buckets: (0..buckets).map(|_| Mutex::default()).collect(),
            idle: Mutex::default(),
            block,
            memory: AtomicU64::new(memory),
            held: AtomicU64::new(0),
            written: AtomicU64::new(0),
            expected,
            parent: parent.to_path_buf(),
            dir: OnceLock::new(),
        }
    }

    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    pub fn bytes_written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Adds keys: each item is a bucket and a key. Called from many threads at once.
    pub fn extend(&self, items: impl Iterator<Item = (usize, u64)>) -> Result<()> {
        let mut stage = lock(&self.idle).pop().unwrap_or_else(|| StagedKeys {
            keys: vec![0; self.buckets.len() * STAGED],
            fill: vec![0; self.buckets.len()],
        });
        let mut result = Ok(());
        for (bucket, key) in items {
            let fill = stage.fill[bucket] as usize;
            stage.keys[bucket * STAGED + fill] = key;
            if fill + 1 < STAGED {
                stage.fill[bucket] = fill as u16 + 1;
            } else {
                stage.fill[bucket] = 0;
                result = self.append(bucket, &stage.keys[bucket * STAGED..][..STAGED]);
                if result.is_err() {
                    break;
                }
            }
        }
        lock(&self.idle).push(stage);
        result
    }

    /// Appends the keys that are still staged. Call it once, after the last `extend`, before buckets are taken.
    pub fn flush(&self) -> Result<()> {
        for stage in lock(&self.idle).drain(..) {
            for bucket in 0..self.buckets.len() {
                self.append(bucket, &stage.keys[bucket * STAGED..][..stage.fill[bucket] as usize])?;
            }
        }
        Ok(())
    }

    /// Adds many keys to a bucket at once, without staging them.
    pub fn put(&self, bucket: usize, keys: Vec<u64>) -> Result<()> {
        let mut slot = lock(&self.buckets[bucket]);
        slot.len += keys.len() as u64;
        self.keep(bucket, &mut slot, keys)
    }

    fn append(&self, bucket: usize, keys: &[u64]) -> Result<()> {
        let mut slot = lock(&self.buckets[bucket]);
        slot.len += keys.len() as u64;
        if slot.filling.capacity() == 0 {
            slot.filling.reserve_exact(self.block);
        }
        slot.filling.extend_from_slice(keys);
        if slot.filling.len() + STAGED > self.block {
            let block = std::mem::take(&mut slot.filling);
            self.keep(bucket, &mut slot, block)?;
        }
        Ok(())
    }

    /// Keeps a block in memory, or writes it and all whole blocks of its bucket.
    fn keep(&self, bucket: usize, slot: &mut KeyBucket, block: Vec<u64>) -> Result<()> {
        let bytes = block.capacity() as u64 * 8;
        if self.held.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.memory.load(Ordering::Relaxed) / 4 * 3 {
            slot.full.push(block);
            return Ok(());
        }
        slot.full.push(block);
        self.write(bucket, slot)
    }

    /// Holds at most about `memory` bytes of keys from now on: buckets that hold more go to their files.
    pub fn keep_at_most(&self, memory: u64) -> Result<()> {
        self.memory.store(memory, Ordering::Relaxed);
        for bucket in 0..self.buckets.len() {
            if self.held.load(Ordering::Relaxed) <= memory / 4 * 3 {
                break;
            }
            let mut slot = lock(&self.buckets[bucket]);
            if !slot.full.is_empty() {
                self.write(bucket, &mut slot)?;
            }
        }
        Ok(())
    }

    /// Writes all whole blocks that a bucket holds.
    fn write(&self, bucket: usize, slot: &mut KeyBucket) -> Result<()> {
        self.written_to_file(bucket, slot).map_err(|error| match error.is_for_room() {
            true => error
                .expected(format!(
                    "room for {} of buckets at most, of which {} were written",
                    Bytes::of::<u64>(self.expected),
                    Bytes(self.bytes_written())
                ))
                .also("--work-dir names a directory on a larger disk, and with a larger --host-memory less is written"),
            false => error,
        })
    }

    fn written_to_file(&self, bucket: usize, slot: &mut KeyBucket) -> Result<()> {
        let path = self.file_of(bucket)?;
        let file = disk::append_to(&path)?;
        for block in slot.full.drain(..) {
            disk::write(&file, &path, bytemuck::cast_slice(&block))?;
            slot.on_disk += block.len() as u64;
            self.written.fetch_add(block.len() as u64 * 8, Ordering::Relaxed);
            self.held.fetch_sub(block.capacity() as u64 * 8, Ordering::Relaxed);
        }
        Ok(())
    }

    fn file_of(&self, bucket: usize) -> Result<PathBuf> {
        if self.dir.get().is_none() {
            let dir = TemporaryDir::new(&self.parent, "trimill-buckets-")?;
            // Another thread may have been first; then this directory is removed at once.
            let _ = self.dir.set(dir);
        }
        Ok(self.dir.get().map_or(&*self.parent, TemporaryDir::path).join(format!("bucket-{bucket:05}")))
    }

    pub fn len(&self, bucket: usize) -> u64 {
        lock(&self.buckets[bucket]).len
    }

    /// Takes all keys of a bucket; afterwards the bucket is empty and its file is removed.
    pub fn take(&self, bucket: usize) -> Result<Vec<u64>> {
        let mut keys = Vec::new();
        self.take_in_chunks(bucket, usize::MAX, |chunk| {
            keys = chunk;
            Ok(())
        })?;
        Ok(keys)
    }

    /// Takes a bucket in chunks of at most `most` keys (at least one chunk, maybe empty).
    pub fn take_in_chunks(
        &self,
        bucket: usize,
        most: usize,
        mut each: impl FnMut(Vec<u64>) -> Result<()>,
    ) -> Result<()> {
        let mut slot = std::mem::take(&mut *lock(&self.buckets[bucket]));
        let filling = std::mem::take(&mut slot.filling);
        let mut left = slot.len;
        let mut memory = slot.full.into_iter();
        let released = |block: &Vec<u64>| {
            self.held.fetch_sub(block.capacity() as u64 * 8, Ordering::Relaxed);
        };
        let mut spare: Vec<u64> = filling;
        let mut file = match slot.on_disk {
            0 => None,
            _ => {
                let path = self.file_of(bucket)?;
                Some((File::open(&path).map_err(|e| Error::read(&path, e))?, path, slot.on_disk))
            }
        };
        loop {
            let want = left.min(most as u64) as usize;
            let mut chunk = match memory.as_slice() {
                // The one block of a bucket that was put as a whole.
                [block] if block.len() == want && spare.is_empty() => {
                    memory.next().inspect(released).unwrap_or_default()
                }
                _ => with_capacity(want),
            };
            while chunk.len() < want {
                let missing = want - chunk.len();
                if !spare.is_empty() {
                    let from = spare.len() - missing.min(spare.len());
                    chunk.extend(spare.drain(from..));
                } else if let Some(block) = memory.next().inspect(released) {
                    spare = block;
                } else if let Some((file, path, rest)) = &mut file {
                    let now = missing.min(*rest as usize);
                    let start = chunk.len();
                    chunk.resize(start + now, 0);
                    disk::before_read()
                        .and_then(|()| file.read_exact(bytemuck::cast_slice_mut(&mut chunk[start..])))
                        .map_err(|e| Error::read(&*path, e))?;
                    *rest -= now as u64;
                }
            }
            left -= want as u64;
            if left == 0
                && let Some((_, path, _)) = file.take()
            {
                disk::remove(&path)?;
            }
            each(chunk)?;
            if left == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {

    use rayon::prelude::*;

    use super::*;

    #[test]
    fn what_goes_in_comes_out_whether_it_fits_or_not() {
        let dir = tempfile::tempdir().unwrap();
        for (memory, later) in [(0, 0), (1 << 14, 1 << 14), (1 << 30, 1 << 30), (1 << 30, 1 << 14), (1 << 30, 0)] {
            let buckets = Buckets::new(7, 200_000, memory, dir.path());
            (0u64..50)
                .into_par_iter()
                .try_for_each(|t| buckets.extend((0..4000).map(|i| ((i % 7) as usize, t * 4000 + i))))
                .unwrap();
            buckets.flush().unwrap();
            assert_eq!(buckets.bytes_written() > 0, memory < 1 << 20);
            buckets.keep_at_most(later).unwrap();
            assert_eq!(buckets.bytes_written() > 0, later < 1 << 20);
            assert!(buckets.held.load(Ordering::Relaxed) <= later);
            let mut all = Vec::new();
            for bucket in 0..7 {
                let before = all.len();
                let len = buckets.len(bucket);
                buckets
                    .take_in_chunks(bucket, 1000, |chunk| {
                        assert!(chunk.len() <= 1000);
                        all.extend(chunk);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!((all.len() - before) as u64, len);
                assert!(all[before..].iter().all(|key| (key % 4000) % 7 == bucket as u64));
            }
            all.sort_unstable();
            assert_eq!(all, (0..200_000).collect::<Vec<u64>>());
            let left: Vec<_> = buckets.dir.get().iter().flat_map(|d| std::fs::read_dir(d.path()).unwrap()).collect();
            assert!(left.is_empty(), "bucket files are removed as they are consumed");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the directory is removed with the buckets");
    }
}
