//! Chooses the backends that count a session's graph, by the job and the machine, and the memory of each.

use super::chosen::ChosenBackends;
use super::count_memory::on_the_way;
use super::host::{HostNeeds, least_on_cpu, on_cpu};
use super::host_of_gpus::{OnGpus, blocks_of_gpu, least_on_gpus};
use super::opening::{Gpus, Opening};
use super::reserve::{Budget, reserve};
use super::session::{Purpose, Session};
use crate::clean::needs;
use crate::clean::workspace::{AfterPreparing, GraphToPrepare, IdCount, InputForm};
use crate::count::cpu::Cpu;
use crate::count::cuda::Cuda;
use crate::count::method::{Choice, CpuMethod, CudaMethod};
use crate::directions::DoubledGraph;
use crate::job::{Devices, Mode, Partitioner};
use crate::outputs::{CountedAt, CountsWanted};
use crate::plan::choose::choose;
use crate::plan::{floor, is_ample};
use crate::table::columns::DIGITS;
use trimill_counting::{CountBackend, Footprint};
use trimill_graph::{GraphSize, OrientedGraph};
use trimill_input::MOST_VERTICES;
use trimill_system::disk::DiskNeed;
use trimill_system::expected::ExpectedStage;
use trimill_system::{Bytes, Error, Kind, Result, lock, parallel};

/// The reason why there is no GPU, without the advice to install a driver, which `trimill doctor` gives.
fn briefly(absence: &trimill_kernels::Absence) -> String {
    match absence {
        trimill_kernels::Absence::NoDriverLibrary => "no CUDA driver is installed".into(),
        other => other.to_string(),
    }
}

impl Session {
    /// The host memory that a job takes besides counting; `mode` if it is fixed.
    pub(super) fn host_needs(&self, graph: &OrientedGraph, mode: Option<Mode>) -> HostNeeds {
        let largest_degree = graph.largest_degree();
        HostNeeds { largest_degree, ..self.host_needs_of(graph.size(), graph.held_bytes(), mode) }
    }

    /// The counters of vertices that should fit in memory at once: one for each vertex and, if the job names a number of parts, for twice the locals
    /// of an even part, since locals have counters of their own in the spilled mode. It depends on settings alone: later starts reserve the same.
    fn counters_of_partition(&self, vertices: u32) -> u64 {
        let (vertices, settings) = (u64::from(vertices), &self.job.settings);
        let locals = match (settings.mode(), settings.partition.parts().asked()) {
            (Some(Mode::InPlace), _) | (_, None) => 0,
            (_, Some(parts)) => (2 * vertices).div_ceil(u64::from(parts).max(2)),
        };
        vertices + locals
    }

    /// As [`Self::host_needs`], for a graph of any degrees that takes `held` bytes of memory.
    pub(super) fn host_needs_of(&self, size: GraphSize, held: Bytes, mode: Option<Mode>) -> HostNeeds {
        let job = &self.job;
        HostNeeds {
            host: self.host,
            size,
            largest_degree: size.edges.min(size.vertices.saturating_sub(1).into()) as u32,
            held,
            listed: self.listed,
            counters: self.counters_of_partition(size.vertices),
            // Parts without vertices are left out.
            parts: job.settings.partition.parts().asked().map_or(0, |parts| parts.min(size.vertices).into()),
            shards: 1,
            mode,
            counts: job.counts(),
            spill_to: job.settings.spill.to(),
            counts_kept_spills: job.kept_spills().is_some(),
            shard: self.is_shard(),
            metis: *job.settings.partition.partitioner() == Partitioner::Metis,
            resumable: job.settings.run.dir.is_some(),
            device_peels: None,
        }
    }

