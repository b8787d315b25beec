//! Writes a sequence of edges as a BVGraph: `NAME.graph`, `NAME.properties` and `NAME.offsets`, as WebGraph does.
//!
//! The graph is symmetric: each edge is in both rows, once, without loops. All rows are made in memory first, by counting and
//! placing the edges, which are generated twice; then chunks of rows are encoded by all threads, a batch at a time while the batch before
//! is written. No row copies from one in another chunk, and chunks depend on the graph alone, so the bytes are the same on any number of
//! threads.
//!
//! Cost: 8 bytes an edge and 12 a vertex of memory.

mod row;

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use dsi_bitstream::impls::{BufBitWriter, WordAdapter};
use dsi_bitstream::traits::{BE, BitWrite};
use rayon::prelude::*;

use super::output::{blocks, fill};
use super::{BLOCK, Sequence};
use crate::bytes::Bytes;
use crate::control::{Control, Task, Unit};
use crate::disk::{self, Output};
use crate::error::{Error, Result};
use crate::input::{MOST_VERTICES, name_without_dots};
use crate::machine;
use crate::mapped::zeros;
use row::{LONGEST_CHAIN, Rows, SHORTEST_INTERVAL, Stream, WINDOW, ZETA_K};

/// Arcs of a chunk, at least.
const CHUNK: u64 = 1 << 18;

/// The three files.
struct Files {
    graph: PathBuf,
    properties: PathBuf,
    offsets: PathBuf,
}

/// Whether a file of this name is to be a BVGraph.
pub(super) fn is_named_by(output: &Path) -> bool {
    output.extension().is_some_and(|suffix| suffix == "graph")
}

/// Writes `sequence` to `NAME.graph` and the files beside it; returns the bytes of `NAME.graph`.
pub(super) fn write(sequence: &dyn Sequence, graph: &Path, control: &Control) -> Result<u64> {
    if let Some(better) = name_without_dots(&graph.with_extension("")) {
        return Err(Error::usage("the name of a BVGraph with a dot before .graph")
            .at(graph)
            .expected("none, since programs take what follows it for a suffix")
            .advice(format!("name it {better}.graph")));
    }
    if sequence.vertices() > MOST_VERTICES {
        return Err(Error::usage(format!("the graph has {} vertices", sequence.vertices()))
            .at(graph)
            .expected(format!("at most {MOST_VERTICES} in a BVGraph"))
            .advice("write text (.txt), or take smaller parameters"));
    }
    let needed = u128::from(sequence.edges()) * 8 + u128::from(sequence.vertices()) * 12;
    let free = machine::free_memory();
    if free > Bytes::ZERO && needed > u128::from(free.get()) {
        let needed = u64::try_from(needed).map_or_else(|_| format!("{needed} bytes"), |bytes| Bytes(bytes).to_string());
        return Err(Error::resource(format!("the rows of the graph take {needed} of memory and {free} are free"))
            .at(graph)
            .advice("write pairs (.bin) or text (.txt), or take smaller parameters"));
    }
    let files = Files {
        graph: graph.to_path_buf(),
        properties: graph.with_extension("properties"),
        offsets: graph.with_extension("offsets"),
    };
    if let Some(directory) = disk::directory_of_output(graph)? {
        disk::sweep(&directory);
    }
    let task = control.task("generate", Some(4 * sequence.edges()), Unit::Arcs);
    let rows = Adjacency::new(sequence, control, &task)?;
    let mut outputs = (Output::create(&files.graph)?, Output::create(&files.offsets)?);
    let (arcs, bytes) = rows.encode((&mut outputs.0, &mut outputs.1), &files, control, &task)?;
    let mut properties = Output::create(&files.properties)?;
    let text = format!(
        "#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\nnodes={}\narcs={arcs}\nwindowsize={WINDOW}\n\
         maxrefcount={LONGEST_CHAIN}\nminintervallength={SHORTEST_INTERVAL}\nzetak={ZETA_K}\ncompressionflags=\n",
        sequence.vertices()
    );
    properties.write_all(text.as_bytes()).map_err(|e| Error::write(&files.properties, e))?;
    control.check()?;
    let (graph, offsets) = outputs;
    offsets.finish()?;
    properties.finish()?;
    graph.finish()?;
    Ok(bytes)
}

/// The rows of all vertices.
struct Adjacency {
    /// Where each row begins in `successors`; one more at the end.
    begins: Vec<u64>,
    /// In any order, with repetitions if the edges have any.
    successors: Vec<u32>,
}

/// The rows of a chunk as bits, and the lengths of all rows in bits.
struct Encoded {
    rows: (Vec<u64>, u64),
    lengths: (Vec<u64>, u64),
    arcs: u64,
}

