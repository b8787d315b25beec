//! Algorithm 2 without recursion: all buckets of a level are binned together. A bucket is a range of E and a range of E'. Each level moves both lists
//! from one buffer to the other; they shrink as parts are dropped or counted. The host reads only the numbers of tiles and of buckets of a level.

use bytemuck::cast_slice;
use trimill_counting::PartitionExtent;
use trimill_kernels::GpuResult;

use super::RadixBinningOptions;

use crate::gpu::TakePiece;
use crate::gpu::machine::BaselineDevice;
use crate::gpu::primitives::{BIN_TILE, ValueWidth, bits, scan, scan_bytes};

#[derive(Debug, Clone, Copy)]
struct Side {
    buffers: [u64; 2],
    /// Begins and ends of buckets, of this level and of the next.
    ranges: [u64; 2],
    /// Where each bucket's tiles begin.
    firsts: u64,
    counts: u64,
    sums: u64,
}

/// A level, at which keys are binned by `bits` bits of both of their vertices.
struct BinLevel {
    /// Which of the two buffers the keys move to.
    to: usize,
    buckets: u64,
    shift: u64,
    bits: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bins {
    edges: Side,
    wedges: Side,
    /// Buckets of the next level, 32 bits.
    listed: u64,
    /// How many candidates are among the edges, 64 bits: what [`Bins::count`] adds to.
    pub(super) closed: u64,
    len: u64,
    bits: u64,
    levels: u64,
    threshold: u64,
}

impl Side {
    /// For `len` keys in at most `buckets` buckets of `bins` parts each.
    fn lay(take: &mut TakePiece<'_>, len: u64, buckets: u64, bins: u64) -> GpuResult<Self> {
        let counts = (len / BIN_TILE + buckets) * bins + 1;
        let sums = scan_bytes(counts, ValueWidth::U32).max(scan_bytes(buckets + 1, ValueWidth::U32));
        Ok(Self {
            buffers: [take(8 * len)?, take(8 * len)?],
            ranges: [take(8 * buckets)?, take(8 * buckets)?],
            firsts: take(4 * (buckets + 1))?,
            counts: take(4 * counts)?,
            sums: take(sums)?,
        })
    }

    /// Lines 12, 14 and 16 (or 13, 15 and 18): counts the digits, scans the counts, moves the keys, which are at `from`.
    fn bin(&self, machine: &mut BaselineDevice<'_>, from: u64, level: &BinLevel) -> GpuResult<()> {
        let &BinLevel { to, buckets, shift, bits } = level;
        let (to, ranges) = (self.buffers[to], self.ranges[to]);
        machine.run("bin_tiles", buckets + 1, &[ranges, buckets, self.firsts])?;
        let all = scan(machine, self.firsts, buckets + 1, ValueWidth::U32, self.sums)?;
        let tiles = u64::from(machine.read_u32(all)?);
        let counts = tiles << (2 * bits);
        // One more count, for the end of the last part.
        machine.fill(self.counts + 4 * counts, 0, 4)?;
        let bucket_of = [ranges, buckets, self.firsts, tiles, shift, bits, self.counts];
        machine.run("bin_count", 32 * tiles, &[&[from], &bucket_of[..]].concat())?;
        scan(machine, self.counts, counts + 1, ValueWidth::U32, self.sums)?;
        machine.run("bin_move", 32 * tiles, &[&[from, to], &bucket_of[..]].concat())
    }
}

impl Bins {
    pub(super) fn lay(
        take: &mut TakePiece<'_>,
        options: &RadixBinningOptions,
        size: &PartitionExtent,
    ) -> GpuResult<Self> {
        let (len, batch) = (size.arcs, options.batch(size));
        let half = options.radix_bits / 2;
        // A bucket that continues has more keys than the threshold on both sides; the first bucket always exists.
        let buckets = len.min(batch) / (u64::from(options.threshold) + 1) + 1;
        let bins = 1 << options.radix_bits;
        Ok(Self {
            edges: Side::lay(take, len, buckets, bins)?,
            wedges: Side::lay(take, batch, buckets, bins)?,
            listed: take(4)?,
            closed: take(8)?,
            len,
            bits: half.into(),
            levels: bits(size.numbered.into()).div_ceil(half).into(),
            threshold: options.threshold.into(),
        })
    }

    pub(super) fn candidates(&self) -> u64 {
        self.wedges.buffers[1]
    }

    /// Counts the candidates of a batch that are among `edges`.
    pub(super) fn count(&self, machine: &mut BaselineDevice<'_>, edges: u64, many: u64) -> GpuResult<()> {
        let Self { edges: e, wedges: w, bits, levels, .. } = *self;
        machine.upload(e.ranges[0], cast_slice(&[0, self.len as u32]))?;
        machine.upload(w.ranges[0], cast_slice(&[0, many as u32]))?;
        let (mut buckets, mut edges, mut wedges) = (1, edges, self.candidates());
        for level in 0..levels {
            let (now, next) = (level as usize % 2, (level as usize + 1) % 2);
            let of_level = BinLevel { to: now, buckets, shift: bits * (levels - 1 - level), bits };
            e.bin(machine, edges, &of_level)?;
            w.bin(machine, wedges, &of_level)?;
            (edges, wedges) = (e.buffers[now], w.buffers[now]);
            machine.fill(self.listed, 0, 4)?;
            let last = u64::from(level + 1 == levels);
            let lists = [edges, e.counts, e.firsts, wedges, w.counts, w.firsts];
            let bounds = [buckets, bits, self.threshold, last];
            let out = [e.ranges[next], w.ranges[next], self.listed, self.closed];
            machine.run("bin_parts", (32 * buckets) << (2 * bits), &[&lists[..], &bounds, &out].concat())?;
            buckets = machine.read_u32(self.listed)?.into();
            if buckets == 0 {
                break;
            }
        }
        Ok(())
    }
}
