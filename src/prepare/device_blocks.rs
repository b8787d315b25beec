//! Writes the file blocks that a device encodes, while it encodes the next ones.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use trimill_kernels::prepare::{FileBlocks, RankedRows};
use xxhash_rust::xxh3::xxh3_64;

use super::starting::Stop;
use crate::orient::Write;
use trimill_graph::writing::RowsWritten;
use trimill_graph::{BlockEntry, DegreeRun};
use trimill_system::control::Progress;
use trimill_system::mapped::zeros;
use trimill_system::{Error, Result};

/// Bytes of file blocks that are copied from the device at a time; there are two buffers.
const BATCH: u64 = 32 << 20;

const PER_TURN: usize = 1 << 16;

/// Bytes of consecutive file blocks that a thread writes.
const PART: u64 = 1 << 20;

/// Writes all file blocks; `starts` has the first rank of each, and the end.
pub(super) fn write_all(
    rows: &mut RankedRows<'_>,
    degrees: &[DegreeRun],
    starts: &[u32],
    write: &Write<'_>,
    progress: &Progress,
) -> Result<RowsWritten, Stop> {
    let (mut written, mut first, mut arc) = (RowsWritten::default(), 0, 0);
    while first + 1 < starts.len() {
        let mut blocks = rows.cut(starts, first)?;
        let begin = written.block_bytes;
        let place = |position: u64, bytes: Cow<'_, [u8]>| write(begin + position, bytes);
        let entries = write_blocks(&mut blocks, starts, &place, progress)?;
        written.add(entries, blocks.positions.last().copied().unwrap_or(0), arc);
        arc += blocks.first_arcs.last().copied().unwrap_or(0);
        first = blocks.blocks.end;
    }
    let mut lengths: Vec<u32> = zeros(degrees.iter().map(|run| run.vertices as usize).sum());
    rows.lengths(&mut lengths)?;
    (written.probes, written.longest_row) = sums(degrees, &lengths);
    Ok(written)
}

/// The sum over all arcs of the lengths of their heads' rows, and the longest row. A vertex is the head of (degree - length of its row) arcs.
fn sums(degrees: &[DegreeRun], mut lengths: &[u32]) -> (u64, u32) {
    let (mut probes, mut longest) = (0, 0);
    for &DegreeRun { degree, vertices } in degrees {
        let (of_run, rest) = lengths.split_at(vertices as usize);
        lengths = rest;
        let one = |&length: &u32| (u64::from(length) * u64::from(degree.saturating_sub(length)), length);
        let add = |a: (u64, u32), b: (u64, u32)| (a.0 + b.0, a.1.max(b.1));
        let of_run = of_run.par_chunks(PER_TURN).map(|lengths| lengths.iter().map(one).fold((0, 0), add));
        (probes, longest) = add((probes, longest), of_run.reduce(|| (0, 0), add));
    }
    (probes, longest)
}

/// Writes some file blocks, with positions and arcs counted from the first one.
fn write_blocks(
    blocks: &mut FileBlocks<'_, '_>,
    starts: &[u32],
    write: &Write<'_>,
    progress: &Progress,
) -> Result<Vec<BlockEntry>, Stop> {
    let batch = BatchOfBlocks {
        starts: &starts[blocks.blocks.start..],
        positions: &blocks.positions.clone(),
        arcs: &blocks.first_arcs.clone(),
    };
    let many = batch.positions.len() - 1;
    let longest = batch.positions.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let most = BATCH.min(batch.positions[many]).max(longest).min(blocks.most_bytes());
    let words = most.div_ceil(8) as usize;
    let (mut next, mut encoded) = (blocks.buffer(words)?, blocks.buffer(words)?);
    let (mut entries, mut done) = (Vec::with_capacity(many), 0..0);
    while done.start < many {
        progress.check()?;
        let to_encode = done.end..batch.fitting(done.end, most);
        if to_encode.is_empty() && done.end < many {
            return Err(Stop::Failed(Error::defect("a file block that is larger than all memory for file blocks")));
        }
        let mut written = Ok(Vec::new());
        let of_next = &mut bytemuck::cast_slice_mut(&mut next)[..batch.bytes(&to_encode)];
        let of_encoded = &bytemuck::cast_slice(&encoded)[..batch.bytes(&done)];
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| written = batch.write(done.clone(), of_encoded, write, progress));
            if to_encode.is_empty() { Ok(()) } else { blocks.encode(to_encode.clone(), of_next) }
        })?;
        entries.extend(written?);
        done = to_encode;
        std::mem::swap(&mut next, &mut encoded);
    }
    Ok(entries)
}

struct BatchOfBlocks<'a> {
    starts: &'a [u32],
    positions: &'a [u64],
    arcs: &'a [u64],
}

impl BatchOfBlocks<'_> {
    /// The end of the blocks from `first` on that together take at most `bytes` bytes.
    fn fitting(&self, first: usize, bytes: u64) -> usize {
        self.positions.partition_point(|&position| position <= self.positions[first] + bytes) - 1
    }

    fn bytes(&self, blocks: &Range<usize>) -> usize {
        (self.positions[blocks.end] - self.positions[blocks.start]) as usize
    }

    fn write(
        &self,
        blocks: Range<usize>,
        bytes: &[u8],
        write: &Write<'_>,
        progress: &Progress,
    ) -> Result<Vec<BlockEntry>> {
        let (mut parts, mut from) = (Vec::new(), blocks.start);
        while from < blocks.end {
            let to = self.fitting(from, PART).clamp(from + 1, blocks.end);
            parts.push(from..to);
            from = to;
        }
        let begin = self.positions[blocks.start];
        let of = |blocks: Range<usize>| {
            &bytes[(self.positions[blocks.start] - begin) as usize..(self.positions[blocks.end] - begin) as usize]
        };
        let next = AtomicUsize::new(0);
        let write_part = |part: &Range<usize>| {
            let entry = |block: usize| BlockEntry {
                first_rank: self.starts[block].into(),
                first_arc: self.arcs[block],
                position: self.positions[block],
                checksum: xxh3_64(of(block..block + 1)),
            };
            let entries: Vec<BlockEntry> = part.clone().map(entry).collect();
            write(self.positions[part.start], of(part.clone()).into())?;
            progress.advance(self.arcs[part.end] - self.arcs[part.start]);
            Ok(entries)
        };
        // A broadcast, not a parallel loop: a thread that waits in `write` for an inner loop would begin another part, which waits for that `write`.
        let written = rayon::broadcast(|_| {
            let mine = std::iter::from_fn(|| parts.get(next.fetch_add(1, Ordering::Relaxed)));
            mine.map(write_part).collect::<Result<Vec<_>>>()
        });
        let mut entries =
            written.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().flatten().collect::<Vec<_>>();
        entries.sort_unstable_by_key(|entry| entry.position);
        Ok(entries)
    }
}
