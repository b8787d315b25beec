//! From the input of a session to its oriented graph: the states [`Opened`] and [`Prepared`].

use std::path::Path;

use super::session::Session;
use crate::cache::Origin;
use crate::clean::most_ids;
use crate::job::Prepare;
use crate::prepare::device::is_worthwhile;
use crate::prepare::{OnDevice, Preparation};
use crate::report::{Stage, VERSION};
use crate::run_dir::{JobRecord, RunDir};
use crate::vertices::lcc;
use trimill_graph::OrientedGraph;
use trimill_input::arcs::{ArcSource, EdgeSource, checked};
use trimill_input::{InputSettings, Source, VertexList};
use trimill_system::mapped::trim_heap;
use trimill_system::{Bytes, Error, Kind, Result, disk, lock, parallel};

/// Estimated device memory to prepare and count a graph in one chunk: per arc of the input, per id, and fixed. The exact need is known only later.
const PER_ARC: u64 = 64;
const PER_ID: u64 = 64;
const FIXED: Bytes = Bytes::mib(1 << 10);

pub(super) fn device_memory_for(arcs: u64, ids: u64) -> Bytes {
    let useful = PER_ARC.saturating_mul(arcs).saturating_add(PER_ID.saturating_mul(ids));
    Bytes(useful.saturating_add(FIXED.get()))
}

pub struct Opened<'e> {
    source: Box<dyn ArcSource + Send + 'e>,
    /// None if the input is not a file.
    pub(crate) origin: Option<Origin>,
    /// The job's record, if a run directory is claimed.
    claimed: Option<JobRecord>,
    /// Dropped last, as in the other states, since its directories hold the temporary files.
    pub(crate) session: Session,
}

pub struct Prepared {
    pub(super) graph: OrientedGraph,
    /// The identity of the input, with a hash of its contents if there is a cache; none if it is not a file.
    pub(super) origin: Option<Origin>,
    pub(super) stages: Vec<Stage>,
    pub(super) session: Session,
}

impl Session {
    /// Opens `edges`, else the input of the job: detects formats and reads headers.
    pub fn input<'e>(mut self, edges: Option<&'e dyn EdgeSource>) -> Result<Opened<'e>> {
        if let Some(edges) = edges {
            self.resolve_lcc(None, 0, false)?;
            return Ok(Opened { session: self, source: Box::new(checked(edges)?), origin: None, claimed: None });
        }
        let (source, origin) = parallel::within(&self.pool, || -> Result<_> {
            let job = &self.job;
            let source = Source::open_within(
                &job.inputs,
                job.settings.input.reading(),
                &self.work_dir,
                self.preparing,
                &self.control,
            )?;
            let origin = self.origin(&source)?;
            Ok((source, origin))
        })?;
        self.listed = source.listed().map_or(0, VertexList::at_most);
        self.resolve_lcc(source.facts().directed, self.listed, origin.is_some())?;
        Ok(Opened { session: self, source: Box::new(source), origin, claimed: None })
    }

    pub(super) fn origin(&self, source: &Source) -> Result<Option<Origin>> {
        let InputSettings { format: asked, header, columns, .. } = self.job.settings.input.reading();
        let (format, named, names) = (source.format(), asked.is_some(), source.facts().has_names);
        let identity = source.identity(&self.control)?;
        let version = VERSION.to_owned();
        let doubled = None;
        Ok(identity.map(|identity| Origin { version, format, named, header, columns, names, doubled, identity }))
    }

    /// Adds what the input states to the wanted coefficients, some of which need to read the input again; `again`: whether that is possible.
    fn resolve_lcc(&mut self, directed: Option<bool>, listed: u64, again: bool) -> Result<()> {
        let Some(wanted) = &mut self.job.lcc_wanted else { return Ok(()) };
        *wanted = wanted.of_input(directed, listed)?;
        if wanted.reads_input() && !again {
            return Err(Error::usage(
                "coefficients by the directions of edges, or of listed vertices, of an input that is read once",
            )
            .expected("a file, which is read again")
            .advice("write the input to a file first"));
        }
        Ok(())
    }

    /// Opens the input a second time. Errors: `Kind::Data` if it changed since the run directory's graph was prepared.
    pub(super) fn input_again(&self) -> Result<Source> {
        let Self { job, control, .. } = self;
        let source =
            Source::open_within(&job.inputs, job.settings.input.reading(), &self.work_dir, self.host, control)?;
        let recorded = self.run.as_ref().map_or(Ok(None), RunDir::input)?;
        if let (Some(recorded), Some(mut now)) = (recorded, source.identity(control)?)
            && !now.is(&recorded, control)?
        {
            return Err(Error::data(&job.inputs[0], "changed since the graph was prepared")
                .expected("the input as it was, with its time of modification")
                .advice("restore it, or start anew in another --run-dir"));
        }
        Ok(source)
    }

    /// If `outcome` shows that the graph file at `path` is damaged, removes it, so that the next start makes it again. It must not be shared.
    pub(crate) fn removing_damaged_graph<T>(outcome: Result<T>, path: Option<&Path>) -> Result<T> {
        outcome.map_err(|error| match path {
            Some(path) if error.kind() == Kind::Data && error.path() == Some(path) && disk::remove(path).is_ok() => {
                error.advice("it was removed: start again, and it is made again")
            }
            _ => error,
        })
    }
}

