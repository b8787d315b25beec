//! The names in a record batch, one after another: their texts are stored in order, referred to by views, or in a dictionary.

use std::io::{self, BufReader, Read};
use std::ops::Range;

use super::dictionary::{TextDictionaries, TextDictionary};
use super::schema::ArrowValues;
use super::values::{ArrowBatch, BatchBody, IdReader};
use crate::names::columns::LONGEST_NAME;
use crate::names::{NameSink, NamedArcs, names_expected};
use crate::spool::Spool;
use crate::storage::Storage;
use crate::tables::ROWS;
use trimill_system::{Control, Result};

/// Bytes read at a time: in order, and where a view points.
const PIECE: usize = 1 << 16;
const VIEWED: usize = 1 << 12;

/// The longest text, in bytes, that is stored in the view itself.
const IN_VIEW: usize = 12;

impl ArrowBatch<'_> {
    /// Delivers the arcs of some rows, whose ids are names; a compressed batch must be delivered whole.
    pub(super) fn deliver_names(
        &self,
        rows: &Range<u64>,
        dictionaries: &TextDictionaries,
        sink: &dyn NameSink,
        control: &Control,
    ) -> Result<u64> {
        self.check_nulls()?;
        let column = |end: usize| ColumnTexts::new(self, end, rows.clone(), dictionaries, control);
        let (mut ends, mut arcs) = ([column(0)?, column(1)?], NamedArcs::default());
        for row in rows.clone() {
            for (end, names) in ends.iter_mut().enumerate() {
                arcs.push(names.next(row)?)
                    .map_err(|found| self.wrong(end, &format!("{found} in row {row}")).expected(names_expected()))?;
            }
            arcs.deliver_if_full(sink, control)?;
        }
        sink.arcs(&arcs)?;
        Ok(rows.end - rows.start)
    }
}

pub(super) struct ColumnTexts<'a> {
    batch: &'a ArrowBatch<'a>,
    /// 0 for tails, 1 for heads.
    end: usize,
    texts: TextPlaces<'a>,
    name: Vec<u8>,
}

enum TextPlaces<'a> {
    /// Stored in order; `offsets` has the end of each, and `at` is the last one read.
    InOrder {
        offsets: BufReader<Box<dyn Read + 'a>>,
        text: BufReader<Box<dyn Read + 'a>>,
        at: u64,
    },
    Viewed {
        views: BufReader<Box<dyn Read + 'a>>,
        buffers: Vec<ViewedText>,
    },
    /// Numbers of texts in a dictionary; some were read ahead, of rows up to `to`.
    Numbered {
        dictionary: &'a TextDictionary,
        ids: IdReader<'a>,
        read: Vec<u64>,
        next: usize,
        to: u64,
    },
}

impl<'a> ColumnTexts<'a> {
    pub(super) fn new(
        batch: &'a ArrowBatch<'a>,
        end: usize,
        rows: Range<u64>,
        dictionaries: &'a TextDictionaries,
        control: &Control,
    ) -> Result<Self> {
        let (buffers, column) = (&batch.layout.ends[end], &batch.columns[end]);
        let places = || -> Result<_> {
            let places = batch.bytes(end, &buffers.values, rows.start * column.width)?;
            Ok(BufReader::with_capacity(PIECE, places))
        };
        let texts = match column.values {
            ArrowValues::Integers { .. } => {
                let dictionary = column.dictionary.and_then(|column| dictionaries.get(column.id));
                let dictionary = dictionary.ok_or_else(|| batch.wrong(end, "no dictionary of it comes before"))?;
                let ids = IdReader::new(batch, end, rows.start)?;
                TextPlaces::Numbered { dictionary, ids, read: Vec::new(), next: 0, to: rows.end }
            }
            ArrowValues::Text => {
                let mut offsets = places()?;
                // Without rows there may be no offsets: earlier versions of Arrow left out the only one, a 0.
                let at = if rows.is_empty() { 0 } else { offset(batch, end, &mut offsets)? };
                let text = buffers.texts.first().cloned().unwrap_or_default();
                TextPlaces::InOrder { offsets, text: BufReader::with_capacity(PIECE, batch.bytes(end, &text, at)?), at }
            }
            ArrowValues::Views => {
                let open = |buffer| ViewedText::open(batch, end, buffer, control);
                TextPlaces::Viewed { views: places()?, buffers: buffers.texts.iter().map(open).collect::<Result<_>>()? }
            }
        };
        Ok(Self { batch, end, texts, name: Vec::new() })
    }