    /// The backends and their budget, by the job's method or the named one. Errors: `Resource` without a GPU, `Usage` for a wrong name.
    pub(super) fn backends(&self, needs: &HostNeeds, method: Option<&str>) -> Result<ChosenBackends> {
        let asked = self.job.settings.memory.device;
        let on_cpu = |method| {
            // The pool is entered only once, because entering it takes as long as the work itself.
            let chosen = parallel::within(&self.pool, || self.cpu(method, needs, asked))?;
            if let Some(asked) = asked.filter(|&asked| asked > chosen.device_budget) {
                // A budget is an upper limit, so less is no error.
                tracing::info!(
                    target: trimill_system::control::NOTE,
                    "of a device budget of {asked} the CPU takes {}, which is what --host-memory leaves",
                    chosen.device_budget
                );
            }
            Ok(chosen)
        };
        match Choice::of(self.job.settings.count.backend(), method.or(self.job.settings.count.method.as_deref()))? {
            Choice::Cpu(method) => on_cpu(method),
            Choice::Cuda(method) => self.cuda(method, needs),
            Choice::Either(gpu, cpu) => match trimill_kernels::find() {
                Ok(_) => match self.cuda(gpu, needs) {
                    // An unusable GPU is no reason to stop; contradictory settings are.
                    Err(error) if error.kind() == Kind::Resource => {
                        tracing::warn!("counting on the CPU: {error}");
                        on_cpu(cpu)
                    }
                    other => other,
                },
                Err(absence) if self.purpose == Purpose::Plan && self.job.settings.memory.device.is_some() => {
                    tracing::info!(
                        target: trimill_system::control::NOTE,
                        "planning for a GPU with the memory of --device-memory (--backend cpu: for the CPU); here: {}",
                        briefly(&absence)
                    );
                    self.absent(gpu, needs, asked)
                }
                Err(absence) => {
                    let absence = briefly(&absence);
                    let limits =
                        asked.map_or("", |_| "; --device-memory limits what counting takes of the host's memory");
                    tracing::info!(target: trimill_system::control::NOTE, "counting on the CPU: {absence}{limits}");
                    on_cpu(cpu)
                }
            },
        }
    }

    /// As [`Self::backends`] with other budgets, for a plan: opens no GPU.
    pub(super) fn backends_within(
        &self,
        needs: &HostNeeds,
        on_gpu: bool,
        device: Option<Bytes>,
    ) -> Result<ChosenBackends> {
        match self.job.settings.count.choice()? {
            Choice::Cuda(method) | Choice::Either(method, _) if on_gpu => self.absent(method, needs, device),
            Choice::Cpu(method) | Choice::Either(_, method) => self.cpu(method, needs, device),
            Choice::Cuda(_) => Err(Error::defect("a plan for the CPU by a method of GPUs")),
        }
    }

    /// Whether the doubled graph is counted here; that of a prepared job is counted by its merge.
    pub(super) fn counts_doubled(&self) -> bool {
        self.job.counts().is_directed() && !self.is_shard() && self.purpose != Purpose::Prepare
    }

    /// The floor of a method, also for the doubled graph where that is counted.
    pub(super) fn counting_floor(
        &self,
        graph: &GraphSize,
        footprint: impl Fn(CountsWanted, &GraphSize) -> Footprint,
    ) -> Bytes {
        let (counts, row_block) = (self.job.counts(), self.job.settings.memory.block);
        let own = floor(graph, &footprint(counts, graph), row_block);
        if !self.counts_doubled() {
            return own;
        }
        let doubled = DoubledGraph::at_most(graph);
        let its = floor(
            &doubled,
            &footprint(CountsWanted { vertices: true, ..CountsWanted::default() }, &doubled),
            row_block,
        );
        own.max(its)
    }

    fn least_on_cpu(&self, method: &CpuMethod, graph: &GraphSize) -> (Bytes, Bytes) {
        // The number of tables depends on the pool's threads.
        let footprint_of = |counts, graph: &GraphSize| {
            parallel::within(&self.pool, || match method {
                #[cfg(feature = "baselines")]
                CpuMethod::Serial(method) => method.footprint(),
                CpuMethod::Bitmap => {
                    bitmap(counts, graph, self.counters_of_partition(graph.vertices), Bytes::ZERO).footprint()
                }
            })
        };
        let footprint = footprint_of(self.job.counts(), graph);
        let least = self.counting_floor(graph, footprint_of);
        let most = self.job.settings.memory.device.unwrap_or(Bytes(u64::MAX)).max(least);
        (least, least_on_cpu(least, &footprint, graph).min(most))
    }

