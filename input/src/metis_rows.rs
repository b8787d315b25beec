//! The rows of a METIS file as a state machine over bytes, so that a line may be longer than any window.

use super::batch::{ArcBatch, DeliveryFailure};
use super::hints::bare_cr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetisHeader {
    pub(super) vertices: u64,
    pub(super) edges: u64,
    /// Columns before the first neighbour: size and weights of the vertex.
    pub(super) before_neighbours: u64,
    pub(super) edge_weights: bool,
}

impl MetisHeader {
    /// How many rows with neighbours there are if each has `columns` columns; `None` if that is impossible.
    pub(super) fn rows_of(&self, columns: u64) -> Option<u64> {
        let each = if self.edge_weights { 2 } else { 1 };
        let neighbours = columns.checked_sub(self.before_neighbours).filter(|rest| rest % each == 0)? / each;
        let all = self.edges.checked_mul(2)?;
        (neighbours > 0 && all % neighbours == 0 && all / neighbours <= self.vertices).then(|| all / neighbours)
    }
}

pub(super) struct MetisRows<'a> {
    header: &'a MetisHeader,
    vertex: u64,
    /// How many of its columns are complete.
    column: u64,
    number: Option<u64>,
    state: MetisRowState,
}

#[derive(PartialEq, Eq)]
enum MetisRowState {
    Start,
    Row,
    Comment,
    /// After a CR, which LF must follow; `true` if in a comment.
    Return(bool),
}

impl<'a> MetisRows<'a> {
    /// `vertex`: the vertex of the first line fed, 1-based.
    pub(super) fn new(header: &'a MetisHeader, vertex: u64) -> Self {
        Self { header, vertex, column: 0, number: None, state: MetisRowState::Start }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], batch: &mut ArcBatch<'_>) -> Result<(), DeliveryFailure> {
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                MetisRowState::Comment => {
                    let Some(end) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) else { return Ok(()) };
                    at += end + 1;
                    self.state =
                        if bytes[at - 1] == b'\n' { MetisRowState::Start } else { MetisRowState::Return(true) };
                    continue;
                }
                MetisRowState::Return(_) if bytes[at] != b'\n' => return Err(DeliveryFailure::Bad(at, bare_cr())),
                MetisRowState::Return(true) => {
                    at += 1;
                    self.state = MetisRowState::Start;
                    continue;
                }
                _ => {}
            }
            match bytes[at] {
                b'0'..=b'9' => {
                    at = self.take_digits(bytes, at);
                    continue;
                }
                b' ' | b'\t' => {
                    self.end_column(at, batch)?;
                    self.state = MetisRowState::Row;
                }
                b'\r' => {
                    self.end_column(at, batch)?;
                    self.state = MetisRowState::Return(false);
                }
                b'\n' => self.end_line(at, batch)?,
                b'%' if self.state == MetisRowState::Start => self.state = MetisRowState::Comment,
                byte => {
                    let found = format!("'{}' in the line of vertex {}", byte.escape_ascii(), self.vertex);
                    return Err(DeliveryFailure::bad(at, found, "non-negative integers"));
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Adds a run of digits to the current column; returns where it ends.
    #[inline(always)]
    fn take_digits(&mut self, bytes: &[u8], mut at: usize) -> usize {
        let mut value = self.number.unwrap_or(0);
        while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
            // Ids have at most 10 digits; a weight's value does not matter.
            value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            at += 1;
        }
        self.number = Some(value);
        self.state = MetisRowState::Row;
        at
    }

    pub(super) fn finish(&mut self, batch: &mut ArcBatch<'_>) -> Result<(), DeliveryFailure> {
        if matches!(self.state, MetisRowState::Row | MetisRowState::Return(false)) {
            self.end_line(0, batch)
        } else {
            Ok(())
        }
    }

    #[inline(always)]
    fn end_column(&mut self, at: usize, batch: &mut ArcBatch<'_>) -> Result<(), DeliveryFailure> {
        let Some(value) = self.number.take() else { return Ok(()) };
        let header = self.header;
        if self.vertex > header.vertices {
            let found = format!("a line for vertex {}", self.vertex);
            return Err(DeliveryFailure::bad(at, found, format!("{} lines, as the header says", header.vertices)));
        }
        let column = self.column;
        self.column += 1;
        if column < header.before_neighbours || (header.edge_weights && (column - header.before_neighbours) % 2 == 1) {
            return Ok(());
        }
        if value.wrapping_sub(1) >= header.vertices {
            let found = format!("neighbour {value} in the line of vertex {}", self.vertex);
            return Err(DeliveryFailure::bad(at, found, format!("neighbours from 1 to {}", header.vertices)));
        }
        if value == self.vertex {
            let found = format!("vertex {value} among its own neighbours");
            return Err(DeliveryFailure::bad(
                at,
                found,
                "edges between different vertices: a METIS file holds no loops",
            ));
        }
        Ok(batch.push(self.vertex, value)?)
    }

    fn end_line(&mut self, at: usize, batch: &mut ArcBatch<'_>) -> Result<(), DeliveryFailure> {
        self.end_column(at, batch)?;
        let header = self.header;
        let neighbours = self.column.saturating_sub(header.before_neighbours);
        if self.vertex <= header.vertices
            && (self.column < header.before_neighbours || (header.edge_weights && neighbours % 2 == 1))
        {
            let found = format!("{} numbers in the line of vertex {}", self.column, self.vertex);
            let expected = format!(
                "{} for the vertex, then {}",
                header.before_neighbours,
                if header.edge_weights {
                    "a neighbour and a weight for each edge"
                } else {
                    "a neighbour for each edge"
                }
            );
            return Err(DeliveryFailure::bad(at, found, expected));
        }
        (self.vertex, self.column, self.state) = (self.vertex + 1, 0, MetisRowState::Start);
        Ok(())
    }
}
