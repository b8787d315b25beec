//! A complete copy of an input on disk ([`super::spool`] makes it), whose checksums are compared at each read.

use std::io;
use std::ops::Range;

use trimill_system::disk::{Overflow, WaitingBytes};

/// Bytes of a piece: a multiple of the bytes that share a checksum, so that reading pieces in order hashes each byte once.
pub(super) const PIECE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct SpooledBytes {
    pub(super) file: Overflow,
    /// Of [`PIECE`] bytes each, except the last one.
    pub(super) pieces: Vec<WaitingBytes>,
    pub(super) bytes: u64,
}

impl SpooledBytes {
    /// Reads bytes from `at` on, all of which must be there. Errors: also if they are not those that were written.
    pub(super) fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let end = at.checked_add(into.len() as u64).filter(|&end| end <= self.bytes);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let (mut at, mut into) = (at, into);
        while at < end {
            let (piece, from) = ((at / PIECE as u64) as usize, (at % PIECE as u64) as usize);
            let now = into.len().min(PIECE - from);
            let bytes = self.file.read(&self.pieces[piece], from..from + now).map_err(io::Error::other)?;
            into[..now].copy_from_slice(&bytes);
            (at, into) = (at + now as u64, &mut into[now..]);
        }
        Ok(())
    }

    /// Reads some bytes at `at`; 0 at the end.
    pub(super) fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        let most = into.len().min(self.bytes.saturating_sub(at) as usize);
        self.read_exact_at(&mut into[..most], at).map(|()| most)
    }

    pub(super) fn range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let length = range.end.checked_sub(range.start).filter(|_| range.end <= self.bytes);
        let mut bytes = vec![0; length.ok_or(io::ErrorKind::UnexpectedEof)? as usize];
        self.read_exact_at(&mut bytes, range.start).map(|()| bytes)
    }
}
