//! Converts measurements to the figures of reports.

use std::time::Duration;

use super::queue::Item;
use super::session::Session;
use crate::plan::predict::PlannedPartition;
use crate::report::{CountedFigures, InputReport, PartitionFigures, RunResult};
use crate::stream::CountedPartition;
use trimill_graph::GraphFigures;
use trimill_system::Bytes;

pub(super) fn result_of(session: &Session, graph: &GraphFigures) -> RunResult {
    let (Session { job, host, .. }, GraphFigures { size, wedges, report }) = (session, graph);
    RunResult {
        vertices: u64::from(size.vertices),
        edges: size.edges,
        wedges: *wedges,
        input: InputReport {
            vertices_declared: Some(report.vertices_declared),
            arcs: report.arcs,
            loops_removed: report.loops_removed,
            duplicates_removed: report.duplicates_removed,
            arcs_added: report.arcs_added,
            arcs_without_reverse: report.arcs_without_reverse,
        },
        host_memory: host.budget(),
        job: job.name.clone(),
        prune: job.settings.partition.prune(),
        seed: job.settings.partition.seed(),
        ..RunResult::default()
    }
}

pub(super) fn partition_result(
    known: &[PlannedPartition],
    item: &Item,
    counted: &CountedPartition,
    device: Option<u32>,
    time: Duration,
) -> PartitionFigures {
    let found = CountedFigures {
        peak_bytes: counted.peak,
        triangles: counted.triangles,
        seconds: time.as_secs_f64(),
        device,
        resumed: false,
    };
    let part = item.part();
    PartitionFigures {
        row_blocks: counted.row_blocks,
        largest_block_bytes: counted.largest_row_block,
        spill_bytes: if let Item::Built(built) = item { Bytes(built.spill.bytes) } else { Bytes::ZERO },
        stream_bytes: counted.streamed,
        counted: Some(found),
        ..PartitionFigures::planned(part, &known[part as usize])
    }
}
