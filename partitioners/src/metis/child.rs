//! The child process: reads a graph from its standard input, runs METIS, and overwrites the graph with the assignment. On any error it ends without
//! an assignment. Signals end it immediately, also SIGTERM, which METIS traps ([`super::signals`]), and those that its parent ignores. SIGABRT is
//! left to METIS, which raises it when it runs out of memory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::process::{Pid, Signal, getppid};

use super::exchange::{self, MetisTask};
use super::signals;
use super::symmetric::Symmetric;
use trimill_system::child::follow_parent;
use trimill_system::disk::faults;
use trimill_system::hash::mix;
use trimill_system::{Error, Result, machine};

/// The main function of the hidden sub-command; `args` are those after [`super::MetisOptions::helper`]. Call it on the main thread, before any other
/// thread or signal handler. The process should end right after it: with success only if this succeeds, else with the error on stderr; it is killed
/// when its parent ends. Errors: not started by [`super::assign`], invalid graph, memory or disk full, METIS failed. Does not return after a SIGTERM.
pub fn child_main(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    faults::in_metis_child(|| run(args))
}

fn run(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    die_with_parent(args)?;
    let io_error =
        |error: io::Error| Error::resource(format!("the file between METIS and its caller failed ({error})"));
    let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(io_error)?);
    let task = exchange::read_graph(&file).map_err(io_error)?;
    check(&task.graph).map_err(|found| invalid(format!("the graph for METIS has {found}")))?;
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

/// Asks the system to kill this process when its parent, whose id is the only argument, ends. Fails if it has ended already.
fn die_with_parent(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    let misused =
        || Error::usage("this sub-command is for the program itself").advice("use --partitioner metis instead");
    let args: Vec<OsString> = args.into_iter().collect();
    let [parent] = args.as_slice() else { return Err(misused()) };
    let parent: i32 = parent.to_str().and_then(|id| id.parse().ok()).ok_or_else(misused)?;
    follow_parent(Signal::KILL).map_err(|error| Error::resource(format!("prctl failed ({error})")))?;
    if getppid().map(Pid::as_raw_pid) != Some(parent) { Err(Error::interrupted()) } else { Ok(()) }
}

/// Rejects graphs that METIS accepts but cannot process; its wrapper checks offsets and the range of successors.
fn check(graph: &Symmetric) -> Result<(), String> {
    let Symmetric { offsets, successors, arc_weights, vertex_weights } = graph;
    if offsets.first() != Some(&0) || offsets.last().is_none_or(|&end| end as usize != successors.len()) {
        return Err("offsets that do not span its arcs".into());
    }
    // Arcs to larger vertices add their hash, arcs to smaller ones subtract it, so a symmetric graph has the sum 0.
    let mut balance = 0_u64;
    for (tail, ends) in (0..).zip(offsets.windows(2)) {
        let row = ends[0] as usize..ends[1] as usize;
        let successors = successors.get(row.clone()).ok_or_else(|| format!("offsets that fall after vertex {tail}"))?;
        if !successors.is_sorted_by(|a, b| a < b) {
            return Err(format!("a row that does not ascend, at vertex {tail}"));
        }
        for (at, &successor) in row.zip(successors) {
            let weight = arc_weights.as_ref().map_or(1, |weights| weights[at]);
            if successor == tail || weight < 1 {
                return Err(format!("a loop or an arc without weight, at vertex {tail}"));
            }
            let edge = (tail.min(successor) as u64) << 32 | tail.max(successor) as u64;
            let mixed = mix(mix(edge).wrapping_add(weight as u64));
            balance = if tail < successor { balance.wrapping_add(mixed) } else { balance.wrapping_sub(mixed) };
        }
    }
    if balance != 0 {
        return Err("arcs without their reverse".into());
    }
    let total: i64 = vertex_weights.iter().map(|&weight| i64::from(weight)).sum();
    if vertex_weights.iter().any(|&weight| weight < 1) || total > i64::from(i32::MAX) {
        return Err("weights outside 1 to 2^31 - 1, or a larger sum".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(successors: &[i32], weights: &[i32]) -> Symmetric {
        Symmetric {
            offsets: vec![0, 1, 3, 4],
            successors: successors.to_vec(),
            arc_weights: Some(weights.to_vec()),
            vertex_weights: vec![1; 3],
        }
    }

    #[test]
    fn graphs_that_metis_cannot_process_are_found() {
        assert_eq!(check(&path(&[1, 0, 2, 1], &[5, 5, 2, 2])), Ok(()));
        for (successors, weights, word) in [
            ([1, 0, 2, 1], [5, 4, 2, 2], "reverse"),
            ([2, 0, 2, 1], [1; 4], "reverse"),
            ([0, 0, 2, 1], [1; 4], "loop"),
            ([1, 2, 0, 1], [1; 4], "ascend"),
            ([1, 0, 2, 1], [1, 1, 0, 0], "weight"),
        ] {
            assert!(check(&path(&successors, &weights)).unwrap_err().contains(word), "{successors:?} {weights:?}");
        }
        let good = || path(&[1, 0, 2, 1], &[1; 4]);
        assert!(check(&Symmetric { offsets: vec![0, 3, 1, 4], ..good() }).is_err());
        assert!(check(&Symmetric { offsets: vec![0, -1, 3, 4], ..good() }).is_err());
        assert!(check(&Symmetric { offsets: vec![0, 1, 3, 3], ..good() }).is_err());
        assert!(check(&Symmetric { vertex_weights: vec![1, i32::MAX, 1], ..good() }).is_err());
    }

    #[test]
    fn the_sub_command_is_not_for_people() {
        for args in [&["1", "2"][..], &[], &["me"]] {
            let error = child_main(args.iter().map(OsString::from)).unwrap_err();
            assert_eq!(error.kind(), trimill_system::error::Kind::Usage, "{error}");
        }
    }
}
