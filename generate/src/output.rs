//! Writes a sequence of edges: in parallel, in bounded memory, all or nothing. Binary: a block's position in the file follows from its number, so
//! every thread writes its own blocks. Text, and output to a pipe or a device: a batch of blocks is made in parallel while the one before is written,
//! in order. Files are not synced before the rename, which protects against a stopped program, not against a power failure.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;

use crate::{BLOCK, GeneratedFile, SizedSequence};
use trimill_system::control::{Progress, Unit};
use trimill_system::disk::{self, NewFile, Output};
use trimill_system::error::STDOUT;
use trimill_system::ordered::make_and_write;
use trimill_system::{Bytes, Error, Result, parallel};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeneratedFormat {
    /// Pairs of little-endian `u32`.
    Binary,
    /// Lines `u v`.
    Text,
    /// Pairs of little-endian `u32`, to standard output.
    Stdout,
    BvGraph,
    Sg,
}

impl GeneratedFormat {
    pub(super) fn of(output: &Path) -> Result<Self> {
        if output == Path::new("-") {
            return Ok(Self::Stdout);
        }
        match output.extension().and_then(|suffix| suffix.to_str()) {
            Some("bin") => Ok(Self::Binary),
            Some("txt") => Ok(Self::Text),
            Some("graph") => Ok(Self::BvGraph),
            Some("sg") => Ok(Self::Sg),
            _ => Err(Error::usage("the suffix does not say how to write the graph")
                .at(output)
                .expected(format!("a name that ends in {SUFFIXES}"))),
        }
    }

    /// An upper bound of the bytes of `sequence`, as pairs or as text.
    fn bytes(self, sequence: &SizedSequence<'_>) -> u128 {
        let digits = (sequence.vertices - 1).checked_ilog10().unwrap_or(0) + 1;
        let each = if self == Self::Text { 2 * (1 + u64::from(digits)) } else { PAIR };
        u128::from(each) * u128::from(sequence.edges)
    }
}

pub const SUFFIXES: &str = ".bin (pairs of u32), .txt (lines 'u v'), .graph (a BVGraph) or .sg (GAP's format); \
                            or - for pairs of u32 on standard output";

const PAIR: u64 = 8;

const PIPE: usize = 1 << 20;

/// Writes the edges of `sequence` one after another; returns the number of bytes.
pub(super) fn write(sequence: &SizedSequence<'_>, format: GeneratedFormat, wanted: &GeneratedFile<'_>) -> Result<u64> {
    let &GeneratedFile { path: output, force, control, .. } = wanted;
    if format != GeneratedFormat::Text {
        check_vertices(sequence, 1 << 32, "whose ids fit into 32 bits", output)?;
    }
    let task = control.task("generate", Some(sequence.edges), Unit::Arcs);
    let encode = if format == GeneratedFormat::Text { as_text } else { as_pairs };
    if format == GeneratedFormat::Stdout {
        let name = Path::new(STDOUT);
        let out = std::io::stdout();
        if out.is_terminal() {
            return Err(Error::usage("pairs of u32 for a terminal").expected("a pipe behind '--output -', or a file"));
        }
        // A larger pipe needs fewer writes; for other outputs the call fails.
        let _ = rustix::pipe::fcntl_setpipe_size(&out, PIPE);
        let mut out = File::from(out.as_fd().try_clone_to_owned().map_err(|e| Error::write(name, e))?);
        return write_in_order(sequence, encode, &mut out, name, &task);
    }
    check_space(output, format.bytes(sequence))?;
    let mut file = Output::create(output)?;
    let bytes = match (format, file.new_file()) {
        (GeneratedFormat::Binary, Some(file)) => write_anywhere(sequence, file, &task)?,
        _ => write_in_order(sequence, encode, &mut file, output, &task)?,
    };
    control.check()?;
    Output::finish_together([file], force)?;
    Ok(bytes)
}

