//! The cache of oriented graphs: the next job on the same input starts at 'assign'.
//!
//! Each graph has a file ([`trimill_graph::file`]), named by a hash of the input's paths and how it is read; the doubled graph of a directed one
//! has its own. It records the input's identity, which is compared ([`trimill_input::identity`]), so a changed input replaces its graph. Files
//! are renamed into place once complete. Several processes may share the folder, and several users a folder that they name: only regular files
//! of the same user are used, listed, counted or removed; a file that vanishes was removed by another process, which is no error. Above the size
//! limit, the least recently used graphs are evicted. An evicted graph stays readable for a job that has it open.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::report::CacheEntry;
use trimill_graph::OrientedGraph;
use trimill_graph::file::{self, open_file, open_temporary};
use trimill_input::format::Format;
use trimill_input::identity::Identity;
use trimill_input::{ColumnNames, Header};
use trimill_system::{Bytes, Control, Error, Kind, Result, disk};

const SUFFIX: &str = "trimgraf";

/// Why there is no [`cache_dir`].
pub const NO_CACHE: &str = "neither XDG_CACHE_HOME nor HOME names a folder";

/// The source of a graph; a graph file stores it as text in `source`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The version of the program that read the input: another one may read it differently.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    pub format: Format,
    /// Whether the user named the format: then contents are not checked, and raw numbers that begin like an archive are not unpacked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Whether the first line of edge lists was a header, if the user said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// The columns with the ends of edges, if the user named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnNames>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names: bool,
    /// For the doubled graph that counts the directions of edges: the checksum of the graph that it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubled: Option<u64>,
    #[serde(flatten)]
    pub identity: Identity,
}

impl Origin {
    pub fn to_text(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|e| Error::usage(format!("the input's identity cannot be serialized ({e})")))
    }

    fn with(&self, identity: Identity) -> Self {
        Self { identity, ..self.clone() }
    }

    /// The cache key: it does not change when the input files do.
    fn key(&self) -> Result<String> {
        let found_by = self.with(self.identity.paths_only());
        Self { doubled: self.doubled.map(|_| 0), version: String::new(), ..found_by }.to_text()
    }

    /// A text that marks files made from this input: it stays the same while the files' contents do.
    pub fn lasting(&self) -> Result<String> {
        self.with(self.identity.lasting()).to_text()
    }
}

#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
    most: Option<Bytes>,
    /// Whether a job continues without the cache if it cannot be used; false for a folder of a run directory, which later starts need.
    optional: bool,
    /// The option that names another place.
    option: &'static str,
}

impl Cache {
    /// The cache in `dir`, created private if missing; `most`: the most bytes of the user's graphs, by default half of the space free without them.
    pub fn open(dir: &Path, most: Option<Bytes>) -> Result<Self> {
        disk::private_dir(dir)?;
        // A job must not fail after the graph is prepared because the other graphs cannot be listed.
        fs::read_dir(dir).map_err(|e| Error::read(dir, e))?;
        disk::sweep(dir);
        Ok(Self { most, ..Self::existing(dir) })
    }

    /// The cache of a job; `None` (after a warning) if it cannot be used: a result is worth more than a cached graph.
    pub fn of_job(dir: &Path, most: Option<Bytes>) -> Option<Self> {
        let opened = Self::open(dir, most).map(|cache| Self { optional: true, ..cache });
        opened.inspect_err(without_cache).ok()
    }

    /// This user's own cache, for jobs that name none. `None` (after a warning) if it cannot be used.
    pub fn of_user(dir: &Path, most: Option<Bytes>) -> Option<Self> {
        let cache = Self::of_job(dir, most)?;
        let private = disk::keep_private(dir).and_then(|()| cache.check_writable());
        private.inspect_err(without_cache).ok().map(|()| cache)
    }

    /// Whether a graph may be stored: to be known before the input is read.
    pub fn check_writable(&self) -> Result<()> {
        rustix::fs::access(&self.dir, rustix::fs::Access::WRITE_OK).map_err(|e| Error::write(&self.dir, e.into()))
    }

