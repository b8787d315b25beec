//! Sealed values in files that are replaced as a whole and survive a loss of power.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use trimill_system::{Error, Kind, Result, disk, sealed};

pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = sealed::seal(value).map_err(|error| Error::write(path, error.into()))?;
    disk::replace(path, text.as_bytes())
}

/// Reads the value back; `None` if there is no file.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    // To read a pipe would wait for its writer.
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        return Err(Error::data(path, "is not a regular file").expected("a file that trimill wrote"));
    }
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| Error::read(path, error))?,
    };
    match sealed::read(&text) {
        Some(value) => Ok(Some(value)),
        None => Err(Error::data(path, "is damaged or edited, or another version of trimill wrote it")),
    }
}

/// As [`read`]; `of` returns the kind that a value states, which must be `kind`.
pub(super) fn read_kind<T: DeserializeOwned>(path: &Path, kind: &str, of: fn(&T) -> &str) -> Result<Option<T>> {
    match read::<T>(path)? {
        Some(value) if of(&value) != kind => {
            Err(Error::data(path, format!("is a '{}'", of(&value))).expected(format!("a '{kind}'")))
        }
        value => Ok(value),
    }
}

/// Treats a damaged file as missing, with a warning that names the consequence `then`.
pub fn unless_damaged<T>(read: Result<Option<T>>, then: &str) -> Result<Option<T>> {
    match read {
        Err(error) if error.kind() == Kind::Data => {
            tracing::warn!("{}: {then}", error.unadvised());
            Ok(None)
        }
        other => other,
    }
}
