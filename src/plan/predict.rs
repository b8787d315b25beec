//! What a partition will take, from its sizes.

use serde::Serialize;

use crate::bytes::Bytes;
use crate::count::Terms;
use crate::partition::section::{frame_bytes, longest_frame_range};
use crate::partition::sizes::PartitionSize;

/// Stored bytes of an arc and of a row, at the upper end of what Kronecker graphs and crawls take: an estimate, for the
/// check of free space and for `trimill plan`.
const SPILL_BYTES_PER_ARC: f64 = 1.5;
const SPILL_BYTES_PER_ROW: f64 = 2.0;

/// Bytes of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// The resident section on the device.
    pub resident: Bytes,
    /// Frames, about.
    pub frames: u64,
    /// The largest frame.
    pub largest_frame: Bytes,
    /// The spill file, about.
    pub spill: Bytes,
    /// What passes to the device: the resident section and all frames.
    pub stream: Bytes,
    /// The most that is on the device at a time.
    pub peak: Bytes,
}

/// Predicts what a partition takes under a method, with frames of at most `limit` bytes.
pub fn predict(size: &PartitionSize, terms: &Terms, limit: Bytes) -> Prediction {
    let numbered = (size.locals + size.proxies_kept) as u32;
    let resident = terms.resident(size.locals, size.resident_arcs);
    let overhead = terms.overhead(numbered);
    let frame_arcs = size.arcs_kept - size.resident_arcs;
    let all = frame_bytes(numbered, size.proxies_kept, frame_arcs);
    // Where all is local, the one frame has no rows and is not cut.
    let frames = if size.proxies_kept == 0 {
        1
    } else {
        let by_range = u64::from(numbered).div_ceil(u64::from(longest_frame_range(limit)));
        all.get().div_ceil(limit.get().max(1)).max(by_range)
    };
    let largest_frame = if frames == 1 { all } else { limit.min(all) };
    let spill = (size.arcs_kept as f64 * SPILL_BYTES_PER_ARC + f64::from(numbered) * SPILL_BYTES_PER_ROW) as u64;
    Prediction {
        resident,
        frames,
        largest_frame,
        spill: Bytes(spill + 4096),
        stream: resident + all,
        peak: resident + overhead + Bytes(largest_frame.get() * (terms.slots)(frames)),
    }
}
