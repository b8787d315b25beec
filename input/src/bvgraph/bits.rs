//! Reads the bits of a BVGraph's files through a buffer of up to 1 MiB, since mapped files would keep every page resident. Codes are read from a
//! *window*, one word with at least the next 57 bits at any position: most numbers take one load, one search for the first one bit, and a shift.
//! Zeros follow the end; a position far beyond it is an error, so decoding a truncated stream ends. Decoders return `None` for bits that are not a
//! valid number or row, or that end too early.

use std::io;
use std::marker::PhantomData;

use crate::storage::Storage;
use trimill_system::control::Task;

const BUFFER: u64 = 1 << 20;

/// Zero bytes that follow the end.
const PADDING: u64 = 16;

/// Bits of a window that are valid.
pub(super) const WINDOW_BITS: u32 = 57;

pub(super) trait BitOrder: Default + Send + Sync {
    fn load(bytes: [u8; 8]) -> u64;
    /// Drops the first `bits` < 64.
    fn skip(word: u64, bits: u32) -> u64;
    /// The number of zeros before the first one; 64 if there is none.
    fn zeros(word: u64) -> u32;
    fn first(word: u64, bits: u32) -> u64;
}

#[derive(Default)]
pub(super) struct HighFirst;

impl BitOrder for HighFirst {
    #[inline(always)]
    fn load(bytes: [u8; 8]) -> u64 {
        u64::from_be_bytes(bytes)
    }
    #[inline(always)]
    fn skip(word: u64, bits: u32) -> u64 {
        word << bits
    }
    #[inline(always)]
    fn zeros(word: u64) -> u32 {
        word.leading_zeros()
    }
    #[inline(always)]
    fn first(word: u64, bits: u32) -> u64 {
        // Two shifts, since a single one by 64 bits is not allowed.
        word >> 1 >> (63 - bits)
    }
}

#[derive(Default)]
pub(super) struct LowFirst;

impl BitOrder for LowFirst {
    #[inline(always)]
    fn load(bytes: [u8; 8]) -> u64 {
        u64::from_le_bytes(bytes)
    }
    #[inline(always)]
    fn skip(word: u64, bits: u32) -> u64 {
        word >> bits
    }
    #[inline(always)]
    fn zeros(word: u64) -> u32 {
        word.trailing_zeros()
    }
    #[inline(always)]
    fn first(word: u64, bits: u32) -> u64 {
        word & ((1 << bits) - 1)
    }
}

/// Decoders only get `None`; this says why reading failed.
#[derive(Debug, Default)]
pub(super) enum StreamError {
    /// Reading did not fail: a decoder's `None` then means wrong bits.
    #[default]
    None,
    Ended,
    Unreadable(io::Error),
}

pub(super) struct BitReader<'a, O> {
    file: &'a Storage,
    bytes: u64,
    task: Option<&'a Task>,
    at_once: u64,
    buffer: Vec<u8>,
    start: u64,
    at: u64,
    error: StreamError,
    order: PhantomData<O>,
}

impl<'a, O: BitOrder> BitReader<'a, O> {
    /// A reader at the beginning of a file of `bytes` bytes; `task` advances by what is read.
    pub(super) fn new(file: &'a Storage, bytes: u64, task: Option<&'a Task>) -> Self {
        Self {
            file,
            bytes,
            task,
            at_once: BUFFER,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            error: StreamError::None,
            order: PhantomData,
        }
    }

    /// Moves to a bit; about `needed` bytes will be read from there.
    pub(super) fn seek(&mut self, bit: u64, needed: u64) {
        let within = self.start * 8..(self.start + self.buffer.len() as u64) * 8;
        self.at_once = (needed + 64).min(BUFFER);
        if within.contains(&bit) {
            self.at = bit - within.start;
        } else {
            self.buffer.clear();
            (self.start, self.at) = (bit / 8, bit % 8);
        }
    }

    #[inline(always)]
    pub(super) fn position(&self) -> u64 {
        self.start * 8 + self.at
    }

    pub(super) fn take_error(&mut self) -> StreamError {
        std::mem::take(&mut self.error)
    }

    /// At least the next [`WINDOW_BITS`] bits.
    #[inline(always)]
    pub(super) fn window(&mut self) -> Option<u64> {
        loop {
            let bytes = self.buffer.get((self.at / 8) as usize..).and_then(|rest| rest.first_chunk::<8>());
            if let Some(&bytes) = bytes {
                return Some(O::skip(O::load(bytes), (self.at % 8) as u32));
            }
            self.refill()?;
        }
    }

    /// Moves on by at most a window.
    #[inline(always)]
    pub(super) fn advance(&mut self, bits: u32) {
        self.at += u64::from(bits);
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Option<()> {
        let used = (self.at / 8).min(self.buffer.len() as u64);
        self.buffer.drain(..used as usize);
        self.start += used;
        self.at -= 8 * used;
        let end = self.start + self.buffer.len() as u64;
        let before = self.buffer.len();
        if end >= self.bytes {
            let missing = (self.bytes + PADDING).saturating_sub(end);
            if missing == 0 {
                self.error = StreamError::Ended;
                return None;
            }
            self.buffer.resize(before + missing as usize, 0);
            return Some(());
        }
        let now = (self.bytes - end).min(self.at_once.max(16));
        self.buffer.resize(before + now as usize, 0);
        if let Err(error) = self.file.read_exact_at(&mut self.buffer[before..], end) {
            self.buffer.truncate(before);
            self.error = StreamError::Unreadable(error);
            return None;
        }
        self.task.inspect(|task| task.advance(now));
        Some(())
    }
}
