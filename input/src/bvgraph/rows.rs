//! A graph's rows. First come their lengths, from the pass that cuts the stream or, with offsets, each row's beginning; then chunks are decoded.

use std::sync::OnceLock;

use super::bits::{BitOrder, BitReader};
use super::chunk::{Before, BvChunk};
use super::chunks::BvChunks;
use super::decode::ChunkReader;
use super::{BATCH, Bvgraph};
use crate::rows::{AdjacencyRows, PART, RowChunk, Symmetry, none_if_damaged};
use trimill_system::control::{Control, Unit};
use trimill_system::parallel::{self, IdleValues};
use trimill_system::{Bytes, Error, Result};

/// How many arcs are checked for their reverses before all are read.
const SAMPLE: usize = 16;

/// Bytes for each successor of the longest row: a list of a part of it, which may have grown to twice its length, and the row; for two threads, since
/// rows of the next chunk may refer to it.
const LONGEST_ROW: u64 = 2 * (8 + 4);

pub(super) struct BvGraphRows<'a, O> {
    graph: &'a Bvgraph,
    memory: Bytes,
    chunks: OnceLock<Vec<BvChunk>>,
    symmetry: OnceLock<Symmetry>,
    idle: IdleValues<ChunkReader<'a, O>>,
}

impl<'a, O: BitOrder> BvGraphRows<'a, O> {
    /// `memory`: for the longest row.
    pub(super) fn new(graph: &'a Bvgraph, memory: Bytes) -> Self {
        Self { graph, memory, chunks: OnceLock::new(), symmetry: OnceLock::new(), idle: IdleValues::default() }
    }

    /// Whether each of the first arcs has its reverse, if its head's row is there. Most directed graphs fail this.
    fn may_be_symmetric(&self, first: &BvChunk) -> Result<bool> {
        let mut arcs = Vec::new();
        self.decode(first, |tail, successors| {
            // A row that is cut is the last one, whose arcs are not looked for.
            arcs.extend(successors.iter().take(BATCH - arcs.len()).map(|&head| (tail, u64::from(head))));
            Ok(())
        })?;
        let Some(&(last, _)) = arcs.last() else { return Ok(true) };
        Ok(arcs.iter().all(|&(u, v)| u.max(v) >= last || arcs.binary_search(&(v, u)).is_ok()))
    }

    fn decode(&self, chunk: &BvChunk, each: impl FnMut(u64, &[u32]) -> Result<()>) -> Result<()> {
        self.idle.with(|| ChunkReader::new(self.graph, None), |reader| reader.read(chunk, each).map(drop))
    }

    /// The chunks, and without a file of offsets the degrees of all rows; `None` if the graph is known to contradict `directed`.
    fn find_chunks(&self, directed: bool, control: &Control) -> Result<Option<(Vec<BvChunk>, Vec<u32>)>> {
        let task = control.task("header", Some(self.graph.file.bytes), Unit::Bytes);
        let mut all = BvChunks::<O>::of(self.graph, &task);
        let (mut chunks, mut lengths) = (Vec::new(), Vec::new());
        // Called for an arc without its reverse; returns whether this rules the graph out, so that the rest need not be read.
        let gives_up = || {
            let _ = self.symmetry.set(Symmetry::Missing);
            !directed
        };
        while let Some(chunk) = all.next(self.graph, |degree| lengths.push(degree as u32))? {
            control.check()?;
            if chunks.is_empty() && !self.may_be_symmetric(&chunk)? && gives_up() {
                return Ok(None);
            }
            chunks.push(chunk);
        }
        if self.symmetry.get().is_none() && !self.sample_has_reverses(&chunks, control)? && gives_up() {
            return Ok(None);
        }
        Ok(Some((chunks, lengths)))
    }

