//! The file of an oriented graph, version 5 (docs/graph-format.md).
//!
//! ```text
//! 0     magic "TRIMGRAF", version u32, length of the footer u32, its position u64, its xxh3 u64, xxh3 of the 32 bytes before u64
//! 40    seen u128                   digest of the input's sizes, times and inodes when it last matched the footer; then zeros up to 4096
//! 4096  ids                         the input's ids, ascending (`tables.rs`); only where they are not consecutive
//!       names                       the names of the input's ids (`names.rs`); only where they are text
//!       order                       the vertex of each rank; vertices are numbered in the order of the input's ids
//!       rows                        file blocks: the rows in rank order, encoded (`rows.rs`)
//!       index     32 bytes a block  first rank, first arc, position, xxh3 (`index.rs`)
//!       degrees   8 bytes a run     runs of equal degrees, falling: degree u32, vertices u32
//! end   footer    JSON: counts, the clean report, and of each section its name, place, length and xxh3
//! ```
//!
//! Sections begin at multiples of 4096; numbers are little-endian. Readers ignore unknown sections, unless these are marked as needed. A file is
//! written under a temporary name, header last. Its bytes depend on the graph alone. Opening checks the footer, the index and the degrees; blocks,
//! order and ids are checked when they are read. So a damaged file cannot give a wrong count, nor a crafted one an access out of bounds.
//!
//! Only `seen` is rewritten later ([`note_seen`]), and no checksum covers it: if it is wrong, the input is hashed once more.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

pub use super::layout::{GraphSection, Layout};

use super::OrientedGraph;
use super::index::{BlockEntry, BlockIndex, DegreeRun, checked_runs};
use super::layout::{CHECKSUM_DIFFERS, DEGREES, INDEX, NAMES, PAGE, REMAKE, ROWS, damaged, damaged_section};
use super::names::Names;
use super::store::{BlockStore, GraphFile};
use super::tables::{CHUNK_BYTES, Table};
use trimill_system::disk::{self, NewFile};
use trimill_system::{Error, Result, parallel};

pub(super) const MAGIC: [u8; 8] = *b"TRIMGRAF";
pub(super) const VERSION: u32 = 5;
/// The length of the header, up to `seen`.
pub(super) const FIXED: usize = 40;
/// The length of the header with `seen`, which [`note_seen`] overwrites.
const HEADER: usize = FIXED + 16;

const READ: usize = 4 << 20;

/// Opens a graph file that is removed with the graph; checks all but rows, order and ids. Ranks need not follow degrees.
pub fn open_temporary(temporary: NewFile) -> Result<OrientedGraph> {
    let (file, path) = (temporary.as_file().try_clone(), temporary.path().to_path_buf());
    let file = file.map_err(|e| Error::read(&path, e))?;
    opened(file, &path, Some(temporary))
}

/// As [`open_temporary`], for a file that stays and whose ranks follow degrees.
pub fn open(path: &Path) -> Result<OrientedGraph> {
    open_file(&File::open(path).map_err(|e| Error::read(path, e))?, path, false)
}

/// As [`open`], for an open file, even if renamed or removed; errors name `path`. With `in_any_order`, ranks need not follow degrees.
pub fn open_file(file: &File, path: &Path, in_any_order: bool) -> Result<OrientedGraph> {
    match opened(file.try_clone().map_err(|e| Error::read(path, e))?, path, None)? {
        graph if in_any_order || graph.layout.ranks_follow_degrees() => Ok(graph),
        _ => Err(damaged(path, "its list of degrees is empty")),
    }
}

