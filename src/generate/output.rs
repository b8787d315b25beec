//! Writes a sequence of edges: in parallel, in bounded memory, all or nothing.
//!
//! Binary: a block's place in the file follows from its number, so every thread writes its own blocks where they
//! belong. Text: a batch of blocks, one a thread, is made in parallel while the batch before is written, in order.
//! So the bytes are the same on any number of threads. The file is not flushed to the disk before it is renamed: what
//! it protects against is a stopped program, not a power failure, after which it can be generated again.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::{BLOCK, Sequence};
use crate::bytes::Bytes;
use crate::control::{Control, Task, Unit};
use crate::disk::{self, NewFile, SHARED};
use crate::error::{Error, Result};

/// How edges are written, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Pairs of little-endian `u32`.
    Binary,
    /// Lines `u v`.
    Text,
    /// The same lines on standard output.
    Stdout,
}

impl Format {
    pub(super) fn of(output: &Path) -> Result<Self> {
        if output == Path::new("-") {
            return Ok(Self::Stdout);
        }
        match output.extension().and_then(|suffix| suffix.to_str()) {
            Some("bin") => Ok(Self::Binary),
            Some("txt") => Ok(Self::Text),
            _ => Err(Error::usage("the suffix does not say how to write the graph").at(output).expected(
                "a name that ends in .bin (pairs of u32) or .txt (lines 'u v'), or - for text on standard output",
            )),
        }
    }

    /// Bytes that `sequence` takes, or more.
    fn bytes(self, sequence: &dyn Sequence) -> u128 {
        let each = match self {
            Self::Binary => PAIR as u128,
            Self::Text | Self::Stdout => {
                2 * (1 + u128::from((sequence.vertices() - 1).checked_ilog10().unwrap_or(0) + 1))
            }
        };
        each * u128::from(sequence.edges())
    }
}

/// Bytes of a pair of `u32`.
const PAIR: u64 = 8;

/// Writes `sequence` and returns how many bytes that were.
pub(super) fn write(sequence: &dyn Sequence, format: Format, output: &Path, control: &Control) -> Result<u64> {
    if format == Format::Binary && sequence.vertices() > 1 << 32 {
        return Err(Error::usage(format!("the graph has {} vertices", sequence.vertices()))
            .at(output)
            .expected("at most 4294967296, whose ids fit into 32 bits")
            .advice("write text (.txt), or take smaller parameters"));
    }
    let task = control.task("generate", Some(sequence.edges()), Unit::Arcs);
    if format == Format::Stdout {
        return write_text(sequence, &mut std::io::stdout(), Path::new("standard output"), control, &task);
    }
    if output.is_dir() {
        return Err(Error::usage("is a directory").at(output).expected("the name of a file to write"));
    }
    let directory = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    disk::sweep(directory);
    check_space(directory, format.bytes(sequence))?;
    let mut file = NewFile::create(directory, ".trimill-", ".partial", SHARED)?.known_as(output);
    let bytes = match format {
        Format::Binary => write_binary(sequence, &file, control, &task)?,
        Format::Text | Format::Stdout => write_text(sequence, &mut file, output, control, &task)?,
    };
    control.check()?;
    file.persist(output)?;
    Ok(bytes)
}

fn check_space(directory: &Path, needed: u128) -> Result<()> {
    let system = rustix::fs::statvfs(directory).map_err(|e| Error::write(directory, e.into()))?;
    let free = u128::from(system.f_bavail) * u128::from(system.f_frsize);
    // Some file systems do not know their size.
    if system.f_blocks == 0 || needed <= free {
        return Ok(());
    }
    let size = |bytes: u128| u64::try_from(bytes).map_or_else(|_| format!("{bytes} bytes"), |b| Bytes(b).to_string());
    Err(Error::resource(format!("the graph takes up to {} and {} are free", size(needed), size(free)))
        .at(directory)
        .advice("free some space, name another directory, or take smaller parameters"))
}

fn blocks(sequence: &dyn Sequence) -> u64 {
    sequence.edges().div_ceil(BLOCK)
}

fn block(sequence: &dyn Sequence, number: u64) -> Range<u64> {
    let start = number * BLOCK;
    start..sequence.edges().min(start.saturating_add(BLOCK))
}

fn write_binary(sequence: &dyn Sequence, file: &NewFile, control: &Control, task: &Task) -> Result<u64> {
    let buffers = || (Vec::with_capacity(BLOCK as usize), Vec::with_capacity(BLOCK as usize));
    (0..blocks(sequence)).into_par_iter().try_for_each_init(buffers, |(edges, pairs), number| {
        control.check()?;
        let range = block(sequence, number);
        let (offset, length) = (range.start * PAIR, range.end - range.start);
        edges.clear();
        sequence.append(range, edges);
        debug_assert_eq!(edges.len() as u64, length);
        pairs.clear();
        // No id is cut: `write` has refused a graph with larger ones.
        pairs.extend(edges.iter().map(|edge: &[u64; 2]| edge.map(|id| (id as u32).to_le())));
        file.write_at(bytemuck::cast_slice(pairs), offset)?;
        task.advance(length);
        Ok(())
    })?;
    Ok(sequence.edges() * PAIR)
}

fn write_text(
    sequence: &dyn Sequence,
    out: &mut (dyn Write + Send),
    path: &Path,
    control: &Control,
    task: &Task,
) -> Result<u64> {
    let width = rayon::current_num_threads() as u64;
    let (mut next, mut bytes) = (0, 0);
    let mut made: Vec<Vec<u8>> = Vec::new();
    while next < blocks(sequence) || !made.is_empty() {
        let batch = next..blocks(sequence).min(next + width);
        next = batch.end;
        let (written, following) = rayon::join(
            || made.iter().try_for_each(|text| out.write_all(text)),
            || batch.into_par_iter().map(|number| text_of(sequence, number, control, task)).collect::<Result<_>>(),
        );
        written.map_err(|e| Error::write(path, e))?;
        bytes += made.iter().map(|text| text.len() as u64).sum::<u64>();
        made = following?;
    }
    out.flush().map_err(|e| Error::write(path, e))?;
    Ok(bytes)
}

fn text_of(sequence: &dyn Sequence, number: u64, control: &Control, task: &Task) -> Result<Vec<u8>> {
    control.check()?;
    let range = block(sequence, number);
    let length = range.end - range.start;
    let mut edges = Vec::with_capacity(length as usize);
    sequence.append(range, &mut edges);
    debug_assert_eq!(edges.len() as u64, length);
    let mut text = Vec::with_capacity(edges.len() * 16);
    let mut digits = itoa::Buffer::new();
    for [u, v] in edges {
        text.extend_from_slice(digits.format(u).as_bytes());
        text.push(b' ');
        text.extend_from_slice(digits.format(v).as_bytes());
        text.push(b'\n');
    }
    task.advance(length);
    Ok(text)
}
