//! Decodes the rows of a [`Chunk`].

use std::ops::Range;

use dsi_bitstream::traits::{BitRead, Endianness};

use super::codes::Impossible;
use super::row::{Encoding, Successors};
use super::scan::Chunk;
use crate::error::Result;

/// Why a chunk was not decoded.
pub(super) enum Failed {
    /// The row of this vertex is not one.
    Row(u64),
    /// The successors of this vertex are not ascending.
    Order(u64),
    /// What received the rows failed.
    Sink(crate::error::Error),
}

/// The memory of a thread that decodes.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The rows of the window, each at its number modulo the length.
    rows: Vec<Decoded>,
}

#[derive(Debug, Default, Clone)]
struct Decoded {
    successors: Vec<u32>,
    degree: u64,
    /// Whether the successors are known: not where the row refers to one before the first that was decoded.
    known: bool,
}

/// A row that is being decoded.
struct Row<'a> {
    rows: &'a [Decoded],
    node: u64,
    successors: Vec<u32>,
    known: bool,
}

impl Successors for Row<'_> {
    #[inline(always)]
    fn copy(&mut self, distance: u64, range: Range<u64>) {
        let row = &self.rows[((self.node - distance) % self.rows.len() as u64) as usize];
        match row.successors.get(range.start as usize..range.end as usize) {
            Some(copied) if row.known => self.successors.extend_from_slice(copied),
            _ => self.known = false,
        }
    }

    #[inline(always)]
    fn interval(&mut self, ids: Range<u64>) {
        self.successors.extend(ids.start as u32..ids.end as u32);
    }

    #[inline(always)]
    fn residual(&mut self, id: u64) {
        self.successors.push(id as u32);
    }
}

impl Decoder {
    /// Decodes `chunk` from `bits`, which stand at its beginning; `each` receives the successors of its rows in order.
    pub(super) fn decode<E: Endianness>(
        &mut self,
        encoding: &Encoding,
        chunk: &Chunk,
        bits: &mut impl BitRead<E>,
        mut each: impl FnMut(u64, &[u32]) -> Result<()>,
    ) -> std::result::Result<(), Failed> {
        let length = encoding.window + 1;
        self.rows.resize(length as usize, Decoded::default());
        for (node, &degree) in (chunk.start - chunk.degrees.len() as u64..).zip(&chunk.degrees) {
            let row = &mut self.rows[(node % length) as usize];
            (row.degree, row.known) = (degree, false);
        }
        for node in chunk.start..chunk.rows.end {
            let place = (node % length) as usize;
            let mut successors = std::mem::take(&mut self.rows[place].successors);
            successors.clear();
            let mut row = Row { rows: &self.rows, node, successors, known: true };
            let degree_of = |distance: u64| self.rows[((node - distance) % length) as usize].degree;
            let mut read = |row: &mut Row<'_>| -> std::result::Result<u64, Impossible> {
                let degree = encoding.degree(bits, u64::MAX)?;
                encoding.successors(bits, (node, degree), degree_of, row)?;
                Ok(degree)
            };
            let degree = read(&mut row).map_err(|_| Failed::Row(node))?;
            let Row { mut successors, known, .. } = row;
            // Copies, intervals and residuals: three ascending runs.
            successors.sort();
            let wanted = chunk.rows.contains(&node);
            if known && !successors.is_sorted_by(|a, b| a < b) || wanted && !known {
                return Err(Failed::Order(node));
            }
            if wanted {
                each(node, &successors).map_err(Failed::Sink)?;
            }
            self.rows[place] = Decoded { successors, degree, known };
        }
        Ok(())
    }
}
