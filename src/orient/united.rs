//! Makes the rows of a directed graph symmetric: each is united with the tails of the arcs that end at its vertex. Loops are dropped.
//!
//! Input: [`AdjacencyRows`] that ascend strictly. Output: [`AdjacencyRows`] in which every arc has its reverse.
//!
//! 1. The rows are read once, and their arcs are sorted by heads ([`super::reversed`]).
//! 2. The tails of each head are encoded. The rows are read again to find the united lengths.
//! 3. A row is united with its tails whenever it is read.
//!
//! The rows themselves are not copied. Memory: the encoded tails, 0.2 to 4 bytes for each, within a share of the budget, and beyond it in a
//! file; 12 bytes an id for lengths.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::reversed::{ReversedArcs, SortedTails};
use super::waiting::{decode_row, encode_row};
use crate::clean::Shares;
use crate::clean::workspace::Pool;
use trimill_graph::leb128::{numbers, put};
use trimill_input::rows::{AdjacencyRows, RowChunk};
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, Unit};
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::error::{Error, Result};
use trimill_system::mapped::zeros;
use trimill_system::parallel;

/// The fewest arcs and ids of a chunk, unless the graph has fewer.
const LEAST: u64 = 1 << 20;

/// Rows that are read at a time, unless the rows say where they can be read from.
const ROWS: usize = 256;

/// Rows that are taken together, and the parts in which they are read.
struct PartedChunk {
    whole: RowChunk,
    parts: Vec<RowChunk>,
}

/// Rows united with their reverse.
pub(super) struct UnitedRows<'a> {
    rows: Box<dyn AdjacencyRows + 'a>,
    /// The lengths of the input's rows.
    given: Vec<u32>,
    chunks: Vec<PartedChunk>,
    /// The buckets of each chunk, and the first id of each bucket; one more at the end.
    of_chunk: Vec<Range<usize>>,
    first_ids: Vec<u32>,
    /// The tails of the heads in each bucket: for each id their number, then these, as [`encode_row`] encodes them.
    tails: Vec<WaitingBytes>,
    overflow: Overflow,
    lengths: Vec<u32>,
    pub(super) loops: u64,
}

impl<'a> UnitedRows<'a> {
    /// `None`: the rows do not ascend, or there is too little memory to sort a bucket.
    pub(super) fn new(
        rows: Box<dyn AdjacencyRows + 'a>,
        given: Vec<u32>,
        shares: &Shares<'_>,
        control: &Control,
    ) -> Result<Option<Self>> {
        let chunks = chunks(&*rows, &given, shares);
        let arcs: u64 = given.iter().map(|&length| u64::from(length)).sum();
        let task = control.task("reverse arcs", Some(2 * arcs), Unit::Arcs);
        let (reversed, sizes) = ReversedArcs::new(chunks.iter().map(|chunk| &chunk.whole), given.len(), shares);
        let sound = AtomicBool::new(true);
        parallel::try_each_with(&chunks, Vec::new, |row: &mut Vec<u32>, chunk| {
            control.check()?;
            let mut staged = reversed.stage();
            each_row(&*rows, &given, chunk, row, &mut |id, row| {
                let ascends = reversed.add(id, row, &mut staged)?;
                if !ascends {
                    sound.store(false, Ordering::Relaxed);
                }
                Ok(ascends)
            })?;
            reversed.give_back(staged);
            task.advance(chunk.whole.arcs.end - chunk.whole.arcs.start);
            Ok(())
        })?;
        if !sound.load(Ordering::Relaxed) {
            tracing::info!("the arcs are sorted: rows do not ascend");
            return Ok(None);
        }
        reversed.finish()?;
        let (held, most) = reversed.memory();
        tracing::debug!("{held} of reversed arcs wait in memory, of {most}");
        let (mut lengths, pool): (Vec<u32>, _) = (zeros(given.len()), Pool::of_sorting(shares));
        let (overflow, limit) = (Overflow::new(shares.dir), MemoryLimit::new(Bytes(shares.tails())));
        let (mut lengths_left, mut first, mut of_chunk) = (&mut lengths[..], 0, Vec::with_capacity(chunks.len()));
        let mut work = Vec::new();
        for (chunk, many) in chunks.iter().zip(sizes) {
            let ids = &chunk.whole.ids;
            let (own, after) = std::mem::take(&mut lengths_left).split_at_mut((ids.end - ids.start) as usize);
            of_chunk.push(first..first + many);
            let uniting = Uniting {
                reversed: &reversed,
                pool: &pool,
                bucket: first,
                sorted: None,
                next: ids.start as u32,
                lengths: own.iter_mut(),
                tails: Vec::with_capacity(many),
                encoder: TailEncoder::default(),
            };
            work.push((chunk, uniting));
            (lengths_left, first) = (after, first + many);
        }
        let united = parallel::try_map_with(work, Vec::new, |row: &mut Vec<u32>, (chunk, mut uniting)| {
            control.check()?;
            let mut fits = true;
            let keep = |bytes| overflow.put(bytes, &limit);
            each_row(&*rows, &given, chunk, row, &mut |id, row| {
                while fits && uniting.next < id {
                    fits = uniting.put(&[], &keep)?;
                }
                fits = fits && uniting.put(row, &keep)?;
                Ok(fits)
            })?;
            while fits && u64::from(uniting.next) < chunk.whole.ids.end {
                fits = uniting.put(&[], &keep)?;
            }
            uniting.end_bucket(&keep)?;
            task.advance(chunk.whole.arcs.end - chunk.whole.arcs.start);
            Ok(Some(uniting.tails).filter(|_| fits))
        })?;
        let Some(tails) = united.into_iter().collect::<Option<Vec<_>>>() else {
            tracing::info!("the arcs are sorted: the host's budget is too small for the arcs of a few thousand heads");
            return Ok(None);
        };
        let (loops, tails) = (reversed.loops(), tails.into_iter().flatten().collect());
        let first_ids = reversed.first_ids;
        Ok(Some(Self { rows, given, chunks, of_chunk, first_ids, tails, overflow, lengths, loops }))
    }

