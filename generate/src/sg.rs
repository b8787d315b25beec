//! Writes a sequence of edges as a serialized graph of the GAP Benchmark Suite (`.sg`): whether it is directed (a byte), the numbers of
//! arcs and of vertices, where each row begins, and all rows. Numbers have 8 bytes, ids 4; all are little-endian.

use std::io::{BufWriter, Write};

use crate::SizedSequence;
use crate::output::{check_space, check_vertices};
use crate::rows::{GeneratedFile, RowArcs, chunks, rows};
use trimill_system::control::Unit;
use trimill_system::disk::Output;
use trimill_system::ordered::make_and_write;
use trimill_system::{Error, Result};

/// The most vertices: ids are signed.
const MOST_VERTICES: u64 = 1 << 31;

pub(super) fn write(sequence: &SizedSequence<'_>, wanted: &GeneratedFile<'_>) -> Result<u64> {
    let &GeneratedFile { path: output, arcs: of_edge, force, control } = wanted;
    check_vertices(sequence, MOST_VERTICES, "the limit of a .sg file", output)?;
    let rows = rows(sequence, wanted)?;
    let (n, arcs) = (sequence.vertices, rows.arcs());
    let bytes = 17 + 8 * (n + 1) + 4 * arcs;
    check_space(output, bytes.into())?;
    let task = control.task("write", Some(arcs), Unit::Arcs);
    let mut file = Output::create(output)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut file);
    let mut put = |bytes: &[u8]| out.write_all(bytes).map_err(|e| Error::write(output, e));
    put(&[u8::from(of_edge != RowArcs::Both)])?;
    put(&arcs.to_le_bytes())?;
    put(&n.to_le_bytes())?;
    let mut begin = 0u64;
    for vertex in 0..n {
        if vertex.is_multiple_of(1 << 16) {
            control.check()?;
        }
        put(&begin.to_le_bytes())?;
        begin += rows.length(vertex);
    }
    put(&begin.to_le_bytes())?;
    let period = rows.period().unwrap_or(n);
    let chunks = chunks(&*rows, period, |_| true);
    let make = |number: u64, (ids, encoded): &mut (Vec<u32>, Vec<u8>)| {
        control.check()?;
        let many = chunks.len() as u64;
        let (chunk, first) = (&chunks[(number % many) as usize], number / many * period);
        ids.clear();
        chunk.clone().for_each(|vertex| rows.append(first + vertex, ids));
        task.advance(ids.len() as u64);
        encoded.clear();
        encoded.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        Ok(())
    };
    make_and_write(chunks.len() as u64 * (n / period), make, |(_, encoded)| put(encoded))?;
    out.flush().map_err(|e| Error::write(output, e))?;
    drop(out);
    control.check()?;
    Output::finish_together([file], force)?;
    Ok(bytes)
}
