//! Writes the file blocks of buckets in order, while threads make them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use xxhash_rust::xxh3::xxh3_64;

use super::place::Write;
use trimill_graph::BlockEntry;
use trimill_graph::rows::put_block;
use trimill_graph::writing::RowsWritten;
use trimill_system::threads::{WORKER, guarded};
use trimill_system::{Result, lock, unpoisoned};

/// Buckets, for each thread, that may be made ahead of the first incomplete one.
const AHEAD: usize = 2;

/// The file blocks of a bucket; arcs and positions count from the beginning of the bucket.
#[derive(Default)]
pub(crate) struct BucketBlocks {
    pub(crate) bytes: Vec<u8>,
    pub(crate) entries: Vec<BlockEntry>,
    pub(crate) arcs: u64,
    pub(crate) longest: u32,
    pub(crate) probes: u64,
}

impl BucketBlocks {
    /// Adds a file block: the rows from `first_rank` on, by their lengths and distances.
    pub(crate) fn add(&mut self, first_rank: u64, lengths: &[u32], distances: &[u32]) {
        let position = self.bytes.len();
        put_block(lengths, distances, &mut self.bytes);
        let checksum = xxh3_64(&self.bytes[position..]);
        self.entries.push(BlockEntry { first_rank, first_arc: self.arcs, position: position as u64, checksum });
        self.arcs += distances.len() as u64;
        self.longest = lengths.iter().fold(self.longest, |longest, &length| longest.max(length));
    }
}

#[derive(Default)]
pub(crate) struct BlocksInOrder {
    joined: Mutex<JoinedBlocks>,
    changed: Condvar,
}

impl BlocksInOrder {
    /// Makes the file blocks of the next `buckets`, in the current pool. `write` gets runs of blocks and their offset, on many threads, in any order.
    pub(crate) fn add_all(
        &self,
        buckets: Range<usize>,
        make: impl Fn(usize) -> Result<BucketBlocks> + Sync,
        write: &Write<'_>,
    ) -> Result<()> {
        let next = AtomicUsize::new(buckets.start);
        let one = |bucket: usize| -> Result<()> {
            let ready = self.add(bucket, make(bucket)?);
            ready.into_iter().try_for_each(|(position, bytes)| write(position, bytes.into()))
        };
        // Threads take buckets in order, so that few complete ones wait for their position.
        let ahead = AHEAD * rayon::current_num_threads();
        // A broadcast, not a parallel loop: a thread that waits in `write` for an inner loop would take another bucket, which waits for that `write`.
        let ended = rayon::broadcast(|_| {
            loop {
                let bucket = next.fetch_add(1, Ordering::Relaxed);
                if bucket >= buckets.end || !self.reaches(bucket, ahead) {
                    return Ok(());
                }
                // Other threads wait for this one, so it must not end by a panic.
                guarded(WORKER, || one(bucket)).and_then(|written| written).inspect_err(|_| self.fail())?;
            }
        });
        ended.into_iter().collect()
    }

    pub(crate) fn finish(self) -> RowsWritten {
        unpoisoned(self.joined.into_inner()).rows
    }

    pub(crate) fn arcs(&self) -> u64 {
        lock(&self.joined).arcs
    }

    /// Blocks until all buckets before this one, except the last `ahead`, were added (backpressure). `false`: a thread failed.
    fn reaches(&self, bucket: usize, ahead: usize) -> bool {
        let far = |joined: &mut JoinedBlocks| !joined.failed && bucket > joined.next + ahead;
        !unpoisoned(self.changed.wait_while(lock(&self.joined), far)).failed
    }

    fn add(&self, bucket: usize, made: BucketBlocks) -> Vec<(u64, Vec<u8>)> {
        let ready = lock(&self.joined).add(bucket, made);
        self.changed.notify_all();
        ready
    }

    fn fail(&self) {
        lock(&self.joined).failed = true;
        self.changed.notify_all();
    }
}

#[derive(Default)]
struct JoinedBlocks {
    failed: bool,
    waiting: BTreeMap<usize, BucketBlocks>,
    next: usize,
    arcs: u64,
    rows: RowsWritten,
}

impl JoinedBlocks {
    /// Adds the blocks of a bucket. Returns all blocks whose position became known.
    fn add(&mut self, bucket: usize, made: BucketBlocks) -> Vec<(u64, Vec<u8>)> {
        self.waiting.insert(bucket, made);
        let mut ready = Vec::new();
        while let Some(made) = self.waiting.remove(&self.next) {
            let position = self.rows.block_bytes;
            self.rows.add(made.entries, made.bytes.len() as u64, self.arcs);
            self.arcs += made.arcs;
            self.rows.longest_row = self.rows.longest_row.max(made.longest);
            self.rows.probes = self.rows.probes.saturating_add(made.probes);
            self.next += 1;
            ready.push((position, made.bytes));
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill_system::Error;
    use trimill_system::parallel::on;

    #[test]
    fn a_failed_bucket_ends_all_threads() {
        let run = |make: fn(usize) -> Result<BucketBlocks>| {
            on(4, || BlocksInOrder::default().add_all(0..1000, make, &|_, _| Ok(())))
        };
        let error = run(|bucket| match bucket {
            20 => Err(Error::defect("not made")),
            _ => Ok(BucketBlocks::default()),
        });
        assert!(error.unwrap_err().to_string().contains("not made"));
        let panics = |bucket: usize| {
            assert!(bucket != 20, "on purpose");
            Ok(BucketBlocks::default())
        };
        assert!(run(panics).unwrap_err().to_string().contains("on purpose"));
    }
}
