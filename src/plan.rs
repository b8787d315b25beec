//! Planning: the number of partitions, the size of row blocks, what each partition will take, and whether it fits. Input: an oriented graph, how to
//! cut it, the footprint of the counting method, and the budget. Output: a [`Plan`] whose partitions all fit, before any is built.
//!
//! ```text
//! device bytes = resident arcs x 4 + locals x (number, offset, cursor) + 2 x row block + tables of the method
//! ```
//!
//! Resident rows stay on the device and all other rows are streamed in blocks, so only the resident rows depend on the number of partitions. Any
//! subset of a part's locals is a valid partition, so a part that is too big is split. The floor is a partition of only the vertex with the longest
//! row, which must also fit each of two blocks; every graph fits every budget above it. [`ranges`] plans rank ranges for the in-place mode, [`sets`]
//! all partitions of the spilled mode; [`modes`] chooses.

pub mod choose;
pub mod cost;
pub mod costs;
pub(crate) mod heads;
pub mod modes;
pub mod predict;
pub mod preparing;
pub mod ranges;
mod replan;
mod sample;
pub mod sets;
mod space;
pub mod whole;

use std::cmp::Reverse;
use std::time::Duration;

use trimill_counting::{Footprint, PartitionExtent, RowBlockSize, Scope, smallest_row_block_limit};

