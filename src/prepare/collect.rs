//! The sink that sends arcs to a device. Readers fill buffers, which are copied to the device while others are filled. Until the device has started,
//! full buffers are queued in memory, within their share, so that reading is not blocked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use trimill_kernels::engine::HostWords;
use trimill_kernels::prepare::{DeviceArcs, MOST_ID_BITS, RunStore};

use super::runs::EncodedRuns;
use super::starting::{StartingDevice, Stop, unfit};
use crate::clean::Workspace;
use crate::clean::buckets::bytes_on_disk;
use crate::clean::ids::FoundIds;
use trimill_input::{ArcSink, around_tail};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Control, Error, Result, disk, lock, parallel, unpoisoned};

/// Arcs of a device buffer: large enough to be copied from directly. Fewer in tests, so that rows cross buffers.
const BUFFER: usize = if cfg!(feature = "testing") { 1 << 11 } else { 1 << 18 };

/// The most device buffers: a few for each thread, as many as can be page-locked in some hundredths of a second.
const MOST_PINNED: usize = 40;

/// Arcs of a buffer that is queued for the device: large enough for large pages.
const WAITING: usize = if cfg!(feature = "testing") { 1 << 12 } else { 1 << 20 };

pub(super) struct Collect<'d> {
    state: Mutex<CollectState<'d>>,
    pub(super) runs: Option<Arc<EncodedRuns>>,
    /// Partly filled buffers that no thread uses, each with its number of arcs.
    partial: Mutex<Vec<(HostWords, usize)>>,
    /// Ids from this one on are too large.
    end: u64,
    pub(super) found: FoundIds,
    /// Whether the scan ended because the device cannot prepare the graph.
    pub(super) refused: AtomicBool,
}

struct CollectState<'d> {
    device: SortingDevice<'d>,
    expected: u64,
    memory: u64,
    /// Where runs of arcs that the device does not hold go.
    store: Option<Arc<dyn RunStore>>,
    /// The most bytes of runs in memory, and on disk.
    space_of_runs: [Bytes; 2],
    made: u64,
    /// Buffers queued to be sent, each with its number of arcs.
    waiting: Vec<(HostWords, usize)>,
}

enum SortingDevice<'d> {
    Starting(&'d mut (dyn StartingDevice + 'd)),
    Started(Box<DeviceArcs<'d>>),
    /// It cannot be used, or memory or disk do not suffice for the arcs.
    Useless,
}

/// Host memory for sorted runs: `memory`, unless the workspace limits a set of buckets or runs; there are two sets.
fn runs_in(memory: Bytes, space: Workspace<'_>) -> Bytes {
    space.buckets.map_or(memory, |set| Bytes(2 * set.get()))
}

fn refusal() -> Error {
    Error::resource("it cannot be used")
}

impl<'d> Collect<'d> {
    /// Ids must be below `end`; about `expected` arcs will come. Buffers and arcs beyond device memory take at most `memory` bytes; further arcs go
    /// to files in the workspace `beyond`, until its control is stopped; without it, no arcs may exceed device memory.
    pub(super) fn new(
        device: &'d mut (dyn StartingDevice + 'd),
        end: u64,
        expected: u64,
        memory: u64,
        beyond: Option<(Workspace<'_>, &Control)>,
    ) -> Self {
        let device = SortingDevice::Starting(device);
        let in_memory = beyond.map_or(Bytes::ZERO, |(space, _)| runs_in(Bytes(memory / 8 * 5), space));
        let on_disk = beyond.map_or(Bytes::ZERO, |(space, _)| disk::free_space(space.dir).unwrap_or_default());
        let runs = beyond.map(|(space, control)| Arc::new(EncodedRuns::new(space.dir, in_memory, control)));
        Self {
            state: Mutex::new(CollectState {
                device,
                expected,
                memory: memory / 4,
                store: runs.clone().map(|runs| runs as Arc<dyn RunStore>),
                space_of_runs: [in_memory, on_disk],
                made: 0,
                waiting: Vec::new(),
            }),
            runs,
            partial: Mutex::default(),
            end: end.min(1 << MOST_ID_BITS),
            found: FoundIds::default(),
            refused: AtomicBool::new(false),
        }
    }

