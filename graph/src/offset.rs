//! Offsets of rows, of 32 or 64 bits.

pub trait Offset: Copy + Default + Send + Sync {
    /// From a `u64` that is known to fit.
    fn of(value: u64) -> Self;
}

impl Offset for u64 {
    fn of(value: u64) -> Self {
        value
    }
}

impl Offset for u32 {
    fn of(value: u64) -> Self {
        debug_assert!(value <= u64::from(u32::MAX));
        value as u32
    }
}
