//! The truss decomposition: the trussness of every edge, by peeling.
//!
//! The k-truss is the largest subgraph in which every edge is in at least k - 2 triangles of the subgraph (Cohen 2008). An edge's
//! trussness is the largest k whose k-truss has it; 2 for an edge in no triangle. Input: the oriented graph, and the triangles on each
//! edge ([`crate::edges`]). Output: the trussness of each edge in their place, and the sizes of all trusses ([`by_k`]).
//!
//! Level by level, from the edges with the fewest triangles on, edges fall ([`Peeling`]): a round removes those that are in no more than
//! the level, and takes from each other edge the triangles that are gone (Wang and Cheng, VLDB 2012; rounds as in PKT, Kabir and Madduri,
//! HPEC 2017). Once half of the edges are gone, those that are left are made a graph of their own. docs/truss.md has the cost.

pub mod by_k;
mod cores;
mod neighbours;
mod remaining;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::sums::{ByArc, CountedKeys, SumKey, Sums};
use by_k::Trusses;
use cores::OnCores;
use remaining::{FALLEN, RemainingEdges};
use trimill_graph::{Direction, OrientedGraph};
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, Unit};
use trimill_system::error::{Error, Result};
use trimill_system::mapped::zeros;

/// The smallest trussness: of an edge in no triangle.
pub const LEAST: u32 = 2;

/// The largest k that may be asked for.
pub const MOST_K: u32 = MOST_TRIANGLES + LEAST;

/// What of the decomposition is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrussWanted {
    /// The k at whose truss peeling ends; none: all edges fall.
    pub until: Option<u32>,
}

/// How the edges that are left become fewer, on the cores or a device. An edge is gathered while it has no more triangles than a bound;
/// a level is searched among those that are gathered.
trait Peeling {
    /// The fewest triangles on any edge that is left; none: there is no edge.
    fn least(&mut self) -> Result<Option<u32>>;

    /// Gathers the edges that are left and have no more triangles than `bound`. Edges that come to have no more are gathered later.
    fn gather(&mut self, bound: u32) -> Result<()>;

    /// The fewest triangles on any edge that is gathered and left.
    fn least_gathered(&mut self) -> Result<Option<u32>>;

    /// How many gathered edges are in no more triangles than `level`: they fall in the next round.
    fn begin(&mut self, level: u32) -> Result<u64>;

    /// Removes the edges that fall; returns how many fall in the next round because of it.
    fn round(&mut self, level: u32) -> Result<u64>;

    /// What is left, and the levels of what fell.
    fn into_edges(self: Box<Self>) -> Result<RemainingEdges>;
}

/// What peeling took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PeelingWork {
    levels: u32,
    rounds: u64,
}

/// The most triangles on an edge, so that two bits of a value are free.
const MOST_TRIANGLES: u32 = (1 << 30) - 1;

/// Bytes of the host's memory that peeling a graph takes on `threads` threads, besides the sums on its edges.
pub fn memory(vertices: u32, edges: u64, threads: u64) -> Bytes {
    Bytes(4 * edges + OnCores::bytes(vertices.into(), edges, threads))
}

/// Replaces the triangles on each edge by its trussness. Where peeling ends at a k, all edges of its truss have this k. A pass over the
/// graph reads `block` bytes at a time. Runs in the current thread pool.
///
/// # Errors
/// [`trimill_system::error::Kind::Resource`]: 2^32 edges or more, or 2^30 triangles on an edge. When the graph or the sums cannot be
/// read; when stopped.
pub fn decompose(
    graph: &OrientedGraph,
    sums: &Sums<ByArc>,
    wanted: TrussWanted,
    block: Bytes,
    control: &Control,
) -> Result<Trusses> {
    if u32::try_from(graph.edges()).is_err() {
        return Err(Error::resource(format!("{} edges", graph.edges()))
            .expected("fewer than 2^32 for a truss decomposition, which has all edges in memory"));
    }
    let edges = all_edges(graph, sums, block, control)?;
    let levels: Vec<AtomicU32> = zeros(edges.edges());
    let task = control.task("peel", Some(graph.edges()), Unit::Arcs);
    let last = wanted.until.map(|k| k.saturating_sub(LEAST));
    let on_cores = |edges| Ok(Box::new(OnCores::new(edges)) as Box<dyn Peeling>);
    let work = peel(edges, &levels, last, on_cores, &|fell| {
        task.advance(fell);
        control.check()
    })?;
    put_trussness(&levels, sums)?;
    drop(levels);
    let sizes = Trusses::new(graph, sums, block, control)?;
    Ok(Trusses { levels: work.levels, rounds: work.rounds, until: wanted.until, ..sizes })
}

