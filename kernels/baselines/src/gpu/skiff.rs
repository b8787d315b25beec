//! Method `skiff`: Z. Zheng et al., 'Lock-Free Triangle Counting on GPU'.
//!
//! Every row becomes a hash trie of 32-wide nodes (`cuda/skiff.cu` has its layout and the optimistic policy by which it is built).
//! An edge is counted by probing the trie of the shorter of its two rows with the entries of the longer one.
//!
//! The level array has an entry for each number of levels that a trie of so many keys would have, `log_32` of the longest row:
//! where the rows of that level begin in an order by levels. Three organisations of threads (section IV-B):
//!
//! | organisation | a vertex of `d` edges, or a level of `D` |
//! | --- | --- |
//! | `block-degree` | `d / 32` blocks, rounded up |
//! | `block-index` | `D / 32` blocks for a level of the array |
//! | `warp-index` | `D / 32` warps for a level of the array |
//!
//! Graphs that do not fit (IV-B): the tries are built in slices of as many rows as there is memory for, and each slice counts the edges
//! whose hashed row it has. The slices of `block-degree` are runs of rows in falling degree with about equal sums of degrees, those
//! of the other two follow the level array.
//!
//! Choices where the paper is silent or contradicts itself: Algorithm 3 moves items between buckets (hopscotch) while section IV-A
//! links nodes; the nodes of IV-A are built here. Tries are built once for all edges of a row instead of once an edge, a warp a
//! trie as in Figure 11, so that a node's link is the only thing that lanes compete for. A trie has as many first nodes as could
//! just hold its keys, rounded up to a power of two, and room for every node that its chains can come to. The hash is the
//! remainder. A node is a line of the cache (IV-C), and a warp takes an edge, its lanes the probes.
//!
//! The paper holds whole graphs; here the rows of a row block are hashed beside the resident ones, and a row block counts the
//! edges whose successor it covers. Resident tries are built again for each row block.
//!
//! Device bytes: 4 an arc, 8 a local, 12 or 8 for its place in the organisation, 8 for its trie's, a row block and twice its
//! offsets, and 132 a node, of which there are `1 + 3 d / 32` for a row of `d` at most; at least those of one row. Host: 12 bytes
//! a row.

mod organise;

use bytemuck::cast_slice;
use trimill_kernels::engine::{Engine, Grid};
use trimill_kernels::{
    ALIGNMENT, ArenaLayout, Counted, Error, Footprint, ResidentSlices, Result, RowBlockSlices, Size, padded,
};

use super::machine::Machine;
use super::primitives::{self, SUM_BYTES, Width};
use super::rows::Sections;
use super::{ROUNDING, Work, bytes_of};

use organise::{Organised, nodes, slices};

/// How threads are dealt to edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Organisation {
    /// Blocks by the degree of a vertex.
    BlockDegree,
    /// Blocks by the level array.
    BlockIndex,
    /// Warps by the level array: the fastest on most of the paper's graphs.
    #[default]
    WarpIndex,
}

/// How to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How threads are dealt to edges.
    pub organisation: Organisation,
    /// Threads of a block.
    pub block_threads: u32,
    /// The most nodes on the device at a time; none: as many as there is memory for.
    pub nodes: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { organisation: Organisation::default(), block_threads: 256, nodes: None }
    }
}

/// Blocks of a launch, at most: what is left is dealt to the same ones again.
const BLOCKS: u64 = 1 << 16;

/// Bytes that it takes whatever the partition.
const FIXED: u64 = 8 * BLOCKS + SUM_BYTES;

/// Bytes for each local or proxy: where its trie is, its place in a slice, and its share of the longest trie that could be.
const PER_NUMBERED: u64 = 8 + 13;

/// Bytes of a node: its items and its link.
const NODE: u64 = 4 * 32 + 4;

struct Pieces {
    sections: Sections,
    /// Of `block-degree` the units, of the others the order and the starts.
    units: u64,
    starts: u64,
    /// For each row where its trie begins, and the rows of a slice.
    base: u64,
    places: u64,
    results: u64,
    sums: u64,
}

