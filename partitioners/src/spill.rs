//! Spills: partitions on disk, encoded, compressed and checksummed. Input: a partition's header, the ranks of its vertices, and their rows, encoded
//! while they are filtered ([`CodedRows`]). Output: a file per partition, and a manifest naming a job's files. The layout: `docs/spill-format.md`.
//!
//! Invariants: only a complete file has its final name and a valid header. Every byte is under a checksum (the header's own, the index's in
//! the header, the blocks' in the index), so damage is found before data is used. Encoding and decoding run in parallel over blocks of some
//! 100,000 rows and arcs. Memory: what is being written or read, and a few MiB per thread.

pub mod block;
mod codec;
mod coded;
mod format;
mod index;
pub mod manifest;
#[cfg(feature = "testing")]
mod plain;
mod reader;
mod reading;
mod report;
mod source;
mod store;
mod verify;
mod writer;

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use trimill_system::disk;

pub use codec::Codec;
pub(crate) use codec::Encoders;
pub use coded::{CodedRows, CodedSlice, RowMark};
pub use format::{PartitionHeader, SpillHeader};
pub use index::most_bytes;
pub use manifest::{Manifest, ManifestJob, ManifestPartition};
pub use reader::SpillReader;
pub use source::Spilled;
pub use writer::{SpillSummary, SpillWriter};

pub fn file_name(part: u32) -> String {
    format!("part-{part:05}.spill")
}

pub fn is_spill_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let part = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".spill"));
    part.is_some_and(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The fingerprint in the header of a spill of this user, which may be damaged; `None` for anything else.
pub fn fingerprint_of(path: &Path) -> Option<u128> {
    let mut head = [0; 32];
    disk::open_own(path).ok()??.read_exact(&mut head).ok()?;
    let fingerprint = head[16..].try_into().ok()?;
    (head[..8] == format::MAGIC).then(|| u128::from_le_bytes(fingerprint))
}

/// A file in `dir` that has the name of a spill or a manifest and is neither.
pub fn foreign_in(dir: &Path) -> Option<PathBuf> {
    let manifest = dir.join(manifest::MANIFEST_NAME);
    if manifest.symlink_metadata().is_ok() && Manifest::read(dir).is_err() {
        return Some(manifest);
    }
    spills_in(dir).find(|path| fingerprint_of(path).is_none())
}

pub fn spills_in(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| is_spill_name(&entry.file_name())).map(|entry| entry.path())
}
