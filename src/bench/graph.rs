//! A graph of a comparison: prepared, kept in the cache, and measured once.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::execute::session::{Purpose, Session};
use crate::job::{Job, Prepare};
use crate::report::bench::GraphReport;
use trimill_graph::{Direction, OrientedGraph};
use trimill_system::{Bytes, Control, Error, Result, parallel};

/// `temporary`: whether the cache is one in the work directory, for this comparison alone.
pub(super) fn prepared(job: Job, temporary: bool, control: &Control) -> Result<GraphReport> {
    let (title, input) = (job.title(), job.inputs[0].clone());
    let on_gpu = job.settings.work.prepare() != Prepare::Cpu;
    let mut session = Session::open(job, Purpose::Count, None, control)?;
    if temporary {
        session.cache = session.cache.map(|cache| cache.needed("--work-dir"));
    }
    if session.cache.is_none() {
        return Err(Error::resource("a comparison prepares its graph once, and there is no cache to keep it in")
            .advice("name one with --cache-dir, or use --no-cache for a temporary one"));
    }
    let opened = session.input(None)?;
    if opened.origin.is_none() {
        return Err(Error::usage("is not a file, and a comparison counts it many times")
            .at(&input)
            .expected("a file; write it to one first"));
    }
    if on_gpu {
        opened.open_gpus()?;
    }
    let mut preparation = Vec::new();
    let (graph, _) = opened.graph(&mut preparation)?;
    let mut again = Vec::new();
    drop(opened.graph(&mut again)?);
    if again.iter().all(|stage| stage.name != "cached") {
        return Err(Error::resource(format!(
            "the prepared graph takes {}, more than the cache may",
            graph.stored_bytes()
        ))
        .at(&input)
        .advice("raise --cache-max, or name a --cache-dir on a larger disk"));
    }
    let probes = parallel::within(&opened.session.pool, || probes(&graph, control));
    Ok(GraphReport {
        graph: title,
        vertices: u64::from(graph.vertices()),
        edges: graph.edges(),
        probes: Session::removing_damaged_graph(probes, graph.path())?,
        preparation,
        ..GraphReport::default()
    })
}

/// The number of probes: for each arc, the length of the shorter row of its ends. Takes 4 bytes a vertex, and two passes over the graph.
fn probes(graph: &OrientedGraph, control: &Control) -> Result<u64> {
    let lengths = graph.out_degrees()?;
    let sum = AtomicU64::new(0);
    graph.pass(Bytes::mib(16), Direction::Rising, control, |block| {
        let of_row = |rank: u32| -> u64 {
            let row = block.row(rank);
            row.iter().map(|&successor| u64::from(lengths[successor as usize].min(row.len() as u32))).sum()
        };
        sum.fetch_add(block.ranks().into_par_iter().with_min_len(256).map(of_row).sum(), Ordering::Relaxed);
        Ok(())
    })?;
    Ok(sum.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::graph_of;

    fn probes_of(arcs: Vec<(u64, u64)>) -> u64 {
        probes(&graph_of(arcs), &Control::silent()).unwrap()
    }

    #[test]
    fn probes_of_a_complete_graph_and_of_trees_by_hand() {
        // Row i has i entries; the arc to its vertex is in n - 1 - i longer rows, and the sum of i (n - 1 - i) is n choose 3.
        let n = 20;
        let arcs = (0..n).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        assert_eq!(probes_of(arcs), n * (n - 1) * (n - 2) / 6);
        // All arcs of a star lead to its centre, whose row is empty. The edge 3 - 4 is an arc from 4 to 3, whose rows have one entry each.
        assert_eq!(probes_of(vec![(0, 1), (0, 2), (0, 3)]), 0);
        assert_eq!(probes_of(vec![(0, 1), (0, 2), (0, 3), (3, 4)]), 1);
    }
}
