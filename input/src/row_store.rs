//! Decoded rows in memory, 4 bytes per arc and 4 per vertex: of text, which is only read in order, while rows are needed twice (lengths, successors).

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ArcSink;
use super::rows::{AdjacencyRows, RowChunk, read_in_parts};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Control, Result, lock, unpoisoned};

pub(super) struct RowStore {
    lengths: Vec<AtomicU32>,
    chunks: Vec<Vec<u32>>,
    starts: Vec<u64>,
}

impl RowStore {
    pub(super) fn fits(ids: u64, arcs: u64, memory: Bytes) -> bool {
        ids.saturating_add(arcs) <= memory.get() / 4
    }

    pub(super) fn new(ids: u64) -> Self {
        Self { lengths: zeros(ids as usize), chunks: Vec::new(), starts: vec![0] }
    }

    /// A sink for the arcs of a chunk, whose tails must ascend.
    pub(super) fn chunk(&self) -> StoredRows<'_> {
        StoredRows { lengths: &self.lengths, successors: Mutex::default() }
    }

    pub(super) fn push(&mut self, successors: Vec<u32>) {
        self.starts.push(self.arcs() + successors.len() as u64);
        self.chunks.push(successors);
    }

    pub(super) fn arcs(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn copy(&self, first: u64, into: &mut [u32]) -> Result<()> {
        let (mut at, mut rest) = (first, into);
        let mut chunk = self.starts.partition_point(|&start| start <= first) - 1;
        while !rest.is_empty() {
            let successors = &self.chunks[chunk][(at - self.starts[chunk]) as usize..];
            let (now, later) = rest.split_at_mut(successors.len().min(rest.len()));
            now.copy_from_slice(&successors[..now.len()]);
            at += now.len() as u64;
            (rest, chunk) = (later, chunk + 1);
        }
        Ok(())
    }
}

impl AdjacencyRows for RowStore {
    fn lengths(&self, _: bool, _: &Control) -> Result<Option<Vec<u32>>> {
        let lengths: Vec<u32> = self.lengths.iter().map(|length| length.load(Ordering::Relaxed)).collect();
        let sum: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        Ok((sum == self.arcs()).then_some(lengths))
    }

    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        read_in_parts(chunk.arcs.clone(), part, take, |first, into| self.copy(first, into))
    }
}

pub(super) struct StoredRows<'a> {
    lengths: &'a [AtomicU32],
    successors: Mutex<Vec<u32>>,
}

impl StoredRows<'_> {
    pub(super) fn into_successors(self) -> Vec<u32> {
        let mut successors = unpoisoned(self.successors.into_inner());
        successors.shrink_to_fit();
        successors
    }
}

impl ArcSink for StoredRows<'_> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let mut successors = lock(&self.successors);
        for row in batch.chunk_by(|a, b| a.0 == b.0) {
            self.lengths[row[0].0 as usize].fetch_add(row.len() as u32, Ordering::Relaxed);
            successors.extend(row.iter().map(|&(_, head)| head as u32));
        }
        Ok(())
    }
}
