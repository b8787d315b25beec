//! The file of an oriented graph.
//!
//! ```text
//! 0     magic "TRIMGRAF", version u32, length of the footer u32, its position u64, its xxh3 u64, xxh3 of the 32 bytes before u64, zeros
//! 4096  offsets   u64 x (n + 1)     of the rows in rank order, in arcs
//!       heads     u32 x m           the successors of all rows in rank order: ranks, ascending in each row
//!       degrees   u32 x n           undirected degrees in the order of ids
//!       ids       u64 x n           the input's ids, ascending; only where they are not consecutive
//! end   footer    JSON: counts, the clean report, one xxh3 for every 16 MiB of the sections
//! ```
//!
//! Sections begin at multiples of 4096; numbers are little-endian. A file is written under a temporary name, its header
//! last, and renamed into place; opening checks every byte once (in parallel, at the speed of memory or of the disk),
//! so a damaged cache can't give a wrong count.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::OrientedGraph;
use super::numbering::Numbering;
use super::oriented::Storage;
use super::pages::PageLimit;
use crate::bytes::Bytes;
use crate::clean::CleanReport;
use crate::disk::{self, NewFile, TemporaryFile};
use crate::error::{Error, Result};
use crate::mapped::{MappedFile, Window};

const REMAKE: &str = "remove it (trimill cache remove), and it is made again";
const MAGIC: [u8; 8] = *b"TRIMGRAF";
const VERSION: u32 = 3;
const HEADER: usize = 40;
const PAGE: u64 = 4096;
/// Bytes under one checksum.
const BLOCK: u64 = 16 << 20;
/// Bytes that a thread maps at a time to check them; a part of a block.
const WINDOW: usize = 1 << 20;

/// Counts and places: everything about a graph file but the sections themselves.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Layout {
    /// Vertices with an edge.
    pub vertices: u32,
    /// Edges.
    pub edges: u64,
    /// Whether the input's ids are stored.
    pub has_ids: bool,
    /// Where they are not: the input's id of vertex 0; the others follow without a gap.
    pub offset_of_ids: u64,
    /// The id of the first declared vertex.
    pub first_id: u64,
    /// How many vertices single-column assignment files name, where ids are not sparse.
    pub declared_lines: Option<u64>,
    /// What cleaning removed and added.
    pub report: CleanReport,
    /// The identity of the input that this was made from.
    pub source: String,
}

impl Layout {
    /// Bytes of the offsets.
    pub fn offsets(&self) -> Range<usize> {
        section(PAGE, (u64::from(self.vertices) + 1) * 8)
    }

    /// Bytes of the heads.
    pub fn heads(&self) -> Range<usize> {
        section(self.offsets().end as u64, self.edges * 4)
    }

    /// Bytes of the degrees.
    pub fn degrees(&self) -> Range<usize> {
        section(self.heads().end as u64, u64::from(self.vertices) * 4)
    }

    /// Bytes of the input's ids, where they are stored.
    pub fn ids(&self) -> Option<Range<usize>> {
        self.has_ids.then(|| section(self.degrees().end as u64, u64::from(self.vertices) * 8))
    }

    /// Bytes of all sections.
    pub fn sections_bytes(&self) -> Bytes {
        Bytes(self.end() - PAGE)
    }

    fn end(&self) -> u64 {
        self.ids().unwrap_or_else(|| self.degrees()).end as u64
    }
}

fn section(after: u64, len: u64) -> Range<usize> {
    let start = after.next_multiple_of(PAGE) as usize;
    start..start + len as usize
}

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

    /// Adds checksums, footer and header. The file is complete then, still under its temporary name.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub fn finish(self) -> Result<TemporaryFile> {
        let path = self.file.name().to_path_buf();
        let end = self.layout.end();
        let checksums = checksums(self.file.as_file(), &path, end)?;
        let footer = serde_json::to_vec(&Footer { layout: self.layout, checksums })
            .map_err(|e| Error::write(&path, e.into()))?;
        let mut header = Vec::with_capacity(HEADER);
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

