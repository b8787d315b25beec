//! Serialized graphs of the GAP Benchmark Suite (`.sg`): the memory image of a CSR, little-endian.
//!
//! ```text
//! u8 directed | i64 arcs | i64 n | i64 offsets[n + 1] | i32 neighbours[offsets[n]]
//! ```
//!
//! The inverse's offsets and neighbours in a directed graph's file are not read. An undirected one stores every edge from both ends, and both are
//! delivered. `offsets[n]` is checked against the header and the file's size; offsets must ascend (the first scan checks), neighbours be below `n`.
//! All threads read: a task owns a range of arcs and finds its first row by binary search of the offsets. Memory: two windows per thread.

use std::ops::Range;
use std::sync::OnceLock;

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::file::InputFile;
use super::lines::ReadSizes;
use super::parallel::{chunks, in_order, map_in_order};
use super::rows::{AdjacencyRows, RowChunk, read_in_parts, row_of};
use super::{ArcSink, Reader, check_vertices};
use trimill_system::control::{Control, Task};
use trimill_system::{Bytes, Error, Result, parallel};

const OFFSETS: u64 = 17;

pub(super) struct GapbsSg {
    file: InputFile,
    directed: bool,
    vertices: u64,
    arcs: u64,
    window: u64,
    checked: OnceLock<()>,
}

/// The header: whether directed, arcs, vertices.
fn header(head: &[u8]) -> Option<(bool, u64, u64)> {
    let (&directed, rest) = head.split_first()?;
    let (arcs, rest) = rest.split_first_chunk::<8>()?;
    let vertices = rest.first_chunk::<8>()?;
    let (arcs, vertices) = (i64::from_le_bytes(*arcs), i64::from_le_bytes(*vertices));
    if directed > 1 {
        return None;
    }
    Some((directed == 1, u64::try_from(arcs).ok()?, u64::try_from(vertices).ok()?))
}

/// A neighbour, and in a weighted graph its weight, in bytes.
const PLAIN: u64 = 4;
const WEIGHTED: u64 = 8;

fn sizes(directed: bool, arcs: u64, vertices: u64, neighbour: u64) -> Option<[u64; 2]> {
    let csr = vertices.checked_add(1)?.checked_mul(8)?.checked_add(arcs.checked_mul(neighbour)?)?;
    let once = OFFSETS.checked_add(csr)?;
    Some([once, if directed { once.checked_add(csr)? } else { once }])
}

/// Whether a file that begins with `head` and has this size can only be a `.sg` file, or a weighted one.
pub(super) fn fits(head: &[u8], bytes: u64) -> bool {
    header(head).is_some_and(|(directed, arcs, vertices)| {
        // Some writers count each undirected edge once.
        let counts = [(arcs, PLAIN), (arcs.saturating_mul(2), PLAIN), (arcs, WEIGHTED)];
        counts.iter().any(|&(arcs, neighbour)| {
            sizes(directed, arcs, vertices, neighbour).is_some_and(|fits| fits.contains(&bytes))
        })
    })
}

impl GapbsSg {
    pub(super) fn open(file: InputFile, tuning: ReadSizes) -> Result<Self> {
        let wrong =
            |found: String| Error::data(&file.path, found).expected("a serialized graph of the GAP Benchmark Suite");
        let Some((directed, declared, vertices)) = header(&file.raw_head(OFFSETS)?) else {
            return Err(wrong("no header of a .sg file".into()));
        };
        check_vertices(vertices).map_err(|error| error.at(&file.path))?;
        if vertices > 1 << 31 {
            return Err(wrong(format!("{vertices} vertices, too many for 32-bit signed ids")));
        }
        if sizes(directed, 0, vertices, PLAIN).is_none_or(|[least, _]| file.bytes < least) {
            return Err(wrong(format!("a size of {} bytes, too small for its {vertices} vertices", file.bytes))
                .advice("the file is truncated; write or fetch it again"));
        }
        let mut graph =
            Self { directed, vertices, arcs: 0, window: tuning.window.max(8), checked: OnceLock::new(), file };
        let arcs = graph.offset(vertices)?;
        let wrong = |found: String| {
            Error::data(&graph.file.path, found).advice("the file is truncated or damaged; write or fetch it again")
        };
        let fits = |neighbour| {
            sizes(directed, arcs, vertices, neighbour).is_some_and(|sizes| sizes.contains(&graph.file.bytes))
        };
        match sizes(directed, arcs, vertices, PLAIN) {
            _ if fits(PLAIN) => {}
            _ if fits(WEIGHTED) => {
                return Err(wrong("a weighted graph, as in a .wsg file".into())
                    .expected("a graph without weights")
                    .advice("write it as an edge list: converter -f FILE -w -e NEW.wel, where FILE ends with .wsg"));
            }
            other => {
                return Err(wrong(format!("a size of {} bytes", graph.file.bytes)).expected(
                    other.map_or("another one".into(), |[_, full]| {
                        format!("{full} for {vertices} vertices and {arcs} stored arcs")
                    }),
                ));
            }
        }
        if declared != arcs && declared.checked_mul(2) != Some(arcs) {
            return Err(wrong(format!("{arcs} stored arcs")).expected(format!("{declared}, as the header says")));
        }
        graph.arcs = arcs;
        Ok(graph)
    }

