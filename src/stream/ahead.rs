//! Prefetches resident rows of the next partition, about `room` bytes, while a device counts one, so that between two partitions it waits only for
//! the copy. Only for devices with their own memory: on the host the rows of two partitions would share one budget.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use trimill_counting::{PartitionOutline, PartitionSource, Resident, RowBlock};
use trimill_system::{Bytes, Result};

pub struct Ahead<'a> {
    source: Box<dyn PartitionSource + 'a>,
    runs: VecDeque<Resident>,
    /// Buffers lent by the counter's device, unused while prefetched runs are left.
    lent: Vec<Resident>,
    more: bool,
    reading: Duration,
}

impl<'a> Ahead<'a> {
    /// Reads runs of about `chunk` bytes from `source` until they take `room`; none without room. Runs in the current thread pool.
    pub fn new(mut source: Box<dyn PartitionSource + 'a>, chunk: Bytes, room: Bytes) -> Result<Self> {
        let start = Instant::now();
        let (mut runs, mut more, mut held) = (VecDeque::new(), true, Bytes::ZERO);
        while more && held < room {
            let mut run = Resident::default();
            more = source.read_resident(Some(chunk), &mut run)?;
            held += Bytes::of::<u32>(run.successors.len() as u64) + Bytes::of::<u64>(run.offsets.len() as u64);
            runs.push_back(run);
        }
        Ok(Self { source, runs, lent: Vec::new(), more, reading: start.elapsed() })
    }

    pub fn reading(&self) -> Duration {
        self.reading
    }
}

impl PartitionSource for Ahead<'_> {
    fn outline(&self) -> PartitionOutline {
        self.source.outline()
    }

    fn ranks(&mut self) -> Result<Option<Vec<u32>>> {
        self.source.ranks()
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        match self.runs.pop_front() {
            Some(run) => self.lent.push(std::mem::replace(into, run)),
            None => {
                if let Some(lent) = self.lent.pop() {
                    *into = lent;
                }
                self.more = self.source.read_resident(limit, into)?;
            }
        }
        Ok(self.more || !self.runs.is_empty())
    }

    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()> {
        self.source.read_row_block(i, into)
    }
}
