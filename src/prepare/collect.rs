//! The sink that sends arcs to a device, which may still be starting.
//!
//! Readers fill buffers of arcs, which are copied to the device while others are filled. Until it has started, full buffers wait in
//! memory, as far as their share goes; so reading does not wait for it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trimill_kernels::engine::HostWords;
use trimill_kernels::prepare::{Arcs, MOST_ID_BITS};

use super::device::{DeviceEngine, StartingDevice, Stop};
use crate::clean::ids::Seen;
use crate::count::translated::translated;
use crate::error::{Error, Result};
use crate::input::ArcSink;
use crate::lock;

/// Arcs of a buffer: large enough to be copied from directly.
const BUFFER: usize = 1 << 18;

/// Bytes of a buffer.
pub(super) const BUFFER_BYTES: u64 = 8 * BUFFER as u64;

/// The most page-locked buffers: a few for each thread, as many as it takes to lock memory in some hundredths of a second.
const MOST_PINNED: usize = 40;

/// A sink for the arcs of an input.
pub(super) struct Collect<'d> {
    state: Mutex<State<'d>>,
    /// Buffers that no thread fills at the moment, each with the number of arcs in it.
    partial: Mutex<Vec<(HostWords, usize)>>,
    /// Ids from this one on are too large.
    end: u64,
    loops: AtomicU64,
    /// The ids of loops.
    loop_ids: Seen,
    /// One more than the largest id.
    ids: AtomicU64,
    refused: AtomicBool,
}

struct State<'d> {
    device: Device<'d>,
    expected: u64,
    /// The most buffers, page-locked or not.
    most: usize,
    /// How many were made before the device started.
    made: usize,
}

enum Device<'d> {
    /// Not started yet; buffers that wait for it.
    Starting(&'d mut (dyn StartingDevice + 'd), Vec<(HostWords, usize)>),
    Started(Arcs<'d, DeviceEngine>),
    /// It cannot be used, or has no memory for so many arcs.
    Useless,
}

/// The end of a scan that this sink refused.
fn refusal() -> Error {
    Error::resource("it cannot be used")
}

impl<'d> Collect<'d> {
    /// Nothing yet, on its way to `device`. Ids are to be below `end`; about `expected` arcs will come; buffers take at most `memory`
    /// bytes.
    pub(super) fn new(device: &'d mut (dyn StartingDevice + 'd), end: u64, (expected, memory): (u64, u64)) -> Self {
        let most = (memory / BUFFER_BYTES) as usize;
        Self {
            state: Mutex::new(State {
                device: Device::Starting(device, Vec::new()),
                expected,
                most,
                made: 0,
            }),
            partial: Mutex::default(),
            end: end.min(1 << MOST_ID_BITS),
            loops: AtomicU64::new(0),
            loop_ids: Seen::default(),
            ids: AtomicU64::new(0),
            refused: AtomicBool::new(false),
        }
    }

    /// Whether the scan ended because the device cannot prepare the graph.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// The number of loops.
    pub(super) fn loops(&self) -> u64 {
        self.loops.load(Ordering::Relaxed)
    }

    /// The ids of loops, which are given away.
    pub(super) fn take_loop_ids(&mut self) -> Seen {
        std::mem::take(&mut self.loop_ids)
    }

    /// One more than the largest id; 0 if there is none.
    pub(super) fn ids(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    /// Sends the arcs that are still here. To be called after the scan.
    pub(super) fn finish(self) -> Result<Arcs<'d, DeviceEngine>, Stop> {
        let mut state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (buffer, many) in self.partial.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            state.send(buffer, many).map_err(Stop::Unfit)?;
        }
        state.start().map_err(Stop::Unfit)?;
        match state.device {
            Device::Started(arcs) => Ok(arcs),
            _ => Err(Stop::Unfit(refusal())),
        }
    }
}

impl State<'_> {
    /// Starts to copy to the device, once it has started itself.
    fn start(&mut self) -> Result<()> {
        let (device, waiting) = match std::mem::replace(&mut self.device, Device::Useless) {
            Device::Starting(device, waiting) => (device, waiting),
            other => {
                self.device = other;
                return Ok(());
            }
        };
        let Some(engine) = device.engine() else { return Ok(()) };
        let arcs = Arcs::new(engine).map_err(translated)?;
        if arcs.most() < self.expected {
            return Err(Error::resource(format!("{} arcs, while its budget holds {}", self.expected, arcs.most())));
        }
        self.device = Device::Started(arcs);
        waiting.into_iter().try_for_each(|(buffer, many)| self.send(buffer, many))
    }

    /// An empty buffer; waits for one if there are as many as there may be.
    fn buffer(&mut self) -> Result<HostWords> {
        if let Device::Starting(device, _) = &self.device {
            if self.made < self.most && !device.has_started() {
                self.made += 1;
                return Ok(HostWords::Plain(vec![0; BUFFER]));
            }
            self.start()?;
        }
        match &mut self.device {
            Device::Started(arcs) => arcs.buffer(BUFFER, self.most.min(MOST_PINNED)).map_err(translated),
            _ => Err(refusal()),
        }
    }

    /// Sends the first arcs of a buffer.
    fn send(&mut self, buffer: HostWords, many: usize) -> Result<()> {
        match &mut self.device {
            Device::Useless => Err(refusal()),
            Device::Starting(_, waiting) => {
                waiting.push((buffer, many));
                Ok(())
            }
            Device::Started(arcs) => arcs.put(buffer, many).map_err(translated),
        }
    }
}

impl ArcSink for Collect<'_> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let mut place = lock(&self.partial).pop();
        let (mut loops, mut largest) = (0, 0);
        for &(u, v) in batch {
            largest = largest.max(u).max(v);
            if u == v {
                loops += 1;
                if u < self.end {
                    self.loop_ids.note(u);
                }
                continue;
            }
            let (mut buffer, many) = match place.take() {
                Some(place) => place,
                None => (self.refuse_on_error(lock(&self.state).buffer())?, 0),
            };
            buffer[many] = u << 32 | v & 0xffff_ffff;
            if many + 1 < BUFFER {
                place = Some((buffer, many + 1));
            } else {
                let sent = lock(&self.state).send(buffer, BUFFER);
                self.refuse_on_error(sent)?;
            }
        }
        lock(&self.partial).extend(place);
        self.loops.fetch_add(loops, Ordering::Relaxed);
        self.ids.fetch_max(if batch.is_empty() { 0 } else { largest.saturating_add(1) }, Ordering::Relaxed);
        if largest >= self.end { self.refuse_on_error(Err(refusal())) } else { Ok(()) }
    }
}

impl Collect<'_> {
    fn refuse_on_error<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|_| self.refused.store(true, Ordering::Relaxed))
    }
}
