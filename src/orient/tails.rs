//! The tails of the arcs to each vertex of a directed graph. Input: strictly ascending [`AdjacencyRows`]. Output: the encoded tails of all heads or,
//! if they fit neither in memory nor on disk, of a band of consecutive ids, so that the rows are read once for each band. The arcs of the rows are
//! sorted by head ([`super::reversed`]); then each head's tails are encoded, and the heads' rows read again if the lengths of united rows are wanted.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::reversed::{Heads, ReversedArcs, SortedTails, without_room};
use super::row_pass::chunks_at;
use super::waiting::{decode_row, encode_row};
use crate::clean::Shares;
use trimill_graph::leb128::{numbers, put};
use trimill_input::rows::{AdjacencyRows, RowChunk};
use trimill_system::control::{Control, Task, Unit};
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::memory::SharedBudget;
use trimill_system::{Bytes, Error, Result, parallel};

/// The fewest arcs and ids of a chunk, unless the graph has fewer.
const LEAST: u64 = 1 << 20;

const REVERSE: &str = "reverse arcs";
const REVERSE_AGAIN: &str = "reverse more arcs";

/// Rows that are read at a time, unless the rows say where they can be read from.
const ROWS: usize = 256;

pub(super) struct PartedChunk {
    pub(super) whole: RowChunk,
    parts: Vec<RowChunk>,
}

pub(super) struct RowsToReverse<'a> {
    rows: Box<dyn AdjacencyRows + 'a>,
    lengths: Vec<u32>,
    pub(super) chunks: Vec<PartedChunk>,
    shares: Shares<'a>,
}

#[derive(Default)]
pub(super) struct BandTails {
    /// The chunks of the band's ids.
    pub(super) chunks: Range<usize>,
    /// The buckets of each chunk; the first id of each bucket, and the end.
    of_chunk: Vec<Range<usize>>,
    first_ids: Vec<u32>,
    /// The tails of each bucket's heads: for each id their number, then the tails as [`encode_row`] encodes them.
    tails: Vec<WaitingBytes>,
    overflow: Overflow,
    pub(super) loops: u64,
}

impl<'a> RowsToReverse<'a> {
    pub(super) fn new(rows: Box<dyn AdjacencyRows + 'a>, lengths: Vec<u32>, shares: Shares<'a>) -> Self {
        let chunks = chunks(&*rows, &lengths, &shares);
        Self { rows, lengths, chunks, shares }
    }

