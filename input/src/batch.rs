//! Batches of arcs for the sink, and errors in the middle of a text. An [`ArcBatch`] has up to 16,384 arcs (256 KiB).

use super::ArcSink;
use trimill_system::{Control, Error, Result};

const CAPACITY: usize = 1 << 14;

pub(super) struct ArcBatch<'a> {
    sink: &'a dyn ArcSink,
    control: &'a Control,
    arcs: Vec<(u64, u64)>,
    delivered: u64,
}

impl<'a> ArcBatch<'a> {
    pub(super) fn new(sink: &'a dyn ArcSink, control: &'a Control) -> Self {
        Self { sink, control, arcs: Vec::with_capacity(CAPACITY), delivered: 0 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, tail: u64, head: u64) -> Result<()> {
        self.arcs.push((tail, head));
        if self.arcs.len() == CAPACITY { self.flush() } else { Ok(()) }
    }

    /// Adds the records of `bin-u32`: pairs of little-endian `u32`.
    #[inline]
    pub(super) fn push_pairs(&mut self, bytes: &[u8]) -> Result<()> {
        for &[tail, head] in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
            self.push(u64::from(u32::from_le_bytes(tail)), u64::from(u32::from_le_bytes(head)))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.control.check()?;
        if !self.arcs.is_empty() {
            self.sink.arcs(&self.arcs)?;
            self.delivered += self.arcs.len() as u64;
            self.arcs.clear();
        }
        Ok(())
    }

    /// Delivers the rest; returns how many arcs were delivered in all.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.delivered)
    }
}

pub(super) enum DeliveryFailure {
    /// The text is wrong at this byte of the chunk; the error does not know file and line yet.
    Bad(usize, Error),
    Stop(Error),
}

impl DeliveryFailure {
    #[cold]
    pub(super) fn bad(at: usize, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Bad(at, Error::data("", found).expected(expected))
    }

    /// Completes the error by `place`, which adds the file and the line.
    pub(super) fn locate(self, place: impl FnOnce(Error, usize) -> Error) -> Error {
        match self {
            Self::Bad(at, error) => place(error, at),
            Self::Stop(error) => error,
        }
    }
}

impl From<Error> for DeliveryFailure {
    fn from(error: Error) -> Self {
        Self::Stop(error)
    }
}