    fn neighbours_at(&self) -> u64 {
        OFFSETS + 8 * (self.vertices + 1)
    }

    fn offset(&self, vertex: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, OFFSETS + 8 * vertex)?;
        // A negative offset becomes larger than any file.
        Ok(u64::from_le_bytes(bytes))
    }

    fn damaged(&self, vertex: u64) -> Error {
        Error::data(&self.file.path, format!("the offsets of vertices {vertex} and {} do not ascend", vertex + 1))
            .advice("the file is damaged; write or fetch it again")
    }

    /// Checks that the offsets begin with 0 and ascend; only the first call reads them.
    fn check_offsets(&self, control: &Control) -> Result<()> {
        if self.checked.get().is_some() {
            return Ok(());
        }
        if self.offset(0)? != 0 {
            return Err(Error::data(&self.file.path, "the offsets do not begin with 0"));
        }
        let chunks: Vec<Range<u64>> = chunks(0..self.vertices, self.window / 8).collect();
        map_in_order(&chunks, control, |vertices| {
            let window = self.file.window(OFFSETS + 8 * vertices.start, OFFSETS + 8 * (vertices.end + 1))?;
            let offsets = window.as_chunks::<8>().0;
            match offsets.windows(2).position(|o| i64::from_le_bytes(o[0]) > i64::from_le_bytes(o[1])) {
                Some(at) => Err(self.damaged(vertices.start + at as u64)),
                None => Ok(()),
            }
        })?;
        let _ = self.checked.set(());
        Ok(())
    }

    pub(super) fn scan_range(&self, arcs: &Range<u64>, mut batch: ArcBatch<'_>) -> Result<u64> {
        let start = self.neighbours_at();
        let window = self.file.window(start + 4 * arcs.start, start + 4 * arcs.end)?;
        let neighbours = window.as_chunks::<4>().0;
        let mut row = row_of(self.vertices, arcs.start, |vertex| self.offset(vertex))?;
        let mut at = arcs.start;
        while at < arcs.end {
            let last = (row + self.window / 8).min(self.vertices);
            if row == last {
                return Err(self.damaged(self.vertices - 1));
            }
            let offsets = self.file.window(OFFSETS + 8 * (row + 1), OFFSETS + 8 * (last + 1))?;
            for end in offsets.as_chunks::<8>().0 {
                let end = u64::from_le_bytes(*end).min(arcs.end);
                for neighbour in &neighbours[(at - arcs.start) as usize..(end.max(at) - arcs.start) as usize] {
                    let head = u64::from(u32::from_le_bytes(*neighbour));
                    if head >= self.vertices {
                        let head = i32::from_le_bytes(*neighbour);
                        return Err(Error::data(&self.file.path, format!("neighbour {head} of vertex {row}"))
                            .expected(format!("neighbours from 0 to {}", self.vertices - 1)));
                    }
                    batch.push(row, head)?;
                }
                at = end.max(at);
                if at == arcs.end {
                    break;
                }
                row += 1;
            }
        }
        batch.finish()
    }
}

impl AdjacencyRows for &GapbsSg {
    fn lengths(&self, _: bool, control: &Control) -> Result<Option<Vec<u32>>> {
        if self.offset(0)? != 0 {
            return Ok(None);
        }
        let mut lengths = vec![0; self.vertices as usize];
        let step = (self.window / 8) as usize;
        let ascend = parallel::try_map(lengths.chunks_mut(step).enumerate(), |(i, lengths)| {
            control.check()?;
            let start = OFFSETS + 8 * (i * step) as u64;
            let window = self.file.window(start, start + 8 * (lengths.len() as u64 + 1))?;
            let offsets = window.as_chunks::<8>().0;
            let mut fit = true;
            for (length, pair) in lengths.iter_mut().zip(offsets.windows(2)) {
                let between = i64::from_le_bytes(pair[1]).wrapping_sub(i64::from_le_bytes(pair[0]));
                fit &= u32::try_from(between).is_ok();
                *length = between as u32;
            }
            Ok(fit)
        })?;
        let ascend = ascend.into_iter().all(|fit| fit);
        Ok(ascend.then_some(lengths))
    }

    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        read_in_parts(chunk.arcs.clone(), part, take, |first, into| {
            self.file.read_exact_at(bytemuck::cast_slice_mut(into), self.neighbours_at() + 4 * first)
        })
    }
}

impl Reader for GapbsSg {
    fn rows(&self, _: Bytes, _: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        Ok((!self.directed).then(|| Box::new(self) as Box<dyn AdjacencyRows + '_>))
    }

    fn facts(&self) -> SourceFacts {
        let (declared_vertices, arcs_at_most, has_rows) = (Some(self.vertices), self.arcs, !self.directed);
        SourceFacts { declared_vertices, arcs_at_most, has_rows, ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        self.check_offsets(control)?;
        task.advance(self.neighbours_at());
        let chunks: Vec<Range<u64>> = chunks(0..self.arcs, (self.window / 4).max(1)).collect();
        in_order(&chunks, control, |arcs| {
            let found = self.scan_range(arcs, ArcBatch::new(sink, control))?;
            task.advance(4 * found);
            Ok(found)
        })
    }
}
