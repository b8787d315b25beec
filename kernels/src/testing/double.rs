//! A double of a device: memory that begins as rubbish, two queues whose orders are carried out when it pleases, and every
//! access checked against the arena's bounds. Where the host forgets to wait, or lets a queue forget, counts go wrong.

use std::collections::VecDeque;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::arena::Layout;
use crate::compact::{BINS, Unpack, bin_shift, unpacked};
use crate::engine::{Call, Engine, Grid, MARKS, Mark, Queue};
use crate::error::Result;
use crate::{lstc, packed};

/// When orders are carried out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// Only when somebody waits for them; copies first.
    Late,
    /// Copies at once, kernels only when somebody waits.
    CopiesAhead,
    /// Kernels as soon as they may; copies only when somebody waits.
    KernelsAhead,
    /// By chance.
    Random(u64),
}

impl Pace {
    pub(crate) fn all(seed: u64) -> [Self; 5] {
        [Self::Late, Self::CopiesAhead, Self::KernelsAhead, Self::Random(seed), Self::Random(seed + 100)]
    }
}

#[derive(Debug)]
enum Order {
    Write { to: u64, bytes: Vec<u8> },
    Launch { grid: Grid, call: Call },
    Record { mark: Mark, time: u64 },
    Wait { mark: Mark, time: u64 },
}

/// Memory at an address that no host memory has.
#[derive(Debug)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
}

pub(crate) const BASE: u64 = 1 << 60;

impl Memory {
    fn at(&mut self, address: u64, len: usize) -> &mut [u8] {
        let start = address.checked_sub(BASE).expect("below the arena") as usize;
        self.bytes.get_mut(start..start + len).expect("beyond the arena")
    }

    pub(crate) fn u32(&mut self, address: u64) -> u32 {
        assert_eq!(address % 4, 0);
        u32::from_le_bytes(self.at(address, 4).try_into().unwrap())
    }

    pub(crate) fn u64(&mut self, address: u64) -> u64 {
        assert_eq!(address % 8, 0);
        u64::from_le_bytes(self.at(address, 8).try_into().unwrap())
    }

    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) {
        self.at(address, bytes.len()).copy_from_slice(bytes);
    }
}

#[derive(Debug)]
pub(crate) struct Double {
    memory: Memory,
    layout: Layout,
    queues: [VecDeque<Order>; 2],
    /// How often each mark was recorded, by the host and in its queue.
    recorded: [u64; MARKS],
    reached: [u64; MARKS],
    pace: Pace,
    rng: ChaCha8Rng,
    bins: Vec<u64>,
    bin_shift: u32,
}

impl Double {
    pub(crate) fn new(bytes: u64, pace: Pace) -> Self {
        let seed = if let Pace::Random(seed) = pace { seed } else { 0 };
        Self {
            memory: Memory { bytes: vec![0xa5; bytes as usize] },
            layout: Layout::new(bytes),
            queues: Default::default(),
            recorded: [0; MARKS],
            reached: [0; MARKS],
            pace,
            rng: ChaCha8Rng::seed_from_u64(seed),
            bins: Vec::new(),
            bin_shift: 0,
        }
    }

    /// Whether the device has come to the last record of a mark.
    pub(crate) fn has_reached(&self, mark: Mark) -> bool {
        self.recorded[mark] > 0 && self.reached[mark] == self.recorded[mark]
    }

    fn order(&mut self, queue: Queue, order: Order) {
        self.queues[queue as usize].push_back(order);
        match self.pace {
            Pace::Late => {}
            Pace::CopiesAhead => while self.step(Queue::Copy) {},
            Pace::KernelsAhead => while self.step(Queue::Compute) {},
            Pace::Random(_) => {
                for _ in 0..self.rng.random_range(0..4) {
                    let queue = if self.rng.random() { Queue::Copy } else { Queue::Compute };
                    self.step(queue);
                }
            }
        }
    }

