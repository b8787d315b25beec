//! Tables of text: a line with the names of the columns, then a line for each row. Chunks are made by all threads, compressed where
//! the file's name asks for that, and written in order.

use std::io::Write as _;
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;

use trimill_system::disk::Output;
use trimill_system::error::{Error, Result};
use trimill_system::ordered::make_and_write;

/// Rows of a chunk.
const CHUNK: usize = 1 << 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compress {
    No,
    /// As a sequence of gzip members.
    Gzip,
    /// As a sequence of zstd frames.
    Zstd,
}

/// How a table of text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextTable {
    pub(crate) compress: Compress,
    /// What separates the columns.
    pub(crate) separator: u8,
}

impl TextTable {
    pub(crate) fn write_head(self, to: &mut Output, columns: &[&str]) -> Result<()> {
        self.write(to, 1, |_| (columns.join("\t") + "\n").into_bytes())
    }

    /// Writes the lines of so many rows, of which `lines` appends a range to text, separated by tabs. Runs in the current thread pool.
    pub(crate) fn write_rows(
        self,
        to: &mut Output,
        rows: usize,
        lines: impl Fn(Range<usize>, &mut Vec<u8>) + Sync,
    ) -> Result<()> {
        self.write(to, rows.div_ceil(CHUNK) as u64, |chunk| {
            let first = chunk as usize * CHUNK;
            let mut text = Vec::with_capacity(48 * CHUNK);
            lines(first..rows.min(first + CHUNK), &mut text);
            text
        })
    }

    fn write(self, to: &mut Output, chunks: u64, text: impl Fn(u64) -> Vec<u8> + Sync) -> Result<()> {
        let name = to.name().to_path_buf();
        let make = |chunk| {
            let mut text = text(chunk);
            if self.separator != b'\t' {
                // Cells are numbers and names of columns, which have neither tabs, commas nor blanks.
                text.iter_mut().filter(|byte| **byte == b'\t').for_each(|byte| *byte = self.separator);
            }
            self.compress.compressed(text).map_err(|e| Error::write(&name, e))
        };
        make_and_write(chunks, make, |bytes: &Vec<u8>| to.write_all(bytes).map_err(|e| Error::write(&name, e)))
    }
}

impl Compress {
    /// As the suffix of a name says.
    pub(crate) fn by_suffix(name: &str) -> Self {
        match name {
            _ if name.ends_with(".gz") => Self::Gzip,
            _ if name.ends_with(".zst") => Self::Zstd,
            _ => Self::No,
        }
    }

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
}

/// Appends a number and what follows it.
pub(crate) fn put(number: u64, then: u8, text: &mut Vec<u8>) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    text.push(then);
}
