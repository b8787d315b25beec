//! Allows one process at a time in a run directory; warns if the file system cannot lock files. The file `lock` is locked while the process has it
//! open. Its text names the process and a random id, which only copies of the directory share. It appears atomically, locked and with its text. So a
//! file of that name without the text belongs to another program, as does its directory, and is never written to; except an empty file beside a job's
//! record, whose text a power failure may have erased. A prepared job without the file, such as a copy, gets a new one.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::Path;

use super::record::JobRecord;
use super::{JOB, LOCK, PreparedJob, sealed_file};
use trimill_system::disk::{self, FileLock, NewFile, SHARED};
use trimill_system::{Error, Result};

/// The beginning of the text: a directory with such a lock file is this program's, and may be tidied up.
const MAGIC: &str = "trimill run directory, in use by process ";
/// Separates the process from the id.
const ID: &str = ", id ";
const TEXT: u64 = 96;

/// Locks `dir`, which must be empty, a run directory, or hold a prepared job. Also returns its id.
pub(super) fn take(dir: &Path) -> Result<(FileLock, u64)> {
    let path = dir.join(LOCK);
    if lacks_lock(dir, &path)?
        && let Some(lock) = begin(dir, &path)?
    {
        return Ok(lock);
    }
    let (file, said) = opened(dir, &path)?;
    let (process, id) = said.trim_end().split_once(ID).unwrap_or((said.as_str(), ""));
    // All files here appear by an atomic rename, so a count stays right even if two processes use the directory because nothing can be locked.
    let Some(lock) = FileLock::take(file, dir) else {
        let who = process.strip_prefix(MAGIC).map_or("another process".into(), |pid| format!("process {}", pid.trim()));
        return Err(Error::resource(format!("the run directory is in use by {who}"))
            .at(dir)
            .advice("wait until it has ended, or name another --run-dir"));
    };
    // The text has a fixed length and is overwritten in place, so that the magic is always there.
    let id = u64::from_str_radix(id, 16).unwrap_or_else(|_| new_id());
    disk::write_at(lock.as_file(), &path, text(id).as_bytes(), 0)?;
    Ok((lock, id))
}

/// Fails if [`take`] would refuse `dir` whether or not another process has the lock; changes nothing.
pub(super) fn check(dir: &Path) -> Result<()> {
    let path = dir.join(LOCK);
    if !dir.exists() || lacks_lock(dir, &path)? { Ok(()) } else { opened(dir, &path).map(drop) }
}

/// Opens the lock file at `path` in `dir` without locking it; also returns its text.
fn opened(dir: &Path, path: &Path) -> Result<(File, String)> {
    let mut said = String::new();
    match disk::open_plain_to_write(path).map_err(|e| not_opened(path, e))? {
        // Only the beginning is read: it may be any file.
        Some(file) if (&file).take(TEXT).read_to_string(&mut said).is_ok() && is_ours(&said, dir) => Ok((file, said)),
        _ => Err(Error::resource("holds files and is no run directory")
            .at(dir)
            .expected("a run directory, an empty directory, or nothing")
            .advice("name another --run-dir")),
    }
}

pub(super) fn is_there(dir: &Path) -> bool {
    said_in(dir).is_some()
}

pub(super) fn id_of(dir: &Path) -> Option<u64> {
    said_in(dir).and_then(|said| u64::from_str_radix(said.trim_end().split_once(ID)?.1, 16).ok())
}

fn said_in(dir: &Path) -> Option<String> {
    let (mut said, file) = (String::new(), disk::open_own(&dir.join(LOCK)).ok().flatten()?);
    file.take(TEXT).read_to_string(&mut said).ok()?;
    is_ours(&said, dir).then_some(said)
}

/// Whether a lock file in `dir` that begins with the text `said` is this program's.
fn is_ours(said: &str, dir: &Path) -> bool {
    let has_job = || sealed_file::read::<JobRecord>(&dir.join(JOB)).is_ok_and(|job| job.is_some());
    said.starts_with(MAGIC) || said.is_empty() && has_job()
}

