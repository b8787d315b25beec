//! The free space of a disk; a module of its own, since errors name it.

use std::io;
use std::path::Path;

use crate::bytes::Bytes;

/// The free space for unprivileged users on the disk of `dir`.
pub fn free_disk(dir: &Path) -> io::Result<Bytes> {
    let stat = rustix::fs::statvfs(dir)?;
    Ok(Bytes(stat.f_bavail * stat.f_frsize))
}