    fn chunk_of(&self, id: u64) -> usize {
        self.chunks.partition_point(|chunk| chunk.whole.ids.start <= id).saturating_sub(1)
    }

    /// The tails of a bucket.
    fn tails_of(&self, bucket: usize) -> Result<Cow<'_, [u8]>> {
        self.tails.get(bucket).map_or(Ok(Cow::default()), |tails| self.overflow.read_all(tails))
    }
}

impl AdjacencyRows for UnitedRows<'_> {
    fn lengths(&self, _: bool, _: &Control) -> Result<Option<Vec<u32>>> {
        Ok(Some(self.lengths.clone()))
    }

    fn starts(&self) -> Option<Vec<u64>> {
        Some(self.chunks.iter().map(|chunk| chunk.whole.ids.start).collect())
    }

    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        let i = self.chunk_of(chunk.ids.start);
        let (mut bucket, mut next) = (self.of_chunk[i].start, chunk.ids.start as u32);
        let (mut bytes, mut at) = (self.tails_of(bucket)?, 0);
        let (mut tails, mut united) = (Vec::new(), Vec::new());
        let mut go = true;
        let mut one = |id: u32, row: &[u32], take: &mut dyn FnMut(&mut [u32]) -> Result<bool>| {
            if id == self.first_ids[bucket + 1] {
                bucket += 1;
                (bytes, at) = (self.tails_of(bucket)?, 0);
            }
            at += read_tails(&bytes[at..], &mut tails)?;
            unite(row, &tails, id, &mut united);
            if go && !united.is_empty() {
                go = take(&mut united)?;
            }
            Ok::<_, Error>(go)
        };
        each_row(&*self.rows, &self.given, &self.chunks[i], part, &mut |id, row| {
            while next < id {
                one(next, &[], take)?;
                next += 1;
            }
            next += 1;
            one(id, row, take)
        })?;
        while u64::from(next) < chunk.ids.end {
            if !one(next, &[], take)? {
                break;
            }
            next += 1;
        }
        Ok(())
    }
}

/// Divides rows into chunks of at least [`LEAST`] arcs and ids, so few that their buckets have room for staging areas.
fn chunks(rows: &dyn AdjacencyRows, lengths: &[u32], shares: &Shares<'_>) -> Vec<PartedChunk> {
    let n = lengths.len() as u64;
    let all: u64 = n + lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
    let least = LEAST.max(all / (shares.staged() / 2).max(1));
    let starts = rows.starts().unwrap_or_else(|| (0..n).step_by(ROWS).collect());
    let (mut chunks, mut parts, mut arc) = (Vec::new(), Vec::new(), 0);
    let mut whole = RowChunk { ids: 0..0, arcs: 0..0 };
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(n);
        let arcs = lengths[start as usize..end as usize].iter().map(|&length| u64::from(length)).sum::<u64>();
        parts.push(RowChunk { ids: start..end, arcs: arc..arc + arcs });
        arc += arcs;
        (whole.ids.end, whole.arcs.end) = (end, arc);
        // An id counts, too: those without a row have tails.
        if end == n || end - whole.ids.start + arc - whole.arcs.start >= least {
            let next = RowChunk { ids: end..end, arcs: arc..arc };
            chunks.push(PartedChunk { whole: std::mem::replace(&mut whole, next), parts: std::mem::take(&mut parts) });
        }
    }
    chunks
}

