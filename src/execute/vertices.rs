//! Counts the triangles at each vertex. A device holds a window of a partition's counters; with several windows, the partition is counted once for
//! each. A window's counts are added to the sums once its pass has succeeded; if the device then fails, another one continues with the next window.
//! With a run directory the counts of a partition are written to a file, too, before its result is recorded, and a later start adds them from there.

use std::path::Path;
use std::time::Instant;

use super::part_counts::JobSums;
use super::session::Session;
use crate::job::file::OutputTable;
use crate::report::{RunResult, Stage};
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use crate::sums::part::PartWriter;
use crate::sums::{ByRank, CountedKeys, Sums};
use crate::vertices::degrees::DegreeBin;
use crate::vertices::files;
use crate::vertices::lcc::{self, AllVertices, LccOfVertices};
use crate::vertices::order::{VerticesOfGraph, array_len};
use crate::vertices::summary::{LccSummary, quantiles, summarised};
use trimill_counting::{Detail, PartitionExtent, PartitionOutline, PartitionSource, VertexCounters, VertexCounts};
use trimill_graph::OrientedGraph;
use trimill_input::arcs::ArcSource;
use trimill_system::text::plural;
use trimill_system::{Bytes, Error, Result, parallel};

pub(super) struct VertexSums<'g> {
    graph: &'g OrientedGraph,
    pub(super) of: JobSums<ByRank, CountedWindows>,
}

#[derive(Default)]
pub(super) struct CountedWindows {
    next: u64,
    counted: CountedPartition,
}

impl<'g> VertexSums<'g> {
    pub(super) fn new(session: &Session, graph: &'g OrientedGraph, fingerprint: u128) -> Result<Self> {
        let of = JobSums::new(session, graph.vertices().into(), fingerprint)?;
        Ok(Self { graph, of })
    }

    /// Counts a partition from its first uncounted window on. `first` is its source; `again` opens it for further windows.
    pub(super) fn count<'s>(
        &self,
        part: u32,
        first: &mut dyn PartitionSource,
        again: impl Fn() -> Result<Box<dyn PartitionSource + 's>> + Sync,
        thread: &mut DeviceThread<'_>,
    ) -> Result<CountedPartition, PartitionFailure> {
        self.of.count(part, |counting, mut file| {
            let pool = thread.pool;
            let PartitionOutline { resident: rows, numbered, locals_at, .. } = first.outline();
            let (locals_at, ranks) = (u64::from(locals_at), parallel::within(pool, || first.ranks())?);
            let size = PartitionExtent { locals: rows.locals, arcs: rows.arcs, numbered, row_block_limit: 0 };
            let (all, held) = (VertexCounters::all(&size, locals_at), thread.backend.footprint().counters.max(1));
            let mut opened: Option<Box<dyn PartitionSource + 's>> = None;
            loop {
                let window = counting.next..all.min(counting.next + held);
                let last = window.end == all;
                let source: &mut dyn PartitionSource = match &mut opened {
                    None => &mut *first,
                    Some(again) => again.as_mut(),
                };
                let wanted = Detail::Vertices(VertexCounters { window: window.clone(), locals_at });
                let (counted, counts) = thread.count(source, wanted, None)?;
                let counts = counts.ok_or_else(|| Error::defect("no counters of vertices"))?;
                if counting.next > 0 && counted.triangles != counting.counted.triangles {
                    let found = format!("{} and {} triangles", counting.counted.triangles, counted.triangles);
                    return Err(Error::defect(format!("{found} in two passes over a partition")).into());
                }
                let start = Instant::now();
                parallel::within(pool, || self.add(&counts, numbered, ranks.as_deref(), file.as_deref_mut()))?;
                // Every pass counts all triangles of the partition.
                counting.counted = CountedPartition { triangles: counted.triangles, ..counting.counted.and(counted) };
                counting.counted.counting += start.elapsed();
                counting.next = window.end;
                if last {
                    return Ok(counting.counted);
                }
                opened = Some(parallel::within(pool, &again)?);
            }
        })
    }

    /// Adds the counts of a window; numbers below `numbered` stand for `ranks`, or for themselves. Runs in the current thread pool.
    fn add(
        &self,
        counts: &VertexCounts,
        numbered: u32,
        ranks: Option<&[u32]>,
        mut file: Option<&mut PartWriter<ByRank>>,
    ) -> Result<()> {
        let VertexCounts { of: VertexCounters { window, locals_at }, counts, locals } = counts;
        let mut add = |keys: CountedKeys<'_>, counts: &[u64]| self.of.add(file.as_deref_mut(), keys, counts);
        let numbered = u64::from(numbered);
        let numbers = window.start.min(numbered)..window.end.min(numbered);
        let (of_numbers, of_locals) = counts.split_at((numbers.end - numbers.start) as usize);
        match ranks {
            None => add(CountedKeys::From(numbers.start), of_numbers)?,
            Some(ranks) => add(CountedKeys::List(&ranks[numbers.start as usize..numbers.end as usize]), of_numbers)?,
        }
        // The locals' own counters come after those of all numbers; there are none if locals are consecutive.
        let first = window.start.max(*locals_at) - locals_at;
        let numbers = (first..).zip(of_locals).map(|(i, _)| locals.at(i as usize));
        let places: Vec<u32> = match ranks {
            None => numbers.collect(),
            Some(ranks) => numbers.map(|number| ranks[number as usize]).collect(),
        };
        add(CountedKeys::List(&places), of_locals)
    }

    pub(super) fn finish(&self, session: &Session, result: &mut RunResult) -> Result<()> {
        let Session { job, pool, control, .. } = session;
        let (graph, sums) = (self.graph, self.of.all()?);
        let memory = session.host_needs(graph, None).window()?;
        let again = ReadAgain::new(session, graph, sums, result);
        let start = Instant::now();
        parallel::within(pool, || {
            let (by_degree, mut summary) = summarised(graph, sums, result.triangles)?;
            // Skipped for arrays alone: quantiles would take half as long as counting.
            if job.settings.output.describes_vertices() || control.is_recorded() {
                summary.quantiles = quantiles(graph, sums, &summary)?;
            }
            if control.is_recorded() {
                result.degrees = Some(DegreeBin::of_sums(&by_degree));
            }
            let counts = VerticesOfGraph { graph, sums, memory, control };
            let taken = job.arrays.as_ref().map_or(Ok(()), |arrays| arrays.take_vertices(&counts));
            let finish = |file| session.finish_file(file);
            let written = job.settings.output.write_vertices(&counts, array_len(graph), &by_degree, finish);
            let all = match &job.settings.output.lcc {
                Some(path) => {
                    again.and_then(|again| write_lcc(counts, again, path, session)).map(|lcc| summary.lcc = Some(lcc))
                }
                None => Ok(()),
            };
            result.clustering = Some(summary);
            Error::worst_of([taken, written, all])
        })?;
        let OutputTable { per_vertex, by_degree, lcc, .. } = &job.settings.output;
        let files = [per_vertex, by_degree, lcc];
        let written = files.into_iter().flatten().map(|path| path.metadata().map_or(0, |written| written.len())).sum();
        let read = Sums::<ByRank>::bytes(graph.vertices().into());
        result.stages.push(Stage::since("vertices", start, read, Bytes(written), control));
        Ok(())
    }
}

