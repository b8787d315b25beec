//! The file of an oriented graph.
//!
//! ```text
//! 0     magic "TRIMGRAF", version u32, length of the footer u32, its position u64, its xxh3 u64, xxh3 of the 32 bytes before u64
//! 40    seen u128                   digest of the input's files as they were last seen to be those of the footer; zeros to the page's end
//! 4096  offsets   u64 x (n + 1)     of the rows in rank order, in arcs
//!       heads     u32 x m           the successors of all rows in rank order: ranks, ascending in each row
//!       degrees   u32 x n           undirected degrees in the order of ids
//!       ids       u64 x n           the input's ids, ascending; only where they are not consecutive
//! end   footer    JSON: counts, the clean report, one xxh3 for every 16 MiB of the sections
//! ```
//!
//! Sections begin at multiples of 4096; numbers are little-endian. A file is written under a temporary name, its header
//! last, and renamed into place; opening checks every byte once (in parallel, at the speed of memory or of the disk),
//! so a damaged cache can't give a wrong count. In the same reading (`checked.rs`) it is seen that the rows are those of an
//! oriented graph, so that a file with right checksums that no trimill wrote can't lead anybody out of an array.
//!
//! `seen` alone is written again ([`note_seen`]), and under no checksum: where it is wrong, the input is hashed once more.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

pub use super::layout::Layout;

use super::OrientedGraph;
use super::checked::{checked, checksums};
use super::layout::{PAGE, REMAKE};
use super::numbering::Numbering;
use super::oriented::Storage;
use super::pages::PageLimit;
use crate::disk::{self, NewFile, TemporaryFile};
use crate::error::{Error, Result};
use crate::mapped::MappedFile;

const MAGIC: [u8; 8] = *b"TRIMGRAF";
const VERSION: u32 = 3;
/// Bytes of the header that do not change any more.
const FIXED: usize = 40;
/// Where the digest of the files as they were last seen ends.
const HEADER: usize = FIXED + 16;

#[derive(Serialize, Deserialize)]
struct Footer {
    #[serde(flatten)]
    layout: Layout,
    checksums: Vec<u64>,
}

/// A graph file being written. Dropped without [`Self::finish`], it is removed.
pub struct GraphWriter {
    file: NewFile,
    layout: Layout,
}

impl GraphWriter {
    /// Begins a file in `dir`, with room for all sections.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when it cannot be made, or there is no room for it.
    pub fn create(dir: &Path, layout: Layout) -> Result<Self> {
        let file = NewFile::create(dir, "trimill-graph-", ".tmp", disk::PRIVATE)?;
        file.set_len(layout.end())?;
        Ok(Self { file, layout })
    }

    /// Where everything goes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Writes `bytes` at `position` of the file. Called from many threads.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub fn write(&self, position: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_at(bytes, position)
    }

    /// Adds checksums, the footer, which notes what the graph was made of, and the header. The file is complete then, still under its temporary name.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub fn finish(mut self, source: String) -> Result<TemporaryFile> {
        self.layout.source = source;
        let path = self.file.name().to_path_buf();
        let end = self.layout.end();
        let checksums = checksums(self.file.as_file(), &path, end)?;
        let footer = serde_json::to_vec(&Footer { layout: self.layout, checksums })
            .map_err(|e| Error::write(&path, e.into()))?;
        let mut header = Vec::with_capacity(FIXED);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        header.extend_from_slice(&end.to_le_bytes());
        header.extend_from_slice(&xxh3_64(&footer).to_le_bytes());
        header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
        self.file.write_at(&footer, end)?;
        self.file.write_at(&header, 0)?;
        Ok(self.file.into_temporary())
    }
}

/// Where an opened graph file lies, and whether it goes away with the graph.
pub enum Place {
    /// In the cache: it stays.
    Cached(PathBuf),
    /// In a working directory: removed when the graph is dropped.
    Temporary(TemporaryFile),
}

/// Opens a graph file and checks it.
///
/// # Errors
/// [`crate::error::Kind::Data`] when it is no graph file, of another version, cut or damaged, or no oriented graph.
pub fn open(place: Place) -> Result<OrientedGraph> {
    match place {
        Place::Cached(path) => open_file(&File::open(&path).map_err(|e| Error::read(&path, e))?, &path),
        Place::Temporary(temporary) => {
            let mut graph = open_file(temporary.as_file(), temporary.path())?;
            if let Storage::File { temporary: place, .. } = &mut graph.storage {
                *place = Some(temporary);
            }
            Ok(graph)
        }
    }
}

/// As [`open`], a file that is open already: whatever becomes of its name, it is this one. Messages call it `path`.
///
/// # Errors
/// As [`open`].
pub fn open_file(file: &File, path: &Path) -> Result<OrientedGraph> {
    let Footer { layout, checksums } = read_footer(file, path)?;
    let mapped = MappedFile::of(file, path)?;
    check_rows(&mapped, &layout)?;
    mapped.release(0..mapped.bytes().len());
    let numbering = Numbering::by_degree(mapped.slice(layout.degrees()));
    mapped.release(0..mapped.bytes().len());
    checked(file, &mapped, &layout, &checksums)?;
    mapped.release(0..mapped.bytes().len());
    let storage = Storage::File { file: mapped, temporary: None };
    Ok(OrientedGraph { storage, layout, numbering, pages: PageLimit::default() })
}

