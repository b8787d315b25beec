//! From arcs to unique edges and degrees.

use bytemuck::cast_slice;

use super::MOST_ID_BITS;
use super::work::{Work, needed};
use crate::engine::{Engine, HostWords, Mark, Queue};
use crate::error::{Error, Result};
use crate::staging::ALONE;

/// Orders kernels behind copies. The marks below this are those of buffers.
const COPIED: Mark = crate::engine::MARKS - 1;

/// Arcs of a plain buffer that are copied at a time: few enough that this thread copies them by itself. While it waited for others, it
/// might take up another task of its pool, which might want what the caller of [`Arcs::put`] has locked.
const PART: usize = (ALONE / size_of::<u64>()) as usize;

/// How many bits all numbers below `end` have.
pub(super) fn bits_below(end: u64) -> u32 {
    u64::BITS - end.saturating_sub(1).leading_zeros()
}

/// Arcs on their way to the device.
pub struct Arcs<'e, E: Engine + ?Sized> {
    work: Work<'e, E>,
    at: u64,
    count: u64,
    most: u64,
    /// Buffers that may be filled again, and how many there are in all.
    idle: Vec<HostWords>,
    made: usize,
    next: Mark,
}

impl<'e, E: Engine + ?Sized> Arcs<'e, E> {
    /// No arcs yet. Takes all memory of the engine.
    ///
    /// # Errors
    /// What the device fails with.
    pub fn new(engine: &'e mut E) -> Result<Self> {
        let work = Work::new(engine)?;
        let (at, left) = (work.next(), work.left());
        let (mut most, mut beyond) = (0, left / 16 + 1);
        while beyond - most > 1 {
            let middle = most.midpoint(beyond);
            if needed(middle, 1) <= left { most = middle } else { beyond = middle }
        }
        Ok(Self { work, at, count: 0, most, idle: Vec::new(), made: 0, next: 0 })
    }

    /// The most arcs that the memory holds, if there are hardly any ids.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// How many arcs were taken.
    pub fn taken(&self) -> u64 {
        self.count
    }

    /// A buffer of `arcs` arcs, from which copies are fastest. There are at most `most` of them, but one at least: if all are in use,
    /// this waits for the oldest copy.
    ///
    /// # Errors
    /// [`Error::HostMemory`]; what the device fails with.
    pub fn buffer(&mut self, arcs: usize, most: usize) -> Result<HostWords> {
        if let Some(buffer) = self.idle.pop() {
            return Ok(buffer);
        }
        if self.made >= most.min(COPIED)
            && let Some((mark, _)) = self.work.copied.front()
        {
            self.work.engine.reach(*mark)?;
            if let Some((_, buffer)) = self.work.copied.pop_front() {
                return Ok(buffer);
            }
        }
        self.made += 1;
        self.work.engine.host_words(arcs)
    }

    /// Enqueues a copy of the first `many` arcs of a buffer, `tail << 32 | head` each; no loops.
    ///
    /// # Errors
    /// [`Error::Budget`]: there are too many. What the device fails with.
    pub fn put(&mut self, buffer: HostWords, many: usize) -> Result<()> {
        if self.count + many as u64 > self.most {
            let capacity = self.work.engine.layout().capacity();
            return Err(Error::Budget { asked: 16 * many as u64, used: 16 * self.count, capacity });
        }
        let at = self.at + 8 * self.count;
        self.count += many as u64;
        if let HostWords::Plain(arcs) = &buffer {
            for (i, part) in arcs[..many].chunks(PART).enumerate() {
                // SAFETY: it is not page-locked, so it is read before this returns.
                unsafe { self.work.engine.copy(at + (8 * i * PART) as u64, &[cast_slice(part)]) }?;
            }
            return Ok(());
        }
        // SAFETY: the buffer is kept until the mark behind its copy is reached, or all queues are empty.
        let copied = unsafe { self.work.engine.copy(at, &[cast_slice(&buffer[..many])]) };
        self.work.copied.push_back((self.next, buffer));
        copied?;
        self.work.engine.record(Queue::Copy, self.next)?;
        self.next = (self.next + 1) % COPIED;
        Ok(())
    }

    /// Makes each edge once, and the degrees of all ids, which are below `ids`.
    ///
    /// # Errors
    /// [`Error::Budget`]: too little memory, or ids of more than [`MOST_ID_BITS`] bits. What the device fails with.
    pub fn clean(self, ids: u64) -> Result<Edges<'e, E>> {
        let Self { mut work, at, count, .. } = self;
        work.engine.sent()?;
        work.copied.clear();
        let (bits, capacity) = (bits_below(ids).max(1), work.engine.layout().capacity());
        if needed(count, ids) > work.left() || bits > MOST_ID_BITS {
            return Err(Error::Budget { asked: needed(count, ids), used: 0, capacity });
        }
        let keys = (work.take(8 * count)?, work.take(8 * count)?);
        debug_assert_eq!(keys.0, at);
        let degrees = work.take(4 * ids)?;
        work.take_sort(count.max(ids.min(2 * count)), count.max(ids))?;
        work.engine.record(Queue::Copy, COPIED)?;
        work.engine.wait(Queue::Compute, COPIED)?;
        let wide = u64::from(bits);
        work.for_each("arc_keys", count, &[at, count, wide])?;
        let (sorted, free) = work.sort(keys, count, 0, 2 * bits + 1)?;
        // The number of distinct arcs, in memory that the sort no longer uses.
        let distinct = free;
        work.fill(distinct, 0, 8)?;
        let edges = match count {
            0 => 0,
            _ => work.select("count_edges", count, &[sorted, count], &[distinct])?,
        };
        let distinct = if count == 0 { 0 } else { work.number(distinct)? };
        let tiles = work.tiles;
        if count > 0 {
            work.selecting("put_edges", count, &[sorted, count, tiles, free])?;
        }
        work.fill(degrees, 0, 4 * ids)?;
        work.for_each("add_degrees", edges, &[free, edges, wide, degrees])?;
        Ok(Edges { work, edges, distinct, at: free, free: sorted, bytes: 8 * count, degrees, ids, bits })
    }
}

/// Each edge once, as `min << bits | max`, sorted.
pub struct Edges<'e, E: Engine + ?Sized> {
    pub(super) work: Work<'e, E>,
    edges: u64,
    distinct: u64,
    pub(super) at: u64,
    /// As much memory as the keys took, for other use, and its bytes.
    pub(super) free: u64,
    pub(super) bytes: u64,
    pub(super) degrees: u64,
    pub(super) ids: u64,
    pub(super) bits: u32,
}

impl<'e, E: Engine + ?Sized> Edges<'e, E> {
    /// How many there are.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// The number of distinct arcs that were taken: two for an edge that was there in both directions.
    pub fn distinct_arcs(&self) -> u64 {
        self.distinct
    }
}
