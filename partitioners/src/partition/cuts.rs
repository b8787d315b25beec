//! Decides where a partition's row blocks end, row by row. Input: local number and row length of each kept proxy, ascending. Output: the ends
//! of row blocks, which together cover all local numbers; each takes at most the limit, or has a single row.

use trimill_counting::{RowBlockSize, longest_row_block_range};
use trimill_system::Bytes;

#[derive(Debug)]
pub struct RowBlockCuts {
    limit: Bytes,
    longest: u32,
    /// The ends of completed row blocks that were not returned yet.
    ended: Vec<u32>,
    /// Where the current row block begins, its rows and arcs.
    start: u32,
    rows: u64,
    arcs: u64,
    next: u32,
}

impl RowBlockCuts {
    pub fn new(limit: Bytes) -> Self {
        let longest = longest_row_block_range(limit);
        Self { limit, longest, ended: Vec::new(), start: 0, rows: 0, arcs: 0, next: 0 }
    }

    /// Adds the next proxy, which has the local number `place` and a row of `length` successors.
    pub fn row(&mut self, place: u32, length: u32) {
        self.cover(place);
        if self.bytes(place + 1, 1, u64::from(length)) > self.limit && self.rows > 0
            || place - self.start >= self.longest
        {
            self.end_at(place);
        }
        self.rows += 1;
        self.arcs += u64::from(length);
        self.next = place + 1;
    }

    /// The ends of the row blocks that were completed since the last call.
    pub fn ended(&mut self) -> std::vec::Drain<'_, u32> {
        self.ended.drain(..)
    }

    /// The ends of all remaining row blocks, at least one; the last is `numbered`.
    pub fn finish(mut self, numbered: u32) -> Vec<u32> {
        self.cover(numbered);
        self.end_at(numbered);
        self.ended
    }

    /// Extends the row block to `end` over locals, which add no rows but a bit each, and cuts it where the bits exceed a limit.
    fn cover(&mut self, end: u32) {
        loop {
            let reached = end.min(self.start.saturating_add(self.longest));
            if self.rows > 0 && self.bytes(reached, 0, 0) > self.limit && self.next < reached {
                self.end_at(self.next);
            } else if reached < end {
                self.end_at(reached);
            } else {
                return;
            }
        }
    }

    /// Bytes of the current row block if it ends at `end` and gets these additional rows and arcs.
    fn bytes(&self, end: u32, rows: u64, arcs: u64) -> Bytes {
        RowBlockSize { range: end - self.start, rows: self.rows + rows, arcs: self.arcs + arcs }.most_bytes()
    }

    fn end_at(&mut self, end: u32) {
        self.ended.push(end);
        (self.start, self.rows, self.arcs) = (end, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use trimill_counting::smallest_row_block_limit;

    fn partitions() -> impl Strategy<Value = (Vec<(u32, u32)>, u32)> {
        let gap = prop_oneof![4 => 0u32..3, 1 => 0u32..20_000];
        (prop::collection::vec((gap, 0u32..200), 0..300), 0u32..50_000)
    }

    proptest! {
        #[test]
        fn row_blocks_tile_the_numbering_and_keep_to_the_limit((rows, locals_after) in partitions(), more in 0u64..20_000) {
            let longest = rows.iter().map(|row| row.1).max().unwrap_or(0);
            let limit = smallest_row_block_limit(longest) + Bytes(more);
            let mut cuts = RowBlockCuts::new(limit);
            let mut place = 0;
            let mut places = Vec::new();
            for &(locals, length) in &rows {
                place += locals;
                cuts.row(place, length);
                places.push(place);
                place += 1;
            }
            let numbered = place + locals_after;
            let mut start = 0;
            for end in cuts.finish(numbered) {
                let mine = || places.iter().zip(&rows).filter(|(place, _)| (start..end).contains(*place));
                let arcs = mine().map(|(_, row)| u64::from(row.1)).sum();
                let bytes = RowBlockSize { range: end - start, rows: mine().count() as u64, arcs }.most_bytes();
                prop_assert!(bytes <= limit, "{bytes} of {limit}");
                start = end;
            }
            prop_assert_eq!(start, numbered);
        }
    }
}
