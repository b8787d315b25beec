//! Method `skiff`: Z. Zheng et al., 'Lock-Free Triangle Counting on GPU'.
//!
//! Every row becomes a hash trie of 32-wide nodes (`cuda/skiff.cu` has its layout and the optimistic policy by which it is built).
//! An edge is counted by probing the trie of the shorter of its two rows with the entries of the longer one.
//!
//! The level of a row is the number of levels of a 32-wide trie of its keys, at most `log_32` of the longest row. The level array has
//! an entry for each level: where its rows begin in an order by levels. Three organisations of threads (section IV-B):
//!
//! | organisation | a vertex of `d` edges, or a level of `D` |
//! | --- | --- |
//! | `block-degree` | `d / 32` blocks, rounded up |
//! | `block-index` | `D / 32` blocks for a level of the array |
//! | `warp-index` | `D / 32` warps for a level of the array |
//!
//! Graphs that do not fit (IV-B): the tries are built in slices of as many rows as memory allows, and each slice counts the edges whose hashed row
//! is in it. Slices of `block-degree` are runs of rows in descending degree of about equal degree sums; the other two follow the level array.
//!
//! Choices where the paper is silent or contradicts itself: Algorithm 3 moves items between buckets (hopscotch) while section IV-A links nodes; the
//! nodes of IV-A are built here, with the masks of Algorithm 3, by which a search reads only items of its own hash. A trie is built once for all
//! edges of its row instead of once per edge, by one warp as in Figure 11, so that lanes compete for a node's link only. A trie has the number of
//! first nodes that could just hold its keys, rounded up to a power of two, and space for every node that its chains may need. The hash is the
//! remainder. A node is a cache line (IV-C), and a warp takes an edge, its lanes the probes.
//!
//! The paper holds whole graphs; here the rows of a row block are hashed in addition to the resident ones, and a row block counts the
//! edges whose successor it covers. Resident tries are rebuilt for each row block.
//!
//! Device bytes: 4 an arc; for a local 8, 12 or 8 for its place in the organisation, and 8 for the place of its trie; a row block and twice its
//! offsets; and 260 per node (a row of `d` keys has at most `1 + 3 d / 32`; at least one row must fit). Host: 12 bytes a row.

mod organise;

use bytemuck::cast_slice;
use trimill_counting::{Footprint, PartitionExtent, Resident, RowBlockRoom};
use trimill_kernels::engine::Grid;
use trimill_kernels::{ALIGNMENT, GpuError, GpuResult, RowBlockSlices, padded};
use trimill_system::Bytes;

use super::machine::BaselineDevice;
use super::primitives::{self, SUM_BYTES, ValueWidth};
use super::rows::Sections;
use super::{BaselineWork, ROUNDING, TakePiece, bytes_of, is_block};

use organise::{Organised, nodes, slices};

/// How edges are distributed over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Organisation {
    /// The number of blocks follows the degree of a vertex.
    BlockDegree,
    /// The number of blocks follows the level array.
    BlockIndex,
    /// The number of warps follows the level array: the fastest on most of the paper's graphs.
    #[default]
    WarpIndex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkiffOptions {
    pub organisation: Organisation,
    pub block_threads: u32,
    /// The most nodes on the device at a time; `None`: as many as memory allows.
    pub nodes: Option<u32>,
}

impl Default for SkiffOptions {
    fn default() -> Self {
        Self { organisation: Organisation::default(), block_threads: 256, nodes: None }
    }
}

/// The most blocks of a launch; blocks take several units if there are more.
const BLOCKS: u64 = 1 << 16;

/// Bytes that do not depend on the partition.
const FIXED: u64 = 8 * BLOCKS + SUM_BYTES;

/// Bytes for each local or proxy: the place of its trie, its place in a slice, and its share of the longest possible trie.
const PER_NUMBERED: u64 = 8 + 25;

/// Bytes of a node's items; its masks take as many.
const ITEMS: u64 = 4 * 32;

/// Bytes of a node: its items, their masks, and its link.
const NODE: u64 = 2 * ITEMS + 4;

/// The most nodes: one bit beside a node's number says whether its trie has chains.
const MOST_NODES: u64 = (1 << 31) - 1;

