//! Makes the rows of a directed graph symmetric: each is united with the tails of the arcs that end at its vertex. Loops are dropped.
//!
//! Input: [`AdjacencyRows`] that ascend strictly. Output: [`AdjacencyRows`] in which every arc has its reverse.
//!
//! 1. The rows are read once. The heads of each row are divided by ranges of ids (buckets) and encoded; each list waits in its bucket, with its tail.
//! 2. The arcs of each bucket are sorted by head, and the tails of each head are encoded. The rows are read again to find the united lengths.
//! 3. A row is united with its tails whenever it is read.
//!
//! Nothing is written to disk; the rows themselves are not copied. Memory: the encoded arcs, 0.2 to 4 bytes for each, within shares of the
//! budget; a staging area of 2 KiB for each thread and bucket; 12 bytes an id for lengths.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::waiting::{decode_row, encode_row};
use crate::clean::Shares;
use crate::clean::workspace::{Pool, TakenMemory};
use trimill_graph::leb128::{numbers, put};
use trimill_input::rows::{AdjacencyRows, RowChunk};
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, Unit};
use trimill_system::error::{Error, Result};
use trimill_system::mapped::zeros;
use trimill_system::{lock, parallel};

/// Bytes that a thread stages for a bucket.
const STAGED: usize = 2048;

/// The fewest ids of a bucket, unless its cut has fewer.
const LEAST_IDS: u64 = 1 << 12;

/// The most arcs of a cut, unless the rows say where they can be read from, or a row has more.
const CUT: u64 = 1 << 18;

/// Rows united with their reverse.
pub(super) struct UnitedRows<'a> {
    rows: Box<dyn AdjacencyRows + 'a>,
    /// The lengths of the rows as they are given.
    given: Vec<u32>,
    cuts: Vec<RowChunk>,
    /// The buckets of each cut, and the first id of each bucket; one more at the end.
    of_cut: Vec<Range<usize>>,
    first_ids: Vec<u32>,
    /// The tails of the heads in each bucket: for each id their number, then these, as [`encode_row`] encodes them.
    tails: Vec<Vec<u8>>,
    lengths: Vec<u32>,
    pub(super) loops: u64,
}

/// Arcs that wait for the tails of a bucket of heads.
#[derive(Default)]
struct ReversedBucket {
    /// Whole records; the tails of each segment are counted from 0.
    segments: Vec<Box<[u8]>>,
    arcs: u64,
}

/// What a thread has for a bucket: records of a tail (its distance from the one before), the number of its heads, and these.
#[derive(Default, Clone)]
struct StagedArcs {
    bytes: Vec<u8>,
    tail: u32,
    arcs: u64,
}

/// What a thread has for all buckets.
struct StagedBuckets {
    buckets: Vec<StagedArcs>,
    heads: Vec<u32>,
    encoded: Vec<u8>,
}

/// Buckets of arcs, by their heads.
struct ReversedArcs {
    /// The buckets of each cut, and the first id of each bucket; one more at the end.
    of_cut: Vec<Range<usize>>,
    first_ids: Vec<u32>,
    waiting: Vec<Mutex<ReversedBucket>>,
    idle: Mutex<Vec<StagedBuckets>>,
    held: AtomicU64,
    most: u64,
}

/// What does not fit, or is not as it should be: the arcs are to be sorted instead.
struct Unfit;

