//! Triangles as a NumPy array (`.npy`, format 1.0): `u64`, one-dimensional, indexed by id. Ids without an edge have 0.

use std::io::Write;
use std::ops::Range;

use super::order::VertexRows;
use crate::table::columns::{CountRows, CountsInOrder};
use trimill_system::disk::Output;
use trimill_system::ordered::make_and_write;
use trimill_system::{Bytes, Error, Result};

const CHUNK: u64 = 1 << 16;

pub(super) fn write_array(
    to: &mut Output,
    len: u64,
    counts: &impl for<'r> CountsInOrder<Rows<'r> = VertexRows<'r>>,
) -> Result<()> {
    write(to, &header(len))?;
    let mut next = 0;
    counts.in_order(&mut |rows| {
        let Some(last) = rows.count().checked_sub(1) else { return Ok(()) };
        let Some(end) = rows.range(last..last + 1).next().map(|row| row.id + 1).filter(|&end| end <= len) else {
            return Err(Error::defect("an id beyond those that are declared"));
        };
        write_entries(to, std::mem::replace(&mut next, end)..end, |ids, entries| {
            let first = rows.first_from(ids.start);
            for row in rows.range(first..rows.count()).take_while(|row| row.id < ids.end) {
                entries[(row.id - ids.start) as usize] = row.triangles;
            }
        })
    })?;
    write_entries(to, next..len, |_, _| {})
}

/// Writes the entries of `all` ids, zeros that `put` replaces.
fn write_entries(to: &mut Output, all: Range<u64>, put: impl Fn(Range<u64>, &mut [u64]) + Sync) -> Result<()> {
    let make = |chunk, entries: &mut Vec<u64>| {
        let from = all.start + chunk * CHUNK;
        let ids = from..all.end.min(from + CHUNK);
        entries.clear();
        entries.resize((ids.end - ids.start) as usize, 0);
        put(ids, entries);
        Ok(())
    };
    make_and_write((all.end - all.start).div_ceil(CHUNK), make, |entries: &Vec<u64>| {
        write(to, bytemuck::cast_slice(entries))
    })
}

fn write(to: &mut Output, bytes: &[u8]) -> Result<()> {
    let name = to.name().to_path_buf();
    to.write_all(bytes).map_err(|e| Error::write(name, e))
}

pub(crate) fn bytes(len: u64) -> Bytes {
    Bytes(header(len).len() as u64) + Bytes::of::<u64>(len)
}

/// The header: magic, version, length, and a Python dictionary, padded so that entries begin at a multiple of 64.
fn header(len: u64) -> Vec<u8> {
    const PREFIX: usize = 10;
    let mut dictionary = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': ({len},), }}");
    let padding = (PREFIX + dictionary.len() + 1).next_multiple_of(64) - (PREFIX + dictionary.len() + 1);
    dictionary.extend(std::iter::repeat_n(' ', padding));
    dictionary.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
    header.extend_from_slice(dictionary.as_bytes());
    header
}
