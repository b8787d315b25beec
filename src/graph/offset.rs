//! Where rows begin, as 32 or 64 bits.

/// An offset into successors.
pub trait Offset: Copy + Default + Send + Sync {
    /// As `u64`.
    fn get(self) -> u64;
    /// From a `u64` that is known to fit.
    fn of(value: u64) -> Self;
}

impl Offset for u64 {
    fn get(self) -> u64 {
        self
    }
    fn of(value: u64) -> Self {
        value
    }
}

impl Offset for u32 {
    fn get(self) -> u64 {
        u64::from(self)
    }
    fn of(value: u64) -> Self {
        debug_assert!(value <= u64::from(u32::MAX));
        value as u32
    }
}
