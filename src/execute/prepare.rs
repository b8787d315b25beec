//! What `trimill prepare` does: everything up to the plan and, in the spilled mode, the spills, for all shards of a job.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::disk_needs::counts_bytes;
use super::planned::Planned;
use super::session::{Purpose, Session, check_partitions};
use super::spill_dir::SpillDir;
use crate::count::method::Choice;
use crate::job::file::OutputTable;
use crate::job::{Job, Mode};
use crate::plan::GraphCut;
use crate::plan::costs::costs;
use crate::report::{PreparedReport, SCHEMA_VERSION, Stage, VERSION};
use crate::run_dir::{self, PreparedJob, RunDir, unless_damaged};
use crate::shards::check as check_shards;
use trimill_graph::Direction;
use trimill_partitioners::spill::Manifest;
use trimill_system::child::Helper;
use trimill_system::text::plural;
use trimill_system::url::is_url;
use trimill_system::{Bytes, Control, Error, Kind, Result, disk, parallel};

/// Prepares `job` in its run directory, with at least one partition for each of the `shards`.
pub fn prepare(
    job: Job,
    shards: Option<NonZeroU32>,
    metis: Option<Helper>,
    control: &Control,
) -> Result<PreparedReport> {
    job.check_for_shards(shards)?;
    job.check_counts()?;
    // The graph and the spills are in the run directory, where all nodes find them.
    let session = Session::open(job.without_cache(), Purpose::Prepare, metis, control)?;
    let Some(run) = &session.run else {
        return Err(Error::usage("no run directory").advice("name it with --run-dir"));
    };
    run.check_kind(true)?;
    let mut opened = session.input(None)?;
    opened.claim()?;
    if let Some(report) = opened.session.prepared_earlier(shards)? {
        return Ok(report);
    }
    opened.session.run.as_ref().map_or(Ok(()), RunDir::check_writable)?;
    let planned = opened.prepare()?.plan(shards.map_or(1, NonZeroU32::get))?;
    planned.removing_damaged_graph(|planned| planned.for_shards(shards))
}

impl Session {
    /// The report of an earlier start, if the job is merged or its files are unchanged. Removes damaged and other jobs' files with a warning.
    fn prepared_earlier(&self, shards: Option<NonZeroU32>) -> Result<Option<PreparedReport>> {
        let Self { job, run, .. } = self;
        let Some(run) = run.as_ref().filter(|run| run.is_prepared()) else { return Ok(None) };
        let prepared = unless_damaged(run.prepared().map(Some), "it is made again")?;
        let Some(prepared) = prepared else { return Ok(None) };
        let asked = |output| OutputTable { force: None, report: None, against: None, trace: None, ..output };
        let (before, now) = (prepared.job.settings.output.at_places(), job.settings.output.at_places());
        if asked(before) != asked(now) || prepared.job.lcc_wanted != job.lcc_wanted {
            return Err(Error::resource("is prepared for other outputs")
                .at(run.path())
                .expected("the same files of vertices and edges, and the same directory of --output")
                .advice("ask for the same ones, name another --run-dir, or remove this one"));
        }
        if shards.is_some() && shards != prepared.report.shards {
            let found = prepared.report.shards;
            let found = found.map_or("no number of shards".into(), |shards| plural(shards, "shard", "shards"));
            return Err(Error::resource(format!("is prepared for {found}"))
                .at(run.path())
                .expected("the same --shards")
                .advice("leave --shards out: the partitions can be counted by any number of shards; or name another --run-dir"));
        }
        let done = |merged: bool| {
            let how = if merged { "merged" } else { "prepared" };
            tracing::info!(target: trimill_system::control::NOTE, "{}: {how} on an earlier start", run.path().display());
            Ok(Some(PreparedReport { directory: run.path().to_path_buf(), merged, ..prepared.report.clone() }))
        };
        let merged = unless_damaged(run.finished(prepared.fingerprint), "the job is prepared again")?;
        if merged.is_some_and(|result| prepared.job.is_done(run, &result)) {
            self.tidy();
            return done(true);
        }
        match parallel::within(&self.pool, || self.is_whole(run, &prepared))? {
            true => run.forget_result().and_then(|()| done(false)),
            false => Ok(None),
        }
    }

    /// Whether all prepared files are unchanged. Reads all of the graph and of the spills, and removes damaged ones.
    fn is_whole(&self, run: &RunDir, prepared: &PreparedJob) -> Result<bool> {
        let control = &self.control;
        let mut whole = true;
        let mut look = |checked: Result<()>| match checked {
            Err(error) if error.kind() == Kind::Data => {
                whole = false;
                let found = error.path().filter(|path| path.is_file()).map(Path::to_path_buf);
                tracing::warn!("{}: it is made again", error.unadvised());
                let made = |path: &PathBuf| path.starts_with(run.graphs()) || path.starts_with(run.spills(None));
                found.filter(made).map_or(Ok(()), |path| disk::remove(&path))
            }
            other => other,
        };
        look(run.check(prepared))?;
        look(run.graph(prepared).and_then(|graph| {
            graph.order()?;
            graph.ids()?;
            graph.pass(self.host_block(), Direction::Rising, control, |_| Ok(()))
        }))?;
        if prepared.report.mode == Mode::Spilled {
            let (dir, mut spilled) = (run.spills(None), None);
            look(Manifest::read(&dir).map(|manifest| spilled = Some(manifest)))?;
            for (manifest, partition) in spilled.iter().flat_map(|all| all.partitions.iter().map(move |one| (all, one)))
            {
                look(manifest.open(&dir, partition).and_then(|spill| spill.verify(control)))?;
            }
        }
        Ok(whole && run.planned(None)?.is_some())
    }
}

