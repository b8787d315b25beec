//! The bit stream of a BVGraph in bounded memory: words out of a buffer of 1 MiB.
//!
//! Reading through a mapped file would keep every page resident. A few zero words follow the end, since a bit reader looks
//! ahead; a read beyond these is an error, so decoding a truncated stream ends.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use dsi_bitstream::traits::{WordRead, WordSeek};

use dsi_bitstream::impls::BufBitReader;
use dsi_bitstream::traits::{BE, BitRead, BitSeek, Endianness, LE};

use crate::control::Task;

const BUFFER: u64 = 1 << 20;
/// Zero words after the end.
const BEHIND: u64 = 4;

/// Why there were no more words. The decoder only panics, so the cause is recorded here.
#[derive(Debug, Default)]
pub(super) enum StreamError {
    /// No error yet.
    #[default]
    None,
    /// The file ended.
    Ended,
    /// The system could not read it.
    Unreadable(io::Error),
}

/// Reads a file as words of 32 bits.
pub(super) struct Words<'a> {
    file: &'a File,
    bytes: u64,
    /// Told of what is read.
    task: Option<&'a Task>,
    trouble: &'a RefCell<StreamError>,
    /// Bytes that are read at a time.
    at_once: u64,
    buffer: Vec<u8>,
    /// The next byte of `buffer`.
    next: usize,
    /// The position in the file after `buffer`.
    end: u64,
}

impl<'a> Words<'a> {
    /// The words of a file of `bytes` bytes; `task` is told of what is read.
    pub(super) fn new(file: &'a File, bytes: u64, task: &'a Task, trouble: &'a RefCell<StreamError>) -> Self {
        Self { file, bytes, task: Some(task), trouble, at_once: BUFFER, buffer: Vec::new(), next: 0, end: 0 }
    }

    /// The words of such a file, for a reader of no more than about `needed` bytes.
    pub(super) fn few(file: &'a File, bytes: u64, needed: u64, trouble: &'a RefCell<StreamError>) -> Self {
        let at_once = (needed + 64).next_multiple_of(4).min(BUFFER);
        Self { file, bytes, task: None, trouble, at_once, buffer: Vec::new(), next: 0, end: 0 }
    }

    #[cold]
    fn refill(&mut self) -> io::Result<()> {
        self.next = 0;
        let left = self.bytes.saturating_sub(self.end);
        if left == 0 {
            let behind = (self.end - self.bytes.next_multiple_of(4)) / 4;
            if behind >= BEHIND {
                self.trouble.replace(StreamError::Ended);
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.buffer.clear();
            self.buffer.resize(4, 0);
        } else {
            let now = left.min(self.at_once) as usize;
            // The last word is padded with zeros.
            self.buffer.clear();
            self.buffer.resize(now.next_multiple_of(4), 0);
            if let Err(error) = self.file.read_exact_at(&mut self.buffer[..now], self.end) {
                let kind = error.kind();
                self.buffer.clear();
                self.trouble.replace(StreamError::Unreadable(error));
                return Err(kind.into());
            }
            self.task.inspect(|task| task.advance(now as u64));
        }
        self.end += self.buffer.len() as u64;
        Ok(())
    }

    #[inline(always)]
    fn buffered(&mut self) -> Option<u32> {
        let word = self.buffer.get(self.next..)?.first_chunk::<4>()?;
        self.next += 4;
        Some(u32::from_ne_bytes(*word))
    }
}

impl WordRead for Words<'_> {
    type Error = io::Error;
    type Word = u32;

    #[inline(always)]
    fn read_word(&mut self) -> io::Result<u32> {
        loop {
            if let Some(word) = self.buffered() {
                return Ok(word);
            }
            self.refill()?;
        }
    }

    #[inline(always)]
    fn read_word_opt(&mut self) -> Option<u32> {
        self.buffered()
    }
}

impl WordSeek for Words<'_> {
    type Error = io::Error;

    fn word_pos(&mut self) -> io::Result<u64> {
        Ok((self.end - (self.buffer.len() - self.next) as u64) / 4)
    }

    fn set_word_pos(&mut self, word: u64) -> io::Result<()> {
        (self.buffer, self.next, self.end) = (Vec::new(), 0, 4 * word);
        Ok(())
    }
}

/// An order of the bits in a stream.
pub(super) trait BitOrder: Endianness {
    /// Reads codes.
    type Reader<'a>: BitRead<Self> + BitSeek;

    /// A reader of a stream.
    fn reader(words: Words<'_>) -> Self::Reader<'_>;
}

impl BitOrder for BE {
    type Reader<'a> = BufBitReader<BE, Words<'a>>;

    fn reader(words: Words<'_>) -> Self::Reader<'_> {
        BufBitReader::new(words)
    }
}

impl BitOrder for LE {
    type Reader<'a> = BufBitReader<LE, Words<'a>>;

    fn reader(words: Words<'_>) -> Self::Reader<'_> {
        BufBitReader::new(words)
    }
}
