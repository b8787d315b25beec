//! Writes a sequence of edges as a BVGraph: `NAME.graph`, `NAME.properties` and `NAME.offsets`, as WebGraph does. All threads encode chunks of rows.
//! No row copies from another chunk; chunks, and so the bytes, depend on the graph alone.

mod row;

use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::path::Path;

use dsi_bitstream::impls::{BufBitWriter, WordAdapter};
use dsi_bitstream::traits::{BE, BitWrite};

use crate::SizedSequence;
use crate::output::check_vertices;
use crate::rows::{GeneratedFile, GeneratedRows, chunks, rows};
use row::{BitSink, BvRowWriter, LONGEST_CHAIN, RowStream, SHORTEST_INTERVAL, WINDOW, ZETA_K};
use trimill_input::{MOST_VERTICES, name_without_dots};
use trimill_system::control::{Progress, Unit};
use trimill_system::disk::Output;
use trimill_system::ordered::make_and_write;
use trimill_system::{Error, Result, parallel};

pub(super) fn write(sequence: &SizedSequence<'_>, wanted: &GeneratedFile<'_>) -> Result<u64> {
    let &GeneratedFile { path: graph, force, control, .. } = wanted;
    if let Some(better) = name_without_dots(&graph.with_extension("")) {
        return Err(Error::usage("the name of a BVGraph with a dot before .graph")
            .at(graph)
            .expected("none, since programs take what follows it for a suffix")
            .advice(format!("name it {better}.graph")));
    }
    check_vertices(sequence, MOST_VERTICES, "the limit of a BVGraph", graph)?;
    let (properties_path, offsets_path) = (graph.with_extension("properties"), graph.with_extension("offsets"));
    let rows = rows(sequence, wanted)?;
    let task = control.task("write", Some(rows.arcs()), Unit::Arcs);
    let (mut graph_file, mut offsets) = (Output::create(graph)?, Output::create(&offsets_path)?);
    let row_bits = BitStrings::new(&mut graph_file, graph);
    let row_lengths = BitStrings::new(&mut offsets, &offsets_path);
    let bytes = write_rows(&*rows, sequence.vertices, row_bits, row_lengths, &task)?;
    let mut properties = Output::create(&properties_path)?;
    let text = format!(
        "#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\nnodes={}\narcs={}\nwindowsize={WINDOW}\n\
         maxrefcount={LONGEST_CHAIN}\nminintervallength={SHORTEST_INTERVAL}\nzetak={ZETA_K}\ncompressionflags=\n",
        sequence.vertices,
        rows.arcs()
    );
    properties.write_all(text.as_bytes()).map_err(|e| Error::write(&properties_path, e))?;
    control.check()?;
    Output::finish_together([offsets, properties, graph_file], force)?;
    Ok(bytes)
}

/// The rows of a chunk as bits, and the lengths of all rows in bits, each with the number of bits.
#[derive(Default)]
struct Encoded {
    rows: (Vec<u64>, u64),
    lengths: (Vec<u64>, u64),
}

fn encode(rows: &dyn GeneratedRows, vertices: Range<u64>, progress: &Progress) -> Encoded {
    let (mut encoded, mut lengths) = (BvRowWriter::default(), RowStream::default());
    let mut arcs = 0;
    for vertex in vertices {
        arcs += rows.length(vertex);
        lengths.gamma(match rows.repeats(vertex) {
            true => encoded.repeat(vertex),
            false => encoded.add(vertex, |row| rows.append(vertex, row)),
        });
    }
    progress.advance(arcs);
    Encoded { rows: encoded.finish(), lengths: lengths.finish() }
}

fn write_rows(
    rows: &dyn GeneratedRows,
    vertices: u64,
    mut graph: BitStrings<'_>,
    mut offsets: BitStrings<'_>,
    progress: &Progress,
) -> Result<u64> {
    // The first row begins at bit 0.
    offsets.add(&[1 << 63], 1)?;
    let period = rows.period().unwrap_or(vertices);
    // A row that repeats takes no time, so it stays with the one before.
    let chunks = chunks(rows, period, |vertex| !rows.repeats(vertex));
    let periods = vertices / period;
    let make = |chunk: u64| {
        progress.check()?;
        Ok(encode(rows, chunks[chunk as usize].clone(), progress))
    };
    let mut add = |Encoded { rows, lengths }: &Encoded| {
        graph.add(&rows.0, rows.1)?;
        offsets.add(&lengths.0, lengths.1)
    };
    if periods == 1 {
        let make_into = |chunk, into: &mut Encoded| make(chunk).map(|made| *into = made);
        make_and_write(chunks.len() as u64, make_into, add)?;
    } else {
        // A row is encoded by its distances from its vertex, so all periods have the same bits.
        let encoded = parallel::try_map(0..chunks.len() as u64, make)?;
        for _ in 0..periods {
            progress.check()?;
            encoded.iter().try_for_each(&mut add)?;
            progress.advance(rows.arcs() / periods);
        }
    }
    let bytes = graph.finish()?;
    offsets.finish()?;
    Ok(bytes)
}

struct BitStrings<'a> {
    /// Dropped only by [`Self::finish`]: it writes its last word when it is dropped, and panics if that fails.
    bits: ManuallyDrop<BufBitWriter<BE, WordAdapter<u64, io::BufWriter<&'a mut Output>>>>,
    written: u64,
    path: &'a Path,
}

impl<'a> BitStrings<'a> {
    fn new(file: &'a mut Output, path: &'a Path) -> Self {
        let buffered = io::BufWriter::with_capacity(1 << 20, file);
        Self { bits: ManuallyDrop::new(BufBitWriter::new(WordAdapter::new(buffered))), written: 0, path }
    }

    fn add(&mut self, words: &[u64], bits: u64) -> Result<()> {
        let failed = |e| Error::write(self.path, e);
        let (whole, rest) = ((bits / 64) as usize, (bits % 64) as usize);
        for &word in &words[..whole] {
            self.bits.write_bits(word, 64).map_err(failed)?;
        }
        if rest > 0 {
            self.bits.write_bits(words[whole] >> (64 - rest), rest).map_err(failed)?;
        }
        self.written += bits;
        Ok(())
    }

    /// Pads and writes the last word; returns the bytes written.
    fn finish(self) -> Result<u64> {
        let flushed = ManuallyDrop::into_inner(self.bits).into_inner().and_then(|words| words.into_inner().flush());
        flushed.map_err(|e| Error::write(self.path, e))?;
        Ok(self.written.div_ceil(64) * 8)
    }
}
