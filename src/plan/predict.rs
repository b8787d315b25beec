//! What a partition will take.

use serde::Serialize;

use crate::bytes::Bytes;
use crate::count::{Terms, Wish};
use crate::partition::section::{ResidentSize, frame_bytes, longest_frame_range};
use crate::partition::sizes::PartitionSize;
use crate::spill;

/// Bytes of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// The resident section on the device.
    pub resident: Bytes,
    /// Frames, about.
    pub frames: u64,
    /// The largest frame.
    pub largest_frame: Bytes,
    /// The spill file, at most.
    pub spill: Bytes,
    /// Bytes streamed to the device: the resident section and all frames; of a spilled partition at most.
    pub stream: Bytes,
    /// The most that is on the device at a time; of a spilled partition, and where the host counts, a bound.
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
}

impl Layout {
    /// The most that follows from the size: full frames, and successors that are all far from each other.
    pub fn bound(size: &PartitionSize, limit: Bytes) -> Self {
        let (numbered, frame_arcs) = (size.numbered() as u32, size.arcs_kept - size.resident_arcs);
        let all = frame_bytes(numbered, size.proxies_kept, frame_arcs);
        let by_range = u64::from(numbered).div_ceil(u64::from(longest_frame_range(limit)));
        let frames = all.get().div_ceil(limit.get().max(1)).max(by_range);
        // A frame and the next one's first row are more than the limit; each has an offset and words of bits of its own.
        let most_frames = 2 * frames + 1;
        let all_frames = all + Bytes(16 * most_frames);
        let largest_frame = limit.min(all);
        Self {
            frames,
            largest_frame,
            two_frames: (largest_frame + largest_frame).min(all_frames),
            all_frames,
            spill: Bytes(spill::most_bytes(numbered.into(), size.locals, size.arcs_kept, most_frames)),
        }
    }
}

/// Predicts what a partition takes under a method and a budget.
pub fn predict(size: &PartitionSize, terms: &Terms, layout: &Layout, budget: Bytes) -> Prediction {
    let rows = ResidentSize { locals: size.locals, arcs: size.resident_arcs };
    let numbered = size.numbered() as u32;
    let resident = terms.resident(size.locals, size.resident_arcs);
    let overhead = terms.overhead(numbered);
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
        stream: rows.bytes() + layout.all_frames,
        peak: terms.taken(
            resident + overhead + frames,
            budget,
            Wish { resident: rows, numbered, frame: layout.largest_frame },
        ),
    }
}
