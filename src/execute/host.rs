//! Divides the host's memory once the graph is prepared. Input: a job and its graph. Output: a [`Division`], or the error that names the floor. First
//! come the read buffers of all threads and a graph in memory; then the least for building a partition, if the job may build any; the rest is for
//! counting (five eighths of it on GPUs) and for building more partitions at a time.

use super::count_memory::{edges_while_counting, held, while_counting, while_writing};
use crate::directions::{self, DoubledGraph};
use crate::job::{Mode, SpillTo};
use crate::outputs::{CountedAt, CountsWanted};
use crate::plan::heads;
use crate::sums::{ByArc, ByRank};
use crate::truss;
use crate::vertices::lcc;
use trimill_counting::Footprint;
use trimill_graph::GraphSize;
use trimill_graph::file::Layout;
use trimill_partitioners::RowsById;
use trimill_partitioners::build::spills::{BUFFERS, HELD};
use trimill_partitioners::partition::kept::Kept;
use trimill_partitioners::partition::sizes;
use trimill_system::memory::{HostFloor, HostMemory, Needs};
use trimill_system::text::plural;
use trimill_system::{Bytes, Result};

/// For each thread: an encoded file block, and the lengths of its rows. Long rows take more.
const FILE_BLOCK: u64 = 3 << 19;

const BLOCK_CACHE: u64 = 2 << 20;

/// For each thread: a zstd encoder and decoder, blocks before and after coding, and buffered filtered rows ([`HELD`]).
const CODERS: u64 = (5 << 20) + 4 * HELD;

/// The least size of a block of rows in a pass over the graph; a pass has three.
pub(super) const LEAST_BLOCK: Bytes = Bytes::mib(1);

/// Bytes a vertex while partitions are planned: the partition where it is local, and what [`sizes`] takes.
const PER_PLANNED: u64 = 4 + sizes::PER_VERTEX;

/// Bytes a vertex of a plan: its partition, by id and by rank, its degree and its rank.
const PER_PLAN: u64 = 16;

const PER_BUILT: u64 = 4;

/// Bytes a partition: its ranks, what was predicted, and its result twice, or once with the names of what counted it.
const PER_PART: u64 = 768;

#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    pub counting: Bytes,
    /// None if there is too little memory to build partitions.
    pub building: Option<Bytes>,
    pub spills: Bytes,
}

/// What determines the host memory that a job needs apart from counting.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostNeeds {
    pub(super) host: HostMemory,
    pub(super) size: GraphSize,
    pub(super) largest_degree: u32,
    /// Bytes of the graph in memory.
    pub(super) held: Bytes,
    /// The most vertices that the input lists.
    pub(super) listed: u64,
    /// Counters of vertices that a partition should have room for.
    pub(super) counters: u64,
    /// The number of partitions, if the job names it or is prepared; else 0: few.
    pub(super) parts: u64,
    /// For how many shards rank ranges are cut, unless the number of partitions is known.
    pub(super) shards: u32,
    /// None: either mode is allowed.
    pub(super) mode: Option<Mode>,
    pub(super) counts: CountsWanted,
    pub(super) spill_to: SpillTo,
    /// Whether the input is spilled partitions, so that none are built.
    pub(super) counts_kept_spills: bool,
    /// Whether this is a shard of a prepared job: it builds no partitions and adds up no counts.
    pub(super) shard: bool,
    /// Whether METIS assigns the vertices, for which this process holds the graph by id.
    pub(super) metis: bool,
    /// Whether a later start may continue from what this one saves.
    pub(super) resumable: bool,
    /// Host memory for a device that peels the graph; none if the cores peel it.
    pub(super) device_peels: Option<Bytes>,
}

impl HostNeeds {
    /// Divides the budget; counting takes at least `least`, on `gpus` GPUs or on the CPU.
    pub(super) fn divided(&self, least: Bytes, gpus: u64) -> Result<Division> {
        self.check_size()?;
        // The error names what one stage needs; the advice names a budget that suffices for all.
        self.divided_now(least, gpus).map_err(|error| self.host.advising(error, self.enough(least, gpus)))
    }

    /// A budget, at least this one, that suffices for counting. Found by iteration, since the need may grow with the budget.
    pub(super) fn enough(&self, least: Bytes, gpus: u64) -> Bytes {
        self.enough_for(|with| with.least(least, gpus))
    }

    fn enough_for(&self, needed: impl Fn(&Self) -> Bytes) -> Bytes {
        let mut with = *self;
        loop {
            let needed = needed(&with);
            if needed <= with.host.budget() {
                return with.host.budget();
            }
            with = with.within(needed);
        }
    }

