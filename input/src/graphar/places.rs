//! Where the files of a graph of GraphAr are: in directories, or in an archive. Those on servers are with the [servers](crate::remote).

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::MOST_BYTES;
use trimill_system::{Error, Result};

pub(crate) trait GrapharFiles {
    /// The entries of a folder, sorted; empty if there is no such folder, or if it cannot be listed.
    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>>;

    fn are_listed(&self) -> bool {
        true
    }

    fn read(&self, files: &[PathBuf]) -> Result<Vec<Vec<u8>>>;

    /// The path of `name` in `folder`, as `description` gives it. Archives and servers must not refer to files elsewhere.
    fn joined(&self, description: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
        let mut path = folder.to_path_buf();
        for part in Path::new(name).components() {
            match part {
                Component::CurDir => {}
                Component::Normal(part) => path.push(part),
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(Error::data(description, format!("the path '{name}', which is not below its folder"))
                        .expected("files in the folder of this one, or below it")
                        .advice("if they are beside this file, set 'prefix: ./'"));
                }
            }
        }
        Ok(path)
    }
}

pub(crate) struct LocalGraphar;

impl GrapharFiles for LocalGraphar {
    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        match sorted_entries(folder) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            entries => entries.map_err(|error| Error::read(folder, error)),
        }
    }

    fn read(&self, files: &[PathBuf]) -> Result<Vec<Vec<u8>>> {
        let read = |path: &PathBuf| {
            let unreadable = |error| Error::read(path, error);
            check_length(path, std::fs::metadata(path).map_err(unreadable)?.len())?;
            std::fs::read(path).map_err(unreadable)
        };
        files.iter().map(read).collect()
    }

    fn joined(&self, _: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
        Ok(folder.join(name))
    }
}

/// The paths in a folder, which is the current one if its path is empty.
pub(crate) fn sorted_entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    let paths = entries.map(|entry| entry.map(|entry| folder.join(entry.file_name())));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.sort_unstable();
    Ok(paths)
}

pub(crate) struct ArchivedGraphar {
    members: BTreeMap<PathBuf, usize>,
    contents: HashMap<usize, Vec<u8>>,
}

impl ArchivedGraphar {
    pub(crate) fn new<'a>(members: impl Iterator<Item = (usize, &'a str)>, contents: HashMap<usize, Vec<u8>>) -> Self {
        Self { members: members.map(|(place, name)| (without_dots(Path::new(name)), place)).collect(), contents }
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.members.keys().cloned().collect()
    }

    pub(crate) fn place(&self, path: &Path) -> Option<usize> {
        self.members.get(path).copied()
    }
}

impl GrapharFiles for ArchivedGraphar {
    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let below = self.members.range(folder.to_path_buf()..).map_while(|(path, _)| path.strip_prefix(folder).ok());
        let mut entries: Vec<PathBuf> =
            below.filter_map(|path| path.components().next().map(|name| folder.join(name))).collect();
        entries.dedup();
        Ok(entries)
    }

    fn read(&self, files: &[PathBuf]) -> Result<Vec<Vec<u8>>> {
        let read = |path: &PathBuf| {
            let place = self.place(path).ok_or_else(|| Error::data(path, "is not in the archive"))?;
            self.contents.get(&place).cloned().ok_or_else(|| {
                Error::data(path, "is too long, or is not named as descriptions are")
                    .expected(format!("a name that ends with .graph.yml or .edge.yml, and at most {MOST_BYTES} bytes"))
                    .advice("unpack the archive and name the description of the graph")
            })
        };
        files.iter().map(read).collect()
    }
}

/// A member's path without the `./` with which all names begin in some archives.
pub(crate) fn without_dots(name: &Path) -> PathBuf {
    name.components().filter(|part| *part != Component::CurDir).collect()
}

pub(crate) fn check_length(path: &Path, bytes: u64) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::data(path, format!("{bytes} bytes"))
        .expected(format!("at most {MOST_BYTES}, of a file that says where edges are")))
}
