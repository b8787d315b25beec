//! All writing to disk: the library makes and changes files only here. Input: bytes and paths. Output: files, or errors that name the file, of
//! [`crate::error::Kind::Resource`]. A file appears complete or not at all: it is written under a temporary name ([`NewFile`]) and renamed. Outputs
//! that users name may also be links, devices or pipes ([`Output`]). Files that are not mapped are read here, too, so [`faults`] can fail a read.

pub mod faults;
mod file_lock;
mod new_file;
mod output;
mod overflow;
mod own;
mod room;
mod temporary;

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};

pub use file_lock::FileLock;
pub use new_file::{NewFile, PRIVATE, SHARED};
pub use output::{Output, TO_REPLACE, check_output, end_of_links, file_of_output, has_appeared, write_outputs};
pub use overflow::{MemoryLimit, Overflow, WaitingBytes};
pub use own::{keep_private, mode_in, open_own, open_own_to_write, open_plain_to_write};
pub use room::{DiskNeed, DiskNeeds, check_room, free_space};
pub use temporary::{TemporaryDir, is_temporary, sweep};

use crate::error::{Error, Result};
use faults::Call;

/// Makes a call that changes a file or a directory, unless a fault is injected.
fn step<T>(act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    faults::inject_at(Call::Write)?;
    act()
}

/// Writes `bytes` by `write`; an injected fault may write only half of them.
fn pass(bytes: &[u8], mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    if let Some(fault) = faults::next(Call::Write) {
        if fault.writes_half_first() {
            write(&bytes[..bytes.len() / 2])?;
        }
        fault.inject()?;
    }
    write(bytes)
}

/// Called before each read of a file that is not mapped, to inject faults.
pub fn before_read() -> io::Result<()> {
    faults::inject_at(Call::Read)
}

pub fn read_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    before_read()?;
    file.read_exact_at(bytes, position)
}

/// As [`read_at`], for bytes that this program wrote. A fault may change them, so the caller must compare a checksum.
pub fn read_back(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    read_at(file, bytes, position)?;
    faults::after_read_back(bytes)
}

/// Makes `dir` and its missing parents.
pub fn make_dir(dir: &Path) -> Result<()> {
    new_dir(dir, 0o777).map(drop)
}

/// As [`make_dir`], for this user alone; returns whether it did not exist.
pub fn private_dir(dir: &Path) -> Result<bool> {
    new_dir(dir, 0o700)
}

fn new_dir(dir: &Path, mode: u32) -> Result<bool> {
    if dir.is_dir() {
        return Ok(false);
    }
    step(|| DirBuilder::new().recursive(true).mode(mode).create(dir)).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::resource("is neither a directory nor a link to one").at(dir).expected("a directory, or nothing yet")
        }
        _ => Error::write(dir, e),
    })?;
    Ok(true)
}

/// A new file without a name on the disk of `dir`; removed when its last handle is closed.
pub fn anonymous(dir: &Path) -> Result<File> {
    step(|| tempfile::tempfile_in(dir)).map_err(|e| Error::write(dir, e))
}

/// At the current position; `path` is for the error.
pub fn write(mut file: &File, path: &Path, bytes: &[u8]) -> Result<()> {
    pass(bytes, |bytes| file.write_all(bytes)).map_err(|e| Error::write(path, e))
}

/// May be called from many threads; `path` is for the error.
pub fn write_at(file: &File, path: &Path, bytes: &[u8], position: u64) -> Result<()> {
    pass(bytes, |bytes| file.write_all_at(bytes, position)).map_err(|e| Error::write(path, e))
}

/// The folder for a job's temporary files by default: `TMPDIR`, or `/tmp` if that is not set or empty.
pub fn temporary_folder() -> PathBuf {
    Some(std::env::temp_dir()).filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| "/tmp".into())
}

/// Makes or replaces the file at `path`: whole or not at all, even after a power failure. Errors: `Kind::Resource`; an older file stays.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let dir = parent(path);
    let file = NewFile::create(dir, ".trimill-", SHARED)?.known_as(path);
    write(file.as_file(), path, bytes)?;
    file.sync()?;
    file.persist(path)?;
    sync_dir(dir)
}

pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Waits until the names in `dir` are on disk; does nothing if it may not be read, or on file systems that cannot sync a directory.
pub fn sync_dir(dir: &Path) -> Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match step(|| File::open(dir).and_then(|dir| faults::sync(&dir))) {
        Err(e) if !matches!(e.kind(), InvalidInput | PermissionDenied | Unsupported) => Err(Error::write(dir, e)),
        _ => Ok(()),
    }
}

pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    pub(super) fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for text in ["one", "another"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["file"]);
        let error = replace(&dir.path().join("gone/file"), b"x").unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        assert!(error.to_string().contains("gone"), "{error}");
    }

    /// Only this module may change files; otherwise a test could not make every write fail.
    #[test]
    fn no_other_module_writes_files() {
        const WRITES: [&str; 11] = [
            "fs::write(", "fs::rename", "fs::create_dir", "File::create", "OpenOptions", "File::options",
            "NamedTempFile", "tempfile_in(", "tempdir_in(", "write_all_at(", "DirBuilder",
        ];
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let packages =
            ["", "counting", "generate", "graph", "input", "kernels", "kernels/baselines", "partitioners", "system"];
        let mut folders: Vec<PathBuf> = packages.map(|package| root.join(package).join("src")).into();
        // `kernels/src/testing` compiles the CUDA sources for tests.
        let is_exempt = |folder: &Path| folder.ends_with("disk") || folder.ends_with("kernels/src/testing");
        let (mut texts, mut only_tests, mut seen) = (Vec::new(), Vec::new(), 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.extend((!is_exempt(&path)).then_some(path));
                    continue;
                }
                if path.ends_with("src/disk.rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                only_tests.extend(test_modules(&text));
                texts.push((path, text));
            }
        }
        for (path, text) in texts {
            // `machine.rs` resets the process's memory peak through a file of /proc, which is not on a disk.
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if name == "machine" || only_tests.contains(&name) {
                continue;
            }
            // Not up to the first `#[cfg(test)]`, which may be before a module in another file, or a helper, with code behind it.
            let code = text.split("mod tests {").next().unwrap().replace("NewFile::create", "");
            seen += 1;
            for call in WRITES {
                let found = code.lines().find(|line| line.contains(call) && !line.trim_start().starts_with("//"));
                assert!(found.is_none(), "{}: {found:?}", path.display());
            }
        }
        assert!(seen > 100, "{seen} files");
    }

    /// The names of the modules that `text` declares for tests only.
    fn test_modules(text: &str) -> Vec<String> {
        let after = text.split("#[cfg(test)]").skip(1);
        let first = after
            .filter_map(|rest| rest.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("#[")));
        first.filter_map(|line| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())).collect()
    }
}
