//! The truss decomposition: the trussness of every edge, by peeling. The k-truss is the largest subgraph in which every edge is in at least k - 2
//! triangles of the subgraph (Cohen 2008). An edge's trussness is the largest k whose k-truss has it; 2 for an edge in no triangle. Input: the
//! oriented graph, and the triangles on each edge ([`crate::edges`]). Output: the trussness of each edge, and the sizes of all trusses ([`by_k`]).
//!
//! Edges are removed level by level, those in the fewest triangles first ([`Peeling`]): a round removes the edges in no more triangles than the
//! level, and subtracts the removed triangles from other edges' counts (Wang and Cheng, VLDB 2012; rounds as in PKT, Kabir and Madduri, HPEC 2017).
//! Once half of the edges are removed, the others are compacted to a smaller graph. docs/truss.md has the cost.

mod arcs_by_head;
mod bits;
pub(crate) mod by_k;
mod cores;
mod ends;
mod falling;
mod neighbours;
mod remaining;
#[cfg(test)]
mod tests;
mod triangles;

use std::mem::take;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::sums::{ByArc, SumKey, Sums};
use by_k::Trusses;
use cores::OnCores;
use remaining::{RemainingEdges, is_left};
use trimill_counting::{CountBackend, FALLEN, GraphToPeel, Peeling};
use trimill_graph::OrientedGraph;
use trimill_system::control::{Control, Unit};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Kind, Result};

/// The smallest trussness: of an edge in no triangle.
pub(crate) const LEAST: u32 = 2;

pub(crate) const MOST_K: u32 = MOST_TRIANGLES + LEAST;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrussWanted {
    /// Peeling ends when the k-truss of this k is left; none: all edges fall.
    pub until: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PeelingWork {
    levels: u32,
    rounds: u64,
}

/// The time between checkpoints: `CHECKPOINT_EVERY`, or `CHECKPOINT_SHARE` times that of saving the last one if longer; 0 for feature `testing`.
const CHECKPOINT_EVERY: Duration = if cfg!(feature = "testing") { Duration::ZERO } else { Duration::from_secs(60) };
const CHECKPOINT_SHARE: u32 = if cfg!(feature = "testing") { 0 } else { 20 };

/// Bytes of a checkpoint that are copied and compressed at a time.
pub(crate) const CHECKPOINT_CHUNK: u64 = 16 << 20;

/// With fewer edges, rounds are too short for a device.
const WORTH_A_DEVICE: u64 = 1 << 14;

/// The most triangles on an edge: two bits of a value are marks.
const MOST_TRIANGLES: u32 = (1 << 30) - 1;

/// Host memory for peeling on the cores: levels and edges; and buffers or, if that takes more, a smaller graph with its values.
pub(crate) fn memory(vertices: u32, edges: u64, threads: u64) -> Bytes {
    let vertices = u64::from(vertices);
    let beside = OnCores::bytes(vertices, edges, threads).max(4 * edges + RemainingEdges::bytes(vertices, edges / 2));
    // While a checkpoint is saved, there are two copies of the values, but not the buffers of rounds, which take more.
    Bytes(4 * edges + RemainingEdges::bytes(vertices, edges) + beside + saving(edges).saturating_sub(4 * edges))
}

/// Bytes that saving a checkpoint takes besides the values of all edges.
fn saving(edges: u64) -> u64 {
    (3 * CHECKPOINT_CHUNK).min(12 * edges)
}

/// Host memory if a device peels: levels, edges, final values; what does not fit the device (`rest`), or a smaller graph of the remaining edges; part
/// of a checkpoint, raw and compressed. A start that continues from a checkpoint makes a smaller graph at once (`is_part`).
pub(crate) fn memory_with_device(vertices: u32, edges: u64, rest: Bytes, is_part: bool) -> Bytes {
    let vertices = u64::from(vertices);
    let next = if rest == Bytes::ZERO { 0 } else { RemainingEdges::bytes(vertices, edges / 2) };
    let part = if is_part { 8 * (vertices + edges) } else { 0 };
    Bytes(16 * edges + 8 * vertices + part + saving(edges) + rest.get().max(8 * vertices + next))
}

/// Refuses a graph that is too large to be peeled; on a device, it may have more vertices.
pub(crate) fn check_size(vertices: u32, edges: u64, on_device: bool) -> Result<()> {
    if u32::try_from(edges).is_err() {
        return Err(Error::resource(format!("{edges} edges"))
            .expected("fewer than 2^32 for a truss decomposition, which has all edges in memory"));
    }
    match u64::from(vertices) > neighbours::MOST_VERTICES && !on_device {
        true => Err(Error::resource(format!("{vertices} vertices"))
            .expected(format!("at most {} to peel the graph on the CPU", neighbours::MOST_VERTICES))),
        false => Ok(()),
    }
}

pub(crate) struct TrussDecomposition<'a> {
    pub graph: &'a OrientedGraph,
    /// The triangles on each edge; after peeling, its trussness.
    pub sums: &'a Sums<ByArc>,
    /// Bytes that a pass over the graph reads at a time.
    pub block: Bytes,
    /// Host memory, of which the cores take [`memory`]; there may be less if a device was to peel the graph.
    pub host: Bytes,
    /// Saves checkpoints; if none, a later start begins peeling again.
    pub save: Option<&'a SaveCheckpoint<'a>>,
    pub control: &'a Control,
}

