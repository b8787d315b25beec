//! Host memory for the triangles at each vertex or on each edge: for sums, for counts from devices, and for the windows in which results are written.

use trimill_counting::COUNTER_BYTES;

use crate::count::vertex_counters;
use crate::edges;
use crate::outputs::CountsWanted;
use crate::stream::edges::CHUNK;
use crate::sums::{ByArc, ByRank, SumKey, Sums};
use crate::vertices::lcc;
use crate::vertices::order::{fixed_bytes, least_window};
use trimill_graph::GraphSize;
use trimill_system::Bytes;
use trimill_system::memory::HostMemory;

pub(super) fn in_memory<K: SumKey>(host: HostMemory, keys: u64) -> bool {
    Sums::<K>::bytes(keys).get() <= host.usable().get() / 8 * K::EIGHTHS
}

/// Host memory for the sums while partitions are counted; for sums in a file, the memory of the blocks of all threads.
pub(super) fn held<K: SumKey>(host: HostMemory, keys: u64) -> Bytes {
    match in_memory::<K>(host, keys) {
        true => Sums::<K>::bytes(keys),
        false => Bytes(host.threads() * Sums::<K>::bytes(K::BLOCK).get()),
    }
}

/// The most bytes of each GPU's counts that wait to be added to the sums, for `gpus` GPUs.
pub(super) fn on_the_way(host: HostMemory, gpus: u64) -> Bytes {
    Bytes(host.usable().get() / 8 / gpus.max(1))
}

/// Host memory besides the sums while `gpus` GPUs count partitions with so many counters of vertices; 0 for the CPU, where counting has these.
pub(super) fn while_counting(host: HostMemory, vertices: u32, of_partition: u64, gpus: u64) -> Bytes {
    let counters =
        Bytes(COUNTER_BYTES * vertex_counters(vertices, of_partition, Bytes(4 * on_the_way(host, gpus).get())));
    Bytes(gpus * counters.get())
}

/// Host memory besides the sums for triangles on edges while `devices` devices count.
pub(super) fn edges_while_counting(host: HostMemory, devices: u64) -> Bytes {
    // Blocks being compressed, with a run directory.
    let kept = Bytes(host.threads() * 2 * Sums::<ByArc>::bytes(ByArc::BLOCK).get());
    Bytes(devices.max(1) * Bytes::of::<u32>(CHUNK).get()) + kept
}

/// Host memory for writing the triangles on edges, and then those at vertices: without the window of one of them, and with the smallest one.
pub(super) fn while_writing(
    counts: CountsWanted,
    host: HostMemory,
    size: &GraphSize,
    largest_degree: u32,
) -> (Bytes, Bytes) {
    let GraphSize { vertices, edges, .. } = *size;
    let (mut sums, mut written, mut window) = (Bytes::ZERO, Bytes::ZERO, least_window(vertices));
    if counts.vertices {
        sums = held::<ByRank>(host, vertices.into());
        written = fixed_bytes(vertices) + lcc::bytes(counts.lcc, vertices);
    }
    if counts.edges {
        sums += held::<ByArc>(host, edges);
        written = written.max(edges::order::fixed_bytes(vertices));
        window = edges::order::least_window(vertices, edges, largest_degree);
    }
    let fixed = sums + written + Bytes(host.threads() * counts.bytes_per_thread.get());
    (fixed, fixed + window)
}
