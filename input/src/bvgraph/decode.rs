//! Decodes the rows of a [`BvChunk`].

use std::ops::Range;

use super::Bvgraph;
use super::bits::{BitOrder, BitReader, StreamError};
use super::chunk::{Before, BvChunk};
use super::offsets::Offsets;
use super::row::Successors;
use crate::rows::PART;
use trimill_system::control::Task;
use trimill_system::{Error, Result};

pub(super) struct ChunkReader<'a, O> {
    graph: &'a Bvgraph,
    offsets: Option<&'a Offsets>,
    bits: BitReader<'a, O>,
    /// A ring buffer of the last rows, row `v` at `v` modulo its length, which exceeds the largest distance of a reference so far.
    rows: Vec<Decoded>,
    limit: RingLimit,
    parts: RowParts,
    /// Where rows begin, by the file of offsets, from the first row that may be referred to.
    begins: Vec<u64>,
}

#[derive(Debug, Default, Clone)]
struct Decoded {
    successors: Vec<u32>,
    degree: u64,
    /// Whether the successors are known: they are not if the row refers to one before the first that was decoded.
    known: bool,
}

/// The successors of a row by their encoding; each part ascends.
#[derive(Default)]
struct RowParts {
    copied: Vec<u32>,
    intervals: Vec<u32>,
    residuals: Vec<u32>,
}

struct DecodingRow<'a> {
    rows: &'a [Decoded],
    node: u64,
    parts: &'a mut RowParts,
    known: bool,
}

impl Successors for DecodingRow<'_> {
    #[inline(always)]
    fn copy(&mut self, distance: u64, range: Range<u64>) {
        let row = &self.rows[((self.node - distance) % self.rows.len() as u64) as usize];
        match row.successors.get(range.start as usize..range.end as usize) {
            Some(copied) if row.known => self.parts.copied.extend_from_slice(copied),
            _ => self.known = false,
        }
    }

    #[inline(always)]
    fn interval(&mut self, ids: Range<u64>) {
        self.parts.intervals.extend(ids.start as u32..ids.end as u32);
    }

    #[inline(always)]
    fn residual(&mut self, id: u64) {
        self.parts.residuals.push(id as u32);
    }
}

impl RowParts {
    fn clear(&mut self) {
        self.copied.clear();
        self.intervals.clear();
        self.residuals.clear();
    }

    /// Merges all parts into `row`, ascending; false if a vertex occurs twice.
    fn merge(&mut self, row: &mut Vec<u32>) -> bool {
        row.clear();
        let mut parts = [&mut self.copied, &mut self.intervals, &mut self.residuals];
        parts.sort_by_key(|part| part.is_empty());
        let [a, b, c] = parts;
        if b.is_empty() {
            // Not copied, since most long rows have one part.
            std::mem::swap(a, row);
        } else {
            row.reserve(a.len() + b.len() + c.len());
            merge(a, b, row);
            if !c.is_empty() {
                let both = std::mem::take(row);
                row.reserve(both.len() + c.len());
                merge(&both, c, row);
            }
        }
        // Each part ascends by itself, so only equal neighbours are left to find.
        row.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]))
    }
}

fn merge(a: &[u32], b: &[u32], out: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        out.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(x > y);
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
}

/// The ring's rows may have [`ARCS_A_BYTE`] arcs per byte of the stream and [`MORE_ARCS`] in all; real graphs have a fraction of that. A
/// limit is needed since intervals and copies encode any number of arcs in a few bits.
const ARCS_A_BYTE: u64 = 8;
const MORE_ARCS: u64 = 1 << 22;

#[derive(Default)]
struct RingLimit {
    longest: Vec<u64>,
    /// How many more arcs the rows of the ring may have in all.
    room: u64,
}

impl RingLimit {
    fn new(places: usize, bytes: u64) -> Self {
        Self { longest: vec![0; places], room: MORE_ARCS + ARCS_A_BYTE * bytes }
    }

    fn grow(&mut self, node: u64, degree: u64) -> Option<()> {
        let place = (node % self.longest.len() as u64) as usize;
        let growth = degree.saturating_sub(self.longest[place]);
        self.longest[place] += growth;
        self.room = self.room.checked_sub(growth)?;
        Some(())
    }
}

impl<'a, O: BitOrder> ChunkReader<'a, O> {
    /// `task` advances by what is read, unless the pass that cut the stream advanced it before.
    pub(super) fn new(graph: &'a Bvgraph, task: Option<&'a Task>) -> Self {
        let offsets = graph.offsets();
        let bits = BitReader::new(&graph.file.file, graph.file.bytes, task.filter(|_| offsets.is_some()));
        let (limit, parts) = (RingLimit::default(), RowParts::default());
        Self { graph, offsets, bits, rows: Vec::new(), limit, parts, begins: Vec::new() }
    }

