//! Disk space of counting: spilled partitions, sums of the triangles at vertices or on edges, and the files made of these sums.

use super::building::BatchPlan;
use super::count_memory::in_memory;
use super::planned::Planned;
use super::session::Session;
use crate::directions::{DoubledGraph, RarerEdges};
use crate::job::Mode;
use crate::outputs::{CountedAt, CountsWanted};
use crate::plan::Plan;
use crate::plan::predict::PlannedPartition;
use crate::sums::{ByArc, ByRank, SumKey, Sums, part};
use crate::table::columns::DIGITS;
use crate::table::text::put_name;
use crate::vertices::order::array_len;
use trimill_graph::OrientedGraph;
use trimill_system::disk::DiskNeed;
use trimill_system::{Bytes, Result, parallel};

impl Planned {
    pub(super) fn disk_needs(&self, batches: Option<&BatchPlan>) -> Result<Vec<DiskNeed>> {
        let Self { graph, plan, session, .. } = self;
        let Session { job, run, cache, work_dir, .. } = session;
        let mut needs: Vec<DiskNeed> = batches.map(|batches| self.spills_needed(batches)).into_iter().collect();
        let up_to = |what: &str, directory: &std::path::Path, most: Bytes, option: &str| {
            DiskNeed::new(what, directory, [Bytes::ZERO, most], option)
        };
        if let Some(run) = run {
            let counts = counts_bytes(job.counts(), plan);
            needs.push(up_to("the counts of partitions", run.path(), counts, "--run-dir"));
        }
        let sums = match job.counts().at() {
            CountedAt::Edges => self.sums_bytes::<ByArc>(graph.edges()),
            CountedAt::Vertices => self.sums_bytes::<ByRank>(graph.vertices().into()),
            CountedAt::Nothing => Bytes::ZERO,
        };
        needs.push(up_to("the sums of counts", work_dir, sums, "--work-dir"));
        if job.lcc_wanted.is_some_and(|lcc| lcc.directed) && RarerEdges::of(graph).count > 0 {
            let (directory, option) = match cache {
                Some(cache) => (cache.dir(), cache.option()),
                None => (&**work_dir, "--work-dir"),
            };
            needs.push(up_to("the doubled graph", directory, DoubledGraph::bytes_at_most(&graph.size()), option));
        }
        let listed = job.lcc_wanted.map_or(0, |lcc| lcc.listed);
        let all = listed.max(graph.vertices().into()).max(graph.report().vertices_declared);
        let output = &job.settings.output;
        let ids = match [&output.per_vertex, &output.per_edge, &output.lcc] {
            [None, None, None] => [DIGITS; 2],
            _ => parallel::within(&session.pool, || id_bytes(graph))?,
        };
        needs.extend(output.disk_needs(&graph.size(), array_len(graph), all, ids)?);
        needs.retain(|need| need.most_bytes > Bytes::ZERO);
        Ok(needs)
    }

    pub(super) fn spills_needed(&self, batches: &BatchPlan) -> DiskNeed {
        // The lower bound is 0, since blocks are compressed.
        let bytes = [Bytes::ZERO, batches.disk];
        DiskNeed::new("the spilled partitions", &self.session.spill_dir, bytes, "--spill-dir")
    }

    fn sums_bytes<K: SumKey>(&self, keys: u64) -> Bytes {
        if in_memory::<K>(self.session.host, keys) { Bytes::ZERO } else { Sums::<K>::bytes(keys) }
    }
}

/// The mean bytes of an id of the graph in a list of all vertices, and at most in one of edges, where it is on as many lines as its degree.
fn id_bytes(graph: &OrientedGraph) -> Result<[u64; 2]> {
    let Some(names) = graph.names()? else { return Ok([DIGITS; 2]) };
    // As text, with quotes and a separator; Parquet has 4 bytes for the length instead.
    let written = |name: &[u8]| {
        let mut text = Vec::new();
        put_name(name, b' ', &mut text);
        text.len() + 3
    };
    let [all, longest] = names.lengths(written)?;
    let on_lines = all.saturating_mul(graph.largest_degree().into()).div_ceil((2 * graph.edges()).max(1));
    Ok([all.div_ceil(u64::from(graph.vertices()).max(1)), longest.min(on_lines)])
}

pub(super) fn counts_bytes(counts: CountsWanted, plan: &Plan) -> Bytes {
    let of = |i: usize| {
        let PlannedPartition { size, predicted } = &plan.partitions[i];
        match counts.at() {
            // An upper bound: every arc that is read is in a row.
            CountedAt::Edges => part::bytes_at_most::<ByArc>(predicted.stream.get() / size_of::<u32>() as u64),
            CountedAt::Vertices => part::bytes_at_most::<ByRank>(match plan.cut.mode() {
                Mode::InPlace => plan.partitions[..=i].iter().map(|planned| planned.size.locals).sum(),
                Mode::Spilled => size.numbered(),
            }),
            CountedAt::Nothing => Bytes::ZERO,
        }
    };
    // Plus a checkpoint of peeling, which exists until the next one replaces it.
    let edges = plan.partitions.iter().map(|planned| planned.size.resident_arcs).sum();
    let peeled = counts.truss.map_or(Bytes::ZERO, |_| part::bytes_at_most::<ByArc>(edges));
    peeled + peeled + (0..plan.partitions.len()).map(of).sum::<Bytes>()
}
