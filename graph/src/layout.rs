//! The sections of a graph file ([`super::file`]), and the counts that say what is in them.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use trimill_system::{Bytes, Error, Result};

/// Sections begin at multiples of this.
pub(super) const PAGE: u64 = 4096;
pub(super) const REMAKE: &str = "remove it (trimill cache remove), and it is made again";
pub(super) const CHECKSUM_DIFFERS: &str = "is damaged (its checksum differs)";

pub(super) fn damaged(path: impl AsRef<Path>, found: impl Into<String>) -> Error {
    Error::data(path, found).advice(REMAKE)
}

pub(super) fn damaged_section(path: &Path, name: &str, found: &str) -> Error {
    damaged(path, format!("its section '{name}' {found}"))
}

/// Bytes of an index entry, and of a run of equal degrees.
pub(super) const ENTRY: u64 = 32;
pub(super) const RUN: u64 = 8;

/// The most sections of a file. This program writes six at most; others that are not needed are ignored.
const MOST_SECTIONS: usize = 64;

pub(super) const ORDER: &str = "order";
pub(super) const IDS: &str = "ids";
pub(super) const NAMES: &str = "names";
pub(super) const ROWS: &str = "rows";
pub(super) const INDEX: &str = "index";
pub(super) const DEGREES: &str = "degrees";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphSection {
    pub name: String,
    pub at: u64,
    pub bytes: u64,
    /// The xxh3 of its bytes; `None` if its parts have their own.
    pub checksum: Option<u64>,
    /// Whether a reader that does not know it must refuse the file.
    pub needed: bool,
}

/// What cleaning counted: the input, what was removed and added. `2 * edges = arcs - loops_removed - duplicates_removed + arcs_added`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanReport {
    /// Vertices that the input declares; for lists of arcs, the distinct ids.
    pub vertices_declared: u64,
    pub arcs: u64,
    pub loops_removed: u64,
    /// Arcs that occurred before, in the same direction.
    pub duplicates_removed: u64,
    pub arcs_added: u64,
    /// Distinct arcs whose reverse is not in the input: 0 if it was meant to be undirected and lists both directions.
    pub arcs_without_reverse: u64,
}

impl CleanReport {
    /// Adds what cleaning found, given the `arcs` of the clean graph (two per edge) and the `distinct` arcs of the input without loops. Added arcs
    /// count as missing reverses, unless the input is `symmetric`: then each of its arcs also stands for its reverse.
    #[must_use]
    pub fn cleaned(self, arcs: u64, distinct: u64, symmetric: bool) -> Self {
        Self {
            duplicates_removed: self.arcs - self.loops_removed - distinct,
            arcs_added: arcs - distinct,
            arcs_without_reverse: if symmetric { 0 } else { arcs - distinct },
            ..self
        }
    }
}

/// Counts, and the sections of the file if there is one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    pub vertices: u32,
    pub edges: u64,
    pub has_ids: bool,
    /// If ids are not stored: the input's id of vertex 0; the others follow without a gap.
    pub offset_of_ids: u64,
    /// The id of the first declared vertex, where single-column assignment files begin.
    pub first_id: u64,
    /// Lines of such a file: one for each declared vertex or, for arcs, each id up to the largest; `None` if ids are sparse.
    pub declared_lines: Option<u64>,
    pub report: CleanReport,
    /// The identity of the input that this was made from.
    pub source: String,
    pub longest_row: u32,
    pub probes: u64,
    pub block_bytes: u64,
    pub blocks: u64,
    pub degree_runs: u64,
    pub sections: Vec<GraphSection>,
}

impl Layout {
    /// Whether ranks follow descending degrees, as in a prepared graph; in a doubled graph they do not.
    pub(super) fn ranks_follow_degrees(&self) -> bool {
        self.degree_runs > 0 || self.vertices == 0
    }

    pub(super) fn section(&self, name: &str) -> Option<&GraphSection> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn section_of(&self, path: &Path, name: &str) -> Result<&GraphSection> {
        self.section(name).ok_or_else(|| damaged_section(path, name, "is missing"))
    }

