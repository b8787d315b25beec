//! Text that is made by all threads, compressed where the file's name asks for that, and written in order.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::disk::Output;
use crate::error::{Error, Result};
use crate::ordered::make_and_write;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compress {
    /// Not at all.
    No,
    /// As a sequence of gzip members.
    Gzip,
    /// As a sequence of zstd frames.
    Zstd,
}

impl Compress {
    fn compressed(self, text: Vec<u8>) -> std::io::Result<Vec<u8>> {
        match self {
            Self::No => Ok(text),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&text)?;
                encoder.finish()
            }
            Self::Zstd => zstd::bulk::compress(&text, zstd::DEFAULT_COMPRESSION_LEVEL),
        }
    }

    /// Writes the pieces of text, in order; runs in the current thread pool.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub(super) fn write(self, to: &mut Output, pieces: u64, text: impl Fn(u64) -> Vec<u8> + Sync) -> Result<()> {
        let name = to.name().to_path_buf();
        let make = |piece| self.compressed(text(piece)).map_err(|e| Error::write(&name, e));
        make_and_write(pieces, make, |bytes: &Vec<u8>| to.write_all(bytes).map_err(|e| Error::write(&name, e)))
    }
}
