//! The child process: reads a graph from its standard input, runs METIS, and overwrites the graph with the assignment.
//!
//! On any error it ends without an assignment. Signals end it immediately, also those that its parent ignores ([`super::inherited`])
//! and SIGTERM, which METIS traps ([`super::sigterm`]). SIGABRT is left to METIS, which raises it when it runs out of memory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::exchange::{self, MetisTask};
use super::symmetric::Symmetric;
use super::{inherited, sigterm};
use crate::{PartitionerError, PartitionerErrorKind, PartitionerResult};

/// The main function of the hidden sub-command; `args` are those after [`super::MetisOptions::helper_args`].
///
/// To be called on the main thread, before any other thread is started and before any signal handler is installed. The
/// process should end right after it: with success only if this succeeds, and with the error on stderr otherwise. On
/// Linux the process is killed when its parent ends.
///
/// # Errors
/// [`PartitionerErrorKind::Usage`] when it was not started by [`super::assign`], [`PartitionerErrorKind::Data`] for a graph that is invalid for METIS,
/// [`PartitionerErrorKind::Resource`] when memory or disk run out, [`PartitionerErrorKind::Child`] when METIS fails. Does not return after a SIGTERM.
pub fn child_main(args: impl IntoIterator<Item = OsString>) -> PartitionerResult<()> {
    die_with_parent(args)?;
    let io_error = |error| {
        PartitionerError::new(PartitionerErrorKind::Resource, "the file between METIS and its caller failed")
            .because(error)
    };
    let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(io_error)?);
    let task = exchange::read_graph(&file).map_err(io_error)?;
    check(&task.graph).map_err(|found| {
        PartitionerError::new(PartitionerErrorKind::Data, format!("the graph for METIS has {found}"))
    })?;
    let mut parts = vec![0; task.graph.vertex_weights.len()];
    inherited::heed().map_err(io_error)?;
    sigterm::hold().map_err(io_error)?;
    let outcome = partition(&task, &mut parts);
    sigterm::release().map_err(io_error)?;
    outcome?;
    exchange::write_assignment(&file, &parts, peak_bytes()).map_err(io_error)
}

fn partition(task: &MetisTask, parts: &mut [i32]) -> PartitionerResult<()> {
    let Symmetric { offsets, successors, arc_weights, vertex_weights } = &task.graph;
    let mut graph = metis::Graph::new(1, task.parts as i32, offsets, successors)
        .map_err(|error| {
            PartitionerError::new(PartitionerErrorKind::Data, format!("the graph for METIS is wrong: {error}"))
        })?
        .set_vwgt(vertex_weights)
        .set_option(metis::option::Seed(((task.seed >> 32 ^ task.seed) & 0x7fff_ffff) as i32));
    if let Some(weights) = arc_weights {
        graph = graph.set_adjwgt(weights);
    }
    match graph.part_kway(parts) {
        Ok(_) => Ok(()),
        Err(metis::Error::Memory) => {
            Err(PartitionerError::new(PartitionerErrorKind::Resource, "METIS ran out of memory"))
        }
        Err(metis::Error::Input) => Err(PartitionerError::new(PartitionerErrorKind::Data, "METIS refused its input")),
        Err(metis::Error::Other) => Err(PartitionerError::new(PartitionerErrorKind::Child, "METIS failed")),
    }
}

/// Asks the system to kill this process when its parent, whose id is the only argument, ends. Fails if that has ended already.
fn die_with_parent(args: impl IntoIterator<Item = OsString>) -> PartitionerResult<()> {
    let misused = || {
        PartitionerError::new(PartitionerErrorKind::Usage, "this sub-command is for the program itself")
            .advice("use --partitioner metis instead")
    };
    let args: Vec<OsString> = args.into_iter().collect();
    let [parent] = args.as_slice() else { return Err(misused()) };
    let parent: i32 = parent.to_str().and_then(|id| id.parse().ok()).ok_or_else(misused)?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
        .map_err(|error| PartitionerError::new(PartitionerErrorKind::Child, "prctl failed").because(error.into()))?;
    if nix::unistd::getppid().as_raw() != parent {
        return Err(PartitionerError::new(PartitionerErrorKind::Interrupted, "the parent process has ended"));
    }
    Ok(())
}

/// Rejects graphs that METIS accepts without an error but cannot process; its wrapper checks offsets and the range of successors.
fn check(graph: &Symmetric) -> PartitionerResult<(), String> {
    let Symmetric { offsets, successors, arc_weights, vertex_weights } = graph;
    if offsets.first() != Some(&0) || offsets.last().is_none_or(|&end| end as usize != successors.len()) {
        return Err("offsets that do not span its arcs".into());
    }
    // Arcs to larger vertices add their hash, arcs to smaller ones subtract it, so the sum over a symmetric graph is 0.
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
            let mixed = mix(tail.min(successor), tail.max(successor), weight);
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

/// The finaliser of SplitMix64 over the three numbers.
fn mix(low: i32, high: i32, weight: i32) -> u64 {
    let round = |value: u64| {
        let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    };
    round(round(u64::from(low as u32) << 32 | u64::from(high as u32)).wrapping_add(u64::from(weight as u32)))
}

/// The peak memory of this process in bytes; 0 if the system does not report it.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.unwrap_or(0_u64) * 1024
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
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
            assert_eq!(error.kind, PartitionerErrorKind::Usage, "{error}");
        }
    }

    #[test]
    fn the_peak_is_known_on_linux() {
        assert_eq!(cfg!(target_os = "linux"), peak_bytes() > 1 << 20);
    }
}
