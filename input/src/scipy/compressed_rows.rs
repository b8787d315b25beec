//! A matrix in CSR or CSC: the indices of all rows (or columns) in order, and where each row begins.

use std::ops::Range;
use std::sync::OnceLock;

use super::pairs::index;
use crate::arcs::SourceFacts;
use crate::batch::ArcBatch;
use crate::lines::ReadSizes;
use crate::npy::array::NpyArray;
use crate::parallel::{chunks, in_order, map_in_order};
use crate::rows::row_of;
use crate::{ArcSink, Reader};
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};

pub(super) struct CompressedMatrix {
    indptr: NpyArray,
    indices: NpyArray,
    rows: u64,
    /// Whether what this module calls rows are the matrix's columns.
    transposed: bool,
    window: u64,
    checked: OnceLock<()>,
}

impl CompressedMatrix {
    pub(super) fn new(
        indptr: NpyArray,
        indices: NpyArray,
        rows: u64,
        transposed: bool,
        sizes: ReadSizes,
    ) -> Result<Self> {
        let wrong = |found: String, expected: String| {
            Error::data(&indptr.file.path, found)
                .expected(expected)
                .advice("write the matrix again with scipy.sparse.save_npz")
        };
        if indptr.length != rows + 1 {
            return Err(wrong(format!("{} numbers", indptr.length), format!("{}, one more than rows", rows + 1)));
        }
        let (first, last) = (indptr.get(0)?, indptr.get(rows)?);
        if first != 0 || last != indices.length {
            let expected = format!("0 and {}, the number of indices", indices.length);
            return Err(wrong(format!("the first number {first} and the last one {last}"), expected));
        }
        Ok(Self { indptr, indices, rows, transposed, window: sizes.window, checked: OnceLock::new() })
    }

    fn step(&self) -> u64 {
        (self.window / 8).max(1)
    }

    /// Checks that the beginnings of rows ascend; only the first call reads them.
    fn check(&self, control: &Control) -> Result<()> {
        if self.checked.get().is_some() {
            return Ok(());
        }
        let chunks: Vec<_> = chunks(0..self.rows, self.step()).collect();
        map_in_order(&chunks, control, |&Range { start: first, end }| {
            let window = self.indptr.window(first, end + 1)?;
            let mut before = 0;
            for at in 0..=(end - first) as usize {
                let place = first + at as u64;
                let begin = self.indptr.integers.get(&window, at).map_err(|e| self.indptr.negative(place, &e))?;
                if begin < before {
                    let found = format!("{begin} after {before} at place {place}");
                    return Err(Error::data(&self.indptr.file.path, found).expected("numbers that ascend"));
                }
                before = begin;
            }
            Ok(())
        })?;
        let _ = self.checked.set(());
        Ok(())
    }

    fn scan_range(&self, arcs: &Range<u64>, mut batch: ArcBatch<'_>) -> Result<u64> {
        let window = self.indices.window(arcs.start, arcs.end)?;
        let (mut row, mut at) = (row_of(self.rows, arcs.start, |row| self.indptr.get(row))?, arcs.start);
        while at < arcs.end {
            let last = (row + self.step()).min(self.rows);
            let ends = self.indptr.window(row + 1, last + 1)?;
            for number in 0..(last - row) as usize {
                let end = self.indptr.integers.get(&ends, number);
                let end = end.map_err(|e| self.indptr.negative(row + 1 + number as u64, &e))?.min(arcs.end);
                for place in at..end {
                    let other = index(&self.indices, &window, (place - arcs.start) as usize, arcs.start, self.rows)?;
                    let this = row + number as u64;
                    let (tail, head) = if self.transposed { (other, this) } else { (this, other) };
                    batch.push(tail, head)?;
                }
                at = at.max(end);
                if at == arcs.end {
                    break;
                }
            }
            if row == last {
                // The file changed since it was checked.
                return Err(Error::data(&self.indptr.file.path, "rows that do not hold all indices"));
            }
            row = last;
        }
        batch.finish()
    }
}

impl Reader for CompressedMatrix {
    fn facts(&self) -> SourceFacts {
        let (declared_vertices, arcs_at_most) = (Some(self.rows), self.indices.length);
        SourceFacts { declared_vertices, arcs_at_most, ..SourceFacts::default() }
    }

    fn bytes(&self) -> u64 {
        self.indptr.bytes() + self.indices.bytes()
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        self.check(control)?;
        task.advance(self.indptr.bytes());
        let chunks: Vec<Range<u64>> = chunks(0..self.indices.length, self.step()).collect();
        in_order(&chunks, control, |arcs| {
            let found = self.scan_range(arcs, ArcBatch::new(sink, control))?;
            task.advance(found * self.indices.integers.bytes());
            Ok(found)
        })
    }
}