    /// The byte range of a section that this program knows; empty if the file does not have it.
    pub fn range(&self, name: &str) -> Range<u64> {
        debug_assert!([ORDER, IDS, NAMES, ROWS, INDEX, DEGREES].contains(&name), "no section is called '{name}'");
        self.section(name).map_or(0..0, |section| section.at..section.at.saturating_add(section.bytes))
    }

    /// Checks that the ids in use, from `first` to `last`, are among the declared ones: arrays over declared ids have their length.
    pub(super) fn check_declared(&self, first: u64, last: u64) -> Result<()> {
        let Some(lines) = self.declared_lines else { return Ok(()) };
        if first >= self.first_id && last - self.first_id < lines {
            return Ok(());
        }
        let found = format!(
            "its vertices have the ids {first} to {last}, and it declares {lines} ids from {} on",
            self.first_id
        );
        Err(Error::data("", found).expected("ids that are declared").advice(REMAKE))
    }

    pub(super) fn end(&self) -> u64 {
        self.sections.last().map_or(PAGE, |last| last.at.saturating_add(last.bytes))
    }

    /// What is wrong with the sections, if anything. Each must begin at the next page; names are unique; needed ones are known and complete.
    pub(super) fn wrong_sections(&self) -> Option<String> {
        if self.sections.len() > MOST_SECTIONS {
            return Some(format!("has {} sections, more than {MOST_SECTIONS}", self.sections.len()));
        }
        let mut next = PAGE;
        for (i, section) in self.sections.iter().enumerate() {
            let GraphSection { name, at, bytes, needed, checksum } = section;
            let expected = match &**name {
                ORDER | IDS | NAMES => Some(*bytes),
                ROWS => Some(self.block_bytes),
                INDEX => self.blocks.checked_mul(ENTRY),
                DEGREES => self.degree_runs.checked_mul(RUN),
                _ if *needed => return Some(format!("has a section '{name}', which this program does not know")),
                _ => Some(*bytes),
            };
            let twice = self.sections[..i].iter().any(|other| other.name == *name);
            if twice || *at != next || expected != Some(*bytes) || (checksum.is_none() && name != ROWS) {
                return Some(format!("its section '{name}' is not where it should be, or not as long"));
            }
            match at.checked_add(*bytes).and_then(|end| end.checked_next_multiple_of(PAGE)) {
                Some(after) => next = after,
                None => return Some(format!("its section '{name}' is longer than files can be")),
            }
        }
        let ids = if self.has_ids { &[IDS][..] } else { &[] };
        let missing = [ORDER, ROWS, INDEX, DEGREES].iter().chain(ids).find(|name| self.section(name).is_none());
        missing.map(|name| format!("it has no section '{name}'"))
    }

    /// The fewest bytes of a file with these counts: a row, an arc and a rank take at least one bit each, an id at least two.
    pub fn file_at_least(&self) -> Bytes {
        let of_vertex = if self.has_ids { 4 } else { 2 };
        Bytes(PAGE + (of_vertex * u64::from(self.vertices) + self.edges).div_ceil(8))
    }

    /// Bytes of the graph in memory if its rows take `rows` bytes; per vertex, the order takes 4 more and an id 8.
    pub fn in_memory(&self, rows: u64) -> Bytes {
        let of_vertex = if self.has_ids { 12 } else { 4 };
        Bytes((of_vertex * u64::from(self.vertices)).saturating_add(rows))
    }

    /// The most bytes of the sections, as a file or in memory: a number has at most the bits of the number of vertices, and a control bit.
    pub fn sections_at_most(&self) -> Bytes {
        let longest = u64::from(u32::BITS - self.vertices.leading_zeros()) + 1;
        let of_vertex = if self.has_ids { 4 + 10 } else { 4 };
        let numbers = u64::from(self.vertices) + self.edges;
        // Overhead per block and chunk: headers, padding of words, index entries.
        let chunks = 128 * (2 + numbers.div_ceil(1 << 15));
        // At most 2 (sqrt(edges) + 1) different degrees add up to twice the edges.
        let degrees = RUN * 2 * (self.edges.isqrt() + 1);
        Bytes(of_vertex * u64::from(self.vertices) + (longest * numbers).div_ceil(8) + chunks + degrees)
    }
}
