//! What `trimill verify` does: the slow, independent count beside the fast ones.

use std::time::Instant;

use super::setup::Setup;
use crate::control::Control;
use crate::count::verify::Verifier;
use crate::error::Result;
use crate::input::Source;
use crate::job::Job;
use crate::report::{InputReport, VerifyReport};

/// Counts the triangles of a job's input in memory, without cleaning, orienting or partitioning it as the other stations
/// do.
///
/// # Errors
/// What is wrong with the input; a stop.
pub fn verify(job: &Job, control: &Control) -> Result<VerifyReport> {
    let start = Instant::now();
    let setup = Setup::new(&Job { cache: false, ..job.clone() }, None)?;
    setup.pool.install(|| {
        let source = Source::open_as(&job.inputs, job.reading(), &setup.work_dir, control)?;
        let verifier = Verifier::new();
        let scanned = source.scan(&verifier, control);
        // Data that is wrong because it changed is told as that.
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
