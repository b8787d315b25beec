//! Counts the triangles on each edge: adds the counts of partitions to sums, and makes files and trusses of these. Counts of a row block are added as
//! soon as it is counted, those of resident arcs when the partition is counted. If a device fails in between, another one counts the partition again
//! and skips what was added: the row blocks are the same on every device. With a run directory the counts of a partition are also written to a file,
//! before its result is recorded, and a later start adds them from there.

use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use super::part_counts::JobSums;
use super::session::Session;
use super::vertices::VertexSums;
use crate::edges::order::EdgesOfGraph;
use crate::report::{RunResult, Stage};
use crate::stream::edge_sinks::{Added, PartitionEdgeSink, RowsOnHost};
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use crate::sums::part::PEELED;
use crate::sums::{ByArc, CountedKeys, Sums};
use crate::truss::{CHECKPOINT_CHUNK, SaveCheckpoint, TrussDecomposition};
use trimill_counting::{CountBackend, Detail, PartitionSource};
use trimill_graph::OrientedGraph;
use trimill_system::mapped::trim_heap;
use trimill_system::{Bytes, Error, Result, parallel};

pub(super) struct OnEdges<'g> {
    graph: &'g OrientedGraph,
    pub(super) of: JobSums<ByArc, Added>,
    block: Bytes,
}

impl<'g> OnEdges<'g> {
    pub(super) fn new(session: &Session, graph: &'g OrientedGraph, fingerprint: u128) -> Result<Self> {
        let of = JobSums::new(session, graph.edges(), fingerprint)?;
        Ok(Self { graph, of, block: session.host_block() })
    }

    /// Counts the part of a partition that is not in the sums yet.
    pub(super) fn count(
        &self,
        part: u32,
        source: &mut dyn PartitionSource,
        thread: &mut DeviceThread<'_>,
    ) -> Result<CountedPartition, PartitionFailure> {
        self.of.count(part, |added, mut file| {
            let locals_at = source.outline().locals_at;
            let ranks = parallel::within(thread.pool, || source.ranks())?;
            let mut add =
                |first: u64, counts: &[u32]| self.of.add(file.as_deref_mut(), CountedKeys::From(first), counts);
            let rows = RowsOnHost { graph: self.graph, pool: thread.pool, block: self.block };
            let sink = PartitionEdgeSink::new(rows, locals_at, ranks, added, &mut add)?;
            Ok(thread.count(source, Detail::Edges, Some(sink))?.0)
        })
    }

    /// Fails unless the sums add up to three times the triangles.
    pub(super) fn check(&self, session: &Session, result: &RunResult) -> Result<()> {
        let (sums, triangles) = (self.of.all()?, result.triangles);
        let found = parallel::within(&session.pool, || sums.total())?;
        if found != 3 * triangles {
            return Err(Error::defect(format!("the edges have {found} of the sides of {triangles} triangles")));
        }
        Ok(())
    }

    pub(super) fn finish(
        &self,
        session: &Session,
        mut backends: Vec<Box<dyn CountBackend>>,
        result: &mut RunResult,
    ) -> Result<()> {
        let Session { job, pool, control, .. } = session;
        let (graph, sums) = (self.graph, self.of.all()?);
        let (needs, read) = (session.host_needs(graph, None), Sums::<ByArc>::bytes(graph.edges()));
        if let Some(wanted) = job.settings.output.peeling() {
            let start = Instant::now();
            let device = backends.first_mut().map(|backend| &mut **backend as &mut dyn CountBackend);
            if self.of.restore(PEELED, pool)? {
                tracing::info!("peeling goes on from the checkpoint of an earlier start");
            }
            let save = |state: &[AtomicU32]| self.of.save(PEELED, blocks_of(state));
            let save = self.of.has_files().then_some(&save as &SaveCheckpoint<'_>);
            let (block, host) = (session.host_block(), needs.left_to_peel()?);
            let decomposition = TrussDecomposition { graph, sums, block, host, save, control };
            result.truss = Some(parallel::within(pool, || decomposition.run(wanted, device))?);
            drop(backends);
            trim_heap();
            result.stages.push(Stage::since("peel", start, read, read, control));
        }
        let start = Instant::now();
        let counts =
            EdgesOfGraph { graph, sums, truss: job.settings.output.peeling(), memory: needs.window()?, control };
        let finish = |file| session.finish_file(file);
        let by_k = |path: &Path| result.truss.as_ref().map_or(Ok(()), |trusses| finish(trusses.write(path)?));
        parallel::within(pool, || {
            let sizes = job.settings.output.by_k.as_deref().map_or(Ok(()), by_k);
            let taken = job.arrays.as_ref().map_or(Ok(()), |arrays| arrays.take_edges(&counts));
            Error::worst_of([sizes, taken, job.settings.output.write_edges(&counts, finish)])
        })?;
        let written =
            job.settings.output.per_edge.as_deref().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
        result.stages.push(Stage::since("edges", start, read, Bytes(written), control));
        Ok(())
    }

    pub(super) fn at_vertices(&self, session: &Session) -> Result<VertexSums<'g>> {
        let Session { pool, control, .. } = session;
        let vertices = VertexSums::new(session, self.graph, 0)?;
        let memory = session.host_needs(self.graph, None).window()?;
        let (graph, sums) = (self.graph, self.of.all()?);
        let edges = EdgesOfGraph { graph, sums, truss: None, memory, control };
        edges.at_vertices(vertices.of.all()?, pool)?;
        Ok(vertices)
    }
}

fn blocks_of(state: &[AtomicU32]) -> impl Iterator<Item = Vec<u32>> {
    let blocks = state.chunks(CHECKPOINT_CHUNK as usize / size_of::<u32>());
    blocks.map(|values| values.iter().map(|value| value.load(Relaxed)).collect())
}
