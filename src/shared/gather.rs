//! Copies rows of the oriented graph into the order in which they are wanted.
//!
//! Enters: pieces, each some rows and the place where they go, one after another. The rows stand in the graph file in
//! the order of ids, in any other order they are read at random; so the graph is read in windows of ids that
//! fit the memory there is, and every piece takes from a window what it wants of it. Parallel over pieces. `O(rows)`
//! for each window, and every byte of the graph is read once; its pages are given back after each window.

use std::ops::Range;

use rayon::prelude::*;

use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;

/// Rows of a piece.
const ROWS: usize = 1024;

/// Some rows, and where they go.
pub struct Piece<'a, O> {
    /// What names the rows: ids where they are gathered from a graph.
    keys: &'a [u32],
    /// Where each row begins; one more at the end.
    offsets: &'a [O],
    /// From the first offset to the last.
    out: &'a mut [u32],
}

impl<'a, O: Copy + Into<u64>> Piece<'a, O> {
    /// Appends to `pieces` those of the rows `keys`, which go to the front of `out`. Leaves the rest of `out`.
    pub fn cut(keys: &'a [u32], offsets: &'a [O], out: &'a mut [u32], pieces: &mut Vec<Self>) -> &'a mut [u32] {
        let mut rest = out;
        for (i, keys) in keys.chunks(ROWS).enumerate() {
            let offsets = &offsets[i * ROWS..=i * ROWS + keys.len()];
            let len = offsets[keys.len()].into() - offsets[0].into();
            let (mine, after) = rest.split_at_mut(len as usize);
            pieces.push(Self { keys, offsets, out: mine });
            rest = after;
        }
        rest
    }

    /// Copies the rows that `row` finds.
    pub fn fill<'r>(&mut self, row: impl Fn(u32) -> Option<&'r [u32]>) {
        let start: u64 = self.offsets[0].into();
        for (&key, &offset) in self.keys.iter().zip(self.offsets) {
            if let Some(row) = row(key) {
                let at = (offset.into() - start) as usize;
                self.out[at..at + row.len()].copy_from_slice(row);
            }
        }
    }
}

/// Fills `pieces`, whose keys are ids, with rows of `graph`, of which at most `window` bytes are resident at a time.
///
/// # Errors
/// Only when stopped.
pub fn gather<O: Copy + Into<u64> + Send + Sync>(
    graph: &OrientedGraph,
    mut pieces: Vec<Piece<'_, O>>,
    window: Bytes,
    control: &Control,
) -> Result<()> {
    let (offsets, heads) = (graph.offsets(), graph.heads());
    let mut next = 0;
    while next < graph.vertices() {
        let ids = next..end_of_window(offsets, next, window);
        pieces.par_iter_mut().with_max_len(1).try_for_each(|piece| {
            control.check()?;
            piece.fill(|id| {
                let row = || &heads[offsets[id as usize] as usize..offsets[id as usize + 1] as usize];
                ids.contains(&id).then(row)
            });
            Ok(())
        })?;
        next = ids.end;
        if ids != (0..graph.vertices()) {
            graph.release();
        }
    }
    Ok(())
}

/// The end of the ids from `first` on whose rows and offsets take at most `window` bytes, but at least one.
pub(super) fn end_of_window(offsets: &[u64], first: u32, window: Bytes) -> u32 {
    let bytes = |id: usize| Bytes(4 * (offsets[id] - offsets[first as usize]) + 8 * (id as u64 - u64::from(first)));
    let Range { start: mut low, end: mut high } = first as usize + 1..offsets.len();
    while low < high {
        let middle = low.midpoint(high);
        if bytes(middle) <= window {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low - 1).max(first as usize + 1) as u32
}
