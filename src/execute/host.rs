//! What a job takes of the host's memory at most, from its plan.
//!
//! Enters: a job up to its plan, and what the process holds then. Leaves: a bound of what is resident until the answer is there.
//! Up to the plan nothing needs to be predicted: `trimill plan` goes the same way as `trimill count`, and its own peak is the
//! answer. What comes after follows from the sizes of buffers:
//!
//! ```text
//! what is held once the plan stands + what counts + a block a thread + sets and buffers of partitions that are built + spills
//! ```

use super::building::Building;
use super::planned::Planned;
use super::setup::Setup;
use crate::bytes::Bytes;
use crate::job::Job;
use crate::partition::{section::ResidentSize, sizes};
use crate::plan::Cut;
use crate::spill::BLOCK_BYTES;

/// For each thread: a block as values, planes and stored bytes on its way to a spill; planes and stored bytes on its way back.
const CODERS: u64 = 5 * BLOCK_BYTES;

/// For each thread: a file block of the graph, stored and decoded. A longer row takes more.
const FILE_BLOCK: u64 = 3 << 20;

/// The most that is resident from the plan to the answer, when `held` is resident once the plan stands.
pub(super) fn counting(job: &Job, planned: &Planned, setup: &Setup, held: Bytes) -> Bytes {
    held + counters(planned) + threads(planned, setup) + building(job, planned, setup)
}

/// The arrays of `O(n)` that a job needs beside its budget, at their largest.
pub(super) fn arrays(planned: &Planned) -> Bytes {
    let graph = &planned.graph;
    let n = u64::from(graph.vertices());
    // Degrees and ranks of all ids up to the largest, and the order; or a table of the ids that occur, made from what threads
    // collected.
    let preparing = match graph.declared_lines() {
        Some(lines) => Bytes(9 * (lines + graph.first_declared_id()) + 8 * n),
        None => Bytes(40 * n),
    };
    let planning = match planned.plan.cut {
        Cut::Ranges(..) => Bytes::ZERO,
        // The partition of each vertex, by vertex and by rank, orders and degrees; or the words that size partitions.
        Cut::Sets(_) => Bytes(4 * n) + Bytes(20 * n).max(sizes::array_bytes(graph.vertices())),
    };
    preparing.max(planning)
}

/// What counts: sections and tables where the host counts, else runs of resident rows, page-locked buffers, and two row blocks
/// for each device.
fn counters(planned: &Planned) -> Bytes {
    let predictions = &planned.plan.predictions;
    match planned.gpus {
        0 => {
            let of = |(size, predicted): (&sizes::PartitionSize, &crate::plan::predict::Prediction)| {
                let rows = ResidentSize { locals: size.locals, arcs: size.resident_arcs };
                predicted.peak.max(rows.bytes())
            };
            planned.plan.sizes.iter().zip(predictions).map(of).max().unwrap_or_default()
        }
        gpus => {
            let largest = predictions.iter().map(|predicted| predicted.largest_frame).max().unwrap_or_default();
            planned.on_host + Bytes(2 * gpus * largest.get())
        }
    }
}

/// What threads read and decode rows with.
fn threads(planned: &Planned, setup: &Setup) -> Bytes {
    let row = Bytes(8 * u64::from(planned.graph.longest_row()));
    Bytes(setup.pool.current_num_threads() as u64 * (FILE_BLOCK + row.get()))
}

/// What is built and what waits, in the partition stream.
fn building(job: &Job, planned: &Planned, setup: &Setup) -> Bytes {
    let Cut::Sets(locals) = &planned.plan.cut else { return Bytes::ZERO };
    let memory = setup.building_memory(job, planned);
    let parts = locals.parts() as usize;
    let chosen = Building::choose((&planned.graph, &planned.plan, parts), job, (planned.devices, memory), setup);
    // Where the disks do not tell how much is free, the job itself says so.
    let building = chosen.map_or(Bytes::ZERO, |chosen| chosen.memory(&planned.graph));
    building + Bytes(setup.pool.current_num_threads() as u64 * CODERS) + setup.spill_memory(job)
}