    /// The tails of the heads in `chunks`, or only in the first of these, unless `heads` were taken before. `united` gets the length of each head's
    /// row united with its tails. `None`: the rows do not ascend, or there is too little memory to sort a bucket.
    pub(super) fn tails(
        &self,
        chunks: Range<usize>,
        united: Option<&mut [u32]>,
        control: &Control,
    ) -> Result<Option<BandTails>> {
        let all: u64 = self.chunks.last().map_or(0, |chunk| chunk.whole.arcs.end);
        let (heads, task, arcs) = match &united {
            Some(_) if chunks.start == 0 => (Heads::All, REVERSE, 2 * all),
            Some(_) => (Heads::Next, REVERSE_AGAIN, 2 * all),
            None => (Heads::SameAgain, REVERSE_AGAIN, all),
        };
        let task = control.task(task, Some(arcs), Unit::Arcs);
        let Some(reversed) = self.reversed(&self.chunks[chunks.clone()], heads, &task)? else {
            return Ok(None);
        };
        let chunks = chunks.start..chunks.start + reversed.taken();
        let (held, most) = (reversed.overflow.limit.held(), reversed.overflow.limit.most());
        tracing::debug!(
            "{held} of reversed arcs wait in memory, of {most}; {} of {} chunks",
            chunks.end,
            self.chunks.len()
        );
        let shares = &self.shares;
        let limit = MemoryLimit::new(most.min(Bytes(shares.tails())));
        let (budget, overflow) = (shares.sorting_budget(), Overflow::new(shares.space.dir, limit));
        let measures = united.is_some();
        let mut lengths = united.unwrap_or_default();
        let mut work = Vec::new();
        for (chunk, buckets) in self.chunks[chunks.clone()].iter().zip(&reversed.of_chunk) {
            let ids = &chunk.whole.ids;
            let many = if measures { ids.end - ids.start } else { 0 };
            let (own, after) = std::mem::take(&mut lengths).split_at_mut(many as usize);
            let uniting = Uniting {
                reversed: &reversed,
                budget: &budget,
                overflow: &overflow,
                bucket: buckets.start,
                sorted: None,
                lengths: own.iter_mut(),
                tails: Vec::with_capacity(buckets.len()),
                loops: 0,
                bytes: Vec::new(),
                encoded: Vec::new(),
            };
            work.push((chunk, uniting));
            lengths = after;
        }
        let united = parallel::try_map_with(work, Vec::new, |row: &mut Vec<u32>, (chunk, mut uniting)| {
            control.check()?;
            let mut fits = true;
            let mut put = |id: u32, row: &[u32]| {
                fits = uniting.put(id, row)?;
                Ok(fits)
            };
            if measures {
                self.each_row(chunk, row, &mut put)?;
                task.advance(chunk.whole.arcs.end - chunk.whole.arcs.start);
            } else {
                for id in chunk.whole.ids.clone() {
                    if !put(id as u32, &[])? {
                        break;
                    }
                }
            }
            uniting.end_bucket()?;
            Ok(Some((uniting.tails, uniting.loops)).filter(|_| fits))
        })?;
        let Some(united) = united.into_iter().collect::<Option<Vec<_>>>() else {
            tracing::info!("the arcs are sorted: the host's budget is too small for the arcs of a few thousand heads");
            return Ok(None);
        };
        let (mut loops, mut tails) = (0, Vec::new());
        for (of_chunk, loops_of_chunk) in united {
            tails.extend(of_chunk);
            loops += loops_of_chunk;
        }
        let ReversedArcs { of_chunk, first_ids, .. } = reversed;
        Ok(Some(BandTails { chunks, of_chunk, first_ids, tails, overflow, loops }))
    }

    /// The arcs of all rows to heads in `chunks`. `None`: the rows do not ascend.
    fn reversed(&self, chunks: &[PartedChunk], heads: Heads, task: &Task) -> Result<Option<ReversedArcs>> {
        let chunks = chunks.iter().map(|chunk| &chunk.whole);
        let reversed = ReversedArcs::new(chunks, self.lengths.len(), heads, &self.shares)?;
        let sound = AtomicBool::new(true);
        parallel::try_each_with(&self.chunks, Vec::new, |row: &mut Vec<u32>, chunk| {
            task.check()?;
            reversed.with_stage(|staged| {
                self.each_row(chunk, row, &mut |id, row| {
                    let ascends = reversed.add(id, row, staged)?;
                    if !ascends {
                        sound.store(false, Ordering::Relaxed);
                    }
                    Ok(ascends)
                })
            })?;
            task.advance(chunk.whole.arcs.end - chunk.whole.arcs.start);
            Ok(())
        })?;
        if !sound.load(Ordering::Relaxed) {
            tracing::info!("the arcs are sorted: rows do not ascend");
            return Ok(None);
        }
        reversed.finish()?;
        Ok(Some(reversed))
    }

