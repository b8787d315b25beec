//! The limits of METIS: larger graphs are refused early, with the numbers.

use super::MetisOptions;
use trimill_system::{Bytes, Error, Result};

/// METIS is built with 32-bit indices.
pub const MOST_ARCS: u64 = i32::MAX as u64;

/// The peak memory of METIS 5.2.1 in bytes per arc, with the graph: an upper bound from measurements.
pub const BYTES_PER_ARC: u64 = 75;

pub(super) fn most_arcs(options: &MetisOptions<'_>) -> u64 {
    MOST_ARCS.min(options.host_memory.saturating_sub(options.beside).get() / BYTES_PER_ARC)
}

/// Fails unless METIS can process `vertices` vertices and `arcs` arcs (each edge twice). `at_least`: `arcs` is only a lower bound.
pub(super) fn check(arcs: u64, at_least: bool, vertices: u32, options: &MetisOptions<'_>) -> Result<()> {
    if arcs <= most_arcs(options) && u64::from(vertices) < MOST_ARCS {
        return Ok(());
    }
    let at_least = if at_least { "at least " } else { "" };
    let (graph, coarser) = match options.contract {
        Some(run) if run.get() > 1 => (
            format!("{vertices} runs of {run} vertices with {at_least}{arcs} arcs between them"),
            format!("--metis-contract with more than {run}"),
        ),
        _ => (
            format!("{vertices} vertices with {at_least}{arcs} arcs (each edge in both directions)"),
            "--metis-contract K, which joins runs of K vertices first".to_owned(),
        ),
    };
    if arcs > MOST_ARCS || u64::from(vertices) >= MOST_ARCS {
        return Err(Error::resource(format!("{graph} are too many for METIS"))
            .expected(format!("at most {MOST_ARCS} of each"))
            .advice(format!("use {coarser}, or the partitioner contiguous")));
    }
    let needed = arcs * BYTES_PER_ARC;
    let gib = needed as f64 / f64::from(1 << 30);
    let beside = options.beside.get();
    Err(Error::memory(format!(
        "METIS needs {at_least}{needed} bytes ({gib:.2} GiB) for {graph}, beside {beside} bytes of this process"
    ))
    .expected(format!("no more than the host budget of {} bytes", options.host_memory.get()))
    .advice(format!("use {coarser}, the partitioner contiguous, or raise --host-memory to {} or more", needed + beside))
    .wanting(Bytes(needed) + options.beside))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use trimill_system::child::Helper;
    use trimill_system::{Control, Kind};

    #[test]
    fn larger_graphs_are_refused_with_the_numbers() {
        let (helper, control) = (Helper::metis("none".into()), Control::silent());
        let options = |host_memory, beside| {
            let (work_dir, helper, control) = (Path::new("none"), &helper, &control);
            MetisOptions { parts: 4, seed: 1, contract: None, host_memory, beside, work_dir, helper, control }
        };
        let refused = |arcs, vertices, host_memory, words: &[&str]| {
            let options = options(host_memory, Bytes(4096));
            let error = check(arcs, false, vertices, &options).unwrap_err();
            let message = error.to_string();
            assert_eq!(error.kind(), Kind::Resource, "{message}");
            words.iter().for_each(|word| assert!(message.contains(word), "'{word}' is not in: {message}"));
        };
        let (all, gib) = (Bytes(u64::MAX), Bytes::mib(1 << 10));
        let words = ["2147483648 arcs", "at most 2147483647", "--metis-contract K", "contiguous"];
        refused(1 << 31, 1 << 20, all, &words);
        refused(20, u32::MAX - 1, all, &["4294967294 vertices", "2147483647"]);
        let words = ["1500000000 bytes (1.40 GiB)", "20000000 arcs", "budget of 1073741824 bytes", "--host-memory"];
        refused(20_000_000, 1 << 20, gib, &words);
        // What this process takes is part of the budget.
        refused(1000, 1 << 10, Bytes(75_000 + 4095), &["METIS needs 75000 bytes", "beside 4096 bytes of this process"]);
        check(1000, false, 1 << 10, &options(Bytes(75_000 + 4096), Bytes(4096))).unwrap();
    }
}
