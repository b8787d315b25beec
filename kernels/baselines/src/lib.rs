//! Published methods of counting triangles, each as in its paper, for comparison with the methods of `trimill-kernels`.
//!
//! On a GPU ([`GpuMethod`]):
//!
//! | method | paper | counts |
//! | --- | --- | --- |
//! | `polak` | A. Polak, 'Counting Triangles in Large Graphs on GPU' (2015) | whole graphs, or a share of their edges |
//! | `reverse-edge` | the reverse-edge forward algorithm, with one stream or several | partitions |
//! | `skiff` | Z. Zheng et al., 'Lock-Free Triangle Counting on GPU' | partitions |
//! | `radix-binning` | N. Tirpankar, H. Sundar, 'Towards Triangle Counting on GPU using Stable Radix binning' (2018) | whole graphs |
//!
//! On one thread of a CPU ([`SerialMethod`]), as in the paper on `reverse-edge`: `forward`, `compact-forward`, `reverse-edge`, `reverse-edge-serial`.
//!
//! All take a partition as `lstc` does, its resident section and then its row blocks, and implement the same trait.

mod gpu;
mod refused;
mod serial;
mod sources;

pub use gpu::polak;
pub use gpu::radix_binning;
pub use gpu::reverse_edge;
pub use gpu::skiff::{self, Organisation};
pub use gpu::{GpuMethod, gpu_methods};
pub use serial::SerialMethod;
pub use sources::SOURCES;