/// Refuses a graph with more vertices than `most`, a limit that `why` names.
pub(super) fn check_vertices(sequence: &SizedSequence<'_>, most: u64, why: &str, output: &Path) -> Result<()> {
    if sequence.vertices <= most {
        return Ok(());
    }
    Err(Error::usage(format!("the graph has {} vertices", sequence.vertices))
        .at(output)
        .expected(format!("at most {most}, {why}"))
        .advice("write text (.txt), or take smaller parameters"))
}

pub(super) fn check_space(output: &Path, needed: u128) -> Result<()> {
    let Some(file) = disk::file_of_output(output)? else { return Ok(()) };
    let directory = disk::parent(&file);
    disk::sweep(directory);
    let free = disk::free_space(directory)?;
    if needed <= u128::from(free.get()) {
        return Ok(());
    }
    Err(Error::resource(format!("the graph takes up to {} and {free} are free", size(needed)))
        .at(output)
        .advice("free some space, name another directory, or take smaller parameters"))
}

pub(super) fn size(bytes: u128) -> String {
    u64::try_from(bytes).map_or_else(|_| format!("more than {}", Bytes(u64::MAX)), |bytes| Bytes(bytes).to_string())
}

pub(super) fn blocks(sequence: &SizedSequence<'_>) -> u64 {
    sequence.edges.div_ceil(BLOCK)
}

pub(super) fn block(sequence: &SizedSequence<'_>, number: u64) -> Range<u64> {
    let start = number * BLOCK;
    start..sequence.edges.min(start.saturating_add(BLOCK))
}

fn write_anywhere(sequence: &SizedSequence<'_>, file: &NewFile, progress: &Progress) -> Result<u64> {
    let buffers = || (Vec::with_capacity(BLOCK as usize), Vec::with_capacity(BLOCK as usize * PAIR as usize));
    parallel::try_each_with(0..blocks(sequence), buffers, |(edges, bytes), number| {
        fill(sequence, number, edges, progress)?;
        bytes.clear();
        as_pairs(edges, bytes);
        file.write_at(bytes, block(sequence, number).start * PAIR)?;
        progress.advance(edges.len() as u64);
        Ok(())
    })?;
    Ok(sequence.edges * PAIR)
}

type Encode = fn(&[[u64; 2]], &mut Vec<u8>);

fn write_in_order(
    sequence: &SizedSequence<'_>,
    encode: Encode,
    out: &mut (dyn Write + Send),
    path: &Path,
    progress: &Progress,
) -> Result<u64> {
    let make = |number, (edges, bytes): &mut (Vec<[u64; 2]>, Vec<u8>)| {
        fill(sequence, number, edges, progress)?;
        bytes.clear();
        encode(edges, bytes);
        progress.advance(edges.len() as u64);
        Ok(())
    };
    let mut written = 0;
    make_and_write(blocks(sequence), make, |(_, bytes)| {
        written += bytes.len() as u64;
        out.write_all(bytes).map_err(|e| Error::write(path, e))
    })?;
    out.flush().map_err(|e| Error::write(path, e))?;
    Ok(written)
}

pub(super) fn fill(
    sequence: &SizedSequence<'_>,
    number: u64,
    edges: &mut Vec<[u64; 2]>,
    progress: &Progress,
) -> Result<()> {
    progress.check()?;
    let range = block(sequence, number);
    let length = range.end - range.start;
    edges.clear();
    edges.reserve_exact(length as usize);
    sequence.blocks.append(range, edges);
    debug_assert_eq!(edges.len() as u64, length);
    Ok(())
}

/// Pairs of little-endian `u32`. No id is truncated: [`write`] has refused graphs with larger ones.
fn as_pairs(edges: &[[u64; 2]], bytes: &mut Vec<u8>) {
    bytes.reserve(edges.len() * PAIR as usize);
    bytes.extend(edges.iter().flatten().flat_map(|&id| (id as u32).to_le_bytes()));
}

fn as_text(edges: &[[u64; 2]], text: &mut Vec<u8>) {
    text.reserve(edges.len() * 16);
    let mut digits = itoa::Buffer::new();
    for &[u, v] in edges {
        text.extend_from_slice(digits.format(u).as_bytes());
        text.push(b' ');
        text.extend_from_slice(digits.format(v).as_bytes());
        text.push(b'\n');
    }
}
