//! Where a graph is prepared, and how the host's memory is divided meanwhile.
//!
//! Arrays over ids or vertices come first ([`needs`]). Shares of the rest while reading: buckets 5/16, staging 1/8, readers up to 1/2; while
//! cleaning: two sets of buckets 10/16, sorting 1/4, degrees 1/16; while orienting: two sets of buckets, staging 1/8, rows 1/4 once the first set
//! is freed. A graph that stays in memory and rows that had to be decoded take 1/4 each. Rows that are oriented without cleaning wait in 5/16, or
//! 9/16 if the graph goes to a file; arcs that are reversed first take 9/16, their tails up to 7/16, and sorting 1/4.

use std::path::Path;

use trimill_system::disk::{DiskNeed, free_space};
use trimill_system::expected::ExpectedStage;
use trimill_system::memory::{HostMemory, Needs, SharedBudget, TakenMemory, or_fewer_threads};
use trimill_system::{Bytes, Control, Error, Result};

/// Bytes for each id up to the largest, if ids index arrays: degrees and ranks, then ranks and the order of vertices.
pub const PER_ID: u64 = 8;

/// Bytes for each vertex, if ids are looked up in a table: first for collecting the ids, then for the table, degrees, ranks and the order.
pub const PER_VERTEX: u64 = 24;

/// Bytes for each key of a class: in its bucket, sorted, and the offsets of cells; or sorted keys, others that are merged with them, and both.
pub(super) const PER_KEY: u64 = 24;

/// Bytes of a thread that reads: two windows, or blocks from a decompressor.
pub(crate) const READER: u64 = 2 << 20;

/// Bytes of a thread that reads a small input: staging areas, and what it parses.
const SMALL_READER: u64 = 128 << 10;

/// The most arcs of a file block, whose rows a thread makes at once.
const ROWS: u64 = 1 << 17;

/// Where and in how much memory the stages up to the oriented graph work.
#[derive(Clone, Copy)]
pub struct Workspace<'a> {
    pub memory: HostMemory,
    /// For buckets that do not fit in memory.
    pub dir: &'a Path,
    /// The most bytes of an uncached oriented graph in memory; a larger one is written to a file.
    pub graph: Bytes,
    /// The most bytes in memory of a set of buckets, of sorted runs or of reversed arcs; `None`: their share.
    pub buckets: Option<Bytes>,
    /// The most bytes of reversed arcs on disk; `None`: half of what is free.
    pub scratch: Option<Bytes>,
    /// What the job does with the graph, if known.
    pub later: Option<&'a dyn AfterPreparing>,
}

pub trait AfterPreparing: Sync {
    /// The smallest budget that suffices for these stages, for a graph of at most this size.
    fn floor(&self, vertices: u64, arcs: u64) -> Bytes;

    /// What is certain to be written, or may be, while the graph's file exists.
    fn disk_needs(&self, vertices: u64, edges: u64) -> Vec<DiskNeed>;

    /// The stages to the end of the job, from preparing this graph on.
    fn stages(&self, graph: &GraphToPrepare) -> Vec<ExpectedStage>;
}

/// The names of the first pass over rows that are oriented, and of further passes.
pub(crate) const ORIENT_ROWS: &str = "orient rows";
pub(crate) const READ_ROWS_AGAIN: &str = "read rows again";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputForm {
    /// Rows with each edge from both ends.
    SymmetricRows,
    /// Rows of a directed graph, which are united with their reverse.
    DirectedRows,
    /// Arcs that are sorted on the cores.
    Arcs,
    /// Arcs that are sorted on a GPU.
    ArcsOnGpu,
}

impl InputForm {
    /// Bytes for each id besides [`PER_ID`]: lengths of rows that are read again; for united rows, also their lengths before and after.
    pub fn more_per_id(self) -> u64 {
        match self {
            Self::SymmetricRows => 4,
            Self::DirectedRows => 12,
            Self::Arcs | Self::ArcsOnGpu => 0,
        }
    }
}

