//! Finds where rows begin, if there is no file of offsets. A beginning is known only once all numbers before it were read. So one thread reads the
//! numbers, for which it needs only the degrees of the window's rows, and cuts the stream into [`BvChunk`]s that other threads decode. A row refers
//! to at most one other row; such a chain ends in a row that refers to none, its *root*. To decode a chunk, all rows must be decoded from the
//! smallest root of the rows that it may refer to. The stream is cut where these are few.
//!
//! The *reach* bounds how far back these rows are: up to twice the largest distance of a reference so far, since the properties' window may be
//! needlessly large. A chunk with a reference beyond it is decoded from the stream's beginning; the reach then doubles, so that is rare.

use std::collections::VecDeque;
use std::ops::Range;

use super::bits::{BitOrder, BitReader};
use super::chunk::{AGAIN_ROWS, Before, BvChunk, CHUNK};
use super::row::{Encoding, Successors};

/// The most arcs before a chunk that are decoded for it, once more.
const AGAIN_ARCS: u64 = CHUNK / 4;

/// How many rows' beginnings are kept. A chunk does not begin where it would need an earlier row.
const KEPT: usize = 1 << 14;

struct ScannedRow {
    bit: u64,
    degree: u64,
    /// The last row of its chain of references.
    root: u64,
}

pub(super) struct Scanner<'a, O> {
    encoding: &'a Encoding,
    pub(super) bits: BitReader<'a, O>,
    /// The next row to read; after an error, the row that could not be read.
    pub(super) node: u64,
    rows: VecDeque<ScannedRow>,
    pub(super) arcs_left: u64,
    reach: u64,
    #[cfg(test)]
    looked_at: std::cell::Cell<u64>,
}

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
    pub(super) fn new(encoding: &'a Encoding, bits: BitReader<'a, O>, arcs: u64) -> Self {
        Self {
            encoding,
            bits,
            node: 0,
            rows: VecDeque::new(),
            arcs_left: arcs,
            reach: 0,
            #[cfg(test)]
            looked_at: Default::default(),
        }
    }

    /// The next chunk; a row must be left. `degree` receives the degrees of its rows.
    pub(super) fn next_chunk(&mut self, mut degree: impl FnMut(u64)) -> Option<BvChunk> {
        let first = self.node;
        let mut start = self.start_for_next().unwrap_or(first);
        let mut begin = if start == first { self.bits.position() } else { self.row(start).bit };
        let mut degrees: Vec<u64> = (start - self.reach.min(start)..start).map(|node| self.row(node).degree).collect();
        let mut arcs = 0;
        while self.node < self.encoding.nodes && (arcs < CHUNK || self.start_for_next().is_none()) {
            let ScannedRow { degree: row, root, .. } = *self.read_row()?;
            if root < start {
                (start, begin) = (0, 0);
                degrees.clear();
            }
            degree(row);
            arcs += row;
        }
        let (bits, before) = (begin..self.bits.position(), Before::Degrees(degrees));
        Some(BvChunk { rows: first..self.node, start, bits, reach: self.reach, before })
    }

    /// Where decoding would begin for a chunk that begins at the next row; `None` if that is too far back.
    fn start_for_next(&self) -> Option<u64> {
        let near = self.node.saturating_sub(AGAIN_ROWS);
        let reach = self.node - self.reach.min(self.node);
        if reach < near {
            return None;
        }
        let start = (reach..self.node).map(|node| self.row(node).root).min().unwrap_or(self.node);
        let kept = self.node - self.rows.len() as u64;
        let is_near = start >= near
            && start - start.min(self.reach) >= kept
            && (start..self.node).map(|node| self.row(node).degree).sum::<u64>() <= AGAIN_ARCS;
        is_near.then_some(start)
    }

    fn row(&self, node: u64) -> &ScannedRow {
        #[cfg(test)]
        self.looked_at.update(|rows| rows + 1);
        &self.rows[self.rows.len() - (self.node - node) as usize]
    }

    #[inline(always)]
    fn read_row(&mut self) -> Option<&ScannedRow> {
        let Self { encoding, bits, node, rows, arcs_left, reach, .. } = self;
        let bit = bits.position();
        let degree = encoding.degree(bits, *arcs_left)?;
        let before = |distance: u64| &rows[rows.len() - distance as usize];
        let distance = encoding.successors(bits, *node, degree, |distance| before(distance).degree, &mut Skipped)?;
        let root = if distance == 0 { *node } else { before(distance).root };
        if distance > *reach {
            *reach = distance.next_power_of_two().min(encoding.window);
        }
        *arcs_left -= degree;
        // All rows of the window must be kept, since references need their degrees.
        if rows.len() >= KEPT.max(encoding.window as usize) {
            rows.pop_front();
        }
        rows.push_back(ScannedRow { bit, degree, root });
        *node += 1;
        Some(&rows[rows.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Bvgraph;
    use super::super::bits::HighFirst;
    use super::super::files::BvGraphFiles;
    use super::*;
    use trimill_system::control::Control;

    #[test]
    fn a_window_costs_what_references_use_of_it() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(data.join("cnr-2000.graph"), dir.path().join("g.graph")).unwrap();
        let properties = std::fs::read_to_string(data.join("cnr-2000.properties")).unwrap();
        assert!(properties.contains("windowsize=7"));
        let cut = |window: u64| {
            let properties = properties.replace("windowsize=7", &format!("windowsize={window}"));
            std::fs::write(dir.path().join("g.properties"), properties).unwrap();
            let graph =
                Bvgraph::open(&BvGraphFiles::of(&dir.path().join("g.graph")), dir.path(), &Control::silent()).unwrap();
            let bits = BitReader::<HighFirst>::new(&graph.file.file, graph.file.bytes, None);
            let mut scanner = Scanner::new(&graph.properties.encoding, bits, graph.properties.arcs);
            let (mut chunks, mut again) = (0, 0);
            while scanner.node < graph.properties.encoding.nodes {
                let chunk = scanner.next_chunk(|_| {}).unwrap();
                let Before::Degrees(before) = chunk.before else { panic!("offsets") };
                assert!(chunk.reach <= 8 && before.len() <= 8, "a window of {window}: {}", chunk.reach);
                (chunks, again) = (chunks + 1, again + chunk.rows.start - chunk.start);
            }
            (chunks, again, scanner.looked_at.get())
        };
        let (chunks, again, looked_at) = cut(7);
        assert!(chunks >= 20 && again < 50 * chunks && looked_at < 2000 * chunks, "{chunks}, {again}, {looked_at}");
        for window in [100, 10_000, 1_000_000] {
            let (wide_chunks, wide_again, wide_looked_at) = cut(window);
            let found =
                format!("{wide_chunks}, {wide_again}, {wide_looked_at} instead of {chunks}, {again}, {looked_at}");
            assert!(wide_chunks.abs_diff(chunks) <= 2, "a window of {window}: {found}");
            assert!(wide_again <= 2 * again && wide_looked_at <= 2 * looked_at, "a window of {window}: {found}");
        }
    }
}
