//! Spills: partitions on disk, encoded, compressed and checksummed.
//!
//! Input: a partition's header, the ranks of its vertices, and their rows, encoded as they are filtered ([`CodedRows`]). Output: one
//! file a partition, and a manifest that names the files of a job. `docs/spill-format.md` has the layout byte by byte.
//!
//! Invariants: a file has its final name, and a valid header, only when it is complete. Every byte is under a checksum: the
//! header's own, the index's (kept in the header), the blocks' (kept in the index), so truncation and flipped bits are
//! found before data is used. Time: encoding and decoding run in parallel over blocks of some 100,000 rows and arcs. Memory:
//! what is being written or read, and a few MiB a thread.

pub mod block;
pub mod codec;
mod coded;
mod encoders;
mod format;
mod index;
pub mod manifest;
#[cfg(feature = "testing")]
mod plain;
mod reader;
mod reading;
mod report;
mod slot;
mod store;
mod verify;
mod writer;

pub use codec::Codec;
pub use coded::{CodedRows, CodedSlice, Mark};
pub use encoders::Encoders;
pub use format::PartitionHeader;
pub use index::most_bytes;
pub use manifest::{Manifest, ManifestGraph, ManifestJob, ManifestPartition};
pub use reader::SpillReader;
pub use writer::{SpillSummary, SpillWriter};