/// Bounds of a graph that are known before it is prepared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphToPrepare {
    pub form: InputForm,
    /// Ids up to the largest, and arcs of the input.
    pub ids: u64,
    pub arcs: u64,
    pub edges: u64,
    /// Bytes of the input's encoded rows, if known.
    pub row_bytes: Option<Bytes>,
}

impl GraphToPrepare {
    /// A rough number of probes for counting: few an edge for crawls, which come as rows; hundreds for Kronecker graphs.
    pub(crate) fn probes(&self) -> u64 {
        let of_edge = match self.form {
            InputForm::SymmetricRows | InputForm::DirectedRows => 20,
            InputForm::Arcs | InputForm::ArcsOnGpu => 300,
        };
        self.edges.saturating_mul(of_edge)
    }
}

#[derive(Debug, Clone, Copy)]
pub enum IdCount {
    /// The number of ids up to the largest; they index arrays.
    Plain(u64),
    /// The number of vertices, whose ids are looked up in a table.
    Ranked(u64),
}

impl IdCount {
    pub(crate) fn many(self) -> u64 {
        match self {
            Self::Plain(many) | Self::Ranked(many) => many,
        }
    }
}

pub fn needs(ids: IdCount, arcs: u64, space: Workspace<'_>) -> Needs {
    let threads = space.memory.threads();
    // Each thread sorts a bucket in its share of a quarter of the memory. The number of buckets is a power of two, which may be half of what the
    // eighth for staging areas allows, and the largest bucket is a little larger than the others.
    let sorting = (1.2 * arcs as f64 * (PER_KEY * 4 * 8 * 2 * 4096 * threads) as f64).sqrt() as u64;
    let rows = 5 * PER_KEY * arcs.min(ROWS);
    let reading = (threads * READER + (6 << 20)).min(threads * SMALL_READER + 32 * arcs);
    let least = reading.max(sorting.max(rows));
    let needs = Needs::to("prepare the graph");
    // A bit for each id that occurs, and the ranks of these bits.
    let needs = match ids {
        IdCount::Plain(ids) => needs.array(PER_ID, ids, "ids").fixed("which ids occur", Bytes(ids / 4)),
        IdCount::Ranked(many) => needs.array(PER_VERTEX, many, "vertices").fixed("which ids occur", Bytes(many / 4)),
    };
    needs.buffers(Bytes(least))
}

impl<'a> Workspace<'a> {
    pub fn new(memory: HostMemory, dir: &'a Path) -> Self {
        Self { memory, dir, graph: Bytes::ZERO, buckets: None, scratch: None, later: None }
    }

    pub(crate) fn later_needs(&self, vertices: u64, edges: u64) -> Vec<DiskNeed> {
        self.later.map_or(Vec::new(), |later| later.disk_needs(vertices, edges))
    }

    pub(crate) fn expect(&self, graph: &GraphToPrepare, control: &Control) {
        if let Some(later) = self.later {
            control.expect(&later.stages(graph));
        }
    }

    pub(crate) fn expect_after(&self, done: &str, graph: &GraphToPrepare, control: &Control) {
        let all = self.later.map_or(Vec::new(), |later| later.stages(graph));
        if let Some(done) = all.iter().position(|stage| stage.task == done) {
            control.expect(&all[done + 1..]);
        }
    }

    /// The smallest budget that suffices to prepare a graph of this size, and for what the job does with it.
    pub(crate) fn enough(&self, ids: IdCount, arcs: u64) -> Bytes {
        let later = self.later.map_or(Bytes::ZERO, |later| later.floor(ids.many(), arcs));
        self.memory.floor(&needs(ids, arcs, *self)).bytes.max(later)
    }

    pub fn beside(&self, needs: &Needs) -> Result<Shares<'a>> {
        Ok(Shares { left: self.memory.left(needs)?, space: *self })
    }
}

/// Memory for buffers, once the arrays are allocated.
#[derive(Clone, Copy)]
pub struct Shares<'a> {
    pub left: Bytes,
    pub space: Workspace<'a>,
}