    pub(super) fn within(&self, budget: Bytes) -> Self {
        Self { host: HostMemory::new(budget, self.host.threads() as usize), ..*self }
    }

    pub(super) fn beside_file(&self) -> Self {
        Self { held: Bytes::ZERO, ..*self }
    }

    fn least(&self, least: Bytes, gpus: u64) -> Bytes {
        let floors = match (self.shard, self.mode) {
            (true, _) => vec![self.host.floor(&self.streaming(gpus).buffers(least))],
            // Either mode is allowed, and the in-place mode needs less.
            (false, None) => Self { mode: Some(Mode::InPlace), ..*self }.floors(least, gpus),
            (false, Some(_)) => self.floors(least, gpus),
        };
        floors.into_iter().map(|floor| floor.bytes).max().unwrap_or_default()
    }

    fn divided_now(&self, least: Bytes, gpus: u64) -> Result<Division> {
        let host = self.host;
        let counting = |needs: Needs| host.left(&needs.buffers(least));
        let unbuilt = |counting| Division { counting, building: None, spills: Bytes::ZERO };
        if self.shard {
            return counting(self.streaming(gpus)).map(unbuilt);
        }
        self.cutting().map_or(Ok(()), |needs| host.left(&needs).map(drop))?;
        self.can_write(least, gpus)?;
        let streaming = counting(self.streaming(gpus));
        if self.mode == Some(Mode::InPlace) || self.counts_kept_spills {
            return streaming.map(unbuilt);
        }
        let planned = host.left(&self.planning());
        let built = planned.and_then(|_| counting(self.building(gpus)));
        match (built, streaming) {
            // Rank ranges need no memory per vertex. If building leaves less than half as much for counting, the spilled mode is not offered.
            (built, Ok(streaming))
                if self.mode.is_none() && !built.as_ref().is_ok_and(|&left| left.get() >= streaming.get() / 2) =>
            {
                Ok(unbuilt(streaming))
            }
            // Neither mode fits: reports the in-place mode's floor, the lower one.
            (Err(_), Err(error)) if self.mode.is_none() => Err(error),
            (built, _) => {
                let left = built?;
                let spills = match self.spill_to {
                    SpillTo::Disk => Bytes::ZERO,
                    SpillTo::Memory => Bytes(left.saturating_sub(least).get() / 2),
                };
                let counting = left.saturating_sub(spills);
                Ok(Division { counting, building: Some(self.least_building()), spills })
            }
        }
    }

    /// Refuses a graph that is too large for a stage after counting, with any memory.
    pub(super) fn check_size(&self) -> Result<()> {
        if self.counts.is_directed() {
            directions::check_size(self.size.vertices)?;
        }
        if self.counts.truss.is_some() {
            truss::check_size(self.size.vertices, self.size.edges, self.device_peels.is_some())?;
        }
        Ok(())
    }

    /// Checks that the stages after counting fit: peeling, directions, writing the triangles at vertices or on edges.
    fn can_write(&self, least: Bytes, gpus: u64) -> Result<()> {
        self.after_counting(least, gpus).try_for_each(|needs| self.host.left(&needs).map(drop))
    }

    /// Checks that all stages of a merge fit. The error names what one needs, and advises what suffices for all.
    pub(super) fn can_merge(&self) -> Result<()> {
        self.check_size()?;
        self.can_write(Bytes::ZERO, 0).map_err(|error| self.host.advising(error, self.enough_to_merge()))
    }

    /// A budget, at least this one, that suffices for all stages of a merge.
    pub(super) fn enough_to_merge(&self) -> Bytes {
        let floor = |with: &Self| with.after_counting(Bytes::ZERO, 0).map(|needs| with.host.floor(&needs).bytes).max();
        self.enough_for(|with| floor(with).unwrap_or_default())
    }

    fn after_counting(&self, least: Bytes, gpus: u64) -> impl Iterator<Item = Needs> {
        let directions = self.directions().map(|marking| [marking, self.doubled(least, gpus)]);
        self.writing().into_iter().chain(self.peeling()).chain(directions.into_iter().flatten())
    }

    pub(super) fn floors(&self, least: Bytes, gpus: u64) -> Vec<HostFloor> {
        let host = self.host;
        let graph = host.floor(&self.streaming(gpus).buffers(least));
        let partitions = [host.floor(&self.planning()), host.floor(&self.building(gpus).buffers(least))];
        let mut floors: Vec<HostFloor> = match self.mode {
            Some(Mode::InPlace) => vec![graph],
            Some(Mode::Spilled) => partitions.into(),
            None => std::iter::once(graph).chain(partitions).collect(),
        };
        floors.extend(self.cutting().into_iter().chain(self.comparing()).map(|needs| host.floor(&needs)));
        floors.extend(self.after_counting(least, gpus).map(|needs| host.floor(&needs)));
        floors
    }