    pub(super) fn keep_within(&self, memory: Bytes, space: Workspace<'_>) -> Result<(), Stop> {
        let most = runs_in(memory, space);
        match self.runs.as_ref().is_none_or(|runs| runs.limit.lower(most)) {
            true => Ok(()),
            false => Err(unfit(format!("sorted runs take more than {most}"))),
        }
    }

    /// Sends the remaining arcs, in the current thread pool. To be called after the scan.
    pub(super) fn finish(self) -> Result<DeviceArcs<'d>, Stop> {
        {
            let mut state = lock(&self.state);
            state.start().map_err(Stop::Unfit)?;
            state.waiting.append(&mut lock(&self.partial));
        }
        let send = |_| {
            while self.send_one()? {}
            Ok(())
        };
        parallel::try_each(0..rayon::current_num_threads(), send).map_err(Stop::Unfit)?;
        match unpoisoned(self.state.into_inner()).device {
            SortingDevice::Started(arcs) => Ok(*arcs),
            _ => Err(Stop::Unfit(refusal())),
        }
    }

    /// An empty buffer; first sends queued buffers.
    fn buffer(&self) -> Result<HostWords> {
        while self.send_one()? {}
        lock(&self.state).buffer()
    }

    /// Sends a queued buffer, once the device has started. `false` if there is none.
    fn send_one(&self) -> Result<bool> {
        let (waiting, many, mut pinned) = {
            let mut state = lock(&self.state);
            let CollectState { device: SortingDevice::Started(arcs), waiting, memory, .. } = &mut *state else {
                return Ok(false);
            };
            let Some((buffer, many)) = waiting.pop() else { return Ok(false) };
            if buffer.len() == BUFFER {
                arcs.put(buffer, many)?;
                return Ok(true);
            }
            (buffer, many, arcs.buffer(BUFFER, pinned_in(*memory))?)
        };
        let mut parts = waiting[..many].chunks(BUFFER).peekable();
        while let Some(part) = parts.next() {
            pinned[..part.len()].copy_from_slice(part);
            let mut state = lock(&self.state);
            state.send(pinned, part.len())?;
            if parts.peek().is_none() {
                break;
            }
            pinned = state.buffer()?;
        }
        Ok(true)
    }

    fn filling(&self) -> Filling<'_, 'd> {
        Filling { collect: self, place: lock(&self.partial).pop(), loops: Vec::new(), ids: 0 }
    }

    fn refuse_on_error<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|_| self.refused.store(true, Ordering::Relaxed))
    }
}

fn pinned_in(memory: u64) -> usize {
    (memory / (8 * BUFFER as u64)).min(MOST_PINNED as u64) as usize
}

impl CollectState<'_> {
    fn start(&mut self) -> Result<()> {
        let device = match std::mem::replace(&mut self.device, SortingDevice::Useless) {
            SortingDevice::Starting(device) => device,
            other => {
                self.device = other;
                return Ok(());
            }
        };
        let Some(engine) = device.engine() else { return Ok(()) };
        let arcs = DeviceArcs::new(engine, self.store.clone())?;
        if arcs.most() < self.expected {
            return Err(Error::resource(format!("{} arcs, while its budget holds {}", self.expected, arcs.most())));
        }
        let [in_memory, on_disk] = self.space_of_runs;
        let [stored, _] = bytes_on_disk(self.expected.saturating_sub(arcs.most_on_device()), in_memory.get());
        if stored > on_disk && self.expected < u64::MAX {
            return Err(Error::resource(format!("sorted runs take at least {stored} of disk, and {on_disk} are free")));
        }
        self.device = SortingDevice::Started(Box::new(arcs));
        Ok(())
    }

    /// An empty buffer; blocks while the maximum number of buffers is in use.
    fn buffer(&mut self) -> Result<HostWords> {
        if let SortingDevice::Starting(device) = &self.device {
            if (self.made + 1) * 8 * WAITING as u64 <= self.memory && !device.has_started() {
                self.made += 1;
                return Ok(Box::new(zeros::<u64>(WAITING)));
            }
            self.start()?;
        }
        match &mut self.device {
            SortingDevice::Started(arcs) => Ok(arcs.buffer(BUFFER, pinned_in(self.memory))?),
            _ => Err(refusal()),
        }
    }

    /// Sends the first arcs of a buffer, or queues it until the device has started.
    fn send(&mut self, buffer: HostWords, many: usize) -> Result<()> {
        match &mut self.device {
            SortingDevice::Useless => Err(refusal()),
            SortingDevice::Started(arcs) if buffer.len() == BUFFER => Ok(arcs.put(buffer, many)?),
            _ => {
                self.waiting.push((buffer, many));
                Ok(())
            }
        }
    }
}

