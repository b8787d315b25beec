//! NumPy's `.npy`: an array of two columns of integers, a row for each arc; and SciPy's COO, an array for each column. Integers have 1, 2, 4 or 8
//! bytes, signed or not, in either byte order, C or Fortran order; a negative id is an error. A file has nothing else. Memory: a window per thread.

pub(super) mod array;
pub(super) mod header;

use std::ops::Range;
use std::sync::Once;

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::file::InputFile;
use super::parallel::{chunks, in_order};
use super::{ArcSink, Reader};
use array::{NpyArray, OF_MATRIX};
use trimill_system::control::{Control, Task};
use trimill_system::text::plural;
use trimill_system::{Error, Result};

pub(super) struct Npy {
    files: Vec<NpyPairs>,
    /// How many vertices are declared, if any: ids are below.
    vertices: Option<u64>,
    window: u64,
    /// Whether it was logged that arcs may be missing.
    cut_noted: Once,
}

struct NpyPairs {
    tails: NpyArray,
    /// `None` if each head follows its tail in the same array.
    heads: Option<NpyArray>,
    arcs: u64,
}

impl Npy {
    pub(super) fn open(files: Vec<InputFile>, window: u64) -> Result<Self> {
        let files = files.into_iter().map(NpyPairs::open).collect::<Result<_>>()?;
        Ok(Self { files, vertices: None, window, cut_noted: Once::new() })
    }

    /// The arrays must have the same length.
    pub(super) fn of_columns(tails: NpyArray, heads: NpyArray, vertices: u64, window: u64) -> Self {
        let pairs = NpyPairs { arcs: tails.length, tails, heads: Some(heads) };
        Self { files: vec![pairs], vertices: Some(vertices), window, cut_noted: Once::new() }
    }
}

impl NpyPairs {
    fn open(file: InputFile) -> Result<Self> {
        let bytes = file.bytes;
        let (array, header) = NpyArray::open(file, 0, bytes)?;
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
        if header.fortran {
            let (tails, heads) = array.halves();
            return Ok(Self { tails, heads: Some(heads), arcs });
        }
        Ok(Self { tails: array, heads: None, arcs })
    }

    fn width(&self) -> u64 {
        self.tails.integers.bytes() + self.heads.as_ref().unwrap_or(&self.tails).integers.bytes()
    }

    /// Delivers some arcs, whose ids must be below `end`.
    fn scan(&self, arcs: &Range<u64>, end: u64, mut batch: ArcBatch<'_>) -> Result<u64> {
        let Range { start: first, end: last } = *arcs;
        let id = |array: &NpyArray, window: &[u8], at: usize, arc: usize| match array.integers.get(window, at) {
            Ok(id) if id < end => Ok(id),
            id => Err(outside(array, id, first + arc as u64, end)),
        };
        let (tails, count) = (&self.tails, (last - first) as usize);
        if let Some(heads) = &self.heads {
            let (from, to) = (tails.window(first, last)?, heads.window(first, last)?);
            for arc in 0..count {
                batch.push(id(tails, &from, arc, arc)?, id(heads, &to, arc, arc)?)?;
            }
        } else {
            let both = tails.window(2 * first, 2 * last)?;
            for arc in 0..count {
                batch.push(id(tails, &both, 2 * arc, arc)?, id(tails, &both, 2 * arc + 1, arc)?)?;
            }
        }
        batch.finish()
    }
}

#[cold]
fn outside(array: &NpyArray, id: Result<u64, i64>, arc: u64, end: u64) -> Error {
    let id = id.map_or_else(i128::from, i128::from);
    Error::data(&array.file.path, format!("the id {id} in arc {arc} (the first is 0)"))
        .expected(format!("ids from 0, below {end}"))
}

impl Reader for Npy {
    fn facts(&self) -> SourceFacts {
        let arcs_at_most = self.files.iter().map(|edges| edges.arcs).sum();
        SourceFacts { declared_vertices: self.vertices, arcs_at_most, ..SourceFacts::default() }
    }

    fn bytes(&self) -> u64 {
        self.files.iter().map(|edges| edges.arcs * edges.width()).sum()
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        // Arrays of SciPy, which declare vertices, have checksums. A file in Fortran order ends with heads.
        for edges in self.files.iter().filter(|_| self.vertices.is_none()) {
            let record = edges.heads.as_ref().map_or(edges.width(), |heads| heads.integers.bytes());
            edges.tails.file.note_zeros(record, &self.cut_noted)?;
        }
        let chunks = self.files.iter().flat_map(|edges| {
            chunks(0..edges.arcs, (self.window / edges.width()).max(1)).map(move |arcs| (edges, arcs))
        });
        let chunks: Vec<(&NpyPairs, Range<u64>)> = chunks.collect();
        in_order(&chunks, control, |(edges, arcs)| {
            let found = edges.scan(arcs, self.vertices.unwrap_or(u64::MAX), ArcBatch::new(sink, control))?;
            task.advance(found * edges.width());
            Ok(found)
        })
    }
}