/// Whether a lock may be made in `dir`: if it is empty, or has no file `lock`, but a valid prepared job, and so is this program's.
fn lacks_lock(dir: &Path, lock: &Path) -> Result<bool> {
    let mut there = std::fs::read_dir(dir).map_err(|e| Error::write(dir, e))?.flatten();
    // A lock file that still has its temporary name does not count as another file.
    let is_empty = there.all(|entry| disk::is_temporary(&entry.file_name()));
    let is_absent = || lock.symlink_metadata().is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
    Ok(is_empty || is_absent() && PreparedJob::read(dir).is_ok_and(|prepared| prepared.is_some()))
}

fn not_opened(lock: &Path, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Error::write(lock, error);
    }
    Error::resource(format!("cannot be read and written ({error}): it may be another user's"))
        .at(lock)
        .expected("the lock of a run directory of your own")
        .advice("run trimill as the user who started the job, or name another --run-dir")
}

fn text(id: u64) -> String {
    format!("{MAGIC}{:10}{ID}{id:016x}\n", std::process::id())
}

fn new_id() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Creates the file under a temporary name, locked and with its text; none if another process was first.
fn begin(dir: &Path, path: &Path) -> Result<Option<(FileLock, u64)>> {
    let id = new_id();
    let file = NewFile::create(dir, ".trimill-", SHARED)?.known_as(path);
    file.write_at(text(id).as_bytes(), 0)?;
    // The name must not outlast the text.
    file.sync()?;
    let lock = match file.persist_new(path) {
        // Another process was first, and removed this file as that of a killed process.
        Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) && path.exists() => None,
        lock => lock?,
    };
    if lock.is_some() {
        disk::sync_dir(dir)?;
    }
    Ok(lock.map(|lock| (lock, id)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use trimill_system::error::Kind;

    fn refused(dir: &Path) {
        let error = take(dir).unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        assert!(error.to_string().contains("is no run directory"), "{error}");
    }

    #[test]
    fn a_lock_that_the_program_did_not_make_is_left_as_it_is() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (lock, precious) = (dir.path().join(LOCK), other.path().join("precious"));
        let text = "precious ".repeat(20);
        for foreign in [text.as_str(), "", "trimill run direct", "\u{0}"] {
            fs::write(&lock, foreign).unwrap();
            refused(dir.path());
            assert_eq!(fs::read_to_string(&lock).unwrap(), foreign);
            fs::remove_file(&lock).unwrap();
        }
        let ours = format!("{MAGIC}         1\n");
        for said in [Some(text), Some(ours), None] {
            let _ = fs::remove_file(&precious);
            said.iter().for_each(|said| fs::write(&precious, said).unwrap());
            std::os::unix::fs::symlink(&precious, &lock).unwrap();
            refused(dir.path());
            assert_eq!(fs::read_to_string(&precious).ok(), said);
            fs::remove_file(&lock).unwrap();
        }
        // No process writes to this pipe, and opening it must not wait for one.
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        refused(dir.path());
        fs::remove_file(&lock).unwrap();
        fs::create_dir(&lock).unwrap();
        refused(dir.path());
    }

    #[test]
    fn a_lock_that_this_user_may_not_open_is_no_reason_to_say_that_there_is_none() {
        let said = |number| not_opened(Path::new("run/lock"), io::Error::from_raw_os_error(number)).to_string();
        let denied = said(rustix::io::Errno::ACCESS.raw_os_error());
        for part in ["run/lock: ", "Permission denied", "another user's", "another --run-dir"] {
            assert!(denied.contains(part), "{denied}");
        }
        assert!(!said(rustix::io::Errno::IO.raw_os_error()).contains("user"));
    }

    #[test]
    fn an_empty_directory_is_taken_and_taken_again() {
        let dir = tempfile::tempdir().unwrap();
        let said = || fs::read_to_string(dir.path().join(LOCK)).unwrap();
        let (first, id) = take(dir.path()).unwrap();
        assert_eq!(said(), text(id));
        let error = take(dir.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("in use by process {}", std::process::id())), "{error}");
        // Unlocks even while a copy of the open file exists, as in a process that is being started.
        let copy = first.as_file().try_clone().unwrap();
        drop(first);
        fs::write(dir.path().join("job.json"), "x").unwrap();
        assert_eq!(take(dir.path()).unwrap().1, id);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        drop(copy);
    }
}
