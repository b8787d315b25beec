//! Files and folders that are the user's own. In a folder that others can write to, a name may refer to anything: a link, a pipe, another user's
//! file. So files that the program made on an earlier start are opened without following links and without waiting, and used only if they are regular
//! files of the same (effective) user, which nobody else can create.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{PRIVATE, SHARED, step};
use crate::error::{Error, Result};

/// `None` if there is no such file, or it is not this user's.
pub fn open_own(path: &Path) -> io::Result<Option<File>> {
    opened_own(File::options().read(true), path)
}

/// As [`open_own`], for overwriting its bytes.
pub fn open_own_to_write(path: &Path) -> io::Result<Option<File>> {
    opened_own(File::options().write(true), path)
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw()
}

fn opened(how: &mut OpenOptions, path: &Path, will_do: fn(&Metadata) -> bool) -> io::Result<Option<File>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match how.custom_flags(flags.bits() as i32).open(path) {
        Ok(file) => Ok(will_do(&file.metadata()?).then_some(file)),
        Err(e) => match Errno::from_io_error(&e) {
            // Missing, a link, a pipe or a socket, a folder.
            Some(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ISDIR) => Ok(None),
            _ => Err(e),
        },
    }
}

fn opened_own(how: &mut OpenOptions, path: &Path) -> io::Result<Option<File>> {
    match opened(how, path, is_own) {
        // Another user's file.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        other => other,
    }
}

/// Opens a regular file of any user for reading and writing; `None` if there is none. Errors: this user may not read and write it.
pub fn open_plain_to_write(path: &Path) -> io::Result<Option<File>> {
    opened(File::options().read(true).write(true), path, Metadata::is_file)
}

/// The mode of a new file in `dir`, before the umask: users who may not read the folder may not read the file either.
pub fn mode_in(dir: &Path) -> u32 {
    dir.metadata().map_or(PRIVATE, |metadata| metadata.mode() & SHARED)
}

/// Takes all rights to `dir`, which must be this user's, from other users. Errors: `Kind::Resource` if it belongs to another user.
pub fn keep_private(dir: &Path) -> Result<()> {
    let failed = |e| Error::write(dir, e);
    let metadata = dir.metadata().map_err(failed)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::resource(format!("belongs to user {}", metadata.uid()))
            .at(dir)
            .expected("a folder of your own"));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    step(|| std::fs::set_permissions(dir, Permissions::from_mode(mode & !0o077))).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::{make_dir, private_dir};

    #[test]
    fn only_regular_files_of_the_user_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "mine").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        std::os::unix::fs::symlink(path("nowhere"), path("dangling")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        for open in [open_own, open_own_to_write] {
            assert!(open(&path("file")).unwrap().is_some());
            for name in ["link", "dangling", "folder", "pipe", "nothing"] {
                assert!(open(&path(name)).unwrap().is_none(), "{name}");
            }
        }
        // A system file, which belongs to another user unless the tests run as root.
        let root = rustix::process::geteuid().is_root();
        assert_eq!(open_own(Path::new("/etc/passwd")).unwrap().is_some(), root);
        assert!(open_plain_to_write(&path("link")).unwrap().is_none() && !path("nowhere").exists());
        // Only root may open a file without any rights.
        fs::set_permissions(path("file"), Permissions::from_mode(0o000)).unwrap();
        assert_eq!(open_own(&path("file")).unwrap().is_some(), root);
        let denied = |e: io::Error| e.kind() == io::ErrorKind::PermissionDenied;
        assert_eq!(open_plain_to_write(&path("file")).is_err_and(denied), !root);
    }

    #[test]
    fn private_folders_are_for_the_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert!(private_dir(&inner).unwrap() && !private_dir(&inner).unwrap());
        assert_eq!((mode(&inner), mode(&dir.path().join("a"))), (0o700, 0o700));
        fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
        keep_private(&inner).unwrap();
        assert_eq!(mode(&inner), 0o700);
        assert_eq!((mode_in(&inner), mode_in(&dir.path().join("nowhere"))), (0o600, 0o600));
        fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(mode_in(&inner), 0o644);
        fs::write(inner.join("file"), "x").unwrap();
        for error in [make_dir(&inner.join("file")), private_dir(&inner.join("file")).map(drop)] {
            assert!(error.unwrap_err().to_string().contains("file: is neither a directory nor a link to one"));
        }
    }
}
