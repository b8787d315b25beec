//! From an input to its oriented graph: cached, or cleaned and oriented now.

use std::time::Instant;

use crate::bytes::Bytes;
use crate::clean::cache::Cache;
use crate::clean::{Workspace, clean};
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::graph::file::{Place, open};
use crate::input::arcs::ArcSource;
use crate::orient::orient;
use crate::orient::rows::{self, Made, orient_rows};
use crate::report::Station;

/// Cleans and orients `source`, or takes the graph from the cache. `identity` tells one input from another: the same
/// text stands for the same arcs. Adds the stations passed to `stations`.
///
/// # Errors
/// What is wrong with the input; directories that cannot be written.
pub fn prepare(
    source: &dyn ArcSource,
    identity: Option<&str>,
    input_bytes: Bytes,
    space: Workspace<'_>,
    cache: Option<&Cache>,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<OrientedGraph> {
    let cached = cache.zip(identity);
    if let Some((cache, identity)) = cached {
        let start = Instant::now();
        if let Some(graph) = cache.find(identity)? {
            if let Some(path) = graph.path() {
                tracing::info!("the graph is in the cache: {}", path.display());
            }
            stations.push(Station::since("cached", start, graph.csr_bytes(), Bytes::ZERO));
            return Ok(graph);
        }
    }
    let dir = cached.map_or(space.dir, |(cache, _)| cache.dir());
    let file = |oriented| match cached {
        Some((cache, identity)) => cache.store(identity, oriented),
        None => open(Place::Temporary(oriented.file)),
    };
    let start = Instant::now();
    let place = cached.map_or(rows::Place::Memory(space.graph, dir), |_| rows::Place::File(dir));
    if let Some(made) = orient_rows(source, identity.unwrap_or_default(), place, space, control)? {
        let (graph, written) = match made {
            Made::File(oriented) => {
                let written = oriented.file_bytes;
                (file(oriented)?, written)
            }
            Made::Memory(graph) => (*graph, Bytes::ZERO),
        };
        stations.push(Station::since("orient", start, input_bytes, written));
        return Ok(graph);
    }
    // Rows that were looked at in vain count as reading.
    let looking = start.elapsed();
    let start = Instant::now();
    let cleaned = clean(source, space, control)?;
    let cleaning = start.elapsed().saturating_sub(cleaned.reading);
    let arcs = Bytes::of::<u64>(cleaned.report.arcs - cleaned.report.loops_removed);
    stations.push(Station::new("input", looking + cleaned.reading, input_bytes, cleaned.bytes_distributed));
    stations.push(Station::new("clean", cleaning, arcs, cleaned.bytes_written));
    let start = Instant::now();
    let pairs = Bytes::of::<u64>(cleaned.edges);
    let oriented = orient(cleaned, identity.unwrap_or_default(), dir, space, control)?;
    stations.push(Station::since("orient", start, pairs, oriented.bucket_bytes + oriented.file_bytes));
    file(oriented)
}
