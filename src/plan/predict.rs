//! What a partition will take, from its size and its layout.

use serde::Serialize;

use crate::bytes::Bytes;
use crate::count::Terms;
use crate::partition::section::{ResidentSize, frame_bytes, longest_frame_range};
use crate::partition::sizes::PartitionSize;
use crate::spill::raw_bytes;

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

/// How the sections of a partition lie: its frames, and its bytes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Frames.
    pub frames: u64,
    /// The largest frame.
    pub largest_frame: Bytes,
    /// The most that two frames take that are there at a time.
    pub two_frames: Bytes,
    /// All frames together.
    pub all_frames: Bytes,
    /// The spill file.
    pub spill: Bytes,
    /// What a method takes besides sections, where it depends on the rows and they were looked at.
    pub overhead: Option<Bytes>,
}

impl Layout {
    /// A layout from nothing but the size: even frames, and the bytes of the rows as they are before they are coded.
    pub fn rough(size: &PartitionSize, limit: Bytes) -> Self {
        let numbered = (size.locals + size.proxies_kept) as u32;
        if size.proxies_kept == 0 {
            return Self::whole(numbered, Bytes(raw_bytes(true, size.locals, size.resident_arcs)));
        }
        let frame_arcs = size.arcs_kept - size.resident_arcs;
        let all = frame_bytes(numbered, size.proxies_kept, frame_arcs);
        let raw = raw_bytes(true, size.locals, size.resident_arcs) + raw_bytes(false, size.proxies_kept, frame_arcs);
        let by_range = u64::from(numbered).div_ceil(u64::from(longest_frame_range(limit)));
        let frames = all.get().div_ceil(limit.get().max(1)).max(by_range);
        let largest_frame = limit.min(all);
        let two_frames = (largest_frame + largest_frame).min(all);
        Self { frames, largest_frame, two_frames, all_frames: all, spill: Bytes(raw), overhead: None }
    }

    /// The layout of a partition that is the whole graph: one frame without rows, which is not cut.
    pub fn whole(vertices: u32, spill: Bytes) -> Self {
        let frame = frame_bytes(vertices, 0, 0);
        Self { frames: 1, largest_frame: frame, two_frames: frame, all_frames: frame, spill, overhead: None }
    }
}

/// Predicts what a partition takes under a method.
pub fn predict(size: &PartitionSize, terms: &Terms, layout: &Layout) -> Prediction {
    let resident = terms.resident(size.locals, size.resident_arcs);
    let overhead = layout.overhead.unwrap_or_else(|| terms.overhead((size.locals + size.proxies_kept) as u32));
    // A method that sets room apart for two frames does so for one frame, too; others hold what there is.
    let frames = match (terms.slots)(1) {
        1 => layout.two_frames,
        slots => Bytes(layout.largest_frame.get() * slots),
    };
    Prediction {
        resident,
        frames: layout.frames,
        largest_frame: layout.largest_frame,
        spill: layout.spill,
        stream: ResidentSize { locals: size.locals, arcs: size.resident_arcs }.bytes() + layout.all_frames,
        peak: resident + overhead + frames,
    }
}