use crate::job::Mode;
use crate::stream::row_blocks::RowBlocks;
use cost::Machine;
use modes::Estimates;
use predict::PlannedPartition;
use space::Space;
use trimill_graph::{GraphSize, OrientedGraph};
use trimill_partitioners::partition::assignment::Assignment;
use trimill_partitioners::partition::prune::Prune;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_system::{Bytes, Control, Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetFrom {
    /// The device's own budget: a setting, or what is free on the device.
    Device,
    /// Half of the host's budget, if the host counts.
    Host,
}

impl BudgetFrom {
    fn flag(self) -> &'static str {
        match self {
            Self::Device => "--device-memory",
            Self::Host => "--host-memory",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct PlanLimits {
    pub device: Bytes,
    pub device_from: BudgetFrom,
    /// The largest row block, unless the user chose it; limited because host memory holds two.
    pub largest_row_block: Bytes,
    pub row_block: Option<Bytes>,
    pub prune: Prune,
    /// The least number of partitions, unless the user gave it: one for each device.
    pub parts: u32,
    /// For how many shards rank ranges are cut into pieces by heads; 1: they are not cut.
    pub shards: u32,
    pub machine: Machine,
    /// The method's name, if it needs the whole graph as one partition.
    pub whole_graph_method: Option<&'static str>,
    /// Whether a graph that fits as one partition is spilled, too.
    pub spills_one_part: bool,
    /// Bytes of a block of rows on the host in passes that size partitions.
    pub host_block: Bytes,
}

pub trait Assign: Sync {
    fn assign(&self, parts: u32) -> Result<Assignment>;

    /// Whether trying other numbers of parts is cheap. (METIS and files are asked once, and parts that do not fit are split.)
    fn is_cheap(&self) -> bool;

    /// The number of parts, if it is fixed.
    fn parts(&self) -> Option<u32>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphCut {
    /// Rank ranges, which [tile](LocalsAndHeads::tile) the ranks; each streams the row blocks of the plan.
    Ranges(Vec<LocalsAndHeads>),
    /// Any sets of locals; each streams the rows of its proxies.
    Sets(Assignment),
}

impl GraphCut {
    pub fn parts(&self) -> u32 {
        match self {
            Self::Ranges(ranges) => ranges.len() as u32,
            Self::Sets(locals) => locals.parts(),
        }
    }

    pub fn mode(&self) -> Mode {
        match self {
            Self::Ranges(_) => Mode::InPlace,
            Self::Sets(_) => Mode::Spilled,
        }
    }
}

#[derive(Debug)]
pub struct Plan {
    pub cut: GraphCut,
    /// The graph's own rows, which rank ranges stream; none with other partitions.
    pub row_blocks: RowBlocks,
    pub row_block_limit: Bytes,
    pub partitions: Vec<PlannedPartition>,
    /// How long assigning took, and sizing the partitions.
    pub times: [Duration; 2],
    pub parts_asked: u32,
    /// What either mode would take, if there was a choice.
    pub estimates: Option<Estimates>,
}

impl Plan {
    pub fn parts(&self) -> u32 {
        self.cut.parts()
    }

    /// How often an arc is counted, on average.
    pub fn passes(&self) -> f64 {
        let sum = |of: fn(&PlannedPartition) -> u64| self.partitions.iter().map(of).sum::<u64>();
        sum(PlannedPartition::counted_arcs) as f64 / sum(|planned| planned.size.resident_arcs).max(1) as f64
    }

    /// The order in which partitions are counted: ascending, or the largest first on several devices.
    pub fn order(&self, devices: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.parts()).collect();
        if devices > 1 {
            order.sort_by_key(|&part| Reverse(self.partitions[part as usize].predicted.stream));
        }
        order
    }

    pub fn largest_peak(&self) -> Bytes {
        self.partitions.iter().map(|planned| planned.predicted.peak).max().unwrap_or_default()
    }
}

/// The least device bytes that a method takes: for a partition of the vertex with the longest row, or for the whole graph if the method cannot
/// count parts. Row blocks have `named` bytes, or hold the longest row.
pub fn floor(graph: &GraphSize, footprint: &Footprint, named: Option<Bytes>) -> Bytes {
    let longest = graph.longest_row;
    let least = Footprint { workers: 1, ..*footprint };
    // Larger ones are refused, whatever the budget is.
    let named = named.filter(|&named| named <= footprint.largest_row_block).unwrap_or_default();
    let row_blocks = Bytes(smallest_row_block_limit(longest).max(named).get() * space::passing(footprint));
    let vertex = least.resident(1, u64::from(longest)) + least.overhead(graph.vertices) + row_blocks;
    if footprint.scope == Scope::Partitions { vertex } else { vertex.max(at_once(graph, footprint)) }
}

/// The device bytes of the whole graph as one partition.
fn at_once(graph: &GraphSize, footprint: &Footprint) -> Bytes {
    let space = Space::new(graph, footprint, Bytes(u64::MAX), Bytes(u64::MAX));
    space.whole + space.overhead
}

/// Whether more device memory would not help to count a graph.
pub fn is_ample(graph: &GraphSize, footprint: &Footprint, device: Bytes) -> bool {
    let space = Space::new(graph, footprint, device, Bytes(u64::MAX));
    let locals = u64::from(graph.vertices);
    let row_block_limit = RowBlockSize { range: graph.vertices, rows: 0, arcs: 0 }.bytes().get();
    let whole = PartitionExtent { locals, arcs: graph.edges, numbered: graph.vertices, row_block_limit };
    let preferred = footprint.taken(Bytes::ZERO, &whole, Bytes(u64::MAX));
    space.is_enough() && space.whole_fits() && preferred <= device
}

/// The least device memory that holds the whole graph as one partition, if the method can number all its arcs.
pub fn whole_graph_bytes(graph: &GraphSize, footprint: &Footprint, row_block: Option<Bytes>) -> Bytes {
    at_once(graph, footprint).max(floor(graph, footprint, row_block))
}

#[derive(Clone, Copy)]
pub struct Planner<'a> {
    pub graph: &'a OrientedGraph,
    pub footprint: &'a Footprint,
    pub limits: &'a PlanLimits,
    pub control: &'a Control,
}

struct Divided {
    space: Space,
    row_block_limit: Bytes,
    most: Bytes,
}

impl Planner<'_> {
    /// Divides the budget. Errors, `Kind::Resource`: the budget or row block is below the floor; a whole graph that the method needs does not fit.
    fn divided(&self) -> Result<Divided> {
        let (size, footprint, limits) = (self.graph.size(), self.footprint, self.limits);
        let PlanLimits { device, largest_row_block, row_block, .. } = *limits;
        // A host budget that leaves too little for counting was refused before.
        let space = Space::new(&size, footprint, device, largest_row_block);
        if let Some(method) = limits.whole_graph_method.filter(|_| !space.whole_fits()) {
            let needed = at_once(&size, footprint);
            return Err(Error::resource(format!(
                "method {method} counts whole graphs only; this one takes {} bytes ({needed}) at once, and the device budget is \
                 {device}",
                needed.get(),
            ))
            .advice(format!(
                "raise --device-memory to {} or more, or take a method that counts partitions",
                needed.get()
            ))
            .wanting(needed));
        }
        if device < floor(&size, footprint, None) {
            return Err(below_floor(device, floor(&size, footprint, row_block)));
        }
        let largest = footprint.largest_row_block;
        if let Some(row_block) = row_block.filter(|&row_block| row_block < space.least_row_block || row_block > largest)
        {
            return Err(Error::resource(format!("row blocks of {} bytes", row_block.get()))
                .expected(format!(
                    "between {} bytes, which hold the longest row, and {largest}",
                    space.least_row_block.get()
                ))
                .advice("change --block-bytes or leave it out"));
        }
        let row_block_limit = row_block.unwrap_or(space.row_block);
        if row_block_limit > space.for_row_block {
            return Err(Error::memory(format!(
                "two row blocks of {row_block_limit} under a device budget of {device}"
            ))
            .expected(format!("row blocks of at most {} bytes", space.for_row_block.get()))
            .advice(format!("lower --block-bytes or raise {}", limits.device_from.flag())));
        }
        Ok(Divided { most: space.most(row_block_limit), space, row_block_limit })
    }
}

pub fn below_floor(device: Bytes, least: Bytes) -> Error {
    Error::memory(format!("a device budget of {}", device.exactly()))
        .expected(format!("at least {} bytes ({}) for this graph and method", least.get(), least.rounded_up()))
        .advice(format!("raise --device-memory to {} or more", least.get()))
        .wanting(least)
}
