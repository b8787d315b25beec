//! A spill's bytes: in a file, or in host memory for one that is counted soon and never kept. Both have the same layout. Memory is reserved for the
//! most bytes that a spill may have, so nothing is copied while it grows; unused memory is never touched, and released when the spill is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use trimill_system::disk::{self, NewFile};
use trimill_system::{Bytes, Error, Result};

pub(super) enum SpillTarget {
    File(BufWriter<NewFile>),
    Memory(Vec<u8>),
}

#[derive(Debug)]
pub(super) enum SpillStore {
    File(File),
    Memory(Arc<Vec<u8>>),
}

impl SpillTarget {
    pub(super) fn beside(path: &Path, dir: &Path, name: &str) -> Result<Self> {
        let file = NewFile::create(dir, &format!(".{name}."), disk::mode_in(dir))?.known_as(path);
        Ok(Self::File(BufWriter::new(file)))
    }

    pub(super) fn in_memory(most: Bytes) -> io::Result<Self> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(most.get() as usize).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Self::Memory(memory))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(out) => out.write_all(bytes),
            Self::Memory(memory) => memory.write_all(bytes),
        }
    }

    /// Writes `header` over the first bytes and gives a file its name; a spill in memory is returned.
    pub(super) fn finish(self, header: &[u8], path: &Path, durable: bool) -> Result<Option<Arc<Vec<u8>>>> {
        match self {
            Self::File(out) => {
                let file = out.into_inner().map_err(|error| Error::write(path, error.into_error()))?;
                file.write_at(header, 0)?;
                if durable {
                    file.sync()?;
                }
                file.persist(path)?;
                Ok(None)
            }
            Self::Memory(mut memory) => {
                memory[..header.len()].copy_from_slice(header);
                memory.shrink_to_fit();
                Ok(Some(Arc::new(memory)))
            }
        }
    }
}

impl SpillStore {
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(memory) => Ok(memory.len() as u64),
        }
    }

    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => disk::read_back(file, into, offset),
            Self::Memory(memory) => {
                let start = offset as usize;
                into.copy_from_slice(memory.get(start..start + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}
