//! METIS graph files: an adjacency list as text.
//!
//! A header `n m [fmt [ncon]]`, then one line per vertex: its size and `ncon` weights if `fmt` says so, then its neighbours (1-based), each
//! followed by the edge's weight if `fmt` says so. A blank line is a vertex without neighbours; lines that begin with `%` are comments. Every
//! edge is in the lines of both ends and is delivered from both, in 1-based ids. There must be `n` lines and `2 m` neighbours, and each vertex
//! must be a neighbour of its neighbours ([`SymmetryKey`]), which also distinguishes such a file from others that begin with two numbers.
//!
//! All threads parse. A first pass counts the lines of every range, so that a task knows the vertex of its first line. A hub's line may
//! exceed any window, so the parser is a state machine, fed by windows. Memory: a window per thread, 24 bytes per range.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::arcs::{READ, SourceFacts};
use super::batch::{ArcBatch, DeliveryFailure};
use super::file::InputFile;
use super::head::Head;
use super::header::SymmetryKey;
use super::metis_rows::{MetisHeader, MetisRows};
use super::number::{columns, shown, whole};
use super::parallel::{chunks, in_order, map_in_order};
use super::row_store::RowStore;
use super::rows::{AdjacencyRows, none_if_damaged};
use super::{ArcSink, Reader, check_vertices};
use trimill_system::control::{Control, Task, Unit};
use trimill_system::text::plural;
use trimill_system::{Bytes, Error, Result};

pub(super) struct Metis {
    file: InputFile,
    header: MetisHeader,
    start: u64,
    window: u64,
    ranges: OnceLock<MetisRanges>,
}

struct MetisRanges {
    /// With the vertex of the first line that begins in each.
    ranges: Vec<(Range<u64>, u64)>,
    lines: u64,
}

impl Metis {
    pub(super) fn open(file: InputFile, window: u64) -> Result<Self> {
        let mut head = Head::new(&file)?;
        let Some(line) = head.next_content()? else {
            return Err(head.error("the file ends before the header").expected("a header 'n m [fmt [ncon]]'"));
        };
        let Some(header) = parse_header(&line) else {
            return Err(head
                .error(format!("the header '{}'", shown(&line)))
                .expected("'n m [fmt [ncon]]': vertices, edges, and which weights there are"));
        };
        check_vertices(header.vertices).map_err(|error| error.at(&file.path).at_line(head.number))?;
        let start = head.end;
        drop(head);
        Ok(Self { file, header, start, window, ranges: OnceLock::new() })
    }

    /// The first call counts the lines of all ranges.
    fn ranges(&self, control: &Control) -> Result<&MetisRanges> {
        if let Some(known) = self.ranges.get() {
            return Ok(known);
        }
        let ranges: Vec<Range<u64>> = chunks(self.start..self.file.bytes, self.window).collect();
        let counts = map_in_order(&ranges, control, |range| {
            let first = if range.start == self.start { range.start } else { range.start - 1 };
            let window = self.file.window(first, range.end)?;
            let is_vertex = |at: usize| window.get(at).is_some_and(|&byte| byte != b'%');
            let own = u64::from(range.start == self.start && is_vertex(0));
            let lines = memchr::memchr_iter(b'\n', &window).filter(|&newline| is_vertex(newline + 1)).count() as u64;
            Ok(own + lines)
        })?;
        let mut lines = 0u64;
        let with_first = |(range, count): (Range<u64>, u64)| {
            lines += count;
            (range, lines - count + 1)
        };
        let ranges = ranges.into_iter().zip(counts).map(with_first).collect();
        Ok(self.ranges.get_or_init(|| MetisRanges { ranges, lines }))
    }

    /// Parses the lines that begin in a range; returns how many neighbours were delivered.
    fn scan_range(&self, range: &Range<u64>, vertex: u64, mut batch: ArcBatch<'_>) -> Result<u64> {
        let mut rows = MetisRows::new(&self.header, vertex);
        let mut at = range.start;
        if range.start > self.start {
            // Skips the line that began before the range; it may fill the whole range.
            let window = self.file.window(range.start - 1, range.end - 1)?;
            match memchr::memchr(b'\n', &window) {
                Some(newline) => at += newline as u64,
                None => return Ok(0),
            }
        }
        loop {
            let end = if at < range.end { range.end } else { at + self.window };
            let window = self.file.window(at, end)?;
            // Up to the first line end from the range's last byte on.
            let last = (range.end - 1).saturating_sub(at) as usize;
            let line_end = window.get(last..).and_then(|rest| memchr::memchr(b'\n', rest)).map(|n| last + n + 1);
            let bytes = &window[..line_end.unwrap_or(window.len())];
            rows.feed(bytes, &mut batch).map_err(|failure| self.locate(failure, at))?;
            at += bytes.len() as u64;
            if line_end.is_some() {
                break;
            }
            if at >= self.file.bytes {
                rows.finish(&mut batch).map_err(|failure| self.locate(failure, at.saturating_sub(1)))?;
                break;
            }
        }
        batch.finish()
    }

