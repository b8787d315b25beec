//! Where rows begin: a pass over the stream that decodes no row.
//!
//! A row refers to rows before it, so rows can be decoded only from a point where all that they need is known, and without a file
//! of offsets their beginnings are known only once all numbers before them were read. So one thread reads the numbers, for which
//! only the degrees of the rows in the window are needed, and cuts the stream into [`Chunk`]s that other threads decode.
//!
//! Each row refers to one other row at most; these chains end in a row that refers to none, its *root*. To decode a chunk, the
//! rows from the smallest root of the window before it must be decoded, too. The stream is cut where these are few.

use std::collections::VecDeque;
use std::ops::Range;

use super::bits::{BitOrder, Bits, Impossible, StreamError};
use super::chunk::{AGAIN_ROWS, Before, CHUNK, Chunk};
use super::limit::WindowLimit;
use super::row::{Encoding, Successors};

/// Arcs before a chunk that are decoded again, at most.
const AGAIN_ARCS: u64 = CHUNK / 4;

/// Rows whose beginnings are kept. A chunk does not begin where an earlier row is needed.
const KEPT: usize = 1 << 14;

/// A row whose beginning is known.
struct Row {
    bit: u64,
    degree: u64,
    /// The row without a reference where the chain of its references ends.
    root: u64,
}

/// Reads the stream of a graph.
pub(super) struct Scanner<'a, O> {
    encoding: &'a Encoding,
    bits: Bits<'a, O>,
    /// The next row.
    node: u64,
    /// The rows before it that are kept.
    rows: VecDeque<Row>,
    /// The arcs that may follow.
    arcs_left: u64,
    limit: WindowLimit,
}

/// Discards successors.
struct Skipped;

impl Successors for Skipped {
    #[inline(always)]
    fn copy(&mut self, _: u64, _: Range<u64>) {}
    #[inline(always)]
    fn interval(&mut self, _: Range<u64>) {}
    #[inline(always)]
    fn residual(&mut self, _: u64) {}
}

impl<'a, O: BitOrder> Scanner<'a, O> {
    /// Reads rows from `bits`, a stream of `bytes` bytes with at most `arcs` arcs.
    pub(super) fn new(encoding: &'a Encoding, bits: Bits<'a, O>, arcs: u64, bytes: u64) -> Self {
        let limit = WindowLimit::new(encoding.window, bytes);
        Self { encoding, bits, node: 0, rows: VecDeque::new(), arcs_left: arcs, limit }
    }

    /// The arcs that were expected and did not come.
    pub(super) fn arcs_left(&self) -> u64 {
        self.arcs_left
    }

    /// The next row: after an error the one that could not be read.
    pub(super) fn node(&self) -> u64 {
        self.node
    }

    /// The position in the stream.
    pub(super) fn position(&self) -> u64 {
        self.bits.position()
    }

    /// Why the next chunk could not be read.
    pub(super) fn take_error(&mut self) -> StreamError {
        self.bits.take_error()
    }

    /// The next chunk, `None` after the last row; `degree` receives the degrees of its rows.
    ///
    /// # Errors
    /// When a row cannot be read.
    pub(super) fn next_chunk(&mut self, mut degree: impl FnMut(u64)) -> Result<Option<Chunk>, Impossible> {
        let first = self.node;
        if first == self.encoding.nodes {
            return Ok(None);
        }
        let start = self.start_for_next().unwrap_or(first);
        let window = self.encoding.window.min(start);
        let begin = if start == first { self.position() } else { self.row(start).bit };
        let degrees = (start - window..start).map(|node| self.row(node).degree).collect();
        let mut arcs = 0;
        while self.node < self.encoding.nodes && (arcs < CHUNK || self.start_for_next().is_none()) {
            let row = self.read_row()?;
            degree(row);
            arcs += row;
        }
        let before = Before::Degrees(degrees);
        Ok(Some(Chunk { rows: first..self.node, start, bits: begin..self.position(), before }))
    }

    /// Where decoding has to begin for a chunk that begins with the next row; `None` if that is too far.
    fn start_for_next(&self) -> Option<u64> {
        let window = self.encoding.window.min(self.node);
        let start = (self.node - window..self.node).map(|node| self.row(node).root).min().unwrap_or(self.node);
        let kept = self.node - self.rows.len() as u64;
        let is_near = self.node - start <= AGAIN_ROWS
            && start - start.min(self.encoding.window) >= kept
            && (start..self.node).map(|node| self.row(node).degree).sum::<u64>() <= AGAIN_ARCS;
        is_near.then_some(start)
    }

    /// A row that is kept.
    fn row(&self, node: u64) -> &Row {
        &self.rows[self.rows.len() - (self.node - node) as usize]
    }

    /// Reads a row; returns its degree.
    #[inline(always)]
    fn read_row(&mut self) -> Result<u64, Impossible> {
        let Self { encoding, bits, node, rows, arcs_left, limit } = self;
        let bit = bits.position();
        let degree = encoding.degree(bits, *arcs_left)?;
        limit.grow(*node, degree)?;
        let before = |distance: u64| &rows[rows.len() - distance as usize];
        let distance = encoding.successors(bits, (*node, degree), |distance| before(distance).degree, &mut Skipped)?;
        let root = if distance == 0 { *node } else { before(distance).root };
        *arcs_left -= degree;
        // All rows of the window are kept, since a reference needs their degrees.
        if rows.len() >= KEPT.max(encoding.window as usize) {
            rows.pop_front();
        }
        rows.push_back(Row { bit, degree, root });
        *node += 1;
        Ok(degree)
    }
}
