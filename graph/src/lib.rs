//! The oriented graph: its file, its rows, and passes over them.

pub mod arcs;
pub mod file;
mod index;
mod layout;
pub mod leb128;
pub mod names;
pub mod numbering;
pub mod oriented;
pub mod pass;
mod reading;
mod recent;
pub mod rows;
pub mod sequence;
mod store;
mod tables;
pub mod writing;

pub use index::BlockEntry;
pub use index::DegreeRun;
pub use layout::CleanReport;
pub use oriented::{GraphFigures, GraphSize, Ids, OrientedGraph};
pub use pass::{Direction, RowRun};
pub use rows::Offset;
pub use store::{BlockBytes, MemorySections};

#[cfg(test)]
#[path = "far/tests.rs"]
mod far;
