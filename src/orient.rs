//! From a clean graph to the oriented graph, in memory or in a file. Input: a [`CleanGraph`]: pairs in buckets, degrees. Output: an [oriented
//! graph](trimill_graph::OrientedGraph) of the vertices with an edge. Each pair becomes an arc from its larger rank to its smaller one (LSTC, section
//! 4.1.1) in the bucket of its tail's rank range; a sorted bucket is a run of whole rows (`ranked`). Clean inputs take a shorter path ([`rows`]).
//!
//! Cost: 1 to 4 bytes an edge written and read once if they do not fit in memory, a sort of each bucket, 0.2 to 2 bytes an edge written to
//! the graph file. Memory: within the host's budget ([`crate::clean::workspace`]).

mod blocks;
mod in_rank_order;
pub(crate) mod joined;
mod place;
mod ranked;
mod reversed;
mod row_pass;
mod row_sort;
pub mod rows;
mod tails;
mod united;
mod waiting;

use rayon::prelude::*;

use crate::clean::buckets::bytes_on_disk;
use crate::clean::ids::ArcFacts;
use crate::clean::workspace::IdCount;
use crate::clean::{BEYOND_MEMORY, CleanGraph, CleanReport, Workspace, is_sparse, needs};
pub(crate) use blocks::{BLOCK, block_starts};
pub use place::{Destination, MadeGraph};
pub(crate) use place::{VertexSections, Write, make};
use ranked::RankedArcs;
use trimill_counting::{VertexSet, VertexSetBuilder};
use trimill_graph::file::Layout;
use trimill_graph::numbering::{numbers, order};
use trimill_system::control::{Control, Unit};
use trimill_system::mapped::{prefetch, trim_heap, zeros};
use trimill_system::{Bytes, Result, parallel};

const AHEAD: usize = 24;

/// Orients `clean` into a new graph, which records `source` as the input's identity. Also returns all bytes written to buckets.
pub fn orient(
    clean: CleanGraph,
    source: &str,
    place: Destination<'_>,
    space: Workspace<'_>,
    control: &Control,
) -> Result<(MadeGraph, Bytes)> {
    let CleanGraph { pairs, degrees, table, edges, distinct_arcs, facts, .. } = clean;
    let used = UsedIds::new(&degrees, table.as_deref());
    let layout = used.layout_of(&facts, edges, distinct_arcs);
    drop(facts);
    let range = degrees.len() as u64;
    let of_ids = if table.is_some() { IdCount::Ranked(range) } else { IdCount::Plain(range) };
    let shares = space.beside(&needs(of_ids, edges, space))?;
    // The file of arcs takes no additional space at best: it grows while that of pairs shrinks, and shrinks while the graph file grows.
    let [_, most] = bytes_on_disk(edges, shares.buckets());
    let waiting = shares.on_disk(BEYOND_MEMORY, [Bytes::ZERO, most]);
    let later = space.later_needs(layout.vertices.into(), edges);
    place.check_room(&layout, std::iter::once(waiting).chain(later))?;
    let arcs = RankedArcs::new(&degrees, edges, &shares);
    if 8 * (layout.report.arcs + 2 * edges) > shares.left.get() {
        // The chunks that cleaning took were small. Arcs need such memory, too, but other threads may have freed it.
        trim_heap();
    }
    let rank_of = numbers(&degrees);
    drop(degrees);
    let task = control.task("orient", Some(2 * edges), Unit::Arcs);
    let mut bucket_bytes = Bytes::ZERO;
    let order = order(&rank_of, &used.present);
    let rows = |write: &Write<'_>| {
        let budget = shares.keys_budget();
        parallel::try_each(0..pairs.buckets(), |bucket| {
            control.check()?;
            let taken = budget.take(Bytes(8 * pairs.len(bucket)));
            for keys in pairs.take(bucket)? {
                arcs.extend(keys.iter().enumerate().map(|(i, &key)| {
                    if let Some(&ahead) = keys.get(i + AHEAD) {
                        prefetch(&rank_of, (ahead >> 32) as usize);
                        prefetch(&rank_of, ahead as u32 as usize);
                    }
                    let (a, b) = (rank_of[(key >> 32) as usize], rank_of[key as u32 as usize]);
                    (a.max(b), a.min(b))
                }))?;
                task.advance(keys.len() as u64);
            }
            drop(taken);
            Ok(())
        })?;
        drop(rank_of);
        bucket_bytes = Bytes(pairs.bytes_written() + arcs.buckets.bytes_written());
        drop(pairs);
        arcs.rows(write, &task)
    };
    let sections = VertexSections { degrees: &arcs.blocks.degrees, order, ids: Some(&used) };
    let made = make(place, layout, sections, || Ok(source.to_owned()), rows)?;
    Ok((made, bucket_bytes))
}

pub(crate) struct UsedIds<'a> {
    pub(crate) present: VertexSet,
    /// The input's ids, if those in `present` are positions in this ascending table.
    table: Option<&'a [u64]>,
}

impl<'a> UsedIds<'a> {
    const RUN: u32 = 1 << 17;

    pub(crate) fn new(degrees: &[u32], table: Option<&'a [u64]>) -> Self {
        let marks = VertexSetBuilder::new(degrees.len() as u32);
        degrees.par_iter().enumerate().for_each(|(id, &degree)| {
            if degree > 0 {
                marks.set(id as u32);
            }
        });
        Self { present: marks.finish(), table }
    }