impl Opened<'_> {
    pub(super) fn has_rows(&self) -> bool {
        self.source.facts().has_rows
    }

    pub(super) fn claim(&mut self) -> Result<()> {
        let Session { job, run, pool, control, .. } = &self.session;
        let Some(run) = run else { return Ok(()) };
        let mut claimed = JobRecord::new(&job.settings, self.origin.as_ref(), control)?;
        parallel::within(pool, || run.claim(&mut claimed, control))?;
        if let Some(origin) = &mut self.origin {
            origin.identity = claimed.input();
        }
        self.claimed = Some(claimed);
        Ok(())
    }

    /// Starts to open the GPUs of a job that counts on them, while the input is read.
    pub(crate) fn open_gpus(&self) -> Result<()> {
        // An estimate of the most bytes that a GPU needs, if ids are not sparse.
        let arcs = self.source.facts().arcs_at_most;
        let ids = self.source.facts().declared_vertices.unwrap_or_else(|| most_ids(arcs));
        self.session.open_gpus(device_memory_for(arcs, ids))
    }

    /// Takes the graph from the cache, or reads, cleans and orients the input, on an open GPU or on the cores.
    pub(crate) fn graph(&self, stages: &mut Vec<Stage>) -> Result<(OrientedGraph, Option<Origin>)> {
        let Session { job, pool, cache, gpus, control, .. } = &self.session;
        parallel::within(pool, || {
            let mut origin = self.origin.clone();
            let kept = origin.as_mut().filter(|_| cache.is_some());
            let mut gpus = lock(gpus);
            let device = gpus.as_mut().and_then(|device| match job.settings.work.prepare() {
                Prepare::Gpu => Some(OnDevice { device, required: true }),
                Prepare::Auto if is_worthwhile(self.source.facts().arcs_at_most, rayon::current_num_threads()) => {
                    Some(OnDevice { device, required: false })
                }
                _ => None,
            });
            let (source, space): (&dyn ArcSource, _) = (&*self.source, self.session.workspace());
            let preparation = Preparation { device, source, origin: kept, doubled: None, space, control };
            let graph = preparation.prepare(cache.as_ref(), stages)?;
            if let Some(list) = self.source.listed() {
                lcc::listed(list, &graph, self.session.preparing, control)?;
            }
            trim_heap();
            Ok((graph, origin))
        })
    }

    /// Prepares the graph, and records the identity of the input in a claimed run directory.
    pub(super) fn prepare(self) -> Result<Prepared> {
        self.open_gpus()?;
        let mut stages = Vec::new();
        tracing::debug!("the input is open");
        let (graph, origin) = self.graph(&mut stages)?;
        tracing::debug!("the graph is prepared");
        // Frees everything else: planning would mistake its memory for what GPU drivers mapped.
        let Opened { session, claimed, .. } = self;
        if let (Some(run), Some(claimed), Some(origin)) = (&session.run, claimed, &origin) {
            run.record(&claimed.with_input(&origin.identity))?;
        }
        Ok(Prepared { session, graph, origin, stages })
    }
}
