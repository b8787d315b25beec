//! Writes rows as a BVGraph stores them (Boldi and Vigna, 'The WebGraph framework I', WWW 2004), with WebGraph's default codes. A row is its degree
//! (gamma); the distance to the earlier row that it copies from (unary; 0: none); the blocks that it copies (gamma); intervals of consecutive ids
//! (gamma); distances between other ids (zeta, k = 3). The row of the window that saves most bits is copied.

use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;

use dsi_bitstream::codes::{GammaWrite, ZetaWrite, len_gamma, len_zeta};
use dsi_bitstream::impls::{BufBitWriter, MemWordWriterVec};
use dsi_bitstream::traits::{BE, BitWrite};

/// How far before a row the row that it copies from may be.
pub(super) const WINDOW: usize = 7;

/// The longest chain of rows that copy from one another.
pub(super) const LONGEST_CHAIN: u32 = 3;

pub(super) const SHORTEST_INTERVAL: usize = 4;

pub(super) const ZETA_K: usize = 3;

pub(super) trait BitSink {
    fn unary(&mut self, number: u64);
    fn gamma(&mut self, number: u64);
    fn zeta(&mut self, number: u64);
}

struct BitCount(u64);

impl BitSink for BitCount {
    fn unary(&mut self, number: u64) {
        self.0 += number + 1;
    }
    fn gamma(&mut self, number: u64) {
        self.0 += len_gamma(number) as u64;
    }
    fn zeta(&mut self, number: u64) {
        self.0 += len_zeta(number, ZETA_K) as u64;
    }
}

pub(super) struct RowStream {
    bits: BufBitWriter<BE, MemWordWriterVec<u64, Vec<u64>>>,
    written: u64,
}

impl BitSink for RowStream {
    fn unary(&mut self, number: u64) {
        self.written += written(self.bits.write_unary(number));
    }
    fn gamma(&mut self, number: u64) {
        self.written += written(self.bits.write_gamma(number));
    }
    fn zeta(&mut self, number: u64) {
        self.written += written(self.bits.write_zeta(number, ZETA_K));
    }
}

/// Writing to memory cannot fail.
fn written(result: Result<usize, Infallible>) -> u64 {
    result.map_or_else(|never| match never {}, |bits| bits as u64)
}

impl Default for RowStream {
    fn default() -> Self {
        Self { bits: BufBitWriter::new(MemWordWriterVec::new(Vec::new())), written: 0 }
    }
}

impl RowStream {
    /// The words, filled from the highest bit down, and the number of bits.
    pub(super) fn finish(self) -> (Vec<u64>, u64) {
        let words = self.bits.into_inner().map_or_else(|never| match never {}, MemWordWriterVec::into_inner);
        (words.into_iter().map(u64::from_be).collect(), self.written)
    }
}

/// Writes consecutive rows; the first of them copies from none.
#[derive(Default)]
pub(super) struct BvRowWriter {
    stream: RowStream,
    window: Vec<WindowRow>,
    parts: RowEncoding,
    spare: Vec<u32>,
}

/// A row from which later ones may copy; consecutive equal rows share their ids.
#[derive(Clone)]
struct WindowRow {
    ids: Rc<Vec<u32>>,
    /// The length of the chain of copies that ends in this row.
    chain: u32,
}

impl BvRowWriter {
    /// Writes the row of `node`, which `append` makes and which must ascend strictly; returns its bits.
    pub(super) fn add(&mut self, node: u64, append: impl FnOnce(&mut Vec<u32>)) -> u64 {
        let mut row = std::mem::take(&mut self.spare);
        row.clear();
        append(&mut row);
        self.put(node, Rc::new(row))
    }

    /// Writes the last row once more, as that of `node`; returns its bits.
    pub(super) fn repeat(&mut self, node: u64) -> u64 {
        let row = self.window.last().map(|last| Rc::clone(&last.ids)).unwrap_or_default();
        self.put(node, row)
    }

