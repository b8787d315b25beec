//! Errors of the library as exceptions of Python.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use trimill::{Error, Kind, RunResult};

/// The exception of `trimill/_errors.py` for an error, by its kind and cause, with the program's text and the names of Python's arguments.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        Kind::Data if error.io_kind() == Some(std::io::ErrorKind::NotFound) => "MissingFileError",
        Kind::Data => "DataError",
        Kind::Usage => "UsageError",
        Kind::Resource if error.is_for_memory() => "MemoryBudgetError",
        Kind::Resource => "ResourceError",
        Kind::Interrupted => return PyKeyboardInterrupt::new_err(()),
        _ => "Error",
    };
    let made = || {
        let text = in_python(py, &error.to_string())?;
        let raised = py.import("trimill._errors")?.getattr(class)?.call1((text,))?;
        if let Some(result) = error.answer::<RunResult>() {
            let result =
                py.import("trimill._result")?.getattr("Result")?.call_method1("from_json", (json(py, result)?,))?;
            raised.setattr("result", result)?;
        }
        Ok(raised)
    };
    made().map_or_else(|failed| failed, PyErr::from_value)
}

/// A message of the library, with the names of Python's arguments.
pub(crate) fn in_python<'py>(py: Python<'py>, message: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("trimill._errors")?.call_method1("in_python", (message,))
}

pub(crate) fn json(py: Python<'_>, report: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(report).map_err(|error| raised(py, &Error::defect(error.to_string())))
}
