//! What `trimill cache` does: lists the cached graphs, removes some or all.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::directories::{NO_CACHE, default_cache_dir};
use crate::cache::{Cache, CachedGraph};
use crate::report::{CacheEntry, CacheReport};
use trimill_system::url::public;
use trimill_system::{Bytes, Error, Result};

fn open(dir: Option<&Path>) -> Result<Cache> {
    let dir = dir.map(Path::to_path_buf).or_else(default_cache_dir);
    let dir =
        dir.ok_or_else(|| Error::usage(format!("there is no cache: {NO_CACHE}")).advice("name one with --cache-dir"))?;
    Ok(Cache::existing(&dir))
}

fn report(cache: &Cache, entries: Vec<CachedGraph>) -> CacheReport {
    CacheReport {
        directory: cache.dir().to_path_buf(),
        bytes: entries.iter().map(|entry| entry.bytes).sum(),
        entries: entries
            .into_iter()
            .map(|entry| CacheEntry {
                inputs: entry.inputs(),
                key: entry.key,
                vertices: u64::from(entry.vertices),
                edges: entry.edges,
                bytes: entry.bytes,
                idle_seconds: entry.idle_seconds,
            })
            .collect(),
    }
}

/// Lists the cached graphs.
pub fn list(dir: Option<&Path>) -> Result<CacheReport> {
    let cache = open(dir)?;
    let entries = cache.entries()?;
    Ok(report(&cache, entries))
}

/// Removes the graphs that `which` names, by key (or a unique prefix) or by input, then the least recently used until the rest takes at
/// most `max`. Errors: `Kind::Data` for a name that matches no cached graph; then nothing is removed.
pub fn remove(dir: Option<&Path>, which: &[OsString], max: Option<Bytes>) -> Result<CacheReport> {
    let cache = open(dir)?;
    let entries = cache.entries()?;
    let named = |entry: &CachedGraph, name: &OsStr| {
        let path = Path::new(name).canonicalize();
        name.to_str().is_some_and(|name| !name.is_empty() && entry.key.starts_with(name))
            || entry
                .inputs()
                .iter()
                .any(|input| path.as_ref().is_ok_and(|path| path == input) || *input == public(Path::new(name)))
    };
    for name in which {
        if !entries.iter().any(|entry| named(entry, name)) {
            return Err(Error::data(
                cache.dir(),
                format!("nothing in the cache is called '{}'", public(Path::new(name)).display()),
            )
            .expected("a key or an input that trimill cache list shows"));
        }
    }
    let mut gone: Vec<String> = Vec::new();
    let mut total = Bytes::ZERO;
    for entry in &entries {
        if which.iter().any(|name| named(entry, name)) {
            gone.push(entry.key.clone());
        } else {
            total += entry.bytes;
            if max.is_some_and(|most| total > most) {
                gone.push(entry.key.clone());
            }
        }
    }
    let removed = cache.remove(|entry| gone.contains(&entry.key))?;
    Ok(report(&cache, removed))
}

/// Removes everything.
pub fn clear(dir: Option<&Path>) -> Result<CacheReport> {
    let cache = open(dir)?;
    let removed = cache.remove(|_| true)?;
    Ok(report(&cache, removed))
}