fn opened(file: File, path: &Path, temporary: Option<NewFile>) -> Result<OrientedGraph> {
    let (layout, checksum) = read_footer(&file, path)?;
    let file = GraphFile { file, path: path.to_path_buf(), checksum, _temporary: temporary };
    let entries: Vec<[u64; 4]> = section(&file, &layout, INDEX)?;
    let runs: Vec<[u32; 2]> = section(&file, &layout, DEGREES)?;
    let entries = entries.into_iter().map(BlockEntry::of).collect();
    let runs = runs.into_iter().map(|[degree, vertices]| DegreeRun { degree, vertices }).collect();
    let contradicts = |what: &str| damaged(path, format!("its {what} contradicts its footer"));
    let index = BlockIndex::new(entries, &layout).ok_or_else(|| contradicts("index"))?;
    let degrees = checked_runs(runs, &layout).ok_or_else(|| contradicts("list of degrees"))?;
    let rows = layout.range(ROWS).start;
    let store = Arc::new(BlockStore::File { file, rows });
    Ok(OrientedGraph { store, layout, index, degrees, recent: Default::default() })
}

/// Reads and checks a whole section, in the current thread pool.
pub(super) fn section<T: Pod + Send>(file: &GraphFile, layout: &Layout, name: &str) -> Result<Vec<T>> {
    let GraphSection { at, bytes, checksum, .. } = layout.section_of(&file.path, name)?;
    let mut values: Vec<T> = trimill_system::mapped::zeros(*bytes as usize / size_of::<T>());
    let into: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    let parts = into.chunks_mut(READ).enumerate();
    parallel::try_each(parts, |(i, part)| file.read(at + (i * READ) as u64, part))?;
    if Some(xxh3_64(into)) != *checksum {
        return Err(damaged_section(&file.path, name, CHECKSUM_DIFFERS));
    }
    Ok(values)
}

/// Reads a table in the current pool and checks its bytes, some chunks at a time, in little more memory than the decoded numbers take.
pub(super) fn table<T: Send>(
    file: &GraphFile,
    layout: &Layout,
    name: &str,
    table: &impl Table<T>,
    into: &mut [T],
) -> Result<()> {
    let damaged = |found: &str| damaged_section(&file.path, name, found);
    let section = layout.section_of(&file.path, name)?;
    let (mut hash, mut buffer, mut at, mut done) = (Xxh3Default::new(), Vec::new(), 0, 0);
    let mut wrong = None;
    while at < section.bytes {
        // The unused bytes of the last read, then more from the file.
        let (held, more) = (buffer.len(), (section.bytes - at).min(READ as u64) as usize);
        buffer.resize(held + more, 0);
        file.read(section.at + at, &mut buffer[held..])?;
        hash.update(&buffer[held..]);
        at += more as u64;
        // At least one whole chunk, if the bytes are right.
        while wrong.is_none() && done < into.len() && (at == section.bytes || buffer.len() >= CHUNK_BYTES) {
            match table.decode_all(&buffer, done, &mut into[done..]) {
                Ok((bytes, numbers)) => {
                    buffer.drain(..bytes);
                    done += numbers;
                }
                Err(found) => wrong = Some(found),
            }
        }
        if done == into.len() && !buffer.is_empty() {
            wrong = wrong.or(Some("more bytes than its numbers take"));
        }
        if wrong.is_some() {
            buffer.clear();
        }
    }
    // A wrong checksum is reported before bytes that cannot be decoded.
    if Some(hash.digest()) != section.checksum {
        return Err(damaged(CHECKSUM_DIFFERS));
    }
    match wrong {
        Some(wrong) => Err(damaged(&format!("has {wrong}"))),
        None if done < into.len() => Err(damaged("has fewer numbers than there are vertices")),
        None => Ok(()),
    }
}

/// The names of ids, if the file has them; reads all of them to check their checksum.
pub(super) fn names(file: &GraphFile, layout: &Layout) -> Result<Option<Names>> {
    let Some(GraphSection { at, bytes, checksum, .. }) = layout.section(NAMES) else { return Ok(None) };
    let opened = file.file.try_clone().map_err(|e| Error::read(&file.path, e))?;
    Names::open(opened, &file.path, *at, *bytes, *checksum).map(Some)
}

#[cfg(feature = "testing")]
pub fn read_layout(path: &Path) -> Result<Layout> {
    layout_of(&File::open(path).map_err(|e| Error::read(path, e))?, path)
}

/// Reads the header and footer only.
pub fn layout_of(file: &File, path: &Path) -> Result<Layout> {
    read_footer(file, path).map(|(layout, _)| layout)
}