pub(crate) type SaveCheckpoint<'a> = dyn Fn(&[AtomicU32]) -> Result<()> + Sync + 'a;

impl TrussDecomposition<'_> {
    /// Replaces the triangles on each edge by its trussness, or by the k at which peeling ends. What fits the device is peeled there. Runs in the
    /// current thread pool. Errors, `Kind::Resource`: 2^32 edges or more, or 2^30 triangles on an edge. Also: an unreadable graph or sums; a stop.
    pub(crate) fn run(&self, wanted: TrussWanted, device: Option<&mut dyn CountBackend>) -> Result<Trusses> {
        let Self { graph, sums, block, host, save, control } = *self;
        check_size(graph.vertices(), graph.edges(), device.is_some())?;
        let (edges, mut values) = self.all_edges()?;
        tracing::debug!("edges are in memory");
        let state: Vec<AtomicU32> = zeros(edges.edges());
        let task = control.task("peel", Some(graph.edges()), Unit::Arcs);
        let last = wanted.until.map(|k| k.saturating_sub(LEAST));
        let told = AtomicU64::new(0);
        if let Some(last) = last {
            // An earlier start may have gone beyond this level.
            values.par_iter_mut().filter(|value| **value > FALLEN | last).for_each(|value| *value = FALLEN | last);
        }
        let fell = |fell: u64| {
            // Edges that are peeled again are not counted twice in the progress.
            task.advance(fell.saturating_sub(told.fetch_max(fell, Relaxed)));
            control.check()
        };
        let saved = (Instant::now(), Duration::ZERO);
        let mut progress = PeelProgress { state: &state, save, saved, last, fell: &fell };
        let work = peel(edges, values, &mut progress, PeelingPlaces { device, host, control })?;
        tracing::debug!("all edges fell");
        put_trussness(&state, sums)?;
        tracing::debug!("the trussness of all edges is among the sums");
        drop(state);
        let sizes = Trusses::new(graph, sums, block, control)?;
        Ok(Trusses { levels: work.levels, rounds: work.rounds, until: wanted.until, ..sizes })
    }

    /// All edges and their values; zeroes the sums, which then take no memory.
    fn all_edges(&self) -> Result<(RemainingEdges, Vec<u32>)> {
        let Self { graph, sums, .. } = *self;
        let mut firsts: Vec<u64> = zeros(graph.vertices() as usize + 1);
        let mut heads: Vec<u32> = zeros(graph.edges() as usize);
        graph.read(0..graph.vertices(), &mut firsts, &mut heads)?;
        let mut values: Vec<u32> = zeros(heads.len());
        let blocks = values.par_chunks_mut(ByArc::BLOCK as usize).enumerate();
        blocks.try_for_each(|(block, values)| sums.read(block as u64 * ByArc::BLOCK, values))?;
        let most = values.par_iter().copied().filter(|&value| is_left(value)).max().unwrap_or(0);
        if most > MOST_TRIANGLES {
            return Err(Error::resource(format!("{most} triangles on an edge"))
                .expected(format!("at most {MOST_TRIANGLES} for a truss decomposition")));
        }
        sums.clear();
        Ok((RemainingEdges::all(firsts, heads), values))
    }
}

fn put_trussness(state: &[AtomicU32], sums: &Sums<ByArc>) -> Result<()> {
    let trussness = |value: &AtomicU32| (value.load(Relaxed) ^ FALLEN) + LEAST;
    let blocks = state.par_chunks(ByArc::BLOCK as usize).enumerate();
    blocks.try_for_each(|(block, values)| sums.put(block, values.iter().map(trussness).collect()))
}

struct PeelingPlaces<'b, 'c> {
    device: Option<&'b mut dyn CountBackend>,
    host: Bytes,
    control: &'c Control,
}

impl PeelingPlaces<'_, '_> {
    /// Whether peeling on the device pays off and fits in memory.
    fn use_device(&self, edges: &RemainingEdges) -> bool {
        let (vertices, many) = (edges.vertices() as u64, edges.edges() as u64);
        let rest = self.device.as_ref().and_then(|device| device.peels(vertices, many));
        let needed = rest.map(|rest| memory_with_device(vertices as u32, many, Bytes(rest), edges.is_part()));
        many >= WORTH_A_DEVICE && needed.is_some_and(|needed| needed <= self.host)
    }

