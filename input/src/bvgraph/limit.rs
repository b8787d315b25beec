//! The memory of the rows that later ones may refer to: the decoder keeps them.

use super::bits::Impossible;

/// The most arcs of these rows: [`ARCS_A_BYTE`] for each byte of the stream, and [`MORE_ARCS`]. Intervals and copies encode any number
/// of arcs in a few bits. Real graphs have a fraction of that.
const ARCS_A_BYTE: u64 = 8;
const MORE_ARCS: u64 = 1 << 22;

/// How long the rows at each place of a ring were.
#[derive(Default)]
pub(super) struct RingLimit {
    /// The most arcs that the row at each place has had.
    longest: Vec<u64>,
    /// Arcs by which these may still grow.
    room: u64,
}

impl RingLimit {
    /// No rows yet, of a stream of `bytes` bytes, in a ring of `places` places.
    pub(super) fn new(places: usize, bytes: u64) -> Self {
        Self { longest: vec![0; places], room: MORE_ARCS + ARCS_A_BYTE * bytes }
    }

    /// Refuses a row of `degree` arcs if the rows of the ring then had too many.
    pub(super) fn grow(&mut self, node: u64, degree: u64) -> Result<(), Impossible> {
        let place = (node % self.longest.len() as u64) as usize;
        let growth = degree.saturating_sub(self.longest[place]);
        self.longest[place] += growth;
        self.room = self.room.checked_sub(growth).ok_or(Impossible)?;
        Ok(())
    }
}
