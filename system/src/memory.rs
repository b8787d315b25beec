//! The host's memory budget (`--host-memory`), and how it is divided. The budget holds by construction: the memory of the program and its threads is
//! set aside first, then arrays whose sizes follow from the graph; buffers share the rest. If that is less than they need, the job ends with the
//! [`HostFloor`]: the smallest budget, and its parts. Anonymous and mapped pages and page-locked buffers count; the page cache, what a GPU's driver
//! maps at its start, and METIS (a separate process) do not.

mod shared;

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::machine;
use crate::text::plural;

pub use shared::{SharedBudget, TakenMemory};

/// `advice`, or to lower the number of threads if there are several.
pub fn or_fewer_threads(advice: String, threads: u64) -> String {
    if threads > 1 { advice + ", or lower --threads" } else { advice }
}

/// The program itself: its code, libraries and settings.
const PROGRAM: Bytes = Bytes::mib(16);

/// The memory of a thread: its stack, and what the allocator keeps for it.
const PER_THREAD: Bytes = Bytes(256 << 10);

/// The allocator gets one byte in this many, since it does not return all freed memory at once.
const ALLOCATOR: u64 = 16;

/// The budget of a job that names none: half of the memory of this machine.
pub fn default_budget() -> Bytes {
    Bytes(machine::memory().get() / 2)
}

/// Refuses a budget above the memory of this machine: the system would end the job.
pub fn check(budget: Option<Bytes>) -> Result<()> {
    let most = machine::memory();
    match budget {
        Some(budget) if budget > most => Err(Error::usage(format!("a host budget of {}", budget.exactly()))
            .expected(format!("at most {}, the memory of this machine and its control group", most.exactly()))
            .advice("lower --host-memory; `trimill plan` plans for larger machines, too")),
        _ => Ok(()),
    }
}

#[derive(Debug, Clone, Copy)]
pub struct HostMemory {
    budget: Bytes,
    threads: u64,
}

impl HostMemory {
    pub fn new(budget: Bytes, threads: usize) -> Self {
        Self { budget, threads: threads as u64 }
    }

    pub fn budget(self) -> Bytes {
        self.budget
    }

    pub fn threads(self) -> u64 {
        self.threads
    }

    /// The bytes that arrays and buffers may take.
    pub fn usable(self) -> Bytes {
        let rest = self.budget.saturating_sub(self.program());
        Bytes(rest.get() / ALLOCATOR * (ALLOCATOR - 1))
    }

    fn program(self) -> Bytes {
        PROGRAM + Bytes(self.threads * PER_THREAD.get())
    }

    /// The budget that is left while `held` bytes are held.
    pub fn beside(self, held: Bytes) -> Bytes {
        self.budget.saturating_sub(with_allocator(held))
    }

    /// The bytes that remain for the buffers of a stage with these needs. Errors: `Kind::Resource` below the floor, with the floor's parts.
    pub fn left(self, needs: &Needs) -> Result<Bytes> {
        match self.usable() >= needs.total() {
            true => Ok(self.usable().saturating_sub(needs.arrays())),
            false => Err(self.refused(needs, Bytes::ZERO)),
        }
    }

    /// The error for a budget below the floor of `needs`; it advises one that is enough for other stages, too, which need `all`.
    pub fn refused(self, needs: &Needs, all: Bytes) -> Error {
        let floor = self.floor(needs);
        let error = Error::memory(format!("a host budget of {} to {}", self.budget.exactly(), needs.stage))
            .expected(format!("at least {}: {}", floor.bytes.exactly(), floor.parts_text()))
            .wanting(floor.bytes);
        self.advising(error, floor.bytes.max(all))
    }

    pub fn advising(self, error: Error, enough: Bytes) -> Error {
        let later =
            if error.bytes_wanted().is_some_and(|now| now < enough) { ", which a later stage takes" } else { "" };
        let advice = or_fewer_threads(format!("raise --host-memory to {}{later}", enough.get()), self.threads);
        error.advice(advice).wanting(enough)
    }