    /// Begins peeling on the device, or on the cores, which take `values`.
    fn begin<'a>(
        &'a mut self,
        edges: &'a RemainingEdges,
        values: &mut Vec<u32>,
        on_device: bool,
    ) -> Result<Box<dyn Peeling + 'a>> {
        match self.device.as_mut().filter(|_| on_device) {
            Some(device) => {
                tracing::debug!("edges go to the device");
                device.peel(GraphToPeel { firsts: &edges.firsts, heads: &edges.heads, values }, self.control)
            }
            None => {
                let (vertices, many) = (edges.vertices() as u32, edges.edges() as u64);
                check_size(vertices, many, false)?;
                let needed = memory(vertices, many, rayon::current_num_threads() as u64);
                if needed > self.host {
                    return Err(Error::resource(format!(
                        "a host budget of {} to peel the graph on the CPU",
                        self.host
                    ))
                    .expected(format!("at least {needed}"))
                    .advice("raise --host-memory"));
                }
                let room = self.host.saturating_sub(needed).get();
                Ok(Box::new(OnCores::new(edges, take(values), room, self.control)))
            }
        }
    }
}

struct PeelProgress<'a> {
    /// The values of all edges when last updated.
    state: &'a [AtomicU32],
    save: Option<&'a SaveCheckpoint<'a>>,
    saved: (Instant, Duration),
    /// Peeling stops before this level, which the remaining edges get.
    last: Option<u32>,
    /// Gets the number of edges that fell so far, after each round.
    fell: &'a dyn Fn(u64) -> Result<()>,
}

impl PeelProgress<'_> {
    /// Saves a checkpoint after a level, if one is due. After a failure there are no more: an interrupted job continues from the last one.
    fn after_level(&mut self, edges: &RemainingEdges, peeling: &mut dyn Peeling) -> Result<()> {
        let (ended, took) = self.saved;
        let due = ended.elapsed() >= CHECKPOINT_EVERY.max(CHECKPOINT_SHARE * took);
        if let Some(save) = self.save.filter(|_| due) {
            let start = Instant::now();
            edges.put_values(&peeling.values()?, self.state);
            match save(self.state) {
                Err(error) if error.kind() == Kind::Resource => {
                    tracing::warn!("peeling goes on without further checkpoints: {error}");
                    self.save = None;
                }
                saved => saved?,
            }
            self.saved = (Instant::now(), start.elapsed());
        }
        Ok(())
    }
}

/// Peels edges, and marks each in the state with its level and [`FALLEN`]. If a device fails, the cores continue from its graph.
fn peel(
    mut edges: RemainingEdges,
    mut values: Vec<u32>,
    progress: &mut PeelProgress<'_>,
    mut places: PeelingPlaces<'_, '_>,
) -> Result<PeelingWork> {
    let (mut work, all) = (PeelingWork::default(), edges.edges());
    loop {
        edges.put_values(&values, progress.state);
        if values.par_iter().all(|&value| !is_left(value)) {
            return Ok(work);
        }
        if values.par_iter().any(|&value| !is_left(value)) {
            (edges, values) = edges.without_fallen(&values);
        }
        let gone = (all - edges.edges()) as u64;
        (progress.fell)(gone)?;
        if let Some(last) = progress.last.filter(|&last| values.par_iter().all(|&value| value >= last)) {
            edges.put_values(&vec![FALLEN | last; edges.edges()], progress.state);
            (progress.fell)(all as u64)?;
            return Ok(work);
        }
        tracing::debug!("{} edges of {} vertices are left", edges.edges(), edges.vertices());
        let on_device = places.use_device(&edges);
        let peeled = places.begin(&edges, &mut values, on_device).and_then(|mut peeling| {
            tracing::debug!("rounds begin");
            let work = peel_most(&mut *peeling, &edges, gone, progress)?;
            tracing::debug!("rounds end after {} levels, {} rounds", work.levels, work.rounds);
            let values = peeling.values()?;
            tracing::debug!("values are read");
            Ok((work, values))
        });
        tracing::debug!("memory of rounds is free");
        let now = match peeled {
            Err(error) if on_device && error.kind() == Kind::Resource => {
                tracing::warn!("the graph is peeled on the CPU: {error}");
                places.device = None;
                continue;
            }
            peeled => peeled?,
        };
        values = now.1;
        work = PeelingWork { levels: work.levels + now.0.levels, rounds: work.rounds + now.0.rounds };
    }
}

/// Removes edges until few are left, or until the last level; `gone` edges fell before.
fn peel_most(
    peeling: &mut dyn Peeling,
    edges: &RemainingEdges,
    gone: u64,
    progress: &mut PeelProgress<'_>,
) -> Result<PeelingWork> {
    let all = edges.edges() as u64;
    let (mut work, mut left) = (PeelingWork::default(), all);
    let enough = peeling.worth_leaving(all);
    while left > 0 {
        let Some(level) = peeling.least_gathered()? else {
            // A wide range means fewer passes over all edges, and more over gathered ones.
            match peeling.least()? {
                Some(least) => peeling.gather(least + least / 8)?,
                None => return Err(Error::defect(format!("{left} edges are left, and none has the smallest value"))),
            }
            continue;
        };
        if progress.last.is_some_and(|last| level >= last) {
            break;
        }
        work.levels += 1;
        let mut falling = peeling.begin(level)?;
        while falling > 0 {
            left -= falling;
            work.rounds += 1;
            falling = peeling.round(level)?;
            (progress.fell)(gone + all - left)?;
        }
        if left < enough {
            break;
        }
        progress.after_level(edges, peeling)?;
    }
    Ok(work)
}
