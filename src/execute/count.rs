//! What `trimill count` does, from the input to the result. Once there is a plan, partitions are built, spilled, streamed and counted
//! concurrently, on one device or several (`super::counting`); in the in-place mode nothing is built or spilled.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "testing")]
use rayon::ThreadPool;

use super::counting::CountedAll;
use super::details::{Details, ends_job};
use super::graph::{Opened, Prepared, device_memory_for};
use super::planned::Planned;
use super::recorded_plan::recorded_plan;
use super::results::result_of;
use super::session::{Purpose, Session};
use super::vertices::VertexSums;
use crate::job::{Job, Mode};
use crate::plan::cost::Machine;
use crate::report::{RunResult, Stage};
use crate::run_dir::{RunDir, unless_damaged, with_resume_advice};
use crate::stream::FEW;
use crate::sums::{ByRank, Sums};
use crate::vertices::degrees::DegreeBin;
#[cfg(feature = "testing")]
use trimill_counting::CountBackend;
use trimill_counting::ResidentSize;
use trimill_graph::OrientedGraph;
use trimill_input::arcs::EdgeSource;
use trimill_system::child::Helper;
use trimill_system::expected::ExpectedStage;
use trimill_system::mapped::trim_heap;
use trimill_system::{Bytes, Control, Error, Result, lock, parallel};

/// Counts the triangles of `edges`, else of the job's input. If only writing files failed, the error carries the result as its answer.
pub fn count(job: Job, edges: Option<&dyn EdgeSource>, metis: Option<Helper>, control: &Control) -> Result<RunResult> {
    if let Some(dir) = job.kept_spills().map(Path::to_path_buf) {
        return super::kept::count(job, &dir, control);
    }
    job.check_counts()?;
    let mut opened = Session::open(job, Purpose::Count, metis, control)?.input(edges)?;
    opened.session.run.as_ref().map_or(Ok(()), |run| run.check_kind(false))?;
    opened.claim()?;
    if let Some(result) = opened.finished()? {
        return Ok(result);
    }
    opened.session.run.as_ref().map_or(Ok(()), RunDir::check_writable)?;
    let planned = opened.prepare()?.plan(1)?;
    tracing::debug!("partitions are planned");
    planned.count()
}

/// Counts on the devices that `devices` makes for the graph, not on the job's, so that tests can simulate devices that fail.
#[cfg(feature = "testing")]
pub fn count_on(
    job: Job,
    devices: impl FnOnce(&OrientedGraph, &ThreadPool) -> Vec<Box<dyn CountBackend>>,
) -> Result<RunResult> {
    let mut opened = Session::open(job, Purpose::Count, None, &Control::silent())?.input(None)?;
    opened.claim()?;
    let mut planned = opened.prepare()?.plan(1)?;
    planned.chosen.backends = devices(&planned.graph, &planned.session.pool);
    planned.count()
}

pub fn count_prepared(
    job: Job,
    graph: OrientedGraph,
    stages: Vec<Stage>,
    metis: Option<Helper>,
    control: &Control,
) -> Result<RunResult> {
    if job.lcc_wanted.is_some() {
        return Err(Error::usage("the coefficients of all vertices of a graph that is prepared already")
            .expected("a graph that is counted from its input, which says what vertices there are"));
    }
    job.check_counts()?;
    let session = Session::open(job, Purpose::Question, metis, control)?;
    session.open_gpus(device_memory_for(graph.edges(), graph.vertices().into()))?;
    let (pool, opens_gpus) = (Arc::clone(&session.pool), lock(&session.gpus).is_some());
    let rows = ResidentSize { locals: graph.vertices().into(), arcs: graph.edges() };
    // For few rows, switching to a pool thread at each step takes longer than counting, so a pool thread does everything.
    let few = pool.current_num_threads() == 1 && rows.bytes() < FEW && !opens_gpus;
    let prepared = Prepared { graph, origin: None, stages, session };
    let plan = || prepared.plan(1);
    let planned = if few { parallel::within(&pool, plan) } else { plan() }?;
    // If partitions are spilled, the builder's thread needs the pool meanwhile.
    match few && planned.plan.cut.mode() == Mode::InPlace {
        true => parallel::within(&pool, || planned.count()),
        false => planned.count(),
    }
}

