//! Compiled kernels on disk, so that a program that starts again does not compile again.
//!
//! An entry's key is made of the source, the options (the architecture is one) and NVRTC's version; its file is named by it.
//! The file begins with a magic, the key and a checksum of the rest; it is written beside and renamed into place. An entry that
//! is damaged, cut, of another key or of another user is not used and is written again. A folder that cannot be read or
//! written costs only time, so it is no error.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::Version;
use crate::nvrtc::Source;

/// Of the file; its last character is the version of the layout.
const MAGIC: &[u8; 8] = b"TMCUBIN1";

/// Names an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(u128);

impl Key {
    pub(crate) fn new(source: &Source, options: &[String], nvrtc: Version) -> Self {
        let mut hash = Xxh3::new();
        let version = nvrtc.to_string();
        // Lengths keep the parts apart.
        for part in [source.name, source.code, &version].into_iter().chain(options.iter().map(String::as_str)) {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.digest128())
    }

    fn file(self, folder: &Path) -> PathBuf {
        folder.join(format!("{:032x}.cubin", self.0))
    }
}

/// The entry, if it is there, whole, and a regular file of this user: what it holds is run.
pub(crate) fn read(folder: &Path, key: Key) -> Option<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(key.file(folder)).ok()?;
    file.metadata().ok().filter(|found| found.is_file() && found.uid() == geteuid().as_raw())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&key.0.to_le_bytes())?;
    let (checksum, image) = rest.split_first_chunk::<16>()?;
    (u128::from_le_bytes(*checksum) == xxh3_128(image)).then(|| image.to_vec())
}

/// Writes an entry. `false`: it could not be written.
pub(crate) fn write(folder: &Path, key: Key, image: &[u8]) -> bool {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let bytes = [MAGIC.as_slice(), &key.0.to_le_bytes(), &xxh3_128(image).to_le_bytes(), image].concat();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let beside = folder.join(format!(".{:032x}-{}-{number}", key.0, std::process::id()));
    // Never through a link that somebody left under this name.
    let new = || fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
    let written = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .and_then(|()| new())
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&beside, key.file(folder)));
    if written.is_err() {
        // Where it was not even created there is nothing to remove.
        let _ = fs::remove_file(&beside);
    }
    written.is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const SOURCE: Source = Source { name: "a.cu", code: "code" };
    const NVRTC: Version = Version { major: 13, minor: 0 };

    fn key() -> Key {
        Key::new(&SOURCE, &["--x".into()], NVRTC)
    }

    #[test]
    fn what_was_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("made").join("when needed");
        assert_eq!(read(&folder, key()), None);
        assert!(write(&folder, key(), b"image"));
        assert_eq!(read(&folder, key()).unwrap(), b"image");
        assert!(write(&folder, key(), b"other"));
        assert_eq!(read(&folder, key()).unwrap(), b"other");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside");
    }

    #[test]
    fn every_damaged_byte_and_every_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path(), key(), b"image"));
        let file = key().file(folder.path());
        let whole = fs::read(&file).unwrap();
        for i in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[i] ^= 4;
            fs::write(&file, damaged).unwrap();
            assert_eq!(read(folder.path(), key()), None, "byte {i}");
            fs::write(&file, &whole[..i]).unwrap();
            assert_eq!(read(folder.path(), key()), None, "cut at {i}");
        }
        assert!(write(folder.path(), key(), b"image"));
        assert_eq!(read(folder.path(), key()).unwrap(), b"image");
    }

    #[test]
    fn the_key_depends_on_all_that_makes_an_image() {
        let keys = [
            key(),
            Key::new(&Source { code: "cod", ..SOURCE }, &["--x".into()], NVRTC),
            Key::new(&SOURCE, &["--y".into()], NVRTC),
            Key::new(&SOURCE, &["--x".into(), String::new()], NVRTC),
            Key::new(&SOURCE, &["--x".into()], Version { major: 13, minor: 1 }),
        ];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
    }

    #[test]
    fn another_keys_entry_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let other = Key(7);
        assert!(write(folder.path(), other, b"image"));
        fs::rename(other.file(folder.path()), key().file(folder.path())).unwrap();
        assert_eq!(read(folder.path(), key()), None);
    }

    #[test]
    fn entries_are_the_users_own_regular_files() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("kernels");
        assert!(write(&inner, key(), b"image"));
        let (file, elsewhere) = (key().file(&inner), folder.path().join("elsewhere"));
        assert_eq!((file.metadata().unwrap().mode() & 0o777, inner.metadata().unwrap().mode() & 0o777), (0o600, 0o700));
        fs::rename(&file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        assert_eq!(read(&inner, key()), None);
        fs::remove_file(&file).unwrap();
        // Nobody writes to this pipe, and nobody waits for that.
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        assert_eq!(read(&inner, key()), None);
        assert!(write(&inner, key(), b"image"));
        assert_eq!(read(&inner, key()).unwrap(), b"image");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(!write(&file.join("below"), key(), b"image"));
        assert_eq!(read(&file.join("below"), key()), None);
    }
}
