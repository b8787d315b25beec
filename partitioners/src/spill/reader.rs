//! Reads a spill. Input: a file. Output: the resident section and any row block, in the caller's buffers. Opening checks header, length, index and
//! their checksums, so a reader exists only for a complete file; blocks are checked when they are read ([`super::reading`]).

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::codec::DecodeSlot;
use super::format::{HEADER_BYTES, MAGIC, PartitionHeader, SpillHeader, checksum, damaged};
use super::index::{RowBlockInfo, SpillIndex};
use super::store::SpillStore;
use super::writer::SpillSummary;
use crate::partition::sizes::PartitionSize;
use trimill_counting::ResidentSize;
use trimill_system::parallel::IdleValues;
use trimill_system::{Error, Result};

/// An open spill, readable from many threads at once.
pub struct SpillReader {
    pub(super) summary: SpillSummary,
    pub(super) store: SpillStore,
    pub(super) index: SpillIndex,
    pub(super) slots: IdleValues<DecodeSlot>,
}

impl SpillReader {
    /// Opens a spill; checks all but its blocks. Errors: missing, no spill, truncated, damaged, another version or, with `fingerprint`, another job.
    pub fn open(path: &Path, fingerprint: Option<u128>) -> Result<Self> {
        let unreadable = |error| Error::read(path, error);
        // To open a named pipe would wait for a writer.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(Error::data(path, "no regular file").expected("a spilled partition"));
        }
        let file = File::open(path).map_err(unreadable)?;
        Self::of(path, SpillStore::File(file), fingerprint)
    }

    /// Opens a spill that was just written, on disk or in memory; a file is checked as by [`SpillReader::open`].
    pub fn reopen(spill: &SpillSummary) -> Result<Self> {
        let fingerprint = Some(spill.header.partition.fingerprint);
        match &spill.memory {
            Some(memory) => Self::of(&spill.path, SpillStore::Memory(Arc::clone(memory)), fingerprint),
            None => Self::open(&spill.path, fingerprint),
        }
    }

    fn of(path: &Path, store: SpillStore, fingerprint: Option<u128>) -> Result<Self> {
        let unreadable = |error| Error::read(path, error);
        let bytes = store.len().map_err(unreadable)?;
        let mut header_bytes = [0; HEADER_BYTES];
        let there = bytes.min(HEADER_BYTES as u64) as usize;
        store.read(&mut header_bytes[..there], 0).map_err(unreadable)?;
        // Only a file with the magic is known to have been written by this program.
        if header_bytes.starts_with(&MAGIC) && there < HEADER_BYTES {
            return Err(damaged(path, format!("{bytes} bytes")).expected(format!("a header of {HEADER_BYTES} bytes")));
        }
        let header = SpillHeader::parse(path, &header_bytes)?;
        let found = header.partition.fingerprint;
        if let Some(fingerprint) = fingerprint.filter(|&fingerprint| fingerprint != found) {
            return Err(Error::data(path, format!("a spill of another job, with fingerprint {found:032x}"))
                .expected(format!("{fingerprint:032x}"))
                .advice("name the directory of this job, or remove the file and build it again, by the command that wrote it"));
        }
        let length = header.index_offset.checked_add(header.index_bytes);
        if length != Some(bytes) {
            let expected = length.map_or_else(|| "less".into(), |length| format!("{length}, as the header says"));
            return Err(damaged(path, format!("the file has {bytes} bytes")).expected(expected));
        }
        let mut index = resized(Vec::new(), header.index_bytes)?;
        store.read(&mut index, header.index_offset).map_err(unreadable)?;
        if xxh3_64(&index) != header.index_checksum {
            return Err(damaged(path, "index: the checksum does not match, so the index is damaged"));
        }
        let index = SpillIndex::parse(path, &index, &header)?;
        let memory = match &store {
            SpillStore::File(_) => None,
            SpillStore::Memory(memory) => Some(Arc::clone(memory)),
        };
        let (path, checksum, largest_block_bytes) =
            (path.to_path_buf(), checksum(&header_bytes), index.largest_row_block());
        let summary = SpillSummary { path, memory, bytes, checksum, header, largest_block_bytes };
        Ok(Self { summary, store, index, slots: IdleValues::default() })
    }

    pub fn summary(&self) -> &SpillSummary {
        &self.summary
    }

    pub fn path(&self) -> &Path {
        &self.summary.path
    }

    pub fn header(&self) -> &PartitionHeader {
        &self.summary.header.partition
    }

    pub fn size(&self) -> PartitionSize {
        self.header().size
    }

    pub fn resident_size(&self) -> ResidentSize {
        let PartitionSize { locals, resident_arcs: arcs, .. } = self.size();
        ResidentSize { locals, arcs }
    }

    pub fn row_blocks(&self) -> usize {
        self.index.row_blocks.len()
    }

    pub fn row_block_info(&self, i: usize) -> &RowBlockInfo {
        &self.index.row_blocks[i]
    }
}

/// A buffer of `length` elements; too little memory is an error instead of an abort.
pub(super) fn resized<T: Clone + Default>(mut buffer: Vec<T>, length: u64) -> Result<Vec<T>> {
    let more = usize::try_from(length).map(|length| length.saturating_sub(buffer.len()));
    let reserved = more.is_ok_and(|more| buffer.try_reserve_exact(more).is_ok());
    if !reserved {
        return Err(Error::memory(format!("no memory for {length} elements of {} bytes", size_of::<T>()))
            .advice("raise the memory limit, or build the spill again with smaller row blocks or more partitions"));
    }
    buffer.resize(length as usize, T::default());
    Ok(buffer)
}
