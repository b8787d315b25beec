//! From arcs between names to arcs between numbers, in bounded memory. Input: the arcs of an edge list whose ids are text. Output: [`NumberedArcs`]:
//! the same arcs, with the places of names among all [names](trimill_graph::names::Names), sorted by their bytes. Numbers and names depend on the
//! input alone, not on threads, memory or the order of lines.
//!
//! 1. Each thread collects a [*run*](run): distinct names, and arcs between them, until its share of memory is full. Then names are sorted
//!    and front-coded; arcs become pairs of places among them.
//! 2. The names of all runs are [merged](merge), in ranges of names, one a thread. Each name gets its number, which is noted for each run
//!    that has it.
//! 3. Whenever arcs are read, a thread holds the numbers of a run's names and replaces the places by them ([`numbered`]).
//!
//! If all fits, nothing is written to disk. Memory: a third of the host's budget for collecting runs, then half for merging; a quarter for
//! names that wait, an eighth for arcs that wait, later less where the graph leaves less, and 1 in 72 for the numbers of runs. Cost: a hash
//! table's look-up and 8 bytes for each arc; two or three comparisons and some copies for each name of each run.

mod merge;
mod numbered;
mod run;

use std::sync::{Arc, Mutex};

pub use numbered::NumberedArcs;

use crate::clean::workspace::{IdCount, Workspace, needs};
use merge::Merging;
use run::{NameRun, RunBuilder, WaitingRuns};
use trimill_graph::names::{NamesWriter, next_name};
use trimill_input::arcs::ArcSource;
use trimill_input::{MOST_VERTICES, NameSink, NamedArcs};
use trimill_system::disk::{DiskNeed, check_room};
use trimill_system::mapped::trim_heap;
use trimill_system::memory::Needs;
use trimill_system::{Bytes, Control, Error, Result, lock};

/// The least and the most bytes of a run that is being collected.
const LEAST_RUN: u64 = 512 << 10;
const LARGEST_RUN: u64 = 64 << 20;

/// Divisors of the host's memory: for collecting runs (twice, since sorting takes as much again), for merging, for buffered names, for buffered arcs.
const COLLECTING: u64 = 6;
const MERGING: u64 = 2;
const NAMES_THAT_WAIT: u64 = 4;
const ARCS_THAT_WAIT: u64 = 8;

/// Before the input is read, the advised budget is for this many arcs, since what more arcs take is not known yet.
const FEW: u64 = 1 << 12;

/// Reads the arcs of `source`, whose ids are names, and numbers these. Errors: of the input; above 2^32 - 2 names; `Kind::Resource` below the floor.
pub fn number<'a>(source: &'a dyn ArcSource, space: Workspace<'_>, control: &Control) -> Result<NumberedArcs<'a>> {
    let threads = space.memory.threads();
    let needs = least(space);
    let refused = |_| space.memory.refused(&needs, space.enough(IdCount::Plain(2 * FEW), FEW));
    space.memory.left(&needs).map_err(refused)?;
    check_room([on_disk(source, space)])?;
    let of_run = (space.memory.usable().get() / COLLECTING / threads).clamp(LEAST_RUN, LARGEST_RUN);
    number_in_runs(source, space, of_run, control)
}

pub fn least(space: Workspace<'_>) -> Needs {
    Needs::to("sort names").buffers(Bytes(space.memory.threads() * LEAST_RUN * COLLECTING))
}

