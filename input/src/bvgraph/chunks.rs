//! The chunks of a graph, one after another, and the errors of streams and offsets.

use super::Bvgraph;
use super::bits::{BitOrder, BitReader, StreamError};
use super::chunk::BvChunk;
use super::offsets::OffsetCuts;
use super::scan::Scanner;
use trimill_system::control::Task;
use trimill_system::{Error, Result};

pub(super) enum BvChunks<'a, O> {
    Scan(Box<Scanner<'a, O>>),
    Offsets(Box<OffsetCuts<'a>>),
}

impl<'a, O: BitOrder> BvChunks<'a, O> {
    /// Starts at the first row; `task` advances by what is read of the stream.
    pub(super) fn of(graph: &'a Bvgraph, task: &'a Task) -> Self {
        if let Some(cuts) = graph.offsets().and_then(|offsets| graph.cuts(offsets)) {
            return Self::Offsets(Box::new(cuts));
        }
        let bits = BitReader::new(&graph.file.file, graph.file.bytes, Some(task));
        Self::Scan(Box::new(Scanner::new(&graph.properties.encoding, bits, graph.properties.arcs)))
    }

    /// The next chunk of `graph`, `None` after the last row. Without a file of offsets, `degree` receives the degrees of its rows. Errors: a
    /// row that cannot be read; after the last row, a wrong number of arcs, or a file that does not end there.
    pub(super) fn next(&mut self, graph: &Bvgraph, degree: impl FnMut(u64)) -> Result<Option<BvChunk>> {
        let nodes = graph.properties.encoding.nodes;
        let chunk = match self {
            Self::Scan(scanner) if scanner.node == nodes => {
                graph.check_arcs(graph.properties.arcs - scanner.arcs_left)?;
                graph.check_end(scanner.bits.position())?;
                return Ok(None);
            }
            Self::Offsets(cuts) if cuts.node == nodes => return Ok(None),
            Self::Scan(scanner) => {
                scanner.next_chunk(degree).ok_or_else(|| graph.undecodable(scanner.node, scanner.bits.take_error()))
            }
            Self::Offsets(cuts) => cuts.next_chunk().ok_or_else(|| graph.changed_offsets()),
        };
        chunk.map(Some)
    }
}

impl Bvgraph {
    /// The error for a row; `error` says why the stream could not be read, if it could not.
    pub(super) fn undecodable(&self, node: u64, error: StreamError) -> Error {
        let found = format!("the row of vertex {node} cannot be decoded");
        match error {
            StreamError::Unreadable(e) => Error::read(&self.file.path, e),
            StreamError::Ended => self.damaged(format!("{found}: the stream ends too early")),
            StreamError::None => self.damaged(found),
        }
    }

    /// The error for a row that does not begin where the file of offsets says, or copies from rows too far back.
    pub(super) fn wrong_offsets(&self, node: u64, error: StreamError) -> Error {
        if let StreamError::Unreadable(e) = error {
            return Error::read(&self.file.path, e);
        }
        Error::data(&self.offsets_path, format!("the row of vertex {node} is not where the file says"))
            .expected("the offsets of the graph beside it")
            .advice("rename the file, which is not needed; if the graph cannot be read then, fetch it again")
    }

    pub(super) fn changed_offsets(&self) -> Error {
        Error::data(&self.offsets_path, "changed while it was read").advice("run again when it is complete")
    }
}
