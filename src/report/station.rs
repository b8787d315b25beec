//! The time and the bytes of a station.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;

/// A station of the way of the data: how long it took, what went in and what came out.
///
/// Stations overlap, so their seconds may add up to more than the job took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Station {
    /// Its name: `clean`, `orient`, `assign`, ...
    pub name: String,
    /// Seconds.
    pub seconds: f64,
    /// Bytes read.
    pub bytes_in: Bytes,
    /// Bytes written.
    pub bytes_out: Bytes,
}

impl Station {
    /// A station that began at `start` and ends now.
    pub fn new(name: &str, start: Instant, bytes_in: Bytes, bytes_out: Bytes) -> Self {
        Self { name: name.into(), seconds: start.elapsed().as_secs_f64(), bytes_in, bytes_out }
    }
}
