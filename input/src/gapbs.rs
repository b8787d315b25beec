//! Serialized graphs of the GAP Benchmark Suite (`.sg`): the memory image of a CSR, little-endian.
//!
//! ```text
//! u8 directed | i64 arcs | i64 n | i64 offsets[n + 1] | i32 neighbours[offsets[n]]
//! ```
//!
//! The transposed graph in a directed graph's file is not read. An undirected graph's file stores every edge from both ends, and both are delivered.
//! `offsets[n]` is checked against the header and the file's size, and the rest as in all [compressed rows](super::compressed_rows).

use std::path::PathBuf;
use std::sync::Once;

use super::arcs::SourceFacts;
use super::compressed_rows::CompressedRows;
use super::file::InputFile;
use super::npy::array::{NpyArray, NpyIntegers};
use super::rows::{AdjacencyRows, MappedRows, RowChunk, read_in_parts};
use super::storage::Storage;
use super::{ArcSink, Reader, check_vertices};
use trimill_system::control::{Control, Task};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, parallel};

const OFFSETS: u64 = 17;

const DAMAGED: &str = "the file is truncated or damaged; write or fetch it again";

pub(super) struct GapbsSg {
    pub(super) rows: CompressedRows,
    directed: bool,
}

/// Whether the graph is directed, the arcs, the vertices.
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
    pub(super) fn open(file: InputFile, window: u64) -> Result<Self> {
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
        let path = PathBuf::from(format!("{}: offsets", file.path.display()));
        let named = InputFile { path, ..file.clone() };
        let offsets = NpyArray::within(named, OFFSETS, vertices + 1, NpyIntegers::I64);
        let arcs = offsets.get(vertices)?;
        let wrong = |found: String| Error::data(&file.path, found).advice(DAMAGED);
        let fits =
            |neighbour| sizes(directed, arcs, vertices, neighbour).is_some_and(|sizes| sizes.contains(&file.bytes));
        match sizes(directed, arcs, vertices, PLAIN) {
            _ if fits(PLAIN) => {}
            _ if fits(WEIGHTED) => {
                return Err(wrong("a weighted graph, as in a .wsg file".into())
                    .expected("a graph without weights")
                    .advice("write it as an edge list: converter -f FILE -w -e NEW.wel, where FILE ends with .wsg"));
            }
            other => {
                let whole = |[_, full]: [u64; 2]| format!("{full} for {vertices} vertices and {arcs} stored arcs");
                return Err(wrong(format!("a size of {} bytes", file.bytes))
                    .expected(other.map_or("another one".into(), whole)));
            }
        }
        if declared != arcs && declared.checked_mul(2) != Some(arcs) {
            return Err(wrong(format!("{arcs} stored arcs")).expected(format!("{declared}, as the header says")));
        }
        // Each of as many rows could be a leaf of vertex 0.
        if !directed && (vertices < 4096 || offsets.get(vertices - 4095)?.saturating_add(4096) <= arcs) {
            file.note_zeros(PLAIN, &Once::new())?;
        }
        let neighbours = NpyArray::within(file, OFFSETS + 8 * (vertices + 1), arcs, NpyIntegers::I32);
        Ok(Self { rows: CompressedRows::new(offsets, neighbours, false, window, DAMAGED)?, directed })
    }
}

impl AdjacencyRows for &GapbsSg {
    fn lengths(&self, _: bool, control: &Control) -> Result<Option<Vec<u32>>> {
        let CompressedRows { begins, vertices, .. } = &self.rows;
        let (mut lengths, step) = (zeros(*vertices as usize), self.rows.step() as usize);
        let ascend = parallel::try_map(lengths.chunks_mut(step).enumerate(), |(i, lengths)| {
            control.check()?;
            let first = (i * step) as u64;
            let window = begins.window(first, first + lengths.len() as u64 + 1)?;
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

    fn mapped(&self, memory: Bytes, control: &Control) -> Result<Option<MappedRows>> {
        let CompressedRows { begins, ids, vertices, .. } = &self.rows;
        if !matches!(ids.file.file, Storage::Local(_)) || self.rows.bytes() > memory.get() {
            return Ok(None);
        }
        let (begins, successors) = (begins.window(0, *vertices + 1)?, ids.window(0, ids.length)?);
        successors.populate(control)?;
        Ok(Some(MappedRows { begins, successors }))
    }

    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        read_in_parts(chunk.arcs.clone(), part, take, |first, into| {
            self.rows.ids.read(first, bytemuck::cast_slice_mut(into))
        })
    }
}

impl Reader for GapbsSg {
    fn rows(&self, _: Bytes, _: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        Ok((!self.directed).then(|| Box::new(self) as Box<dyn AdjacencyRows + '_>))
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts { has_rows: !self.directed, ..self.rows.facts() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        task.advance(OFFSETS);
        self.rows.scan(sink, control, task)
    }
}