/// Data for the coefficients of all vertices, from reading the input again: the listed vertices, and the arcs between neighbours.
#[derive(Default)]
struct ReadAgain {
    listed: Option<Vec<u64>>,
    arcs: Option<Sums<ByRank>>,
}

impl ReadAgain {
    /// Reads the input again, if needed, for a graph with the triangles `sums` at vertices; adds the stage to `result`.
    fn new(session: &Session, graph: &OrientedGraph, sums: &Sums<ByRank>, result: &mut RunResult) -> Result<Self> {
        let Session { job, host, pool, control, .. } = session;
        let Some(wanted) = job.lcc_wanted.filter(|wanted| wanted.reads_input()) else {
            return Ok(Self::default());
        };
        let start = Instant::now();
        let source = parallel::within(pool, || session.input_again())?;
        let mut arcs = None;
        if wanted.directed {
            arcs = Some(session.arcs_between_neighbours(graph, &source, sums, result)?);
            result.stages.push(Stage::since("directions", start, Bytes(source.bytes()), Bytes::ZERO, control));
        }
        let listed = source.listed().map(|list| parallel::within(pool, || lcc::listed(list, graph, *host, control)));
        Ok(Self { listed: listed.transpose()?, arcs })
    }
}

fn write_lcc(counts: VerticesOfGraph<'_>, again: ReadAgain, path: &Path, session: &Session) -> Result<LccSummary> {
    let graph = counts.graph;
    let all = again.listed.map_or_else(|| AllVertices::of(graph), AllVertices::Listed);
    if matches!(all, AllVertices::WithEdge) && graph.report().vertices_declared > graph.vertices().into() {
        let more = graph.report().vertices_declared - u64::from(graph.vertices());
        let more = plural(more, "vertex", "vertices");
        tracing::warn!("{}: lacks {more} with loops alone", path.display());
    }
    let counts = VerticesOfGraph { sums: again.arcs.as_ref().unwrap_or(counts.sums), ..counts };
    let names = graph.names()?;
    let of_all = LccOfVertices { counts, all: &all, names: names.as_deref(), directed: again.arcs.is_some() };
    session.finish_file(files::lcc(path, &of_all)?)?;
    of_all.summary()
}