    /// Makes room for rows that refer `reach` rows back; discards the rows in the ring.
    fn keep(&mut self, reach: u64) {
        let places = reach as usize + 1;
        if self.rows.len() < places {
            self.rows = vec![Decoded::default(); places];
            self.limit = RingLimit::new(places, self.graph.file.bytes);
        }
    }

    /// Passes the successors of each row of `chunk` to `each`, in order; returns their number.
    pub(super) fn read(&mut self, chunk: &BvChunk, mut each: impl FnMut(u64, &[u32]) -> Result<()>) -> Result<u64> {
        self.keep(chunk.reach);
        let before = self.begin(chunk)?;
        let (graph, length) = (self.graph, self.rows.len() as u64);
        let encoding = &graph.properties.encoding;
        let (mut arcs, mut left) = (0, graph.properties.arcs);
        for node in chunk.start..chunk.rows.end {
            let place = (node % length) as usize;
            self.parts.clear();
            let mut row = DecodingRow { rows: &self.rows, node, parts: &mut self.parts, known: true };
            let degree_of = |distance: u64| self.rows[((node - distance) % length) as usize].degree;
            let (bits, limit) = (&mut self.bits, &mut self.limit);
            let mut read = |row: &mut DecodingRow<'_>| -> Option<u64> {
                let degree = encoding.degree(bits, left)?;
                limit.grow(node, degree)?;
                encoding.successors(bits, node, degree, degree_of, row)?;
                Some(degree)
            };
            let degree = read(&mut row).ok_or_else(|| graph.undecodable(node, self.bits.take_error()))?;
            left -= degree;
            let known = row.known;
            let mut successors = std::mem::take(&mut self.rows[place].successors);
            let ascends = self.parts.merge(&mut successors);
            let wanted = node >= chunk.rows.start;
            if known && !ascends {
                return Err(graph.damaged(format!("the row of vertex {node} is not ascending")));
            }
            if wanted && !known
                || self.begins.get((node + 1 - before) as usize).is_some_and(|&end| end != self.bits.position())
            {
                return Err(graph.wrong_offsets(node, StreamError::None));
            }
            if wanted {
                arcs += degree;
                each(node, &successors)?;
            }
            self.rows[place] = Decoded { successors, degree, known };
        }
        self.free_long_rows();
        Ok(arcs)
    }

    /// Otherwise each thread would keep the longest row that it ever decoded.
    fn free_long_rows(&mut self) {
        let RowParts { copied, intervals, residuals } = &mut self.parts;
        for list in self.rows.iter_mut().map(|row| &mut row.successors).chain([copied, intervals, residuals]) {
            list.clear();
            list.shrink_to(PART);
        }
    }

    /// Sets the degrees of the rows before `chunk.start`, and moves to that row. Returns the first row with a degree.
    fn begin(&mut self, chunk: &BvChunk) -> Result<u64> {
        let (graph, length) = (self.graph, self.rows.len() as u64);
        let first = match &chunk.before {
            Before::Degrees(degrees) => chunk.start - degrees.len() as u64,
            Before::Offset(_) => chunk.start - chunk.reach.min(chunk.start),
        };
        self.begins.clear();
        let mut set = |node: u64, degree| {
            let row = &mut self.rows[(node % length) as usize];
            (row.degree, row.known) = (degree, false);
        };
        match (&chunk.before, self.offsets) {
            (Before::Offset(offset), Some(offsets)) => {
                let many = chunk.rows.end + 1 - first;
                offsets.read(*offset, many, &mut self.begins).map_err(|error| match error {
                    StreamError::Unreadable(e) => Error::read(&graph.offsets_path, e),
                    _ => graph.changed_offsets(),
                })?;
                for (node, &begin) in (first..chunk.start).zip(&self.begins) {
                    self.bits.seek(begin, chunk.bits.end.saturating_sub(begin) / 8);
                    let degree = graph.properties.encoding.degree(&mut self.bits, u64::MAX);
                    set(node, degree.ok_or_else(|| graph.wrong_offsets(node, self.bits.take_error()))?);
                }
            }
            (Before::Degrees(degrees), _) => (first..).zip(degrees).for_each(|(node, &degree)| set(node, degree)),
            (Before::Offset(_), None) => return Err(graph.wrong_offsets(chunk.start, StreamError::None)),
        }
        self.bits.seek(chunk.bits.start, (chunk.bits.end - chunk.bits.start) / 8);
        Ok(first)
    }
}
