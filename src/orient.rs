//! From a clean graph to the oriented graph, in a file.
//!
//! Input: a [`CleanGraph`]: pairs in buckets, degrees. Output: the file of an
//! [oriented graph](trimill_graph::OrientedGraph) over the vertices with an edge.
//! Each pair becomes an arc from its larger rank to its smaller one (lower degree to higher, ties by id: LSTC, section
//! 4.1.1) and goes to the bucket of its tail's rank range; a bucket, once sorted, is a run of whole rows (`ranked`).
//!
//! Cost: 1 to 4 bytes an edge written and read once if they do not fit in memory, a sort of each bucket, 0.2 to 2 bytes an edge
//! written to the graph file. Memory: within the host's budget ([`crate::clean::workspace`]).
//!
//! Inputs that are clean already take a shorter path ([`rows`]).

mod blocks;
mod joined;
mod place;
mod ranked;
pub mod rows;
mod united;
mod waiting;

use std::path::Path;

use rayon::prelude::*;

use crate::clean::workspace::{IdCount, Pool};
use crate::clean::{CleanGraph, InputIds, Workspace, needs};
pub(crate) use blocks::block_starts;
use place::complete;
pub use place::{Destination, MadeGraph};
pub(crate) use place::{VertexSections, Write, make};
use ranked::RankedArcs;
use trimill_counting::{VertexSet, VertexSetBuilder};
use trimill_graph::file::{GraphWriter, Layout};
use trimill_graph::numbering::{numbers, order};
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, Unit};
use trimill_system::error::Result;
use trimill_system::mapped::prefetch;
use trimill_system::parallel;

/// Keys whose ranks are prefetched before they are needed.
const AHEAD: usize = 24;

/// A complete graph file under a temporary name.
pub struct OrientedFile {
    pub file: trimill_system::disk::TemporaryFile,
    pub file_bytes: Bytes,
}

/// Orients `clean` into a new graph file in `dir`, which records `source` as the identity of the input. Also returns the bytes written
/// to buckets meanwhile and before.
pub fn orient(
    clean: CleanGraph,
    source: &str,
    dir: &Path,
    space: Workspace<'_>,
    control: &Control,
) -> Result<(OrientedFile, Bytes)> {
    let CleanGraph { pairs, degrees, ids, edges, first_id, declared_lines, report, .. } = clean;
    let vertices = UsedIds::new(&degrees);
    let layout = Layout { first_id, declared_lines, report, ..vertices.layout(&ids, edges) };
    // Where it does not go to the cache, this is the work directory.
    let place = if dir == space.dir { Destination::Memory(Bytes::ZERO, dir) } else { Destination::File(dir) };
    place.check_room(&layout)?;
    let mut writer = GraphWriter::create(dir, layout)?;
    if writer.layout().has_ids {
        writer.ids(vertices.ids(&ids))?;
    }
    let of_ids = match &ids {
        InputIds::Plain => IdCount::Plain(degrees.len() as u64),
        InputIds::Ranked(table) => IdCount::Ranked(table.len() as u64),
    };
    let shares = space.beside(&needs(of_ids, edges, space))?;
    drop(ids);
    let arcs = RankedArcs::new(&degrees, edges, &shares);
    let rank_of = numbers(&degrees);
    drop(degrees);
    writer.order(&order(&rank_of, &vertices.present), arcs.degrees())?;
    drop(vertices);
    let task = control.task("orient", Some(2 * edges), Unit::Arcs);
    let pool = Pool::of_keys(&shares);
    parallel::try_each(0..pairs.buckets(), |bucket| {
        control.check()?;
        let taken = pool.take(8 * pairs.len(bucket));
        let keys = pairs.take(bucket)?;
        arcs.extend(keys.iter().enumerate().map(|(i, &key)| {
            if let Some(&ahead) = keys.get(i + AHEAD) {
                prefetch(&rank_of, (ahead >> 32) as usize);
                prefetch(&rank_of, ahead as u32 as usize);
            }
            let (a, b) = (rank_of[(key >> 32) as usize], rank_of[key as u32 as usize]);
            (a.max(b), a.min(b))
        }))?;
        task.advance(keys.len() as u64);
        drop((keys, taken));
        Ok(())
    })?;
    drop(rank_of);
    let bucket_bytes = Bytes(pairs.bytes_written() + arcs.bytes_written());
    drop(pairs);
    let rows = |write: &Write<'_>| arcs.rows(write, &task, control);
    Ok((complete(writer, arcs.degrees(), || Ok(source.to_owned()), rows)?, bucket_bytes))
}

/// The ids with an edge.
struct UsedIds {
    present: VertexSet,
}

impl UsedIds {
    fn new(degrees: &[u32]) -> Self {
        let marks = VertexSetBuilder::new(degrees.len() as u32);
        degrees.par_iter().enumerate().for_each(|(id, &degree)| {
            if degree > 0 {
                marks.set(id as u32);
            }
        });
        Self { present: marks.finish() }
    }

    fn ends(&self) -> Option<(u32, u32)> {
        let first = self.present.iter(0..self.present.universe()).next()?;
        let last = self.present.words().iter().rposition(|&word| word != 0)?;
        Some((first, last as u32 * 64 + 63 - self.present.words()[last].leading_zeros()))
    }

    /// The input's ids of all vertices, ascending, in runs.
    fn ids<'a>(&'a self, ids: &'a InputIds) -> impl Iterator<Item = Vec<u64>> + 'a {
        const RUN: u32 = 1 << 17;
        let original = move |id: u32| match ids {
            InputIds::Plain => u64::from(id),
            InputIds::Ranked(table) => table[id as usize],
        };
        let universe = self.present.universe();
        let run = move |i: u32| self.present.iter(i * RUN..(i + 1).saturating_mul(RUN)).map(original).collect();
        (0..universe.div_ceil(RUN)).map(run)
    }

    /// The layout of the graph file, but for what is only known of the input.
    fn layout(&self, ids: &InputIds, edges: u64) -> Layout {
        let (first, last) = self.ends().unwrap_or_default();
        // Ids without a gap need no table: they are an offset.
        let consecutive = match ids {
            InputIds::Plain => self.present.count() == 0 || last - first + 1 == self.present.count(),
            InputIds::Ranked(_) => false,
        };
        Layout {
            vertices: self.present.count(),
            edges,
            has_ids: !consecutive,
            offset_of_ids: u64::from(first),
            ..Layout::default()
        }
    }
}