    pub(crate) fn ends(&self) -> Option<(u32, u32)> {
        let first = self.present.iter(0..self.present.universe()).next()?;
        let last = self.present.words().iter().rposition(|&word| word != 0)?;
        Some((first, last as u32 * 64 + 63 - self.present.words()[last].leading_zeros()))
    }

    /// The layout of the graph file, as far as it follows from the vertices.
    pub(crate) fn layout(&self, edges: u64) -> Layout {
        let (vertices, ends) = (self.present.count(), self.ends());
        let (first, last) = ends.map_or((0, 0), |(first, last)| (self.original(first), self.original(last)));
        // Ids without a gap are an offset.
        let has_ids = vertices > 0 && last - first != u64::from(vertices - 1);
        Layout { vertices, edges, has_ids, offset_of_ids: first, ..Layout::default() }
    }

    /// The layout of the graph file of cleaned `arcs`, of which `distinct` are neither loops nor duplicates.
    pub(crate) fn layout_of(&self, arcs: &ArcFacts, edges: u64, distinct: u64) -> Layout {
        let declared = arcs.source.declared_vertices;
        let is_alone = |id: &u64| *id >= self.present.universe().into() || !self.present.contains(*id as u32);
        // If only memory was too little for arrays over all ids, records their range: a later start may have enough.
        let (vertices, ids) = match self.table {
            Some(table) => {
                let last = table.last().filter(|&&last| !is_sparse(last, arcs.arcs));
                (table.len() as u64, last.map(|last| table[0]..last + 1))
            }
            None => {
                let ends = self.ends().map(|(first, _)| first.into());
                let first = ends.into_iter().chain(arcs.loop_ids.iter().next()).min();
                let alone = arcs.loop_ids.iter().filter(is_alone).count() as u64;
                (u64::from(self.present.count()) + alone, Some(first.unwrap_or(0)..arcs.ids))
            }
        };
        let of_ids = ids.as_ref().filter(|_| declared.is_none());
        let first_id = of_ids.map_or(arcs.source.first_id, |ids| ids.start.min(1));
        let report = CleanReport {
            vertices_declared: declared.unwrap_or(vertices),
            arcs: arcs.arcs,
            loops_removed: arcs.loops,
            ..CleanReport::default()
        };
        Layout {
            first_id,
            declared_lines: declared.or(ids.map(|ids| ids.end.saturating_sub(first_id))),
            report: report.cleaned(2 * edges, distinct, arcs.source.symmetric),
            ..self.layout(edges)
        }
    }

    fn original(&self, id: u32) -> u64 {
        self.table.map_or(u64::from(id), |table| table[id as usize])
    }

    /// The number of runs in which the input's ids of all vertices, ascending, are made.
    fn runs(&self) -> u32 {
        self.present.universe().div_ceil(Self::RUN)
    }

    fn run(&self, i: u32) -> impl Iterator<Item = u64> + '_ {
        self.present.iter(i * Self::RUN..(i + 1).saturating_mul(Self::RUN)).map(|id| self.original(id))
    }

    fn all(&self) -> Vec<u64> {
        let mut all = zeros(self.present.count() as usize);
        let ends =
            (1..=self.runs()).map(|i| self.present.rank(i.saturating_mul(Self::RUN).min(self.present.universe())));
        let mut begin = 0;
        let lengths = ends.map(|end| std::mem::replace(&mut begin, end).abs_diff(end) as usize);
        let parts = parallel::cut(&mut all, lengths);
        parallel::each((0..).zip(parts), |(i, part)| {
            part.iter_mut().zip(self.run(i)).for_each(|(place, id)| *place = id)
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::clean;
    use trimill_input::arcs::ArcList;
    use trimill_system::memory::HostMemory;

    #[test]
    fn whether_ids_are_sparse_depends_on_the_graph_alone() {
        let dir = tempfile::tempdir().unwrap();
        let with_gaps = |last| vec![(0, 1), (1, last), (last, 0), (last - 1, last - 1)];
        let without = |first| vec![(first, first + 1), (first + 1, first + 2)];
        for (arcs, lines, has_ids) in [
            (with_gaps(3_500_000), Some(3_500_001), true),
            (with_gaps(4_194_303), Some(4_194_304), true),
            (with_gaps(4_194_304), None, true),
            (without(4_000_000), Some(4_000_002), false),
            (without(1 << 40), None, false),
            (vec![(3_500_000, 3_500_000)], Some(3_500_000), false),
        ] {
            let made = |mib| {
                let space = Workspace::new(HostMemory::new(Bytes::mib(mib), 1), dir.path());
                let source = ArcList { arcs: arcs.clone(), declared: None };
                let cleaned = clean(&source, space, &Control::silent()).unwrap();
                let used = UsedIds::new(&cleaned.degrees, cleaned.table.as_deref());
                let layout = used.layout_of(&cleaned.facts, cleaned.edges, cleaned.distinct_arcs);
                assert_eq!((cleaned.table.is_some(), layout.declared_lines), (mib < 100 || lines.is_none(), lines));
                (layout.first_id, layout.has_ids, layout.offset_of_ids, used.all())
            };
            let little = made(33);
            assert_eq!((little.1, &little), (has_ids, &made(256)), "{arcs:?}");
        }
    }
}
