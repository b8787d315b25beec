//! A matrix in COO: an array of rows and one of columns.

use std::ops::Range;

use super::SAVE_AGAIN;
use crate::arcs::SourceFacts;
use crate::batch::ArcBatch;
use crate::lines::ReadSizes;
use crate::npy::array::NpyArray;
use crate::parallel::{chunks, in_order};
use crate::{ArcSink, Reader};
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};

pub(super) struct CoordinatePairs {
    rows: NpyArray,
    columns: NpyArray,
    vertices: u64,
    window: u64,
}

impl CoordinatePairs {
    pub(super) fn new(rows: NpyArray, columns: NpyArray, vertices: u64, sizes: ReadSizes) -> Result<Self> {
        if rows.length != columns.length {
            return Err(Error::data(&columns.file.path, format!("{} columns of entries", columns.length))
                .expected(format!("{}, as there are rows of entries", rows.length))
                .advice(SAVE_AGAIN));
        }
        Ok(Self { rows, columns, vertices, window: sizes.window })
    }
}

impl Reader for CoordinatePairs {
    fn facts(&self) -> SourceFacts {
        let (declared_vertices, arcs_at_most) = (Some(self.vertices), self.rows.length);
        SourceFacts { declared_vertices, arcs_at_most, ..SourceFacts::default() }
    }

    fn bytes(&self) -> u64 {
        self.rows.bytes() + self.columns.bytes()
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let chunks: Vec<_> = chunks(0..self.rows.length, (self.window / 8).max(1)).collect();
        in_order(&chunks, control, |&Range { start: first, end }| {
            let (rows, columns) = (self.rows.window(first, end)?, self.columns.window(first, end)?);
            let mut batch = ArcBatch::new(sink, control);
            for at in 0..(end - first) as usize {
                let tail = index(&self.rows, &rows, at, first, self.vertices)?;
                let head = index(&self.columns, &columns, at, first, self.vertices)?;
                batch.push(tail, head)?;
            }
            task.advance((end - first) * (self.rows.integers.bytes() + self.columns.integers.bytes()));
            batch.finish()
        })
    }
}

/// Element `at` of a window of `array` that begins with element `first`; must be below `vertices`.
#[inline(always)]
fn index(array: &NpyArray, window: &[u8], at: usize, first: u64, vertices: u64) -> Result<u64> {
    match array.integers.get(window, at) {
        Ok(index) if index < vertices => Ok(index),
        Ok(index) => Err(outside(array, &index.to_string(), first + at as u64, vertices)),
        Err(negative) => Err(outside(array, &negative.0.to_string(), first + at as u64, vertices)),
    }
}

#[cold]
fn outside(array: &NpyArray, index: &str, at: u64, vertices: u64) -> Error {
    Error::data(&array.file.path, format!("the index {index} at place {at}, which is outside of the matrix"))
        .expected(format!("indices below {vertices}, from 0"))
}
