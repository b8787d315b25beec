//! Measures the peak of the bytes that are held.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use trimill_system::Bytes;

#[derive(Debug, Default)]
pub struct Meter {
    /// Temporarily negative when a buffer lent by a device, which is not counted, is exchanged for a smaller one.
    held: AtomicI64,
    peak: AtomicU64,
}

impl Meter {
    pub fn change(&self, before: Bytes, after: Bytes) {
        let more = after.get() as i64 - before.get() as i64;
        let held = self.held.fetch_add(more, Ordering::Relaxed) + more;
        self.peak.fetch_max(held.max(0) as u64, Ordering::Relaxed);
    }

    pub fn peak(&self) -> Bytes {
        Bytes(self.peak.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_was_not_counted_may_be_exchanged_for_a_smaller_one() {
        let meter = Meter::default();
        meter.change(Bytes(100), Bytes(40));
        meter.change(Bytes::ZERO, Bytes(50));
        assert_eq!(meter.peak(), Bytes::ZERO);
        meter.change(Bytes::ZERO, Bytes(30));
        assert_eq!(meter.peak(), Bytes(20));
    }
}
