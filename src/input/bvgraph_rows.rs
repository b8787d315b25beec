//! Rows of a BVGraph, decoded safely from damaged files.
//!
//! The library's decoder trusts its stream: a flipped bit can make it index out of bounds, allocate without bound or loop.
//! So every number is checked as it is read against what the graph allows (degrees against the arcs left, intervals and
//! residuals against the degree), which bounds memory and time, and remaining panics are caught, without output on the
//! terminal. A row must ascend and stay below the number of vertices. A flipped bit that violates none of this yields
//! another valid graph and cannot be detected: the format has no checksum.
//!
//! Intervals and copies encode any number of arcs in a few bits, and the decoder keeps a buffer for each row of the
//! window. So all buffers together may hold 8 arcs for each byte of the file and 4 million more; real graphs hold a
//! fraction of that.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;

use dsi_bitstream::dispatch::CodesRead;
use dsi_bitstream::traits::{BitSeek, Endianness};
use webgraph::graphs::bvgraph::sequential::NodeLabels;
use webgraph::prelude::{CompFlags, Decode, DynCodesDecoder};

/// The rows of the window may have so many arcs for each byte of the stream, and so many more.
const ARCS_A_BYTE: u64 = 8;
const MORE_ARCS: u64 = 1 << 22;

/// The limits on all rows, from the properties.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowLimits {
    pub(super) nodes: u64,
    pub(super) arcs: u64,
    /// Bytes of the stream.
    pub(super) bytes: u64,
}

/// Decodes rows one after another.
pub(super) struct Rows<E: Endianness, B: CodesRead<E>> {
    decoder: NodeLabels<Checked<DynCodesDecoder<E, B>>>,
    nodes: u64,
    /// The vertex of the next row.
    vertex: u64,
    /// Heads of the row before that did not fit into its batch, and how many of them were delivered since.
    rest: (Vec<usize>, usize),
    arcs: u64,
}

impl<E: Endianness, B: CodesRead<E> + BitSeek<Error = io::Error>> Rows<E, B> {
    pub(super) fn new(bits: B, flags: &CompFlags, limits: RowLimits) -> Result<Self, String> {
        let inner = DynCodesDecoder::new(bits, flags).map_err(|e| e.to_string())?;
        let checked = Checked {
            inner,
            nodes: limits.nodes,
            window: flags.compression_window as u64,
            shortest_interval: flags.min_interval_length as u64,
            row: 0,
            arcs_left: limits.arcs,
            row_left: 0,
            longest: vec![0; flags.compression_window + 1],
            room: MORE_ARCS + ARCS_A_BYTE * limits.bytes,
        };
        let nodes = limits.nodes as usize;
        let decoder = NodeLabels::new(checked, nodes, flags.compression_window, flags.min_interval_length);
        Ok(Self { decoder, nodes: limits.nodes, vertex: 0, rest: (Vec::new(), 0), arcs: 0 })
    }

    /// Adds arcs to `batch` until it has `most` or there are no more.
    ///
    /// # Errors
    /// A message that says what is wrong with the stream.
    pub(super) fn fill(&mut self, batch: &mut Vec<(u64, u64)>, most: usize) -> Result<(), String> {
        let (successors, gone) = &mut self.rest;
        let tail = self.vertex.saturating_sub(1);
        let now = successors.len().min(*gone + most);
        batch.extend(successors[*gone..now].iter().map(|&head| (tail, head as u64)));
        *gone = now;
        while batch.len() < most && self.vertex < self.nodes {
            let tail = self.vertex;
            let row = catch_silently(|| self.decoder.next_successors())
                .and_then(|row| row.ok())
                .ok_or_else(|| format!("the row of vertex {tail} cannot be decoded"))?;
            self.vertex += 1;
            self.arcs += row.len() as u64;
            if row.last().is_some_and(|&head| head as u64 >= self.nodes) || row.windows(2).any(|w| w[0] >= w[1]) {
                return Err(format!("the row of vertex {tail} is not an ascending list of vertices"));
            }
            let (now, later) = row.split_at(row.len().min(most - batch.len()));
            batch.extend(now.iter().map(|&head| (tail, head as u64)));
            if !later.is_empty() {
                self.rest = (later.to_vec(), 0);
            }
        }
        Ok(())
    }

