//! Edges as an adjacency matrix in compressed rows.

use std::ops::Range;

use super::column::{Column, get};
use super::edges::{BATCH, EdgeSource, TakeArcs};
use crate::parallel::chunks;
use crate::rows::row_of;
use trimill_system::{Error, Result};

/// Bounds of rows that are read at a time.
const BOUNDS: usize = 1 << 10;

/// An adjacency matrix in compressed sparse rows: row `v` has the columns `indices[indptr[v]..indptr[v + 1]]`, and each is an arc from
/// `v`. In compressed columns it is the same undirected graph.
///
/// Rows need not be sorted. A symmetric matrix without duplicates is prepared fastest.
///
/// ```
/// use trimill::{Csr, Graph, Options};
///
/// // A triangle.
/// let matrix = Csr::new(vec![0u32, 2, 4, 6], vec![1u32, 2, 0, 2, 0, 1])?;
/// assert_eq!(Graph::from_source(matrix).count(&Options::new())?.triangles, 1);
/// # Ok::<(), trimill::Error>(())
/// ```
pub struct Csr<'a> {
    indptr: Box<dyn Column + 'a>,
    indices: Box<dyn Column + 'a>,
}

impl<'a> Csr<'a> {
    /// The matrix with these rows. Reads `indptr` once.
    ///
    /// # Errors
    /// [`Kind::Data`](trimill_system::error::Kind::Data), with the place: an `indptr` that does not ascend from 0 to the length of `indices`.
    pub fn new(indptr: impl Column + 'a, indices: impl Column + 'a) -> Result<Self> {
        let matrix = Self { indptr: Box::new(indptr), indices: Box::new(indices) };
        matrix.check()?;
        Ok(matrix)
    }

    fn check(&self) -> Result<()> {
        let wrong = |found: String, expected: String| Err(Error::data("indptr", found).expected(expected));
        let len = self.indptr.len();
        if len == 0 {
            return wrong("no numbers".into(), "one more than there are rows".into());
        }
        let (mut bounds, mut last) = (vec![0; BOUNDS], 0);
        for places in chunks(0..len, BOUNDS as u64) {
            let bounds = &mut bounds[..(places.end - places.start) as usize];
            self.bounds(places.start, bounds)?;
            for (&bound, place) in bounds.iter().zip(places) {
                if place == 0 && bound != 0 {
                    return wrong(format!("the number {bound} in place 0"), "0, where the first row begins".into());
                }
                if bound < last {
                    return wrong(
                        format!("the number {bound} in place {place}, after {last}"),
                        "numbers that ascend: a row ends where the next one begins".into(),
                    );
                }
                last = bound;
            }
        }
        match self.indices.len() {
            arcs if arcs == last => Ok(()),
            arcs => wrong(format!("the number {last} at the end"), format!("{arcs}, the length of indices")),
        }
    }

    fn bounds(&self, first: u64, bounds: &mut [u64]) -> Result<()> {
        self.indptr.read_ids(first, bounds).map_err(|error| error.at("indptr"))
    }

    fn rows(&self) -> u64 {
        self.indptr.len() - 1
    }
}

impl EdgeSource for Csr<'_> {
    fn arcs(&self) -> u64 {
        self.indices.len()
    }

    fn vertices(&self) -> Option<u64> {
        Some(self.rows())
    }

    fn read(&self, arcs: Range<u64>, take: &mut TakeArcs<'_>) -> Result<()> {
        if arcs.is_empty() {
            return Ok(());
        }
        let (mut heads, mut batch) = (vec![0; BATCH], Vec::with_capacity(BATCH));
        let mut ends = vec![0; BOUNDS];
        let begin = |row| get(&*self.indptr, row).map_err(|error| error.at("indptr"));
        let mut row = row_of(self.rows(), arcs.start, begin)?;
        // The part of `ends` that was read and not used yet.
        let mut ready = 0..0;
        let mut at = arcs.start;
        while at < arcs.end {
            let count = (arcs.end - at).min(BATCH as u64) as usize;
            self.indices.read_ids(at, &mut heads[..count]).map_err(|error| error.at("indices"))?;
            batch.clear();
            let mut rest = &heads[..count];
            while !rest.is_empty() {
                if ready.is_empty() {
                    ready = 0..(self.rows().saturating_sub(row)).min(BOUNDS as u64) as usize;
                    if ready.is_empty() {
                        return Err(Error::data("indptr", "it changed while it was read").advice("count again"));
                    }
                    self.bounds(row + 1, &mut ends[ready.clone()])?;
                }
                let in_row = ends[ready.start].saturating_sub(at).min(rest.len() as u64);
                let (now, later) = rest.split_at(in_row as usize);
                batch.extend(now.iter().map(|&head| (row, head)));
                rest = later;
                at += in_row;
                if !rest.is_empty() {
                    row += 1;
                    ready.start += 1;
                }
            }
            take(&batch)?;
        }
        Ok(())
    }

    fn row_end(&self, tail: u64) -> Option<u64> {
        if tail < self.rows() { get(&*self.indptr, tail + 1).ok() } else { None }
    }

    fn bytes(&self) -> u64 {
        let bytes = |column: &dyn Column| column.len().saturating_mul(column.width());
        bytes(&*self.indices).saturating_add(bytes(&*self.indptr))
    }
}