impl Adjacency {
    fn new(sequence: &dyn Sequence, control: &Control, task: &Task) -> Result<Self> {
        let n = sequence.vertices() as usize;
        let each = |place: &(dyn Fn(u64, u64) + Sync)| {
            let buffer = || Vec::with_capacity(BLOCK as usize);
            (0..blocks(sequence)).into_par_iter().try_for_each_init(buffer, |edges, number| {
                fill(sequence, number, edges, control)?;
                for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
                    place(u, v);
                    place(v, u);
                }
                task.advance(edges.len() as u64);
                Ok(())
            })
        };
        // The lengths of rows, then how many places of each row are free.
        let free: Vec<AtomicU32> = zeros(n);
        each(&|tail, _| {
            free[tail as usize].fetch_add(1, Ordering::Relaxed);
        })?;
        let mut begins = Vec::with_capacity(n + 1);
        let mut sum = 0;
        begins.push(0);
        begins.extend(free.iter().map(|length| {
            sum += u64::from(length.load(Ordering::Relaxed));
            sum
        }));
        let successors: Vec<AtomicU32> = zeros(sum as usize);
        each(&|tail, head| {
            let place = free[tail as usize].fetch_sub(1, Ordering::Relaxed) - 1;
            successors[(begins[tail as usize] + u64::from(place)) as usize].store(head as u32, Ordering::Relaxed);
        })?;
        let successors = successors.into_iter().map(AtomicU32::into_inner).collect();
        Ok(Self { begins, successors })
    }

    /// Consecutive vertices with at least [`CHUNK`] arcs together.
    fn chunks(&self) -> Vec<Range<usize>> {
        let (mut chunks, mut start) = (Vec::new(), 0);
        let n = self.begins.len() - 1;
        for end in 1..=n {
            if self.begins[end] - self.begins[start] >= CHUNK || end == n {
                chunks.push(start..end);
                start = end;
            }
        }
        chunks
    }

    fn encode_chunk(&self, vertices: Range<usize>, control: &Control, task: &Task) -> Result<Encoded> {
        control.check()?;
        let (mut rows, mut lengths, mut arcs, mut row) = (Rows::default(), Stream::default(), 0, Vec::new());
        for vertex in vertices.clone() {
            row.clear();
            row.extend_from_slice(&self.successors[self.begins[vertex] as usize..self.begins[vertex + 1] as usize]);
            row.sort_unstable();
            row.dedup();
            arcs += row.len() as u64;
            lengths.number(rows.add(vertex as u64, &row));
        }
        task.advance(self.begins[vertices.end] - self.begins[vertices.start]);
        Ok(Encoded { rows: rows.finish(), lengths: lengths.finish(), arcs })
    }

    /// Writes all rows and their lengths; returns the number of arcs, and the bytes of the rows.
    fn encode(
        &self,
        (graph, offsets): (&mut Output, &mut Output),
        files: &Files,
        control: &Control,
        task: &Task,
    ) -> Result<(u64, u64)> {
        let (mut graph, mut offsets) = (Joined::new(graph), Joined::new(offsets));
        // The first row begins at bit 0.
        offsets.add((&[1 << 63], 1)).map_err(|e| Error::write(&files.offsets, e))?;
        let (chunks, mut arcs, mut made) = (self.chunks(), 0, Vec::new());
        let mut next = chunks.chunks(2 * rayon::current_num_threads());
        loop {
            let batch = next.next().unwrap_or_default();
            if batch.is_empty() && made.is_empty() {
                break;
            }
            let (written, following) = rayon::join(
                || {
                    made.iter().try_for_each(|Encoded { rows, lengths, .. }: &Encoded| {
                        graph.add((&rows.0, rows.1)).map_err(|e| Error::write(&files.graph, e))?;
                        offsets.add((&lengths.0, lengths.1)).map_err(|e| Error::write(&files.offsets, e))
                    })
                },
                || batch.par_iter().map(|chunk| self.encode_chunk(chunk.clone(), control, task)).collect::<Result<_>>(),
            );
            written?;
            arcs += made.iter().map(|chunk| chunk.arcs).sum::<u64>();
            made = following?;
        }
        let bytes = graph.finish().map_err(|e| Error::write(&files.graph, e))?;
        offsets.finish().map_err(|e| Error::write(&files.offsets, e))?;
        Ok((arcs, bytes))
    }
}

/// Strings of bits, one after another, in a file.
struct Joined<'a> {
    bits: BufBitWriter<BE, WordAdapter<u64, io::BufWriter<&'a mut Output>>>,
    written: u64,
}

impl<'a> Joined<'a> {
    fn new(file: &'a mut Output) -> Self {
        let buffered = io::BufWriter::with_capacity(1 << 20, file);
        Self { bits: BufBitWriter::new(WordAdapter::new(buffered)), written: 0 }
    }

    /// Appends so many bits of `words`.
    fn add(&mut self, (words, bits): (&[u64], u64)) -> io::Result<()> {
        let (whole, rest) = ((bits / 64) as usize, (bits % 64) as usize);
        for &word in &words[..whole] {
            self.bits.write_bits(word, 64)?;
        }
        if rest > 0 {
            self.bits.write_bits(words[whole] >> (64 - rest), rest)?;
        }
        self.written += bits;
        Ok(())
    }

    /// Fills the last word; returns the bytes written.
    fn finish(self) -> io::Result<u64> {
        self.bits.into_inner()?.into_inner().flush()?;
        Ok(self.written.div_ceil(64) * 8)
    }
}
