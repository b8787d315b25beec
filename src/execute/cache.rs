//! What `trimill cache` does: lists the cached graphs, removes some or all.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cache::{Cache, NO_CACHE, cache_dir};
use crate::report::{CacheEntry, CacheReport};
use trimill_system::url::public;
use trimill_system::{Bytes, Error, Result};

fn open(dir: Option<&Path>) -> Result<Cache> {
    let none = || Error::usage(format!("there is no cache: {NO_CACHE}")).advice("name one with --cache-dir");
    Ok(Cache::existing(&cache_dir(dir).ok_or_else(none)?))
}

fn report(cache: &Cache, entries: Vec<CacheEntry>) -> CacheReport {
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    CacheReport { directory: cache.dir().to_path_buf(), bytes, entries }
}

/// Lists the cached graphs.
pub fn list(dir: Option<&Path>) -> Result<CacheReport> {
    let cache = open(dir)?;
    let entries = cache.entries()?;
    Ok(report(&cache, entries))
}

/// Removes the graphs that `which` names, by input, by key, or by letters with which a single key begins; then the least recently used until the
/// rest takes at most `max`. Errors: `Kind::Data` for a name that matches no cached graph, or begins several keys; then nothing is removed.
pub fn remove(dir: Option<&Path>, which: &[OsString], max: Option<Bytes>) -> Result<CacheReport> {
    let cache = open(dir)?;
    let entries = cache.entries()?;
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    for name in which {
        gone.extend(named(name, &entries, cache.dir())?);
    }
    let mut total = Bytes::ZERO;
    for entry in &entries {
        if !gone.contains(entry.key.as_str()) {
            total += entry.bytes;
            if max.is_some_and(|most| total > most) {
                gone.insert(&entry.key);
            }
        }
    }
    let removed = cache.remove(|entry| gone.contains(entry.key.as_str()))?;
    Ok(report(&cache, removed))
}

fn named<'a>(name: &OsStr, entries: &'a [CacheEntry], dir: &Path) -> Result<Vec<&'a str>> {
    let (shown, path) = (public(Path::new(name)), Path::new(name).canonicalize());
    let is_input = |input: &PathBuf| path.as_ref().is_ok_and(|path| path == input) || *input == shown;
    let (mut meant, mut begun) = (Vec::new(), Vec::new());
    for entry in entries {
        let key = entry.key.as_str();
        if name == key || entry.inputs.iter().any(&is_input) {
            meant.push(key);
        } else if name.to_str().is_some_and(|name| !name.is_empty() && key.starts_with(name)) {
            begun.push(key);
        }
    }
    match (meant.len(), begun.len()) {
        (1.., _) => Ok(meant),
        (0, 1) => Ok(begun),
        (0, 0) => Err(Error::data(dir, format!("nothing in the cache is called '{}'", shown.display()))
            .expected("a key or an input that trimill cache list shows")),
        (0, many) => Err(Error::data(dir, format!("the keys of {many} graphs begin with '{}'", shown.display()))
            .expected("more letters of one key, as trimill cache list shows it")),
    }
}

/// Removes all cached graphs.
pub fn clear(dir: Option<&Path>) -> Result<CacheReport> {
    // Every graph has more than 0 bytes.
    remove(dir, &[], Some(Bytes::ZERO))
}
