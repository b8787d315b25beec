//! From a clean graph to the oriented graph, in a file.
//!
//! Enters: a [`CleanGraph`]: pairs in buckets, degrees. Leaves: the file of an
//! [oriented graph](crate::graph::OrientedGraph) over the vertices with an edge.
//! Each pair becomes an arc from its larger rank to its smaller one (lower degree to higher, ties by id: LSTC, section
//! 4.1.1) and goes to the bucket of its tail's rank range; a bucket, once sorted, is a run of whole rows (`ranked`).
//!
//! Cost: one reading and writing of 8 bytes an edge where they don't fit the memory, a sort of each bucket, 4 bytes an
//! edge written to the graph file. Memory: the given bytes and 8 bytes an id.
//!
//! Inputs that are clean as they lie have a shorter way ([`rows`]).

mod place;
pub(crate) mod ranked;
pub mod rows;

use std::path::Path;

use rayon::prelude::*;

use crate::bytes::Bytes;
use crate::clean::{CleanGraph, CleanReport, InputIds, Workspace};
use crate::control::{Control, Unit};
use crate::error::Result;
use crate::graph::bits::{Bits, Marks};
use crate::graph::file::{GraphWriter, Layout};
use crate::graph::numbering::numbers;
use ranked::RankedArcs;

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
    let writer = GraphWriter::create(dir, layout)?;
    write_per_vertex(&writer, &vertices.compact, &degrees, &ids)?;
    drop((ids, vertices));

    let arcs = RankedArcs::new(&degrees, edges, space);
    let rank_of = numbers(&degrees);
    drop(degrees);
    let task = control.task("orient", Some(2 * edges), Unit::Arcs);
    (0..pairs.lanes()).into_par_iter().try_for_each(|lane| {
        control.check()?;
        let keys = pairs.take(lane)?;
        arcs.extend(keys.iter().map(|&key| {
            let (a, b) = (rank_of[(key >> 32) as usize], rank_of[key as u32 as usize]);
            (a.max(b), a.min(b))
        }))?;
        task.advance(keys.len() as u64);
        Ok(())
    })?;
    drop(rank_of);
    let bucket_bytes = Bytes(pairs.bytes_written() + arcs.bytes_written());
    drop(pairs);
    arcs.write_rows(&writer, &task, control)?;
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
