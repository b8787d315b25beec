//! The public interface of the library; nothing else of it is meant for other programs. A graph and its options become a
//! [`Job`](crate::job::Job), as a command line does, and go through the same stages.

mod graph;
mod options;
mod prepared;
mod settings;

use std::ffi::OsString;

pub use graph::Graph;
pub use options::Options;
pub use prepared::PreparedGraph;
pub use settings::Setting;

pub use trimill_input::arcs::column::Column;
pub use trimill_input::arcs::csr::Csr;
pub use trimill_input::arcs::edges::{EdgeSource, TakeArcs};
pub use trimill_input::arcs::pairs::Pairs;

use crate::job::Job;
use crate::report::RunResult;
use trimill_system::{Error, Result};

/// Runs METIS in this process, which the library started for that: the command of [`Options::metis_command`] calls it with the arguments
/// that follow its own, on the main thread before any other is started, and ends right after it, successfully only if this succeeds,
/// otherwise with the error on standard error.
///
/// # Errors
/// [`Kind::Usage`](crate::Kind::Usage) when the library did not start it; a graph that METIS cannot process; memory that does not
/// suffice. Does not return after a SIGTERM.
pub fn metis_child(arguments: impl IntoIterator<Item = OsString>) -> Result<()> {
    trimill_partitioners::metis::child_main(arguments)
}

/// Counts a job with `count`, and writes the page that it asks for.
fn counted(job: Job, count: impl FnOnce(Job) -> Result<RunResult>) -> Result<RunResult> {
    let (shown, earlier) = (titled(job.clone()), job.earlier()?);
    let (result, written) = Error::answered(count(job))?;
    match Error::worst_of([written, shown.write_views(&result, earlier)]) {
        Ok(()) => Ok(result),
        Err(error) => Err(error.with_answer(result)),
    }
}

/// The job as a page shows it: edges in memory have no file name for a heading.
fn titled(job: Job) -> Job {
    Job { name: job.is_read_once().then(|| "graph in memory".into()), ..job }
}
