//! The host's part of `cuda/primitives.cuh`: scans, sums, radix sort. The caller provides scratch memory, whose size a `const` says for each.

use super::machine::BaselineDevice;
use trimill_kernels::engine::Grid;
use trimill_kernels::{GpuError, GpuResult};

trimill_kernels::shared_constants! {
    CONSTANTS = "primitives constants";
    /// Keys of a warp's tile.
    TILE: u64 = 2048;
    /// Values of a block's chunk in a scan.
    SCAN_CHUNK: u64 = 4096;
    /// Keys of a warp's tile when keys are binned.
    BIN_TILE: u64 = 1024;
}

const WARP: u64 = 32;

/// Thread blocks of the first step of a sum, and the number of their partial sums.
pub(super) const SUM_BLOCKS: u64 = 512;

/// Bytes that [`sum`] takes: the blocks' sums and the total.
pub(super) const SUM_BYTES: u64 = 8 * (SUM_BLOCKS + 1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueWidth {
    U32,
    U64,
}

/// Bytes of scratch that [`scan`] takes for `len` values: the chunks' sums and the total.
pub(super) const fn scan_bytes(len: u64, width: ValueWidth) -> u64 {
    (len.div_ceil(SCAN_CHUNK) + 1)
        * match width {
            ValueWidth::U32 => 4,
            ValueWidth::U64 => 8,
        }
}

/// Replaces each value by the sum of those before it. Returns the address of the total.
pub(super) fn scan(
    machine: &mut BaselineDevice<'_>,
    at: u64,
    len: u64,
    width: ValueWidth,
    scratch: u64,
) -> GpuResult<u64> {
    let chunks = len.div_ceil(SCAN_CHUNK);
    let ([sums, tops, apply], bytes) = match width {
        ValueWidth::U32 => (["scan32_sums", "scan32_tops", "scan32_apply"], 4),
        ValueWidth::U64 => (["scan64_sums", "scan64_tops", "scan64_apply"], 8),
    };
    let all = scratch + chunks * bytes;
    if chunks > 0 {
        machine.run(sums, chunks * 256, &[at, len, scratch])?;
    }
    let threads = chunks.next_multiple_of(WARP).clamp(WARP, 1024) as u32;
    machine.launch(0, tops, Grid { blocks: 1, threads, shared: 0 }, &[scratch, chunks, all])?;
    if chunks > 0 {
        machine.run(apply, chunks * 256, &[at, len, scratch])?;
    }
    Ok(all)
}

/// Waits for the sum of values. `scratch`: [`SUM_BYTES`].
pub(super) fn sum(
    machine: &mut BaselineDevice<'_>,
    at: u64,
    len: u64,
    width: ValueWidth,
    scratch: u64,
) -> GpuResult<u64> {
    let kernel = match width {
        ValueWidth::U32 => "sum32",
        ValueWidth::U64 => "sum64",
    };
    let total = scratch + 8 * SUM_BLOCKS;
    let blocks = len.div_ceil(256).clamp(1, SUM_BLOCKS);
    machine.run(kernel, blocks * 256, &[at, len, scratch])?;
    machine.run("sum64", 256, &[scratch, blocks, total])?;
    machine.read_u64(total)
}

pub(super) const fn tiles(len: u64) -> u64 {
    len.div_ceil(TILE)
}

/// Threads of a kernel that gives each tile a warp.
pub(super) const fn tile_threads(len: u64) -> u64 {
    tiles(len) * WARP
}

/// Bytes of scratch that [`sort`] takes: a count for each digit of each tile, and the scratch of their scan.
pub(super) const fn sort_bytes(len: u64) -> u64 {
    let counts = 256 * tiles(len);
    (4 * counts).next_multiple_of(256) + scan_bytes(counts, ValueWidth::U32)
}

/// 64-bit keys, and as much memory for sorting them.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyList {
    pub(super) keys: u64,
    pub(super) other: u64,
    pub(super) len: u64,
}

/// Sorts 64-bit keys made of two vertices below `vertices`, 8 bits per pass, the lowest first: `O(len)` for each pass. Digits that are zero in every
/// key are skipped. Passes alternate between the two buffers; the returned list says where the keys are.
pub(super) fn sort(machine: &mut BaselineDevice<'_>, list: KeyList, vertices: u64, scratch: u64) -> GpuResult<KeyList> {
    let KeyList { keys: mut from, other: mut to, len } = list;
    check_length(len)?;
    let counts = 256 * tiles(len);
    let sums = scratch + (4 * counts).next_multiple_of(256);
    let digits = bits(vertices).div_ceil(8);
    for half in [0, 32] {
        for digit in 0..digits {
            let shift = u64::from(half + 8 * digit);
            machine.run("sort_count", tile_threads(len), &[from, len, shift, scratch, tiles(len)])?;
            scan(machine, scratch, counts, ValueWidth::U32, sums)?;
            machine.run("sort_move", tile_threads(len), &[from, to, len, shift, scratch, tiles(len)])?;
            (from, to) = (to, from);
        }
    }
    Ok(KeyList { keys: from, other: to, len })
}

/// Bits of the largest number below `vertices`; at least one.
pub(super) const fn bits(vertices: u64) -> u32 {
    if vertices < 3 { 1 } else { 64 - (vertices - 1).leading_zeros() }
}

/// Checks that places in a list of this length fit 32 bits.
pub(super) fn check_length(len: u64) -> GpuResult<()> {
    if len > u64::from(u32::MAX) {
        return Err(GpuError::TooLarge(format!("{len} edges in a list; this method takes at most {}", u32::MAX)));
    }
    Ok(())
}
