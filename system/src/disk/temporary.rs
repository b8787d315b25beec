//! Temporary files and directories that are removed even if their process is killed: at the next start in the same place. The process that uses one
//! holds a lock on it, which the kernel releases however the process ends; [`sweep`] removes what is not locked. Names contain a hash of the machine,
//! because on some shared file systems locks are visible to one machine only. On a file system without locks, nothing is removed.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use super::step;
use crate::error::{Error, Result};

/// How the names of temporary files and directories begin. With another prefix, they would stay after a kill.
const PREFIXES: [&str; 3] = ["trimill-", ".trimill-", ".part-"];

/// A new directory, removed with its contents on drop.
#[derive(Debug)]
pub struct TemporaryDir {
    dir: TempDir,
    /// Dropped after the directory, which must not look unused while it is being emptied.
    _lock: File,
}

impl TemporaryDir {
    pub fn new(parent: &Path, prefix: &str) -> Result<Self> {
        let prefix = marked(prefix);
        let make = || loop {
            let private = Permissions::from_mode(0o700);
            let dir = tempfile::Builder::new().prefix(&prefix).permissions(private).tempdir_in(parent)?;
            // It is not locked yet, so another process may have removed it.
            let lock = match File::open(dir.path()) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            if !is_lost(&lock, dir.path()) {
                return Ok(Self { dir, _lock: lock });
            }
        };
        step(make).map_err(|e| Error::write(parent, e))
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Locks what was made at `path`, if its file system can lock. Returns whether another process removed it first, or is about to.
pub(super) fn is_lost(file: &File, path: &Path) -> bool {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        // Names are random, so nothing else has this one: if it exists, it was not removed before it was locked.
        Ok(()) => !path.exists(),
        Err(error) => error == Errno::WOULDBLOCK,
    }
}

pub(super) fn marked(prefix: &str) -> String {
    format!("{prefix}{}-", machine())
}

fn machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let mut known = rustix::system::uname().nodename().to_bytes().to_vec();
        known.extend(std::fs::read("/etc/machine-id").unwrap_or_default());
        format!("{:016x}", xxh3_64(&known))
    })
}

/// Whether this machine made a temporary file or directory of this name.
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && name.contains(machine())
}

/// Removes temporary files and directories that killed processes of this machine left in `dir`. What cannot be removed stays.
pub fn sweep(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if !is_temporary(&name) {
            continue;
        }
        match swept(&path) {
            Ok(true) => tracing::info!("{}: a process that was killed left it; removed", path.display()),
            Ok(false) => {}
            Err(error) => tracing::debug!("{} cannot be removed ({error})", path.display()),
        }
    }
}

fn swept(path: &Path) -> io::Result<bool> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_dir() && !metadata.is_file() {
        return Ok(false);
    }
    let file = File::open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if metadata.is_dir() => std::fs::remove_dir_all(path).map(|()| true),
        Ok(()) => std::fs::remove_file(path).map(|()| true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::names;
    use crate::disk::{NewFile, PRIVATE};

    #[test]
    fn only_what_nobody_uses_is_swept_away() {
        let dir = tempfile::tempdir().unwrap();
        let used = TemporaryDir::new(dir.path(), "trimill-spill-").unwrap();
        std::fs::write(used.path().join("spill"), "x").unwrap();
        let file = NewFile::create(dir.path(), ".part-00001.spill.", PRIVATE).unwrap();
        let whole = NewFile::create(dir.path(), "trimill-graph-", PRIVATE).unwrap();
        let foreign = ["trimill-spill-0123456789abcdef-abcd", "graph.txt", &format!("other-{}-x", machine())];
        foreign.iter().for_each(|name| std::fs::write(dir.path().join(name), "x").unwrap());
        let before = names(dir.path());
        assert_eq!(before.len(), 6);
        for (name, folder) in [("trimill-run-", true), ("trimill-graph-", false), (".trimill-", false)] {
            let left = dir.path().join(marked(name) + "left");
            match folder {
                true => std::fs::create_dir_all(left.join("below")).unwrap(),
                false => std::fs::write(left, "x").unwrap(),
            }
        }
        assert_eq!(names(dir.path()).len(), 9);
        sweep(dir.path());
        assert_eq!(names(dir.path()), before);
        whole.persist(&dir.path().join("whole")).unwrap();
        drop((used, file));
        sweep(dir.path());
        assert_eq!(names(dir.path()).len(), 4);
        sweep(&dir.path().join("nowhere"));
    }

    #[test]
    fn who_makes_a_folder_while_others_sweep_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        sweep(dir.path());
                    }
                });
            }
            let makers = [(); 2].map(|()| {
                scope.spawn(|| {
                    for _ in 0..3000 {
                        let made = TemporaryDir::new(dir.path(), "trimill-spill-").map_err(|e| e.to_string())?;
                        std::fs::write(made.path().join("spill"), "x").map_err(|e| e.to_string())?;
                    }
                    Ok::<(), String>(())
                })
            });
            let made = makers.map(|maker| maker.join().unwrap());
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(made, [Ok(()), Ok(())]);
        });
    }

    #[test]
    fn what_was_swept_away_before_it_was_locked_is_known_to_be_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        assert!(!is_lost(&file, &path));
        assert!(is_lost(&File::open(&path).unwrap(), &path));
        std::fs::remove_file(&path).unwrap();
        assert!(is_lost(&file, &path));
    }
}
