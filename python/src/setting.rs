//! Keyword arguments as options of the library.

use std::ffi::OsString;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyString, PyTuple};
use trimill::{Error, Options, Setting};

use crate::error::raised;

/// The options that `settings` name. `metis` is the command that runs METIS; none if it is empty.
///
/// # Errors
/// `UsageError`: an unknown name, with the likely one; a value that the setting cannot have.
pub(crate) fn options(settings: &Bound<'_, PyDict>, metis: Vec<OsString>) -> PyResult<Options> {
    let mut options = Options::new();
    if let Some((program, arguments)) = metis.split_first() {
        options = options.metis_command(program, arguments.iter().cloned());
    }
    for (name, value) in settings {
        let name: String = name.extract()?;
        let value = setting(&name, &value)?;
        options = options.set(&name, value).map_err(|error| raised(settings.py(), &error))?;
    }
    Ok(options)
}

fn setting(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    let refuse =
        |found: String, expected: &str| Err(raised(value.py(), &Error::usage(found).at(name).expected(expected)));
    if value.is_none() {
        return Ok(Setting::Default);
    }
    // Also NumPy's booleans.
    if let Ok(flag) = value.extract::<bool>() {
        return Ok(Setting::Flag(flag));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Setting::Real(number.extract()?));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        let list = value.try_iter()?.map(|item| setting(name, &item?)).collect::<PyResult<_>>()?;
        return Ok(Setting::List(list));
    }
    // NumPy's integers are not of Python's type `int`, but have `__index__`. Its arrays have it, too, but most are no integer.
    if let Some(integer) = converted(value, "operator", "index")? {
        return match integer.extract() {
            Ok(number) => Ok(Setting::Integer(number)),
            Err(_) => refuse("a number of more than 64 bits".into(), "a smaller one"),
        };
    }
    let text = converted(value, "os", "fspath")?.unwrap_or_else(|| value.clone());
    match text.extract() {
        Ok(text) => Ok(Setting::Text(text)),
        Err(_) if text.cast::<PyString>().is_ok() => refuse("a name that is not UTF-8".into(), "another name"),
        Err(_) => refuse(
            format!("a value of the type {}", value.get_type().name()?),
            "text, a number, True or False, a path, or a list",
        ),
    }
}

/// What a function of a module of Python makes of a value; `None` if it does not take values of this type.
fn converted<'py>(value: &Bound<'py, PyAny>, module: &str, function: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match value.py().import(module)?.getattr(function)?.call1((value,)) {
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Ok(None),
        found => found.map(Some),
    }
}
