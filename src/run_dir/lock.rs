//! One process at a time in a run directory.
//!
//! The file `lock` is locked by the kernel as long as the process lives and has it open, so it is free again however that
//! process ends. It says what the directory is, and who is in it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::disk;
use crate::error::{Error, Result};

/// The name of the lock's file.
pub(super) const NAME: &str = "lock";
/// How its text begins: a directory with such a file is this program's, and may be tidied up.
const MAGIC: &str = "trimill run directory, in use by process ";

/// The directory is this process's until the value is dropped.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code)] File);

impl Lock {
    /// Locks `dir`, which is this program's or empty.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when another process is in it, when it holds other things, or cannot be written.
    pub(super) fn take(dir: &Path) -> Result<Self> {
        let path = dir.join(NAME);
        let mut others = std::fs::read_dir(dir).map_err(|e| Error::write(dir, e))?.flatten();
        let alone = others.all(|entry| entry.file_name() == NAME);
        let said = std::fs::read_to_string(&path).unwrap_or_default();
        if !alone && !said.starts_with(MAGIC) {
            return Err(Error::resource("holds files and is no run directory")
                .at(dir)
                .expected("a run directory, an empty directory, or nothing")
                .advice("name another --run-dir"));
        }
        let file = disk::open_or_make(&path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut text = String::new();
                // Only for the message.
                let _ = File::open(&path).and_then(|mut file| file.read_to_string(&mut text));
                let who =
                    text.strip_prefix(MAGIC).map_or("another process".into(), |pid| format!("process {}", pid.trim()));
                return Err(Error::resource(format!("the run directory is in use by {who}"))
                    .at(dir)
                    .advice("wait until it has ended, or name another --run-dir"));
            }
            Err(error) => return Err(Error::write(&path, error.into()).expected("a file system that can lock files")),
        }
        // Always as long, and written over what was there, so that no moment is without the magic once it stood there.
        let text = format!("{MAGIC}{:10}\n", std::process::id());
        disk::write_at(&file, &path, text.as_bytes(), 0)?;
        Ok(Self(file))
    }
}