    fn put(&mut self, node: u64, row: Rc<Vec<u32>>) -> u64 {
        let Self { stream, window, parts, spare } = self;
        let before = stream.written;
        stream.gamma(row.len() as u64);
        let mut best = 0;
        if !row.is_empty() {
            let (mut fewest, mut copies_all) = (u64::MAX, false);
            // Among equal rows the nearest one that may be copied from takes the fewest bits; no other encoding is shorter than such a copy.
            let mut tried: Option<&Rc<Vec<u32>>> = None;
            for distance in (1..=window.len()).chain([0]) {
                if let Some(from) = window.len().checked_sub(distance).and_then(|place| window.get(place)) {
                    if from.chain >= LONGEST_CHAIN || tried.is_some_and(|tried| Rc::ptr_eq(tried, &from.ids)) {
                        continue;
                    }
                    tried = Some(&from.ids);
                    if Rc::ptr_eq(&from.ids, &row) {
                        (best, copies_all) = (distance, true);
                        break;
                    }
                }
                let mut counted = BitCount(0);
                parts.write(node, &row, reference(window, distance), &mut counted);
                if counted.0 < fewest || counted.0 == fewest && distance == 0 {
                    (best, fewest) = (distance, counted.0);
                }
            }
            match copies_all {
                // One block, whose length is not written, and nothing else.
                true => {
                    stream.unary(best as u64);
                    stream.gamma(0);
                }
                false => parts.write(node, &row, reference(window, best), stream),
            }
        }
        let chain = if best == 0 { 0 } else { window[window.len() - best].chain + 1 };
        if window.len() == WINDOW {
            *spare = Rc::try_unwrap(window.remove(0).ids).unwrap_or_default();
        }
        window.push(WindowRow { ids: row, chain });
        stream.written - before
    }

    pub(super) fn finish(self) -> (Vec<u64>, u64) {
        self.stream.finish()
    }
}

/// The row that a row copies from; an empty one at distance 0 if none.
struct RowReference<'a> {
    distance: usize,
    row: &'a [u32],
}

fn reference(window: &[WindowRow], distance: usize) -> RowReference<'_> {
    RowReference { distance, row: if distance == 0 { &[] } else { &window[window.len() - distance].ids } }
}

#[derive(Default)]
struct RowEncoding {
    /// The lengths of the blocks of the row that is copied from, alternately copied and not.
    blocks: Vec<u64>,
    rest: Vec<u32>,
    intervals: Vec<Range<usize>>,
}

impl RowEncoding {
    /// Writes a row that is not empty, except for its degree.
    fn write(&mut self, node: u64, row: &[u32], reference: RowReference<'_>, sink: &mut impl BitSink) {
        let RowReference { distance, row: from } = reference;
        self.copy(row, from);
        sink.unary(distance as u64);
        if distance > 0 {
            // The length of the last block is not written.
            let blocks = &self.blocks[..self.blocks.len().saturating_sub(1)];
            sink.gamma(blocks.len() as u64);
            blocks.iter().enumerate().for_each(|(i, length)| sink.gamma(length - u64::from(i > 0)));
        }
        if self.rest.is_empty() {
            return;
        }
        self.find_intervals();
        sink.gamma(self.intervals.len() as u64);
        let mut end = None;
        for interval in &self.intervals {
            let first = u64::from(self.rest[interval.start]);
            sink.gamma(end.map_or_else(|| signed(node, first), |end| first - end - 1));
            sink.gamma((interval.len() - SHORTEST_INTERVAL) as u64);
            end = Some(first + interval.len() as u64);
        }
        let begins = std::iter::once(0).chain(self.intervals.iter().map(|interval| interval.end));
        let ends = self.intervals.iter().map(|interval| interval.start).chain([self.rest.len()]);
        let mut last = None;
        for &id in begins.zip(ends).flat_map(|(begin, end)| &self.rest[begin..end]) {
            let id = u64::from(id);
            sink.zeta(last.map_or_else(|| signed(node, id), |last| id - last - 1));
            last = Some(id);
        }
    }

    fn copy(&mut self, row: &[u32], from: &[u32]) {
        self.blocks.clear();
        self.rest.clear();
        let (mut next, mut copying, mut length) = (0, true, 0);
        for &id in from {
            while next < row.len() && row[next] < id {
                self.rest.push(row[next]);
                next += 1;
            }
            let is_there = row.get(next) == Some(&id);
            next += usize::from(is_there);
            if is_there != copying {
                self.blocks.push(length);
                (copying, length) = (is_there, 0);
            }
            length += 1;
        }
        self.blocks.push(length);
        self.rest.extend_from_slice(&row[next..]);
    }

    fn find_intervals(&mut self) {
        self.intervals.clear();
        let mut start = 0;
        for run in self.rest.chunk_by(|a, b| a + 1 == *b) {
            if run.len() >= SHORTEST_INTERVAL {
                self.intervals.push(start..start + run.len());
            }
            start += run.len();
        }
    }
}

/// The distance from `node` to an id, with its sign in the lowest bit.
fn signed(node: u64, id: u64) -> u64 {
    if id >= node { 2 * (id - node) } else { 2 * (node - id) - 1 }
}
