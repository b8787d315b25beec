//! A result for tests.

use super::{InputReport, RunResult, Stage};
use crate::report::partitions::{CountedFigures, PartitionFigures};
use trimill_system::Bytes;

pub fn example(parts: u32) -> RunResult {
    let mut result = RunResult { job: Some("crawl".into()), seed: 1, ..RunResult::default() };
    (result.partitioner, result.device_memory, result.host_memory) = ("auto".into(), Bytes::mib(1), Bytes::mib(1024));
    result.version = "0.0.0".into();
    (result.backend, result.method) = ("cpu".into(), "bitmap".into());
    (result.vertices, result.edges, result.wedges) = (325_557, 2_738_969, 7_861_227_192);
    result.input = InputReport {
        vertices_declared: Some(325_557),
        arcs: 3_216_152,
        loops_removed: 87_442,
        duplicates_removed: 0,
        arcs_added: 2_349_228,
        arcs_without_reverse: 2_349_228,
    };
    result.partitions = (0..parts)
        .map(|id| {
            let n = u64::from(id) + 1;
            PartitionFigures {
                id,
                local_vertices: 1000 * n,
                proxies_induced: 900 * n,
                proxies_kept: 90 * n,
                arcs_induced: 50_000 * n,
                arcs_kept: 20_000 * n,
                resident_bytes: Bytes(64_000 * n),
                row_blocks: 3,
                largest_block_bytes: Bytes(16_384),
                spill_bytes: Bytes(20_000 * n),
                stream_bytes: Bytes(80_000 * n),
                peak_bytes_predicted: Bytes(100_000 * n),
                counted: Some(CountedFigures {
                    peak_bytes: Bytes(98_000 * n),
                    triangles: 1_234_567 * n,
                    seconds: 0.25 * n as f64,
                    device: id.checked_sub(1),
                    resumed: id == 1,
                }),
                ..PartitionFigures::default()
            }
        })
        .collect();
    result.stages = ["input", "clean", "orient"]
        .map(|name| Stage { name: name.into(), seconds: 1.5, bytes_in: Bytes(1 << 20), bytes_out: Bytes(1 << 19) })
        .to_vec();
    result.peak_host_bytes = Bytes::mib(100);
    result.seconds = 4.25;
    result.complete()
}