fn lay(layout: &mut ArenaLayout, size: &Size, organisation: Organisation) -> Result<Pieces> {
    let sections = Sections::lay(layout, size)?;
    let mut take = |bytes| layout.take(bytes).map(|piece| piece.offset);
    let (units, starts) = match organisation {
        Organisation::BlockDegree => (8 * (size.arcs / 32 + size.locals), 0),
        _ => (4 * size.locals, 8 * (size.locals + 1)),
    };
    // A row block has at most as many rows as there are proxies and locals, and as its bytes hold offsets.
    let rows = 4 * (size.locals + u64::from(size.numbered).min(size.row_block_limit / 4));
    Ok(Pieces {
        sections,
        units: take(units)?,
        starts: take(starts)?,
        base: take(rows)?,
        places: take(rows)?,
        results: take(8 * BLOCKS)?,
        sums: take(SUM_BYTES)?,
    })
}

/// What it takes: with the tries of all resident rows, and room for the longest one that any row could have.
pub(super) const FOOTPRINT: Footprint = Footprint {
    per_resident_arc: 17,
    per_local: 28 + NODE,
    per_numbered: PER_NUMBERED,
    fixed: FIXED + ROUNDING,
    row_blocks: 1,
    of_budget: None,
};

/// The bytes of device memory without which it does not begin: with the trie of a row as long as any could be.
pub(super) fn device_bytes(options: &Options, size: &Size) -> u64 {
    bytes_of(|layout| lay(layout, size, options.organisation)) + NODE * nodes(longest(size)) + 2 * ALIGNMENT
}

/// As many keys as a row could have.
fn longest(size: &Size) -> u32 {
    u64::from(size.numbered.saturating_sub(1)).min(size.arcs.max(size.row_block_limit / 4)) as u32
}

/// Nodes for all rows that have keys.
fn of_all(lengths: &[u32]) -> u64 {
    lengths.iter().filter(|&&length| length > 0).map(|&length| nodes(length)).sum()
}

/// Where the nodes lie, and how many there are room for.
#[derive(Debug, Clone, Copy)]
struct Tries {
    items: u64,
    links: u64,
    room: u64,
}

pub(super) struct Skiff {
    options: Options,
    size: Size,
    pieces: Pieces,
    /// The length of each local's row.
    lengths: Vec<u32>,
    /// Once all of these are known.
    organised: Option<Organised>,
    tries: Option<Tries>,
}

impl Skiff {
    pub(super) fn begin<E: Engine>(machine: &mut Machine<'_, E>, options: Options, size: Size) -> Result<Self> {
        let threads = options.block_threads;
        if !threads.is_multiple_of(32) || !(32..=1024).contains(&threads) {
            return Err(Error::Shape(format!("blocks of {threads} threads; expected a multiple of 32 up to 1024")));
        }
        let (needed, capacity) = (device_bytes(&options, &size), machine.engine.layout().capacity());
        if needed > capacity {
            return Err(Error::Budget { asked: needed, used: 0, capacity });
        }
        let base = machine.engine.address();
        let pieces = lay(machine.engine.layout(), &size, options.organisation)?;
        let pieces = Pieces {
            sections: pieces.sections.at(base),
            units: base + pieces.units,
            starts: base + pieces.starts,
            base: base + pieces.base,
            places: base + pieces.places,
            results: base + pieces.results,
            sums: base + pieces.sums,
        };
        let lengths = Vec::with_capacity(size.locals as usize);
        Ok(Self { options, size, pieces, lengths, organised: None, tries: None })
    }

    /// Takes the memory for nodes, once: as many as all resident rows need and one row as long as any could be, or fewer where
    /// this is the only row block and needs fewer, or where fewer are left.
    fn take_nodes<E: Engine>(&mut self, machine: &mut Machine<'_, E>, needed: u64, only: bool) -> Result<Tries> {
        if let Some(tries) = self.tries {
            return Ok(tries);
        }
        let wanted = of_all(&self.lengths) + nodes(longest(&self.size));
        let wanted = if only { wanted.min(needed) } else { wanted };
        let layout = machine.engine.layout();
        let left = layout.capacity() - layout.used();
        let most = self.options.nodes.map_or(u64::from(u32::MAX - 2), u64::from);
        let fitting = left.saturating_sub(2 * ALIGNMENT) / NODE;
        let room = wanted.min(most).min(fitting);
        let items = machine.take(padded(128 * room))?;
        let tries = Tries { items, links: machine.take(4 * room)?, room };
        self.tries = Some(tries);
        Ok(tries)
    }

