//! What `trimill verify` does: the slow, independent count beside the fast ones.

use std::time::Instant;

use super::setup::Setup;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::verify::{Needs, Verifier};
use crate::error::{Error, Result};
use crate::input::Source;
use crate::job::Job;
use crate::machine;
use crate::report::{InputReport, VerifyReport};

/// Counts the triangles of a job's input in memory, without the cleaning, orienting and partitioning of the other stages.
///
/// # Errors
/// Errors in the input; [`crate::error::Kind::Resource`] for a graph that the host's budget cannot hold; when stopped.
pub fn verify(job: &Job, control: &Control) -> Result<VerifyReport> {
    let start = Instant::now();
    let setup = Setup::new(&Job { cache: false, ..job.clone() }, None)?;
    setup.pool.install(|| {
        let source = Source::open_as(&job.inputs, job.reading(), &setup.work_dir, control)?;
        let verifier = verifier(&source, setup.host.budget(), control)?;
        let scanned = source.scan(&verifier, control);
        // If the input changed meanwhile, this is the error to report.
        source.unchanged()?;
        scanned?;
        let found = verifier.finish(control)?;
        let input = InputReport {
            vertices_declared: source.declared_vertices(),
            arcs: found.arcs,
            loops_removed: found.loops,
            duplicates_removed: found.duplicates,
            arcs_added: found.arcs_added,
            arcs_without_reverse: if source.symmetric() { 0 } else { found.arcs_without_reverse },
        };
        let seconds = start.elapsed().as_secs_f64();
        Ok(VerifyReport::new(found.triangles, found.vertices, found.edges, found.wedges, input, seconds))
    })
}

/// The memory that a thread maps and holds while it reads the input.
const READING: Bytes = Bytes::mib(16);

/// A verifier for `source`, if its arcs and the verifier's own arrays fit the host's budget.
fn verifier(source: &Source, host_memory: Bytes, control: &Control) -> Result<Verifier> {
    let reading = Bytes(READING.get() * rayon::current_num_threads() as u64);
    let held = machine::resident_memory() + reading.min(Bytes::mib(1) + Bytes(source.bytes().saturating_mul(32)));
    let all = |arcs| Bytes(held.get().saturating_add(Needs::bytes(arcs).get()));
    if all(source.arcs_at_most()) <= host_memory {
        return Ok(Verifier::new());
    }
    // The bound that follows from the size of the file may be far too high.
    let needs = Needs::default();
    source.scan(&needs, control)?;
    let needed = all(needs.counted());
    if needed > host_memory {
        return Err(Error::resource(format!(
            "the verifier takes {} bytes ({needed}) for {} arcs, which it holds in memory, and the host's budget is {host_memory}",
            needed.get(),
            needs.counted()
        ))
        .advice(format!("raise --host-memory to {} or more", needed.get())));
    }
    Ok(Verifier::for_arcs(needs.counted()))
}
