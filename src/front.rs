//! The library's public interface; nothing else is for other programs. A graph and options become a [`Job`](crate::job::Job), like a command line.

mod graph;
mod options;
mod prepared;
mod settings;

use std::ffi::OsString;
use std::path::Path;

pub use graph::Graph;
pub use options::Options;
pub use prepared::PreparedGraph;
pub use settings::{Setting, key_of};

pub use trimill_input::arcs::column::Column;
pub use trimill_input::arcs::csr::Csr;
pub use trimill_input::arcs::edges::{EdgeSource, TakeArcs};
pub use trimill_input::arcs::pairs::Pairs;

use crate::job::Job;
use crate::job::file::Tables;
use crate::report::RunResult;
use trimill_system::{Control, Error, Result, threads};

/// Runs METIS in this process, which the library started for that. The command of [`Options::metis_command`] calls it with the arguments after its
/// own, on the main thread before any other starts, and ends right after it: successfully if this succeeds, else with the error on standard error.
///
/// # Errors
/// [`Kind::Usage`](crate::Kind::Usage) when the library did not start it; a graph that METIS cannot process; memory that does not
/// suffice. Does not return after a SIGTERM.
pub fn metis_child(arguments: impl IntoIterator<Item = OsString>) -> Result<()> {
    trimill_partitioners::metis::child_main(arguments)
}

const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<(Error, Graph<'static>, PreparedGraph, Options, Control)>();
};

/// Counts a job with `count`, and writes the page that it asks for.
fn count_with(job: Job, count: impl FnOnce(Job) -> Result<RunResult> + Send) -> Result<RunResult> {
    apart(job.settings.count.may_use_gpu(), || {
        let (shown, earlier) = (titled(job.clone()), job.earlier()?);
        let (result, written) = Error::answered(count(job))?;
        Error::answering(Error::worst_of([written, shown.write_views(&result, earlier)]), result)
    })
}

/// Runs `work`, which waits for a job's pool, in its own thread if the caller's is unsuitable: a waiting worker of a rayon pool would begin other
/// work of its pool, maybe the next count, until its stack overflows; and a thread that counts on a GPU has another current CUDA context afterwards.
fn apart<T: Send>(on_gpu: bool, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if !on_gpu && rayon::current_thread_index().is_none() {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = threads::spawn(scope, "trimill", work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Resolves a job of the library, which must not write to its caller's standard output.
fn resolved(tables: &Tables) -> Result<Job> {
    let mut output = tables.output.clone();
    let mut files = output.counts_mut().into_iter();
    match files.find(|file| file.path.as_ref().is_some_and(|path| path.as_os_str() == "-")) {
        Some(file) => Err(Error::usage(format!("`-`, standard output, as the file of `{}`", file.key))
            .expected("the path of a file: only the program writes to standard output")
            .advice("a prepared graph also returns its counts as arrays")),
        None => Job::resolve(None, tables, Path::new("")),
    }
}

fn check_no_run_dir(options: &Options) -> Result<()> {
    match &options.tables.run.dir {
        Some(dir) => Err(Error::usage("a run directory for a graph that stays prepared")
            .at(dir)
            .expected("one question, which a later start goes on with")
            .advice("use Graph::count")),
        None => Ok(()),
    }
}

/// The job as a page shows it: edges in memory have no file name for a heading.
fn titled(job: Job) -> Job {
    Job { name: job.is_read_once().then(|| "graph in memory".into()), ..job }
}
