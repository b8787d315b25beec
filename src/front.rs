//! The public interface of the library; nothing else of it is meant for other programs. A graph and its options become a
//! [`Job`](crate::job::Job), as a command line does, and go through the same stages.

mod graph;
mod options;
mod prepared;
mod settings;

use std::ffi::OsString;
use std::path::Path;

pub use graph::Graph;
pub use options::Options;
pub use prepared::PreparedGraph;
pub use settings::Setting;

pub use trimill_input::arcs::column::Column;
pub use trimill_input::arcs::csr::Csr;
pub use trimill_input::arcs::edges::{EdgeSource, TakeArcs};
pub use trimill_input::arcs::pairs::Pairs;

use crate::job::Job;
use crate::job::file::Tables;
use crate::report::RunResult;
use trimill_system::{Control, Error, Result, threads};

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

/// Runs `work`, which waits for the pool of a job, in a thread of its own where the caller's thread is unsuitable. A waiting worker of the caller's
/// rayon pool would take up other work of that pool, maybe the next count, within the first one, until its stack overflows. And a thread that
/// counts on a GPU has another current CUDA context afterwards.
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
    let names = ["per_vertex", "by_degree", "lcc", "per_edge", "by_k"];
    let mut files = names.into_iter().zip(tables.output.count_settings());
    match files.find(|(_, file)| file.is_some_and(|file| file.as_os_str() == "-")) {
        Some((setting, _)) => Err(Error::usage(format!("`-`, standard output, as the file of `{setting}`"))
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