    /// Whether each of a few arcs between chunks has its reverse; most graphs that store each edge once fail this.
    fn sample_has_reverses(&self, chunks: &[BvChunk], control: &Control) -> Result<bool> {
        let every = chunks.len().div_ceil(SAMPLE).max(1);
        let arcs = parallel::try_map(chunks.iter().step_by(every), |chunk| {
            control.check()?;
            let mut last = None;
            self.decode(chunk, |tail, successors| {
                let far = successors.iter().rfind(|&&head| !chunk.rows.contains(&u64::from(head)));
                last = far.map(|&head| (tail, u64::from(head))).or(last);
                Ok(())
            })?;
            Ok::<_, Error>(last)
        })?;
        let place = |head: u64| chunks.partition_point(|chunk| chunk.rows.end <= head);
        let mut arcs: Vec<_> = arcs.into_iter().flatten().map(|(tail, head)| (place(head), head, tail)).collect();
        arcs.sort_unstable();
        // A chunk is decoded once: all these heads may be in that of a hub, whose row several threads would hold.
        let found = parallel::try_map(arcs.chunk_by(|a, b| a.0 == b.0), |arcs| {
            control.check()?;
            let Some(chunk) = chunks.get(arcs[0].0) else { return Ok::<_, Error>(false) };
            let mut found = 0;
            self.decode(chunk, |node, successors| {
                let is_there = |tail: u64| successors.binary_search(&(tail as u32)).is_ok();
                found += arcs.iter().filter(|&&(_, head, tail)| head == node && is_there(tail)).count();
                Ok(())
            })?;
            Ok(found == arcs.len())
        })?;
        Ok(found.into_iter().all(|found| found))
    }

    /// The degrees of all rows, by offsets; `None` if they cannot be read, or do not add up to the number of arcs.
    fn degrees(&self, chunks: &[BvChunk], control: &Control) -> Result<Option<Vec<u32>>> {
        let (graph, encoding) = (self.graph, &self.graph.properties.encoding);
        let Some(offsets) = graph.offsets() else { return Ok(None) };
        let mut lengths = vec![0; encoding.nodes as usize];
        let own = parallel::cut(&mut lengths, chunks.iter().map(|chunk| (chunk.rows.end - chunk.rows.start) as usize));
        let sums = parallel::try_map(chunks.iter().zip(own), |(chunk, lengths)| -> Result<Option<u64>> {
            control.check()?;
            let Before::Offset(offset) = chunk.before else { return Ok(None) };
            let first = chunk.start - encoding.window.min(chunk.start);
            let mut begins = Vec::new();
            if offsets.read(offset, chunk.rows.end - first, &mut begins).is_err() {
                return Ok(None);
            }
            let mut bits = BitReader::<O>::new(&graph.file.file, graph.file.bytes, None);
            let mut sum = 0;
            for (length, &begin) in lengths.iter_mut().zip(&begins[(chunk.rows.start - first) as usize..]) {
                bits.seek(begin, chunk.bits.end.saturating_sub(begin) / 8);
                let Some(degree) = encoding.degree(&mut bits, graph.properties.arcs) else { return Ok(None) };
                *length = degree as u32;
                sum += degree;
            }
            Ok(Some(sum))
        })?;
        let sum = sums.into_iter().try_fold(0u64, |a, b| a.checked_add(b?));
        Ok((sum == Some(graph.properties.arcs)).then_some(lengths))
    }
}

impl<O: BitOrder> AdjacencyRows for BvGraphRows<'_, O> {
    fn lengths(&self, directed: bool, control: &Control) -> Result<Option<Vec<u32>>> {
        let Some((chunks, lengths)) = none_if_damaged(self.find_chunks(directed, control))? else { return Ok(None) };
        let has_offsets = chunks.first().is_some_and(|chunk| matches!(chunk.before, Before::Offset(_)));
        let lengths = if has_offsets { self.degrees(&chunks, control)? } else { Some(lengths) };
        let _ = self.chunks.set(chunks);
        let longest = lengths.iter().flatten().copied().max().map_or(0, u64::from);
        Ok(lengths.filter(|_| Bytes(LONGEST_ROW * longest) <= self.memory))
    }

    fn symmetry(&self) -> Symmetry {
        self.symmetry.get().copied().unwrap_or(Symmetry::Unknown)
    }

    fn starts(&self) -> Option<Vec<u64>> {
        Some(self.chunks.get()?.iter().map(|chunk| chunk.rows.start).collect())
    }

    fn read(
        &self,
        wanted: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        let chunks = self.chunks.get().map_or(&[][..], |chunks| chunks);
        let place = chunks.partition_point(|chunk| chunk.rows.start < wanted.ids.start);
        let Some(chunk) = chunks.get(place).filter(|chunk| chunk.rows == wanted.ids) else { return Ok(()) };
        part.clear();
        let mut more = true;
        self.decode(chunk, |_, successors| {
            for piece in successors.chunks(PART) {
                if !more {
                    break;
                }
                part.extend_from_slice(piece);
                if part.len() >= PART {
                    more = take(part)?;
                    part.clear();
                }
            }
            Ok(())
        })?;
        if more && !part.is_empty() {
            take(part)?;
        }
        Ok(())
    }
}
