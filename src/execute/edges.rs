//! CountsWanted the triangles on each edge: what of a partition goes to the sums, and what follows from the sums.
//!
//! The counts of a row block are complete when the row block is counted, and are added to the sums at once; those of resident arcs
//! are added when the partition is counted. If a device fails in between, another one counts the partition again, and what was added
//! before is skipped: a partition has the same row blocks on every device. With a run directory the counts of a partition are kept in
//! a file, too, before its result is recorded; a later start adds them from there.

use std::time::Instant;

use rayon::ThreadPool;

use super::counters::{edge_window_bytes, edges_in_memory};
use super::edge_sinks::{Added, PartitionEdgeSink, RowsOnHost};
use super::part_counts::{PartFiles, PartitionRanks, Unfinished};
use super::session::Session;
use super::vertices::VertexSums;
use crate::edges::EdgeSums;
use crate::edges::order::EdgesOfGraph;
use crate::edges::part::{EdgePartCounts, EdgePartKey, EdgePartWriter};
use crate::graph::OrientedGraph;
use crate::report::{RunResult, Stage};
use crate::stream::source::PartitionSource;
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};
use trimill_system::parallel;

/// The sums of a job.
pub(super) struct OnEdges<'g> {
    graph: &'g OrientedGraph,
    /// None in a shard, whose counts are added elsewhere.
    sums: Option<EdgeSums>,
    files: PartFiles,
    /// Bytes of a block of rows in a pass over the graph.
    block: Bytes,
    unfinished: Unfinished<EdgesOfPartition>,
}

/// A partition that is being counted.
struct EdgesOfPartition {
    added: Added,
    file: Option<EdgePartWriter>,
}

impl<'g> OnEdges<'g> {
    /// Zeros; in memory where they take no more than [`edges_in_memory`] allows.
    pub(super) fn new(session: &Session, graph: &'g OrientedGraph, fingerprint: u128) -> Result<Self> {
        let sums = match (session.is_shard(), edges_in_memory(session.host, graph.edges())) {
            (true, _) => None,
            (false, true) => Some(EdgeSums::in_memory(graph.edges())),
            (false, false) => Some(EdgeSums::in_file(graph.edges(), &session.work_dir)?),
        };
        let files = PartFiles::new(session.run.as_ref(), fingerprint);
        Ok(Self { graph, sums, files, block: session.host_block(), unfinished: Unfinished::default() })
    }

    fn key(&self, part: u32, fingerprint: u128) -> EdgePartKey {
        EdgePartKey { fingerprint, part, arcs: self.graph.edges() }
    }

    /// Adds what an earlier start counted on the edges of a partition. `false`: that is missing or damaged.
    pub(super) fn resume(&self, part: u32, pool: &ThreadPool) -> Result<bool> {
        let found = self.files.open(part, |dir, fingerprint| EdgePartCounts::open(dir, self.key(part, fingerprint)))?;
        match (found, &self.sums) {
            (Some(counts), Some(sums)) => parallel::within(pool, || counts.add_to(sums)).map(|()| true),
            (found, _) => Ok(found.is_some()),
        }
    }

    /// Counts a partition, or what of it was not added to the sums yet.
    pub(super) fn count(
        &self,
        part: u32,
        source: &mut dyn PartitionSource,
        thread: &mut DeviceThread<'_>,
    ) -> Result<CountedPartition, PartitionFailure> {
        let begin = || {
            let file = self.files.begin(|dir, fingerprint| EdgePartWriter::new(dir, self.key(part, fingerprint)))?;
            Ok(EdgesOfPartition { added: Added::default(), file })
        };
        let count = |counting: &mut EdgesOfPartition| self.counted(counting, source, thread);
        let (counting, counted) = self.unfinished.finish(part, begin, count)?;
        counting.file.map_or(Ok(()), EdgePartWriter::finish)?;
        Ok(counted)
    }

    fn counted(
        &self,
        counting: &mut EdgesOfPartition,
        source: &mut dyn PartitionSource,
        thread: &mut DeviceThread<'_>,
    ) -> Result<CountedPartition, PartitionFailure> {
        let ranks = PartitionRanks::of(source, thread.pool)?;
        let EdgesOfPartition { added, file } = counting;
        let add = |first: u64, counts: &[u32]| {
            if let Some(file) = file {
                file.add(first, counts)?;
            }
            self.sums.as_ref().map_or(Ok(()), |sums| sums.add(first, counts))
        };
        let rows = RowsOnHost { graph: self.graph, pool: thread.pool, block: self.block };
        let mut sink = PartitionEdgeSink::new(rows, ranks, added, add)?;
        thread.count_on_edges(source, &mut sink)
    }

    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(super) fn all(&self) -> Vec<u32> {
        let mut sums = vec![0; self.graph.edges() as usize];
        self.sums.as_ref().unwrap().read(0, &mut sums).unwrap();
        sums
    }

    fn sums(&self) -> Result<&EdgeSums> {
        self.sums.as_ref().ok_or_else(|| Error::defect("the counts of a shard are not added"))
    }

    /// Writes the file; fails if the sums are not three times the triangles.
    pub(super) fn finish(&self, session: &Session, result: &mut RunResult) -> Result<()> {
        let Session { job, host, pool, control, .. } = session;
        let (graph, sums) = (self.graph, self.sums()?);
        let start = Instant::now();
        let triangles: u128 = result.partitions.iter().map(|partition| u128::from(partition.counted().triangles)).sum();
        let found = parallel::within(pool, || sums.total())?;
        if found != 3 * triangles {
            return Err(Error::defect(format!("the edges have {found} of the sides of {triangles} triangles")));
        }
        let memory = edge_window_bytes(job.counts(), *host, graph.vertices(), graph.edges());
        let counts = EdgesOfGraph { graph, sums, memory, control };
        parallel::within(pool, || job.output_files().write_edges(&counts))?;
        let written = job.per_edge.as_deref().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
        control.did_stage("edges", start);
        result.stages.push(Stage::since("edges", start, EdgeSums::bytes(graph.edges()), Bytes(written)));
        Ok(())
    }

    /// The triangles at vertices: half of those on their edges.
    pub(super) fn at_vertices(&self, session: &Session) -> Result<VertexSums<'g>> {
        let Session { job, host, pool, control, .. } = session;
        let vertices = VertexSums::new(session, self.graph, 0)?;
        let memory = edge_window_bytes(job.counts(), *host, self.graph.vertices(), self.graph.edges());
        let edges = EdgesOfGraph { graph: self.graph, sums: self.sums()?, memory, control };
        edges.at_vertices(vertices.totals()?, pool)?;
        Ok(vertices)
    }
}
