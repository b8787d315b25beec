//! The bytes of the file blocks: in a graph file, read on demand, or in memory.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::names::Names;
use trimill_system::disk::{self, NewFile};
use trimill_system::{Bytes, Error, Result};

/// An open graph file; stays readable if it is renamed or removed.
#[derive(Debug)]
pub(super) struct GraphFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// The checksum of the footer, which has those of all sections: it identifies the whole file.
    pub(super) checksum: u64,
    /// For a graph file that is not cached: removes it on drop.
    pub(super) _temporary: Option<NewFile>,
}

impl GraphFile {
    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        disk::read_back(&self.file, into, at).map_err(|error| Error::read(&self.path, error))
    }
}

#[derive(Debug)]
pub struct BlockBytes {
    pub position: u64,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum BlockStore {
    /// In a graph file, whose blocks begin at `rows`.
    File {
        file: GraphFile,
        rows: u64,
    },
    Memory(MemorySections),
}

#[derive(Debug)]
pub struct MemorySections {
    pub chunks: Vec<BlockBytes>,
    pub order: Vec<u32>,
    /// The input's ids; empty if they are consecutive.
    pub ids: Vec<u64>,
    /// The names of ids, if they have any; these are in a file.
    pub names: Option<Arc<Names>>,
}

impl MemorySections {
    pub(super) fn bytes(&self) -> Bytes {
        let blocks = Bytes(self.chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum());
        blocks + Bytes::of::<u32>(self.order.len() as u64) + Bytes::of::<u64>(self.ids.len() as u64)
    }
}

impl BlockStore {
    /// The bytes `range` of all blocks, which must be one block; if they are in a file, `buffer` is used.
    pub(super) fn bytes<'a>(&'a self, range: Range<u64>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match self {
            Self::File { file, rows } => {
                buffer.resize((range.end - range.start) as usize, 0);
                file.read(rows + range.start, buffer)?;
                Ok(buffer)
            }
            Self::Memory(MemorySections { chunks, .. }) => {
                let chunk = &chunks[chunks.partition_point(|chunk| chunk.position <= range.start) - 1];
                let at = (range.start - chunk.position) as usize;
                Ok(&chunk.bytes[at..at + (range.end - range.start) as usize])
            }
        }
    }

    /// Reads the bytes `range` of all blocks, which must be one block.
    pub(super) fn read(&self, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        match self {
            Self::File { file, rows } => file.read(rows + range.start, into),
            Self::Memory(_) => {
                into.copy_from_slice(self.bytes(range, &mut Vec::new())?);
                Ok(())
            }
        }
    }

    pub(super) fn file(&self) -> Option<&GraphFile> {
        match self {
            Self::File { file, .. } => Some(file),
            Self::Memory(_) => None,
        }
    }
}
