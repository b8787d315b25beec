//! The outputs of a job besides its result: files of counts, or [`arrays`] of them.

pub mod arrays;

use std::path::PathBuf;

use crate::edges::rows::EdgeRows;
use crate::job::file::OutputTable;
use crate::paths::place::place;
use crate::table::columns::{CountsInOrder, line_bytes};
use crate::table::format::{ALL, COLUMNS, STANDARD_OUTPUT, TEXT, TableFormat};
use crate::table::text::{Compress, TextTable};
use crate::table::{new_file, write};
use crate::truss::TrussWanted;
use crate::vertices;
use crate::vertices::lcc::{LccRows, LccWanted};
use crate::vertices::order::VertexRows;
use crate::vertices::summary::OfDegree;
use trimill_graph::GraphSize;
use trimill_system::disk::{DiskNeed, Output, check_output, file_of_output, parent};
use trimill_system::{Bytes, Error, Result};

#[derive(Debug, Clone, Copy, Default)]
pub struct CountsWanted {
    pub vertices: bool,
    pub edges: bool,
    pub truss: Option<TrussWanted>,
    /// Set if local clustering coefficients of all vertices are wanted: by which arcs, and of which vertices of the input.
    pub lcc: Option<LccWanted>,
    pub bytes_per_thread: Bytes,
}

/// Where devices count triangles, besides the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedAt {
    Nothing,
    Vertices,
    Edges,
}

impl CountsWanted {
    /// If the triangles on edges are wanted, those at vertices follow from them.
    pub fn at(&self) -> CountedAt {
        match (self.edges, self.vertices) {
            (true, _) => CountedAt::Edges,
            (false, true) => CountedAt::Vertices,
            (false, false) => CountedAt::Nothing,
        }
    }

    pub fn is_directed(&self) -> bool {
        self.lcc.is_some_and(|lcc| lcc.directed)
    }
}

impl OutputTable {
    /// The most bytes of a file's chunks that each thread makes or that wait ([`trimill_system::ordered`]).
    pub fn bytes_per_thread(&self) -> Bytes {
        let parquet = |format: Result<TableFormat>| matches!(format, Ok(TableFormat::Parquet));
        let columns = self.per_vertex.iter().any(|path| parquet(TableFormat::of(path, ALL)))
            || self.per_edge.iter().any(|path| parquet(TableFormat::of(path, COLUMNS)));
        if columns { Bytes::mib(24) } else { Bytes::mib(4) }
    }

    /// Whether one of the files of counts is standard output.
    pub fn take_standard_output(&self) -> bool {
        self.count_files().any(|path| path.as_os_str() == STANDARD_OUTPUT)
    }

    /// Checks that the files have known formats.
    pub fn check_names(&self) -> Result<()> {
        self.lcc.iter().try_for_each(|path| vertices::files::lcc_table(path).map(drop))?;
        self.per_vertex.iter().try_for_each(|path| TableFormat::of(path, ALL).map(drop))?;
        let sizes = self.by_degree.iter().chain(&self.by_k);
        sizes.map(|path| TableFormat::of(path, TEXT)).try_for_each(|format| format.map(drop))?;
        self.per_edge.iter().try_for_each(|path| TableFormat::of(path, COLUMNS).map(drop))
    }

    /// The outputs with absolute paths, since other processes may have another current directory.
    pub fn absolute(&self) -> Result<Self> {
        let mut output = self.clone();
        let absolute = |path: &mut PathBuf| -> Result<()> {
            *path = std::path::absolute(&*path).map_err(|error| Error::write(&*path, error))?;
            Ok(())
        };
        output.dir.iter_mut().try_for_each(absolute)?;
        output.counts_mut().into_iter().flat_map(|file| file.path).try_for_each(absolute)?;
        Ok(output)
    }

    /// The outputs with the places that their paths lead to now, to compare them.
    pub fn at_places(&self) -> Self {
        let mut output = self.clone();
        output.dir = output.dir.as_deref().map(place);
        output.counts_mut().into_iter().flat_map(|file| file.path).for_each(|path| *path = place(path));
        output
    }

