//! Turns a job's settings into threads, budgets, directories, the cache and the backend.

use std::path::PathBuf;
use std::sync::Mutex;

use rayon::ThreadPool;

use super::absent::absent;
use super::chosen::{ChosenBackends, host_holds, method_for};
use super::counters::on_the_way;
use super::directories::{cache, places, rates};
use super::host::{HostNeeds, OnGpus, block_of_pass, blocks_of_gpu, least_on_cpu, least_on_gpus, on_cpu, on_gpus};
use super::opening::{Gpus, Opening};
use super::reserve::{Budget, reserve};
use crate::assign::Helper;
use crate::cache::Cache;
use crate::clean::Workspace;
use crate::clean::workspace::AfterPreparing;
use crate::count::CountBackend;
use crate::count::cpu::Cpu;
use crate::count::cuda::Cuda;
use crate::count::method::{Choice, CpuMethod, CudaMethod};
use crate::count::serial::Serial;
use crate::graph::GraphSize;
use crate::job::{Devices, Job, Partitioner, Parts, Prepare, SpillTo};
use crate::plan::{Floor, floor, is_ample};
use crate::rates::Rates;
use crate::report::doctor::Directory;
use crate::run_dir::{self, RunDir};
use trimill_input::MOST_VERTICES;
use trimill_system::bytes::Bytes;
use trimill_system::disk::faults::hook;
use trimill_system::disk::{self, TemporaryDir};
use trimill_system::error::{Error, Kind, Result};
use trimill_system::lock;
use trimill_system::machine;
use trimill_system::memory::{self, HostMemory};
use trimill_system::parallel;
use trimill_system::threads;

/// The environment variable that says how many bytes of a set of buckets stay in memory, whatever the budget: for tests.
const BUCKETS: &str = "TRIMILL_BUCKETS";

/// What a job's settings resolve to.
pub struct Setup {
    /// All parallel work runs here.
    pub pool: ThreadPool,
    /// The memory of the host.
    pub host: HostMemory,
    /// The memory in which the input is read and the graph prepared: the same, unless the plan is for a larger machine than this one.
    pub preparing: HostMemory,
    /// The rates of this machine.
    pub rates: Rates,
    /// Where buckets and graphs are prepared.
    pub work_dir: PathBuf,
    /// Where partitions are spilled.
    pub spill_dir: PathBuf,
    /// The cache, if it is used.
    pub cache: Option<Cache>,
    /// How METIS is run.
    pub helper: Option<Helper>,
    /// The run directory of a job that can be resumed.
    pub run: Option<RunDir>,
    /// The temporary work directory of a job with a run directory, where the user named its parent.
    _work: Option<TemporaryDir>,
    device_memory: Option<Bytes>,
    /// Bytes of the host's memory that the oriented graph may take where it is not cached.
    graph_memory: Bytes,
    /// The job.
    job: Job,
    /// Whether anything is counted.
    counts: bool,
    /// Whether all of it may happen on another machine.
    elsewhere: bool,
    /// GPUs that were opened in advance.
    pub(super) gpus: Mutex<Option<Opening>>,
}

impl Setup {
    /// Sets a job up; creates named directories that do not exist.
    ///
    /// # Errors
    /// Directories that cannot be made ([`trimill_system::error::Kind::Resource`]); contradictions between the method and the partitions, a
    /// budget above the memory of this machine ([`trimill_system::error::Kind::Usage`]).
    pub fn new(job: &Job, helper: Option<Helper>) -> Result<Self> {
        check_partitions(job)?;
        Self::in_run(job, helper, job.run_dir.as_deref().map(RunDir::open).transpose()?)
    }

