//! Runs: distinct names, sorted, and arcs between them.

use std::ops::Range;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use trimill_graph::names::{put_name, shared};
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::mapped::{with_capacity, zeros};
use trimill_system::{Bytes, Error, Result};

/// Pieces of a run, each of which can be read by itself; and the fewest names of a piece.
const PIECES: usize = 256;
const LEAST_PIECE: usize = 512;

const ARCS_AT_ONCE: usize = 1 << 16;

/// Storage for names, and for arcs with numbers, until they are needed.
pub(super) struct WaitingRuns {
    pub(super) names: Overflow,
    pub(super) arcs: Overflow,
}

impl WaitingRuns {
    /// In memory up to these bytes of names and of arcs, then in files in `dir`.
    pub(super) fn new(dir: &Path, names: Bytes, arcs: Bytes) -> Self {
        let [names, arcs] = [names, arcs].map(|most| Overflow::new(dir, MemoryLimit::new(most)));
        Self { names, arcs }
    }

    pub(super) fn put_arcs(&self, values: &[u32]) -> Result<WaitingBytes> {
        self.arcs.put(bytemuck::cast_slice(values).to_vec())
    }
}

/// Appends the values of a chunk of arcs, from memory or disk, to `values`.
pub(super) fn read_arcs(arcs: &Overflow, waiting: &WaitingBytes, values: &mut Vec<u32>) -> Result<()> {
    let bytes = arcs.read_all(waiting)?;
    values.extend(bytes.as_chunks().0.iter().map(|value| u32::from_ne_bytes(*value)));
    Ok(())
}

/// Sorted names, and arcs as pairs of places among them.
pub(super) struct NameRun {
    pub(super) pieces: Vec<NamePiece>,
    pub(super) arcs: Vec<WaitingBytes>,
    pub(super) names: u32,
    pub(super) longest: usize,
    pub(super) last: Box<[u8]>,
}

pub(super) struct NamePiece {
    pub(super) first: Box<[u8]>,
    pub(super) bytes: WaitingBytes,
}

/// The error for a chunk that cannot be decoded although this process wrote it.
pub(super) fn damaged() -> Error {
    Error::resource("names that were written to the work directory are not read as they were")
        .advice("check the disk, or name another one with --work-dir")
}

/// A run being collected. Its arrays have their final size, but untouched pages take no memory.
pub(super) struct RunBuilder {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    most_names: usize,
    /// A hash table of names' numbers plus one, with linear probing; 0 marks a free place.
    table: Vec<u32>,
    arcs: Vec<[u32; 2]>,
}

impl RunBuilder {
    /// At most `bytes` bytes: half for the bytes of names, a quarter for their ends and the table, a quarter for arcs.
    pub(super) fn new(bytes: u64) -> Self {
        let bytes = bytes as usize;
        // An end, and up to four places of the table.
        let most_names = bytes / 4 / 20;
        Self {
            bytes: with_capacity(bytes / 2),
            ends: with_capacity(most_names),
            most_names,
            table: zeros((2 * most_names).next_power_of_two()),
            arcs: with_capacity(bytes / 4 / 8),
        }
    }

    pub(super) fn fits(&self, tail: &[u8], head: &[u8]) -> bool {
        self.arcs.len() < self.arcs.capacity()
            && self.ends.len() + 2 <= self.most_names
            && self.bytes.len() + tail.len() + head.len() <= self.bytes.capacity()
    }

    pub(super) fn add(&mut self, tail: &[u8], head: &[u8]) {
        let arc = [self.number(tail), self.number(head)];
        self.arcs.push(arc);
    }

    fn range(&self, number: u32) -> Range<usize> {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        begin as usize..self.ends[number as usize] as usize
    }

    fn name(&self, number: u32) -> &[u8] {
        &self.bytes[self.range(number)]
    }

    fn number(&mut self, name: &[u8]) -> u32 {
        let mask = self.table.len() - 1;
        let mut at = xxh3_64(name) as usize & mask;
        loop {
            match self.table[at] {
                0 => break,
                known if self.name(known - 1) == name => return known - 1,
                _ => at = (at + 1) & mask,
            }
        }
        let number = self.ends.len() as u32;
        self.table[at] = number + 1;
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len() as u32);
        number
    }

    /// The run, if it has an arc; resets the builder.
    pub(super) fn finish(&mut self, waiting: &WaitingRuns) -> Result<Option<NameRun>> {
        if self.arcs.is_empty() {
            return Ok(None);
        }
        let names = self.ends.len() as u32;
        let alike = (1..names).fold(self.name(0), |alike, i| &alike[..shared(alike, self.name(i))]).len();
        let mut order: Vec<(u64, u32)> = (0..names).map(|i| (prefix(self.name(i), alike), i)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.name(a.1).cmp(self.name(b.1))));
        let mut place = vec![0; order.len()];
        let of_piece = order.len().div_ceil(PIECES).max(LEAST_PIECE);
        let mut pieces = Vec::with_capacity(order.len().div_ceil(of_piece));
        for names in order.chunks(of_piece) {
            let mut bytes = Vec::new();
            let (mut before, first): (&[u8], _) = (&[], (pieces.len() * of_piece) as u32);
            for (&(_, number), to) in names.iter().zip(first..) {
                let name = self.name(number);
                put_name(name, shared(name, before), &mut bytes);
                before = name;
                place[number as usize] = to;
            }
            let bytes = waiting.names.put(bytes)?;
            pieces.push(NamePiece { first: self.name(names[0].1).into(), bytes });
        }
        let arcs = self.arcs.chunks(ARCS_AT_ONCE).map(|arcs| {
            let places: Vec<u32> = arcs.as_flattened().iter().map(|&number| place[number as usize]).collect();
            waiting.put_arcs(&places)
        });
        let arcs = arcs.collect::<Result<_>>()?;
        let longest = (0..names).map(|i| self.range(i).len()).max().unwrap_or_default();
        let last = order.last().map_or(&[][..], |&(_, last)| self.name(last)).into();
        let run = NameRun { pieces, arcs, names, longest, last };
        self.bytes.clear();
        self.ends.clear();
        self.arcs.clear();
        self.table.fill(0);
        Ok(Some(run))
    }
}

/// The bytes of a name after the common prefix of length `alike`, as a number that sorts in the same order.
pub(super) fn prefix(name: &[u8], alike: usize) -> u64 {
    let (mut bytes, rest) = ([0; 8], name.get(alike..).unwrap_or_default());
    let some = rest.len().min(8);
    bytes[..some].copy_from_slice(&rest[..some]);
    u64::from_be_bytes(bytes)
}