impl<'a> UnitedRows<'a> {
    /// `None`: there is too little memory for the arcs of these rows, or they do not ascend.
    pub(super) fn new(
        rows: Box<dyn AdjacencyRows + 'a>,
        given: Vec<u32>,
        shares: &Shares<'_>,
        control: &Control,
    ) -> Result<Option<Self>> {
        let cuts = cuts(&*rows, &given);
        let arcs: u64 = given.iter().map(|&length| u64::from(length)).sum();
        let task = control.task("reverse arcs", Some(2 * arcs), Unit::Arcs);
        let reversed = ReversedArcs::new(&cuts, given.len(), shares);
        let loops = AtomicU64::new(0);
        let read = parallel::try_map_with(cuts.iter(), Vec::new, |row: &mut Vec<u32>, cut| {
            control.check()?;
            let mut staged = reversed.stage();
            let mut sound = true;
            each_row(&*rows, &given, cut, row, &mut |id, row| {
                sound = sound && reversed.add(id, row, &mut staged, &loops).is_ok();
                Ok(sound)
            })?;
            lock(&reversed.idle).push(staged);
            task.advance(cut.arcs.end - cut.arcs.start);
            Ok(sound)
        })?;
        if !read.into_iter().all(|sound| sound) || !reversed.finish() {
            tracing::info!(
                "the arcs are sorted: reversed and encoded they do not fit {} of the host's budget, or rows do not ascend",
                Bytes(reversed.most)
            );
            return Ok(None);
        }
        let (mut lengths, pool): (Vec<u32>, _) = (zeros(given.len()), Pool::of_sorting(shares));
        let mut tails = vec![Vec::new(); reversed.first_ids.len() - 1];
        let (mut lengths_left, mut tails_left) = (&mut lengths[..], &mut tails[..]);
        let mut work = Vec::new();
        for (cut, buckets) in cuts.iter().zip(&reversed.of_cut) {
            let (own, after) = std::mem::take(&mut lengths_left).split_at_mut((cut.ids.end - cut.ids.start) as usize);
            let (own_tails, tails_after) = std::mem::take(&mut tails_left).split_at_mut(buckets.len());
            let uniting = Uniting {
                reversed: &reversed,
                pool: &pool,
                bucket: buckets.start,
                sorted: None,
                next: cut.ids.start as u32,
                lengths: own.iter_mut(),
                tails: own_tails.iter_mut(),
                encoder: TailEncoder::default(),
            };
            work.push((cut, uniting));
            (lengths_left, tails_left) = (after, tails_after);
        }
        let held = AtomicU64::new(0);
        let united = parallel::try_map_with(work, Vec::new, |row: &mut Vec<u32>, (cut, mut uniting)| {
            control.check()?;
            let mut fits = true;
            each_row(&*rows, &given, cut, row, &mut |id, row| {
                while fits && uniting.next < id {
                    fits = uniting.put(&[], &held).is_ok();
                }
                fits = fits && uniting.put(row, &held).is_ok() && held.load(Ordering::Relaxed) <= shares.tails();
                Ok(fits)
            })?;
            while fits && u64::from(uniting.next) < cut.ids.end {
                fits = uniting.put(&[], &held).is_ok();
            }
            uniting.end_bucket(&held);
            task.advance(cut.arcs.end - cut.arcs.start);
            Ok(fits)
        })?;
        let ReversedArcs { of_cut, first_ids, .. } = reversed;
        if !united.into_iter().all(|fits| fits) || held.into_inner() > shares.tails() {
            tracing::info!("the arcs are sorted: the tails of all heads do not fit the host's budget");
            return Ok(None);
        }
        Ok(Some(Self { rows, given, cuts, of_cut, first_ids, tails, lengths, loops: loops.into_inner() }))
    }

    fn cut_of(&self, id: u64) -> usize {
        self.cuts.partition_point(|cut| cut.ids.start <= id).saturating_sub(1)
    }
}

impl AdjacencyRows for UnitedRows<'_> {
    fn lengths(&self, _: bool, _: &Control) -> Result<Option<Vec<u32>>> {
        Ok(Some(self.lengths.clone()))
    }

    fn starts(&self) -> Option<Vec<u64>> {
        Some(self.cuts.iter().map(|cut| cut.ids.start).collect())
    }

    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        let i = self.cut_of(chunk.ids.start);
        let (mut bucket, mut next) = (self.of_cut[i].start, chunk.ids.start as u32);
        let mut bytes = self.tails.get(bucket).map_or(&[][..], |tails| tails);
        let (mut tails, mut united) = (Vec::new(), Vec::new());
        let mut go = true;
        let mut one = |id: u32, row: &[u32], take: &mut dyn FnMut(&mut [u32]) -> Result<bool>| {
            if id == self.first_ids[bucket + 1] {
                bucket += 1;
                bytes = &self.tails[bucket];
            }
            read_tails(&mut bytes, &mut tails)?;
            unite(row, &tails, id, &mut united);
            if go && !united.is_empty() {
                go = take(&mut united)?;
            }
            Ok::<_, Error>(go)
        };
        each_row(&*self.rows, &self.given, &self.cuts[i], part, &mut |id, row| {
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

/// Divides rows where they can be read from, or into cuts of at most [`CUT`] arcs, or of one row.
fn cuts(rows: &dyn AdjacencyRows, lengths: &[u32]) -> Vec<RowChunk> {
    let n = lengths.len() as u64;
    let starts = rows.starts().unwrap_or_else(|| {
        let (mut starts, mut sum) = (vec![0], 0);
        for (id, &length) in (0..).zip(lengths) {
            // An id counts, too: those without a row have tails.
            let weight = u64::from(length) + 1;
            if sum + weight > CUT && sum > 0 {
                starts.push(id);
                sum = 0;
            }
            sum += weight;
        }
        starts
    });
    let (mut cuts, mut arc) = (Vec::with_capacity(starts.len()), 0);
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(n);
        let arcs = lengths[start as usize..end as usize].iter().map(|&length| u64::from(length)).sum::<u64>();
        cuts.push(RowChunk { ids: start..end, arcs: arc..arc + arcs });
        arc += arcs;
    }
    cuts
}

/// Calls `take` with each row of a cut that is not empty, until it returns false.
fn each_row(
    rows: &dyn AdjacencyRows,
    lengths: &[u32],
    cut: &RowChunk,
    memory: &mut Vec<u32>,
    take: &mut dyn FnMut(u32, &[u32]) -> Result<bool>,
) -> Result<()> {
    let (mut id, mut row) = (cut.ids.start as usize, Vec::new());
    let end = cut.ids.end as usize;
    rows.read(cut, memory, &mut |part| {
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
                if !take(id as u32, &row)? {
                    return Ok(false);
                }
                row.clear();
                id += 1;
            }
        }
        Ok(true)
    })
}