impl Opened<'_> {
    /// The result of an earlier start of the same job, if all requested files exist.
    fn finished(&self) -> Result<Option<RunResult>> {
        let Session { job, run, pool, .. } = &self.session;
        let Some(run) = run.as_ref().filter(|run| run.has_result()) else { return Ok(None) };
        let Some(origin) = &self.origin else { return Ok(None) };
        let plan = parallel::within(pool, || recorded_plan(run, &job.settings, &origin.lasting()?, None, 1))?;
        let result = match plan {
            Some((plan, _)) if self.session.has_kept_spills(plan.fingerprint) => {
                unless_damaged(run.finished(plan.fingerprint), "it is put together again")?
            }
            _ => None,
        };
        let is_done = |result: &RunResult| job.is_done(run, result);
        let Some(result) = result.filter(is_done) else { return Ok(None) };
        let dir = run.path().display();
        match job.has_timeline && result.timeline.is_none() {
            true => tracing::warn!(
                "{dir}: counted on an earlier start without --report and --trace: there is no timeline, and no degrees"
            ),
            false => tracing::info!("{dir}: counted on an earlier start"),
        }
        run.announce(job.replaced(), job.temporary_spills(), true)?;
        self.session.tidy();
        Ok(Some(RunResult { job: job.name.clone(), ..result }))
    }
}

impl Planned {
    pub(super) fn at_vertices(mut self) -> Result<(Sums<ByRank>, Bytes)> {
        let mut backends = std::mem::take(&mut self.chosen.backends);
        let details = Details::Vertices(VertexSums::new(&self.session, &self.graph, self.fingerprint)?);
        self.count_partitions(&mut backends, &details, &mut Vec::new())?;
        let peak = self.peak_now();
        match details {
            Details::Vertices(vertices) => Ok((vertices.of.into_all()?, peak)),
            _ => Err(Error::defect("sums of something else")),
        }
    }

    fn count(mut self) -> Result<RunResult> {
        let path = self.graph.path().map(Path::to_path_buf);
        let seconds = self.counting_seconds();
        let (in_shares, mut backends) = (self.counts_in_shares(), std::mem::take(&mut self.chosen.backends));
        let mut stages = std::mem::take(&mut self.stages);
        let stages_to_come = self.session.counting_stages(&self.limits.machine, seconds, self.graph.edges());
        self.session.control.expect(&stages_to_come);
        let (backend, method) = (backends[0].name(), backends[0].method());
        let Session { run, control, .. } = &self.session;
        let details = Details::new(&self.session, &self.graph, self.fingerprint)?;
        let counted = match in_shares {
            true => self.count_shares(&mut backends, &mut stages),
            false => self.count_partitions(&mut backends, &details, &mut stages),
        };
        let counted = Session::removing_damaged_graph(counted, path.as_deref());
        let (CountedAll { partitions, devices }, kept) = Error::answered(counted)?;
        tracing::debug!("partitions are counted");
        // Returns freed memory to the system before tables are written.
        trim_heap();
        let graph = &self.graph;
        let result = RunResult {
            mode: self.plan.cut.mode(),
            partitioner: self.partitioner.to_string(),
            backend: backend.into(),
            method: method.into(),
            methods: self.chosen.methods.clone(),
            partitions,
            devices,
            stages,
            peak_host_bytes: self.peak_now(),
            driver_host_bytes: self.chosen.driver_bytes,
            device_memory: self.limits.device,
            seconds: self.session.seconds(),
            ..result_of(&self.session, &graph.figures())
        };
        let mut result = result.complete();
        let mut written = kept;
        if !matches!(details, Details::Total) {
            let finished = details.finish(&self.session, backends, &mut result);
            let finished = Session::removing_damaged_graph(finished, path.as_deref());
            if ends_job(&finished) {
                self.session.remove_finished();
                return finished.map(|()| result);
            }
            written = Error::worst_of([written, finished.map_err(|error| self.session.resumes(error))]);
            result.seconds = self.session.seconds();
            result.peak_host_bytes = result.peak_host_bytes.max(self.peak_now());
        }
        if control.is_recorded() {
            result.degrees = result.degrees.or_else(|| Some(DegreeBin::of_runs(graph.degree_runs())));
            result.timeline = control.timeline(result.seconds);
        }
        if let Some(run) = run {
            // Without a recorded result, the next start writes the files from the counts that the directory keeps.
            let finish = || {
                run.finish(self.fingerprint, &result, &self.session.job.settings.output).map(|()| self.session.tidy())
            };
            written = written.and_then(|()| finish().map_err(|error| self.session.resumes(error)));
        }
        Error::answering(written, result)
    }
}

impl Session {
    /// The stages after the plan: counting, which takes `seconds`, and peeling, if trusses are wanted.
    pub(super) fn counting_stages(&self, machine: &Machine, seconds: f64, edges: u64) -> Vec<ExpectedStage> {
        let count = ExpectedStage::new("count", seconds);
        let peel = self.job.settings.output.peeling().map(|_| ExpectedStage::new("peel", machine.peeling(edges)));
        std::iter::once(count).chain(peel).collect()
    }

    /// Adds to `error` that the next start resumes, if there is a run directory.
    pub(super) fn resumes(&self, error: Error) -> Error {
        with_resume_advice(error, self.run.as_ref().map(RunDir::path))
    }
}