    /// The same in a run directory that is open.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn in_run(job: &Job, helper: Option<Helper>, run: Option<RunDir>) -> Result<Self> {
        memory::check(job.host_memory)?;
        Self::within(job, helper, run)
    }

    /// For a plan, which may be for another machine: its GPUs need not be there if their memory is named, nor the host's memory.
    ///
    /// # Errors
    /// As [`Self::new`], but for budgets.
    pub fn elsewhere(job: &Job, helper: Option<Helper>) -> Result<Self> {
        check_partitions(job)?;
        let setup = Self::within(job, helper, job.run_dir.as_deref().map(RunDir::open).transpose()?)?;
        Ok(Self { counts: false, elsewhere: true, ..setup })
    }

    fn within(job: &Job, helper: Option<Helper>, run: Option<RunDir>) -> Result<Self> {
        let pool = threads::pool(job.threads)?;
        let host = |budget| HostMemory::new(budget, pool.current_num_threads());
        let budget = job.host_memory.unwrap_or(memory::default_budget());
        let (host, preparing) = match budget > machine::memory() {
            true => (host(budget), host(memory::default_budget())),
            false => (host(budget), host(budget)),
        };
        let (spill_dir, work_dir, work) = places(job, run.as_ref())?;
        for dir in [&spill_dir, &work_dir] {
            if Directory::survey(dir.clone()).in_ram {
                tracing::warn!(
                    "{} is in RAM: what is spilled there takes memory; name a disk with --work-dir",
                    dir.display()
                );
            }
            disk::sweep(dir);
        }
        let cache = job.cache.then(|| cache(job)).flatten();
        let cache = match (cache, &run) {
            // Without the cache the graph is kept for the later starts of this job.
            (None, Some(run)) if !run.is_shared() => Some(Cache::open(&run.graphs(), Some(Bytes(u64::MAX)))?),
            (cache, _) => cache,
        };
        let (device_memory, graph_memory) = (job.device_memory, graph_memory(job, preparing.usable()));
        let (rates, _) = rates(job);
        Ok(Self {
            pool,
            host,
            preparing,
            rates,
            work_dir,
            spill_dir,
            cache,
            helper,
            run,
            _work: work,
            device_memory,
            graph_memory,
            job: job.clone(),
            counts: true,
            elsewhere: false,
            gpus: Mutex::default(),
        })
    }

    /// For a command that plans and does not count: GPUs need not be there, if their memory is named.
    #[must_use]
    pub fn for_planning(self) -> Self {
        Self { counts: false, ..self }
    }

    /// Whether this process counts a shard of a prepared job.
    pub fn is_shard(&self) -> bool {
        self.run.as_ref().is_some_and(RunDir::is_shared)
    }

    /// Starts to open the GPUs of a job that will count on them, and may prepare its graph there, which needs at most `useful`
    /// bytes of each.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Usage`]: there is no such method. [`trimill_system::error::Kind::Resource`]: the graph is to be prepared on a GPU,
    /// and there is no driver.
    pub fn open_gpus(&self, job: &Job, useful: Bytes) -> Result<()> {
        let method = match Choice::of(job.backend, job.method.as_deref())? {
            Choice::Cuda(method) | Choice::Either(method, _) => method,
            Choice::Cpu(_) => return Ok(()),
        };
        if trimill_kernels::has_driver() {
            *lock(&self.gpus) = Some(Opening::start(job, method, self.host.budget(), useful));
        } else if job.prepare == Prepare::Gpu {
            let absence = trimill_kernels::find().err().unwrap_or(trimill_kernels::Absence::NoDriverLibrary);
            return Err(Error::resource(format!("the graph cannot be prepared on a GPU: {absence}"))
                .advice("use --prepare auto, or cpu"));
        }
        Ok(())
    }

    /// Removes the intermediate files of a finished job with a run directory, except spills that are to be kept.
    pub fn tidy(&self, job: &Job) {
        let Some(run) = &self.run else { return };
        run.remove_counts();
        let spills = Some(&self.spill_dir).filter(|_| !job.keep_spill);
        for dir in [Some(&self.work_dir), Some(&run.graphs()), spills].into_iter().flatten() {
            run_dir::remove_tree(dir);
        }
    }

    /// Memory and directory for cleaning and orienting.
    pub fn workspace(&self) -> Workspace<'_> {
        let buckets = hook(BUCKETS).and_then(|bytes| bytes.parse().ok()).map(Bytes);
        Workspace {
            graph: self.graph_memory,
            buckets,
            later: Some(self),
            ..Workspace::new(self.preparing, &self.work_dir)
        }
    }

    /// The backend of a job, and its budget, for a graph of this size, of which so many bytes are in memory.
    ///
    /// # Errors
    /// A budget of the host below the floor ([`trimill_system::error::Kind::Resource`]).
    /// A backend or method that is not there: [`trimill_system::error::Kind::Resource`] where a GPU is missing,
    /// [`trimill_system::error::Kind::Usage`] where the name is wrong.
    pub fn backend(&self, job: &Job, graph: (GraphSize, Bytes)) -> Result<ChosenBackends> {
        let asked = HostNeeds::new(job, self.host, graph).of_shard(self.is_shard());
        match Choice::of(job.backend, job.method.as_deref())? {
            Choice::Cpu(method) => self.cpu(method, job, &graph.0, &asked),
            Choice::Cuda(method) => self.cuda(method, job, (&graph.0, graph.1), &asked),
            Choice::Either(gpu, cpu) => match trimill_kernels::find() {
                Ok(_) => match self.cuda(gpu, job, (&graph.0, graph.1), &asked) {
                    // An unusable GPU is no reason to stop; contradictory settings are.
                    Err(error) if error.kind() == Kind::Resource => {
                        tracing::warn!("counting on the CPU: {error}");
                        self.cpu(cpu, job, &graph.0, &asked)
                    }
                    other => other,
                },
                Err(absence) if self.elsewhere && job.device_memory.is_some() => {
                    tracing::info!(
                        target: trimill_system::control::NOTE,
                        "planning for a GPU with the memory of --device-memory (--backend cpu: for the CPU); here: {absence}"
                    );
                    absent((self.host, &self.rates), gpu, job, &graph.0, &asked)
                }
                Err(absence) => {
                    tracing::info!(target: trimill_system::control::NOTE, "counting on the CPU: {absence}");
                    self.cpu(cpu, job, &graph.0, &asked)
                }
            },
        }
    }

    /// The floor of a method on the CPU, and the least of the host's memory for it.
    fn least_on_cpu(&self, method: &CpuMethod, job: &Job, graph: &GraphSize) -> (Floor, Bytes) {
        // The number of tables follows the pool's threads.
        let footprint = parallel::within(&self.pool, || match method {
            CpuMethod::Serial(method) => Serial(*method).footprint(),
            CpuMethod::Bitmap => bitmap(job, graph, Bytes::ZERO).footprint(),
        });
        let least = floor(graph, &footprint);
        let most = self.device_memory.unwrap_or(Bytes(u64::MAX)).max(least.device);
        (least, least_on_cpu(least.device, &footprint, graph).min(most))
    }

    fn cpu(&self, method: CpuMethod, job: &Job, graph: &GraphSize, asked: &HostNeeds<'_>) -> Result<ChosenBackends> {
        let (least, least_on_host) = self.least_on_cpu(&method, job, graph);
        let division = asked.divided(least_on_host, 0)?;
        let device = on_cpu(self.device_memory, least_on_host, division.counting);
        if let Some(asked) = self.device_memory.filter(|&asked| asked > device) {
            // A budget is the most that may be taken, so less is no error.
            tracing::info!(
                target: trimill_system::control::NOTE,
                "of a device budget of {asked} the CPU takes {device}, which is what --host-memory leaves"
            );
        }
        let backend: Box<dyn CountBackend> = match method {
            CpuMethod::Serial(method) => Box::new(Serial(method)),
            // Additional tables use what is left above the floor.
            CpuMethod::Bitmap => {
                let beyond = device.saturating_sub(least.device);
                Box::new(parallel::within(&self.pool, || bitmap(job, graph, beyond)))
            }
        };
        Ok(ChosenBackends {
            backends: vec![backend],
            device,
            largest_row_block: device,
            floor: least,
            methods: Vec::new(),
            on_host: device,
            division,
            least_on_host,
            driver: Bytes::ZERO,
            beside: false,
        })
    }

    fn cuda(
        &self,
        method: CudaMethod,
        job: &Job,
        (graph, held): (&GraphSize, Bytes),
        asked: &HostNeeds<'_>,
    ) -> Result<ChosenBackends> {
        if !self.counts && !trimill_kernels::has_driver() && job.device_memory.is_some() {
            return absent((self.host, &self.rates), method, job, graph, asked);
        }
        let opening = lock(&self.gpus).take();
        let opening = opening.unwrap_or_else(|| Opening::start(job, method, Bytes::ZERO, Bytes(u64::MAX)));
        let beside = opening.is_beside();
        let (Gpus { mut workers, mut budget, have_more }, driver) = opening.finish(held)?;
        let gpus = workers.len() as u64;
        let shape = (gpus, blocks_of_gpu(job));
        let least_on_host = least_on_gpus(shape, graph.longest_row);
        let division = asked.divided(least_on_host, gpus)?;
        let OnGpus { chunk, block: largest_row_block, all: on_host } = on_gpus(shape, division.counting);
        host_holds(job.block_bytes.unwrap_or_default(), largest_row_block)?;
        if job.counts_edges() {
            workers.iter_mut().for_each(Cuda::count_edges);
        } else if job.counts_vertices() {
            let most = on_the_way(self.host, gpus);
            workers.iter_mut().for_each(|worker| worker.count_vertices(graph.vertices, most));
        }
        if have_more
            && !workers[0].footprints(graph.vertices, graph.edges).iter().all(|one| is_ample(graph, one, budget))
        {
            budget = reserve(&mut workers, Budget::of(self.device_memory), Bytes::ZERO)?;
        }
        // If the method is not chosen yet, the floor of the one that takes the least.
        let least = floor(graph, &workers[0].footprint()).device;
        // A budget below the floor that was asked for is refused later, with the floor.
        let wanted = self.device_memory.map_or(least, |asked| asked.min(least));
        let device =
            if budget >= wanted { budget } else { reserve(&mut workers, Budget::of(self.device_memory), least)? };
        // All GPUs have the same budget, so the same method suits all.
        let choices = workers[0].choices(graph.vertices, graph.edges);
        let (chosen, methods) = method_for(&self.rates, &choices, graph, (device, largest_row_block));
        for worker in &mut workers {
            worker.set_run_bytes(chunk);
            chosen.into_iter().for_each(|method| worker.take(method));
        }
        let least = floor(graph, &workers[0].least_footprint());
        if floor(graph, &workers[0].footprint()).device > device {
            workers.iter_mut().try_for_each(Cuda::without_scratch)?;
        }
        let backends = workers.into_iter().map(|worker| Box::new(worker) as Box<dyn CountBackend>).collect();
        Ok(ChosenBackends {
            backends,
            device,
            largest_row_block,
            floor: least,
            methods,
            on_host,
            division,
            least_on_host,
            driver,
            beside,
        })
    }

    /// Bytes of a block of rows in a pass over the graph.
    pub fn host_block(&self) -> Bytes {
        block_of_pass(self.host)
    }
}

