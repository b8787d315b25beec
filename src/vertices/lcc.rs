//! The local clustering coefficient of every vertex of the input, even without an edge, as LDBC Graphalytics defines it. Input: counts at the
//! vertices with an edge, by ascending id, and which vertices the input has ([`AllVertices`]). Output: rows of all vertices in that order; those
//! without an edge, or with one neighbour, have 0. In a directed graph, neighbours are those by an arc of either direction, and the coefficient is
//! the share of the arcs between them ([`crate::directions`]), two for each pair.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::coefficient;
use super::order::{VertexCount, VertexRows, VerticesOfGraph};
use super::summary::LccSummary;
use crate::table::columns::ColumnValue::{self, F64, Id};
use crate::table::columns::{CountRows, CountsInOrder};
use trimill_graph::names::Names;
use trimill_graph::{Ids, OrientedGraph};
use trimill_system::memory::{HostMemory, Needs};
use trimill_system::{Bytes, Control, Error, Result, parallel};

use trimill_input::VertexList;

const AT_A_TIME: usize = 1 << 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LccWanted {
    /// Whether arcs have a direction, as the user says; `None` if unstated.
    pub asked: Option<bool>,
    /// Whether arcs have a direction, as the user or the input says.
    pub directed: bool,
    /// The most vertices that the input lists in a file of their own.
    pub listed: u64,
}

impl LccWanted {
    /// Adds facts of the input: whether arcs have a direction, and its most vertices. Errors: `Kind::Usage` for directions of an undirected graph.
    pub fn of_input(self, directed: Option<bool>, listed: u64) -> Result<Self> {
        if self.asked == Some(true) && directed == Some(false) {
            return Err(Error::usage("directions of a graph whose properties say that it has none")
                .expected("a directed graph, or no --directed"));
        }
        Ok(Self { directed: self.asked.or(directed).unwrap_or(false), listed, ..self })
    }

    pub fn reads_input(&self) -> bool {
        self.directed || self.listed > 0
    }
}

pub enum AllVertices {
    /// The ids of the input's list of vertices, ascending.
    Listed(Vec<u64>),
    Range(Range<u64>),
    /// Only the vertices with an edge: no others are known.
    WithEdge,
}

impl AllVertices {
    /// For an input without a list of vertices: all ids that it declares or uses, if these have no gaps, else the vertices with an edge.
    pub fn of(graph: &OrientedGraph) -> Self {
        let (first, declared) = (graph.first_declared_id(), graph.report().vertices_declared);
        match graph.declared_lines() {
            Some(lines) if lines == declared => Self::Range(first..first + lines),
            _ => Self::WithEdge,
        }
    }

    fn up_to(&self, id: u64) -> u64 {
        match self {
            Self::Listed(ids) => ids.partition_point(|&listed| listed <= id) as u64,
            Self::Range(ids) => (id + 1).clamp(ids.start, ids.end) - ids.start,
            Self::WithEdge => 0,
        }
    }

    fn count(&self) -> u64 {
        self.up_to(u64::MAX - 1)
    }
}

/// The host memory to compare the vertices of a graph, which takes `held` bytes of memory, with `listed` ones.
pub fn comparing(vertices: u32, held: Bytes, listed: u64) -> Needs {
    Needs::to("compare the vertices with their list")
        .array(8, vertices.into(), "vertices")
        .fixed("the graph in memory", held)
        .array(8, listed, "listed vertices")
}

/// Reads the input's list of vertices, which must have the graph's. Errors: `Kind::Data` if not; `Kind::Resource` if it does not fit.
pub fn listed(list: &VertexList, graph: &OrientedGraph, host: HostMemory, control: &Control) -> Result<Vec<u64>> {
    let vertices = graph.vertices();
    host.left(&comparing(vertices, graph.held_bytes(), list.at_most()))?;
    let (ids, all) = (graph.ids()?, list.read(control)?);
    match first_lacking(&ids, vertices, &all) {
        Some(id) => Err(list.lacks(id)),
        None => Ok(all),
    }
}

/// The id of the first of `vertices` vertices that is not in `all`.
fn first_lacking(ids: &Ids, vertices: u32, all: &[u64]) -> Option<u64> {
    let first_of = |first: usize| {
        let of_chunk = first..(first + AT_A_TIME).min(vertices as usize);
        let mut of_chunk = of_chunk.map(|vertex| ids.original(vertex as u32));
        let mut rest = &all[all.partition_point(|&id| id < ids.original(first as u32))..];
        of_chunk.find(|&id| {
            while let [next, after @ ..] = rest
                && *next < id
            {
                rest = after;
            }
            rest.first() != Some(&id)
        })
    };
    parallel::map((0..vertices as usize).step_by(AT_A_TIME), first_of).into_iter().flatten().next()
}

