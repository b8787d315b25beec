//! A session: a running job, with settings resolved to threads, budgets and directories. It goes through four states, and each command stops at one
//! of them. A shard of a prepared job begins with [`super::graph::Prepared`], from its run directory.
//!
//! ```text
//! Session::open  ->  input: Opened  ->  prepare: Prepared  ->  plan: Planned  ->  count: RunResult
//! ```

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::directories::{Places, cache};
use super::host::block_of_pass;
use super::opening::Opening;
use crate::cache::Cache;
use crate::clean::Workspace;
use crate::count::method::Choice;
use crate::job::file::Tables;
use crate::job::{Job, Partitioner, Parts, Prepare, SpillTo};
use crate::plan::cost::Machine;
use crate::rates::{MachineRates, Rates};
use crate::report::doctor::Directory;
use crate::run_dir::{self, RunDir};
use trimill_partitioners::spill::Manifest;
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_system::child::Helper;
use trimill_system::disk::faults::hook;
use trimill_system::disk::{self, Output, TemporaryDir};
use trimill_system::memory::{self, HostMemory};
use trimill_system::threads::{self, JobPool};
use trimill_system::{Bytes, Control, Error, Result, lock, machine};

/// The environment variable that fixes how many bytes of a set of buckets stay in memory; for tests.
const BUCKETS: &str = "TRIMILL_BUCKETS";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Count,
    /// To count a prepared graph that stays prepared, for one of several questions.
    Question,
    /// To prepare the work of other processes: GPUs may be absent if their memory is named.
    Prepare,
    /// To plan, also for another machine: GPUs whose memory is named, and the host's memory, may be absent.
    Plan,
}

pub struct Session {
    pub(super) job: Job,
    pub(super) purpose: Purpose,
    pub(super) control: Control,
    begin: Instant,
    pub(crate) pool: Arc<JobPool>,
    pub(super) host: HostMemory,
    /// Host memory for reading the input and preparing the graph: `host`, unless the plan is for a machine with more than this one.
    pub(super) preparing: HostMemory,
    pub(super) rates: Rates,
    pub(super) work_dir: PathBuf,
    pub(super) spill_dir: PathBuf,
    pub(crate) cache: Option<Cache>,
    pub(super) metis: Option<Helper>,
    pub(super) run: Option<RunDir>,
    /// The files of counts that existed when the job began: [`crate::paths`] has allowed to replace them.
    replaced: Vec<PathBuf>,
    /// Files of counts that this job made and gave their names.
    finished: Mutex<Vec<PathBuf>>,
    /// The temporary work directory of a job with a run directory, if the user named its parent.
    _work: Option<TemporaryDir>,
    /// Host memory that the oriented graph may take if it is not cached.
    graph_memory: Bytes,
    /// The most vertices that the input lists in a file of their own.
    pub(super) listed: u64,
    pub(super) gpus: Mutex<Option<Opening>>,
}

impl Session {
    /// Makes named directories that do not exist, and opens the run directory, if there is one.
    pub fn open(job: Job, purpose: Purpose, metis: Option<Helper>, control: &Control) -> Result<Self> {
        check_partitions(&job.settings)?;
        if purpose != Purpose::Plan {
            memory::check(job.settings.memory.host)?;
        }
        let run = job.settings.run.dir.as_deref().map(RunDir::open).transpose()?;
        let session = Self { purpose, metis, ..Self::within(job, run, control)? };
        if purpose != Purpose::Question {
            session.sweep_directories();
        }
        Ok(session)
    }

    pub fn of_shard(job: Job, run: RunDir, control: &Control) -> Result<Self> {
        memory::check(job.settings.memory.host)?;
        let session = Self::within(job, Some(run), control)?;
        session.sweep_directories();
        Ok(session)
    }

