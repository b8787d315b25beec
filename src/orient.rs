//! From a clean graph to the oriented graph, in a file.
//!
//! Enters: a [`CleanGraph`]: pairs in buckets, degrees. Leaves: the file of an
//! [oriented graph](crate::graph::OrientedGraph) over the vertices with an edge.
//! Each pair becomes an arc from its larger number to its smaller one (lower degree to higher, ties by id: LSTC, section
//! 4.1.1) and goes to the bucket of its tail's range; a bucket, once sorted, is a run of whole rows, written at its place.
//! No row is longer than `sqrt(2 m)`: each of its heads has at least its tail's degree. So the ranges can be cut before
//! the rows are known, by the bound `min(degree, sqrt(2 m))`.
//!
//! Cost: one reading and writing of 8 bytes an edge where they don't fit the memory, a sort of each bucket, 4 bytes an
//! edge written to the graph file. Memory: the given bytes and 8 bytes an id.
//!
//! Inputs that are clean as they lie have a shorter way ([`rows`]).

mod place;
pub mod rows;

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::bytes::Bytes;
use crate::clean::buckets::Buckets;
use crate::clean::{CleanGraph, CleanReport, InputIds, Workspace};
use crate::control::{Control, Unit};
use crate::error::Result;
use crate::graph::bits::{Bits, Marks};
use crate::graph::file::{GraphWriter, Layout};
use crate::graph::numbering::numbers;

/// A complete graph file under a temporary name, and what making it wrote.
pub struct Oriented {
    /// The file.
    pub file: crate::disk::TemporaryFile,
    /// Bytes written to buckets.
    pub bucket_bytes: Bytes,
    /// Bytes of the file.
    pub file_bytes: Bytes,
}

/// Orients `clean` into a new graph file in `dir`, which notes `source` as the identity of the input.
///
/// # Errors
/// Buckets or the file that cannot be written ([`crate::error::Kind::Resource`]).
pub fn orient(
    clean: CleanGraph,
    source: &str,
    dir: &Path,
    space: Workspace<'_>,
    control: &Control,
) -> Result<Oriented> {
    let CleanGraph { pairs, degrees, ids, edges, first_id, declared_lines, report, .. } = clean;
    let vertices = Vertices::new(&degrees);
    let layout = vertices.layout(&ids, edges, first_id, declared_lines, report);
    let Vertices { present, compact } = vertices;
    let same_ids = present.count() == present.universe();
    let writer = GraphWriter::create(dir, layout)?;
    write_per_vertex(&writer, &compact, &degrees, &ids)?;
    drop(ids);

    let ranges = ranges(&compact, &degrees, edges, space);
    drop(compact);
    let number_of = numbers(&degrees);
    drop(degrees);
    let rank = |id: u32| if same_ids { id } else { present.rank(id) };

    let arcs = Buckets::new(ranges.len(), space.for_buckets(), space.dir);
    let task = control.task("orient", Some(2 * edges), Unit::Arcs);
    let find = RangeIndex::new(&ranges);
    (0..pairs.lanes()).into_par_iter().try_for_each(|lane| {
        control.check()?;
        let keys = pairs.take(lane)?;
        arcs.extend(keys.iter().map(|&key| {
            let (u, v) = ((key >> 32) as u32, key as u32);
            let (a, b) = (number_of[u as usize], number_of[v as usize]);
            let (tail, head) = if a > b { (u, b) } else { (v, a) };
            let tail = rank(tail);
            (find.range_of(tail), u64::from(tail) << 32 | u64::from(head))
        }))?;
        task.advance(keys.len() as u64);
        Ok(())
    })?;
    arcs.flush()?;
    drop(number_of);
    let bucket_bytes = Bytes(pairs.bytes_written() + arcs.bytes_written());
    drop(pairs);

    let mut first_arc = Vec::with_capacity(ranges.len());
    let mut total = 0;
    for lane in 0..ranges.len() {
        first_arc.push(total);
        total += arcs.len(lane);
    }
    ranges.par_iter().enumerate().try_for_each(|(lane, range)| {
        control.check()?;
        let mut keys = arcs.take(lane)?;
        keys.sort_unstable();
        write_rows(&writer, range.clone(), first_arc[lane], &keys)?;
        task.advance(keys.len() as u64);
        Ok(())
    })?;
    writer.write(writer.layout().offsets().end as u64 - 8, &total.to_le_bytes())?;
    complete(writer, source.to_string(), bucket_bytes)
}

/// Seals a graph file all of whose sections are written, and which was made of `source`.
fn complete(writer: GraphWriter, source: String, bucket_bytes: Bytes) -> Result<Oriented> {
    let file = writer.finish(source)?;
    let file_bytes = Bytes(std::fs::metadata(&file).map_or(0, |m| m.len()));
    Ok(Oriented { file, bucket_bytes, file_bytes })
}

/// The ids with an edge.
struct Vertices {
    /// As a set.
    present: Bits,
    /// Ascending.
    compact: Vec<u32>,
}

