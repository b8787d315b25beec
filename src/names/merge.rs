//! Merges the names of runs: all distinct ones in order, and for each run which of them it has. Ranges of about equal numbers of names are
//! merged in parallel, each by a heap of the runs' next names. Memory: two buffers and a name for each run that is being merged; for each piece of
//! a run its first name; and the places of pieces, and of chunks of numbers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use trimill_graph::names::{next_name, put_name, shared};
use trimill_system::control::{Control, Unit};
use trimill_system::disk::WaitingBytes;
use trimill_system::memory::SharedBudget;
use trimill_system::{Bytes, Result, parallel};

use super::run::{NameRun, WaitingRuns, damaged, prefix};

const LEAST_BUFFER: u64 = 4 << 10;
const LARGEST_BUFFER: u64 = 256 << 10;

/// Ranges for each one that is merged at a time: several, for load balancing.
const RANGES: u64 = 4;

/// The most bytes that tell where a piece of names is, besides its first name, or a chunk of numbers.
const OF_PIECE: u64 = 128;
/// Bytes of a run and its cursor besides buffers, with the last chunks of numbers of its ranges.
const OF_CURSOR: u64 = 512 + RANGES * OF_PIECE;

/// Bytes of merged names that are put aside together.
const CHUNK: usize = 64 << 10;

/// With at most `FEW_NAMES` names in all runs together there is only one range.
const FEW_NAMES: u64 = 1 << 16;

pub(super) struct Merging<'a> {
    pub(super) waiting: &'a WaitingRuns,
    pub(super) runs: &'a [NameRun],
    pub(super) memory: Bytes,
    pub(super) control: &'a Control,
}

pub(super) struct MergedRange {
    pub(super) count: u64,
    /// The range's distinct names, front-coded.
    pub(super) names: Vec<WaitingBytes>,
    /// For each run the numbers of its names of this range, which begin with 0.
    pub(super) numbers: Vec<Vec<WaitingBytes>>,
}

impl Merging<'_> {
    pub(super) fn least_memory(runs: &[NameRun]) -> Bytes {
        Self::held(runs) + Self::of_range(runs, LEAST_BUFFER)
    }

    /// Bytes of a range: for each run, and two chunks of merged names, since one that is put aside may be copied.
    fn of_range(runs: &[NameRun], buffer: u64) -> Bytes {
        let chunk = (CHUNK + longest(runs)) as u64;
        Bytes(runs.len() as u64 * Self::of_run(runs, buffer) + 2 * chunk)
    }

    /// Bytes that tell where all pieces of names are, and all full chunks of numbers: the longer runs are, the more.
    pub(super) fn held(runs: &[NameRun]) -> Bytes {
        let pieces = runs.iter().flat_map(|run| &run.pieces).map(|piece| OF_PIECE + piece.first.len() as u64);
        let chunks = runs.iter().map(|run| OF_PIECE * u64::from(run.names) / (LEAST_BUFFER / 4));
        Bytes(pieces.chain(chunks).sum())
    }

    /// Bytes for a run with two buffers of `buffer` bytes, one for input (which may keep a partial name), one for numbers.
    fn of_run(runs: &[NameRun], buffer: u64) -> u64 {
        2 * buffer + 3 * longest(runs) as u64 + OF_CURSOR
    }

    pub(super) fn run(&self) -> Result<Vec<MergedRange>> {
        let Self { runs, control, .. } = *self;
        let memory = self.memory.saturating_sub(Self::held(runs));
        let bytes = runs.iter().flat_map(|run| &run.pieces).map(|piece| piece.bytes.length()).sum();
        let task = control.task("sort names", Some(bytes), Unit::Bytes);
        let threads = rayon::current_num_threads() as u64;
        let share = (memory.get() / threads).saturating_sub(2 * CHUNK as u64) / (2 * runs.len().max(1) as u64);
        let buffer = share.clamp(LEAST_BUFFER, LARGEST_BUFFER);
        let of_range = Self::of_range(runs, buffer);
        let budget = SharedBudget::new(memory);
        // Each range takes memory for each run, so there are no more than those that can be merged at a time need.
        let at_a_time = (memory.get() / of_range.get().max(1)).clamp(1, threads);
        let splitters = self.splitters((RANGES * at_a_time) as usize);
        let bound = |i: usize| splitters.get(i).copied();
        parallel::try_map(0..=splitters.len(), |i| {
            control.check()?;
            let _taken = budget.take(of_range);
            let range = [i.checked_sub(1).and_then(bound), bound(i)];
            let merged = self.merge(range, buffer as usize)?;
            task.advance(bytes / (splitters.len() as u64 + 1));
            Ok(merged)
        })
    }

    fn merge(&self, range: [Option<&[u8]>; 2], buffer: usize) -> Result<MergedRange> {
        let Self { waiting, runs, control, .. } = *self;
        let [from, to] = range;
        // All names of the range share the common prefix of its first and its last one.
        let first = from.or_else(|| runs.iter().map(|run| &*run.pieces[0].first).min());
        let last = to.or_else(|| runs.iter().map(|run| &*run.last).max());
        let alike = first.zip(last).map_or(0, |(first, last)| shared(first, last));
        let mut cursors = Vec::with_capacity(runs.len());
        // The next name of each cursor that has one: its prefix after the common one, the name, the cursor.
        let mut heap = BinaryHeap::<Reverse<(u64, Vec<u8>, usize)>>::with_capacity(runs.len());
        for (i, run) in runs.iter().enumerate() {
            let (mut cursor, mut name) = (RunCursor::new(run, range, alike, buffer), Vec::new());
            let mut prefix = cursor.next(&mut name, waiting)?;
            while prefix.is_some() && from.is_some_and(|from| &*name < from) {
                prefix = cursor.next(&mut name, waiting)?;
            }
            heap.extend(prefix.map(|prefix| Reverse((prefix, name, i))));
            cursors.push(cursor);
        }
        let numbers = runs.iter().map(|_| Vec::new()).collect();
        let mut merged = MergedRange { count: 0, names: Vec::new(), numbers };
        // Merged names that are not in a chunk yet, and the last one of them.
        let chunk = || Vec::<u8>::with_capacity(CHUNK + longest(runs) + 8);
        let (mut names, mut last) = (chunk(), Vec::<u8>::new());
        while let Some(mut least) = heap.peek_mut() {
            let Reverse((prefix, name, run)) = &mut *least;
            let (cursor, numbers) = (&mut cursors[*run], &mut merged.numbers[*run]);
            if merged.count == 0 || *name != last {
                put_name(name, shared(name, &last), &mut names);
                last.clear();
                last.extend_from_slice(name);
                merged.count += 1;
                if names.len() >= CHUNK {
                    control.check()?;
                    merged.names.push(waiting.names.put(std::mem::replace(&mut names, chunk()))?);
                }
            }
            cursor.numbers.push((merged.count - 1) as u32);
            if cursor.numbers.len() * size_of::<u32>() >= buffer {
                numbers.push(waiting.put_arcs(&cursor.numbers)?);
                cursor.numbers.clear();
            }
            match cursor.next(name, waiting)? {
                Some(next) => *prefix = next,
                None => drop(PeekMut::pop(least)),
            }
        }
        let numbers = cursors.iter().zip(&mut merged.numbers);
        for (cursor, numbers) in numbers.filter(|(cursor, _)| !cursor.numbers.is_empty()) {
            // Mostly the only chunk.
            numbers.reserve_exact(1);
            numbers.push(waiting.put_arcs(&cursor.numbers)?);
        }
        merged.names.push(waiting.names.put(names)?);
        Ok(merged)
    }

    fn splitters(&self, ranges: usize) -> Vec<&[u8]> {
        let names: u64 = self.runs.iter().map(|run| u64::from(run.names)).sum();
        if names <= FEW_NAMES {
            return Vec::new();
        }
        let mut firsts: Vec<&[u8]> = self.runs.iter().flat_map(|run| &run.pieces).map(|piece| &*piece.first).collect();
        firsts.sort_unstable();
        let mut splitters: Vec<&[u8]> = (1..ranges).map(|i| firsts[i * firsts.len() / ranges]).collect();
        splitters.dedup();
        splitters
    }
}

