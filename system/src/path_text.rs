//! Paths as JSON. A path is bytes, and JSON is text: records keep the bytes, reports show a path as far as it is text.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// For records that are read again: a string if the path is UTF-8, else its bytes.
pub mod exact {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes(Vec<u8>),
    }

    /// Writes the path.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => Form::Text(text.into()),
            None => Form::Bytes(path.as_os_str().as_bytes().into()),
        }
        .serialize(serializer)
    }

    /// Reads the path as [`serialize`] wrote it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(text) => text.into(),
            Form::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
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
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Record(#[serde(with = "exact")] PathBuf);

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
            let record = Record(Path::new(OsStr::from_bytes(bytes)).into());
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
