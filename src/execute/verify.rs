//! What `trimill verify` does: a slow count that is independent of the fast ones.

mod names;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::details::ends_job;
use super::session::{Purpose, Session};
use crate::count::verify::{VerifiedEdges, VerifiedVertices, Verifier};
use crate::edges::rows::ListedEdges;
use crate::job::Job;
use crate::report::VerifyReport;
use crate::vertices::order::{ListedVertices, array_is_worthwhile};
use crate::vertices::summary::Clustering;
use names::NumberedByTree;
use trimill_graph::Ids;
use trimill_graph::names::Names;
use trimill_input::arcs::ArcSource;
use trimill_input::{ArcSink, Source};
use trimill_system::memory::Needs;
use trimill_system::{Bytes, Control, Error, Result, parallel};

/// Counts the triangles of a job's input in memory by the verifier. Errors: those of the input; `Kind::Resource` for a graph that exceeds the host's
/// budget; when stopped. If only files could not be written, the report is the error's answer.
pub fn verify(job: Job, control: &Control) -> Result<VerifyReport> {
    let start = Instant::now();
    job.settings.output.check_places()?;
    let session = Session::open(job.without_cache(), Purpose::Count, None, control)?;
    let Session { job, pool, work_dir, host, .. } = &session;
    parallel::within(pool, || {
        let source = Source::open_as(&job.inputs, job.settings.input.reading(), work_dir, control)?;
        let most = Bytes(host.usable().get() / 2);
        let numbered = job.settings.input.names().then(|| NumberedByTree::read(&source, most, control)).transpose()?;
        let arcs: &dyn ArcSource = numbered.as_ref().map_or(&source, |numbered| numbered);
        let names = numbered.as_ref().map_or(Bytes::ZERO, NumberedByTree::memory);
        let verifier = verifier(arcs, names, &session)?;
        let scanned = arcs.scan(&verifier, control);
        // If the input changed meanwhile, this is the error to report.
        source.unchanged()?;
        scanned?;
        let (mut report, vertices, mut edges) = verifier.finish_with_counts(job.counts_edges(), control)?;
        report.input.vertices_declared = source.facts().declared_vertices;
        if source.facts().symmetric {
            report.input.arcs_without_reverse = 0;
        }
        report.truss = job.settings.output.peeling().map(|wanted| edges.peel(wanted.until, control)).transpose()?;
        let (clustering, written) = match job.counts_vertices() || job.counts_edges() {
            true => {
                let array_len = array_len(&source, &vertices, report.input.arcs);
                let names = numbered.as_ref().map(|numbered| numbered.names(work_dir)).transpose()?;
                session.write_verified(vertices, array_len, names, &edges)?
            }
            false => (None, Ok(())),
        };
        report.seconds = start.elapsed().as_secs_f64();
        report.clustering = clustering.filter(|_| job.counts_vertices());
        let report = report.complete();
        let by_k =
            |path: &PathBuf| report.truss.as_ref().map_or(Ok(()), |trusses| session.finish_file(trusses.write(path)?));
        let written = Error::worst_of([written, job.settings.output.by_k.as_ref().map_or(Ok(()), by_k)]);
        if ends_job(&written) {
            session.remove_finished();
        }
        Error::answering(written, report)
    })
}

/// The length of an array over all ids, if ids are not too sparse for one.
fn array_len(source: &Source, vertices: &VerifiedVertices, arcs: u64) -> Option<u64> {
    // A list of arcs declares all ids up to the largest one.
    let ids = match source.facts().declared_vertices {
        Some(declared) => Some(source.facts().first_id + declared),
        None => vertices.largest_id.map_or(Some(0), |largest| largest.checked_add(1)),
    };
    ids.filter(|&ids| array_is_worthwhile(ids, arcs))
}

impl Session {
    /// Writes the files of counts; returns the summary of vertices, if wanted, and whether the files could be written.
    fn write_verified(
        &self,
        vertices: VerifiedVertices,
        array_len: Option<u64>,
        names: Option<Arc<Names>>,
        edges: &VerifiedEdges,
    ) -> Result<(Option<Clustering>, Result<()>)> {
        let Self { job, control, .. } = self;
        let found = if job.counts_vertices() { Some(vertices.clustering(control)?) } else { None };
        let (mut summary, by_degree) = found.unzip();
        if let (Some(summary), Some(names)) = (&mut summary, &names)
            && let Some(number) = summary.most_triangles_vertex.take()
        {
            let name = names.reader().name(number)?.to_vec();
            summary.most_triangles_name = Some(String::from_utf8_lossy(&name).into_owned());
        }
        let VerifiedVertices { ids, degrees, triangles, .. } = vertices;
        let ids = names.into_iter().fold(Ids::listed(ids), Ids::named);
        let counts = ListedVertices { ids, degrees, triangles, control: control.clone() };
        let (output, finish) = (&job.settings.output, |file| self.finish_file(file));
        let of_vertices = output.write_vertices(&counts, array_len, &by_degree.unwrap_or_default(), finish);
        let ListedVertices { ids, degrees, .. } = &counts;
        let (vertices, edges_of) = (degrees.len() as u32, |u| edges.of(u));
        let edges = ListedEdges { ids, vertices, control, truss: output.peeling(), edges_of };
        let of_edges = output.write_edges(&edges, finish);
        Ok((summary, Error::worst_of([of_vertices, of_edges])))
    }
}

/// A sink that discards arcs, to find out how many there are.
struct Discard;

impl ArcSink for Discard {
    fn arcs(&self, _: &[(u64, u64)]) -> Result<()> {
        Ok(())
    }
}

/// The memory that a thread maps and holds while it reads the input.
const READING: Bytes = Bytes::mib(16);

/// A verifier for `source`, if its arcs and the arrays made from them fit the host's budget beside `names` bytes of names.
fn verifier(source: &dyn ArcSource, names: Bytes, session: &Session) -> Result<Verifier> {
    let Session { job, host, control, .. } = session;
    let reading = Bytes(READING.get() * host.threads()).min(Bytes::mib(1) + Bytes(source.bytes().saturating_mul(32)));
    let written = job.counts_vertices() || job.counts_edges();
    let per_arc = Verifier::bytes_per_arc(written, job.settings.output.peeling().is_some());
    let needs = |arcs| {
        let arrays = Needs::to("verify the count in memory").array(per_arc, arcs, "arcs");
        let of_thread = if written { job.counts().bytes_per_thread } else { Bytes::ZERO };
        let files = Bytes(host.threads() * of_thread.get());
        arrays
            .fixed("the names in memory", names)
            .fixed("the input as it is read", reading)
            .fixed("files that are written", files)
    };
    if host.left(&needs(source.facts().arcs_at_most)).is_ok() {
        return Ok(Verifier::default());
    }
    // The upper bound from the file's size may be far too high.
    let arcs = source.scan(&Discard, control)?;
    host.left(&needs(arcs)).map(|_| Verifier::for_arcs(arcs))
}