    /// Removes files of killed processes; warns of directories in RAM. As slow as counting some thousand edges, so a question does it only to spill.
    pub(super) fn sweep_directories(&self) {
        for dir in BTreeSet::from([&self.spill_dir, &self.work_dir]) {
            if Directory::survey(dir.clone()).in_ram {
                // Spills without a directory of their own are among the other temporary files.
                let apart =
                    self.job.settings.spill.dir.is_some() || self.run.as_ref().is_some_and(|run| !run.is_for_shard());
                let option = if *dir == self.spill_dir && apart { "--spill-dir" } else { "--work-dir" };
                tracing::warn!(
                    "{} is in RAM: what is written there takes memory; name a disk with {option}",
                    dir.display()
                );
            }
            disk::sweep(dir);
        }
    }

    fn within(job: Job, mut run: Option<RunDir>, control: &Control) -> Result<Self> {
        machine::reset_peak();
        let begin = Instant::now();
        let replaced = job.settings.output.count_files().filter(|path| path.exists()).cloned().collect();
        let pool = Arc::new(threads::pool(job.settings.count.threads)?);
        let host = |budget| HostMemory::new(budget, pool.current_num_threads());
        let budget = job.settings.memory.host.unwrap_or(memory::default_budget());
        let preparing = if budget > machine::memory() { memory::default_budget() } else { budget };
        let (host, preparing) = (host(budget), host(preparing));
        let Places { spill: spill_dir, work: work_dir, temporary } = Places::make(&job.settings, run.as_mut())?;
        // An input that can be read only once has no identity, by which the cache would find it.
        let cached = job.settings.cache.enabled() && !job.is_read_once();
        let cache = cached.then(|| cache(&job.settings.cache)).flatten();
        let cache = match (cache, &mut run) {
            // Without the cache the graph is kept for later starts of this job.
            (None, Some(run)) if !run.is_for_shard() && !run.is_read_only() => {
                run.make(&run.graphs())?;
                Some(Cache::of_run(&run.graphs())?)
            }
            (cache, _) => cache,
        };
        let graph_memory = graph_memory(&job.settings, preparing.usable());
        let rates = MachineRates::of(job.settings.cache.dir.as_deref()).rates;
        let control = control.with_timeline_if(job.has_timeline, begin);
        Ok(Self {
            purpose: Purpose::Count,
            control,
            begin,
            pool,
            host,
            preparing,
            rates,
            work_dir,
            spill_dir,
            cache,
            metis: None,
            run,
            replaced,
            finished: Mutex::default(),
            _work: temporary,
            graph_memory,
            listed: 0,
            gpus: Mutex::default(),
            job,
        })
    }

    pub fn is_shard(&self) -> bool {
        self.run.as_ref().is_some_and(RunDir::is_for_shard)
    }

    /// Gives a file of counts its name. Unless forced, replaces only a file that existed when the job began.
    pub(super) fn finish_file(&self, file: Output) -> Result<()> {
        let (path, made) = (file.name().to_path_buf(), file.renamed_to().map(Path::to_path_buf));
        let is_replaced = self.replaced.contains(&path);
        if file.finish(self.job.settings.output.force() || is_replaced)? {
            lock(&self.finished).extend(made.filter(|_| !is_replaced));
            return Ok(());
        }
        let error = disk::has_appeared(&path);
        Err(match self.run {
            // The run directory has announced the name, and nothing says that the file is not the job's.
            Some(_) => error.also("move it away before you start the job again, which would replace it"),
            None => error,
        })
    }