    /// Carries out the next order of a queue. `false`: there is none, or it waits.
    fn step(&mut self, queue: Queue) -> bool {
        let orders = &mut self.queues[queue as usize];
        if let Some(Order::Wait { mark, time }) = orders.front()
            && self.reached[*mark] < *time
        {
            return false;
        }
        match orders.pop_front() {
            None => return false,
            Some(Order::Write { to, bytes }) => self.memory.write(to, &bytes),
            Some(Order::Launch { grid, call }) => match call {
                Call::Packed(kernel, arguments) => {
                    packed::tests::emulation::run(&mut self.memory, grid, kernel, &arguments)
                }
                _ => lstc::tests::emulation::run(&mut self.memory, grid, &call),
            },
            Some(Order::Record { mark, time }) => self.reached[mark] = time,
            Some(Order::Wait { .. }) => {}
        }
        true
    }

    /// Goes on until `done`, one order at a time.
    fn go_on(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let kernels_first = match self.pace {
                Pace::Late | Pace::CopiesAhead => false,
                Pace::KernelsAhead => true,
                Pace::Random(_) => self.rng.random(),
            };
            let order = if kernels_first { [Queue::Compute, Queue::Copy] } else { [Queue::Copy, Queue::Compute] };
            assert!(order.into_iter().any(|queue| self.step(queue)), "both queues wait for ever");
        }
    }
}

impl Engine for Double {
    fn layout(&mut self) -> &mut Layout {
        &mut self.layout
    }

    fn address(&self) -> u64 {
        BASE
    }

    fn processors(&self) -> u32 {
        2
    }

    fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> Result<()> {
        self.order(Queue::Copy, Order::Write { to, bytes: pieces.concat() });
        Ok(())
    }

    fn sent(&mut self) -> Result<()> {
        Ok(())
    }

    fn unpack(&mut self, order: &Unpack<'_>) -> Result<()> {
        let successors = unpacked(order);
        if order.counted {
            successors.iter().for_each(|&successor| self.bins[(successor >> self.bin_shift) as usize] += 1);
        }
        self.order(
            Queue::Copy,
            Order::Write { to: order.successors_at, bytes: bytemuck::cast_slice(&successors).to_vec() },
        );
        Ok(())
    }

    fn begin_unpacking(&mut self, numbered: u32) -> Result<()> {
        (self.bins, self.bin_shift) = (vec![0; BINS], bin_shift(numbered));
        Ok(())
    }

    fn bins(&mut self) -> Result<Vec<u64>> {
        Ok(self.bins.clone())
    }

    fn unpacked(&mut self) -> Result<()> {
        Ok(())
    }

    fn zero(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.order(Queue::Copy, Order::Write { to: at, bytes: vec![0; bytes as usize] });
        Ok(())
    }

    fn launch(&mut self, grid: Grid, call: &Call) -> Result<()> {
        self.order(Queue::Compute, Order::Launch { grid, call: *call });
        Ok(())
    }

    fn record(&mut self, queue: Queue, mark: Mark) -> Result<()> {
        self.recorded[mark] += 1;
        self.order(queue, Order::Record { mark, time: self.recorded[mark] });
        Ok(())
    }

    fn wait(&mut self, queue: Queue, mark: Mark) -> Result<()> {
        self.order(queue, Order::Wait { mark, time: self.recorded[mark] });
        Ok(())
    }

    fn reach(&mut self, mark: Mark) -> Result<()> {
        self.go_on(|double| double.reached[mark] == double.recorded[mark]);
        Ok(())
    }

    fn seconds(&mut self, from: Mark, to: Mark) -> Result<f64> {
        for mark in [from, to] {
            assert!(self.has_reached(mark), "mark {mark} is to come");
        }
        Ok(1.0)
    }

    fn read(&mut self, at: u64) -> Result<u64> {
        self.go_on(|double| double.queues[Queue::Compute as usize].is_empty());
        Ok(self.memory.u64(at))
    }

    fn settle(&mut self) {
        self.go_on(|double| double.queues.iter().all(VecDeque::is_empty));
    }
}