    /// Calls `take` with each id of a chunk and its row, which may be empty, until it returns false.
    pub(super) fn each_row(
        &self,
        chunk: &PartedChunk,
        memory: &mut Vec<u32>,
        take: &mut dyn FnMut(u32, &[u32]) -> Result<bool>,
    ) -> Result<()> {
        let Self { rows, lengths, .. } = self;
        let (mut id, mut row, mut go) = (chunk.whole.ids.start as usize, Vec::new(), true);
        let end = chunk.whole.ids.end as usize;
        for part in &chunk.parts {
            if !go {
                break;
            }
            rows.read(part, memory, &mut |part| {
                let mut rest = &part[..];
                while !rest.is_empty() {
                    while go && id < end && lengths[id] == 0 {
                        go = take(id as u32, &[])?;
                        id += 1;
                    }
                    let Some(&length) = lengths[..end].get(id).filter(|_| go) else { return Ok(false) };
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
        while go && id < end {
            go = take(id as u32, &[])?;
            id += 1;
        }
        Ok(())
    }
}

impl BandTails {
    pub(super) fn buckets(&self, chunk: usize) -> Range<usize> {
        self.of_chunk[chunk - self.chunks.start].clone()
    }

    pub(super) fn end_of(&self, bucket: usize) -> u32 {
        self.first_ids[bucket + 1]
    }

    pub(super) fn of(&self, bucket: usize) -> Result<Cow<'_, [u8]>> {
        self.tails.get(bucket).map_or(Ok(Cow::default()), |tails| self.overflow.read_all(tails))
    }
}

/// Divides rows into chunks of at least [`LEAST`] arcs and ids, so few that their buckets have room for staging areas.
fn chunks(rows: &dyn AdjacencyRows, lengths: &[u32], shares: &Shares<'_>) -> Vec<PartedChunk> {
    let n = lengths.len() as u64;
    let all: u64 = n + lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
    let least = LEAST.max(all / (shares.staged() / 2).max(1));
    let starts = rows.starts().unwrap_or_else(|| (0..n).step_by(ROWS).collect());
    let (mut chunks, mut parts) = (Vec::new(), Vec::new());
    let mut whole = RowChunk { ids: 0..0, arcs: 0..0 };
    for part in chunks_at(&starts, lengths) {
        let (end, arc) = (part.ids.end, part.arcs.end);
        parts.push(part);
        (whole.ids.end, whole.arcs.end) = (end, arc);
        // Ids count, too: those without a row have tails.
        if end == n || end - whole.ids.start + arc - whole.arcs.start >= least {
            let next = RowChunk { ids: end..end, arcs: arc..arc };
            chunks.push(PartedChunk { whole: std::mem::replace(&mut whole, next), parts: std::mem::take(&mut parts) });
        }
    }
    chunks
}

/// The rows of a chunk while they are united with their tails, id by id.
struct Uniting<'a> {
    reversed: &'a ReversedArcs,
    budget: &'a SharedBudget,
    overflow: &'a Overflow,
    bucket: usize,
    sorted: Option<SortedTails<'a>>,
    lengths: std::slice::IterMut<'a, u32>,
    tails: Vec<WaitingBytes>,
    loops: u64,
    /// The current bucket's encoded tails so far, and those of a head.
    bytes: Vec<u8>,
    encoded: Vec<u8>,
}

impl Uniting<'_> {
    /// Unites the row of an id with its tails; called with all ids of the chunk, in order. False: too little memory for the bucket.
    fn put(&mut self, id: u32, row: &[u32]) -> Result<bool> {
        let first_ids = &self.reversed.first_ids;
        if self.sorted.is_some() && id == first_ids[self.bucket + 1] {
            self.end_bucket()?;
        }
        if self.sorted.is_none() {
            self.sorted = self.reversed.take(self.bucket, self.budget)?;
        }
        let Some(sorted) = &mut self.sorted else { return Ok(false) };
        let tails = sorted.of(id - first_ids[self.bucket])?;
        if let Some(length) = self.lengths.next() {
            let loops = u32::from(row.binary_search(&id).is_ok());
            self.loops += u64::from(loops);
            *length = united_length(row, tails) - loops;
        }
        put(tails.len() as u32, &mut self.bytes);
        if !tails.is_empty() {
            encode_row(tails, &mut self.encoded);
            self.bytes.extend_from_slice(&self.encoded);
        }
        Ok(true)
    }

    fn end_bucket(&mut self) -> Result<()> {
        self.sorted = None;
        let bytes = std::mem::take(&mut self.bytes);
        self.tails.push(self.overflow.put(bytes).map_err(without_room)?);
        self.bucket += 1;
        Ok(())
    }
}

/// Decodes the tails of the next head; returns how many bytes they take.
pub(super) fn read_tails(bytes: &[u8], tails: &mut Vec<u32>) -> Result<usize> {
    // Cannot fail, since `Uniting` wrote them.
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

fn united_length(row: &[u32], tails: &[u32]) -> u32 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < row.len() && j < tails.len() {
        let (a, b) = (row[i], tails[j]);
        both += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    (row.len() + tails.len() - both) as u32
}
