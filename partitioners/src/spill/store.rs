//! A spill's bytes: in a file, or in host memory for one that is counted soon and never kept. Both have the same layout. In memory, chunks stay as
//! they were written: nothing is copied while a spill grows, and no memory is unused.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use trimill_system::disk::{self, NewFile};
use trimill_system::{Error, Result};

pub(super) enum SpillTarget {
    File(BufWriter<NewFile>),
    Memory(MemorySpill),
}

#[derive(Debug)]
pub(super) enum SpillStore {
    File(File),
    Memory(Arc<MemorySpill>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct MemorySpill {
    chunks: Vec<Vec<u8>>,
    ends: Vec<u64>,
}

impl SpillTarget {
    /// A temporary file beside its final place `path`.
    pub(super) fn beside(path: &Path, dir: &Path, name: &str) -> Result<Self> {
        let file = NewFile::create(dir, &format!(".{name}."), ".tmp", disk::mode_in(dir))?.known_as(path);
        Ok(Self::File(BufWriter::new(file)))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(out) => out.write_all(bytes),
            Self::Memory(chunks) => chunks.push(bytes),
        }
    }

    /// Writes `header` over the first bytes and gives a file its name; a spill in memory is returned.
    pub(super) fn finish(self, header: &[u8], path: &Path, durable: bool) -> Result<Option<Arc<MemorySpill>>> {
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
            Self::Memory(mut chunks) => {
                if let Some(first) = chunks.chunks.first_mut() {
                    first[..header.len()].copy_from_slice(header);
                }
                Ok(Some(Arc::new(chunks)))
            }
        }
    }
}

impl SpillStore {
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(chunks) => Ok(chunks.bytes()),
        }
    }

    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => disk::read_back(file, into, offset),
            Self::Memory(chunks) => chunks.read(into, offset),
        }
    }
}

impl MemorySpill {
    fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        chunk.extend_from_slice(bytes);
        self.ends.push(self.bytes() + bytes.len() as u64);
        self.chunks.push(chunk);
        Ok(())
    }

    fn read(&self, mut into: &mut [u8], offset: u64) -> io::Result<()> {
        let mut at = self.ends.partition_point(|&end| end <= offset);
        let mut skip = (offset - if at == 0 { 0 } else { self.ends[at - 1] }) as usize;
        while !into.is_empty() {
            let chunk = self.chunks.get(at).ok_or(io::ErrorKind::UnexpectedEof)?;
            let from = &chunk[skip..];
            let (now, later) = into.split_at_mut(from.len().min(into.len()));
            now.copy_from_slice(&from[..now.len()]);
            (into, at, skip) = (later, at + 1, 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_read_as_one() {
        let mut chunks = MemorySpill::default();
        let all: Vec<u8> = (0..100).collect();
        for chunk in [&all[..7], &[], &all[7..8], &all[8..100]] {
            chunks.push(chunk).unwrap();
        }
        assert_eq!(chunks.bytes(), 100);
        for (start, end) in [(0, 100), (0, 7), (6, 9), (7, 8), (8, 100), (50, 51), (100, 100)] {
            let mut into = vec![0; end - start];
            chunks.read(&mut into, start as u64).unwrap();
            assert_eq!(into, all[start..end], "{start}..{end}");
        }
        assert!(chunks.read(&mut [0; 2], 99).is_err());
    }
}