    pub(super) fn next(&mut self, row: u64) -> Result<&[u8]> {
        let Self { batch, end, texts, name } = self;
        let (batch, end) = (*batch, *end);
        let wrong = |found: String| batch.wrong(end, &format!("{found} in row {row}"));
        let sized = |name: &mut Vec<u8>, length: u64| {
            if length > LONGEST_NAME as u64 {
                return Err(wrong(format!("a name of {length} bytes")).expected(names_expected()));
            }
            name.resize(length as usize, 0);
            Ok(())
        };
        match texts {
            TextPlaces::InOrder { offsets, text, at } => {
                let next = offset(batch, end, offsets)?;
                let length = next.checked_sub(*at);
                sized(name, length.ok_or_else(|| wrong(format!("a text from byte {at} to {next}")))?)?;
                text.read_exact(name).map_err(|error| batch.unreadable(end, error))?;
                *at = next;
            }
            TextPlaces::Viewed { views, buffers } => {
                let mut view = [0; 16];
                views.read_exact(&mut view).map_err(|error| batch.unreadable(end, error))?;
                let [length, _, buffer, at] = bytemuck::cast::<_, [[u8; 4]; 4]>(view).map(u32::from_le_bytes);
                sized(name, length.into())?;
                if name.len() <= IN_VIEW {
                    name.copy_from_slice(&view[4..4 + length as usize]);
                } else {
                    let viewed = buffers.get_mut(buffer as usize).filter(|viewed| viewed.has(at, length));
                    let viewed = viewed.ok_or_else(|| {
                        wrong(format!("a text of {length} bytes at byte {at} of buffer {buffer}, which lacks it"))
                    })?;
                    viewed.read(at.into(), name).map_err(|error| batch.unreadable(end, error))?;
                }
            }
            TextPlaces::Numbered { dictionary, ids, read, next, to } => {
                if *next == read.len() {
                    ids.read(row..(*to).min(row + ROWS), read)?;
                    *next = 0;
                }
                *next += 1;
                return dictionary.text(read[*next - 1]).map_err(|found| wrong(found).expected("a name in each row"));
            }
        }
        Ok(name)
    }
}

fn offset(batch: &ArrowBatch<'_>, end: usize, offsets: &mut impl Read) -> Result<u64> {
    let mut bytes = [0; 8];
    let width = batch.columns[end].width as usize;
    offsets.read_exact(&mut bytes[..width]).map_err(|error| batch.unreadable(end, error))?;
    Ok(u64::from_le_bytes(bytes))
}

struct ViewedText {
    file: Storage,
    within: Range<u64>,
    piece: Vec<u8>,
    at: u64,
}

impl ViewedText {
    /// Copies the buffer to a temporary file if it is compressed or on a server.
    fn open(batch: &ArrowBatch<'_>, end: usize, buffer: &Range<u64>, control: &Control) -> Result<Self> {
        let (file, within) = match batch.body {
            BatchBody::Stored(file, body) if batch.layout.compression.is_none() && !file.is_remote() => {
                (file.clone(), body + buffer.start..body + buffer.end)
            }
            _ => {
                let length = buffer.end - buffer.start;
                let mut spool = Spool::new("a copy of a column's texts", batch.path, batch.work_dir, length)?;
                let bytes = BufReader::with_capacity(PIECE, batch.bytes(end, buffer, 0)?);
                let copied = spool.copy(bytes, control, |error| batch.unreadable(end, error))?;
                (spool.finish()?, 0..copied)
            }
        };
        Ok(Self { file, within, piece: Vec::new(), at: 0 })
    }

    fn has(&self, at: u32, length: u32) -> bool {
        u64::from(at) + u64::from(length) <= self.within.end - self.within.start
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let end = at + into.len() as u64;
        if at < self.at || end > self.at + self.piece.len() as u64 {
            let all = self.within.end - self.within.start;
            self.piece.resize((all - at).min(VIEWED.max(into.len()) as u64) as usize, 0);
            self.file.read_exact_at(&mut self.piece, self.within.start + at)?;
            self.at = at;
        }
        let begin = (at - self.at) as usize;
        into.copy_from_slice(&self.piece[begin..begin + into.len()]);
        Ok(())
    }
}