struct SkiffLayout {
    sections: Sections,
    /// For `block-degree` the units, for the others the order and the starts.
    units: u64,
    starts: u64,
    /// The first node of each row's trie, and the rows of a slice.
    base: u64,
    places: u64,
    results: u64,
    sums: u64,
}

fn lay(take: &mut TakePiece<'_>, size: &PartitionExtent, organisation: Organisation) -> GpuResult<SkiffLayout> {
    let sections = Sections::lay(take, size)?;
    let (units, starts) = match organisation {
        Organisation::BlockDegree => (8 * (size.arcs / 32 + size.locals), 0),
        _ => (4 * size.locals, 8 * (size.locals + 1)),
    };
    // A row block has at most as many rows as there are proxies and locals, and as its bytes can hold offsets.
    let rows = 4 * (size.locals + u64::from(size.numbered).min(size.row_block_limit / 4));
    Ok(SkiffLayout {
        sections,
        units: take(units)?,
        starts: take(starts)?,
        base: take(rows)?,
        places: take(rows)?,
        results: take(8 * BLOCKS)?,
        sums: take(SUM_BYTES)?,
    })
}

/// Its footprint, with the tries of all resident rows and the longest possible trie of one row.
pub(super) const FOOTPRINT: Footprint = Footprint {
    per_resident_arc: 29,
    per_local: 28 + NODE,
    per_numbered: PER_NUMBERED,
    fixed: Bytes(FIXED + ROUNDING),
    row_blocks: RowBlockRoom::Always(1),
    ..Footprint::NOTHING
};

/// The fewest device bytes with which the method can begin: they hold the longest possible trie of one row.
pub(super) fn device_bytes(options: &SkiffOptions, size: &PartitionExtent) -> u64 {
    bytes_of(|take| lay(take, size, options.organisation)) + NODE * nodes(longest(size)) + 3 * ALIGNMENT
}

fn longest(size: &PartitionExtent) -> u32 {
    u64::from(size.numbered.saturating_sub(1)).min(size.arcs.max(size.row_block_limit / 4)) as u32
}

fn of_all(lengths: &[u32]) -> u64 {
    lengths.iter().filter(|&&length| length > 0).map(|&length| nodes(length)).sum()
}

/// Where the nodes are, and how many fit.
#[derive(Debug, Clone, Copy)]
struct Tries {
    items: u64,
    masks: u64,
    links: u64,
    room: u64,
}

pub(super) struct Skiff {
    options: SkiffOptions,
    size: PartitionExtent,
    pieces: SkiffLayout,
    lengths: Vec<u32>,
    /// Set once all lengths are known.
    organised: Option<Organised>,
    tries: Option<Tries>,
}

impl Skiff {
    pub(super) fn begin(
        machine: &mut BaselineDevice<'_>,
        options: SkiffOptions,
        size: PartitionExtent,
    ) -> GpuResult<Self> {
        let threads = options.block_threads;
        if !is_block(threads) {
            return Err(GpuError::Shape(format!("blocks of {threads} threads; expected a multiple of 32 up to 1024")));
        }
        let (needed, capacity) = (device_bytes(&options, &size), machine.engine.layout().capacity());
        if needed > capacity {
            return Err(GpuError::Budget { asked: needed, used: 0, capacity });
        }
        let pieces = lay(&mut |bytes| machine.engine.take(bytes), &size, options.organisation)?;
        let lengths = Vec::with_capacity(size.locals as usize);
        Ok(Self { options, size, pieces, lengths, organised: None, tries: None })
    }

    /// Takes the memory for nodes once: for all resident rows and a longest one; less for a single row block, or if memory is short.
    fn take_nodes(&mut self, machine: &mut BaselineDevice<'_>, needed: u64, only: bool) -> GpuResult<Tries> {
        if let Some(tries) = self.tries {
            return Ok(tries);
        }
        let wanted = of_all(&self.lengths) + nodes(longest(&self.size));
        let wanted = if only { wanted.min(needed) } else { wanted };
        let layout = machine.engine.layout();
        let left = layout.capacity() - layout.used();
        let most = self.options.nodes.map_or(MOST_NODES, u64::from);
        let fitting = left.saturating_sub(3 * ALIGNMENT) / NODE;
        let room = wanted.min(most).min(fitting);
        let items = machine.engine.take(padded(ITEMS * room))?;
        let masks = machine.engine.take(padded(ITEMS * room))?;
        let tries = Tries { items, masks, links: machine.engine.take(4 * room)?, room };
        self.tries = Some(tries);
        Ok(tries)
    }