    /// While the vertices are compared with the listed ones; a graph that was just prepared may take a quarter of the memory.
    fn comparing(&self) -> Option<Needs> {
        let GraphSize { vertices, edges, .. } = self.size;
        let graph = Layout { vertices, edges, has_ids: true, ..Layout::default() }.sections_at_most();
        let held = graph.min(Bytes(self.host.usable().get() / 4));
        (self.listed > 0).then(|| lcc::comparing(vertices, held, self.listed))
    }

    fn always(&self, needs: Needs) -> Needs {
        let threads = self.host.threads();
        let row = 12 * u64::from(self.size.longest_row);
        needs
            .fixed("the graph in memory", self.held)
            .fixed(
                format!("file blocks of {}", plural(threads, "thread", "threads")),
                Bytes(threads * (FILE_BLOCK + row) + BLOCK_CACHE),
            )
            .fixed(plural(self.parts, "partition", "partitions"), Bytes(PER_PART * self.parts))
    }

    /// While rank ranges are cut by heads.
    fn cutting(&self) -> Option<Needs> {
        let cuts = self.shards > 1 && self.parts == 0 && self.mode != Some(Mode::Spilled);
        let needs =
            || self.always(Needs::to("cut the graph for shards")).array(4, self.size.vertices.into(), "vertices");
        cuts.then(|| needs().fixed(format!("pieces for {} shards", self.shards), heads::bytes(self.shards)))
    }

    /// While rank ranges or existing spills are counted.
    fn streaming(&self, gpus: u64) -> Needs {
        match self.counts_kept_spills || (self.shard && self.mode == Some(Mode::Spilled)) {
            true => self.counting_spills(gpus),
            false => self.counting("count in the in-place mode", gpus),
        }
    }

    /// While partitions are counted: the graph, and the triangles at vertices or on edges, if they are wanted.
    fn counting(&self, stage: &'static str, gpus: u64) -> Needs {
        let (needs, GraphSize { vertices, edges, .. }) = (self.always(Needs::to(stage)), self.size);
        let (what, sums, rest) = match self.counts.at() {
            CountedAt::Edges => {
                ("triangles on edges", held::<ByArc>(self.host, edges), edges_while_counting(self.host, gpus))
            }
            CountedAt::Vertices => {
                let sums = held::<ByRank>(self.host, vertices.into());
                ("triangles at vertices", sums, while_counting(self.host, vertices, self.counters, gpus))
            }
            CountedAt::Nothing => return needs,
        };
        needs.fixed(what, if self.shard { rest } else { sums + rest })
    }

    fn writing(&self) -> Option<Needs> {
        let (what, stage) = match self.counts.at() {
            CountedAt::Edges => ("triangles on edges", "write the triangles on edges"),
            CountedAt::Vertices => ("triangles at vertices", "write the triangles at vertices"),
            CountedAt::Nothing => return None,
        };
        let (fixed, least) = while_writing(self.counts, self.host, &self.size, self.largest_degree);
        Some(self.always(Needs::to(stage)).fixed(what, fixed).buffers(least.saturating_sub(fixed)))
    }

    /// What is left for the windows in which counts are written.
    pub(super) fn window(&self) -> Result<Bytes> {
        self.writing().map_or(Ok(Bytes::ZERO), |needs| self.host.left(&needs))
    }

    /// What the host holds while the graph is peeled, apart from the memory of peeling itself.
    fn beside_peeling(&self) -> Needs {
        let vertices = self.size.vertices.into();
        let at_vertices = if self.counts.vertices { held::<ByRank>(self.host, vertices) } else { Bytes::ZERO };
        self.always(Needs::to("peel the graph")).fixed("triangles at vertices", at_vertices)
    }

    pub(super) fn left_to_peel(&self) -> Result<Bytes> {
        self.host.left(&self.beside_peeling())
    }

    fn peeling(&self) -> Option<Needs> {
        let GraphSize { vertices, edges, .. } = self.size;
        let memory = match self.device_peels {
            Some(rest) => truss::memory_with_device(vertices, edges, rest, self.resumable),
            None => truss::memory(vertices, edges, self.host.threads()),
        };
        let needs = self.beside_peeling().fixed("edges while peeling", memory);
        self.counts.truss.map(|_| needs.buffers(Bytes(3 * LEAST_BLOCK.get())))
    }

    /// Bytes in memory besides the graph while arcs between neighbours are counted.
    fn beside_directions(&self) -> Bytes {
        let GraphSize { vertices, edges, .. } = self.size;
        let on_edges = if self.counts.edges { held::<ByArc>(self.host, edges) } else { Bytes::ZERO };
        held::<ByRank>(self.host, vertices.into()) + on_edges
    }

