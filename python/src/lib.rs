//! The compiled part of the Python package `trimill`.
//!
//! Python code in `trimill/` decides what a caller's object is, and documents everything. Here arrays become an input of the library ([`edges`],
//! [`foreign`], [`stream`]), and a thread counts without the GIL ([`run`]). Results are JSON; warnings go to Python's `logging` ([`messages`]).

mod edges;
mod error;
#[allow(unsafe_code)]
mod foreign;
mod messages;
mod prepared;
mod run;
mod setting;
mod stream;

use pyo3::prelude::*;

/// The module `trimill._native`.
#[pymodule]
mod _native {
    use std::ffi::OsString;

    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use trimill::Options;

    #[pymodule_export]
    use crate::edges::Edges;
    use crate::error::{json, raised};
    use crate::messages;
    #[pymodule_export]
    use crate::prepared::PyPrepared;
    use crate::run::run;
    use crate::setting::options;

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

    /// Reads, cleans and orients `edges`, for several questions.
    #[pyfunction]
    fn prepare(
        py: Python<'_>,
        edges: &Edges,
        settings: &Bound<'_, PyDict>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyPrepared> {
        let (graph, options) = (edges.graph(), options(settings, Vec::new())?);
        run(py, progress, move |control| graph.prepare_with(&options, control)).map(PyPrepared)
    }

    /// The names of all settings.
    #[pyfunction]
    fn setting_names() -> Vec<&'static str> {
        Options::setting_names().collect()
    }

    /// Runs METIS, in the child process that a count starts for it.
    #[pyfunction]
    fn metis_child(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<()> {
        trimill::metis_child(arguments).map_err(|error| raised(py, &error))
    }
}
