//! A device's test double: garbage as memory, delayed commands, kernels on the host. Missing waits give wrong counts; stray writes are detected.

use std::collections::VecDeque;
use std::time::Duration;

use bytemuck::{cast_slice, cast_slice_mut};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::emulated;
use crate::arena::{ArenaLayout, padded};
use crate::engine::{EVENTS, Engine, Event, Grid, Kernel, ReservedMemory, STREAMS, Stream, Timed};
use crate::error::GpuResult;
use crate::source::CudaSource;

/// When commands are executed.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// Only when the host waits for them; copies first.
    Late,
    /// Copies immediately, kernels only when the host waits.
    CopiesAhead,
    /// Kernels as soon as they can run; copies only when the host waits.
    KernelsAhead,
    /// At random, with this seed.
    Random(u64),
}

impl Pace {
    /// One of each kind, and a second random one.
    pub fn all(seed: u64) -> [Self; 5] {
        [Self::Late, Self::CopiesAhead, Self::KernelsAhead, Self::Random(seed), Self::Random(seed + 100)]
    }
}

#[derive(Debug)]
enum Command {
    Write { to: u64, bytes: Vec<u8> },
    Fill { at: u64, byte: u8, bytes: u64 },
    Launch { grid: Grid, kernel: Kernel, parameters: Vec<Vec<u8>> },
    Record { event: Event, time: u64 },
    Wait { event: Event, time: u64 },
}

/// The byte value of unwritten memory, and of the margins around the arena.
const RUBBISH: u8 = 0xa5;

/// Words of the margin on each side of the arena.
const MARGIN: usize = 512;

#[derive(Debug)]
pub struct Double {
    memory: Vec<u64>,
    layout: ArenaLayout,
    /// Bytes of the scratch piece, and of the piece for counters.
    apart: [u64; 2],
    streams: Vec<VecDeque<Command>>,
    /// How often each event was recorded: by the host, and in its stream.
    recorded: [u64; EVENTS],
    reached: [u64; EVENTS],
    loaded: Vec<&'static str>,
    pace: Pace,
    rng: ChaCha8Rng,
}

impl Double {
    /// A device with an arena of `bytes`. `None`, with a printed reason: there is no compiler for the kernels.
    pub fn new(bytes: u64, pace: Pace) -> Option<Self> {
        let seed = if let Pace::Random(seed) = pace { seed } else { 0 };
        let double = Self {
            memory: Vec::new(),
            layout: ArenaLayout::new(bytes),
            apart: [0; 2],
            streams: (0..STREAMS).map(|_| VecDeque::new()).collect(),
            recorded: [0; EVENTS],
            reached: [0; EVENTS],
            loaded: Vec::new(),
            pace,
            rng: ChaCha8Rng::seed_from_u64(seed),
        };
        super::has_compiler().map(|()| double.allocated())
    }

    /// Adds a scratch piece of `bytes` for unpacking rows, after the arena.
    pub fn with_scratch(mut self, bytes: u64) -> Self {
        self.apart[0] = bytes;
        self.allocated()
    }

    /// Adds a piece for the counters of vertices, of `bytes`, after the others.
    pub fn with_counters(mut self, bytes: u64) -> Self {
        self.apart[1] = bytes;
        self.allocated()
    }

    fn allocated(mut self) -> Self {
        let bytes: u64 = [self.layout.capacity(), self.apart[0], self.apart[1]].map(padded).into_iter().sum();
        self.memory = vec![u64::from_ne_bytes([RUBBISH; 8]); 2 * MARGIN + bytes.div_ceil(8) as usize];
        self
    }

    fn at(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let start = (address - self.memory.as_ptr() as u64) as usize;
        let end = 8 * (self.memory.len() - MARGIN);
        assert!(start >= 8 * MARGIN && start + bytes <= end, "beyond the arena");
        &mut cast_slice_mut(&mut self.memory)[start..start + bytes]
    }

    fn enqueue(&mut self, stream: Stream, command: Command) {
        self.streams[stream.index()].push_back(command);
        match self.pace {
            Pace::Late => {}
            Pace::CopiesAhead => while self.step(0) {},
            Pace::KernelsAhead => while (1..STREAMS).any(|stream| self.step(stream)) {},
            Pace::Random(_) => {
                for _ in 0..self.rng.random_range(0..4) {
                    let stream = self.rng.random_range(0..4);
                    self.step(stream);
                }
            }
        }
    }

