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

/// Refuses archives that `scripts/fuzz-seeds` would not write, since packing them again would change them.
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

#[test]
fn an_archive_without_seeds_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pairs.tar.zst");
    let told = |what: &str| {
        let why = read(&path).unwrap_err();
        assert!(why.contains(&*path.to_string_lossy()) && why.contains(what), "{why} does not say '{what}'");
    };
    told("No such file");
    let packed = |files: &[u8]| std::fs::write(&path, zstd::encode_all(files, 1).unwrap()).unwrap();
    std::fs::write(&path, []).unwrap();
    told("incomplete frame");
    packed(&[0; 1024]);
    told("no seeds");
    packed(&[1; 1024]);
    told("no tar file within");
    let with = |names: &[&str], time: u64| {
        let mut files = tar::Builder::new(Vec::new());
        for name in names {
            let mut header = tar::Header::new_ustar();
            header.set_mode(0o644);
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(time);
            header.set_size(1);
            files.append_data(&mut header, name, &b"1"[..]).unwrap();
        }
        packed(&files.into_inner().unwrap());
    };
    with(&["a", "b"], 0);
    assert_eq!(read(&path).unwrap(), ["a", "b"].map(|name| (name.to_owned(), b"1".to_vec())));
    with(&["b", "a"], 0);
    told("'a' stands behind 'b'");
    with(&["a", "a"], 0);
    told("'a' stands behind 'a'");
    with(&["a"], 1);
    told("'a' has a time");
    with(&["folder/a"], 0);
    told("'folder/a' is no file without folders");
}

#[test]
fn an_archive_that_lacks_a_byte_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph500.tar.zst");
    let whole = std::fs::read(folder().join(archive("graph500"))).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes.remove(at);
        std::fs::write(&path, &bytes).unwrap();
        let why = read(&path).expect_err(&format!("byte {at}"));
        assert!(why.contains(&*path.to_string_lossy()), "byte {at}: {why}");
    }
}
