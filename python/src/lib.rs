//! The compiled part of the Python package `trimill`.
//!
//! Python code in `trimill/` decides what a caller's object is, and documents everything. Here its arrays become an input of the library
//! ([`edges`], [`foreign`], [`stream`]), and a count runs in a thread of its own, without the GIL ([`run`]). Results are
//! JSON; warnings go to Python's `logging` ([`messages`]).

mod edges;
mod error;
#[allow(unsafe_code)]
mod foreign;
mod messages;
mod run;
mod setting;
mod stream;
mod table;

use pyo3::prelude::*;

/// The module `trimill._native`.
#[pymodule]
mod _native {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use numpy::PyArray1;
    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use trimill::Options;

    #[pymodule_export]
    use crate::edges::Edges;
    use crate::error::{json, raised};
    use crate::messages;
    use crate::run::run;
    use crate::setting::options;
    use crate::table::{self, Trussness, Vertices};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        messages::collect();
        Ok(())
    }

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Counts the triangles of `edges`; the result as JSON.
    #[pyfunction]
    fn count(
        py: Python<'_>,
        edges: &Edges,
        settings: &Bound<'_, PyDict>,
        metis: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let (graph, options) = (edges.graph(), options(settings, metis)?);
        let result = run(py, progress, move |control| graph.count_with(&options, control))?;
        json(py, &result)
    }

    /// Plans the count of `edges`; the plan as JSON.
    #[pyfunction]
    fn plan(
        py: Python<'_>,
        edges: &Edges,
        settings: &Bound<'_, PyDict>,
        metis: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let (graph, options) = (edges.graph(), options(settings, metis)?);
        let plan = run(py, progress, move |control| graph.plan_with(&options, control))?;
        json(py, &plan)
    }

    /// The columns of arrays that a table of vertices becomes.
    type VertexColumns<'py> =
        (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>);

    /// Reads the table of vertices that a count wrote: `id`, `degree`, `triangles`, `coefficient`.
    #[pyfunction]
    fn read_vertices(py: Python<'_>, path: PathBuf, rows: usize) -> PyResult<VertexColumns<'_>> {
        let read: Vertices = run(py, None, move |control| table::read(&path, rows, control))?;
        Ok((
            PyArray1::from_vec(py, read.ids),
            PyArray1::from_vec(py, read.degrees),
            PyArray1::from_vec(py, read.triangles),
            PyArray1::from_vec(py, read.coefficients),
        ))
    }

    /// The columns of arrays that a table of edges and their trussness becomes.
    type TrussnessColumns<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u32>>);

    /// Reads the table of edges that a truss decomposition wrote: `u`, `v`, `trussness`.
    #[pyfunction]
    fn read_trussness(py: Python<'_>, path: PathBuf, rows: usize) -> PyResult<TrussnessColumns<'_>> {
        let read: Trussness = run(py, None, move |control| table::read(&path, rows, control))?;
        Ok((PyArray1::from_vec(py, read.u), PyArray1::from_vec(py, read.v), PyArray1::from_vec(py, read.trussness)))
    }

    /// The names of all settings.
    #[pyfunction]
    fn setting_names() -> Vec<&'static str> {
        Options::setting_names().to_vec()
    }

    /// Runs METIS: what a process that a count started for it calls.
    #[pyfunction]
    fn metis_child(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<()> {
        trimill::metis_child(arguments).map_err(|error| raised(py, &error))
    }
}