fn longest(runs: &[NameRun]) -> usize {
    runs.iter().map(|run| run.longest).max().unwrap_or_default()
}

struct RunCursor<'a> {
    run: &'a NameRun,
    to: Option<&'a [u8]>,
    /// The current piece; how many of its bytes were read; the bytes in memory; and where those begin that are not decoded yet.
    piece: usize,
    read: usize,
    bytes: Vec<u8>,
    at: usize,
    buffer: usize,
    /// The length of the range's common prefix.
    alike: usize,
    /// Numbers of merged names that are not in a chunk yet.
    numbers: Vec<u32>,
}

impl<'a> RunCursor<'a> {
    fn new(run: &'a NameRun, [from, to]: [Option<&'a [u8]>; 2], alike: usize, buffer: usize) -> Self {
        let after = from.map_or(1, |from| run.pieces.partition_point(|piece| &*piece.first <= from));
        // Arrays that grow would take up to twice as much. A part of a name stays in `bytes` when more is read.
        let bytes = Vec::with_capacity(buffer + run.longest + 8);
        let numbers = Vec::with_capacity(buffer / size_of::<u32>() + 1);
        Self { run, to, piece: after.max(1) - 1, read: 0, bytes, at: 0, buffer, alike, numbers }
    }

    /// Changes `name` to the next name and returns its prefix, or `None` if there is none in the range.
    fn next(&mut self, name: &mut Vec<u8>, waiting: &WaitingRuns) -> Result<Option<u64>> {
        loop {
            if let Some(at) = next_name(&self.bytes, self.at, name) {
                self.at = at;
                return Ok(self.to.is_none_or(|to| &**name < to).then(|| prefix(name, self.alike)));
            }
            let Some(piece) = self.run.pieces.get(self.piece) else { return Ok(None) };
            let all = piece.bytes.length() as usize;
            if self.read < all {
                self.bytes.drain(..self.at);
                self.at = 0;
                let end = all.min(self.read + self.buffer);
                self.bytes.extend_from_slice(&waiting.names.read(&piece.bytes, self.read..end)?);
                self.read = end;
            } else if self.at < self.bytes.len() {
                return Err(damaged());
            } else {
                (self.piece, self.read) = (self.piece + 1, 0);
            }
        }
    }
}