    /// Executes the next command of a stream. Returns `false` if there is none, or if it waits.
    fn step(&mut self, stream: usize) -> bool {
        let commands = &mut self.streams[stream];
        if let Some(Command::Wait { event, time }) = commands.front()
            && self.reached[*event] < *time
        {
            return false;
        }
        match commands.pop_front() {
            None => return false,
            Some(Command::Write { to, bytes }) => self.at(to, bytes.len()).copy_from_slice(&bytes),
            Some(Command::Fill { at, byte, bytes }) => self.at(at, bytes as usize).fill(byte),
            Some(Command::Launch { grid, kernel, parameters }) => {
                // SAFETY: kernels get addresses of the arena. Writes next to it are detected below.
                unsafe { emulated::run(grid, kernel, &parameters) };
                let end = self.memory.len() - MARGIN;
                let margins = [&self.memory[..MARGIN], &self.memory[end..]];
                let rubbish = |words: &&[u64]| cast_slice::<u64, u8>(words).iter().all(|&byte| byte == RUBBISH);
                assert!(margins.iter().all(rubbish), "{} wrote beyond the arena", kernel.name);
            }
            Some(Command::Record { event, time }) => self.reached[event] = time,
            Some(Command::Wait { .. }) => {}
        }
        true
    }

    fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let first = match self.pace {
                Pace::Late | Pace::CopiesAhead => 0,
                Pace::KernelsAhead => 1,
                Pace::Random(_) => self.rng.random_range(0..STREAMS),
            };
            let stepped = (0..STREAMS).any(|i| self.step((first + i) % STREAMS));
            assert!(stepped, "all streams wait for ever");
        }
    }
}

impl Engine for Double {
    fn layout(&mut self) -> &mut ArenaLayout {
        &mut self.layout
    }

    fn address(&self) -> u64 {
        self.memory[MARGIN..].as_ptr() as u64
    }

    fn scratch(&self) -> ReservedMemory {
        ReservedMemory { address: self.address() + padded(self.layout.capacity()), bytes: self.apart[0] }
    }

    fn counters(&self) -> ReservedMemory {
        let scratch = self.scratch();
        ReservedMemory { address: scratch.address + padded(scratch.bytes), bytes: self.apart[1] }
    }

    /// One, as blocks run one after another.
    fn processors(&self) -> u32 {
        1
    }

    fn load(&mut self, source: &'static CudaSource) -> GpuResult<()> {
        emulated::load(source);
        self.loaded.push(source.name);
        Ok(())
    }

    unsafe fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> GpuResult<()> {
        self.enqueue(Stream::Copy, Command::Write { to, bytes: pieces.concat() });
        Ok(())
    }

    fn sent(&mut self) -> GpuResult<()> {
        Ok(())
    }

    fn fill(&mut self, stream: Stream, at: u64, byte: u8, bytes: u64) -> GpuResult<()> {
        self.enqueue(stream, Command::Fill { at, byte, bytes });
        Ok(())
    }

    fn launch(&mut self, stream: Stream, grid: Grid, kernel: Kernel, parameters: &[&[u8]]) -> GpuResult<()> {
        assert!(self.loaded.contains(&kernel.source.name), "{} is not loaded", kernel.source.name);
        assert!(grid.blocks > 0 && grid.threads > 0, "{}: {grid:?}", kernel.name);
        let parameters = parameters.iter().map(|bytes| bytes.to_vec()).collect();
        self.enqueue(stream, Command::Launch { grid, kernel, parameters });
        Ok(())
    }

    fn record(&mut self, stream: Stream, event: Event) -> GpuResult<()> {
        self.recorded[event] += 1;
        self.enqueue(stream, Command::Record { event, time: self.recorded[event] });
        Ok(())
    }

    fn wait(&mut self, stream: Stream, event: Event) -> GpuResult<()> {
        self.enqueue(stream, Command::Wait { event, time: self.recorded[event] });
        Ok(())
    }

    fn reach(&mut self, event: Event) -> GpuResult<()> {
        self.run_until(|double| double.reached[event] == double.recorded[event]);
        Ok(())
    }

    /// Always one second.
    fn time(&mut self, _: Timed, from: Event, to: Event) -> GpuResult<Duration> {
        for event in [from, to] {
            let recorded = self.recorded[event];
            assert!(recorded > 0 && self.reached[event] == recorded, "event {event} is not reached");
        }
        Ok(Duration::from_secs(1))
    }

    fn read(&mut self, stream: Stream, from: u64, to: &mut [u8]) -> GpuResult<()> {
        self.run_until(|double| double.streams[stream.index()].is_empty());
        to.copy_from_slice(self.at(from, to.len()));
        Ok(())
    }

    fn settle(&mut self) {
        self.run_until(|double| double.streams.iter().all(VecDeque::is_empty));
    }
}
