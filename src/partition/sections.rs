//! From a pruned subgraph to its sections: resident chunks and frames, in local numbers.
//!
//! Enters: a [`Pruned`] view. Leaves: [`Resident`] chunks of bounded size, then [`Frame`]s that tile the numbering, one
//! after another, so only what is being handed on exists. Rows are filtered and renumbered in parallel. Rows of
//! proxies are read twice, once for their lengths (a frame's place must be known before it is filled) and once for their
//! heads. Memory: 4 bytes a local, 8 bytes a proxy, and one chunk or frame.

use std::ops::Range;

use rayon::prelude::*;

use super::RUN;
use super::cuts::{Cut, Cuts};
use super::prune::Pruned;
use super::section::{Frame, Resident, ResidentSize};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::mapped::{large_pages, zeros};

/// The arcs of a resident chunk, about.
const CHUNK_ARCS: u64 = 1 << 20;

/// Rows whose lengths are looked up together.
const LENGTHS: usize = 1 << 16;

/// A pruned subgraph with the numbers of its locals and proxies in order.
pub struct Sections<'p, 'g> {
    pub(super) pruned: &'p Pruned<'g>,
    pub(super) locals: Vec<u32>,
    pub(super) proxies: Vec<u32>,
}

impl<'p, 'g> Sections<'p, 'g> {
    /// Lists the locals and the kept proxies.
    pub fn new(pruned: &'p Pruned<'g>) -> Self {
        let proxies = pruned.kept.without(&pruned.local).members();
        Self { pruned, locals: pruned.local.members(), proxies }
    }

