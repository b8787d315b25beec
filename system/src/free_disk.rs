//! The free space of a disk; a module of its own, since `disk`, which uses errors, and `error`, which names the free space, both need it.

use std::io;
use std::path::Path;

use crate::bytes::Bytes;

/// More than any job writes.
const UNKNOWN: Bytes = Bytes(1 << 60);

/// The free space for unprivileged users on the disk of `dir`. Some file systems do not report their size; there, anything fits.
pub fn free_disk(dir: &Path) -> io::Result<Bytes> {
    let disk = rustix::fs::statvfs(dir)?;
    Ok(if disk.f_blocks == 0 { UNKNOWN } else { Bytes(disk.f_bavail * disk.f_frsize) })
}
