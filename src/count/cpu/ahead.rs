//! What the tables of a partition will take, from its rows before it is built: by the functions that the counter asks.

use std::ops::Range;

use super::hubs::{words_before, worthwhile};
use super::{Cpu, per_worker, steps, workers_for};
use crate::bytes::Bytes;
use crate::count::{ByRows, RowsAhead};

impl Cpu {
    /// For [`crate::count::Terms::by_rows`].
    pub(super) fn by_rows(&self) -> ByRows {
        ByRows { hubs: self.hubs, workers: self.workers, room: self.room.bytes(), overhead }
    }
}

/// Workers, the largest table of hubs, and the last offset of the resident section.
fn overhead(of: &ByRows, rows: &dyn RowsAhead) -> Bytes {
    let numbered = rows.numbered();
    let workers = workers_for(of.workers, rows.size());
    let most = of.hubs.min(numbered);
    let ranges: Vec<_> = rows.frames().iter().take_while(|range| range.start < most).cloned().collect();
    let locals = rows.size().locals as usize;
    let show = |locals: Range<usize>, each: &mut dyn FnMut(&[u32])| rows.rows(locals, each);
    let whole = locals == numbered as usize;
    let steps = if whole { steps(most, show) } else { Vec::new() };
    let length = |number| if whole { steps[number as usize] } else { rows.length(number) };
    let ends = worthwhile(locals, show, |number| length(number) as usize, &ranges, most);
    let tables = ranges.iter().zip(ends).map(|(range, end)| words_before(end) - words_before(range.start));
    let hubs = Bytes::of::<u64>(tables.max().unwrap_or(0) as u64);
    let room = if hubs == Bytes::ZERO { Bytes::ZERO } else { of.room };
    hubs + Bytes(workers * (per_worker(numbered) + room).get() + 8)
}