impl Shares<'_> {
    /// `many` sixteenths of the memory, or less if the workspace limits a set of buckets.
    fn sixteenths(&self, many: u64) -> u64 {
        self.space.buckets.map_or(self.left.get() / 16 * many, Bytes::get)
    }

    pub fn buckets(&self) -> u64 {
        self.sixteenths(5)
    }

    /// Bytes of encoded arcs that wait to be sorted by head.
    pub fn reversed_arcs(&self) -> u64 {
        self.sixteenths(9)
    }

    /// The most bytes of reversed arcs on disk: the graph file takes about as much as all of them.
    pub fn reversed_on_disk(&self) -> Result<Bytes> {
        self.space.scratch.map_or_else(|| Ok(Bytes(free_space(self.space.dir)?.get() / 2)), Ok)
    }

    /// Bytes of the tails made from reversed arcs, which stay while rows wait.
    pub fn tails(&self) -> u64 {
        self.sixteenths(7)
    }

    /// Bytes of encoded rows that wait to be written; then no buckets are needed, nor memory for a graph that goes to a file.
    pub fn rows_that_wait(&self, to_file: bool) -> Bytes {
        Bytes(self.sixteenths(if to_file { 9 } else { 5 }))
    }

    pub fn on_disk(&self, what: &str, bytes: [Bytes; 2]) -> DiskNeed {
        DiskNeed::new(what, self.space.dir, bytes, "--work-dir")
    }

    /// As [`Self::rows_that_wait`], without what staging areas take, for rows that are united with tails in memory.
    pub fn rows_beside_tails(&self, to_file: bool) -> Bytes {
        let staging = match self.space.buckets {
            Some(_) => 0,
            None => self.staged() * 2048 * self.space.memory.threads(),
        };
        Bytes(self.rows_that_wait(to_file).get() - staging)
    }

    /// Bytes of rows that had to be decoded before they are oriented.
    pub fn rows(&self) -> Bytes {
        Bytes(self.left.get() / 4)
    }

    /// Bytes in which a thread sorts a bucket, or makes its rows, while all threads do so.
    pub fn sorting(&self) -> u64 {
        self.left.get() / 4 / self.space.memory.threads()
    }

    pub(crate) fn sorting_budget(&self) -> SharedBudget {
        SharedBudget::new(Bytes(self.left.get() / 4))
    }

    /// The memory of all threads together for the keys of buckets that are distributed again.
    pub(crate) fn keys_budget(&self) -> SharedBudget {
        SharedBudget::new(Bytes(self.left.get() / 8))
    }

    pub(super) fn keys_at_once(&self) -> u64 {
        (self.sorting() / PER_KEY).max(1024)
    }

    /// The most staging areas (2 KiB each) of a thread, such that those of all threads take an eighth of the memory.
    pub fn staged(&self) -> u64 {
        (self.left.get() / 8 / self.space.memory.threads() / 2048).clamp(1, 4096)
    }

    /// The number of classes, a power of two: about 2^17 keys each, which a core sorts in its cache; fewer keys if memory is scarce.
    pub(super) fn class_count(&self, arcs: u64) -> usize {
        let wanted = arcs / (self.keys_at_once() / 64).clamp(1024, 1 << 17);
        1 << wanted.clamp(8, self.staged().max(8)).ilog2()
    }
}

/// Refuses a bucket that needs more memory than was reserved for it.
pub(crate) fn check_bucket(taken: &TakenMemory, bytes: u64) -> Result<()> {
    let (needed, there) = (Bytes(bytes), taken.bytes());
    if needed <= there {
        return Ok(());
    }
    Err(too_large(needed, there, format!("raise --host-memory by {}", Bytes(5 * (needed - there).get()))))
}

pub(crate) fn too_large(needed: Bytes, there: Bytes, raise: String) -> Error {
    Error::memory(format!("a bucket takes {needed}, and the host's budget has {there} for it"))
        .advice(or_fewer_threads(raise, rayon::current_num_threads() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_takes_more_is_refused() {
        let taken = SharedBudget::new(Bytes(100)).take(Bytes(130));
        assert!(check_bucket(&taken, 100).is_ok());
        let said = check_bucket(&taken, 101).unwrap_err().to_string();
        assert!(said.contains("raise --host-memory by 5 B"), "{said}");
    }
}
