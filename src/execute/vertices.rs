//! CountsWanted the triangles at each vertex: the passes over a partition, and where its counts go.
//!
//! A device holds a window of the counters of a partition. Where that is not all, the partition is counted once for each window. What
//! a window counted is added to the sums of all vertices once the whole pass has ended well; if the device then fails, another one
//! goes on with the next window. With a run directory the counts of a partition are kept in a file, too, before its result is
//! recorded; a later start adds them from there.

use std::time::Instant;

use rayon::ThreadPool;
use trimill_kernels::{PartitionExtent, VertexCounters};

use super::counters::{in_memory, window_bytes};
use super::part_counts::{PartFiles, PartitionRanks, Unfinished};
use super::session::Session;
use crate::count::VertexCounts;
use crate::graph::OrientedGraph;
use crate::report::{RunResult, Stage};
use crate::stream::source::PartitionSource;
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use crate::vertices::degrees::DegreeBin;
use crate::vertices::order::VerticesOfGraph;
use crate::vertices::part::{VertexPartCounts, VertexPartKey, VertexPartWriter};
use crate::vertices::summary::summarised;
use crate::vertices::{CountedRanks, Totals};
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};
use trimill_system::parallel;

/// The sums of a job.
pub(super) struct VertexSums<'g> {
    graph: &'g OrientedGraph,
    /// None in a shard, whose counts are added elsewhere.
    totals: Option<Totals>,
    files: PartFiles,
    unfinished: Unfinished<VerticesOfPartition>,
}

/// A partition that is being counted, window by window.
#[derive(Default)]
struct VerticesOfPartition {
    /// The first counter of the next window.
    next: u64,
    counted: CountedPartition,
    file: Option<VertexPartWriter>,
}

impl<'g> VertexSums<'g> {
    /// Zeros; in memory where they take no more than [`in_memory`] allows.
    pub(super) fn new(session: &Session, graph: &'g OrientedGraph, fingerprint: u128) -> Result<Self> {
        let totals = match (session.is_shard(), in_memory(session.host, graph.vertices())) {
            (true, _) => None,
            (false, true) => Some(Totals::in_memory(graph.vertices())),
            (false, false) => Some(Totals::in_file(graph.vertices(), &session.work_dir)?),
        };
        let files = PartFiles::new(session.run.as_ref(), fingerprint);
        Ok(Self { graph, totals, files, unfinished: Unfinished::default() })
    }

    fn key(&self, part: u32, fingerprint: u128) -> VertexPartKey {
        VertexPartKey { fingerprint, part, vertices: self.graph.vertices() }
    }

    /// Adds what an earlier start counted at the vertices of a partition. `false`: that is missing or damaged.
    pub(super) fn resume(&self, part: u32, pool: &ThreadPool) -> Result<bool> {
        let found =
            self.files.open(part, |dir, fingerprint| VertexPartCounts::open(dir, self.key(part, fingerprint)))?;
        match (found, &self.totals) {
            (Some(counts), Some(totals)) => counts.add_to(totals, pool).map(|()| true),
            (found, _) => Ok(found.is_some()),
        }
    }

