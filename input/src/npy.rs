//! NumPy's `.npy`: an array of `m` rows and two columns of integers, a row for each arc. Integers of 1, 2, 4 or 8 bytes, signed or not, in either
//! byte order; in C or Fortran order. Ids are delivered as stored; a negative one is an error. The file holds this array and nothing else. All
//! threads read; memory: a window per thread.

pub(super) mod array;
pub(super) mod header;

use std::ops::Range;

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::file::InputFile;
use super::lines::ReadSizes;
use super::parallel::{chunks, in_order};
use super::{ArcSink, Reader};
use array::{Negative, NpyArray, NpyIntegers, OF_MATRIX};
use trimill_system::control::{Control, Task};
use trimill_system::text::plural;
use trimill_system::{Error, Result};

pub(super) struct Npy {
    files: Vec<NpyPairs>,
    window: u64,
}

struct NpyPairs {
    array: NpyArray,
    fortran: bool,
    arcs: u64,
}

impl Npy {
    pub(super) fn open(files: Vec<InputFile>, sizes: ReadSizes) -> Result<Self> {
        let files = files.into_iter().map(NpyPairs::open).collect::<Result<_>>()?;
        Ok(Self { files, window: sizes.window })
    }
}

impl NpyPairs {
    fn open(file: InputFile) -> Result<Self> {
        let (start, bytes) = (0, file.bytes);
        let (array, header) = NpyArray::open(file, start, bytes)?;
        let error = |found: String| {
            Error::data(&array.file.path, found).expected("an array of two columns, a row for each edge")
        };
        let arcs = match header.shape[..] {
            [arcs, 2] => arcs,
            [2, columns] => {
                return Err(error(format!("an array of 2 rows and {}", plural(columns, "column", "columns")))
                    .advice("save it transposed: numpy.save(file, edges.T)"));
            }
            [rows, columns] if rows == columns && rows > 2 => {
                return Err(error(format!("an array of {rows} rows and {columns} columns")).advice(OF_MATRIX));
            }
            [rows, columns] if columns > 2 => {
                return Err(error(format!("an array of {} and {columns} columns", plural(rows, "row", "rows")))
                    .advice("save the two columns with the ends of edges: numpy.save(file, edges[:, :2])"));
            }
            _ => {
                return Err(error(format!("an array of shape {}", header.shown_shape()))
                    .advice("save a sparse matrix with scipy.sparse.save_npz"));
            }
        };
        Ok(Self { array, fortran: header.fortran, arcs })
    }

    fn scan(&self, rows: &Range<u64>, mut batch: ArcBatch<'_>) -> Result<u64> {
        let (first, end) = (rows.start, rows.end);
        let count = (end - first) as usize;
        let id = |integers: NpyIntegers, bytes: &[u8], at: usize, arc: usize| {
            integers.get(bytes, at).map_err(|Negative(value)| self.wrong(first + arc as u64, &value.to_string()))
        };
        let mut push = |arc: usize, tail: u64, head: u64| {
            if tail.max(head) == u64::MAX {
                return Err(self.wrong(first + arc as u64, &u64::MAX.to_string()));
            }
            batch.push(tail, head)
        };
        let integers = self.array.integers;
        if self.fortran {
            let tails = self.array.window(first, end)?;
            let heads = self.array.window(self.arcs + first, self.arcs + end)?;
            for arc in 0..count {
                push(arc, id(integers, &tails, arc, arc)?, id(integers, &heads, arc, arc)?)?;
            }
        } else {
            let rows = self.array.window(2 * first, 2 * end)?;
            for arc in 0..count {
                push(arc, id(integers, &rows, 2 * arc, arc)?, id(integers, &rows, 2 * arc + 1, arc)?)?;
            }
        }
        batch.finish()
    }

    fn wrong(&self, row: u64, id: &str) -> Error {
        Error::data(&self.array.file.path, format!("the id {id} in row {row} (the first is 0)"))
            .expected(format!("ids from 0 to {}", u64::MAX - 1))
    }
}

impl Reader for Npy {
    fn facts(&self) -> SourceFacts {
        SourceFacts { arcs_at_most: self.files.iter().map(|edges| edges.arcs).sum(), ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let chunks: Vec<(&NpyPairs, Range<u64>)> = self
            .files
            .iter()
            .flat_map(|edges| {
                let step = (self.window / (2 * edges.array.integers.bytes())).max(1);
                chunks(0..edges.arcs, step).map(move |rows| (edges, rows))
            })
            .collect();
        in_order(&chunks, control, |(edges, rows)| {
            let arcs = edges.scan(rows, ArcBatch::new(sink, control))?;
            task.advance(arcs * 2 * edges.array.integers.bytes());
            Ok(arcs)
        })
    }
}
