//! Writes a sequence of edges as a serialized graph of the GAP Benchmark Suite (`.sg`): whether it is directed (a byte, 0), the numbers of
//! arcs and of vertices, where each row begins, and all rows. Numbers have 8 bytes, ids 4; all are little-endian.

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::Sequence;
use crate::output::check_vertices;
use crate::rows::Adjacency;
use trimill_system::control::{Control, Unit};
use trimill_system::disk::Output;
use trimill_system::error::{Error, Result};
use trimill_system::ordered::make_and_write;

/// The most vertices: ids are signed.
const MOST_VERTICES: u64 = 1 << 31;

/// Writes `sequence` to `output`; returns the number of bytes.
pub(super) fn write(sequence: &dyn Sequence, output: &Path, control: &Control) -> Result<u64> {
    check_vertices(sequence, MOST_VERTICES, "the limit of a .sg file", output)?;
    let task = control.task("generate", Some(3 * sequence.edges()), Unit::Arcs);
    let rows = Adjacency::new(sequence, output, &task.progress(control))?;
    let (n, arcs) = (rows.vertices() as u64, rows.arcs());
    let mut file = Output::create(output)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut file);
    let mut put = |bytes: &[u8]| out.write_all(bytes).map_err(|e| Error::write(output, e));
    put(&[0])?;
    put(&arcs.to_le_bytes())?;
    put(&n.to_le_bytes())?;
    let (chunks, mut begin) = (rows.chunks(), 0u64);
    for chunk in &chunks {
        control.check()?;
        for vertex in chunk.clone() {
            put(&begin.to_le_bytes())?;
            begin += rows.row(vertex).len() as u64;
        }
    }
    put(&begin.to_le_bytes())?;
    let bytes = |chunk: u64| {
        control.check()?;
        Ok(chunks[chunk as usize]
            .clone()
            .flat_map(|vertex| rows.row(vertex))
            .flat_map(|id| id.to_le_bytes())
            .collect::<Vec<u8>>())
    };
    make_and_write(chunks.len() as u64, bytes, |bytes| put(bytes))?;
    out.flush().map_err(|e| Error::write(output, e))?;
    drop(out);
    control.check()?;
    file.finish()?;
    Ok(17 + 8 * (n + 1) + 4 * arcs)
}