pub struct LccOfVertices<'a> {
    /// Triangles at the vertices, or the arcs between the neighbours of a directed graph.
    pub counts: VerticesOfGraph<'a>,
    pub all: &'a AllVertices,
    pub names: Option<&'a Names>,
    pub directed: bool,
}

pub struct LccRows<'a> {
    counted: Option<&'a VertexRows<'a>>,
    all: &'a AllVertices,
    places: Range<u64>,
    names: Option<&'a Names>,
    directed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VertexLcc {
    pub id: u64,
    pub value: f64,
}

impl LccOfVertices<'_> {
    /// Runs in the current thread pool.
    pub fn summary(&self) -> Result<LccSummary> {
        let (mut sum, mut with_edge, directed) = (0.0, 0, self.directed);
        self.counts.in_order(&mut |rows| {
            let count = rows.count();
            with_edge += count as u64;
            let of_chunk = |first: usize| -> f64 {
                rows.range(first..count.min(first + AT_A_TIME)).map(|row| lcc(&row, directed)).sum()
            };
            sum += parallel::map((0..count).step_by(AT_A_TIME), of_chunk).into_iter().sum::<f64>();
            Ok(())
        })?;
        let vertices = self.all.count().max(with_edge);
        let average = if vertices == 0 { 0.0 } else { sum / vertices as f64 };
        Ok(LccSummary { directed: self.directed, vertices, average })
    }
}

fn lcc(row: &VertexCount, directed: bool) -> f64 {
    // Two arcs may join a pair of neighbours.
    coefficient(row.degree, row.triangles) / if directed { 2.0 } else { 1.0 }
}

impl CountsInOrder for LccOfVertices<'_> {
    type Rows<'r> = LccRows<'r>;

    fn has_names(&self) -> bool {
        self.names.is_some()
    }

    fn in_order<'s>(&'s self, write: &'s mut dyn FnMut(&LccRows<'_>) -> Result<()>) -> Result<()> {
        let Self { ref counts, all, names, directed } = *self;
        let mut next = 0;
        counts.in_order(&mut |rows| {
            let count = rows.count();
            let Some(last) = rows.range(count.saturating_sub(1)..count).next() else { return Ok(()) };
            let end = all.up_to(last.id);
            let places = std::mem::replace(&mut next, end)..end;
            write(&LccRows { counted: Some(rows), all, places, names, directed })
        })?;
        let count = all.count();
        if next < count {
            write(&LccRows { counted: None, all, places: next..count, names, directed })?;
        }
        Ok(())
    }
}

impl LccRows<'_> {
    fn id(&self, place: usize) -> Option<u64> {
        let of_all = Some(self.places.start + place as u64).filter(|place| *place < self.places.end);
        match self.all {
            AllVertices::Listed(ids) => of_all.map(|place| ids[place as usize]),
            AllVertices::Range(ids) => of_all.map(|place| ids.start + place),
            AllVertices::WithEdge => self.counted?.range(place..place + 1).next().map(|row| row.id),
        }
    }
}

impl CountRows for LccRows<'_> {
    type Row = VertexLcc;
    const COLUMNS: &'static [(&'static str, ColumnValue<VertexLcc>)] =
        &[("id", Id(|row| row.id)), ("lcc", F64(|row| row.value))];
    const AS_DIFFERENCES: bool = false;

    fn count(&self) -> usize {
        match self.all {
            AllVertices::WithEdge => self.counted.map_or(0, CountRows::count),
            AllVertices::Listed(_) | AllVertices::Range(_) => (self.places.end - self.places.start) as usize,
        }
    }

    fn names(&self) -> Option<&Names> {
        self.names
    }

    fn range(&self, places: Range<usize>) -> impl Iterator<Item = VertexLcc> {
        let counted = self.counted.into_iter().flat_map({
            let first = self.id(places.start).unwrap_or(u64::MAX);
            move |rows| rows.range(rows.first_from(first)..rows.count())
        });
        let mut counted = counted.peekable();
        places.filter_map(|place| self.id(place)).map(move |id| {
            let row = counted.next_if(|row| row.id == id);
            VertexLcc { id, value: row.map_or(0.0, |row| lcc(&row, self.directed)) }
        })
    }
}

/// Bytes of the list of vertices, and of the counts of arcs between neighbours, while the file is written.
pub fn bytes(wanted: Option<LccWanted>, vertices: u32) -> Bytes {
    let of = |wanted: LccWanted| {
        let counts = if wanted.directed { 8 * u64::from(vertices) } else { 0 };
        wanted.listed.saturating_mul(8).saturating_add(counts)
    };
    Bytes(wanted.map_or(0, of))
}
