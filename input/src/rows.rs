//! Inputs that store rows: all successors of a vertex together, vertices by id. One that lists every edge from both ends, with ascending rows, is
//! clean already: it is oriented row by row without sorting (`src/orient/rows.rs` of `trimill`). The consumer checks that rows ascend, that
//! successors are vertices and that arcs have their reverse. If not, [`scan`](super::arcs::ArcSource::scan) reports what is wrong.

use std::ops::Range;

use super::parallel::chunks;
use super::storage::FilePart;
use trimill_system::mapped::{prefetch, prefetch_all};
use trimill_system::{Bytes, Control, Kind, Result};

/// About how many successors are read at a time.
pub const PART: usize = 1 << 15;

#[derive(Debug, Clone)]
pub struct RowChunk {
    pub ids: Range<u64>,
    /// Its arcs, numbered through all rows from 0.
    pub arcs: Range<u64>,
}

/// Whether every arc has its reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// The input says so; if it is not true, a scan decides whether that is an error.
    Demanded,
    /// Graphs of this form may be directed.
    Unknown,
    Missing,
}

/// The rows of a graph, readable from many threads.
pub trait AdjacencyRows: Sync {
    /// The length of each row, by id from 0; `None` if the input is inconsistent, if a row is too long for the memory, or if the input is known to be
    /// directed and `directed` is false.
    fn lengths(&self, directed: bool, control: &Control) -> Result<Option<Vec<u32>>>;

    /// Known after [`Self::lengths`].
    fn symmetry(&self) -> Symmetry {
        Symmetry::Demanded
    }

    /// The ids at which chunks may begin; `None` if at any. To be called after [`Self::lengths`].
    fn starts(&self) -> Option<Vec<u64>> {
        None
    }

    /// The number of bands of ids; [`Self::read`] reads from the one that was entered last.
    fn bands(&self) -> usize {
        1
    }

    /// Makes a band's rows readable; returns its first id, where a chunk begins. Initially it is the last band. No thread may read then.
    fn enter(&self, _band: usize, _control: &Control) -> Result<u64> {
        Ok(0)
    }

    /// The rows in a mapped file, all of whose pages were read, if these are at most `memory`.
    fn mapped(&self, _memory: Bytes, _control: &Control) -> Result<Option<MappedRows>> {
        Ok(None)
    }

    /// Passes the successors of `chunk` to `take` in order, in parts, until it returns false. `part` is scratch memory.
    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()>;
}

/// Rows of a mapped file, in any order.
pub struct MappedRows {
    /// Where each row begins among all arcs, and the end of the last one.
    pub(super) begins: FilePart,
    pub(super) successors: FilePart,
}

impl MappedRows {
    /// The successors of `id` as little-endian numbers. Empty if the offsets in the file are out of range: the caller then finds too few arcs.
    #[inline]
    pub fn row(&self, id: u32) -> &[[u8; 4]] {
        let begins = self.begins.as_chunks::<8>().0.get(id as usize..).and_then(|begins| begins.first_chunk());
        let [begin, end] = begins.map_or([0; 2], |ends: &[[u8; 8]; 2]| ends.map(u64::from_le_bytes));
        self.successors.as_chunks::<4>().0.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// Successors in two cache lines, and in 32.
    pub const SHORT: usize = 32;
    const LONG: usize = 512;

    #[inline]
    pub fn prefetch_begin(&self, id: u32) {
        prefetch(self.begins.as_chunks::<8>().0, id as usize);
    }

    /// Prefetches the first [`SHORT`](Self::SHORT) successors of the row of `id`.
    #[inline]
    pub fn prefetch_row(&self, id: u32) {
        let row = self.row(id);
        for place in [0, Self::SHORT / 2, row.len().min(Self::SHORT).wrapping_sub(1)] {
            prefetch(row, place);
        }
    }

    /// Prefetches more of the row of `id`, up to the place from which the processor does so itself.
    #[inline]
    pub fn prefetch_long_row(&self, id: u32) {
        let row = self.row(id);
        prefetch_all(row.get(Self::SHORT..row.len().min(Self::LONG)).unwrap_or_default());
    }
}

/// The row of an arc, where arcs are numbered row by row: the last row that begins no later. `begin` gives a row's first arc.
pub(super) fn row_of(rows: u64, arc: u64, begin: impl Fn(u64) -> Result<u64>) -> Result<u64> {
    let (mut low, mut high) = (0, rows);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if begin(middle)? <= arc { low = middle } else { high = middle }
    }
    Ok(low)
}

/// Treats rows that could not be decoded as no rows; the scan then reports the error.
pub(super) fn none_if_damaged<T>(result: Result<Option<T>>) -> Result<Option<T>> {
    result.or_else(|error| if error.kind() == Kind::Data { Ok(None) } else { Err(error) })
}

/// [`AdjacencyRows::read`] for successors that can be read at any position: `fill` reads them from a given arc number on.
pub(super) fn read_in_parts(
    arcs: Range<u64>,
    part: &mut Vec<u32>,
    take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    fill: impl Fn(u64, &mut [u32]) -> Result<()>,
) -> Result<()> {
    for arcs in chunks(arcs, PART as u64) {
        part.resize((arcs.end - arcs.start) as usize, 0);
        fill(arcs.start, part)?;
        if !take(part)? {
            break;
        }
    }
    Ok(())
}