    /// Builds the tries of some rows, which need so many nodes.
    fn build<E: Engine>(
        &self,
        machine: &mut Machine<'_, E>,
        tries: Tries,
        slice: &[u32],
        lengths: impl Fn(u32) -> u32,
        base: &mut [u32],
    ) -> Result<()> {
        base.fill(u32::MAX);
        let mut used = 0;
        for &place in slice {
            base[place as usize] = used as u32;
            used += nodes(lengths(place));
        }
        machine.upload(self.pieces.base, cast_slice(base))?;
        machine.upload(self.pieces.places, cast_slice(slice))?;
        machine.fill(tries.items, 0xff, 128 * used)?;
        machine.fill(tries.links, 0xff, 4 * used)?;
        let many = slice.len() as u64;
        let arguments =
            [self.pieces.sections.rows, self.pieces.places, many, self.pieces.base, tries.items, tries.links];
        machine.run("skiff_build", many * 32, &arguments)
    }

    /// Blocks for so many units.
    fn blocks(&self, units: u64) -> u64 {
        let of_a_block = match self.options.organisation {
            Organisation::WarpIndex => u64::from(self.options.block_threads / 32),
            _ => 1,
        };
        units.div_ceil(of_a_block).clamp(1, BLOCKS)
    }

    /// Counts the edges whose hashed row has its trie now.
    fn count<E: Engine>(&self, machine: &mut Machine<'_, E>, organised: &Organised, tries: Tries) -> Result<()> {
        let Pieces { sections, units, starts, base, results, .. } = self.pieces;
        let threads = self.options.block_threads;
        let blocks = |units| Grid::of(self.blocks(units) * u64::from(threads), threads);
        let tries = [base, tries.items, tries.links, results];
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

impl<E: Engine> Work<E> for Skiff {
    fn resident(&mut self, machine: &mut Machine<'_, E>, run: &ResidentSlices<'_>, so_far: &mut Counted) -> Result<()> {
        self.lengths.extend(run.offsets.windows(2).map(|row| (row[1] - row[0]) as u32));
        self.pieces.sections.resident(machine, run, so_far)
    }

    fn row_block(
        &mut self,
        machine: &mut Machine<'_, E>,
        row_block: &RowBlockSlices<'_>,
        so_far: &mut Counted,
    ) -> Result<()> {
        let organised = match self.organised.take() {
            Some(organised) => organised,
            None => {
                let Pieces { units, starts, .. } = self.pieces;
                Organised::send(machine, self.options.organisation, &self.lengths, units, starts)?
            }
        };
        let results = self.blocks(organised.most_units());
        self.pieces.sections.row_block(machine, row_block, so_far)?;
        let locals = self.lengths.len();
        let of_row_block = |place: usize| row_block.offsets[place + 1] - row_block.offsets[place];
        let rows = locals + row_block.offsets.len() - 1;
        let lengths: Vec<u32> = self.lengths.iter().copied().chain((0..rows - locals).map(of_row_block)).collect();
        let only = row_block.range == (0..self.size.numbered);
        let tries = self.take_nodes(machine, of_all(&lengths), only)?;
        let slices = slices(self.options.organisation, &lengths, tries.room)?;
        machine.fill(self.pieces.results, 0, 8 * results)?;
        let mut base = vec![0; rows];
        for slice in &slices {
            machine.start_clock()?;
            self.build(machine, tries, slice, |place| lengths[place as usize], &mut base)?;
            so_far.prepare_seconds += machine.stop_clock()?;
            machine.start_clock()?;
            self.count(machine, &organised, tries)?;
            so_far.kernel_seconds += machine.stop_clock()?;
        }
        so_far.triangles += primitives::sum(machine, self.pieces.results, results, Width::U64, self.pieces.sums)?;
        self.organised = Some(organised);
        Ok(())
    }
}
