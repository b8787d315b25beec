//! The manifest: which spills belong to a job. Input: a [`SpillSummary`] per partition, and a description of the job. Output: `manifest.json` beside
//! the spills, written to a temporary file and renamed; and the manifest that is read from it. The file is [sealed], so any flipped byte is found;
//! `bytes` and `checksum` identify each partition's file, so a spill that was replaced is found, too.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::format::REBUILD;
use super::reader::SpillReader;
use super::writer::SpillSummary;
use crate::partition::prune::Prune;
use trimill_graph::GraphFigures;
use trimill_system::{Error, Result, disk, hex, sealed};

pub const MANIFEST_NAME: &str = "manifest.json";

pub const MANIFEST_VERSION: u32 = 2;

/// Also shown for directories of other programs, so it must not advise to remove anything.
const ADVICE: &str = "name a directory that 'trimill partition' wrote; if this is one, partition the graph again, into another directory";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub version: u32,
    /// The fingerprint of the job; all spills have it.
    #[serde(with = "hex")]
    pub fingerprint: u128,
    pub job: ManifestJob,
    pub vertices: u64,
    pub edges: u64,
    /// What counting the spills needs to know of the graph.
    pub graph: GraphFigures,
    /// In order of their numbers.
    pub partitions: Vec<ManifestPartition>,
}

/// A description of a job for readers; only the fingerprint is compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestJob {
    pub input: String,
    pub partitioner: String,
    pub prune: Prune,
    pub seed: String,
    pub parts: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestPartition {
    pub id: u32,
    pub file: String,
    pub bytes: u64,
    #[serde(with = "hex")]
    pub checksum: u64,
    pub locals: u32,
    pub numbered: u32,
    pub proxies_induced: u64,
    pub proxies_kept: u64,
    pub arcs_induced: u64,
    pub arcs_kept: u64,
    pub resident_arcs: u64,
    pub row_block_arcs: u64,
    pub row_blocks: u32,
    /// Bytes of the largest row block once decoded.
    pub largest_block_bytes: u64,
    /// Bytes of all rows before coding.
    pub raw_bytes: u64,
}

impl From<&SpillSummary> for ManifestPartition {
    fn from(spill: &SpillSummary) -> Self {
        let (all, header, size) = (&spill.header, &spill.header.partition, &spill.header.partition.size);
        Self {
            id: header.partition,
            file: spill.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            bytes: spill.bytes,
            checksum: spill.checksum,
            locals: size.locals as u32,
            numbered: header.numbered,
            proxies_induced: size.proxies_induced,
            proxies_kept: size.proxies_kept,
            arcs_induced: size.arcs_induced,
            arcs_kept: size.arcs_kept,
            resident_arcs: size.resident_arcs,
            row_block_arcs: all.row_block_arcs,
            row_blocks: all.row_blocks,
            largest_block_bytes: spill.largest_block_bytes,
            raw_bytes: all.raw_bytes,
        }
    }
}

impl Manifest {
    /// Writes `dir/manifest.json`, replacing an older one, and returns its path.
    pub fn write(&self, dir: &Path) -> Result<PathBuf> {
        let path = dir.join(MANIFEST_NAME);
        let text = sealed::seal(self).map_err(|error| Error::write(&path, error.into()))?;
        disk::replace(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Reads `dir/manifest.json`. Errors: it is missing, not JSON, of another version, damaged or edited, or names files elsewhere.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST_NAME);
        let unreadable = |error| Error::read(&path, error).advice(ADVICE);
        // To open a named pipe would wait for a writer.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(Error::data(&path, "no regular file").expected("a manifest").advice(ADVICE));
        }
        let text = std::fs::read(&path).map_err(unreadable)?;
        #[derive(Deserialize)]
        struct Any {
            version: u32,
        }
        let not_json = |error: serde_json::Error| {
            let found = format!("not a manifest: {error}");
            Error::data(&path, found).at_line(error.line() as u64).advice(ADVICE)
        };
        let Any { version } = serde_json::from_slice(&text).map_err(not_json)?;
        if version != MANIFEST_VERSION {
            return Err(Error::data(&path, format!("a manifest of version {version}"))
                .expected(format!("version {MANIFEST_VERSION}"))
                .advice(ADVICE));
        }
        let Some(json) = sealed::unseal(&text) else {
            return Err(Error::data(&path, "the checksum at its end is missing or wrong: damaged or edited")
                .expected("the manifest as it was written")
                .advice(ADVICE));
        };
        let manifest: Self = serde_json::from_slice(&json).map_err(not_json)?;
        match manifest.partitions.iter().find(|partition| !is_plain_name(&partition.file)) {
            Some(partition) => {
                Err(Error::data(&path, format!("partition {}: file '{}'", partition.id, partition.file))
                    .expected("the name of a file beside the manifest")
                    .advice(ADVICE))
            }
            None => Ok(manifest),
        }
    }

    /// Opens a partition's spill in `dir`. Errors: it is missing, damaged, of another job, or not the file that the manifest describes.
    pub fn open(&self, dir: &Path, partition: &ManifestPartition) -> Result<SpillReader> {
        let path = dir.join(&partition.file);
        let spill = SpillReader::open(&path, Some(self.fingerprint)).map_err(|error| match error.io_kind() {
            Some(io::ErrorKind::NotFound) => {
                error.expected(format!("partition {}, as the manifest says", partition.id)).advice(REBUILD)
            }
            _ => error,
        })?;
        let found = (spill.header().partition, spill.summary().bytes, spill.summary().checksum);
        let meant = (partition.id, partition.bytes, partition.checksum);
        if found != meant {
            let shown = |(id, bytes, checksum): (u32, u64, u64)| {
                format!("partition {id} in {bytes} bytes with checksum {checksum:016x}")
            };
            return Err(Error::data(&path, shown(found))
                .expected(format!("{}, as the manifest says", shown(meant)))
                .advice(ADVICE));
        }
        Ok(spill)
    }
}

fn is_plain_name(file: &str) -> bool {
    !file.contains('\0') && Path::new(file).file_name().is_some_and(|name| name == file)
}
