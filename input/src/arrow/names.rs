//! The names in a record batch, one after another: a buffer says where each ends in a buffer of text.

use std::io::{BufReader, Read};
use std::ops::Range;

use super::values::ArrowBatch;
use crate::names::{LONGEST_NAME, NameSink, NamedArcs, names_expected};
use trimill_system::control::Control;
use trimill_system::error::Result;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;

impl ArrowBatch<'_> {
    /// Delivers the arcs in some rows, whose ids are names; in all of them if the batch is compressed.
    pub(super) fn deliver_names(&self, rows: &Range<u64>, sink: &dyn NameSink, control: &Control) -> Result<u64> {
        self.check_nulls()?;
        let mut ends = [TextReader::new(self, 0, rows.start)?, TextReader::new(self, 1, rows.start)?];
        let mut arcs = NamedArcs::default();
        for row in rows.clone() {
            for end in &mut ends {
                end.next(row, &mut arcs)?;
            }
            if arcs.is_full() {
                control.check()?;
                sink.arcs(&arcs)?;
                arcs.clear();
            }
        }
        sink.arcs(&arcs)?;
        Ok(rows.end - rows.start)
    }
}

struct TextReader<'a> {
    batch: &'a ArrowBatch<'a>,
    /// 0 for tails, 1 for heads.
    end: usize,
    offsets: BufReader<Box<dyn Read + 'a>>,
    text: BufReader<Box<dyn Read + 'a>>,
    /// Where the next name begins.
    at: u64,
    name: Vec<u8>,
}

impl<'a> TextReader<'a> {
    fn new(batch: &'a ArrowBatch<'a>, end: usize, row: u64) -> Result<Self> {
        let buffers = &batch.layout.ends[end];
        let offsets = batch.bytes(end, &buffers.values, row * batch.columns[end].width)?;
        let mut offsets = BufReader::with_capacity(PIECE, offsets);
        let at = offset(batch, end, &mut offsets)?;
        let text = BufReader::with_capacity(PIECE, batch.bytes(end, &buffers.text, at)?);
        Ok(Self { batch, end, offsets, text, at, name: Vec::new() })
    }

    /// Adds the name in the next row, which is `row`.
    fn next(&mut self, row: u64, arcs: &mut NamedArcs) -> Result<()> {
        let Self { batch, end, offsets, text, at, name } = self;
        let wrong = |found: String| batch.wrong(*end, &format!("{found} in row {row}"));
        let next = offset(batch, *end, offsets)?;
        let length = next.checked_sub(*at);
        let length = length.ok_or_else(|| wrong(format!("a text from byte {at} to {next}")))?;
        if length > LONGEST_NAME as u64 {
            return Err(wrong(format!("a name of {length} bytes")).expected(names_expected()));
        }
        name.resize(length as usize, 0);
        text.read_exact(name).map_err(|error| batch.unreadable(*end, error))?;
        *at = next;
        arcs.push(name).map_err(|found| wrong(found).expected(names_expected()))
    }
}

/// The next of the numbers that say where texts end.
fn offset(batch: &ArrowBatch<'_>, end: usize, offsets: &mut impl Read) -> Result<u64> {
    let mut bytes = [0; 8];
    let width = batch.columns[end].width as usize;
    offsets.read_exact(&mut bytes[..width]).map_err(|error| batch.unreadable(end, error))?;
    Ok(u64::from_le_bytes(bytes))
}