    pub(super) fn directions(&self) -> Option<Needs> {
        let (host, listed) = (self.host, self.counts.lcc.map_or(0, |lcc| lcc.listed));
        let threads = host.threads();
        let needs = self
            .always(Needs::to("mark the directions of edges"))
            .fixed("triangles at vertices and on edges", self.beside_directions())
            .fixed("reading the input again", Bytes(host.usable().get() / 8).max(Bytes::mib(threads)))
            .array(8, listed, "listed vertices")
            .array(directions::PER_VERTEX, self.size.vertices.into(), "vertices")
            .fixed(
                format!("marks of {}", plural(threads, "thread", "threads")),
                directions::of_threads(&self.size, threads),
            )
            .buffers(directions::least_band(&self.size));
        self.counts.is_directed().then_some(needs)
    }

    /// The memory for counting the doubled graph, which is moved to a file if memory is short; counting the graph itself takes `least`.
    fn doubled(&self, least: Bytes, gpus: u64) -> Needs {
        let counts = CountsWanted { vertices: true, ..CountsWanted::default() };
        let doubled = Self { size: DoubledGraph::at_most(&self.size), counts, shard: false, ..*self };
        doubled
            .counting("count the arcs between neighbours", gpus)
            .fixed("triangles at vertices and on edges", self.beside_directions())
            .buffers(Bytes(3 * least.get()))
    }

    pub(super) fn budget_of_doubled(&self) -> Bytes {
        self.host.beside(self.held + self.beside_directions())
    }

    /// The memory of this process while partitions are planned, without that of a METIS child.
    pub(super) fn floor_of_planning(&self) -> Bytes {
        self.host.floor(&self.planning()).bytes
    }

    /// Whether partitions may be planned a second time beside a plan.
    pub(super) fn can_plan_again(&self) -> bool {
        self.floor_of_planning() + Bytes(PER_PLAN * u64::from(self.size.vertices)) <= self.host.budget()
    }

    fn planning(&self) -> Needs {
        let rows = if self.metis { RowsById::bytes(self.size.vertices, self.size.edges) } else { Bytes::ZERO };
        self.always(Needs::to("plan partitions"))
            .array(PER_PLANNED, self.size.vertices.into(), "vertices")
            .fixed("the graph as METIS reads it", rows)
            .buffers(Bytes(3 * LEAST_BLOCK.get()))
    }

    fn counting_spills(&self, gpus: u64) -> Needs {
        // For each device's partition: the ranks of its vertices; if edges are counted, also its locals and the numbers of a row block.
        let (ranks, rows) = match self.counts.at() {
            CountedAt::Edges => (12 * gpus.max(1), Bytes(gpus.max(1) * block_of_pass(self.host).get())),
            CountedAt::Vertices => (4 * gpus.max(1), Bytes::ZERO),
            CountedAt::Nothing => (0, Bytes::ZERO),
        };
        self.counting("count in the spilled mode", gpus)
            .array(ranks, self.size.vertices.into(), "vertices")
            .fixed("graph rows read with each row block", rows)
    }

    fn building(&self, gpus: u64) -> Needs {
        let (threads, n) = (self.host.threads(), self.size.vertices);
        self.counting_spills(gpus)
            .array(PER_BUILT, n.into(), "vertices")
            .fixed(format!("blocks of spills of {}", plural(threads, "thread", "threads")), Bytes(threads * CODERS))
            .fixed("a partition that is built", self.least_building())
    }

    fn least_building(&self) -> Bytes {
        Bytes(3 * LEAST_BLOCK.get()) + Kept::bytes(self.size.vertices) + BUFFERS
    }
}

pub(super) fn block_of_pass(host: HostMemory) -> Bytes {
    Bytes(host.usable().get() / 64).clamp(LEAST_BLOCK, Bytes::mib((4 * host.threads()).max(16)))
}

/// The least memory for counting on the CPU: the method's floor and 1/24 of the resident rows, to avoid tiny partitions; and 1/3 more for row blocks.
pub(super) fn least_on_cpu(floor: Bytes, footprint: &Footprint, size: &GraphSize) -> Bytes {
    let rows = footprint.resident(size.vertices.into(), size.edges);
    Bytes((floor.get() + rows.get() / 24) / 3 * 4)
}

/// The memory for counting on the CPU: the requested budget, else half of the free host memory; never more than is free.
pub(super) fn on_cpu(asked: Option<Bytes>, least: Bytes, left: Bytes) -> Bytes {
    asked.unwrap_or(Bytes(left.get() / 2).max(least)).min(left)
}

#[cfg(test)]
mod tests;
