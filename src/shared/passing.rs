//! The frames of the graph that one partition needs.
//!
//! Enters: the graph's [`Frames`] and the ranks of a partition's locals. Leaves: the frames that the counter sees, in order.
//! Successors have smaller ranks, so a partition needs no row beyond its largest local. Where its locals are a rank range
//! `lo..hi`, only the rows below `lo` pass: those of the range are resident, and frames without rows stand for them, cut as the
//! graph is, since a counter's tables grow with a frame's range. So `P` ranges of equal rows see `(P + 1) / 2` times the graph,
//! their own rows included, and other partitions `P` times.

use std::ops::Range;

use rayon::prelude::*;

use super::frames::Frames;
use super::part::FEWEST_HEADS;
use crate::graph::OrientedGraph;
use crate::partition::section::{FrameSize, ResidentSize};

/// The locals of a partition whose rows are resident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locals {
    /// All vertices of a rank range.
    Range(Range<u32>),
    /// Those of any set that start a triangle, by rank, ascending.
    List(Vec<u32>),
}

impl Locals {
    /// Of the vertices `ids`. `O(ids)` in the current thread pool; 4 bytes each where they are no rank range.
    pub fn of(graph: &OrientedGraph, ids: &[u32]) -> Self {
        let ranks = || ids.par_iter().map(|&id| graph.rank_of(id));
        let ends = ranks().map(|rank| (rank, rank)).reduce_with(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        match ends {
            Some((first, last)) if (last - first) as usize + 1 == ids.len() => Self::Range(first..last + 1),
            _ => {
                let mut list: Vec<u32> = ranks().filter(|&rank| graph.out_degree(rank) >= FEWEST_HEADS).collect();
                list.par_sort_unstable();
                Self::List(list)
            }
        }
    }

    /// The size of their rows.
    pub fn size(&self, graph: &OrientedGraph) -> ResidentSize {
        let offsets = graph.offsets();
        match self {
            Self::Range(ranks) => ResidentSize {
                locals: ranks.len() as u64,
                arcs: offsets[ranks.end as usize] - offsets[ranks.start as usize],
            },
            Self::List(ranks) => ResidentSize {
                locals: ranks.len() as u64,
                arcs: ranks.par_iter().map(|&rank| u64::from(graph.out_degree(rank))).sum(),
            },
        }
    }

    /// Their ranks, ascending.
    pub fn ranks(&self) -> Vec<u32> {
        match self {
            Self::Range(ranks) => ranks.clone().collect(),
            Self::List(ranks) => ranks.clone(),
        }
    }
}

/// The frames of one partition: at least one; they tile `0..numbered()`.
#[derive(Debug, Clone)]
pub struct Passing<'f> {
    frames: &'f Frames,
    /// How many of the graph's frames pass with their rows; the last one is cut off at `end`.
    count: usize,
    end: u32,
    /// The rank range whose rows are resident, and the graph's frames that overlap it: these pass without rows.
    own: Option<(Range<u32>, Range<usize>)>,
}

impl<'f> Passing<'f> {
    /// Those of a partition with these locals.
    pub fn new(frames: &'f Frames, locals: &Locals) -> Self {
        let (end, own) = match locals {
            Locals::Range(ranks) => {
                // All ranks below the end are local: one frame without rows, as counters expect of a whole graph.
                let overlap = match ranks.start {
                    0 => 0..1,
                    start => frames.frame_of(start)..frames.frame_of(ranks.end - 1) + 1,
                };
                (ranks.start, Some((ranks.clone(), overlap)))
            }
            Locals::List(ranks) => (ranks.last().map_or(0, |last| last + 1), None),
        };
        let count = if end > 0 { frames.frame_of(end - 1) + 1 } else { usize::from(own.is_none()) };
        Self { frames, count, end, own }
    }

    /// Ranks that a counter meets: all below this.
    pub fn numbered(&self) -> u32 {
        self.own.as_ref().map_or(self.end, |(ranks, _)| ranks.end)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count + self.own.as_ref().map_or(0, |(_, frames)| frames.len())
    }

    /// The ranks of frame `i`.
    pub fn range(&self, i: usize) -> Range<u32> {
        match &self.own {
            Some((ranks, _)) if ranks.start == 0 => ranks.clone(),
            Some((ranks, frames)) if i >= self.count => {
                let range = self.frames.range(frames.start + i - self.count);
                range.start.max(ranks.start)..range.end.min(ranks.end)
            }
            _ => {
                let range = self.frames.range(i);
                range.start..range.end.min(self.end)
            }
        }
    }

    /// Where each row of frame `i` begins, from the frame's start; one more at the end. Without rows a single 0.
    pub fn offsets(&self, i: usize) -> &'f [u32] {
        if i >= self.count { &[0] } else { &self.frames.offsets(i)[..=self.range(i).len()] }
    }

    /// The arcs of frame `i`, counted from the first row of the graph.
    pub fn arcs(&self, i: usize) -> Range<u64> {
        if i >= self.count {
            return 0..0;
        }
        let first = self.frames.arcs(i).start;
        first..first + u64::from(self.offsets(i)[self.range(i).len()])
    }

    /// The size of frame `i`.
    pub fn size(&self, i: usize) -> FrameSize {
        let arcs = self.arcs(i);
        FrameSize {
            range: self.range(i).len() as u32,
            rows: self.offsets(i).len() as u64 - 1,
            arcs: arcs.end - arcs.start,
        }
    }

    /// The sizes of all.
    pub fn sizes(&self) -> impl Iterator<Item = FrameSize> + '_ {
        (0..self.count()).map(|i| self.size(i))
    }
}