/// Checks offsets and degrees, which numbers and rows rely on. What is damaged and passes here is found by the checksums after.
fn check_rows(file: &MappedFile, layout: &Layout) -> Result<()> {
    let offsets: &[u64] = file.slice(layout.offsets());
    let degrees: &[u32] = file.slice(layout.degrees());
    let contradicts =
        |what: &str| Err(Error::data(file.path(), format!("its {what} contradict its footer")).advice(REMAKE));
    let ascend = offsets.par_windows(2).all(|pair| pair[0] <= pair[1]);
    if !ascend || offsets.first() != Some(&0) || offsets.last() != Some(&layout.edges) {
        return contradicts("offsets");
    }
    let ends: u64 = degrees.par_iter().map(|&degree| u64::from(degree)).sum();
    if ends != 2 * layout.edges || degrees.par_iter().any(|&degree| degree >= layout.vertices) {
        return contradicts("degrees");
    }
    Ok(())
}

/// Reads the header and footer of a graph file without its sections: what `trimill cache list` shows.
///
/// # Errors
/// As [`open`].
pub fn read_layout(path: &Path) -> Result<Layout> {
    layout_of(&File::open(path).map_err(|e| Error::read(path, e))?, path)
}

/// As [`read_layout`], of a file that is open already.
///
/// # Errors
/// As [`open`].
pub fn layout_of(file: &File, path: &Path) -> Result<Layout> {
    read_footer(file, path).map(|footer| footer.layout)
}

/// The version of a file with the magic of graph files; none where it has another one.
pub fn version_of(file: &File) -> Option<u32> {
    let mut start = [0; 12];
    file.read_exact_at(&mut start, 0).ok()?;
    let version = *start.strip_prefix(&MAGIC)?.first_chunk()?;
    Some(u32::from_le_bytes(version))
}

/// The version of a graph file that an earlier trimill wrote, and what it notes of the input. The header and this field are
/// older than versions.
pub fn source_of_earlier(file: &File) -> Option<(u32, String)> {
    #[derive(Deserialize)]
    struct Earlier {
        source: String,
    }
    let version = version_of(file).filter(|&version| version < VERSION)?;
    let header = Header::read(file)?;
    let earlier: Earlier = serde_json::from_slice(&header.footer(file, file.metadata().ok()?.len())?).ok()?;
    Some((version, earlier.source))
}

/// Notes that the input's files were `seen` to be those that the graph in `file`, which can be written, was made of.
///
/// # Errors
/// [`crate::error::Kind::Resource`].
pub fn note_seen(file: &File, path: &Path, seen: u128) -> Result<()> {
    disk::write_at(file, path, &seen.to_le_bytes(), FIXED as u64)
}

/// What [`note_seen`] noted last.
pub fn seen(file: &File) -> Option<u128> {
    let mut bytes = [0; 16];
    file.read_exact_at(&mut bytes, FIXED as u64).ok()?;
    Some(u128::from_le_bytes(bytes))
}

/// The first page, whose own checksum is right.
struct Header([u8; PAGE as usize]);

impl Header {
    fn read(file: &File) -> Option<Self> {
        let mut page = [0; PAGE as usize];
        file.read_exact_at(&mut page, 0).ok()?;
        let header = Self(page);
        let whole = header.u64_at(32) == xxh3_64(&page[..32]) && page[HEADER..].iter().all(|&byte| byte == 0);
        whole.then_some(header)
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    /// Where the sections end, and the length of the footer.
    fn end(&self) -> (u64, u64) {
        (self.u64_at(16), self.u64_at(8) >> 32)
    }

    /// The footer of a file of `len` bytes, if it is whole and ends the file.
    fn footer(&self, file: &File, len: u64) -> Option<Vec<u8>> {
        let (end, footer_len) = self.end();
        let mut json = vec![0; usize::try_from(footer_len).ok().filter(|_| end.checked_add(footer_len) == Some(len))?];
        file.read_exact_at(&mut json, end).ok()?;
        (xxh3_64(&json) == self.u64_at(24)).then_some(json)
    }
}

fn read_footer(file: &File, path: &Path) -> Result<Footer> {
    let damaged = |found: String| Error::data(path, found).expected("a graph file as trimill caches it").advice(REMAKE);
    let len = file.metadata().map_err(|e| Error::read(path, e))?.len();
    let Some(version) = version_of(file) else { return Err(damaged("is not a graph file".into())) };
    let Some(header) = Header::read(file) else { return Err(damaged("its header is damaged".into())) };
    if version != VERSION {
        return Err(damaged(format!("is of version {version}, this program reads version {VERSION}")));
    }
    let (end, footer_len) = header.end();
    if end.checked_add(footer_len) != Some(len) {
        return Err(damaged(format!("holds {len} bytes where its header says {}", end.saturating_add(footer_len))));
    }
    let Some(json) = header.footer(file, len) else { return Err(damaged("its footer is damaged".into())) };
    let footer: Footer =
        serde_json::from_slice(&json).map_err(|e| damaged(format!("its footer can't be understood ({e})")))?;
    // What is more than the file is long would overflow below.
    let Layout { vertices, edges, offset_of_ids, first_id, declared_lines, .. } = footer.layout;
    if u64::from(vertices).max(edges) > len / 4 || footer.layout.end() != end {
        return Err(damaged("its sections don't end where its footer begins".into()));
    }
    if offset_of_ids.checked_add(vertices.into()).is_none() {
        return Err(damaged(format!("its first id is {offset_of_ids}, so the last ones have more than 64 bits")));
    }
    if first_id.checked_add(declared_lines.unwrap_or_default()).is_none() {
        return Err(damaged(format!(
            "it declares {declared_lines:?} ids from {first_id} on, more than 64 bits can name"
        )));
    }
    Ok(footer)
}
