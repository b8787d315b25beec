//! How fast the two methods are between which `auto` chooses, measured on one GPU (H200): they need not be right elsewhere,
//! only rank the two.
//!
//! From `docs/results`: kernels and preprocessing of the standard graphs whole (arcs and probes), and GAP-kron 24 under
//! budgets from a quarter of its rows to a 64th (the bytes streamed).

use crate::plan::choose::Speed;

/// Of `lstc`: each probe is a search in shared memory; each local is looked at for each frame.
pub(super) const LSTC: Speed = Speed { arc: 2e-10, probe: 5.5e-12, streamed: 0.0, pass: 2e-5, visit: 1.5e-9 };

/// Of `packed`: few instructions for many probes at once, and a dozen kernels for each frame that packs and deals anew.
pub(super) const PACKED: Speed = Speed { arc: 1e-10, probe: 1.2e-13, streamed: 4.6e-11, pass: 8.5e-5, visit: 0.0 };