    /// After an interruption, removes this job's files, which the next start would refuse to replace; with a run directory, it continues from them.
    pub(super) fn remove_finished(&self) {
        if self.run.is_none() {
            // What cannot be removed stays, as after a kill.
            lock(&self.finished).drain(..).for_each(|file| drop(disk::remove(&file)));
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Starts to open the GPUs, if any will count; the graph may be prepared there. A GPU needs at most `useful` bytes.
    pub fn open_gpus(&self, useful: Bytes) -> Result<()> {
        let method = match self.job.settings.count.choice()? {
            Choice::Cuda(method) | Choice::Either(method, _) => method,
            Choice::Cpu(_) => return Ok(()),
        };
        if trimill_kernels::has_driver() {
            *lock(&self.gpus) = Some(Opening::start(&self.job.settings, method, self.host.budget(), useful));
        } else if self.job.settings.work.prepare() == Prepare::Gpu {
            let absence = trimill_kernels::find().err().unwrap_or(trimill_kernels::Absence::NoDriverLibrary);
            return Err(Error::resource(format!("the graph cannot be prepared on a GPU: {absence}"))
                .advice("use --prepare auto, or cpu"));
        }
        Ok(())
    }

    /// Whether no spills are to be kept, or all exist and belong to the job with this fingerprint.
    pub(super) fn has_kept_spills(&self, fingerprint: u128) -> bool {
        let dir = &self.spill_dir;
        let is_whole = |manifest: Manifest| {
            let is_there = |partition| manifest.open(dir, partition).is_ok();
            manifest.fingerprint == fingerprint && manifest.partitions.iter().all(is_there)
        };
        !self.job.settings.spill.keep() || Manifest::read(dir).is_ok_and(is_whole)
    }

    /// Removes intermediate files of a finished job, except kept spills, from its run directory, and spills of starts with another --spill-dir.
    pub fn tidy(&self) {
        let Some(run) = self.run.as_ref().filter(|run| !run.is_read_only()) else { return };
        run.remove_counts();
        let spills = Some(&self.spill_dir).filter(|_| !self.job.settings.spill.keep());
        let earlier = run.earlier_spills();
        let earlier = earlier.iter().filter(|dir| **dir != self.spill_dir && !dir.join(MANIFEST_NAME).exists());
        for dir in [Some(&self.work_dir), Some(&run.graphs()), spills].into_iter().flatten().chain(earlier) {
            run_dir::remove_tree(dir);
        }
    }

    pub fn workspace(&self) -> Workspace<'_> {
        let buckets = hook(BUCKETS).and_then(|bytes| bytes.parse().ok()).map(Bytes);
        Workspace {
            graph: self.graph_memory,
            buckets,
            later: Some(self),
            ..Workspace::new(self.preparing, &self.work_dir)
        }
    }

    /// The machine, for estimates; `cached`: whether the graph's file fits the page cache.
    pub(super) fn machine(&self, gpus: usize, cached: bool) -> Machine {
        Machine { rates: self.rates, cores: self.pool.current_num_threads(), gpus, cached }
    }

    pub fn host_block(&self) -> Bytes {
        block_of_pass(self.host)
    }
}

/// Refuses a method that counts whole graphs only, if there are, or may be, several parts.
pub(super) fn check_partitions(settings: &Tables) -> Result<()> {
    let cut = match (settings.partition.parts(), settings.partition.partitioner()) {
        (Parts::Exactly(parts), _) if parts.get() > 1 => format!("{parts} parts are asked for"),
        (_, partitioner @ Partitioner::File(_)) => format!("{partitioner} names the parts"),
        _ => return Ok(()),
    };
    Choice::check_partitions(&settings.count, &cut)
}

/// Host memory for the graph before its backend is known: a quarter, at most half of what a requested CPU budget leaves; 0 if spills are in memory.
fn graph_memory(settings: &Tables, usable: Bytes) -> Bytes {
    if settings.spill.to() == SpillTo::Memory {
        return Bytes::ZERO;
    }
    // Evaluated lazily, since detecting a GPU takes time.
    let on_cpu = || match settings.count.choice() {
        Ok(Choice::Cuda(_)) => false,
        Ok(Choice::Either(..)) => trimill_kernels::find().is_err(),
        _ => true,
    };
    let counting = settings.memory.device.filter(|_| on_cpu()).unwrap_or(Bytes(usable.get() / 2));
    Bytes(usable.saturating_sub(counting).get() / 2).min(Bytes(usable.get() / 4))
}