    fn store(&self, control: &Control) -> Result<Option<RowStore>> {
        let MetisHeader { vertices, edges, .. } = self.header;
        let task = control.task(READ, Some(self.file.bytes), Unit::Bytes);
        let &MetisRanges { ref ranges, lines } = self.ranges(control)?;
        if lines < vertices {
            return Ok(None);
        }
        let mut store = RowStore::new(vertices + 1);
        let parsed = map_in_order(ranges, control, |(range, vertex)| {
            let chunk = store.chunk();
            self.scan_range(range, *vertex, ArcBatch::new(&chunk, control))?;
            task.advance(range.end - range.start);
            Ok(chunk.into_successors())
        })?;
        parsed.into_iter().for_each(|successors| store.push(successors));
        Ok((Some(store.arcs()) == edges.checked_mul(2)).then_some(store))
    }

    fn locate(&self, failure: DeliveryFailure, start: u64) -> Error {
        failure.locate(|error, at| self.file.locate(error, start + at as u64))
    }
}

impl Reader for Metis {
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        if !RowStore::fits(self.header.vertices, self.facts().arcs_at_most, memory) {
            return Ok(None);
        }
        let store = none_if_damaged(self.store(control))?;
        Ok(store.map(|store| Box::new(store) as Box<dyn AdjacencyRows>))
    }

    fn facts(&self) -> SourceFacts {
        // The header's `2 m`, but no more than fit into the file.
        let arcs_at_most = self.header.edges.saturating_mul(2).min(self.file.bytes.div_ceil(2));
        let declared_vertices = Some(self.header.vertices);
        SourceFacts { declared_vertices, first_id: 1, arcs_at_most, ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let MetisHeader { vertices, edges, .. } = self.header;
        let &MetisRanges { ref ranges, lines } = self.ranges(control)?;
        task.advance(self.start);
        let mirrored = Mirrored { sink, key: SymmetryKey::random(), sum: AtomicU64::new(0) };
        let found = in_order(ranges, control, |(range, vertex)| {
            let found = self.scan_range(range, *vertex, ArcBatch::new(&mirrored, control))?;
            task.advance(range.end - range.start);
            Ok(found)
        })?;
        let wrong = |found: String, expected: String| {
            let line = self.file.line_of(self.file.bytes)?;
            Err(Error::data(&self.file.path, found)
                .at_line(line)
                .expected(expected)
                .advice("the header 'n m' counts each edge once, and each edge is in the lines of both its ends"))
        };
        if lines < vertices {
            wrong(plural(lines, "line of a vertex", "lines of vertices"), format!("{vertices}, as the header says"))
        } else if Some(found) != edges.checked_mul(2) {
            wrong(
                format!("{found} neighbours in all lines"),
                format!("{}, twice the {edges} edges of the header", u128::from(edges) * 2),
            )
        } else if mirrored.sum.into_inner() != 0 {
            wrong(
                "neighbours that do not have the vertex as a neighbour".into(),
                "each edge in the lines of both ends".into(),
            )
        } else {
            Ok(found)
        }
    }
}

/// Passes arcs on, and computes the sum that shows whether each has its reverse.
struct Mirrored<'a> {
    sink: &'a dyn ArcSink,
    key: SymmetryKey,
    sum: AtomicU64,
}

impl ArcSink for Mirrored<'_> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        self.sum.fetch_add(self.key.sum(batch), Ordering::Relaxed);
        self.sink.arcs(batch)
    }
}

pub(super) fn parse_header(line: &[u8]) -> Option<MetisHeader> {
    let numbers: Vec<u64> = columns(line).map(whole).collect::<Option<_>>()?;
    let (&[vertices, edges], rest) = numbers.split_first_chunk::<2>()?;
    let (format, weights) = match *rest {
        [] => (0, None),
        [format] => (format, None),
        [format, weights] => (format, Some(weights)),
        _ => return None,
    };
    let flag = |digit: u64| match format / digit % 10 {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    };
    let (sizes, vertex_weights, edge_weights) = (flag(100)?, flag(10)?, flag(1)?);
    let per_vertex = if vertex_weights { weights.unwrap_or(1) } else { 0 };
    if vertices == 0 || format > 111 || per_vertex > 1 << 10 {
        return None;
    }
    Some(MetisHeader { vertices, edges, before_neighbours: u64::from(sizes) + per_vertex, edge_weights })
}