    /// The arcs in the rows so far.
    pub(super) fn arcs(&self) -> u64 {
        self.arcs
    }

    /// The position of the next row in the stream.
    pub(super) fn bit_position(&mut self) -> io::Result<u64> {
        self.decoder.bit_pos()
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Installs a panic hook that prints nothing for panics in [`catch_silently`]; all others go to the hook before it.
fn quiet_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
}

/// Runs `work`; `None` when it panics.
pub(super) fn catch_silently<T>(work: impl FnOnce() -> T) -> Option<T> {
    quiet_hook();
    QUIET.set(true);
    // After a panic, nothing that `work` touched is used again.
    let result = catch_unwind(AssertUnwindSafe(work)).ok();
    QUIET.set(false);
    result
}

/// A decoder that checks every number.
struct Checked<D> {
    inner: D,
    nodes: u64,
    window: u64,
    shortest_interval: u64,
    /// The row being read.
    row: u64,
    /// Arcs that the rows after this one may have.
    arcs_left: u64,
    /// Arcs that this row may still list (copied ones are not subtracted).
    row_left: u64,
    /// The longest row that each of the decoder's buffers held.
    longest: Vec<u64>,
    /// Arcs by which the buffers may still grow.
    room: u64,
}

/// Unwinds to [`catch_silently`] unless `possible`.
#[inline(always)]
fn demand(possible: bool) {
    if !possible {
        impossible();
    }
}

#[cold]
fn impossible() -> ! {
    resume_unwind(Box::new(()))
}

impl<D: Decode> Checked<D> {
    #[inline(always)]
    fn list(&mut self, arcs: u64) {
        demand(arcs <= self.row_left);
        self.row_left -= arcs;
    }

    #[inline(always)]
    fn at_most(value: u64, most: u64) -> u64 {
        demand(value <= most);
        value
    }
}

impl<D: Decode> Decode for Checked<D> {
    #[inline(always)]
    fn read_outdegree(&mut self) -> u64 {
        let degree = Self::at_most(self.inner.read_outdegree(), self.nodes.min(self.arcs_left));
        self.arcs_left -= degree;
        self.row_left = degree;
        let buffer = (self.row % (self.window + 1)) as usize;
        let growth = degree.saturating_sub(self.longest[buffer]);
        self.longest[buffer] += growth;
        self.room -= Self::at_most(growth, self.room);
        self.row += 1;
        degree
    }

    #[inline(always)]
    fn read_reference_offset(&mut self) -> u64 {
        Self::at_most(self.inner.read_reference_offset(), self.window.min(self.row - 1))
    }

    #[inline(always)]
    fn read_block_count(&mut self) -> u64 {
        Self::at_most(self.inner.read_block_count(), self.nodes + 1)
    }

    #[inline(always)]
    fn read_block(&mut self) -> u64 {
        Self::at_most(self.inner.read_block(), self.nodes)
    }

    #[inline(always)]
    fn read_interval_count(&mut self) -> u64 {
        Self::at_most(self.inner.read_interval_count(), self.row_left)
    }

    #[inline(always)]
    fn read_interval_start(&mut self) -> u64 {
        // The first one of a row has a sign in its lowest bit.
        Self::at_most(self.inner.read_interval_start(), 2 * self.nodes + 1)
    }

    #[inline(always)]
    fn read_interval_len(&mut self) -> u64 {
        let beyond = Self::at_most(self.inner.read_interval_len(), self.nodes);
        self.list(beyond + self.shortest_interval);
        beyond
    }

    #[inline(always)]
    fn read_first_residual(&mut self) -> u64 {
        self.list(1);
        Self::at_most(self.inner.read_first_residual(), 2 * self.nodes + 1)
    }

    #[inline(always)]
    fn read_residual(&mut self) -> u64 {
        self.list(1);
        Self::at_most(self.inner.read_residual(), self.nodes)
    }
}

impl<D: BitSeek> BitSeek for Checked<D> {
    type Error = D::Error;

    fn set_bit_pos(&mut self, bit: u64) -> Result<(), D::Error> {
        self.inner.set_bit_pos(bit)
    }

    fn bit_pos(&mut self) -> Result<u64, D::Error> {
        self.inner.bit_pos()
    }
}
