//! Counts the triangles on each edge: what of a partition goes to the sums, and what follows from the sums.
//!
//! The counts of a row block are complete when the row block is counted, and are added to the sums at once; those of resident arcs
//! are added when the partition is counted. If a device fails in between, another one counts the partition again, and what was added
//! before is skipped: a partition has the same row blocks on every device. With a run directory the counts of a partition are kept in
//! a file, too, before its result is recorded; a later start adds them from there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use rayon::ThreadPool;

use super::counters::{edge_window_bytes, edges_in_memory};
use super::edge_sinks::{Added, Sink};
use super::setup::Setup;
use super::vertices::AtVertices;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::Backend;
use crate::edges::order::OfGraph;
use crate::edges::part::{Key, PartCounts, PartWriter};
use crate::edges::{Sums, vertices_of};
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::lock;
use crate::report::{RunResult, Stage};
use crate::run_dir::unless_damaged;
use crate::stream::source::PartitionSource;
use crate::stream::{Counted, Failed, count_on_edges};

/// The sums of a job.
pub(super) struct OnEdges<'g> {
    graph: &'g OrientedGraph,
    sums: Sums,
    /// The run directory, and the fingerprint of the job.
    run: Option<(PathBuf, u128)>,
    /// Bytes of a block of rows in a pass over the graph.
    block: Bytes,
    /// Partitions that a device did not finish.
    unfinished: Mutex<BTreeMap<u32, Unfinished>>,
}

/// A partition that is not finished.
struct Unfinished {
    added: Added,
    file: Option<PartWriter>,
}

impl<'g> OnEdges<'g> {
    /// Zeros; in memory where they take no more than [`edges_in_memory`] allows.
    pub(super) fn new(graph: &'g OrientedGraph, setup: &Setup, fingerprint: u128) -> Result<Self> {
        let sums = match edges_in_memory(setup.host, graph.edges()) {
            true => Sums::in_memory(graph.edges()),
            false => Sums::in_file(graph.edges(), &setup.work_dir)?,
        };
        let run = setup.run.as_ref().map(|run| (run.path().to_path_buf(), fingerprint));
        Ok(Self { graph, sums, run, block: setup.host_block(), unfinished: Mutex::default() })
    }

    fn key(&self, part: u32, fingerprint: u128) -> Key {
        Key { fingerprint, part, arcs: self.sums.arcs() }
    }

    /// Adds what an earlier start counted on the edges of a partition. `false`: that is missing or damaged.
    pub(super) fn resume(&self, part: u32, pool: &ThreadPool) -> Result<bool> {
        let Some((dir, fingerprint)) = &self.run else { return Ok(false) };
        let then = format!("partition {part} is counted again");
        match unless_damaged(PartCounts::open(dir, self.key(part, *fingerprint)), &then)? {
            Some(counts) => pool.install(|| counts.add_to(&self.sums)).map(|()| true),
            None => Ok(false),
        }
    }

    /// Counts a partition, or what of it was not added to the sums yet.
    pub(super) fn count(
        &self,
        part: u32,
        source: &mut dyn PartitionSource,
        backend: &mut dyn Backend,
        pool: &ThreadPool,
        control: &Control,
    ) -> Result<Counted, Failed> {
        let before = lock(&self.unfinished).remove(&part);
        let mut unfinished = match before {
            Some(unfinished) => unfinished,
            None => self.begin(part)?,
        };
        let counted = self.counted(&mut unfinished, source, backend, pool, control);
        match counted {
            Ok(counted) => {
                unfinished.file.map_or(Ok(()), PartWriter::finish)?;
                Ok(counted)
            }
            Err(failed) => {
                lock(&self.unfinished).insert(part, unfinished);
                Err(failed)
            }
        }
    }

    fn begin(&self, part: u32) -> Result<Unfinished> {
        let file = |(dir, fingerprint): &(PathBuf, u128)| PartWriter::new(dir, self.key(part, *fingerprint));
        Ok(Unfinished { added: Added::default(), file: self.run.as_ref().map(file).transpose()? })
    }

    fn counted(
        &self,
        unfinished: &mut Unfinished,
        source: &mut dyn PartitionSource,
        backend: &mut dyn Backend,
        pool: &ThreadPool,
        control: &Control,
    ) -> Result<Counted, Failed> {
        let locals_at = source.locals_at();
        let ranks = {
            // Moved, since a source may be sent to the pool but not shared with it.
            let source = &mut *source;
            pool.install(move || source.ranks())?
        };
        let Unfinished { added, file } = unfinished;
        let add = |first: u64, counts: &[u32]| {
            if let Some(file) = file {
                file.add(first, counts)?;
            }
            self.sums.add(first, counts)
        };
        let mut sink = Sink::new((self.graph, pool, self.block), (ranks, locals_at), added, add)?;
        count_on_edges(source, backend, &mut sink, pool, control)
    }

    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(super) fn sums(&self) -> Vec<u32> {
        let mut sums = vec![0; self.sums.arcs() as usize];
        self.sums.read(0, &mut sums).unwrap();
        sums
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When the sums are not three times the triangles; when the file cannot be written.
    pub(super) fn finish(&self, job: &Job, setup: &Setup, control: &Control, result: &mut RunResult) -> Result<()> {
        let graph = self.graph;
        let start = Instant::now();
        let triangles: u128 = result.partitions.iter().map(|partition| u128::from(partition.triangles)).sum();
        let found = setup.pool.install(|| self.sums.total())?;
        if found != 3 * triangles {
            return Err(Error::defect(format!("the edges have {found} of the sides of {triangles} triangles")));
        }
        let memory = edge_window_bytes(job, setup.host, (graph.vertices(), graph.edges()));
        let counts = OfGraph { graph, sums: &self.sums, memory, control };
        setup.pool.install(|| job.output_files().write_edges(&counts))?;
        let written = job.per_edge.as_deref().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
        result.stages.push(Stage::since("edges", start, Sums::bytes(graph.edges()), Bytes(written)));
        Ok(())
    }

    /// The triangles at vertices: half of those on their edges.
    ///
    /// # Errors
    /// When the graph or the sums cannot be read; when stopped.
    pub(super) fn at_vertices(&self, job: &Job, setup: &Setup, control: &Control) -> Result<AtVertices<'g>> {
        let size = (self.graph.vertices(), self.graph.edges());
        let vertices = AtVertices::new(self.graph, setup, 0)?;
        let memory = edge_window_bytes(job, setup.host, size);
        vertices_of(self.graph, &self.sums, vertices.totals(), memory, &setup.pool, control)?;
        Ok(vertices)
    }
}
