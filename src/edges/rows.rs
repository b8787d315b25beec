//! The rows of edges: ids of the input, the smaller first, and triangles, ascending by both ids.

use std::ops::Range;

use crate::table::columns::ColumnValue::{self, Id, U32};
use crate::table::columns::{CountRows, CountsInOrder};
use crate::truss::TrussWanted;
use trimill_graph::Ids;
use trimill_graph::names::Names;
use trimill_system::{Control, Result};

/// About how many edges [`ListedEdges`] hands on at a time.
const AT_A_TIME: usize = 1 << 20;

pub(super) fn names(truss: Option<TrussWanted>) -> Vec<&'static str> {
    vec!["u", "v", if truss.is_some() { "trussness" } else { "triangles" }]
}

/// The smallest number of an edge that is written: edges outside the truss at which peeling ends are left out.
pub(super) fn least(truss: Option<TrussWanted>) -> u32 {
    truss.and_then(|wanted| wanted.until).unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeCount {
    pub u: u64,
    pub v: u64,
    pub triangles: u32,
}

/// The edges whose smaller ends are some consecutive vertices.
pub struct EdgeRows<'a> {
    pub(super) ids: &'a Ids,
    pub(super) first: u32,
    /// CSR offsets of the vertices' edges.
    pub(super) starts: &'a [u64],
    /// The larger end and the triangles of each edge, [`packed`].
    pub(super) edges: &'a [u64],
}

/// An edge's larger end and triangles in one number, which ascends with the end.
pub(super) fn packed(vertex: u32, triangles: u32) -> u64 {
    u64::from(vertex) << 32 | u64::from(triangles)
}

impl CountRows for EdgeRows<'_> {
    type Row = EdgeCount;
    const COLUMNS: &'static [(&'static str, ColumnValue<EdgeCount>)] =
        &[("u", Id(|row| row.u)), ("v", Id(|row| row.v)), ("triangles", U32(|row| row.triangles))];
    const AS_DIFFERENCES: bool = true;

    fn count(&self) -> usize {
        self.edges.len()
    }

    fn names(&self) -> Option<&Names> {
        self.ids.names()
    }

    fn range(&self, places: Range<usize>) -> impl Iterator<Item = EdgeCount> {
        let mut next = self.starts.partition_point(|&start| start <= places.start as u64);
        let id = |next: usize| self.ids.original(self.first + next as u32 - 1);
        let mut u = if places.is_empty() { 0 } else { id(next) };
        places.map(move |place| {
            if self.starts[next] <= place as u64 {
                while self.starts[next] <= place as u64 {
                    next += 1;
                }
                u = id(next);
            }
            let edge = self.edges[place];
            EdgeCount { u, v: self.ids.original((edge >> 32) as u32), triangles: edge as u32 }
        })
    }
}

/// Counts that are listed vertex by vertex, in the order of the ids.
pub struct ListedEdges<'a, F> {
    pub ids: &'a Ids,
    pub vertices: u32,
    pub control: &'a Control,
    pub truss: Option<TrussWanted>,
    /// Lists the edges whose smaller end is a vertex: larger ends, ascending, and triangles.
    pub edges_of: F,
}

impl<I: Iterator<Item = (u32, u32)>, F: Fn(u32) -> I> CountsInOrder for ListedEdges<'_, F> {
    type Rows<'r> = EdgeRows<'r>;

    fn names(&self) -> Vec<&'static str> {
        names(self.truss)
    }

    fn has_names(&self) -> bool {
        self.ids.names().is_some()
    }

    fn in_order(&self, write: &mut dyn FnMut(&EdgeRows<'_>) -> Result<()>) -> Result<()> {
        let (mut first, mut starts, mut edges) = (0, vec![0], Vec::new());
        for vertex in 0..self.vertices {
            self.control.check()?;
            let listed = (self.edges_of)(vertex).filter(|&(_, number)| number >= least(self.truss));
            edges.extend(listed.map(|(v, number)| packed(v, number)));
            starts.push(edges.len() as u64);
            if edges.len() >= AT_A_TIME || vertex + 1 == self.vertices {
                write(&EdgeRows { ids: self.ids, first, starts: &starts, edges: &edges })?;
                first = vertex + 1;
                starts.truncate(1);
                edges.clear();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_rows_has_its_edges() {
        // Vertices 0, 2, 3 and 6 have no edge to a larger one.
        let lists: [&[(u32, u32)]; 7] = [&[], &[(2, 5), (6, 0)], &[], &[], &[(5, u32::MAX)], &[(6, 1)], &[]];
        let table: Vec<u64> = (0..7).map(|vertex| (vertex * vertex) << 40).collect();
        let ids = Ids::listed(table.clone());
        let expected: Vec<EdgeCount> = (0..)
            .zip(lists)
            .flat_map(|(u, list)| list.iter().map(move |&(v, triangles)| (u, v as usize, triangles)))
            .map(|(u, v, triangles): (usize, usize, u32)| EdgeCount { u: table[u], v: table[v], triangles })
            .collect();
        let listed = ListedEdges {
            ids: &ids,
            vertices: 7,
            control: &Control::silent(),
            truss: None,
            edges_of: |u: u32| lists[u as usize].iter().copied(),
        };
        let mut calls = 0;
        listed
            .in_order(&mut |rows| {
                calls += 1;
                assert_eq!(rows.count(), 4);
                for (from, to) in (0..=4).flat_map(|from| (from..=4).map(move |to| (from, to))) {
                    assert_eq!(rows.range(from..to).collect::<Vec<_>>(), expected[from..to]);
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(calls, 1);
    }

    #[test]
    fn many_edges_come_in_chunks() {
        let n = 600_000;
        let ids = Ids::listed((0..n).collect());
        let edges_of = |u: u32| [1, 2].into_iter().map(move |i| (u + i, i)).filter(|&(v, _)| u64::from(v) < n);
        let (mut next, mut chunks) = ((0, 1), 0);
        let listed = ListedEdges { ids: &ids, vertices: n as u32, control: &Control::silent(), truss: None, edges_of };
        listed
            .in_order(&mut |rows| {
                chunks += 1;
                for EdgeCount { u, v, triangles } in rows.range(0..rows.count()) {
                    assert_eq!(((u, v), u64::from(triangles)), (next, v - u));
                    next = if v == u + 1 && v + 1 < n { (u, v + 1) } else { (u + 1, u + 2) };
                }
                Ok(())
            })
            .unwrap();
        assert_eq!((next, chunks), ((n - 1, n), 2));
    }
}
