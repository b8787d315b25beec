//! Counts the arcs between the neighbours of each vertex of a directed graph, once its triangles are counted. If edges of both kinds exist, the
//! doubled graph ([`crate::directions`]) is counted as a separate job, with the remaining host memory and all device memory, so the backends that
//! counted the graph must be dropped before.

use super::graph::{Prepared, device_memory_for};
use super::part_counts::zeros;
use super::planned::Planned;
use super::session::{Purpose, Session};
use crate::cache::Origin;
use crate::clean::Workspace;
use crate::directions::{DoubledGraph, RarerEdges, least_band};
use crate::job::file::{MemoryTable, OutputTable, PartitionTable, RunTable, Tables, WorkTable};
use crate::job::{Job, Partitioner};
use crate::prepare::Preparation;
use crate::report::RunResult;
use crate::sums::{ByRank, SumKey, Sums};
use trimill_graph::OrientedGraph;
use trimill_input::Source;
use trimill_system::control::NOTE;
use trimill_system::{Bytes, Error, Result, machine, parallel};

impl Session {
    /// The arcs between each vertex's neighbours, by rank, of a graph made from `source`; `at`: triangles at vertices. `result` gets the memory used.
    pub(super) fn arcs_between_neighbours(
        &self,
        graph: &OrientedGraph,
        source: &Source,
        at: &Sums<ByRank>,
        result: &mut RunResult,
    ) -> Result<Sums<ByRank>> {
        let edges = RarerEdges::of(graph);
        let doubled = match edges.count {
            0 => None,
            _ => Some(self.count_doubled(graph, edges, source, result)?),
        };
        let arcs = zeros(self, graph.vertices().into())?;
        let of_block = |first: u64, triangles: &[u64]| {
            let mut of_doubled = vec![0; 2 * triangles.len()];
            if let Some(sums) = &doubled {
                sums.read(2 * first, &mut of_doubled)?;
            }
            // Pairs: the copy's count, then the vertex's.
            let found = triangles.iter().zip(of_doubled.chunks_exact(2));
            let all = found.map(|(&triangles, found)| edges.arcs(triangles, found[1])).collect();
            arcs.put((first / ByRank::BLOCK) as usize, all)
        };
        parallel::within(&self.pool, || at.each_block(of_block))?;
        Ok(arcs)
    }

    fn count_doubled(
        &self,
        graph: &OrientedGraph,
        edges: RarerEdges,
        source: &Source,
        result: &mut RunResult,
    ) -> Result<Sums<ByRank>> {
        let kind = if edges.mutual { "both directions" } else { "one direction" };
        tracing::info!(target: NOTE, "{} edges with arcs in {kind} are counted between neighbours", edges.count);
        let needs = self.host_needs(graph, None);
        let marking = needs.directions().ok_or_else(|| Error::defect("directions that nobody wants"))?;
        let left = self.host.left(&marking)?;
        let peak = machine::peak_memory().saturating_sub(result.driver_host_bytes);
        let asked = self.job.settings.clone();
        let settings = Tables {
            partition: PartitionTable { partitioner: Some(Partitioner::Rank), ..PartitionTable::default() },
            memory: MemoryTable { host: Some(needs.budget_of_doubled()), block: None, ..asked.memory },
            run: RunTable::default(),
            work: WorkTable { dir: Some(self.work_dir.clone()), ..asked.work },
            output: OutputTable { clustering: Some(true), ..OutputTable::default() },
            ..asked
        };
        let job = Job { name: None, settings, has_timeline: false, ..self.job.clone() };
        let session = Self::open(job.without_counts().without_cache(), Purpose::Question, None, &self.control)?;
        let space = session.workspace();
        let beyond = left.saturating_sub(least_band(&graph.size()));
        let space = Workspace { graph: space.graph.min(Bytes(beyond.get() / 2)), ..space };
        let doubled = Some(DoubledGraph { graph, edges, band: left.saturating_sub(space.graph) });
        // Only a graph in a file has a checksum, which identifies its doubled graph in the cache.
        let of = |origin| graph.checksum().map(|checksum| Origin { doubled: Some(checksum), ..origin });
        let mut origin = self.origin(source)?.and_then(of);
        let (origin, control) = (origin.as_mut(), &self.control);
        let preparation = Preparation { device: None, source, origin, doubled, space, control };
        let made = parallel::within(&self.pool, || preparation.prepare(self.cache.as_ref(), &mut Vec::new()))?;
        tracing::debug!("the graph is doubled");
        session.open_gpus(device_memory_for(made.edges(), made.vertices().into()))?;
        let prepared = Prepared { graph: made, origin: None, stages: Vec::new(), session };
        let planned = prepared.plan(1)?;
        let (sums, counting) = planned.removing_damaged_graph(Planned::at_vertices)?;
        result.peak_host_bytes = result.peak_host_bytes.max(peak).max(counting);
        Ok(sums)
    }
}
