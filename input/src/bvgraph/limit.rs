//! The memory of the rows in a window: whoever decodes keeps them.

use super::bits::Impossible;

/// The most arcs of the window's rows: [`ARCS_A_BYTE`] for each byte of the stream, and [`MORE_ARCS`]. Intervals and copies encode any number
/// of arcs in a few bits. Real graphs have a fraction of that.
const ARCS_A_BYTE: u64 = 8;
const MORE_ARCS: u64 = 1 << 22;

/// How long the rows at each position of the window were.
pub(super) struct WindowLimit {
    /// The most arcs that the row at each position has had.
    longest: Vec<u64>,
    /// Arcs by which these may still grow.
    room: u64,
}

impl WindowLimit {
    /// No rows yet, of a stream of `bytes` bytes.
    pub(super) fn new(window: u64, bytes: u64) -> Self {
        Self { longest: vec![0; window as usize + 1], room: MORE_ARCS + ARCS_A_BYTE * bytes }
    }

    /// Refuses a row of `degree` arcs if the window's rows then had too many.
    pub(super) fn grow(&mut self, node: u64, degree: u64) -> Result<(), Impossible> {
        let place = (node % self.longest.len() as u64) as usize;
        let growth = degree.saturating_sub(self.longest[place]);
        self.longest[place] += growth;
        self.room = self.room.checked_sub(growth).ok_or(Impossible)?;
        Ok(())
    }
}
