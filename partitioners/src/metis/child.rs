//! The child process: reads a graph from its standard input, runs METIS, and overwrites the graph with the assignment. On any error it ends without
//! an assignment. Signals end it immediately, including SIGTERM, which METIS traps ([`super::signals`]), and signals that the parent ignores. SIGABRT
//! is left to METIS, which raises it when it runs out of memory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::exchange::{self, MetisTask};
use super::signals;
use super::symmetric::Symmetric;
use trimill_system::disk::faults;
use trimill_system::{Error, Result, machine};

/// The main function of the hidden sub-command; `args` are those after [`super::MetisOptions::helper`]. Call it on the main thread, before any other
/// thread or signal handler. The process should end right after it: with success only if this succeeds, else with the error on stderr; it is killed
/// when its parent ends. Errors: not started by [`super::assign`], damaged graph, memory or disk full, METIS failed. Does not return after a SIGTERM.
pub fn child_main(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    faults::in_metis_child(|| run(args))
}

fn run(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    die_with_parent(args)?;
    let io_error =
        |error: io::Error| Error::resource(format!("the file between METIS and its caller failed ({error})"));
    let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(io_error)?);
    let task = exchange::read_graph(&file).map_err(io_error)?;
    let mut parts = vec![0; task.graph.vertex_weights.len()];
    signals::hold().map_err(io_error)?;
    let outcome = partition(&task, &mut parts);
    signals::release().map_err(io_error)?;
    outcome?;
    exchange::write_assignment(&file, &parts, machine::peak_memory().get()).map_err(io_error)
}

fn invalid(found: String) -> Error {
    Error::data("(standard input)", found)
}

fn partition(task: &MetisTask, parts: &mut [i32]) -> Result<()> {
    let Symmetric { offsets, successors, arc_weights, vertex_weights } = &task.graph;
    let mut graph = metis::Graph::new(1, task.parts as i32, offsets, successors)
        .map_err(|error| invalid(format!("the graph for METIS is wrong: {error}")))?
        .set_vwgt(vertex_weights)
        .set_option(metis::option::Seed(((task.seed >> 32 ^ task.seed) & 0x7fff_ffff) as i32));
    if let Some(weights) = arc_weights {
        graph = graph.set_adjwgt(weights);
    }
    match graph.part_kway(parts) {
        Ok(_) => Ok(()),
        Err(metis::Error::Memory) => Err(Error::memory("METIS ran out of memory")),
        Err(metis::Error::Input) => Err(invalid("METIS refused its input".into())),
        Err(metis::Error::Other) => Err(Error::resource("METIS failed")),
    }
}

/// Asks the system to kill this process when its parent ends, whose id is the only argument. Fails if the parent has ended already.
fn die_with_parent(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    let misused =
        || Error::usage("this sub-command is for the program itself").advice("use --partitioner metis instead");
    let args: Vec<OsString> = args.into_iter().collect();
    let [parent] = args.as_slice() else { return Err(misused()) };
    let parent: i32 = parent.to_str().and_then(|id| id.parse().ok()).ok_or_else(misused)?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Error::resource(format!("prctl failed ({error})")))?;
    if getppid().map(Pid::as_raw_pid) != Some(parent) { Err(Error::interrupted()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sub_command_is_not_for_people() {
        for args in [&["1", "2"][..], &[], &["me"]] {
            let error = child_main(args.iter().map(OsString::from)).unwrap_err();
            assert_eq!(error.kind(), trimill_system::error::Kind::Usage, "{error}");
        }
    }
}