    /// The least host memory for counting, and the number of GPUs that count; 0 if the cores count.
    pub(super) fn least_to_count(&self, graph: &GraphSize) -> (Bytes, u64) {
        match self.job.settings.count.choice() {
            Ok(Choice::Cpu(method)) => (self.least_on_cpu(&method, graph).1, 0),
            Ok(Choice::Either(_, method)) if trimill_kernels::find().is_err() => {
                (self.least_on_cpu(&method, graph).1, 0)
            }
            _ => {
                let gpus = self.gpus_named();
                (least_on_gpus(gpus, blocks_of_gpu(self.job.counts()), graph.longest_row), gpus)
            }
        }
    }

    /// The number of GPUs that the job names; 1 if it names none, or all.
    pub(super) fn gpus_named(&self) -> u64 {
        match &self.job.settings.count.devices {
            Some(Devices::List(list)) => list.len() as u64,
            Some(Devices::All) | None => 1,
        }
    }

    /// The CPU backend, with `asked` bytes for counting, else half of what the host's budget leaves.
    fn cpu(&self, method: CpuMethod, needs: &HostNeeds, asked: Option<Bytes>) -> Result<ChosenBackends> {
        let (least, least_on_host) = self.least_on_cpu(&method, &needs.size);
        let division = needs.divided(least_on_host, 0)?;
        let device = on_cpu(asked, least_on_host, division.counting);
        let backend: Box<dyn CountBackend> = match method {
            #[cfg(feature = "baselines")]
            CpuMethod::Serial(method) => Box::new(method),
            // Larger tables use the memory above the floor.
            CpuMethod::Bitmap => {
                let beyond = device.saturating_sub(least);
                Box::new(parallel::within(&self.pool, || bitmap(needs.counts, &needs.size, needs.counters, beyond)))
            }
        };
        Ok(ChosenBackends {
            backends: vec![backend],
            device_budget: device,
            largest_row_block: device,
            floor: least,
            methods: Vec::new(),
            on_host: device,
            division,
            least_on_host,
            driver_bytes: Bytes::ZERO,
            opened_early: false,
        })
    }

    fn cuda(&self, method: CudaMethod, needs: &HostNeeds) -> Result<ChosenBackends> {
        let asked = self.job.settings.memory.device;
        if matches!(self.purpose, Purpose::Prepare | Purpose::Plan) && !trimill_kernels::has_driver() && asked.is_some()
        {
            return self.absent(method, needs, asked);
        }
        let graph = &needs.size;
        let opening = lock(&self.gpus).take();
        let opening =
            opening.unwrap_or_else(|| Opening::start(&self.job.settings, method, Bytes::ZERO, Bytes(u64::MAX)));
        let opened_early = opening.is_early();
        let (Gpus { mut workers, mut budget, mut have_more }, driver_bytes) = opening.finish(needs.held)?;
        let gpus = workers.len() as u64;
        // If peeling does not fit the reserved device memory, all device memory is reserved.
        let peels = |workers: &[Cuda]| workers[0].peels(graph.vertices.into(), graph.edges).map(Bytes);
        if have_more && needs.counts.truss.is_some() && peels(&workers) != Some(Bytes::ZERO) {
            budget = reserve(&mut workers, Budget::of(asked), Bytes::ZERO)?;
            have_more = false;
        }
        let needs = &HostNeeds { device_peels: peels(&workers), ..*needs };
        let (least_on_host, division, OnGpus { chunk, block: largest_row_block, all: on_host }) =
            needs.divided_on_gpus(gpus, self.job.settings.memory.block)?;
        match needs.counts.at() {
            CountedAt::Edges => workers.iter_mut().for_each(Cuda::count_edges),
            CountedAt::Vertices => {
                let most = on_the_way(self.host, gpus);
                workers.iter_mut().for_each(|worker| worker.count_vertices(graph.vertices, needs.counters, most));
            }
            CountedAt::Nothing => {}
        }
        let ample = workers[0].footprints(graph.vertices).iter().all(|one| is_ample(graph, one, budget));
        if have_more && !ample {
            budget = reserve(&mut workers, Budget::of(asked), Bytes::ZERO)?;
        }
        // If the method is not chosen yet, the floor of the method that takes the least.
        let least = floor(graph, &workers[0].footprint(), self.job.settings.memory.block);
        // A requested budget below the floor is refused later, by an error that names the floor.
        let wanted = asked.map_or(least, |asked| asked.min(least));
        let device = if budget >= wanted { budget } else { reserve(&mut workers, Budget::of(asked), least)? };
        // All GPUs have the same budget, so the same method suits all.
        let choices = workers[0].choices(graph.vertices);
        let (chosen, methods) = choose(graph, &choices, &self.rates, device, largest_row_block);
        for worker in &mut workers {
            worker.set_run_bytes(chunk);
            chosen.into_iter().for_each(|method| worker.use_method(method));
        }
        let least = self.counting_floor(graph, |_, _| workers[0].least_footprint());
        if floor(graph, &workers[0].footprint(), self.job.settings.memory.block) > device {
            workers.iter_mut().try_for_each(Cuda::without_scratch)?;
        }
        let backends = workers.into_iter().map(|worker| Box::new(worker) as Box<dyn CountBackend>).collect();
        Ok(ChosenBackends {
            backends,
            device_budget: device,
            largest_row_block,
            floor: least,
            methods,
            on_host,
            division,
            least_on_host,
            driver_bytes,
            opened_early,
        })
    }
}

