//! Paths as JSON. A path is bytes, and JSON is text: records keep the bytes, reports show a path as far as it is text.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path in a record that is read again: a string if it is UTF-8, else its bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Exact {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for Exact {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.into()),
            None => Self::Bytes(path.as_os_str().as_bytes().into()),
        }
    }
}

impl From<Exact> for PathBuf {
    fn from(path: Exact) -> Self {
        match path {
            Exact::Text(text) => text.into(),
            Exact::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

/// For records that are read again: every byte of a path.
pub mod exact {
    use super::*;

    /// Writes the path.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        Exact::from(path).serialize(serializer)
    }

    /// Reads the path as [`serialize`] wrote it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Exact::deserialize(deserializer).map(Into::into)
    }
}

/// As [`exact`], for a path that may be missing.
pub mod exact_if_any {
    use super::*;

    /// Writes the path, or nothing.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Exact::from).serialize(serializer)
    }

    /// Reads the path as [`serialize`] wrote it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Exact>::deserialize(deserializer)?.map(Into::into))
    }
}

/// As [`exact`], for several paths.
pub mod all_exact {
    use super::*;

    /// Writes the paths.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Exact::from(path.as_path())))
    }

    /// Reads the paths as [`serialize`] wrote them.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<Exact>::deserialize(deserializer)?.into_iter().map(Into::into).collect())
    }
}

/// For reports: bytes that are not UTF-8 are shown as the replacement character.
pub fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// As [`shown`], for several paths.
pub fn all_shown<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Record {
        #[serde(with = "exact")]
        one: PathBuf,
        #[serde(with = "exact_if_any")]
        maybe: Option<PathBuf>,
        #[serde(with = "exact_if_any")]
        none: Option<PathBuf>,
        #[serde(with = "all_exact")]
        all: Vec<PathBuf>,
    }

    #[derive(Serialize)]
    struct Report {
        #[serde(serialize_with = "shown")]
        file: PathBuf,
        #[serde(serialize_with = "all_shown")]
        inputs: Vec<PathBuf>,
    }

    #[test]
    fn records_keep_every_byte_and_reports_show_what_they_can() {
        for bytes in [&b"/a b/\xc3\xa9.txt"[..], b"/a\xe9.txt", b"/b\xe9.txt", b"[1]"] {
            let path = PathBuf::from(OsStr::from_bytes(bytes));
            let record =
                Record { one: path.clone(), maybe: Some(path.clone()), none: None, all: vec![path, "b".into()] };
            let text = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record, "{text}");
        }
        let path = PathBuf::from(OsStr::from_bytes(b"a\xe9"));
        let report = Report { file: path.clone(), inputs: vec![path, "b".into()] };
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            "{\"file\":\"a\u{fffd}\",\"inputs\":[\"a\u{fffd}\",\"b\"]}"
        );
    }
}
