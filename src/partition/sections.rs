//! From a pruned subgraph to its sections: resident chunks and frames, in local numbers.
//!
//! Enters: a [`Pruned`] view. Leaves: [`Resident`] chunks of bounded size, then [`Frame`]s that tile the numbering, one
//! after another, so only what is being handed on exists. Rows are filtered and renumbered in parallel. Rows of
//! proxies are read twice, once for their lengths (a frame's place must be known before it is filled) and once for their
//! heads. Memory: 4 bytes a local, 8 bytes a proxy, and one chunk or frame.

use std::ops::Range;

use rayon::prelude::*;

use super::induce::RUN;
use super::prune::Pruned;
use super::section::{Frame, Resident, frame_bytes, longest_frame_range};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;

/// The arcs of a resident chunk, about.
const CHUNK_ARCS: u64 = 1 << 20;

/// A pruned subgraph with the numbers of its locals and proxies in order.
pub struct Sections<'p, 'g> {
    pruned: &'p Pruned<'g>,
    locals: Vec<u32>,
    proxies: Vec<u32>,
}

impl<'p, 'g> Sections<'p, 'g> {
    /// Lists the locals and the kept proxies.
    pub fn new(pruned: &'p Pruned<'g>) -> Self {
        let n = pruned.kept.universe();
        let locals = pruned.local.iter(0..n).collect();
        let proxies = pruned.kept.iter(0..n).filter(|&number| !pruned.local.contains(number)).collect();
        Self { pruned, locals, proxies }
    }

    /// Locals and kept proxies together.
    pub fn numbered(&self) -> u32 {
        self.pruned.kept.count()
    }

    /// The number of kept proxies.
    pub fn proxies(&self) -> u32 {
        self.proxies.len() as u32
    }

    /// Hands on the resident section in chunks, ascending.
    ///
    /// # Errors
    /// When stopped, or what `each` reports.
    pub fn resident(&self, control: &Control, mut each: impl FnMut(Resident) -> Result<()>) -> Result<()> {
        let graph = self.pruned.graph;
        let id_of = &graph.numbering().id_of;
        let mut rest = &self.locals[..];
        while !rest.is_empty() {
            control.check()?;
            let mut offsets = vec![0];
            let mut end = 0u64;
            for &number in rest.iter().take(CHUNK_ARCS as usize) {
                let len = u64::from(graph.out_degree(id_of[number as usize]));
                if end + len > CHUNK_ARCS && end > 0 {
                    break;
                }
                end += len;
                offsets.push(end);
            }
            let (chunk, after) = rest.split_at(offsets.len() - 1);
            let mut heads = vec![0; end as usize];
            self.fill(chunk, |i| (offsets[i + 1] - offsets[i]) as usize, &mut heads, |_| true);
            graph.relieve();
            let numbers = chunk.par_iter().map(|&number| self.pruned.kept.rank(number)).collect();
            each(Resident { numbers, offsets, heads })?;
            rest = after;
        }
        Ok(())
    }

    /// Hands on the frames, ascending, none larger than `limit` unless it is a single row.
    ///
    /// # Errors
    /// When stopped, or what `each` reports.
    pub fn frames(&self, limit: Bytes, control: &Control, mut each: impl FnMut(Frame) -> Result<()>) -> Result<()> {
        let lengths = self.filtered_lengths(control)?;
        for (range, rows) in self.cuts(&lengths, limit) {
            control.check()?;
            let lengths = &lengths[rows.clone()];
            let mut end = 0;
            let offsets = std::iter::once(0)
                .chain(lengths.iter().map(|&len| {
                    end += len;
                    end
                }))
                .collect();
            let mut heads = vec![0; end as usize];
            let keeps = |head| self.pruned.keeps_head(head);
            self.fill(&self.proxies[rows], |i| lengths[i] as usize, &mut heads, keeps);
            self.pruned.graph.relieve();
            each(Frame { range, offsets, heads })?;
        }
        Ok(())
    }

    /// The length of each proxy's row after pruning.
    fn filtered_lengths(&self, control: &Control) -> Result<Vec<u32>> {
        let graph = self.pruned.graph;
        let mut lengths = vec![0; self.proxies.len()];
        lengths.par_chunks_mut(RUN).zip(self.proxies.par_chunks(RUN)).try_for_each(|(lengths, proxies)| {
            control.check()?;
            for (length, &number) in lengths.iter_mut().zip(proxies) {
                let row = row_of(graph, number);
                *length = row.iter().map(|&head| u32::from(self.pruned.keeps_head(head))).sum();
            }
            graph.relieve();
            Ok(())
        })?;
        Ok(lengths)
    }

    /// Cuts the numbering into frames: for each the range of local numbers and the range of proxies.
    fn cuts(&self, lengths: &[u32], limit: Bytes) -> Vec<(Range<u32>, Range<usize>)> {
        let longest = longest_frame_range(limit);
        let mut cuts = Vec::new();
        let (mut start, mut first, mut arcs, mut locals_before) = (0u32, 0usize, 0u64, 0usize);
        for (i, (&number, &length)) in self.proxies.iter().zip(lengths).enumerate() {
            while self.locals.get(locals_before).is_some_and(|&local| local < number) {
                locals_before += 1;
            }
            let place = (i + locals_before) as u32;
            while place - start >= longest {
                cuts.push((start..start + longest, first..i));
                (start, first, arcs) = (start + longest, i, 0);
            }
            let grown = frame_bytes(place + 1 - start, (i + 1 - first) as u64, arcs + u64::from(length));
            if grown > limit && i > first {
                cuts.push((start..place, first..i));
                (start, first, arcs) = (place, i, 0);
            }
            arcs += u64::from(length);
        }
        let end = self.numbered();
        while end - start > longest {
            cuts.push((start..start + longest, first..self.proxies.len()));
            (start, first) = (start + longest, self.proxies.len());
        }
        cuts.push((start..end, first..self.proxies.len()));
        cuts
    }

    /// Fills `out` with the rows of `numbers`, filtered by `keeps` and renumbered; row `i` has `length(i)` heads.
    fn fill(
        &self,
        numbers: &[u32],
        length: impl Fn(usize) -> usize + Sync,
        out: &mut [u32],
        keeps: impl Fn(u32) -> bool + Sync,
    ) {
        const ROWS: usize = 512;
        let mut pieces = Vec::with_capacity(numbers.len().div_ceil(ROWS));
        let mut rest = out;
        for (piece, rows) in numbers.chunks(ROWS).enumerate() {
            let len = (piece * ROWS..piece * ROWS + rows.len()).map(&length).sum();
            let (mine, after) = rest.split_at_mut(len);
            pieces.push((rows, mine));
            rest = after;
        }
        let kept = &self.pruned.kept;
        let all = kept.count() == kept.universe();
        pieces.into_par_iter().for_each(|(rows, out)| {
            let mut slots = out.iter_mut();
            for &number in rows {
                let row = row_of(self.pruned.graph, number);
                let heads = row.iter().copied().filter(|&head| keeps(head));
                for (head, slot) in heads.zip(&mut slots) {
                    *slot = if all { head } else { kept.rank(head) };
                }
            }
        });
    }
}

/// The row of the vertex with this number.
fn row_of(graph: &OrientedGraph, number: u32) -> &[u32] {
    graph.row(graph.numbering().id_of[number as usize])
}
