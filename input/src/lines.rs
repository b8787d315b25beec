//! Whole lines of a plain text file, read by many tasks in ranges of [`ReadSizes::window`] bytes. A line belongs to the range with its first byte; a
//! task maps its range and the rest of its last line: at most a window and a line.

use std::ops::{Deref, Range};

use super::columns::has_bare_cr;
use super::file::{InputFile, WIDEST_ZSTD};
use super::hints::bare_cr;
use super::storage::FilePart;
use trimill_system::{Error, Result};

/// The longest line, in bytes, of an edge list or a matrix.
pub(super) const LONGEST_LINE: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) struct ReadSizes {
    pub(super) window: u64,
    /// The most bytes of the dictionaries of a table's columns, all together.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub(super) dictionaries: u64,
    /// The most bytes that decoders take of all that is read at once: windows of zstd, pages of Parquet.
    pub(super) decoders: u64,
}

impl ReadSizes {
    /// 8 MiB per task take about 10 ms to parse.
    pub(super) const USUAL: Self = Self { window: 8 << 20, dictionaries: 1 << 30, decoders: u64::MAX };

    /// For `threads` readers that may take `bytes` together: two windows each. Dictionaries take as much, half of which may be unused capacity.
    /// Decoders, which most files do not need, may take half of the memory, of which `bytes` are an eighth.
    pub(super) fn within(bytes: u64, threads: u64) -> Self {
        let window = (bytes / 2 / threads).clamp(256 << 10, Self::USUAL.window);
        Self { window, dictionaries: bytes / 2, decoders: 4 * bytes }
    }

    /// The bytes of one of so many decoders, of which each thread of the current pool uses one at a time.
    pub(super) fn decoder(self, many: usize) -> u64 {
        self.decoders / many.clamp(1, rayon::current_num_threads()) as u64
    }

    /// [`InputFile::zstd_window`] of each of so many files. Always enough for zstd's usual level.
    pub(super) fn zstd_window(self, files: usize) -> u32 {
        self.decoder(files).clamp(2 << 20, 1 << WIDEST_ZSTD).ilog2()
    }
}

/// Whole lines of a file; the file's last line may lack its end.
pub(super) struct WholeLines {
    window: FilePart,
    within: Range<usize>,
    pub(super) at: u64,
}

impl Deref for WholeLines {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.window[self.within.clone()]
    }
}

/// The lines that begin in `range`; some line is known to begin at `start`.
pub(super) fn read(file: &InputFile, start: u64, range: &Range<u64>) -> Result<WholeLines> {
    // The byte before the range tells whether a line begins at its start.
    let first = if range.start > start { range.start - 1 } else { start };
    let owned = (range.end - first) as usize;
    let mut beyond: u64 = 1 << 16;
    loop {
        let window = file.window(first, range.end + beyond)?;
        let begin = if range.start == start {
            0
        } else {
            match memchr::memchr(b'\n', &window[..owned - 1]) {
                Some(newline) => newline + 1,
                None => return Ok(WholeLines { window, within: 0..0, at: range.start }),
            }
        };
        // The range's last line ends at the first line end from the range's last byte on.
        let end = match memchr::memchr(b'\n', &window[owned - 1..]) {
            Some(newline) => owned + newline,
            None if first + window.len() as u64 == file.bytes => window.len(),
            None if beyond < LONGEST_LINE => {
                beyond = (beyond * 4).min(LONGEST_LINE);
                continue;
            }
            None => {
                let line = memchr::memrchr(b'\n', &window[begin..owned - 1]).map_or(begin, |n| begin + n + 1);
                return Err(file.locate(too_long(&window[line..]), first + line as u64));
            }
        };
        return Ok(WholeLines { window, within: begin..end, at: first + begin as u64 });
    }
}

pub(super) fn too_long(line: &[u8]) -> Error {
    if has_bare_cr(line) {
        return bare_cr();
    }
    Error::data("", format!("a line is longer than {LONGEST_LINE} bytes"))
        .expected("lines of text")
        .advice("name the format with --format if this is not text")
}
