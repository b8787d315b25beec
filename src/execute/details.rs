//! What a job counts besides the total: where counts of partitions go, and the files made of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::edges::OnEdges;
use super::queue::Item;
use super::session::Session;
use super::vertices::VertexSums;
use crate::count::method::Choice;
use crate::job::Job;
use crate::outputs::CountedAt;
use crate::paths::place;
use crate::report::RunResult;
use crate::run_dir::{self, RunDir};
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use crate::truss::TrussWanted;
use trimill_counting::{CountBackend, PartitionSource};
use trimill_graph::OrientedGraph;
use trimill_system::{Error, Kind, Result};

pub(super) enum Details<'g> {
    Total,
    Vertices(VertexSums<'g>),
    Edges(OnEdges<'g>),
}

impl Job {
    /// Before anything is read, refuses methods that count the total only, and files that cannot be written.
    pub(super) fn check_counts(&self) -> Result<()> {
        if self.counts_vertices() || self.counts_edges() {
            Choice::check_details(&self.settings.count)?;
            self.settings.output.check_places()?;
        }
        Ok(())
    }

    /// Whether an earlier start's `result` in `run` has all wanted counts, perhaps more, and its files are as that start left them.
    pub(super) fn is_done(&self, run: &RunDir, result: &RunResult) -> bool {
        let counts = self.counts();
        let peeled = result.truss.as_ref().map(|trusses| TrussWanted { until: trusses.until });
        let directed = result.clustering.as_ref().and_then(|summary| summary.lcc).map(|lcc| lcc.directed);
        (!counts.vertices || result.clustering.is_some())
            && counts.lcc.is_none_or(|lcc| directed == Some(lcc.directed))
            && (counts.truss == peeled || !counts.edges)
            && run.has_written(&self.settings.output)
            && self.output_of_others(run).is_none()
    }

    /// A wanted file of counts that exists but is not as an earlier start left it.
    pub(super) fn output_of_others(&self, run: &RunDir) -> Option<PathBuf> {
        // Pipes and devices get the counts again.
        let is_announced = |file: PathBuf| run_dir::announced(run.path()).0.contains(&file);
        let own = |path: &&PathBuf| path.exists() && place::file_of(path).is_some_and(is_announced);
        self.settings.output.count_files().find(|path| !own(path)).cloned()
    }
}

/// Whether `outcome` is an error that ends the job; the total stays valid if only a file could not be written, or the disk does not hold the sums.
pub(super) fn ends_job<T>(outcome: &Result<T>) -> bool {
    outcome.as_ref().is_err_and(|error| matches!(error.kind(), Kind::Interrupted | Kind::Defect))
}

impl<'g> Details<'g> {
    pub(super) fn new(session: &Session, graph: &'g OrientedGraph, fingerprint: u128) -> Result<Self> {
        match session.job.counts().at() {
            CountedAt::Edges => OnEdges::new(session, graph, fingerprint).map(Self::Edges),
            CountedAt::Vertices => VertexSums::new(session, graph, fingerprint).map(Self::Vertices),
            CountedAt::Nothing => Ok(Self::Total),
        }
    }

    /// Adds the counts of partitions from earlier starts. Removes from `counted` those that had none: they must be counted again.
    pub(super) fn resume<T>(&self, counted: &mut BTreeMap<u32, T>, session: &Session) -> Result<()> {
        let parts: Vec<u32> = counted.keys().copied().collect();
        let complete = match self {
            Self::Total => return Ok(()),
            Self::Vertices(vertices) => vertices.of.resume(&parts, session)?,
            Self::Edges(edges) => edges.of.resume(&parts, session)?,
        };
        counted.retain(|part, _| complete.contains(part));
        Ok(())
    }

    /// Counts a partition, or a share of it. `first` is its source; `again` opens it for further passes.
    pub(super) fn count<'s>(
        &self,
        item: &Item,
        first: &mut dyn PartitionSource,
        again: impl Fn() -> Result<Box<dyn PartitionSource + 's>> + Sync,
        thread: &mut DeviceThread<'_>,
    ) -> Result<CountedPartition, PartitionFailure> {
        match self {
            Self::Total => Ok(thread.count(first, item.detail(), None)?.0),
            Self::Vertices(vertices) => vertices.count(item.part(), first, again, thread),
            Self::Edges(edges) => edges.count(item.part(), first, thread),
        }
    }

    /// Adds summaries to the result and writes the files; one that fails does not stop the others. The first of `backends`, of
    /// which none failed, may peel.
    pub(super) fn finish(
        &self,
        session: &Session,
        backends: Vec<Box<dyn CountBackend>>,
        result: &mut RunResult,
    ) -> Result<()> {
        match self {
            Self::Total => Ok(()),
            Self::Vertices(vertices) => {
                // Released for the doubled graph, which may be counted on the same devices.
                drop(backends);
                vertices.finish(session, result)
            }
            Self::Edges(edges) => {
                edges.check(session, result)?;
                // First, since trussness replaces the edges' triangles.
                let at_vertices = session.job.counts_vertices().then(|| edges.at_vertices(session)).transpose();
                if ends_job(&at_vertices) {
                    return at_vertices.map(drop);
                }
                let on_edges = edges.finish(session, backends, result);
                if ends_job(&on_edges) {
                    return on_edges;
                }
                let finish = |vertices: VertexSums<'_>| vertices.finish(session, result);
                Error::worst_of([at_vertices.and_then(|vertices| vertices.map_or(Ok(()), finish)), on_edges])
            }
        }
    }
}