    /// The cache in `dir` as it is, to be listed or emptied; it need not exist.
    pub fn existing(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf(), most: None, optional: false, option: "--cache-dir" }
    }

    /// A folder of the run directory, for the graphs of its job alone.
    pub fn of_run(dir: &Path) -> Result<Self> {
        Ok(Self::open(dir, Some(Bytes(u64::MAX)))?.needed("--run-dir"))
    }

    /// Makes a job fail if it cannot use the cache; `option` names another place.
    pub fn needed(self, option: &'static str) -> Self {
        Self { optional: false, option, ..self }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn option(&self) -> &'static str {
        self.option
    }

    /// Whether a job continues without the cache after `error`; if so, logs a warning.
    pub fn continues_without(&self, error: &Error) -> bool {
        // Paths of temporary files are absolute, that of the folder may be relative.
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let ours = |path: &Path| absolute(path).starts_with(absolute(&self.dir));
        let ours = error.kind() == Kind::Resource && error.path().is_some_and(ours);
        if self.optional && ours {
            without_cache(error);
        }
        self.optional && ours
    }

    /// The path for the graph of `origin`. It differs between users, so they can share a folder.
    fn path_of(&self, origin: &Origin) -> Result<PathBuf> {
        let key = format!("{} {}", rustix::process::geteuid().as_raw(), origin.key()?);
        Ok(self.dir.join(format!("{:016x}.{SUFFIX}", xxh3_64(key.as_bytes()))))
    }

    /// The cached graph of `origin`, if any. If only the contents show whether the input is the same, they are hashed, and `origin` gets the hashes
    /// if the graph was found. A damaged file, or one of another version, counts as missing, after a warning.
    pub fn find(&self, origin: &mut Origin, control: &Control) -> Result<Option<OrientedGraph>> {
        let path = self.path_of(origin)?;
        let file = match disk::open_own(&path) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::warn!("{}: it is made again", Error::read(&path, error));
                return Ok(None);
            }
        };
        let found = self.same(&file, &path, origin, control)?;
        let graph = match found.and_then(|same| same.then(|| open(&file, &path, origin)).transpose()) {
            Err(error) if error.kind() == Kind::Data => {
                tracing::warn!("{}: it is made again", error.unadvised());
                None
            }
            other => other?,
        };
        if graph.is_some() {
            self.used(&file, &path, origin);
        }
        Ok(graph)
    }

    /// Whether the graph in `file` is that of `origin`. The outer error is about the input, the inner one about the graph.
    fn same(&self, file: &File, path: &Path, origin: &mut Origin, control: &Control) -> Result<Result<bool>> {
        let layout = match file::layout_of(file, path) {
            Ok(layout) => layout,
            Err(error) => return Ok(Err(error)),
        };
        let Ok(mut recorded) = serde_json::from_str::<Origin>(&layout.source) else { return Ok(Ok(false)) };
        let made_alike = recorded.doubled == origin.doubled && recorded.version == origin.version;
        if recorded.key()? != origin.key()? || !made_alike {
            return Ok(Ok(false));
        }
        let seen = origin.identity.seen();
        if seen.is_some() && seen == file::seen(file) {
            recorded.identity.refresh_stat(&origin.identity);
        }
        origin.identity.is(&recorded.identity, control).map(Ok)
    }

    /// Records the use of the graph in `file` for `origin`: the time, for eviction, and the input's digest, to save hashing. Failures are harmless.
    fn used(&self, file: &File, path: &Path, origin: &Origin) {
        let _ = file.set_modified(SystemTime::now());
        if let Some(seen) = origin.identity.seen()
            && file::seen(file) != Some(seen)
            && let Ok(Some(file)) = disk::open_own_to_write(path)
        {
            let _ = file::note_seen(&file, path, seen);
        }
    }

    /// Stores and opens the graph of `origin`, evicting others if necessary. A graph above the limit is opened in place, and removed with the job.
    pub fn store(&self, origin: &Origin, oriented: disk::NewFile) -> Result<OrientedGraph> {
        let (others, bytes) = (self.entries()?, oriented.bytes());
        let most = match self.most {
            Some(most) => most,
            None => {
                // The space that would be free without any cached graph, this one included.
                let graphs = others.iter().fold(bytes, |sum, other| sum + other.bytes);
                Bytes((disk::free_space(&self.dir)? + graphs).get() / 2)
            }
        };
        if bytes > most {
            let dir = self.dir.display();
            tracing::info!(
                "the graph takes {bytes} and the cache in {dir} at most {most} (--cache-max): it is not kept"
            );
            return open_temporary(oriented);
        }
        let path = self.path_of(origin)?;
        // Opened before it gets a name under which other processes may remove it.
        let graph = open(oriented.as_file(), &path, origin)?;
        if let Some(seen) = origin.identity.seen() {
            file::note_seen(oriented.as_file(), &path, seen)?;
        }
        oriented.persist(&path)?;
        let mut total = bytes;
        for entry in others.iter().filter(|entry| entry.path != path) {
            total += entry.bytes;
            if total > most {
                log_failure(disk::remove(&entry.path));
            }
        }
        Ok(graph)
    }

    /// All graphs of this user, the most recently used first, even of other versions and damaged ones. One that is not readable has no inputs.
    pub fn entries(&self) -> Result<Vec<CacheEntry>> {
        let failed = |e| Error::read(&self.dir, e);
        let items = match fs::read_dir(&self.dir) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            items => items.map_err(failed)?,
        };
        let mut entries = Vec::new();
        for item in items {
            let path = item.map_err(failed)?.path();
            if path.extension().is_none_or(|suffix| suffix != SUFFIX) {
                continue;
            }
            let Ok(Some(file)) = disk::open_own(&path) else { continue };
            let (Some(_), Ok(metadata)) = (file::version_of(&file), file.metadata()) else { continue };
            let layout = file::layout_of(&file, &path).unwrap_or_default();
            let inputs = serde_json::from_str::<Origin>(&layout.source)
                .map(|source| source.identity.files.into_iter().map(|file| file.path).collect())
                .unwrap_or_default();
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(CacheEntry {
                key: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                inputs,
                vertices: layout.vertices.into(),
                edges: layout.edges,
                bytes: Bytes(metadata.len()),
                idle_seconds: SystemTime::now().duration_since(used).map_or(0, |d| d.as_secs()),
                path,
            });
        }
        entries.sort_by(|a, b| (a.idle_seconds, &a.key).cmp(&(b.idle_seconds, &b.key)));
        Ok(entries)
    }

    /// Removes the graphs that `chosen` selects; returns them. Skips graphs that another process removes at the same time.
    pub fn remove(&self, chosen: impl Fn(&CacheEntry) -> bool) -> Result<Vec<CacheEntry>> {
        let entries = self.entries()?.into_iter().filter(chosen);
        Ok(entries.filter(|entry| log_failure(disk::remove(&entry.path))).collect())
    }
}

/// The named directory, else `$XDG_CACHE_HOME/trimill` or `~/.cache/trimill` (if `HOME` exists); `None` if neither variable names a directory.
/// Relative paths are ignored (XDG Base Directory Specification).
pub fn cache_dir(named: Option<&Path>) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME").filter(|home| home.is_dir())?.join(".cache")));
    named.map(Path::to_path_buf).or_else(|| Some(base()?.join("trimill")))
}

fn open(file: &File, path: &Path, origin: &Origin) -> Result<OrientedGraph> {
    open_file(file, path, origin.doubled.is_some())
}

/// Logs a failed removal, which loses only disk space; returns whether it succeeded.
fn log_failure(done: Result<()>) -> bool {
    done.inspect_err(|error| tracing::debug!("{error}: skipped")).is_ok()
}

fn without_cache(error: &Error) {
    // A limit of file sizes is the same in every folder.
    let is_limit = error.io_kind() == Some(std::io::ErrorKind::FileTooLarge);
    let elsewhere = if is_limit { "" } else { "; name another folder with --cache-dir" };
    tracing::warn!("{error}: the job goes on without the cache{elsewhere}");
}