    /// The graph.
    pub fn graph(&self) -> &'g OrientedGraph {
        self.pruned.graph
    }

    /// Locals and kept proxies together.
    pub fn numbered(&self) -> u32 {
        self.pruned.kept.count()
    }

    /// The number of kept proxies.
    pub fn proxies(&self) -> u32 {
        self.proxies.len() as u32
    }

    /// The size of the resident section.
    pub fn resident_size(&self) -> ResidentSize {
        let graph = self.pruned.graph;
        let arcs = self.locals.par_iter().map(|&number| u64::from(graph.out_degree(number))).sum();
        ResidentSize { locals: self.locals.len() as u64, arcs }
    }

    /// Hands on the resident section in chunks, ascending.
    ///
    /// # Errors
    /// When stopped, or what `each` reports.
    pub fn resident(&self, control: &Control, mut each: impl FnMut(Resident) -> Result<()>) -> Result<()> {
        let mut first = 0;
        while first < self.locals.len() {
            control.check()?;
            let mut chunk = Resident::default();
            first += self.resident_run(first, CHUNK_ARCS, &mut chunk);
            each(chunk)?;
        }
        Ok(())
    }

    /// The rows of the locals from place `first` on, with at most `most` arcs, or one row that has more; and at most `most`
    /// rows. Returns how many; none only where there are no more.
    pub fn resident_run(&self, first: usize, most: u64, into: &mut Resident) -> usize {
        let graph = self.pruned.graph;
        let rest = &self.locals[first..];
        let Resident { numbers, offsets, heads } = into;
        let rows = rest.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        offsets.clear();
        offsets.reserve_exact(rows + 1);
        large_pages(offsets);
        offsets.push(0);
        let mut end = 0u64;
        // Rows are at random places, so their lengths are looked up in parallel, as many at a time as are likely to be needed.
        'runs: for run in rest[..rows].chunks(LENGTHS) {
            let lengths: Vec<u32> = run.par_iter().map(|&number| graph.out_degree(number)).collect();
            for length in lengths.into_iter().map(u64::from) {
                if end + length > most && offsets.len() > 1 {
                    break 'runs;
                }
                end += length;
                offsets.push(end);
            }
        }
        // What grew beyond need would count against the budget.
        offsets.shrink_to_fit();
        let rows = offsets.len() - 1;
        if heads.capacity() < end as usize {
            // Fresh zeroed pages: they are touched first, in parallel, by those who fill them.
            *heads = Vec::new();
            *heads = zeros(end as usize);
        } else {
            heads.resize(end as usize, 0);
        }
        let kept = &self.pruned.kept;
        rest[..rows].par_iter().map(|&number| kept.rank(number)).collect_into_vec(numbers);
        // In pieces, so that pages of the graph can be given back between, where it has such pages.
        let piece = if graph.held_bytes() > Bytes::ZERO { u64::MAX } else { CHUNK_ARCS };
        let (mut from, mut left) = (0, &mut heads[..]);
        while from < rows {
            let most = offsets[from].saturating_add(piece);
            let to = (from + offsets[from + 1..].partition_point(|&end| end <= most).max(1)).min(rows);
            let (mine, after) = left.split_at_mut((offsets[to] - offsets[from]) as usize);
            self.fill(
                &rest[from..to],
                |rows| (offsets[from + rows.end] - offsets[from + rows.start]) as usize,
                mine,
                None,
            );
            graph.relieve();
            (from, left) = (to, after);
        }
        rows
    }

    /// Hands on the frames, ascending, none larger than `limit` unless it is a single row.
    ///
    /// # Errors
    /// When stopped, or what `each` reports.
    pub fn frames(&self, limit: Bytes, control: &Control, mut each: impl FnMut(Frame) -> Result<()>) -> Result<()> {
        let lengths = self.filtered_lengths(control)?;
        for Cut { range, rows, arcs } in self.cuts(&lengths, limit) {
            control.check()?;
            let lengths = &lengths[rows.clone()];
            let mut frame = Frame::default();
            let (offsets, heads) = frame.reset(range, lengths.len() as u64, arcs)?;
            let mut end = 0;
            for (offset, &len) in offsets.iter_mut().zip(std::iter::once(&0).chain(lengths)) {
                end += len;
                *offset = end;
            }
            let keeps = |head| self.pruned.keeps_head(head);
            let length = |rows: Range<usize>| lengths[rows].iter().map(|&length| length as usize).sum();
            self.fill(&self.proxies[rows], length, heads, Some(&keeps));
            self.pruned.graph.relieve();
            each(frame)?;
        }
        Ok(())
    }

    /// The length of each proxy's row after pruning.
    fn filtered_lengths(&self, control: &Control) -> Result<Vec<u32>> {
        let graph = self.pruned.graph;
        let mut lengths = vec![0; self.proxies.len()];
        lengths.par_chunks_mut(RUN as usize).zip(self.proxies.par_chunks(RUN as usize)).try_for_each(
            |(lengths, proxies)| {
                control.check()?;
                for (length, &number) in lengths.iter_mut().zip(proxies) {
                    *length = self.filtered_length(number);
                }
                graph.relieve();
                Ok(())
            },
        )?;
        Ok(lengths)
    }

    /// The length of a proxy's row after pruning.
    pub(super) fn filtered_length(&self, number: u32) -> u32 {
        self.pruned.graph.row(number).iter().map(|&head| u32::from(self.pruned.keeps_head(head))).sum()
    }

    /// Cuts the numbering into frames, for proxies' rows of such lengths.
    pub(super) fn cuts(&self, lengths: &[u32], limit: Bytes) -> Vec<Cut> {
        let mut cuts = Cuts::new(limit);
        let mut locals_before = 0;
        for (i, (&number, &length)) in self.proxies.iter().zip(lengths).enumerate() {
            while self.locals.get(locals_before).is_some_and(|&local| local < number) {
                locals_before += 1;
            }
            cuts.row((i + locals_before) as u32, length);
        }
        cuts.finish(self.numbered())
    }

    /// Fills `out` with the rows of `numbers`, filtered by `keeps` (none: all are kept) and renumbered; a range of the rows has
    /// `length(range)` heads.
    fn fill(
        &self,
        numbers: &[u32],
        length: impl Fn(Range<usize>) -> usize,
        out: &mut [u32],
        keeps: Option<&(dyn Fn(u32) -> bool + Sync)>,
    ) {
        const ROWS: usize = 512;
        let mut pieces = Vec::with_capacity(numbers.len().div_ceil(ROWS));
        let mut rest = out;
        for (piece, rows) in numbers.chunks(ROWS).enumerate() {
            let len = length(piece * ROWS..piece * ROWS + rows.len());
            let (mine, after) = rest.split_at_mut(len);
            pieces.push((rows, mine));
            rest = after;
        }
        let kept = &self.pruned.kept;
        let all = kept.count() == kept.universe();
        pieces.into_par_iter().for_each(|(rows, out)| {
            let mut rest = out;
            for &number in rows {
                let row = self.pruned.graph.row(number);
                let len = match keeps {
                    None if all => {
                        rest[..row.len()].copy_from_slice(row);
                        row.len()
                    }
                    None => renumber(rest, row.iter().map(|&head| kept.rank(head))),
                    Some(keeps) => renumber(rest, row.iter().filter(|&&head| keeps(head)).map(|&head| kept.rank(head))),
                };
                rest = &mut std::mem::take(&mut rest)[len..];
            }
        });
    }
}

/// Puts `heads` in front of `out`; returns how many there are.
#[inline]
fn renumber(out: &mut [u32], heads: impl Iterator<Item = u32>) -> usize {
    heads.zip(out).map(|(head, slot)| *slot = head).count()
}