fn bitmap(counts: CountsWanted, graph: &GraphSize, counters: u64, budget: Bytes) -> Cpu {
    match counts.at() {
        CountedAt::Edges => Cpu::with_edges(budget, graph.vertices, graph.longest_row),
        CountedAt::Vertices => Cpu::with_vertices(budget, graph.vertices, counters),
        CountedAt::Nothing => Cpu::new(budget, graph.vertices),
    }
}

const MOST_EXPECTED: u64 = 1 << 50;

impl AfterPreparing for Session {
    fn disk_needs(&self, vertices: u64, edges: u64) -> Vec<DiskNeed> {
        // A plan reports what does not fit; shards write their outputs elsewhere.
        if self.purpose != Purpose::Count {
            return Vec::new();
        }
        let vertices = vertices.min(MOST_VERTICES) as u32;
        let size = GraphSize { vertices, edges, longest_row: 0, probes: 0 };
        // A wrong name is reported when the file is written.
        let all = self.job.lcc_wanted.map_or(0, |lcc| lcc.listed).max(vertices.into());
        self.job.settings.output.disk_needs(&size, Some(vertices.into()), all, [DIGITS; 2]).unwrap_or_default()
    }

    fn stages(&self, graph: &GraphToPrepare) -> Vec<ExpectedStage> {
        let space = self.workspace();
        // Without known sizes a source's bounds would exceed anything that can be prepared.
        let [arcs, edges] = [graph.arcs, graph.edges].map(|many| many.min(MOST_EXPECTED));
        let ids = if graph.ids == 0 { edges / 8 } else { graph.ids }.min(MOST_VERTICES);
        let graph = &GraphToPrepare { ids, arcs, edges, ..*graph };
        let on_gpu = graph.form == InputForm::ArcsOnGpu;
        let counts_there = on_gpu || self.job.settings.count.may_use_gpu();
        let machine = self.machine(usize::from(counts_there), true);
        let needed = needs(IdCount::Plain(ids), arcs, space).array(graph.form.more_per_id(), ids, "rows");
        let gpu = self.job.settings.memory.device.unwrap_or(Bytes(u64::MAX));
        let prepared = space.beside(&needed).map(|shares| machine.preparing(graph, &shares, gpu).stages);
        let counting = self.counting_stages(&machine, machine.counting_about(edges, graph.probes(), gpu), edges);
        prepared.unwrap_or_default().into_iter().chain(counting).collect()
    }

    fn floor(&self, vertices: u64, arcs: u64) -> Bytes {
        let vertices = vertices.min(MOST_VERTICES) as u32;
        // No row is longer, see `crate::orient::ranked`.
        let longest_row = ((2 * arcs).isqrt() + 1).min(vertices.into()) as u32;
        let graph = GraphSize { vertices, edges: arcs, longest_row, probes: 0 };
        let (least, gpus) = self.least_to_count(&graph);
        // Counts no memory for the graph, which is moved to a file if memory is short.
        self.host_needs_of(graph, Bytes::ZERO, self.job.settings.mode()).enough(least, gpus)
    }
}
