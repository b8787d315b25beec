//! Paths as JSON. A path is bytes, JSON is text: records keep the bytes; reports show text, with U+FFFD for bytes that are not UTF-8.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::url::public;

/// For records that are read again: a string if the path is UTF-8, else its bytes.
pub mod exact {
    use std::ffi::OsString;
    use std::fmt;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    use serde::de::{Error, SeqAccess, Unexpected, Visitor};

    use super::*;

    struct PathVisitor;

    impl<'de> Visitor<'de> for PathVisitor {
        type Value = PathBuf;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("path string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<PathBuf, E> {
            Ok(text.into())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<PathBuf, A::Error> {
            let mut path = Vec::new();
            let no_byte = |_| A::Error::invalid_type(Unexpected::Seq, &self);
            while let Some(byte) = bytes.next_element().map_err(no_byte)? {
                path.push(byte);
            }
            Ok(OsString::from_vec(path).into())
        }
    }

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(path.as_os_str().as_bytes()),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        deserializer.deserialize_any(PathVisitor)
    }
}

#[derive(Serialize, Deserialize)]
struct One(#[serde(with = "exact")] PathBuf);

pub mod optional {
    use super::*;

    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.clone().map(One).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<One>::deserialize(deserializer)?.map(|One(path)| path))
    }
}

/// As [`exact`], for a list; of a URL only what [may be written](public).
pub mod list {
    use super::*;

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| One(public(path).into_owned())))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<One>::deserialize(deserializer)?.into_iter().map(|One(path)| path).collect())
    }
}

/// For reports: bytes that are not UTF-8 become the replacement character.
pub fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&public(path).display())
}

pub fn optional_shown<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| public(path).to_string_lossy().into_owned()).serialize(serializer)
}

pub fn all_shown<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| public(path).to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Record(
        #[serde(with = "exact")] PathBuf,
        #[serde(with = "optional")] Option<PathBuf>,
        #[serde(with = "list")] Vec<PathBuf>,
    );

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
            for record in
                [Record(path.clone(), None, vec![]), Record(path.clone(), Some(path.clone()), vec![path.clone(); 2])]
            {
                let text = serde_json::to_string(&record).unwrap();
                assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record, "{text}");
            }
        }
        let path = PathBuf::from(OsStr::from_bytes(b"a\xe9"));
        let report = Report { file: path.clone(), inputs: vec![path, "b".into()] };
        let shown = serde_json::to_string(&report).unwrap();
        assert_eq!(shown, "{\"file\":\"a\u{fffd}\",\"inputs\":[\"a\u{fffd}\",\"b\"]}");
    }
}
