//! The chunks of a graph, one after another, and a reader of their rows.

use super::Bvgraph;
use super::bits::{BitOrder, BitReader, StreamError};
use super::chunk::BvChunk;
use super::decode::{BvDecoder, DecodeFailure};
use super::offsets::{OffsetCuts, Offsets};
use super::scan::Scanner;
use trimill_system::control::Task;
use trimill_system::{Error, Result};

pub(super) struct BvChunks<'a, O> {
    graph: &'a Bvgraph,
    cutter: Cutter<'a, O>,
}

enum Cutter<'a, O> {
    Scan(Box<Scanner<'a, O>>),
    Offsets(Box<OffsetCuts<'a>>),
}

impl<'a, O: BitOrder> BvChunks<'a, O> {
    /// Starts at the first row; `task` advances by what is read of the stream.
    pub(super) fn new(graph: &'a Bvgraph, task: &'a Task) -> Self {
        let cuts = graph.offsets().and_then(|offsets| graph.cuts(offsets));
        let scan = || {
            let bits = BitReader::new(&graph.file.file, graph.file.bytes, Some(task));
            Scanner::new(&graph.properties.encoding, bits, graph.properties.arcs)
        };
        let cutter = cuts.map_or_else(|| Cutter::Scan(Box::new(scan())), |cuts| Cutter::Offsets(Box::new(cuts)));
        Self { graph, cutter }
    }

    /// The next chunk, `None` after the last row. Without a file of offsets, `degree` receives the degrees of its rows. Errors: a row
    /// that cannot be read; after the last row, a wrong number of arcs, or a file that does not end there.
    pub(super) fn next(&mut self, degree: impl FnMut(u64)) -> Result<Option<BvChunk>> {
        let graph = self.graph;
        match &mut self.cutter {
            Cutter::Scan(scanner) => {
                let chunk = match scanner.next_chunk(degree) {
                    Ok(chunk) => chunk,
                    Err(_) => {
                        let found = format!("the row of vertex {} cannot be decoded", scanner.node);
                        return Err(graph.stream_error(scanner.bits.take_error(), found));
                    }
                };
                if chunk.is_none() {
                    graph.check_arcs(graph.properties.arcs - scanner.arcs_left)?;
                    graph.check_end(scanner.bits.position())?;
                }
                Ok(chunk)
            }
            Cutter::Offsets(cuts) => cuts.next_chunk().map_err(|_| graph.changed_offsets()),
        }
    }
}

pub(super) struct ChunkReader<'a, O> {
    graph: &'a Bvgraph,
    offsets: Option<&'a Offsets>,
    decoder: BvDecoder<'a>,
    bits: BitReader<'a, O>,
}

impl<'a, O: BitOrder> ChunkReader<'a, O> {
    /// `task` advances by what is read, unless the pass that cut the stream advanced it before.
    pub(super) fn new(graph: &'a Bvgraph, task: Option<&'a Task>) -> Self {
        let offsets = graph.offsets();
        let bits = BitReader::new(&graph.file.file, graph.file.bytes, task.filter(|_| offsets.is_some()));
        let decoder = BvDecoder::new(&graph.properties.encoding, graph.properties.arcs, graph.file.bytes);
        Self { graph, offsets, decoder, bits }
    }

    /// Passes the successors of each row to `each`; returns their number.
    pub(super) fn read(&mut self, chunk: &BvChunk, each: impl FnMut(u64, &[u32]) -> Result<()>) -> Result<u64> {
        let Self { graph, offsets, decoder, bits } = self;
        let decoded = decoder.decode(chunk, bits, *offsets, each);
        decoded.map_err(|failed| match failed {
            DecodeFailure::Row(node) => {
                graph.stream_error(bits.take_error(), format!("the row of vertex {node} cannot be decoded"))
            }
            DecodeFailure::Order(node) => graph.damaged(format!("the row of vertex {node} is not ascending")),
            DecodeFailure::Offset(node) => graph.wrong_offsets(node),
            DecodeFailure::Offsets(StreamError::Unreadable(e)) => Error::read(&graph.offsets_path, e),
            DecodeFailure::Offsets(_) => graph.changed_offsets(),
            DecodeFailure::Sink(error) => error,
        })
    }
}

impl Bvgraph {
    fn stream_error(&self, error: StreamError, found: String) -> Error {
        match error {
            StreamError::Unreadable(e) => Error::read(&self.file.path, e),
            StreamError::Ended => self.damaged(format!("{found}: the stream ends too early")),
            StreamError::None => self.damaged(found),
        }
    }

    fn wrong_offsets(&self, node: u64) -> Error {
        Error::data(&self.offsets_path, format!("the row of vertex {node} is not where the file says"))
            .expected("the offsets of the graph beside it")
            .advice("rename the file, which is not needed; if the graph cannot be read then, fetch it again")
    }

    fn changed_offsets(&self) -> Error {
        Error::data(&self.offsets_path, "changed while it was read").advice("run again when it is complete")
    }
}
