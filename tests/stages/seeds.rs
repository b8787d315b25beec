//! The seeds of the fuzz targets, read from the archives that `scripts/fuzz-seeds` makes.

use std::io::Read;
use std::path::{Path, PathBuf};

use tar::{Archive, EntryType};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

pub(crate) fn archive(target: &str) -> String {
    format!("{target}.tar.zst")
}

/// Names and bytes of the seeds of `target`, sorted by name; or what is wrong with its archive.
pub(crate) fn of(target: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
    read(&folder().join(archive(target)))
}

/// Refuses folders, times, owners, modes and another order of names: `scripts/fuzz-seeds` writes none of them, so packing the
/// seeds again would change the archive.
fn read(path: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let wrong = |found: &str| {
        format!(
            "{}: {found}; expected an archive of seeds: restore it, or make it with 'scripts/fuzz-seeds pack'",
            path.display()
        )
    };
    let packed = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    let files = zstd::decode_all(&packed[..]).map_err(|error| wrong(&format!("damaged ({error})")))?;
    let damaged = |error: std::io::Error| wrong(&format!("no tar file within ({error})"));
    let mut seeds: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in Archive::new(&files[..]).entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let header = entry.header();
        if header.entry_type() != EntryType::Regular || name.contains('/') {
            return Err(wrong(&format!("'{name}' is no file without folders")));
        }
        let kept = [header.mtime(), header.uid(), header.gid(), header.mode().map(u64::from)];
        if kept.map(Result::ok) != [Some(0), Some(0), Some(0), Some(0o644)] {
            return Err(wrong(&format!("'{name}' has a time, an owner or a mode of its own")));
        }
        if seeds.last().is_some_and(|(last, _)| *last >= name) {
            return Err(wrong(&format!("'{name}' stands behind '{}'", seeds[seeds.len() - 1].0)));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        seeds.push((name, bytes));
    }
    if seeds.is_empty() { Err(wrong("no seeds")) } else { Ok(seeds) }
}