    /// Checks that the files of counts can be outputs.
    pub fn check_places(&self) -> Result<()> {
        self.count_files().try_for_each(|path| check_output(path))
    }

    /// Disk space of the files for a graph of this size, without the small file by degree. `all`: the most vertices of the input; `ids`: at
    /// most the mean bytes of an id in a list of vertices, and in one of edges.
    pub fn disk_needs(
        &self,
        graph: &GraphSize,
        array_len: Option<u64>,
        all: u64,
        ids: [u64; 2],
    ) -> Result<Vec<DiskNeed>> {
        let vertices =
            (&self.per_vertex, "--per-vertex", [u64::from(graph.vertices); 2], line_bytes::<VertexRows<'_>>(ids[0]));
        // Of a graph that is peeled until a K-truss is left, only its edges are written: perhaps none.
        let fewest = if self.k.is_some() { 0 } else { graph.edges };
        let edges = (&self.per_edge, "--per-edge", [fewest, graph.edges], line_bytes::<EdgeRows<'_>>(ids[1]));
        let mut needs = Vec::new();
        let all = (&self.lcc, "--lcc", [graph.vertices.into(), all], line_bytes::<LccRows<'_>>(ids[0]));
        for (path, option, [fewest, rows], [least, most]) in [vertices, edges, all] {
            let Some(path) = path else { continue };
            // Pipes and devices take no space.
            let Some(file) = file_of_output(path)? else { continue };
            let format = match option {
                "--lcc" => TableFormat::Text(vertices::files::lcc_table(path)?),
                _ => TableFormat::of(path, ALL)?,
            };
            let bytes = match format {
                TableFormat::Text(TextTable { compress: Compress::No, .. }) => {
                    [(least, fewest), (most, rows)].map(|(bytes, rows)| Bytes(bytes.saturating_mul(rows)))
                }
                TableFormat::Npy => [vertices::npy::bytes(array_len.unwrap_or_default()); 2],
                _ => [Bytes::ZERO, Bytes(most.saturating_mul(rows))],
            };
            needs.push(DiskNeed::new(&format!("the file of {option}"), parent(&file), bytes, option));
        }
        Ok(needs)
    }

    /// The file of vertices, if it is an array.
    pub fn array(&self) -> Option<&PathBuf> {
        self.per_vertex.as_ref().filter(|path| matches!(TableFormat::of(path, ALL), Ok(TableFormat::Npy)))
    }

    /// Checks that the formats can hold the graph's ids. Errors, `Kind::Usage`: an array that would be almost empty.
    pub fn check_ids(&self, array_len: Option<u64>) -> Result<()> {
        match self.array() {
            Some(path) => vertices::files::has_array(array_len, path).map(drop),
            None => Ok(()),
        }
    }

    /// Writes each file of vertices, completely or not at all; `finish` gives it its name. Runs in the current thread pool.
    pub fn write_vertices(
        &self,
        counts: &impl for<'r> CountsInOrder<Rows<'r> = VertexRows<'r>>,
        array_len: Option<u64>,
        by_degree: &[OfDegree],
        finish: impl Fn(Output) -> Result<()>,
    ) -> Result<()> {
        let vertices = self.per_vertex.as_deref().map(|path| vertices::files::vertices(path, counts, array_len));
        let degrees = self.by_degree.as_deref().map(|path| vertices::files::degrees(path, by_degree));
        Error::worst_of(vertices.into_iter().chain(degrees).map(|written| written.and_then(&finish)))
    }

    pub fn write_edges(
        &self,
        counts: &impl for<'r> CountsInOrder<Rows<'r> = EdgeRows<'r>>,
        finish: impl Fn(Output) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = self.per_edge.as_deref() else { return Ok(()) };
        let format = TableFormat::of(path, COLUMNS)?;
        finish(new_file(path, |to| write(to, format, counts))?)
    }
}
