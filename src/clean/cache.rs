//! The cache of oriented graphs: the second job on the same input starts at 'assign'.
//!
//! One file a graph ([`crate::graph::file`]), named by a hash of the input's identity; the identity itself stands in the
//! file and is compared. Files appear by a rename, complete, and are never written again; several processes may share
//! the folder. When it grows past its limit, the graphs that were used longest ago go first. A graph that is mapped by
//! another process stays readable there after it was removed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::Bytes;
use crate::disk;
use crate::error::{Error, Kind, Result};
use crate::graph::OrientedGraph;
use crate::graph::file::{Layout, Place, open, read_layout};
use crate::input::Header;
use crate::input::format::Format;
use crate::input::identity::Identity;
use crate::orient::Oriented;

const SUFFIX: &str = "trimgraf";

/// What a graph was made of: its text is the `source` that graph files note and that entries are found by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Origin {
    /// The format that the input was read in.
    pub format: Format,
    /// Whether the first line of edge lists was a header, where the user said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// The files.
    #[serde(flatten)]
    pub identity: Identity,
}

impl Origin {
    /// The text.
    pub fn to_text(&self) -> String {
        // A value of plain data always has a JSON form; an empty text would only keep the graph out of the cache.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A folder of oriented graphs.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
    most: Option<Bytes>,
}

/// A cached graph, for listing.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What `trimill cache remove` takes.
    pub key: String,
    /// The identity of the input.
    pub source: String,
    /// Vertices with an edge.
    pub vertices: u32,
    /// Edges.
    pub edges: u64,
    /// Bytes on disk.
    pub bytes: Bytes,
    /// Seconds since it was last used.
    pub idle_seconds: u64,
    /// The file.
    pub path: PathBuf,
}

impl Entry {
    /// The files that the graph was made of; none where the entry is not readable.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let source: Option<Origin> = serde_json::from_str(&self.source).ok();
        source.map_or_else(Vec::new, |source| source.identity.files.into_iter().map(|file| file.path).collect())
    }
}

impl Cache {
    /// The cache in `dir`, made if it is not there; `most` bytes at most, or else half of what its disk has free.
    ///
    /// # Errors
    /// [`Kind::Resource`] when the folder cannot be made.
    pub fn open(dir: &Path, most: Option<Bytes>) -> Result<Self> {
        disk::make_dir(dir)?;
        disk::sweep(dir);
        Ok(Self { dir: dir.to_path_buf(), most })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn path_of(&self, source: &str) -> PathBuf {
        self.dir.join(format!("{:016x}.{SUFFIX}", xxh3_64(source.as_bytes())))
    }

    /// The graph of the input `source`, if it is here. A damaged file, or one of another version, is removed with a
    /// warning and counts as absent, so that it is made again.
    ///
    /// # Errors
    /// When a file that is there cannot be read.
    pub fn find(&self, source: &str) -> Result<Option<OrientedGraph>> {
        let path = self.path_of(source);
        if !path.exists() {
            return Ok(None);
        }
        match open(Place::Cached(path.clone())) {
            Ok(graph) if graph.source() == source => {
                // The time of the last use decides what goes first; without it a graph only looks older than it is.
                let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                Ok(Some(graph))
            }
            Ok(_) => Ok(None),
            Err(error) if error.kind() == Kind::Data => {
                tracing::warn!("{error}: it is made again");
                disk::remove(&path)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a graph in, makes room where the limit asks for it, and opens it. A graph that is larger than the limit
    /// is opened where it is, and goes with the job.
    ///
    /// # Errors
    /// [`Kind::Resource`] when it cannot be moved in.
    pub fn store(&self, source: &str, oriented: Oriented) -> Result<OrientedGraph> {
        let most = match self.most {
            Some(most) => most,
            None => {
                Bytes((free_space(&self.dir)?.get() + self.entries()?.iter().map(|e| e.bytes.get()).sum::<u64>()) / 2)
            }
        };
        if oriented.file_bytes > most {
            return open(Place::Temporary(oriented.file));
        }
        let path = self.path_of(source);
        oriented.file.persist(&path)?;
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| entry.idle_seconds);
        let mut total = Bytes::ZERO;
        for entry in entries {
            total += entry.bytes;
            if total > most && entry.path != path {
                disk::remove(&entry.path)?;
            }
        }
        open(Place::Cached(path))
    }

    /// All graphs, the last used first. Files that are no graphs are left out.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for item in fs::read_dir(&self.dir).map_err(|e| Error::read(&self.dir, e))? {
            let path = item.map_err(|e| Error::read(&self.dir, e))?.path();
            if path.extension().is_none_or(|suffix| suffix != SUFFIX) {
                continue;
            }
            // A file may vanish between the listing and here when another process makes room.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let layout = read_layout(&path)
                .unwrap_or_else(|error| Layout { source: format!("(not readable: {error})"), ..Layout::default() });
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry {
                key: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                source: layout.source,
                vertices: layout.vertices,
                edges: layout.edges,
                bytes: Bytes(metadata.len()),
                idle_seconds: SystemTime::now().duration_since(used).map_or(0, |d| d.as_secs()),
                path,
            });
        }
        entries.sort_by(|a, b| (a.idle_seconds, &a.key).cmp(&(b.idle_seconds, &b.key)));
        Ok(entries)
    }

    /// Removes the graphs that `chosen` selects; returns them.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self, chosen: impl Fn(&Entry) -> bool) -> Result<Vec<Entry>> {
        let gone: Vec<Entry> = self.entries()?.into_iter().filter(chosen).collect();
        for entry in &gone {
            disk::remove(&entry.path)?;
        }
        Ok(gone)
    }
}

/// What a user may still write on the disk of `dir`.
///
/// # Errors
/// [`Kind::Resource`] when the system does not tell.
pub fn free_space(dir: &Path) -> Result<Bytes> {
    let stat = rustix::fs::statvfs(dir).map_err(|e| Error::write(dir, e.into()))?;
    Ok(Bytes(stat.f_bavail * stat.f_frsize))
}