impl Vertices {
    fn new(degrees: &[u32]) -> Self {
        let marks = Marks::new(degrees.len() as u32);
        degrees.par_iter().enumerate().for_each(|(id, &degree)| {
            if degree > 0 {
                marks.set(id as u32);
            }
        });
        let present = marks.finish();
        Self { compact: present.iter(0..present.universe()).collect(), present }
    }

    /// What the file says of the graph.
    fn layout(
        &self,
        ids: &InputIds,
        edges: u64,
        first_id: u64,
        declared_lines: Option<u64>,
        report: CleanReport,
    ) -> Layout {
        let Self { present, compact } = self;
        // Ids without a gap need no table: they are an offset.
        let consecutive = match ids {
            InputIds::Plain => compact.last().is_none_or(|&last| last - compact[0] + 1 == present.count()),
            InputIds::Ranked(_) => false,
        };
        Layout {
            vertices: present.count(),
            edges,
            has_ids: !consecutive,
            offset_of_ids: compact.first().map_or(0, |&first| u64::from(first)),
            first_id,
            declared_lines,
            report,
            source: String::new(),
        }
    }
}

fn write_per_vertex(writer: &GraphWriter, compact: &[u32], degrees: &[u32], ids: &InputIds) -> Result<()> {
    const RUN: usize = 1 << 16;
    let layout = writer.layout();
    let (degrees_at, ids_at) = (layout.degrees().start, layout.ids().map(|range| range.start));
    compact.par_chunks(RUN).enumerate().try_for_each(|(run, chunk)| {
        let first = run * RUN;
        let values: Vec<u32> = chunk.iter().map(|&id| degrees[id as usize]).collect();
        writer.write((degrees_at + first * 4) as u64, bytemuck::cast_slice(&values))?;
        let Some(at) = ids_at else { return Ok(()) };
        let values: Vec<u64> = match ids {
            InputIds::Plain => chunk.iter().map(|&id| u64::from(id)).collect(),
            InputIds::Ranked(table) => chunk.iter().map(|&id| table[id as usize]).collect(),
        };
        writer.write((at + first * 8) as u64, bytemuck::cast_slice(&values))
    })
}

/// Cuts the vertices into ranges whose rows fit a thread's share of the memory.
fn ranges(compact: &[u32], degrees: &[u32], edges: u64, space: Workspace<'_>) -> Vec<Range<u32>> {
    let threads = rayon::current_num_threads() as u64;
    let memory = space.memory.get().max(1 << 20);
    let longest = (2 * edges).isqrt() + 1;
    let bound = |id: u32| u64::from(degrees[id as usize]).min(longest);
    let total: u64 = compact.par_iter().map(|&id| bound(id)).sum();
    // A key takes 8 bytes and its place in the written row 4; a quarter of the memory, over all threads. At most
    // 2048 ranges, as each has a staging area in every thread.
    let share = (memory / 4 / threads / 12).min(1 << 20).max(total / 2048).max(longest);
    let mut ranges = Vec::new();
    let (mut start, mut sum) = (0u32, 0);
    for (vertex, &id) in compact.iter().enumerate() {
        let weight = bound(id);
        if sum + weight > share && sum > 0 {
            ranges.push(start..vertex as u32);
            (start, sum) = (vertex as u32, 0);
        }
        sum += weight;
    }
    ranges.push(start..compact.len() as u32);
    ranges
}

/// Finds the range of a vertex: a table over runs of 64 vertices, then a step or two.
struct RangeIndex {
    first: Vec<u16>,
    ends: Vec<u32>,
}

impl RangeIndex {
    fn new(ranges: &[Range<u32>]) -> Self {
        let ends: Vec<u32> = ranges.iter().map(|range| range.end).collect();
        let n = ends.last().copied().unwrap_or(0);
        let first = (0..n.div_ceil(64)).map(|run| ends.partition_point(|&end| end <= run * 64) as u16).collect();
        Self { first, ends }
    }

    #[inline]
    fn range_of(&self, vertex: u32) -> usize {
        let mut range = self.first[vertex as usize / 64] as usize;
        while self.ends[range] <= vertex {
            range += 1;
        }
        range
    }
}

/// Writes the rows of a range: `keys` are its arcs `tail << 32 | head`, sorted.
pub(crate) fn write_rows(writer: &GraphWriter, range: Range<u32>, first_arc: u64, keys: &[u64]) -> Result<()> {
    let layout = writer.layout();
    let heads: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
    writer.write(layout.heads().start as u64 + first_arc * 4, bytemuck::cast_slice(&heads))?;
    drop(heads);
    let mut at = 0;
    let offsets: Vec<u64> = range
        .clone()
        .map(|vertex| {
            while at < keys.len() && (keys[at] >> 32) < u64::from(vertex) {
                at += 1;
            }
            first_arc + at as u64
        })
        .collect();
    writer.write(layout.offsets().start as u64 + u64::from(range.start) * 8, bytemuck::cast_slice(&offsets))
}