impl ReversedArcs {
    /// Divides each cut into buckets of about as many ids: few, so that many heads of a row are together, but so many that all threads can
    /// sort one in half of the memory for that.
    fn new(cuts: &[RowChunk], ids: usize, shares: &Shares<'_>) -> Self {
        let arcs = cuts.last().map_or(0, |cut| cut.arcs.end);
        let wanted = 8 * arcs / shares.sorting().max(1);
        let many = wanted.clamp(1, shares.staged().saturating_sub(cuts.len() as u64).max(1));
        let most = (ids as u64).div_ceil(many).max(LEAST_IDS);
        let (mut of_cut, mut first_ids) = (Vec::with_capacity(cuts.len()), Vec::new());
        for cut in cuts {
            let first = first_ids.len();
            first_ids.extend(cut.ids.clone().step_by(most as usize).map(|id| id as u32));
            of_cut.push(first..first_ids.len());
        }
        let waiting = first_ids.iter().map(|_| Mutex::default()).collect();
        first_ids.push(ids as u32);
        let most = shares.reversed_arcs();
        Self { of_cut, first_ids, waiting, idle: Mutex::default(), held: AtomicU64::new(0), most }
    }

    fn stage(&self) -> StagedBuckets {
        let new = || StagedBuckets {
            buckets: vec![StagedArcs::default(); self.waiting.len()],
            heads: Vec::new(),
            encoded: Vec::new(),
        };
        lock(&self.idle).pop().unwrap_or_else(new)
    }

    /// Adds the arcs of a row to the buckets of their heads.
    fn add(&self, tail: u32, row: &[u32], staged: &mut StagedBuckets, loops: &AtomicU64) -> Result<(), Unfit> {
        let ids = self.first_ids[self.waiting.len()];
        if !row.windows(2).all(|pair| pair[0] < pair[1]) || row.last().is_some_and(|&last| last >= ids) {
            return Err(Unfit);
        }
        let StagedBuckets { buckets: staged, heads, encoded } = staged;
        let mut rest = row;
        while let Some(&head) = rest.first() {
            let bucket = self.first_ids.partition_point(|&first| first <= head) - 1;
            let (now, after) = rest.split_at(rest.partition_point(|&head| head < self.first_ids[bucket + 1]));
            rest = after;
            heads.clear();
            heads.extend(now.iter().filter(|&&head| head != tail).map(|head| head - self.first_ids[bucket]));
            if heads.len() < now.len() {
                loops.fetch_add(1, Ordering::Relaxed);
            }
            if heads.is_empty() {
                continue;
            }
            let many = heads.len();
            encode_row(heads, encoded);
            let of = &mut staged[bucket];
            put(tail.wrapping_sub(of.tail), &mut of.bytes);
            put(many as u32, &mut of.bytes);
            of.bytes.extend_from_slice(encoded);
            (of.tail, of.arcs) = (tail, of.arcs + many as u64);
            if of.bytes.len() >= STAGED {
                self.flush(bucket, of)?;
            }
        }
        Ok(())
    }

    fn flush(&self, bucket: usize, of: &mut StagedArcs) -> Result<(), Unfit> {
        let mut into = lock(&self.waiting[bucket]);
        into.arcs += of.arcs;
        let held = self.held.fetch_add(of.bytes.len() as u64, Ordering::Relaxed);
        into.segments.push(of.bytes.as_slice().into());
        drop(into);
        of.bytes.clear();
        (of.tail, of.arcs) = (0, 0);
        if held > self.most { Err(Unfit) } else { Ok(()) }
    }

    /// Adds what threads have staged; returns whether all of it fits.
    fn finish(&self) -> bool {
        let staged = std::mem::take(&mut *lock(&self.idle));
        let mut all = staged.into_iter().flat_map(|staged| staged.buckets.into_iter().enumerate());
        all.all(|(bucket, mut of)| of.bytes.is_empty() || self.flush(bucket, &mut of).is_ok())
    }
}

