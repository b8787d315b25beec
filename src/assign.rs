//! From an oriented graph to an assignment, by one of the partitioners.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use trimill_partitioners as partitioners;
use trimill_partitioners::MAX_PARTS;
use trimill_partitioners::file::{Declared, FileAssignment};
use trimill_partitioners::metis::MetisOptions;

use crate::bytes::Bytes;
use crate::control::Control;
use crate::disk;
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;
use crate::input::identity::Watched;
use crate::job::{Partitioner, Parts};
use crate::partition::assignment::Assignment;
use crate::plan::Assign;

/// The graph as partitioners see it.
pub struct View<'g>(pub &'g OrientedGraph);

impl partitioners::Graph for View<'_> {
    fn vertices(&self) -> u32 {
        self.0.vertices()
    }

    fn edges(&self) -> u64 {
        self.0.edges()
    }

    fn out_degree(&self, id: u32) -> u32 {
        self.0.out_degree(self.0.rank_of(id))
    }

    fn degree(&self, id: u32) -> u32 {
        self.0.degrees()[id as usize]
    }

    fn heads_of(&self, id: u32, each: &mut dyn FnMut(u32)) {
        let id_of = &self.0.numbering().id_of;
        self.0.row(self.0.rank_of(id)).iter().for_each(|&head| each(id_of[head as usize]));
    }
}

/// How the program runs METIS in a child of its own.
#[derive(Debug, Clone)]
pub struct Helper {
    /// The program.
    pub program: PathBuf,
    /// The arguments that make it the child.
    pub arguments: Vec<OsString>,
}

/// A partitioner with all that it needs.
pub struct Assigner<'a> {
    /// The graph.
    pub graph: &'a OrientedGraph,
    /// Which partitioner.
    pub partitioner: &'a Partitioner,
    /// The number of parts.
    pub parts: Parts,
    /// The seed of `random` and `metis`.
    pub seed: u64,
    /// What a vertex weighs: the bytes of its resident row.
    pub weight: &'a (dyn Fn(u32) -> u64 + Sync),
    /// How METIS is run; `None` where the host program gave none.
    pub helper: Option<&'a Helper>,
    /// What METIS may take.
    pub host_memory: Bytes,
    /// Where METIS's files go.
    pub work_dir: &'a Path,
    /// Stops METIS.
    pub control: &'a Control,
    /// The most bytes that a METIS child took.
    pub child_peak: AtomicU64,
}

impl Assign for Assigner<'_> {
    fn assign(&self, parts: u32) -> Result<Assignment> {
        let n = self.graph.vertices();
        if parts > MAX_PARTS {
            return Err(Error::usage(format!("{parts} parts")).expected(format!("at most {MAX_PARTS}")));
        }
        let part_of = match self.partitioner {
            Partitioner::Random => partitioners::random(n, parts, self.seed),
            Partitioner::Contiguous => partitioners::contiguous_by_weight(n, parts, self.weight),
            Partitioner::ContiguousVertices => partitioners::contiguous_vertices(n, parts),
            Partitioner::Metis { contract } => return self.metis(parts, contract.map(NonZeroU32::get)),
            Partitioner::File(path) => {
                let found = self.read(path)?;
                return Ok(Assignment::new(found.assignment, found.parts));
            }
        };
        Ok(Assignment::new(part_of, parts))
    }

    fn is_cheap(&self) -> bool {
        !matches!(self.partitioner, Partitioner::Metis { .. } | Partitioner::File(_))
    }

    fn parts(&self) -> Option<u32> {
        match (self.partitioner, self.parts) {
            (_, Parts::Exactly(parts)) => Some(parts.get()),
            // A file says itself how many; what it is asked for does not matter.
            (Partitioner::File(_), Parts::Auto) => Some(1),
            (_, Parts::Auto) => None,
        }
    }
}

impl Assigner<'_> {
    fn metis(&self, parts: u32, contract: Option<u32>) -> Result<Assignment> {
        let Some(helper) = self.helper else {
            return Err(Error::usage("the partitioner metis runs in a child process, and no program for it was named")
                .advice("use another partitioner, or name the trimill program"));
        };
        let stopped = || self.control.is_stopped();
        let options = MetisOptions {
            parts,
            seed: self.seed,
            contract,
            host_memory: self.host_memory.get(),
            work_dir: self.work_dir.to_path_buf(),
            helper: helper.program.clone(),
            helper_args: helper.arguments.clone(),
            stopped: &stopped,
            before_write: &disk::before_write,
        };
        let found = partitioners::metis::assign(&View(self.graph), &options).map_err(translated)?;
        self.child_peak.fetch_max(found.child_peak_bytes, Ordering::Relaxed);
        tracing::info!("METIS cuts {} of {} edges", found.cut, self.graph.edges());
        Ok(Assignment::new(found.parts, parts))
    }

    fn read(&self, path: &Path) -> Result<FileAssignment> {
        let declared = Declared {
            lines: self.graph.declared_lines(),
            first_id: self.graph.first_declared_id(),
            vertices: self.graph.vertices(),
            compact: &|original| self.graph.vertex_of(original),
            original: &|id| self.graph.original_id(id),
        };
        let watched = Watched::new(path).ok().flatten();
        let found = partitioners::file::read(path, declared).map_err(translated);
        watched.map_or(Ok(()), |watched| watched.unchanged())?;
        found
    }
}

/// A partitioner's error as this crate's: the same words, the kind by whose fault it is.
pub fn translated(error: partitioners::Error) -> Error {
    let found = match &error.source {
        Some(source) => format!("{} ({source})", error.found),
        None => error.found.to_string(),
    };
    let mut out = match error.kind {
        partitioners::Kind::Data => Error::data("", found),
        partitioners::Kind::Usage => Error::usage(found),
        partitioners::Kind::Interrupted => Error::interrupted(),
        _ => Error::resource(found),
    };
    if let Some(path) = error.path {
        out = out.at(path);
    }
    if let Some(line) = error.line {
        out = out.line(line);
    }
    if let Some(expected) = error.expected {
        out = out.expected(expected);
    }
    if let Some(advice) = error.advice {
        out = out.advice(advice);
    }
    out
}
