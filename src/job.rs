//! What the user asks for: as typed ([`mod@file`], all optional), and resolved and checked ([`mod@job`]). The command line and job files
//! are both read into [`file::Tables`], so a default, a check or a rule about paths is written once, in [`Job::resolve`].

pub mod batch;
pub mod choices;
pub mod devices;
pub mod file;
#[allow(clippy::module_inception)]
pub mod job;
pub mod overrides;
pub mod parse;
mod resolve;
#[cfg(feature = "cli")]
pub mod schema;
pub mod suggest;
#[cfg(feature = "cli")]
pub mod typed;

pub use batch::BatchJob;
pub use choices::{Backend, Mode, Partitioner, Parts, Prepare};
pub use devices::{Devices, SpillTo};
pub use job::Job;

pub use trimill_partitioners::partition::prune::Prune;
