//! Compressed sparse rows in a file: ids row after row, and the offsets (here: places) where rows begin. These are `.sg` files, and SciPy's CSR and
//! CSC. Places must ascend (the first scan checks) from 0 to the number of ids, and ids be below that of rows. All threads read: a task owns a range
//! of ids and finds its first row by binary search of the places. Memory: two windows per thread.

use std::ops::Range;
use std::sync::OnceLock;

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::npy::array::NpyArray;
use super::parallel::{chunks, in_order, map_in_order};
use super::rows::row_of;
use super::{ArcSink, Reader};
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};

pub(super) struct CompressedRows {
    /// The place of each row, and the number of ids.
    pub(super) begins: NpyArray,
    pub(super) ids: NpyArray,
    pub(super) vertices: u64,
    /// Whether what this module calls rows are the columns of a matrix.
    transposed: bool,
    window: u64,
    advice: &'static str,
    checked: OnceLock<()>,
}

impl CompressedRows {
    /// `begins` must not be empty.
    pub(super) fn new(
        begins: NpyArray,
        ids: NpyArray,
        transposed: bool,
        window: u64,
        advice: &'static str,
    ) -> Result<Self> {
        let vertices = begins.length - 1;
        let (first, last) = (begins.get(0)?, begins.get(vertices)?);
        if first != 0 || last != ids.length {
            return Err(Error::data(&begins.file.path, format!("the first number {first} and the last one {last}"))
                .expected(format!("0 and {}, the number of ids", ids.length))
                .advice(advice));
        }
        Ok(Self { begins, ids, vertices, transposed, window, advice, checked: OnceLock::new() })
    }

    pub(super) fn step(&self) -> u64 {
        (self.window / 8).max(1)
    }

    /// Checks that the places ascend; only the first call reads them.
    fn check(&self, control: &Control) -> Result<()> {
        if self.checked.get().is_some() {
            return Ok(());
        }
        let chunks: Vec<Range<u64>> = chunks(0..self.vertices, self.step()).collect();
        map_in_order(&chunks, control, |rows| {
            let (window, mut before) = (self.begins.window(rows.start, rows.end + 1)?, 0);
            self.begins.integers.each(&window, |at, begin| {
                let place = rows.start + at as u64;
                let begin = begin.map_err(|value| self.begins.negative(place, value))?;
                if begin < before {
                    let found = format!("{begin} after {before} at place {place}");
                    return Err(self.wrong(found).expected("numbers that ascend"));
                }
                before = begin;
                Ok(())
            })
        })?;
        let _ = self.checked.set(());
        Ok(())
    }

    pub(super) fn scan_range(&self, arcs: &Range<u64>, mut batch: ArcBatch<'_>) -> Result<u64> {
        let window = self.ids.window(arcs.start, arcs.end)?;
        let mut ids = &window[..];
        let (mut row, mut at) = (row_of(self.vertices, arcs.start, |row| self.begins.get(row))?, arcs.start);
        while at < arcs.end {
            let last = (row + self.step()).min(self.vertices);
            if row == last {
                // The file changed since it was checked.
                return Err(self.wrong("rows that do not hold all ids".into()));
            }
            let ends = self.begins.window(row + 1, last + 1)?;
            for (number, this) in (row..last).enumerate() {
                let end = self.begins.integers.get(&ends, number);
                let end = end.map_err(|value| self.begins.negative(this + 1, value))?.clamp(at, arcs.end);
                let (now, later) = ids.split_at(((end - at) * self.ids.integers.bytes()) as usize);
                self.deliver(this, at, now, &mut batch)?;
                (ids, at) = (later, end);
                if at == arcs.end {
                    break;
                }
            }
            row = last;
        }
        batch.finish()
    }

    /// `first`: the place of the first id.
    #[inline(always)]
    fn deliver(&self, row: u64, first: u64, ids: &[u8], batch: &mut ArcBatch<'_>) -> Result<()> {
        self.ids.integers.each(ids, |number, id| match id {
            Ok(id) if id < self.vertices && self.transposed => batch.push(id, row),
            Ok(id) if id < self.vertices => batch.push(row, id),
            id => Err(self.outside(id, row, first + number as u64)),
        })
    }

    #[cold]
    fn outside(&self, id: Result<u64, i64>, row: u64, place: u64) -> Error {
        let id = id.map_or_else(i128::from, i128::from);
        Error::data(&self.ids.file.path, format!("neighbour {id} of vertex {row}, at place {place}"))
            .expected(format!("neighbours from 0 to {}", self.vertices - 1))
    }

    fn wrong(&self, found: String) -> Error {
        Error::data(&self.begins.file.path, found).advice(self.advice)
    }
}

impl Reader for CompressedRows {
    fn facts(&self) -> SourceFacts {
        let (declared_vertices, arcs_at_most) = (Some(self.vertices), self.ids.length);
        SourceFacts { declared_vertices, arcs_at_most, ..SourceFacts::default() }
    }

    fn bytes(&self) -> u64 {
        self.begins.bytes() + self.ids.bytes()
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        self.check(control)?;
        task.advance(self.begins.bytes());
        let width = self.ids.integers.bytes();
        let chunks: Vec<Range<u64>> = chunks(0..self.ids.length, (self.window / width).max(1)).collect();
        in_order(&chunks, control, |arcs| {
            let found = self.scan_range(arcs, ArcBatch::new(sink, control))?;
            task.advance(found * width);
            Ok(found)
        })
    }
}