/// Packs arcs without loops into `room` until it is full. Returns how many arcs were read and packed, and the largest id.
fn pack(arcs: &[(u64, u64)], room: &mut [u64], mut loops: impl FnMut(u64)) -> (usize, usize, u64) {
    let (mut read, mut packed, mut largest) = (0, 0, 0);
    while read < arcs.len() && packed < room.len() {
        // The number of arcs that fit even if none is a loop.
        let now = (arcs.len() - read).min(room.len() - packed);
        for &(u, v) in &arcs[read..read + now] {
            largest = largest.max(u).max(v);
            room[packed] = u << 32 | v & 0xffff_ffff;
            packed += usize::from(u != v);
            if u == v {
                loops(u);
            }
        }
        read += now;
    }
    (read, packed, largest)
}

struct Filling<'c, 'd> {
    collect: &'c Collect<'d>,
    place: Option<(HostWords, usize)>,
    loops: Vec<u64>,
    /// One more than the largest id.
    ids: u64,
}

impl Filling<'_, '_> {
    /// Calls `fill` with room for at least one arc until `fill` has no more. `fill` returns how many arcs it put there, and whether it has more.
    fn fill(&mut self, mut fill: impl FnMut(&mut [u64]) -> (usize, bool)) -> Result<()> {
        let collect = self.collect;
        loop {
            let (mut buffer, many) = match self.place.take() {
                Some(place) => place,
                None => (collect.refuse_on_error(collect.buffer())?, 0),
            };
            let (put, more) = fill(&mut buffer[many..]);
            if many + put < buffer.len() {
                self.place = Some((buffer, many + put));
            } else {
                let sent = lock(&collect.state).send(buffer, many + put);
                collect.refuse_on_error(sent)?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn finish(self) -> Result<()> {
        let Self { collect, place, loops, ids } = self;
        lock(&collect.partial).extend(place);
        if ids > collect.end {
            let (id, end) = (ids - 1, collect.end);
            let refusal = Error::resource(format!("id {id}, where memory has room for ids below {end}"));
            return collect.refuse_on_error(Err(refusal));
        }
        collect.found.add(ids, &loops);
        Ok(())
    }
}

impl ArcSink for Collect<'_> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let (mut filling, mut rest) = (self.filling(), batch);
        let (mut loops, mut ids) = (Vec::new(), 0);
        if !batch.is_empty() {
            filling.fill(|room| {
                let (read, packed, largest) = pack(rest, room, |id| loops.push(id));
                rest = &rest[read..];
                ids = ids.max(largest.saturating_add(1));
                (packed, !rest.is_empty())
            })?;
        }
        Filling { loops, ids, ..filling }.finish()
    }

    fn rows(&self, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
        let mut filling = self.filling();
        let mut begin = 0;
        for &(tail, end) in rows {
            let row = &heads[begin..end];
            begin = end;
            let Some(&last) = row.last() else { continue };
            filling.ids = filling.ids.max(tail.max(last.into()).saturating_add(1));
            let (below, is_loop, above) = around_tail(tail, row);
            filling.loops.extend(is_loop.then_some(tail));
            for mut part in [below, above] {
                if part.is_empty() {
                    continue;
                }
                filling.fill(|room| {
                    let now = part.len().min(room.len());
                    for (to, &head) in room.iter_mut().zip(&part[..now]) {
                        *to = tail << 32 | u64::from(head);
                    }
                    part = &part[now..];
                    (now, !part.is_empty())
                })?;
            }
        }
        filling.finish()
    }
}
