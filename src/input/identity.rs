//! What tells one input from another without reading all of it: the key of the cache.

use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::error::{Error, Result};

/// Bytes hashed at each end of a file.
const END: u64 = 1 << 16;

/// The identity of all files of an input, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// One for each file; a BVGraph has two.
    pub files: Vec<FileIdentity>,
}

/// The identity of one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The canonical path.
    pub path: PathBuf,
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the last modification: seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
    /// XXH3 (64 bits) of the first and the last 64 KiB.
    pub ends: u64,
}

impl Identity {
    /// Reads what identifies the files at `paths`.
    pub(crate) fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        let files = paths.into_iter().map(|path| FileIdentity::of(path.as_ref())).collect::<Result<_>>()?;
        Ok(Self { files })
    }

    /// A digest of 128 bits of all of it, to name files after.
    pub fn digest(&self) -> u128 {
        let mut bytes = Vec::new();
        for file in &self.files {
            let path = file.path.as_os_str().as_encoded_bytes();
            bytes.extend((path.len() as u64).to_le_bytes());
            bytes.extend(path);
            for number in [file.bytes, file.modified.0 as u64, file.modified.1 as u64, file.ends] {
                bytes.extend(number.to_le_bytes());
            }
        }
        xxh3_128(&bytes)
    }
}

impl FileIdentity {
    fn of(path: &Path) -> Result<Self> {
        let failed = |e| Error::read(path, e);
        let file = std::fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let bytes = metadata.len();
        let mut hash = Xxh3::new();
        let mut end = Vec::new();
        (&file).take(END).read_to_end(&mut end).map_err(failed)?;
        hash.update(&end);
        end.resize(END.min(bytes) as usize, 0);
        file.read_exact_at(&mut end, bytes - bytes.min(END)).map_err(failed)?;
        hash.update(&end);
        Ok(Self {
            path: path.canonicalize().map_err(failed)?,
            bytes,
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            ends: hash.digest(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_change_at_either_end_changes_the_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.txt");
        let write = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            Identity::of([&path]).unwrap()
        };
        let mut bytes = vec![b'1'; 300_000];
        let plain = write(&bytes);
        assert_eq!(plain, write(&bytes));
        assert_eq!(plain.digest(), write(&bytes).digest());
        for at in [0, 299_999] {
            bytes[at] = b'2';
            assert_ne!(plain, write(&bytes));
            assert_ne!(plain.digest(), write(&bytes).digest());
            bytes[at] = b'1';
        }
        bytes.push(b'1');
        assert_ne!(plain, write(&bytes));
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), plain);
    }
}