/// Calls `take` with each row of a chunk that is not empty, until it returns false.
fn each_row(
    rows: &dyn AdjacencyRows,
    lengths: &[u32],
    chunk: &PartedChunk,
    memory: &mut Vec<u32>,
    take: &mut dyn FnMut(u32, &[u32]) -> Result<bool>,
) -> Result<()> {
    let (mut id, mut row, mut go) = (chunk.whole.ids.start as usize, Vec::new(), true);
    let end = chunk.whole.ids.end as usize;
    for part in &chunk.parts {
        if !go {
            break;
        }
        rows.read(part, memory, &mut |part| {
            let mut rest = &part[..];
            while !rest.is_empty() {
                while id < end && lengths[id] == 0 {
                    id += 1;
                }
                let Some(&length) = lengths[..end].get(id) else { return Ok(false) };
                let (now, after) = rest.split_at(rest.len().min(length as usize - row.len()));
                row.extend_from_slice(now);
                rest = after;
                if row.len() == length as usize {
                    go = take(id as u32, &row)?;
                    if !go {
                        return Ok(false);
                    }
                    row.clear();
                    id += 1;
                }
            }
            Ok(true)
        })?;
    }
    Ok(())
}

/// The rows of a chunk while they are united with their tails, one id after another.
struct Uniting<'a> {
    reversed: &'a ReversedArcs,
    pool: &'a Pool,
    bucket: usize,
    /// The tails of the bucket.
    sorted: Option<SortedTails<'a>>,
    next: u32,
    /// The lengths of rows that are still to be filled.
    lengths: std::slice::IterMut<'a, u32>,
    /// The encoded tails of each bucket so far.
    tails: Vec<WaitingBytes>,
    encoder: TailEncoder,
}

/// Keeps encoded tails.
type Keep<'a> = dyn Fn(Vec<u8>) -> Result<WaitingBytes> + 'a;

impl Uniting<'_> {
    /// Unites the row of the next id with its tails. False: there is too little memory for the bucket.
    fn put(&mut self, row: &[u32], keep: &Keep<'_>) -> Result<bool> {
        let (id, first_ids) = (self.next, &self.reversed.first_ids);
        if self.sorted.is_some() && id == first_ids[self.bucket + 1] {
            self.end_bucket(keep)?;
        }
        if self.sorted.is_none() {
            self.sorted = self.reversed.take(self.bucket, self.pool)?;
        }
        let Some(sorted) = &mut self.sorted else { return Ok(false) };
        if let Some(length) = self.lengths.next() {
            *length = self.encoder.put(id, row, sorted.of(id - first_ids[self.bucket]));
        }
        self.next += 1;
        Ok(true)
    }

    /// Keeps the encoded tails of the bucket, and begins the next one.
    fn end_bucket(&mut self, keep: &Keep<'_>) -> Result<()> {
        self.sorted = None;
        let mut bytes = std::mem::take(&mut self.encoder.bytes);
        bytes.shrink_to_fit();
        self.tails.push(keep(bytes)?);
        self.bucket += 1;
        Ok(())
    }
}

/// Encodes the tails of heads, one head after another.
#[derive(Default)]
struct TailEncoder {
    bytes: Vec<u8>,
    encoded: Vec<u8>,
}

impl TailEncoder {
    /// Adds the tails of the next head, whose row is `row`; returns the length of both together.
    fn put(&mut self, id: u32, row: &[u32], tails: &mut [u32]) -> u32 {
        let length = united_length(row, tails, id);
        put(tails.len() as u32, &mut self.bytes);
        if !tails.is_empty() {
            encode_row(tails, &mut self.encoded);
            self.bytes.extend_from_slice(&self.encoded);
        }
        length
    }
}

/// Reads the tails of the next head; returns how many bytes they take.
fn read_tails(bytes: &[u8], tails: &mut Vec<u32>) -> Result<usize> {
    // They are as `TailEncoder` writes them.
    let wrong = |_| Error::defect("tails that cannot be decoded");
    let mut many = [0];
    let taken = numbers(bytes, &mut many).map_err(wrong)?;
    tails.resize(many[0] as usize, 0);
    let mut rest = &bytes[taken..];
    if many[0] > 0 {
        rest = decode_row(rest, tails).map_err(wrong)?;
    }
    let mut least = 0;
    for tail in tails {
        *tail += least;
        least = *tail + 1;
    }
    Ok(bytes.len() - rest.len())
}

/// The numbers of both ascending lists, but for `id`, ascending.
fn unite(row: &[u32], tails: &[u32], id: u32, united: &mut Vec<u32>) {
    united.clear();
    united.resize(row.len() + tails.len(), 0);
    let (mut i, mut j, mut end) = (0, 0, 0);
    while i < row.len() && j < tails.len() {
        let (a, b) = (row[i], tails[j]);
        united[end] = a.min(b);
        // A loop is no tail, so only the row can have it.
        end += usize::from(a.min(b) != id);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    for &head in &row[i..] {
        united[end] = head;
        end += usize::from(head != id);
    }
    united[end..end + tails.len() - j].copy_from_slice(&tails[j..]);
    united.truncate(end + tails.len() - j);
}

/// How many numbers [`unite`] makes of them.
fn united_length(row: &[u32], tails: &[u32], id: u32) -> u32 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < row.len() && j < tails.len() {
        let (a, b) = (row[i], tails[j]);
        both += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    (row.len() + tails.len() - both - usize::from(row.binary_search(&id).is_ok())) as u32
}
