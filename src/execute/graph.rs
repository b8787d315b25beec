//! From a job's input to its oriented graph.

use super::setup::Setup;
use crate::bytes::Bytes;
use crate::clean::cache::Origin;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::input::Source;
use crate::job::Job;
use crate::prepare::prepare;
use crate::report::Station;

/// Reads, cleans and orients the input of `job`, or takes the graph from the cache. Also returns what tells this input
/// from any other (empty for standard input).
///
/// # Errors
/// What is wrong with the input; directories that cannot be written.
pub fn graph(
    job: &Job,
    setup: &Setup,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<(OrientedGraph, String)> {
    setup.pool.install(|| {
        let source = Source::open(&job.inputs, job.format, &setup.work_dir)?;
        let origin = source.identity()?.map(|identity| Origin { format: source.format(), identity }.to_text());
        let bytes = Bytes(source.bytes());
        let cache = setup.cache.as_ref();
        let graph = prepare(&source, origin.as_deref(), bytes, setup.workspace(), cache, control, stations)?;
        Ok((graph, origin.unwrap_or_default()))
    })
}
