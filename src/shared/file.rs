//! The temporary file of shared rows.
//!
//! Heads of all frames one after another, as they lie in memory; no header, for nobody but the job that wrote it reads
//! it, and it has no name: it goes with the job, however that ends. Every block of `BLOCK` heads within a frame has an
//! xxh3, kept in memory and checked whenever the block is read. Blocks are written and read in parallel.

use std::fs::File;
#[cfg(test)]
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::disk;
use crate::error::{Error, Result};

/// Heads under one checksum.
const BLOCK: usize = 1 << 19;

/// The file, and the checksums of its blocks.
#[derive(Debug)]
pub struct RowFile {
    file: File,
    dir: PathBuf,
    /// For each frame those of its blocks.
    checksums: Vec<Vec<u64>>,
}

impl RowFile {
    /// Makes an empty file on the disk of `dir`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when the directory cannot be written.
    pub fn create(dir: &Path) -> Result<Self> {
        let file =
            disk::anonymous(dir).map_err(|e| e.advice("name a directory that can be written with --work-dir"))?;
        Ok(Self { file, dir: dir.to_path_buf(), checksums: Vec::new() })
    }

    /// The directory on whose disk it lies.
    pub fn place(&self) -> &Path {
        &self.dir
    }

    /// Writes the heads of the next frame, the first of which is head number `first` of all.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when the disk is full or fails.
    pub fn write(&mut self, first: u64, heads: &[u32]) -> Result<()> {
        let checksums = heads
            .par_chunks(BLOCK)
            .enumerate()
            .map(|(i, block)| {
                let bytes = bytemuck::cast_slice(block);
                disk::write_at(&self.file, &self.dir, bytes, 4 * (first + (i * BLOCK) as u64))?;
                Ok(xxh3_64(bytes))
            })
            .collect::<Result<_>>()?;
        self.checksums.push(checksums);
        Ok(())
    }

    /// Reads the heads of frame `i`, the first of which is head number `first` of all. `false`: what came back is not
    /// what was written.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when the disk fails.
    pub fn read(&self, i: usize, first: u64, heads: &mut [u32]) -> Result<bool> {
        let whole = AtomicBool::new(true);
        heads.par_chunks_mut(BLOCK).zip(&self.checksums[i]).enumerate().try_for_each(
            |(i, (block, &checksum))| -> Result<()> {
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(block);
                disk::read_at(&self.file, bytes, 4 * (first + (i * BLOCK) as u64))
                    .map_err(|e| Error::read(&self.dir, e).advice("see what the system says of this disk"))?;
                if xxh3_64(bytes) != checksum {
                    whole.store(false, Ordering::Relaxed);
                }
                Ok(())
            },
        )?;
        Ok(whole.into_inner())
    }

    /// Changes a byte, as a failing disk might.
    #[cfg(test)]
    pub(super) fn damage(&self, at: u64) {
        let mut byte = [0];
        let _ = self.file.read_exact_at(&mut byte, at);
        let _ = self.file.write_all_at(&[byte[0] ^ 1], at);
    }
}
