//! The ids in a record batch of any size, read in pieces.

use std::io::{self, BufReader, Cursor, Read};
use std::ops::Range;
use std::path::Path;

use arrow_ipc::CompressionType;

use super::message::{BatchLayout, EndBuffers};
use super::schema::{ArrowColumn, ArrowValues};
use crate::batch::ArcBatch;
use crate::file::is_read_error;
use crate::storage::{Pread, Storage};
use crate::tables::{check_ids, deliver};
use trimill_system::{Error, Result};

const COMPRESSED: usize = 1 << 16;

pub(super) enum BatchBody<'a> {
    /// In a file, from this byte on.
    Stored(&'a Storage, u64),
    Held(&'a [u8]),
}

pub(super) struct ArrowBatch<'a> {
    pub(super) path: &'a Path,
    pub(super) number: u64,
    pub(super) columns: &'a [ArrowColumn; 2],
    pub(super) layout: &'a BatchLayout,
    pub(super) body: BatchBody<'a>,
    pub(super) work_dir: &'a Path,
}

impl ArrowBatch<'_> {
    /// Delivers the arcs of some rows; a compressed batch must be delivered whole.
    pub(super) fn deliver(&self, rows: &Range<u64>, arcs: ArcBatch<'_>) -> Result<u64> {
        self.check_nulls()?;
        let mut ends = [IdReader::new(self, 0, rows.start)?, IdReader::new(self, 1, rows.start)?];
        deliver(rows.clone(), arcs, |end, rows, ids| ends[end].read(rows, ids))
    }

    pub(super) fn check_nulls(&self) -> Result<()> {
        let nulls = |end: &usize| self.layout.ends[*end].nulls > 0;
        let Some(end) = (0..2).find(nulls) else { return Ok(()) };
        let EndBuffers { nulls, validity, .. } = &self.layout.ends[end];
        let mut bits = self.bytes(end, validity, 0)?;
        let (mut row, mut some) = (0, [0; 4096]);
        // The row is only for the error message.
        let first = loop {
            match bits.read(&mut some).unwrap_or_default() {
                0 => break None,
                read => match some[..read].iter().position(|&bits| bits != u8::MAX) {
                    Some(at) => break Some(row + 8 * at as u64 + u64::from(some[at].trailing_ones())),
                    None => row += 8 * read as u64,
                },
            }
        };
        let found = match first.filter(|&row| row < self.layout.rows) {
            Some(row) => format!("a null in row {row} (the first is 0)"),
            None => format!("{nulls} nulls"),
        };
        Err(self.wrong(end, &found).expected("an id in each row"))
    }

    pub(super) fn bytes(&self, end: usize, buffer: &Range<u64>, from: u64) -> Result<Box<dyn Read + '_>> {
        let Some(codec) = self.layout.compression.filter(|_| !buffer.is_empty()) else {
            return Ok(self.stored((buffer.start + from).min(buffer.end)..buffer.end));
        };
        // The uncompressed length comes first, or -1 if the buffer is not compressed.
        let mut length = [0; 8];
        let mut stored = self.stored(buffer.clone());
        stored.read_exact(&mut length).map_err(|error| self.unreadable(end, error))?;
        if i64::from_le_bytes(length) == -1 {
            return Ok(self.stored((buffer.start + 8 + from).min(buffer.end)..buffer.end));
        }
        let stored = BufReader::with_capacity(COMPRESSED, stored);
        let mut plain: Box<dyn Read + '_> = match codec {
            CompressionType::ZSTD => {
                let decoder = zstd::stream::read::Decoder::with_buffer(stored);
                Box::new(decoder.map_err(|error| self.unreadable(end, error))?)
            }
            _ => Box::new(lz4_flex::frame::FrameDecoder::new(stored)),
        };
        io::copy(&mut plain.by_ref().take(from), &mut io::sink()).map_err(|error| self.unreadable(end, error))?;
        Ok(plain)
    }

    fn stored(&self, range: Range<u64>) -> Box<dyn Read + '_> {
        match self.body {
            BatchBody::Stored(file, at) => Box::new(Pread::part(file, at + range.start..at + range.end)),
            BatchBody::Held(body) => Box::new(Cursor::new(&body[range.start as usize..range.end as usize])),
        }
    }

    pub(super) fn wrong(&self, end: usize, found: &str) -> Error {
        let name = trimill_system::text::printable(&self.columns[end].name).into_owned();
        Error::data(self.path, format!("the column '{name}' in record batch {}: {found}", self.number))
    }

    pub(super) fn unreadable(&self, end: usize, error: io::Error) -> Error {
        if is_read_error(&error) {
            return Error::read(self.path, error);
        }
        let found = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ends too early".into(),
            _ => format!("it cannot be decompressed ({error})"),
        };
        self.wrong(end, &found).advice("write or fetch the data again")
    }
}

pub(super) struct IdReader<'a> {
    batch: &'a ArrowBatch<'a>,
    /// 0 for tails, 1 for heads.
    end: usize,
    bytes: Box<dyn Read + 'a>,
    piece: Vec<u8>,
}

impl<'a> IdReader<'a> {
    pub(super) fn new(batch: &'a ArrowBatch<'a>, end: usize, row: u64) -> Result<Self> {
        let bytes = batch.bytes(end, &batch.layout.ends[end].values, row * batch.columns[end].width)?;
        Ok(Self { batch, end, bytes, piece: Vec::new() })
    }

    pub(super) fn read(&mut self, rows: Range<u64>, ids: &mut Vec<u64>) -> Result<()> {
        let Self { batch, end, bytes, piece } = self;
        let ArrowColumn { width, values, .. } = &batch.columns[*end];
        let (width, signed) = (*width, *values == ArrowValues::Integers { signed: true });
        piece.resize(((rows.end - rows.start) * width) as usize, 0);
        bytes.read_exact(piece).map_err(|error| batch.unreadable(*end, error))?;
        ids.clear();
        match (width, signed) {
            (1, false) => ids.extend(piece.iter().map(|&id| u64::from(id))),
            (1, true) => ids.extend(piece.iter().map(|&id| id as i8 as u64)),
            (2, false) => ids.extend(numbers(piece).map(|id| u64::from(u16::from_le_bytes(id)))),
            (2, true) => ids.extend(numbers(piece).map(|id| i16::from_le_bytes(id) as u64)),
            (4, false) => ids.extend(numbers(piece).map(|id| u64::from(u32::from_le_bytes(id)))),
            (4, true) => ids.extend(numbers(piece).map(|id| i32::from_le_bytes(id) as u64)),
            _ => ids.extend(numbers(piece).map(u64::from_le_bytes)),
        }
        check_ids(ids, signed, rows.start, |found| batch.wrong(*end, found))
    }
}

fn numbers<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}