    fn build(
        &self,
        machine: &mut BaselineDevice<'_>,
        tries: Tries,
        slice: &[u32],
        lengths: &[u32],
        base: &mut [u32],
    ) -> GpuResult<()> {
        base.fill(u32::MAX);
        let mut used = 0;
        for &place in slice {
            base[place as usize] = used as u32;
            used += nodes(lengths[place as usize]);
        }
        machine.upload(self.pieces.base, cast_slice(base))?;
        machine.upload(self.pieces.places, cast_slice(slice))?;
        machine.fill(tries.items, 0xff, ITEMS * used)?;
        machine.fill(tries.masks, 0, ITEMS * used)?;
        machine.fill(tries.links, 0xff, 4 * used)?;
        let many = slice.len() as u64;
        let SkiffLayout { sections, places, base, .. } = self.pieces;
        let arguments = [sections.rows, places, many, base, tries.items, tries.masks, tries.links];
        machine.run("skiff_build", many * 32, &arguments)
    }

    fn blocks(&self, units: u64) -> u64 {
        let of_a_block = match self.options.organisation {
            Organisation::WarpIndex => u64::from(self.options.block_threads / 32),
            _ => 1,
        };
        units.div_ceil(of_a_block).clamp(1, BLOCKS)
    }

    /// Counts the edges whose hashed row is in the current slice.
    fn count(&self, machine: &mut BaselineDevice<'_>, organised: &Organised, tries: Tries) -> GpuResult<()> {
        let SkiffLayout { sections, units, starts, base, results, .. } = self.pieces;
        let threads = self.options.block_threads;
        let blocks = |units| Grid::of(self.blocks(units) * u64::from(threads), threads);
        let tries = [base, tries.items, tries.masks, tries.links, results];
        match organised {
            Organised::Units(many) => {
                let arguments = [&[sections.rows, units, *many], &tries[..]].concat();
                machine.launch(0, "skiff_block_degree", blocks(*many)?, &arguments)
            }
            Organised::Levels(levels) => levels.iter().filter(|level| level.edges > 0).try_for_each(|level| {
                let arguments = [&[sections.rows, units, starts, level.first, level.last], &tries[..]].concat();
                let kernel = match self.options.organisation {
                    Organisation::BlockIndex => "skiff_block_index",
                    _ => "skiff_warp_index",
                };
                machine.launch(0, kernel, blocks(level.edges.div_ceil(32))?, &arguments)
            }),
        }
    }
}

impl BaselineWork for Skiff {
    fn resident(&mut self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()> {
        self.lengths.extend(run.offsets.windows(2).map(|row| (row[1] - row[0]) as u32));
        self.pieces.sections.resident(machine, run)
    }

    fn row_block(&mut self, machine: &mut BaselineDevice<'_>, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        let organised = match self.organised.take() {
            Some(organised) => organised,
            None => {
                let SkiffLayout { units, starts, .. } = self.pieces;
                Organised::send(machine, self.options.organisation, &self.lengths, units, starts)?
            }
        };
        let results = self.blocks(organised.most_units());
        self.pieces.sections.row_block(machine, row_block)?;
        let of_row_block = row_block.offsets.windows(2).map(|row| row[1] - row[0]);
        let lengths: Vec<u32> = self.lengths.iter().copied().chain(of_row_block).collect();
        let only = row_block.range == (0..self.size.numbered);
        let tries = self.take_nodes(machine, of_all(&lengths), only)?;
        let slices = slices(self.options.organisation, &lengths, tries.room)?;
        machine.fill(self.pieces.results, 0, 8 * results)?;
        let mut base = vec![0; lengths.len()];
        for slice in &slices {
            machine.start_clock()?;
            self.build(machine, tries, slice, &lengths, &mut base)?;
            machine.stop_clock(|times| &mut times.preprocessing)?;
            machine.start_clock()?;
            self.count(machine, &organised, tries)?;
            machine.stop_clock(|times| &mut times.kernels)?;
        }
        machine.triangles += primitives::sum(machine, self.pieces.results, results, ValueWidth::U64, self.pieces.sums)?;
        self.organised = Some(organised);
        Ok(())
    }
}
