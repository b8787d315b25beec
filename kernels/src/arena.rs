//! One allocation of device memory, and the pieces that it is cut into.
//!
//! All that this program puts on a device lies in one arena of at most the budget, so the budget cannot be exceeded and what
//! was used is known to the byte. Pieces begin at multiples of 256 bytes, as the driver's own allocations do; a piece goes to
//! the first gap that holds it. [`Layout`] is the bookkeeping and touches no device.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result};

use crate::device::Gpu;
use crate::error::{Error, Result, driver};

/// Where pieces begin.
pub const ALIGNMENT: u64 = 256;

/// Bytes that a piece of `bytes` takes of an arena.
pub const fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// A piece of an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Bytes from the arena's beginning.
    pub offset: u64,
    /// Bytes, without padding.
    pub bytes: u64,
}

/// Which pieces of an arena are in use.
#[derive(Debug, Clone)]
pub struct Layout {
    capacity: u64,
    /// The pieces in use, ascending.
    pieces: Vec<Piece>,
    peak: u64,
}

impl Layout {
    /// Nothing in use.
    pub fn new(capacity: u64) -> Self {
        Self { capacity, pieces: Vec::new(), peak: 0 }
    }

    /// All bytes, used and not.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes in use, padding included.
    pub fn used(&self) -> u64 {
        self.pieces.iter().map(|piece| padded(piece.bytes)).sum()
    }

    /// The farthest byte that any piece has reached, at any time since the last [`Layout::restart`].
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Takes a piece of `bytes`.
    ///
    /// # Errors
    /// [`Error::Budget`] when no gap holds it.
    pub fn take(&mut self, bytes: u64) -> Result<Piece> {
        let refused = Error::Budget { asked: bytes, used: self.used(), capacity: self.capacity };
        let Some(wanted) = bytes.checked_next_multiple_of(ALIGNMENT) else { return Err(refused) };
        let mut offset = 0;
        let mut place = self.pieces.len();
        for (i, piece) in self.pieces.iter().enumerate() {
            if piece.offset - offset >= wanted {
                place = i;
                break;
            }
            offset = piece.offset + padded(piece.bytes);
        }
        // The padding of the last piece need not fit, but is counted: so a sum of padded sizes is what is needed.
        match offset.checked_add(wanted) {
            Some(end) if end <= self.capacity => {
                self.peak = self.peak.max(end);
                let piece = Piece { offset, bytes };
                self.pieces.insert(place, piece);
                Ok(piece)
            }
            _ => Err(refused),
        }
    }

    /// Gives a piece back. One that is not in use is let pass.
    pub fn give_back(&mut self, piece: Piece) {
        self.pieces.retain(|other| *other != piece);
    }

    /// Gives all pieces back and begins to measure the peak anew.
    pub fn restart(&mut self) {
        self.pieces.clear();
        self.peak = 0;
    }
}

/// Device memory under a [`Layout`], freed at the end.
#[derive(Debug)]
pub struct Arena {
    context: Arc<CudaContext>,
    address: u64,
    layout: Layout,
}

impl Arena {
    /// Takes `bytes` of the device's memory, rounded down to a multiple of [`ALIGNMENT`].
    ///
    /// # Errors
    /// [`Error::DeviceMemory`] when the device refuses them; fewer may still be had.
    pub fn new(gpu: &Gpu, bytes: u64) -> Result<Self> {
        let capacity = bytes / ALIGNMENT * ALIGNMENT;
        gpu.bind()?;
        let address = if capacity == 0 {
            0
        } else {
            // SAFETY: the context is current; the memory is written before it is read, as each user of a piece must do.
            unsafe { result::malloc_sync(capacity as usize) }.map_err(|_| {
                let (free, total) = gpu.memory().unwrap_or_default();
                Error::DeviceMemory { asked: capacity, free, total }
            })?
        };
        Ok(Self { context: Arc::clone(gpu.context()), address, layout: Layout::new(capacity) })
    }

    /// What is in use.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same, to be changed.
    pub fn layout_mut(&mut self) -> &mut Layout {
        &mut self.layout
    }

    /// Where the arena begins on the device.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.address != 0 && self.context.bind_to_thread().is_ok() {
            // SAFETY: allocated in `new`, freed once; the driver waits for kernels that use it. What fails here is a lost
            // device, whose memory is gone anyway.
            let _ = unsafe { result::free_sync(self.address) }.map_err(driver("freeing the arena"));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn the_capacity_is_never_exceeded() {
        let mut layout = Layout::new(1024);
        let a = layout.take(257).unwrap();
        assert_eq!((a.offset, layout.used()), (0, 512));
        let b = layout.take(1).unwrap();
        assert_eq!((b.offset, layout.peak()), (512, 768));
        assert_eq!(layout.take(257), Err(Error::Budget { asked: 257, used: 768, capacity: 1024 }));
        assert!(matches!(layout.take(u64::MAX), Err(Error::Budget { .. })));
        layout.give_back(a);
        assert_eq!((layout.used(), layout.peak()), (256, 768));
        assert_eq!(layout.take(512).unwrap().offset, 0);
        assert_eq!(layout.take(256).unwrap().offset, 768);
        assert_eq!((layout.used(), layout.peak()), (1024, 1024));
        assert!(layout.take(1).is_err());
        layout.restart();
        assert_eq!((layout.used(), layout.peak()), (0, 0));
    }

    #[test]
    fn pieces_never_overlap() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut layout = Layout::new(1 << 16);
        let mut held: Vec<Piece> = Vec::new();
        let mut refusals = 0;
        for _ in 0..4000 {
            if rng.random_bool(0.45) && !held.is_empty() {
                layout.give_back(held.swap_remove(rng.random_range(0..held.len())));
            } else if let Ok(piece) = layout.take(rng.random_range(1..8000)) {
                assert_eq!(piece.offset % ALIGNMENT, 0);
                assert!(piece.offset + piece.bytes <= layout.capacity());
                for other in &held {
                    let apart = piece.offset + piece.bytes <= other.offset || other.offset + other.bytes <= piece.offset;
                    assert!(apart, "{piece:?} {other:?}");
                }
                held.push(piece);
            } else {
                refusals += 1;
            }
            assert_eq!(layout.used(), held.iter().map(|piece| padded(piece.bytes)).sum::<u64>());
            assert!(layout.used() <= layout.peak() && layout.peak() <= layout.capacity());
        }
        assert!(refusals > 0);
    }
}
