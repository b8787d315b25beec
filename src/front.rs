//! The front page of the library: a graph, how it is to be counted, the answer.
//!
//! Nothing else of the library is meant for other programs. What enters here becomes a [`Job`](crate::job::Job), as what is typed
//! on the command line does, and is counted by the same stages.

mod graph;
mod options;

pub use graph::Graph;
pub use options::Options;
