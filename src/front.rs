//! The public interface of the library: a graph, and the options of counting it.
//!
//! Nothing else of the library is meant for other programs. A graph and its options become a [`Job`](crate::job::Job), as a
//! command line does, and go through the same stages.

mod graph;
mod options;

pub use graph::Graph;
pub use options::Options;
