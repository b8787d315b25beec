//! Prepares a graph on a device (`cuda/prepare.cu`): from arcs in any order to the rows of the graph file. Each type is made from the one before:
//!
//! ```text
//! DeviceArcs   takes arcs in batches
//! DeviceEdges  each edge once, and degrees (DeviceArcs::clean), from which the caller makes ranks
//! RankedRows   rows in rank order
//! FileBlocks   file blocks: their sizes, and their bytes on request (RankedRows::cut)
//! ```
//!
//! All memory is the engine's arena, which must be free: 16 bytes per arc and 4 per id ([`needed`]). With less, the device encodes sorted
//! runs that the caller stores ([`RunStore`]), and merges them a range of keys at a time (`runs`): to count edges and degrees, to orient
//! them into new runs, to make file blocks. Cost: two radix sorts of all keys, of up to 8 passes each, and some passes over arcs, ids and
//! vertices. The result is the CPU's (`clean` and `orient` of the crate `trimill`) to the byte.

mod blocks;
pub(crate) mod constants;
mod edges;
mod runs;
mod stored;
#[cfg(test)]
mod tests;
mod work;

pub use blocks::{FileBlocks, RankedRows};
pub use edges::{DeviceArcs, DeviceEdges};
pub use stored::{RunStore, StoredRun};
pub(crate) use work::{PrepareSpace, SortBuffers, sort_memory};
pub use work::{ids_within, needed};

/// The most bits of an id: an edge's key has two ids and one more bit.
pub const MOST_ID_BITS: u32 = 31;