/// The version of a file with the magic of graph files; `None` for any other file.
pub fn version_of(file: &File) -> Option<u32> {
    let mut start = [0; 12];
    file.read_exact_at(&mut start, 0).ok()?;
    let version = *start.strip_prefix(&MAGIC)?.first_chunk()?;
    Some(u32::from_le_bytes(version))
}

/// Records in `file`, which must be writable, that the graph was made from the files with the digest `seen`.
pub fn note_seen(file: &File, path: &Path, seen: u128) -> Result<()> {
    disk::write_at(file, path, &seen.to_le_bytes(), FIXED as u64)
}

/// What [`note_seen`] recorded last.
pub fn seen(file: &File) -> Option<u128> {
    let mut bytes = [0; 16];
    file.read_exact_at(&mut bytes, FIXED as u64).ok()?;
    Some(u128::from_le_bytes(bytes))
}

fn read_footer(file: &File, path: &Path) -> Result<(Layout, u64)> {
    let other = |found: String| Error::data(path, found).expected("a graph file as trimill caches it");
    let damaged = |found: String| other(found).advice(REMAKE);
    let len = file.metadata().map_err(|e| Error::read(path, e))?.len();
    let Some(version) = version_of(file) else {
        // It may be another program's file, so the error does not advise to remove it.
        return Err(other("is not a graph file".into()).advice("if it was one, move it away, and it is made again"));
    };
    let mut page = [0u8; PAGE as usize];
    let is_read = file.read_exact_at(&mut page, 0).is_ok();
    let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| page[at + i]));
    if !is_read || u64_at(32) != xxh3_64(&page[..32]) || page[HEADER..].iter().any(|&byte| byte != 0) {
        return Err(damaged("its header is damaged".into()));
    }
    if version != VERSION {
        return Err(damaged(format!("is of version {version}, this program reads version {VERSION}")));
    }
    let (end, footer_len, checksum) = (u64_at(16), u64_at(8) >> 32, u64_at(24));
    if end.checked_add(footer_len) != Some(len) {
        return Err(damaged(format!("holds {len} bytes where its header says {}", end.saturating_add(footer_len))));
    }
    let mut json = vec![0; footer_len as usize];
    if file.read_exact_at(&mut json, end).is_err() || xxh3_64(&json) != checksum {
        return Err(damaged("its footer is damaged".into()));
    }
    let layout: Layout =
        serde_json::from_slice(&json).map_err(|e| damaged(format!("its footer can't be understood ({e})")))?;
    // Counts that exceed the file's bits could overflow below; a row and an arc take at least one bit each.
    let Layout { vertices, edges, offset_of_ids, first_id, declared_lines, blocks, degree_runs, .. } = layout;
    let largest = (u64::from(vertices).max(edges) / 8).max(blocks).max(degree_runs);
    if largest > len {
        return Err(damaged("its counts are larger than the file".into()));
    }
    if let Some(wrong) = layout.wrong_sections() {
        return Err(damaged(wrong));
    }
    if layout.end() != end {
        return Err(damaged("its sections don't end where its footer begins".into()));
    }
    if layout.ranks_follow_degrees() && u64::from(layout.longest_row) > (2 * edges).isqrt() {
        return Err(damaged(format!(
            "its longest row has {} successors, more than its edges allow",
            layout.longest_row
        )));
    }
    if offset_of_ids.checked_add(vertices.into()).is_none() {
        return Err(damaged(format!("its first id is {offset_of_ids}, so the last ones have more than 64 bits")));
    }
    if first_id.checked_add(declared_lines.unwrap_or_default()).is_none() {
        return Err(damaged(format!(
            "it declares {declared_lines:?} ids from {first_id} on, more than 64 bits can name"
        )));
    }
    if !layout.has_ids && vertices > 0 {
        let last = offset_of_ids + u64::from(vertices - 1);
        layout.check_declared(offset_of_ids, last).map_err(|error| error.at(path))?;
    }
    Ok((layout, checksum))
}