    pub fn floor(self, needs: &Needs) -> HostFloor {
        let rest = with_allocator(needs.total());
        let own = FloorPart {
            what: format!("the program and {}", plural(self.threads, "thread", "threads")),
            bytes: self.program(),
        };
        let allocator = FloorPart { what: "the allocator".into(), bytes: rest.saturating_sub(needs.total()) };
        let parts = std::iter::once(own).chain(needs.parts.iter().cloned()).chain([allocator]).collect();
        HostFloor { stage: needs.stage.to_owned(), bytes: self.program() + rest, parts }
    }
}

fn with_allocator(bytes: Bytes) -> Bytes {
    Bytes(bytes.get().div_ceil(ALLOCATOR - 1) * ALLOCATOR)
}

#[derive(Debug, Clone)]
pub struct Needs {
    /// What the stage does, such as 'prepare the graph'.
    stage: &'static str,
    parts: Vec<FloorPart>,
    /// The least bytes of the buffers among the parts; buffers may take more.
    buffers: Bytes,
}

impl Needs {
    /// No needs yet; messages call the stage 'to `stage`', such as 'to prepare the graph'.
    pub fn to(stage: &'static str) -> Self {
        Self { stage, parts: Vec::new(), buffers: Bytes::ZERO }
    }

    #[must_use]
    pub fn array(mut self, per: u64, many: u64, things: &str) -> Self {
        let bytes = Bytes(per.saturating_mul(many));
        if per > 0 {
            self.parts.push(FloorPart { what: format!("{per} bytes for each of {many} {things}"), bytes });
        }
        self
    }

    #[must_use]
    pub fn fixed(mut self, what: impl Into<String>, bytes: Bytes) -> Self {
        if bytes > Bytes::ZERO {
            self.parts.push(FloorPart { what: what.into(), bytes });
        }
        self
    }

    /// Adds buffers, which need at least `bytes` bytes and take all that is left.
    #[must_use]
    pub fn buffers(mut self, bytes: Bytes) -> Self {
        self.buffers += bytes;
        self.fixed("buffers", bytes)
    }

    fn total(&self) -> Bytes {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    fn arrays(&self) -> Bytes {
        self.total().saturating_sub(self.buffers)
    }
}

/// The smallest budget of the host with which a stage works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostFloor {
    pub stage: String,
    /// The budget.
    pub bytes: Bytes,
    /// The parts that add up to it.
    pub parts: Vec<FloorPart>,
}

impl HostFloor {
    /// The parts as a list in words.
    pub fn parts_text(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(|part| format!("{} for {}", part.bytes, part.what)).collect();
        parts.join(", ")
    }
}

/// One consumer of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FloorPart {
    /// What takes memory.
    pub what: String,
    /// How much.
    pub bytes: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_the_smallest_budget_that_is_accepted() {
        let needs = Needs::to("do it").array(12, 1_000_003, "ids").fixed("an index", Bytes(77)).buffers(Bytes::mib(9));
        for threads in [1, 2, 64] {
            let floor = HostMemory::new(Bytes::ZERO, threads).floor(&needs);
            assert_eq!(floor.parts.iter().map(|part| part.bytes).sum::<Bytes>(), floor.bytes);
            let left = |bytes: u64| HostMemory::new(Bytes(bytes), threads).left(&needs);
            assert!(left(floor.bytes.get()).unwrap() >= Bytes::mib(9));
            let below = left(floor.bytes.get() - 2 * ALLOCATOR).unwrap_err();
            assert_eq!(below.bytes_wanted(), Some(floor.bytes));
            let below = below.to_string();
            let named = format!("--host-memory to {}", floor.bytes.get());
            assert!(below.contains(&named) && below.contains("12 bytes for each of 1000003 ids"), "{below}");
            assert_eq!(below.contains("lower --threads"), threads > 1, "{below}");
        }
    }
}