/// Refuses a method that counts whole graphs only, if the job asks for several parts, or has a file say how many there are.
fn check_partitions(job: &Job) -> Result<()> {
    let cut = match (job.parts, &job.partitioner) {
        (Parts::Exactly(parts), _) if parts.get() > 1 => format!("{parts} parts are asked for"),
        (_, partitioner @ Partitioner::File(_)) => format!("{partitioner} names the parts"),
        _ => return Ok(()),
    };
    Choice::check_partitions(job.backend, job.method.as_deref(), &cut)
}

/// The counter of method `bitmap`.
fn bitmap(job: &Job, graph: &GraphSize, budget: Bytes) -> Cpu {
    match (job.counts_edges(), job.counts_vertices()) {
        (true, _) => Cpu::with_edges(budget, graph.vertices, graph.longest_row),
        (false, true) => Cpu::with_vertices(budget, graph.vertices),
        (false, false) => Cpu::new(budget, graph.vertices),
    }
}

impl AfterPreparing for Setup {
    fn floor(&self, vertices: u64, arcs: u64) -> Bytes {
        let vertices = vertices.min(MOST_VERTICES) as u32;
        // No row is longer, see `crate::orient::ranked`.
        let longest_row = ((2 * arcs).isqrt() + 1).min(vertices.into()) as u32;
        let graph = GraphSize { vertices, edges: arcs, longest_row, probes: 0 };
        let job = &self.job;
        let gpus = || match &job.devices {
            Some(Devices::List(list)) => list.len() as u64,
            Some(Devices::All) | None => 1,
        };
        let (least, gpus) = match Choice::of(job.backend, job.method.as_deref()) {
            Ok(Choice::Cpu(method)) => (self.least_on_cpu(&method, job, &graph).1, 0),
            Ok(Choice::Either(_, method)) if trimill_kernels::find().is_err() => {
                (self.least_on_cpu(&method, job, &graph).1, 0)
            }
            _ => (least_on_gpus((gpus(), blocks_of_gpu(job)), longest_row), gpus()),
        };
        HostNeeds::new(job, self.host, (graph, Bytes::ZERO)).of_shard(self.is_shard()).enough(least, gpus)
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("host", &self.host).finish_non_exhaustive()
    }
}

/// The host memory that the oriented graph may take, before it is known what counts it: a quarter, but at most half of what a
/// requested budget for counting on the CPU leaves. None where spills are kept in memory.
fn graph_memory(job: &Job, usable: Bytes) -> Bytes {
    if job.spill_to == SpillTo::Memory {
        return Bytes::ZERO;
    }
    // Finding out whether there is a GPU takes time.
    let on_cpu = || match Choice::of(job.backend, job.method.as_deref()) {
        Ok(Choice::Cuda(_)) => false,
        Ok(Choice::Either(..)) => trimill_kernels::find().is_err(),
        _ => true,
    };
    let counting = job.device_memory.filter(|_| on_cpu()).unwrap_or(Bytes(usable.get() / 2));
    Bytes(usable.saturating_sub(counting).get() / 2).min(Bytes(usable.get() / 4))
}