    /// Counts a partition, from the window on that was not counted yet. `first` is its source; `again` opens it for further windows.
    pub(super) fn count<'s>(
        &self,
        part: u32,
        first: &mut dyn PartitionSource,
        again: impl Fn() -> Result<Box<dyn PartitionSource + 's>> + Sync,
        thread: &mut DeviceThread<'_>,
    ) -> Result<CountedPartition, PartitionFailure> {
        let begin = || {
            let file = self.files.begin(|dir, fingerprint| VertexPartWriter::new(dir, self.key(part, fingerprint)))?;
            Ok(VerticesOfPartition { file, ..VerticesOfPartition::default() })
        };
        let count = |counting: &mut VerticesOfPartition| self.windows(counting, first, again, thread);
        let (VerticesOfPartition { counted, file, .. }, ()) = self.unfinished.finish(part, begin, count)?;
        file.map_or(Ok(()), VertexPartWriter::finish)?;
        Ok(counted)
    }

    fn windows<'s>(
        &self,
        counting: &mut VerticesOfPartition,
        first: &mut dyn PartitionSource,
        again: impl Fn() -> Result<Box<dyn PartitionSource + 's>> + Sync,
        thread: &mut DeviceThread<'_>,
    ) -> Result<(), PartitionFailure> {
        let pool = thread.pool;
        let ranks = PartitionRanks::of(first, pool)?;
        let (rows, numbered, locals_at) = (first.resident_size(), ranks.numbered, u64::from(ranks.locals_at));
        let size = PartitionExtent { locals: rows.locals, arcs: rows.arcs, numbered, row_block_limit: 0 };
        let (all, held) = (VertexCounters::all(&size, locals_at), thread.backend.vertex_counters().max(1));
        let mut opened: Option<Box<dyn PartitionSource + 's>> = None;
        loop {
            let window = counting.next..all.min(counting.next + held);
            let last = window.end == all;
            let source: &mut dyn PartitionSource = match &mut opened {
                None => &mut *first,
                Some(again) => again,
            };
            let counters = VertexCounters { window: window.clone(), locals_at };
            let (counted, counts) = thread.count_at_vertices(source, counters)?;
            if counting.next > 0 && counted.triangles != counting.counted.triangles {
                let found = format!("{} and {} triangles", counting.counted.triangles, counted.triangles);
                return Err(Error::defect(format!("{found} in two passes over a partition")).into());
            }
            let start = Instant::now();
            self.add(&counts, &ranks, counting.file.as_mut(), pool)?;
            // Every pass counts all triangles of the partition.
            counting.counted = CountedPartition { triangles: counted.triangles, ..counting.counted.and(counted) };
            counting.counted.counting += start.elapsed();
            counting.next = window.end;
            if last {
                return Ok(());
            }
            opened = Some(parallel::within(pool, &again)?);
        }
    }

    fn add(
        &self,
        counts: &VertexCounts,
        ranks: &PartitionRanks,
        mut file: Option<&mut VertexPartWriter>,
        pool: &ThreadPool,
    ) -> Result<()> {
        let VertexCounts { of: VertexCounters { window, locals_at }, counts, locals } = counts;
        let mut add = |places: CountedRanks<'_>, counts: &[u64]| {
            if let Some(file) = &mut file {
                parallel::within(pool, || file.add(places, counts))?;
            }
            self.totals.as_ref().map_or(Ok(()), |totals| totals.add(pool, places, counts))
        };
        let (numbered, ranks) = (u64::from(ranks.numbered), ranks.ranks.as_deref());
        let numbers = window.start.min(numbered)..window.end.min(numbered);
        let (of_numbers, of_locals) = counts.split_at((numbers.end - numbers.start) as usize);
        match ranks {
            None => add(CountedRanks::From(numbers.start as u32), of_numbers)?,
            Some(ranks) => add(CountedRanks::List(&ranks[numbers.start as usize..numbers.end as usize]), of_numbers)?,
        }
        // The locals' own counters, which come after those of all numbers; there are none if the locals are consecutive.
        let first = window.start.max(*locals_at) - locals_at;
        let numbers = (first..).zip(of_locals).map(|(i, _)| locals.all().at(i as usize));
        let places: Vec<u32> = match ranks {
            None => numbers.collect(),
            Some(ranks) => numbers.map(|number| ranks[number as usize]).collect(),
        };
        add(CountedRanks::List(&places), of_locals)
    }

    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(super) fn all(&self) -> Vec<u64> {
        self.totals().unwrap().each_block(|_, sums| Ok(sums.to_vec())).unwrap().concat()
    }

    pub(super) fn totals(&self) -> Result<&Totals> {
        self.totals.as_ref().ok_or_else(|| Error::defect("the counts of a shard are not added"))
    }

    /// Completes the result: the summary and the files.
    pub(super) fn finish(&self, session: &Session, result: &mut RunResult) -> Result<()> {
        let Session { job, host, pool, control, .. } = session;
        let (graph, totals) = (self.graph, self.totals()?);
        let start = Instant::now();
        let triangles = result.partitions.iter().map(|partition| u128::from(partition.counted().triangles)).sum();
        let memory = window_bytes(job.counts(), *host, graph.vertices());
        parallel::within(pool, || {
            let (by_degree, summary) = summarised(graph, totals, triangles)?;
            if control.is_recorded() {
                result.degrees = Some(DegreeBin::of_sums(&by_degree));
            }
            result.clustering = Some(summary);
            job.output_files().write_vertices(&VerticesOfGraph { graph, totals, memory }, &by_degree)
        })?;
        let files = [&job.per_vertex, &job.by_degree];
        let written = files.into_iter().flatten().map(|path| path.metadata().map_or(0, |written| written.len())).sum();
        let read = Totals::bytes(graph.vertices());
        control.did_stage("vertices", start);
        result.stages.push(Stage::since("vertices", start, read, Bytes(written)));
        Ok(())
    }
}