fn number_in_runs<'a>(
    source: &'a dyn ArcSource,
    space: Workspace<'_>,
    of_run: u64,
    control: &Control,
) -> Result<NumberedArcs<'a>> {
    let usable = space.memory.usable().get();
    let waiting = WaitingRuns::new(space.dir, Bytes(usable / NAMES_THAT_WAIT), Bytes(usable / ARCS_THAT_WAIT));
    let collecting = Collecting { waiting, of_run, builders: Mutex::default(), runs: Mutex::default() };
    let arcs = source.scan_names(&collecting, control)?;
    let (waiting, runs) = collecting.finish(control)?;
    // Frees what threads collected in, since merging may take as much.
    trim_heap();
    let merged =
        Merging { waiting: &waiting, runs: &runs, memory: merging_memory(&runs, arcs, space)?, control }.run()?;

    let mut names = NamesWriter::create(space.dir)?;
    let mut firsts = Vec::with_capacity(merged.len());
    let mut count = 0;
    for range in &merged {
        firsts.push(count as u32);
        count += range.count;
        if count > MOST_VERTICES {
            return Err(Error::data("input", format!("{count} names or more"))
                .expected(format!("at most {MOST_VERTICES}: vertices are numbered in 32 bits")));
        }
        let mut name = Vec::new();
        for bytes in &range.names {
            let (bytes, mut at) = (waiting.names.read_all(bytes)?, 0);
            while at < bytes.len() {
                at = next_name(&bytes, at, &mut name).ok_or_else(run::damaged)?;
                names.add(&name)?;
            }
        }
        control.check()?;
    }
    let names = Arc::new(names.finish()?);
    // The memory besides the arrays of the next stage, which reports an error if that is too little.
    let left = space.memory.left(&needs(IdCount::Plain(count), arcs, space)).unwrap_or_default();
    let numbers = merged.into_iter().zip(firsts).map(|(range, first)| (first, range.numbers)).collect();
    let mut numbered = NumberedArcs { source, names, arcs, runs, numbers, waiting: waiting.arcs };
    numbered.hold_at_most(Bytes(left.get() / ARCS_THAT_WAIT))?;
    // Frees the small blocks of runs in memory, since arrays over all names come next.
    trim_heap();
    Ok(numbered)
}

/// Bytes of temporary files if memory holds nothing: at most all names and, for each line, a pair of places; and their numbers.
fn on_disk(source: &dyn ArcSource, space: Workspace<'_>) -> DiskNeed {
    let held = space.memory.usable().get() / NAMES_THAT_WAIT;
    let what = "the names and arcs that do not fit in memory while names are sorted";
    let most = Bytes(3 * source.bytes()).saturating_sub(Bytes(held));
    DiskNeed::new(what, space.dir, [Bytes::ZERO, most], "--work-dir")
}

fn merging_memory(runs: &[NameRun], arcs: u64, space: Workspace<'_>) -> Result<Bytes> {
    let usable = space.memory.usable().get();
    let memory = Bytes(usable / MERGING);
    let least = Merging::least_memory(runs);
    if least <= memory {
        return Ok(memory);
    }
    // With more memory runs are longer, and fewer, about in proportion; the memory for all their names hardly changes.
    let held = Merging::held(runs);
    let of_runs = (1.1 * (least - held).get() as f64 * MERGING as f64 * usable as f64).sqrt() as u64;
    let wanted = MERGING * held.get() + of_runs;
    let names = runs.iter().map(|run| run.names).max().unwrap_or_default();
    let enough = space.enough(IdCount::Plain(names.into()), arcs);
    Err(space.memory.refused(&Needs::to("sort names").buffers(Bytes(wanted)), enough))
}

struct Collecting {
    waiting: WaitingRuns,
    of_run: u64,
    builders: Mutex<Vec<RunBuilder>>,
    runs: Mutex<Vec<NameRun>>,
}

impl Collecting {
    fn finish(self, control: &Control) -> Result<(WaitingRuns, Vec<NameRun>)> {
        let Self { waiting, builders, runs, .. } = self;
        let builders = builders.into_inner().unwrap_or_default();
        let last = trimill_system::parallel::try_map(builders, |mut builder| {
            control.check()?;
            builder.finish(&waiting)
        })?;
        let mut runs = runs.into_inner().unwrap_or_default();
        runs.extend(last.into_iter().flatten());
        Ok((waiting, runs))
    }
}

impl NameSink for Collecting {
    fn arcs(&self, batch: &NamedArcs) -> Result<()> {
        let free = lock(&self.builders).pop();
        let mut builder = free.unwrap_or_else(|| RunBuilder::new(self.of_run));
        for [tail, head] in batch.iter() {
            if !builder.fits(tail, head) {
                let run = builder.finish(&self.waiting)?;
                lock(&self.runs).extend(run);
            }
            builder.add(tail, head);
        }
        lock(&self.builders).push(builder);
        Ok(())
    }
}

#[cfg(test)]
#[path = "names/tests.rs"]
mod tests;
