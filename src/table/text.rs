//! Tables of text: a line of column names, then one for each row. All threads make chunks, compressed if the file's name says so, written in order.

use std::io::Write as _;
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;

use trimill_system::disk::Output;
use trimill_system::ordered::make_and_write_parts;
use trimill_system::parallel::IdleValues;
use trimill_system::{Error, Result};

/// Rows that a thread makes together; fewer with names, and still fewer if these are longer than usual.
pub(crate) const ROWS: usize = 1 << 14;
pub(crate) const NAMED_ROWS: usize = 1 << 11;
pub(crate) const USUAL_NAME: usize = 128;

/// Rows with names are written before their chunk is complete if they take more bytes: names are sorted, so long ones may stand together.
pub(crate) const MOST_NAMED: usize = 5 << 17;

/// The usual maximum of bytes of a line.
const USUAL_LINE: usize = 48;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compress {
    No,
    Gzip,
    Zstd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextTable {
    pub(crate) compress: Compress,
    pub(crate) separator: u8,
}

impl TextTable {
    pub(crate) fn write_head(self, to: &mut Output, columns: &[&str]) -> Result<()> {
        let separator = char::from(self.separator).to_string();
        self.write(to, 1, |_, text, _| {
            text.extend_from_slice((columns.join(&separator) + "\n").as_bytes());
            Ok(())
        })
    }

    /// Writes `rows` rows, `at_once` at a time, in the current pool: `lines` appends a range's lines to a text, with the separator between columns.
    /// It also gets a function that writes a part of them.
    pub(crate) fn write_rows(
        self,
        to: &mut Output,
        rows: usize,
        at_once: usize,
        lines: impl Fn(Range<usize>, &mut Vec<u8>, &mut dyn FnMut(&Vec<u8>) -> Result<()>) -> Result<()> + Sync,
    ) -> Result<()> {
        self.write(to, rows.div_ceil(at_once) as u64, |chunk, text, write_part| {
            let first = chunk as usize * at_once;
            text.reserve(USUAL_LINE * at_once);
            lines(first..rows.min(first + at_once), text, write_part)
        })
    }

    fn write(
        self,
        to: &mut Output,
        chunks: u64,
        put: impl Fn(u64, &mut Vec<u8>, &mut dyn FnMut(&Vec<u8>) -> Result<()>) -> Result<()> + Sync,
    ) -> Result<()> {
        let name = to.name().to_path_buf();
        // Only threads that make a chunk hold uncompressed text.
        let idle = IdleValues::<Vec<u8>>::default();
        let compress = |text: &[u8], stored: &mut Vec<u8>| {
            stored.clear();
            self.compress.compress(text, stored).map_err(|e| Error::write(&name, e))
        };
        make_and_write_parts(
            chunks,
            |chunk, stored: &mut Vec<u8>, write_part| {
                if self.compress == Compress::No {
                    stored.clear();
                    return put(chunk, stored, write_part);
                }
                idle.with(Vec::new, |text| {
                    text.clear();
                    let mut compress_part = |part: &Vec<u8>| {
                        compress(part, stored)?;
                        write_part(stored)
                    };
                    put(chunk, text, &mut compress_part)?;
                    compress(text, stored)
                })
            },
            |stored: &Vec<u8>| to.write_all(stored).map_err(|e| Error::write(&name, e)),
        )
    }
}

impl Compress {
    pub(crate) fn by_suffix(name: &str) -> Self {
        match name {
            _ if name.ends_with(".gz") => Self::Gzip,
            _ if name.ends_with(".zst") => Self::Zstd,
            _ => Self::No,
        }
    }

    /// `stored` must be empty.
    fn compress(self, text: &[u8], stored: &mut Vec<u8>) -> std::io::Result<()> {
        match self {
            Self::No => stored.extend_from_slice(text),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(stored, Compression::default());
                encoder.write_all(text)?;
                encoder.finish()?;
            }
            Self::Zstd => {
                stored.resize(zstd::zstd_safe::compress_bound(text.len()), 0);
                let bytes = zstd::bulk::compress_to_buffer(text, stored, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                stored.truncate(bytes);
            }
        }
        Ok(())
    }
}

/// Appends a name and the byte `then`; quotes the name if readers of tables would misread it.
pub(crate) fn put_name(name: &[u8], then: u8, text: &mut Vec<u8>) {
    let special = |&byte: &u8| matches!(byte, b'\t' | b',' | b'"' | b'\n' | b'\r') || byte == then;
    let ends = [name.first(), name.last()].into_iter().flatten().any(|byte| byte.is_ascii_whitespace());
    let begins = ["#", "%", "\u{feff}"].iter().any(|begin| name.starts_with(begin.as_bytes()));
    if begins || ends || name == b"\\N" || name.iter().any(special) {
        text.push(b'"');
        for &byte in name {
            if byte == b'"' {
                text.push(byte);
            }
            text.push(byte);
        }
        text.push(b'"');
    } else {
        text.extend_from_slice(name);
    }
    text.push(then);
}

pub(crate) fn put(number: u64, then: u8, text: &mut Vec<u8>) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    text.push(then);
}