/// The xxh3 of each block of the sections.
fn checksums(file: &File, path: &Path, end: u64) -> Result<Vec<u64>> {
    (0..(end - PAGE.min(end)).div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let start = PAGE + block * BLOCK;
            let mut hash = Xxh3Default::new();
            for start in (start..end.min(start + BLOCK)).step_by(WINDOW) {
                hash.update(&Window::new(file, path, start..end.min(start + WINDOW as u64))?);
            }
            Ok(hash.digest())
        })
        .collect()
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
/// [`crate::error::Kind::Data`] when it is no graph file, of another version, cut or damaged.
pub fn open(place: Place) -> Result<OrientedGraph> {
    let (path, temporary) = match place {
        Place::Cached(path) => (path, None),
        Place::Temporary(file) => (file.path().to_path_buf(), Some(file)),
    };
    let layout = check(&path)?;
    let mapped = MappedFile::open(&path)?;
    check_rows(&mapped, &layout)?;
    mapped.release(0..mapped.bytes().len());
    let numbering = Numbering::by_degree(mapped.slice(layout.degrees()));
    mapped.release(0..mapped.bytes().len());
    let storage = Storage::File { file: mapped, _temporary: temporary };
    Ok(OrientedGraph { storage, layout, numbering, pages: PageLimit::default() })
}

/// Checks offsets and degrees, which everything else relies on. Damage is found by the checksums before; this finds what
/// a faulty writer sealed. For the heads there are the checksums alone.
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
    read_footer(path).map(|(footer, _)| footer.layout)
}

fn read_footer(path: &Path) -> Result<(Footer, File)> {
    let damaged = |found: String| Error::data(path, found).expected("a graph file as trimill caches it").advice(REMAKE);
    let file = File::open(path).map_err(|e| Error::read(path, e))?;
    let len = file.metadata().map_err(|e| Error::read(path, e))?.len();
    let mut header = [0; PAGE as usize];
    if file.read_exact_at(&mut header, 0).is_err() || header[..8] != MAGIC {
        return Err(damaged("is not a graph file".into()));
    }
    let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    if u64_at(32) != xxh3_64(&header[..32]) || header[HEADER..].iter().any(|&byte| byte != 0) {
        return Err(damaged("its header is damaged".into()));
    }
    if u32_at(8) != VERSION {
        return Err(damaged(format!("is of version {}, this program reads version {VERSION}", u32_at(8))));
    }
    let (footer_len, end) = (u64::from(u32_at(12)), u64_at(16));
    if end.checked_add(footer_len) != Some(len) {
        return Err(damaged(format!("holds {len} bytes where its header says {}", end.saturating_add(footer_len))));
    }
    let mut json = vec![0; footer_len as usize];
    file.read_exact_at(&mut json, end).map_err(|e| Error::read(path, e))?;
    if xxh3_64(&json) != u64_at(24) {
        return Err(damaged("its footer is damaged".into()));
    }
    let footer: Footer =
        serde_json::from_slice(&json).map_err(|e| damaged(format!("its footer can't be understood ({e})")))?;
    // What is more than the file is long would overflow below.
    let Layout { vertices, edges, offset_of_ids, .. } = footer.layout;
    if u64::from(vertices).max(edges) > len || footer.layout.end() != end {
        return Err(damaged("its sections don't end where its footer begins".into()));
    }
    if offset_of_ids.checked_add(vertices.into()).is_none() {
        return Err(damaged(format!("its first id is {offset_of_ids}, so the last ones have more than 64 bits")));
    }
    Ok((footer, file))
}

fn check(path: &Path) -> Result<Layout> {
    let (footer, file) = read_footer(path)?;
    let found = checksums(&file, path, footer.layout.end())?;
    match found.iter().zip(&footer.checksums).position(|(a, b)| a != b) {
        None if found.len() == footer.checksums.len() => Ok(footer.layout),
        block => {
            Err(Error::data(path, format!("block {} is damaged (its checksum differs)", block.unwrap_or(0)))
                .advice(REMAKE))
        }
    }
}
