//! What is counted: files, or arrays of Python that are read where they are.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use trimill::{Csr, EdgeSource, Error, Graph, Pairs};

use crate::error::raised;
use crate::foreign::{self, Array};
use crate::run::run;
use crate::stream;

#[pyclass(frozen, module = "trimill._native")]
pub(crate) struct Edges {
    graph: Arc<Graph<'static>>,
    labels: Option<Vec<String>>,
}

impl Edges {
    pub(crate) fn graph(&self) -> Arc<Graph<'static>> {
        Arc::clone(&self.graph)
    }

    fn of(py: Python<'_>, source: trimill::Result<impl EdgeSource + 'static>) -> PyResult<Self> {
        let source = source.map_err(|error| raised(py, &error))?;
        Ok(Self { graph: Arc::new(Graph::from_source(source)), labels: None })
    }
}

#[pymethods]
impl Edges {
    /// The name of each id, where vertices have names.
    #[getter]
    fn labels(&self) -> Option<&[String]> {
        self.labels.as_deref()
    }

    #[staticmethod]
    fn files(paths: Vec<PathBuf>) -> Self {
        Self { graph: Arc::new(Graph::from_files(paths)), labels: None }
    }

    /// Edges `(tails[i], heads[i])`; ids are below `vertices`, if that is given.
    #[staticmethod]
    fn pairs(
        py: Python<'_>,
        tails: &Bound<'_, PyUntypedArray>,
        heads: &Bound<'_, PyUntypedArray>,
        names: (String, String),
        vertices: Option<u64>,
    ) -> PyResult<Self> {
        let pairs = Pairs::new(Array::new(tails)?, Array::new(heads)?).map(|pairs| {
            let pairs = pairs.named(&names.0, &names.1);
            match vertices {
                Some(n) => pairs.with_vertices(n),
                None => pairs,
            }
        });
        Self::of(py, pairs)
    }

    /// The entries of a matrix in compressed rows, or columns.
    #[staticmethod]
    fn matrix(
        py: Python<'_>,
        indptr: &Bound<'_, PyUntypedArray>,
        indices: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<Self> {
        let (indptr, indices) = (Array::new(indptr)?, Array::new(indices)?);
        let matrix = py.detach(|| Csr::new(indptr, indices));
        Self::of(py, matrix)
    }

    /// The rows of a table, from a capsule with a stream in Arrow's format: its columns named `ends`, or its only two. `once`: the stream can
    /// be read once only, so one without rows is refused as read before.
    #[staticmethod]
    #[pyo3(signature = (capsule, ends = None, once = false))]
    fn table(py: Python<'_>, capsule: &Bound<'_, PyCapsule>, ends: Option<[String; 2]>, once: bool) -> PyResult<Self> {
        let reader = foreign::stream(capsule)?;
        // The stream may wait for something, or run Python, which takes the GIL where it needs it.
        let (pairs, labels) = run(py, None, move |control| {
            let (pairs, labels) = stream::pairs(reader?, ends, control)?;
            if once && pairs.arcs() == 0 {
                return Err(Error::data("table", "a stream without rows, as one that was read before")
                    .expected("edges")
                    .advice("read the stream into a table, and count that as often as needed"));
            }
            Ok((pairs, labels))
        })?;
        Ok(Self { labels, ..Self::of(py, Ok(pairs))? })
    }
}