/// The tails of the heads of a bucket, ascending.
struct SortedTails {
    /// Where those of each head begin; one more at the end.
    begins: Vec<usize>,
    tails: Vec<u32>,
}

impl ReversedBucket {
    /// Calls `each` with every arc.
    fn arcs(&self, mut each: impl FnMut(u32, u32)) {
        let mut heads = Vec::new();
        for segment in &self.segments {
            let (mut rest, mut tail) = (&segment[..], 0u32);
            while !rest.is_empty() {
                let mut header = [0; 2];
                // Records are as `add` writes them.
                let taken = numbers(rest, &mut header).unwrap_or(rest.len());
                tail = tail.wrapping_add(header[0]);
                heads.resize(header[1] as usize, 0);
                rest = decode_row(&rest[taken..], &mut heads).unwrap_or_default();
                let mut least = 0;
                for &distance in &heads {
                    each(least + distance, tail);
                    least += distance + 1;
                }
            }
        }
    }

    /// Sorts the arcs by their heads, of which there are `heads` from 0 on, and by their tails.
    fn sorted(&self, heads: usize) -> SortedTails {
        let mut begins = vec![0usize; heads + 2];
        self.arcs(|head, _| begins[head as usize + 2] += 1);
        for head in 2..begins.len() {
            begins[head] += begins[head - 1];
        }
        let mut tails = vec![0; self.arcs as usize];
        self.arcs(|head, tail| {
            let place = &mut begins[head as usize + 1];
            tails[*place] = tail;
            *place += 1;
        });
        begins.pop();
        for range in begins.windows(2) {
            tails[range[0]..range[1]].sort_unstable();
        }
        SortedTails { begins, tails }
    }
}

/// The rows of a cut while they are united with their tails, one id after another.
struct Uniting<'a> {
    reversed: &'a ReversedArcs,
    pool: &'a Pool,
    bucket: usize,
    /// The tails of the bucket, and the memory for them.
    sorted: Option<(SortedTails, TakenMemory<'a>)>,
    next: u32,
    /// What is still to be filled: the length of each row, the encoded tails of each bucket.
    lengths: std::slice::IterMut<'a, u32>,
    tails: std::slice::IterMut<'a, Vec<u8>>,
    encoder: TailEncoder,
}

impl Uniting<'_> {
    /// Unites the row of the next id with its tails.
    fn put(&mut self, row: &[u32], held: &AtomicU64) -> Result<(), Unfit> {
        let ReversedArcs { first_ids, waiting, .. } = self.reversed;
        let id = self.next;
        if self.sorted.is_some() && id == first_ids[self.bucket + 1] {
            self.end_bucket(held);
        }
        let first = first_ids[self.bucket];
        if self.sorted.is_none() {
            let of = std::mem::take(&mut *lock(&waiting[self.bucket]));
            let heads = (first_ids[self.bucket + 1] - first) as usize;
            let bytes = 4 * of.arcs + 12 * heads as u64;
            let taken = self.pool.take(bytes);
            taken.check(bytes).map_err(|_| Unfit)?;
            self.sorted = Some((of.sorted(heads), taken));
        }
        if let Some((SortedTails { begins, tails }, _)) = &mut self.sorted
            && let Some(length) = self.lengths.next()
        {
            let i = (id - first) as usize;
            *length = self.encoder.put(id, row, &mut tails[begins[i]..begins[i + 1]]);
        }
        self.next += 1;
        Ok(())
    }

    /// Keeps the encoded tails of the bucket, and begins the next one.
    fn end_bucket(&mut self, held: &AtomicU64) {
        self.sorted = None;
        let mut bytes = std::mem::take(&mut self.encoder.bytes);
        bytes.shrink_to_fit();
        held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(tails) = self.tails.next() {
            *tails = bytes;
        }
        self.bucket += 1;
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

/// Reads the tails of the next head.
fn read_tails(bytes: &mut &[u8], tails: &mut Vec<u32>) -> Result<()> {
    // They are as `TailEncoder` writes them.
    let wrong = |_| Error::defect("tails that cannot be decoded");
    let mut many = [0];
    let taken = numbers(bytes, &mut many).map_err(wrong)?;
    tails.resize(many[0] as usize, 0);
    *bytes = &bytes[taken..];
    if many[0] > 0 {
        *bytes = decode_row(bytes, tails).map_err(wrong)?;
    }
    let mut least = 0;
    for tail in tails {
        *tail += least;
        least = *tail + 1;
    }
    Ok(())
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
