//! Edges in memory as a source of arcs. Input: an [`EdgeSource`]. Output: its arcs, delivered by all threads in chunks of [`CHUNK`] or more, and any
//! rows. Checks ids (below the declared number, or 2^64 - 1), the number of arcs, and that rows agree with tails. Memory: a batch per thread.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::edges::{BATCH, EdgeSource, TakeArcs};
use super::{ArcSource, READ, SourceFacts};
use crate::ArcSink;
use crate::parallel::{chunks, in_order};
use crate::rows::{AdjacencyRows, PART, RowChunk};
use trimill_system::control::{Control, Unit};
use trimill_system::{Bytes, Error, Result};

/// The fewest arcs that a thread takes at a time.
const CHUNK: u64 = 1 << 18;

/// Bounds the memory of the list of chunks.
const PIECES: u64 = 1 << 20;

/// The most arcs, far more than memory holds, so that numbers computed from them do not overflow.
const MOST_ARCS: u64 = 1 << 48;

const NAME: &str = "edges";

/// Refuses a source of impossibly many arcs, before anything is sized by them.
pub fn checked(edges: &dyn EdgeSource) -> Result<&dyn EdgeSource> {
    match edges.arcs() {
        0..=MOST_ARCS => Ok(edges),
        arcs => Err(Error::data(NAME, format!("{arcs} arcs")).expected(format!("at most {MOST_ARCS}"))),
    }
}

impl<T: EdgeSource + ?Sized> ArcSource for T {
    fn name(&self) -> &Path {
        Path::new(NAME)
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        let arcs = self.arcs();
        let task = control.task(READ, Some(arcs), Unit::Arcs);
        let chunks: Vec<Range<u64>> = chunks(0..arcs, CHUNK.max(arcs.div_ceil(PIECES))).collect();
        let end = self.vertices().unwrap_or(u64::MAX);
        in_order(&chunks, control, |chunk| {
            let mut at = chunk.start;
            self.read(chunk.clone(), &mut |batch| {
                control.check()?;
                if let Some(place) = batch.iter().position(|&(tail, head)| tail.max(head) >= end) {
                    let (tail, head) = batch[place];
                    return Err(too_large(tail, head, at + place as u64, self.vertices()));
                }
                sink.arcs(batch)?;
                at += batch.len() as u64;
                task.advance(batch.len() as u64);
                Ok(())
            })?;
            complete(chunk, at)?;
            Ok(chunk.end - chunk.start)
        })
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts { declared_vertices: self.vertices(), arcs_at_most: self.arcs(), ..SourceFacts::default() }
    }

    fn bytes(&self) -> u64 {
        EdgeSource::bytes(self)
    }

    fn rows(&self, _: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let has_rows = self.vertices().is_some_and(|n| n > 0) && self.row_end(0).is_some();
        Ok(has_rows.then(|| Box::new(InMemory { edges: self, control: control.clone() }) as Box<dyn AdjacencyRows>))
    }
}

#[cold]
fn too_large(tail: u64, head: u64, arc: u64, declared: Option<u64>) -> Error {
    let id = if tail >= declared.unwrap_or(u64::MAX) { tail } else { head };
    let error = Error::data(NAME, format!("the id {id} in arc {arc}, from {tail} to {head}"));
    match declared {
        Some(n) => error.expected(format!("ids below {n}, the number of vertices")),
        None => error.expected(format!("ids up to {}", u64::MAX - 1)),
    }
}

/// Refuses a source that stopped at arc `at` before the end of `asked`.
fn complete(asked: &Range<u64>, at: u64) -> Result<()> {
    if at == asked.end {
        return Ok(());
    }
    let found = format!("{} arcs from number {} on were delivered", at.saturating_sub(asked.start), asked.start);
    Err(Error::data(NAME, found).expected(format!("{}", asked.end - asked.start)))
}

struct InMemory<'a, T: ?Sized> {
    edges: &'a T,
    control: Control,
}

impl<T: EdgeSource + ?Sized> AdjacencyRows for InMemory<'_, T> {
    fn lengths(&self, _: bool, _: &Control) -> Result<Option<Vec<u32>>> {
        let n = self.edges.vertices().unwrap_or(0);
        if n > 0 && self.edges.row_end(n - 1) != Some(self.edges.arcs()) {
            return Ok(None);
        }
        let begin = |tail: u64| if tail == 0 { Some(0) } else { self.edges.row_end(tail - 1) };
        let length = |tail| u32::try_from(self.edges.row_end(tail)?.checked_sub(begin(tail)?)?).ok();
        Ok((0..n).into_par_iter().map(length).collect())
    }

    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        let (mut tail, mut at) = (chunk.ids.start, chunk.arcs.start);
        let mut row_end = self.edges.row_end(tail);
        while at < chunk.arcs.end {
            let wanted = at..chunk.arcs.end.min(at + PART as u64);
            part.clear();
            self.edges.read(wanted.clone(), &mut |batch| {
                self.control.check()?;
                if batch.len() as u64 > wanted.end - at {
                    return complete(&wanted, at + batch.len() as u64);
                }
                for &(from, head) in batch {
                    while row_end.is_some_and(|end| end <= at) {
                        tail += 1;
                        row_end = if tail < chunk.ids.end { self.edges.row_end(tail) } else { None };
                    }
                    if from != tail || row_end.is_none() {
                        return Err(Error::data(NAME, format!("the tail {from} of arc {at}"))
                            .expected(format!("{tail}, as the ends of the rows say")));
                    }
                    // An id that is too large is no vertex: this causes the rows to be refused, and the scan reports it.
                    part.push(u32::try_from(head).unwrap_or(u32::MAX));
                    at += 1;
                }
                Ok(())
            })?;
            complete(&wanted, at)?;
            if !take(part)? {
                break;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Default)]
pub struct ArcList {
    /// `(tail, head)`; loops and duplicates are allowed.
    pub arcs: Vec<(u64, u64)>,
    /// How many vertices `0..n` are declared, if any.
    pub declared: Option<u64>,
}

impl EdgeSource for ArcList {
    fn arcs(&self) -> u64 {
        self.arcs.len() as u64
    }

    fn vertices(&self) -> Option<u64> {
        self.declared
    }

    fn read(&self, arcs: Range<u64>, take: &mut TakeArcs<'_>) -> Result<()> {
        self.arcs[arcs.start as usize..arcs.end as usize].chunks(BATCH).try_for_each(take)
    }
}
