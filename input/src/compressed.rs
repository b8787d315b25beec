//! Blocks of whole lines out of a decompressor.
//!
//! One thread cuts the stream, and decodes it where that cannot be done in parallel; a block ends with its last line end, and what follows
//! is the beginning of the next one. A block is 1 MiB, or the window if that is smaller, and longer if a line is.

use std::io::{BufRead, Read};

use super::file::InputFile;
use super::lines::{ReadSizes, too_long};
use trimill_system::Result;

const BLOCK: u64 = 1 << 20;

/// Whole lines; the last one of a stream may lack its end.
#[derive(Default)]
pub(super) struct TextBlock {
    pub(super) bytes: Vec<u8>,
    first_line: u64,
}

impl TextBlock {
    pub(super) fn line_of(&self, at: usize) -> u64 {
        self.first_line + memchr::memchr_iter(b'\n', &self.bytes[..at]).count() as u64
    }
}

pub(super) struct TextBlocks<'a> {
    file: &'a InputFile,
    stream: Box<dyn BufRead + 'a>,
    carry: Vec<u8>,
    line: u64,
    block: u64,
    longest_line: u64,
}

impl<'a> TextBlocks<'a> {
    /// `line` is the number of the stream's next line.
    pub(super) fn new(file: &'a InputFile, stream: Box<dyn BufRead + 'a>, line: u64, sizes: ReadSizes) -> Self {
        let (block, longest_line) = (BLOCK.min(sizes.window), sizes.longest_line);
        Self { file, stream, carry: Vec::new(), line, block, longest_line }
    }

    /// Fills the next block; `false` at the end of the stream.
    pub(super) fn next(&mut self, block: &mut TextBlock) -> Result<bool> {
        block.bytes.clear();
        block.bytes.append(&mut self.carry);
        block.first_line = self.line;
        loop {
            let before = block.bytes.len();
            self.stream.by_ref().take(self.block).read_to_end(&mut block.bytes).map_err(|e| self.file.damaged(e))?;
            if block.bytes.len() == before {
                return Ok(before > 0);
            }
            if let Some(newline) = memchr::memrchr(b'\n', &block.bytes[before..]) {
                let end = before + newline + 1;
                self.carry.extend_from_slice(&block.bytes[end..]);
                block.bytes.truncate(end);
                self.line += memchr::memchr_iter(b'\n', &block.bytes).count() as u64;
                return Ok(true);
            }
            if block.bytes.len() as u64 > self.longest_line {
                return Err(too_long(self.longest_line, &block.bytes).at(&self.file.path).at_line(self.line));
            }
        }
    }
}
