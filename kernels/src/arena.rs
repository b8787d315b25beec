//! An arena: one allocation of device memory within the budget, which is cut into pieces. It has all that is on the device, so the memory used is
//! known to the byte. Pieces begin at multiples of 256 bytes, as the driver's do; a partition takes them one by one and releases all at once.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaContext, result};
use trimill_system::first_where;

use crate::error::{GpuError, GpuResult, unless_lost};
use crate::waiting::bind;

/// Pieces begin at multiples of this.
pub const ALIGNMENT: u64 = 256;

/// The bytes that a piece takes, with padding.
pub const fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// The largest number of `range` for which `holds`, by binary search; the first one if there is none. `holds` must be monotone: true, then false.
pub(crate) fn largest(range: Range<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    first_where(range.start + 1..range.end, |number| !holds(number)) - 1
}

#[derive(Debug, Clone)]
pub struct ArenaLayout {
    capacity: u64,
    used: u64,
}

impl ArenaLayout {
    pub fn new(capacity: u64) -> Self {
        Self { capacity, used: 0 }
    }

    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes in use, padding included.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Takes a piece; returns its offset in the arena, in bytes.
    pub fn take(&mut self, bytes: u64) -> GpuResult<u64> {
        let end = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|bytes| bytes.checked_add(self.used));
        match end {
            Some(end) if end <= self.capacity => Ok(std::mem::replace(&mut self.used, end)),
            _ => Err(GpuError::Budget { asked: bytes, used: self.used, capacity: self.capacity }),
        }
    }

    pub fn restart(&mut self) {
        self.used = 0;
    }
}

/// Device memory divided by an [`ArenaLayout`]; freed on drop.
#[derive(Debug)]
pub(crate) struct Arena {
    context: Arc<CudaContext>,
    pub(crate) address: u64,
    pub(crate) layout: ArenaLayout,
}

impl Arena {
    /// Allocates `bytes`, rounded down to a multiple of [`ALIGNMENT`]. Errors: [`GpuError::DeviceMemory`]; a smaller request may succeed.
    pub(crate) fn new(context: &Arc<CudaContext>, bytes: u64) -> GpuResult<Self> {
        let capacity = bytes / ALIGNMENT * ALIGNMENT;
        bind(context, "allocating device memory")?;
        let address = if capacity == 0 {
            0
        } else {
            // SAFETY: the context is current; the memory is written before it is read, as each user of a piece must do.
            unsafe { result::malloc_sync(capacity as usize) }.map_err(|error| {
                let (free, total) = result::mem_get_info().unwrap_or_default();
                unless_lost(error, GpuError::DeviceMemory { asked: capacity, free: free as u64, total: total as u64 })
            })?
        };
        Ok(Self { context: Arc::clone(context), address, layout: ArenaLayout::new(capacity) })
    }

    /// Reserves `bytes`, a multiple of [`ALIGNMENT`], at the end, before earlier ones; returns the offset. Only while nothing is in use.
    pub(crate) fn set_apart(&mut self, bytes: u64) -> u64 {
        let left = self.layout.capacity - bytes;
        self.layout = ArenaLayout::new(left);
        left
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.address != 0 && bind(&self.context, "freeing device memory").is_ok() {
            // SAFETY: allocated in `new`, freed once; the driver waits for kernels that use it. Fails only if the device and its memory are lost.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_never_exceeded() {
        let mut layout = ArenaLayout::new(1024);
        assert_eq!(layout.take(257).unwrap(), 0);
        assert_eq!((layout.take(1).unwrap(), layout.used()), (512, 768));
        assert_eq!(layout.take(257), Err(GpuError::Budget { asked: 257, used: 768, capacity: 1024 }));
        for huge in [u64::MAX, u64::MAX - 255, u64::MAX - 1024] {
            assert_eq!(layout.take(huge), Err(GpuError::Budget { asked: huge, used: 768, capacity: 1024 }));
        }
        assert_eq!(layout.take(0).unwrap(), 768);
        assert_eq!(layout.take(256).unwrap(), 768);
        assert!(layout.take(1).is_err());
        layout.restart();
        assert_eq!((layout.used(), layout.capacity()), (0, 1024));
        assert_eq!(layout.take(1024).unwrap(), 0);
    }

    #[test]
    fn pieces_begin_past_2_to_the_32_bytes() {
        let mut layout = ArenaLayout::new(1 << 37);
        assert_eq!(layout.take((1 << 34) + 4).unwrap(), 0);
        assert_eq!(layout.take(1 << 33).unwrap(), (1 << 34) + 256);
        assert_eq!(layout.take(1).unwrap(), (1 << 34) + (1 << 33) + 256);
    }
}
