//! The oriented graph: its file, its rows, and sets of its vertices.

pub(crate) mod codec;
pub mod file;
mod index;
mod layout;
pub mod numbering;
mod offset;
pub mod oriented;
pub mod pass;
mod reading;
mod recent;
mod store;

pub(crate) use codec::encode;
pub(crate) use index::BlockEntry;
pub use index::DegreeRun;
pub use offset::Offset;
pub use oriented::{GraphSize, Ids, OrientedGraph};
pub use pass::{Direction, RowRun};
pub(crate) use store::{BlockBytes, MemorySections};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "graph/far/tests.rs"]
mod far;