impl Planned {
    fn for_shards(mut self, shards: Option<NonZeroU32>) -> Result<PreparedReport> {
        let mut stages = std::mem::take(&mut self.stages);
        let Self { graph, plan, fingerprint, partitioner, session, .. } = &self;
        let Session { job, run, pool, control, .. } = session;
        let Some(run) = run else { return Err(Error::defect("a job that is prepared without a run directory")) };
        // A merge peels the graph on the cores.
        session.host_needs(graph, None).check_size()?;
        let start = Instant::now();
        let costs = parallel::within(pool, || costs(graph, plan, &self.limits.machine, control))?;
        stages.push(Stage::new("costs", start.elapsed(), graph.stored_bytes(), Bytes::ZERO));
        self.begin()?;
        let mut spilled = Bytes::ZERO;
        if let GraphCut::Sets(locals) = &plan.cut {
            let dir = SpillDir::of_prepared(&run.spills(None), *fingerprint);
            let spills = self.write_spills(locals, dir, &mut stages)?;
            spilled = spills.iter().map(|spill| Bytes(spill.bytes)).sum();
        }
        let name = graph.path().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let Some((name, checksum)) = name.zip(graph.checksum()) else {
            return Err(Error::defect("a prepared graph without a file"));
        };
        // The budget that the partitions were cut for. Once the mode is recorded, the same settings leave a different budget for counting.
        let before = run.prepared().ok().filter(|before| before.fingerprint == *fingerprint);
        let device_memory = before.map_or(self.limits.device, |before| before.report.device_memory);
        let report = PreparedReport {
            schema_version: SCHEMA_VERSION,
            version: VERSION.into(),
            directory: run.path().to_path_buf(),
            vertices: graph.vertices().into(),
            edges: graph.edges(),
            partitioner: partitioner.to_string(),
            mode: plan.cut.mode(),
            parts: costs.len() as u32,
            shards,
            costs,
            graph_bytes: graph.total_bytes(),
            spilled_bytes: spilled,
            counts_bytes: counts_bytes(job.counts(), plan),
            device_memory,
            ..PreparedReport::default()
        };
        let prepared = PreparedJob {
            kind: PreparedJob::KIND.into(),
            fingerprint: *fingerprint,
            job: job.for_shards()?,
            partitioner: partitioner.clone(),
            graph: name,
            graph_checksum: checksum,
            report,
        };
        prepared.write(run.path())?;
        run_dir::remove_tree(&run.work());
        Ok(PreparedReport { peak_host_bytes: self.peak_now(), stages, seconds: session.seconds(), ..prepared.report })
    }
}

impl Job {
    /// Refuses settings with which a job of a batch would fail for any graph.
    pub fn check_settings(&self) -> Result<()> {
        match (self.cluster(), self.kept_spills()) {
            (Some(cluster), _) => self.check_for_shards(cluster.shards)?,
            (None, Some(dir)) => return self.check_kept_spills(dir),
            (None, None) => {}
        }
        let input = &self.settings.input;
        let reading = input.format.zip(self.inputs.first());
        reading.map_or(Ok(()), |(format, path)| input.reading().check(path, format))?;
        check_partitions(&self.settings)
    }

    fn check_for_shards(&self, shards: Option<NonZeroU32>) -> Result<()> {
        let spill = &self.settings.spill;
        let refused = [
            (self.kept_spills().is_some(), "kept spills as the input", "the graph itself"),
            (spill.keep(), "to keep the spills", "'trimill partition', which keeps them"),
            (spill.dir.is_some(), "a directory for spills", "no such directory: spills are in the run directory"),
        ];
        if let Some((_, what, expected)) = refused.into_iter().find(|(named, ..)| *named) {
            return Err(Error::usage(format!("a job that is prepared for shards, and {what}")).expected(expected));
        }
        let Some(shards) = shards else { return Ok(()) };
        check_shards(shards)?;
        match shards.get() > 1 {
            true => Choice::check_partitions(&self.settings.count, &format!("{shards} shards are asked for")),
            false => Ok(()),
        }
    }

    /// The job for its shards: with absolute paths of outputs, and of inputs that are read again when all is counted.
    fn for_shards(&self) -> Result<Self> {
        let mut job = self.clone();
        job.settings.output = job.settings.output.absolute()?;
        if job.lcc_wanted.is_some_and(|lcc| lcc.reads_input()) {
            for path in job.inputs.iter_mut().filter(|path| !is_url(path)) {
                *path = std::path::absolute(&*path).map_err(|error| Error::read(&*path, error))?;
            }
        }
        Ok(job)
    }
}