/// The graph with the triangles on its edges, whose sums are then zeros again and take no memory.
fn all_edges(graph: &OrientedGraph, sums: &Sums<ByArc>, block: Bytes, control: &Control) -> Result<RemainingEdges> {
    let mut firsts = Vec::with_capacity(graph.vertices() as usize + 1);
    firsts.push(0);
    let mut heads = Vec::with_capacity(graph.edges() as usize);
    graph.pass(block, Direction::Rising, control, |rows| {
        for rank in rows.ranks() {
            heads.extend_from_slice(rows.row(rank));
            firsts.push(heads.len() as u64);
        }
        Ok(())
    })?;
    let values: Vec<AtomicU32> = zeros(heads.len());
    let most = sums.each_block(|first, sums| {
        values[first as usize..].iter().zip(sums).for_each(|(value, &triangles)| value.store(triangles, Relaxed));
        Ok(sums.iter().copied().max().unwrap_or(0))
    })?;
    if let Some(many) = most.into_iter().find(|&most| most > MOST_TRIANGLES) {
        return Err(Error::resource(format!("{many} triangles on an edge"))
            .expected(format!("at most {MOST_TRIANGLES} for a truss decomposition")));
    }
    sums.clear();
    Ok(RemainingEdges::all(firsts, heads, values))
}

/// Adds the trussness of each edge to sums that are zeros.
fn put_trussness(levels: &[AtomicU32], sums: &Sums<ByArc>) -> Result<()> {
    levels.par_chunks(ByArc::BLOCK as usize).enumerate().try_for_each(|(block, levels)| {
        let trussness: Vec<u32> = levels.iter().map(|level| level.load(Relaxed) + LEAST).collect();
        sums.add(CountedKeys::From(block as u64 * ByArc::BLOCK), &trussness)
    })
}

/// Peels `edges`, where `place` says, and writes the level at which each fell into `levels`; those that are left where only edges above
/// `last` or at it are have `last`. `fell` is told how many edges fell, after each round.
fn peel<'p>(
    edges: RemainingEdges,
    levels: &[AtomicU32],
    last: Option<u32>,
    mut place: impl FnMut(RemainingEdges) -> Result<Box<dyn Peeling + 'p>>,
    fell: &dyn Fn(u64) -> Result<()>,
) -> Result<PeelingWork> {
    let mut work = PeelingWork::default();
    let (mut left, mut all) = (edges.edges() as u64, edges.edges() as u64);
    let mut peeling = place(edges)?;
    loop {
        let level = match peeling.least_gathered()? {
            Some(level) => level,
            None => match peeling.least()? {
                // The wider the range, the fewer passes over all edges, and the more over those that are gathered.
                Some(least) => {
                    peeling.gather(least + least / 8)?;
                    continue;
                }
                None => break,
            },
        };
        if last.is_some_and(|last| level >= last) {
            break;
        }
        work.levels += 1;
        let mut falling = peeling.begin(level)?;
        while falling > 0 {
            left -= falling;
            work.rounds += 1;
            let next = peeling.round(level)?;
            fell(falling)?;
            falling = next;
        }
        if left > 0 && left < all / 2 {
            let edges = peeling.into_edges()?;
            edges.put_levels(levels);
            peeling = place(edges.without_fallen())?;
            all = left;
        }
    }
    let edges = peeling.into_edges()?;
    if let Some(last) = last {
        let values = edges.values.par_iter().filter(|value| remaining::is_left(value.load(Relaxed)));
        values.for_each(|value| value.store(FALLEN | last, Relaxed));
        fell(left)?;
    }
    edges.put_levels(levels);
    Ok(work)
}
