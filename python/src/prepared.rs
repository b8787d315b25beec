//! A prepared graph, and the questions that it answers.

use std::ffi::OsString;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trimill::{Control, Options, PreparedGraph, RunResult};

use crate::error::{json, raised};
use crate::run::run;
use crate::setting::options;

#[pyclass(frozen, name = "Prepared", module = "trimill._native")]
pub(crate) struct PyPrepared(pub(crate) PreparedGraph);

type Array64<'py> = Bound<'py, PyArray1<u64>>;
type Array32<'py> = Bound<'py, PyArray1<u32>>;

impl PyPrepared {
    /// The result of `question` as JSON, and its arrays.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        options: Options,
        progress: Option<Py<PyAny>>,
        question: impl FnOnce(&PreparedGraph, &Options, &Control) -> trimill::Result<(RunResult, T)> + Send + 'static,
    ) -> PyResult<(String, T)> {
        let graph = self.0.clone();
        let (result, counts) = run(py, progress, move |control| question(&graph, &options, control))?;
        Ok((json(py, &result)?, counts))
    }
}

#[pymethods]
impl PyPrepared {
    #[getter]
    fn edges(&self) -> u64 {
        self.0.edge_count()
    }

    /// The number of vertices with an edge.
    #[getter]
    fn vertices(&self) -> u32 {
        self.0.vertex_count()
    }

    /// The ids of the vertices with an edge, ascending, and their degrees.
    fn degrees<'py>(&self, py: Python<'py>, settings: &Bound<'_, PyDict>) -> PyResult<(Array64<'py>, Array32<'py>)> {
        let (graph, options) = (&self.0, options(settings, Vec::new())?);
        let arrays = py.detach(move || graph.degrees(&options)).map_err(|error| raised(py, &error))?;
        Ok((PyArray1::from_vec(py, arrays.ids), PyArray1::from_vec(py, arrays.degrees)))
    }

    /// Counts the triangles; the result as JSON.
    fn count(
        &self,
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        metis: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let count =
            |graph: &PreparedGraph, options: &Options, control: &Control| Ok((graph.count_with(options, control)?, ()));
        Ok(self.ask(py, options(settings, metis)?, progress, count)?.0)
    }

    /// Counts the triangles at each vertex with an edge: the result, and arrays of ids, degrees and triangles.
    fn at_vertices<'py>(
        &self,
        py: Python<'py>,
        settings: &Bound<'_, PyDict>,
        metis: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, Array64<'py>, Array32<'py>, Array64<'py>)> {
        let (result, arrays) = self.ask(py, options(settings, metis)?, progress, PreparedGraph::vertices_with)?;
        let ids = PyArray1::from_vec(py, arrays.ids);
        Ok((result, ids, PyArray1::from_vec(py, arrays.degrees), PyArray1::from_vec(py, arrays.triangles)))
    }

    /// Counts the triangles on each edge or, with the setting `truss`, finds its trussness: the result, and arrays of both ends and these numbers.
    fn on_edges<'py>(
        &self,
        py: Python<'py>,
        settings: &Bound<'_, PyDict>,
        metis: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, Array64<'py>, Array64<'py>, Array32<'py>)> {
        let (result, arrays) = self.ask(py, options(settings, metis)?, progress, PreparedGraph::edges_with)?;
        let u = PyArray1::from_vec(py, arrays.u);
        Ok((result, u, PyArray1::from_vec(py, arrays.v), PyArray1::from_vec(py, arrays.counts)))
    }
}
