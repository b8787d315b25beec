//! Counts as arrays in memory, for a caller in this process. They do not count towards the job's budget.

use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use rayon::prelude::*;

use crate::edges::rows::{EdgeCount, EdgeRows};
use crate::table::columns::{CountRows, CountsInOrder};
use crate::vertices::order::{VertexCount, VertexRows};
use trimill_system::mapped::try_zeros;
use trimill_system::{Error, Result, lock};

const AT_A_TIME: usize = 1 << 14;

/// The vertices with an edge, in the order of the input's ids: arrays of one length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VertexColumns {
    /// Ids of the input.
    pub ids: Vec<u64>,
    /// Neighbours of each.
    pub degrees: Vec<u32>,
    /// Triangles with a corner there.
    pub triangles: Vec<u64>,
}

impl VertexColumns {
    /// Each vertex: its id, its neighbours, its triangles.
    ///
    /// ```
    /// use trimill::{Graph, Options};
    ///
    /// let options = Options::new();
    /// let (_, vertices) = Graph::from_edges([(5, 6), (6, 7), (7, 5), (7, 8)]).prepare(&options)?.vertices(&options)?;
    /// let most = vertices.iter().max_by_key(|&(_, degree, _)| degree);
    /// assert_eq!(most, Some((7, 3, 1)));
    /// # Ok::<(), trimill::Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u32, u64)> + DoubleEndedIterator + Clone + '_ {
        let Self { ids, degrees, triangles } = self;
        ids.iter().zip(degrees).zip(triangles).map(|((&id, &degree), &triangles)| (id, degree, triangles))
    }
}

/// The edges, in the order of `u`, then `v`: arrays of one length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EdgeColumns {
    /// The smaller id of each.
    pub u: Vec<u64>,
    /// The larger one.
    pub v: Vec<u64>,
    /// What was counted there: its triangles, or its trussness.
    pub counts: Vec<u32>,
}

impl EdgeColumns {
    /// Each edge: its smaller id, its larger one, and what was counted there.
    ///
    /// ```
    /// use trimill::{Graph, Options};
    ///
    /// let options = Options::new();
    /// let (_, edges) = Graph::from_edges([(5, 6), (6, 7), (7, 5), (7, 8)]).prepare(&options)?.edges(&options)?;
    /// assert_eq!(edges.iter().filter(|&(_, _, triangles)| triangles == 0).collect::<Vec<_>>(), [(7, 8, 0)]);
    /// # Ok::<(), trimill::Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u64, u32)> + DoubleEndedIterator + Clone + '_ {
        let Self { u, v, counts } = self;
        u.iter().zip(v).zip(counts).map(|((&u, &v), &count)| (u, v, count))
    }
}

/// The arrays that a job fills. Clones are the same arrays.
#[derive(Debug, Clone)]
pub enum CountArrays {
    Vertices(Arc<Mutex<VertexColumns>>),
    Edges(Arc<Mutex<EdgeColumns>>),
}

impl PartialEq for CountArrays {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Vertices(mine), Self::Vertices(theirs)) => Arc::ptr_eq(mine, theirs),
            (Self::Edges(mine), Self::Edges(theirs)) => Arc::ptr_eq(mine, theirs),
            _ => false,
        }
    }
}

impl CountArrays {
    /// Fills the arrays of vertices, if these are asked for. Runs in the current thread pool.
    pub fn take_vertices(&self, counts: &impl for<'r> CountsInOrder<Rows<'r> = VertexRows<'r>>) -> Result<()> {
        let Self::Vertices(arrays) = self else { return Ok(()) };
        let arrays = &mut *lock(arrays);
        *arrays = VertexColumns::default();
        let VertexColumns { ids, degrees, triangles } = arrays;
        counts.in_order(&mut |rows| {
            append(rows, ids, degrees, triangles, |VertexCount { id, degree, triangles }| (id, degree, triangles))
        })
    }

    /// Fills the arrays of edges, if these are asked for. Runs in the current thread pool.
    pub fn take_edges(&self, counts: &impl for<'r> CountsInOrder<Rows<'r> = EdgeRows<'r>>) -> Result<()> {
        let Self::Edges(arrays) = self else { return Ok(()) };
        let arrays = &mut *lock(arrays);
        *arrays = EdgeColumns::default();
        let EdgeColumns { u, v, counts: numbers } = arrays;
        counts.in_order(&mut |rows| append(rows, u, v, numbers, |EdgeCount { u, v, triangles }| (u, v, triangles)))
    }
}

pub fn filled<T: Default>(arrays: &Mutex<T>) -> T {
    std::mem::take(&mut *lock(arrays))
}

fn append<R: CountRows, A: Pod + Send, B: Pod + Send, C: Pod + Send>(
    rows: &R,
    first: &mut Vec<A>,
    second: &mut Vec<B>,
    third: &mut Vec<C>,
    values: impl Fn(R::Row) -> (A, B, C) + Sync,
) -> Result<()> {
    let count = rows.count();
    let columns = grown(first, count)?
        .par_chunks_mut(AT_A_TIME)
        .zip(grown(second, count)?.par_chunks_mut(AT_A_TIME))
        .zip(grown(third, count)?.par_chunks_mut(AT_A_TIME));
    columns.enumerate().for_each(|(chunk, ((first, second), third))| {
        let begin = chunk * AT_A_TIME;
        let places = first.iter_mut().zip(second).zip(third);
        for (row, ((first, second), third)) in rows.range(begin..begin + places.len()).zip(places) {
            (*first, *second, *third) = values(row);
        }
    });
    Ok(())
}

/// Appends zeros. A column that comes as a whole is allocated in large pages. Too little memory is an error instead of an abort.
fn grown<T: Pod>(column: &mut Vec<T>, by: usize) -> Result<&mut [T]> {
    let before = column.len();
    let refused = || {
        let found =
            format!("no memory for an array of {} counts of {} bytes", before.saturating_add(by), size_of::<T>());
        Error::memory(found).advice("raise the memory limit, or write the counts to a file: per_vertex or per_edge")
    };
    match before {
        0 => *column = try_zeros(by).ok_or_else(refused)?,
        _ => {
            column.try_reserve(by).map_err(|_| refused())?;
            column.resize(before + by, T::zeroed());
        }
    }
    Ok(&mut column[before..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_beyond_all_memory_are_refused() {
        let most = usize::MAX / size_of::<u64>();
        for mut column in [vec![], vec![7u64]] {
            let error = grown(&mut column, most).unwrap_err();
            assert!(error.is_for_memory() && error.to_string().contains("counts of 8 bytes"), "{error}");
            assert_eq!(grown(&mut column, 2).unwrap(), [0, 0]);
        }
    }
}
