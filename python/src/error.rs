//! Errors of the library as exceptions of Python.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use trimill::{Error, Kind, RunResult};

/// The exception for an error: its class, by kind, is in `trimill/_errors.py`; its text is that of the program.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        Kind::Data => "DataError",
        Kind::Usage => "UsageError",
        Kind::Resource => "ResourceError",
        Kind::Defect => "Error",
        Kind::Interrupted => return PyKeyboardInterrupt::new_err(()),
    };
    let made = || {
        let raised = py.import("trimill._errors")?.getattr(class)?.call1((error.to_string(),))?;
        if let Some(result) = error.answer::<RunResult>() {
            let result =
                py.import("trimill._result")?.getattr("Result")?.call_method1("from_json", (json(py, result)?,))?;
            raised.setattr("result", result)?;
        }
        Ok(raised)
    };
    made().map_or_else(|failed| failed, PyErr::from_value)
}

/// A report as JSON.
pub(crate) fn json(py: Python<'_>, report: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(report).map_err(|error| raised(py, &Error::defect(error.to_string())))
}
