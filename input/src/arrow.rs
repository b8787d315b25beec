//! Apache Arrow files (also Feather, version 2) and streams: a table with two columns of ids, a row for each arc. Integers of 8 to 64 bits, signed or
//! not, or text where ids are names; a negative number or a missing value is an error. [`schema`] chooses the columns, [`message`] has the layout of
//! the bytes. Buffers are plain, or compressed by LZ4 or zstd.
//!
//! The Arrow library only decodes metadata: it would read whole record batches, and a table is often a single one. Here the columns are read in
//! pieces, a plain batch by all threads, a compressed one by one thread. Memory: for each thread two pieces and their decompressors; a hundred bytes
//! per batch; the texts of a [`dictionary`]. A [`stream`] from a pipe is read as it arrives.

mod dictionary;
mod message;
mod names;
mod schema;
mod stored_dictionary;
mod stream;
mod values;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_ipc::{Block, MessageHeader};

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::ends::check_alike;
use super::file::InputFile;
use super::lines::ReadSizes;
use super::names::NameSink;
use super::parallel::{chunks, in_order};
use super::settings::InputSettings;
use super::source::HowToOpen;
use super::{ArcSink, Reader};
use dictionary::TextDictionaries;
use message::{BatchLayout, MOST_METADATA, PREFIX, body_length, damaged, message, metadata_length};
use schema::{ArrowColumn, ArrowValues};
use stored_dictionary::StoredDictionary;
pub(super) use stream::ArrowStream;
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result, parallel};
use values::{ArrowBatch, BatchBody};

/// The first bytes of a file, before padding, and its last ones.
const MAGIC: &[u8] = b"ARROW1";

const FEATHER_1: &[u8] = b"FEA1";

const FIRST: u64 = 8;

/// Bytes after the footer: its length and the magic.
const TAIL: u64 = 4 + MAGIC.len() as u64;

/// The most bytes between the last batch and the footer, for the mark of the stream's end and padding; a batch takes more.
const MOST_BEFORE_FOOTER: u64 = PREFIX + 64;

pub(super) struct Arrow {
    tables: Vec<ArrowFile>,
    window: u64,
    /// Whether ids are names; how many bytes the dictionaries may take.
    names: bool,
    dictionaries: u64,
    work_dir: PathBuf,
}

struct ArrowFile {
    file: InputFile,
    columns: [ArrowColumn; 2],
    dictionaries: Vec<StoredDictionary>,
    batches: Vec<StoredBatch>,
    rows: u64,
}

struct StoredBatch {
    body: u64,
    layout: BatchLayout,
    /// How many of the dictionary messages apply to it, from the first one on.
    dictionaries: usize,
}

impl Arrow {
    pub(super) fn open(files: Vec<InputFile>, reading: &InputSettings, how: &HowToOpen<'_>) -> Result<Self> {
        let open = |file: InputFile| {
            let path = file.path.clone();
            ArrowFile::open(file, reading, how.control).map_err(|error| error.at_if_unset(&path))
        };
        let tables: Vec<ArrowFile> = files.into_iter().map(open).collect::<Result<_>>()?;
        let ends = |table: &ArrowFile| table.columns.each_ref().map(|column| column.name.clone());
        check_alike(tables.iter().map(|table| (&*table.file.path, ends(table))))?;
        let ReadSizes { window, dictionaries, .. } = how.sizes;
        Ok(Self { tables, window, names: reading.names, dictionaries, work_dir: how.work_dir.to_path_buf() })
    }

    fn each_chunk<'a>(
        &'a self,
        batches: impl Iterator<Item = (&'a ArrowFile, usize)>,
        control: &Control,
        task: &Task,
        work: impl Fn(&ArrowBatch<'_>, &Range<u64>) -> Result<u64> + Sync,
    ) -> Result<u64> {
        let mut chunks = Vec::new();
        for (table, number) in batches {
            chunks.extend(table.chunks(number, self.window).map(|rows| (table, number, rows)));
        }
        in_order(&chunks, control, |(table, number, rows)| {
            let arcs = work(&table.batch(*number, &self.work_dir), rows)?;
            let share = u128::from(table.file.bytes) * u128::from(arcs) / u128::from(table.rows.max(1));
            task.advance(share as u64);
            Ok(arcs)
        })
    }
}

impl ArrowFile {
    fn open(file: InputFile, reading: &InputSettings, control: &Control) -> Result<Self> {
        let mut mark = [0; MAGIC.len()];
        let is_file = file.bytes >= FIRST && file.read_exact_at(&mut mark, 0).map(|()| mark == MAGIC)?;
        if mark.starts_with(FEATHER_1) {
            return Err(Error::data("", "is of version 1 of Feather, which is not read")
                .expected("version 2, which is an Arrow file")
                .advice("write it again: pyarrow.feather.write_feather(table, 'NEW.feather', version=2)"));
        }
        let FoundMessages { columns, dictionaries, batches } =
            if is_file { by_footer(&file, reading, control)? } else { one_by_one(&file, reading, control)? };
        let rows = batches.iter().try_fold(0u64, |sum, batch| sum.checked_add(batch.layout.rows));
        let rows = rows.ok_or_else(|| damaged("more rows than can be counted"))?;
        Ok(Self { file, columns, dictionaries, batches, rows })
    }

    fn chunks(&self, number: usize, window: u64) -> impl Iterator<Item = Range<u64>> {
        let BatchLayout { rows, compression, .. } = self.batches[number].layout;
        let width: u64 = self.columns.iter().map(ArrowColumn::bytes).sum();
        // Where texts behind views must be copied, the batch is one chunk, so that they are copied once.
        let is_copied =
            self.file.file.is_remote() && self.columns.iter().any(|column| column.values == ArrowValues::Views);
        let size = if compression.is_some() || is_copied { rows.max(1) } else { (window / width).max(1) };
        chunks(0..rows, size)
    }

    fn numbered(&self) -> impl Iterator<Item = (&Self, usize)> {
        (0..self.batches.len()).map(move |number| (self, number))
    }

    fn batch<'a>(&'a self, number: usize, work_dir: &'a Path) -> ArrowBatch<'a> {
        let StoredBatch { body, layout, .. } = &self.batches[number];
        let body = BatchBody::Stored(&self.file.file, *body);
        let (path, columns) = (&self.file.path, &self.columns);
        ArrowBatch { path, number: number as u64, columns, layout, body, work_dir }
    }
}

fn metadata(file: &InputFile, at: u64, length: u64) -> Result<Vec<u8>> {
    let end = at.checked_add(length).filter(|&end| end <= file.bytes && length <= MOST_METADATA);
    end.ok_or_else(|| damaged(&format!("metadata of {length} bytes at byte {at} of {}", file.bytes)))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

struct FoundMessages {
    columns: [ArrowColumn; 2],
    dictionaries: Vec<StoredDictionary>,
    batches: Vec<StoredBatch>,
}

fn by_footer(file: &InputFile, reading: &InputSettings, control: &Control) -> Result<FoundMessages> {
    let wrong =
        |found: String| Error::data("", found).expected("a complete Arrow file").advice("write or fetch it again");
    let mut tail = [0; TAIL as usize];
    let at = file.bytes.checked_sub(TAIL + FIRST).ok_or_else(|| wrong(format!("a size of {} bytes", file.bytes)))?;
    file.read_exact_at(&mut tail, at + FIRST)?;
    let [length @ .., _, _, _, _, _, _] = tail;
    if &tail[4..] != MAGIC {
        return Err(wrong("no mark ARROW1 at its end".into()));
    }
    let length = u64::from(u32::from_le_bytes(length));
    let begin = (at + FIRST).checked_sub(length);
    let begin = begin.ok_or_else(|| wrong(format!("a footer of {length} bytes in a file of {}", file.bytes)))?;
    let bytes = metadata(file, begin, length)?;
    let footer = arrow_ipc::root_as_footer(&bytes).map_err(|error| wrong(format!("a damaged footer ({error})")))?;
    let schema = footer.schema().ok_or_else(|| wrong("a footer without a schema".into()))?;
    let columns = schema::ends(schema, footer.version(), reading)?;
    let place =
        |block: &Block| u64::try_from(block.offset()).map_err(|_| wrong("a footer with negative places".into()));
    let share = || wrong("a footer with batches that share bytes".into());
    let read = AtomicU64::new(0);
    let at = |at: u64| -> Result<FoundMessage> {
        control.check()?;
        let found = FoundMessage::at(file, at)?.ok_or_else(|| damaged("the end of a stream before the footer"))?;
        // Until all places are compared, a footer could make the same large message be read any number of times.
        let bytes = found.metadata.len() as u64;
        if read.fetch_add(bytes, Ordering::Relaxed) + bytes > file.bytes { Err(share()) } else { Ok(found) }
    };
    let (mut dictionaries, mut end): (Vec<StoredDictionary>, u64) = (Vec::new(), 0);
    for block in footer.dictionaries().into_iter().flatten() {
        let found = at(place(block)?)?;
        end = end.max(found.body + found.bytes);
        if let Some(dictionary) = StoredDictionary::of(&found, &columns)? {
            if !dictionary.is_delta && dictionaries.iter().any(|other| other.id == dictionary.id) {
                return Err(wrong("a dictionary that replaces another one".into())
                    .advice("write it as a stream, where dictionaries may change"));
            }
            dictionaries.push(dictionary);
        }
    }
    let places: Vec<u64> = footer.recordBatches().into_iter().flatten().map(place).collect::<Result<_>>()?;
    let batches = parallel::try_map(places, |place| {
        let FoundMessage { metadata, body, bytes } = at(place)?;
        let layout = BatchLayout::of(message(&metadata)?, &columns, bytes)?;
        let layout = layout.ok_or_else(|| damaged("a dictionary among record batches"))?;
        Ok((place..body + bytes, StoredBatch { body, layout, dictionaries: dictionaries.len() }))
    })?;
    // A batch that is listed twice would be counted twice.
    let mut places: Vec<&Range<u64>> = batches.iter().map(|(place, _)| place).collect();
    places.sort_unstable_by_key(|place| place.start);
    if places.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err(share());
    }
    end = places.last().map_or(end, |last| end.max(last.end));
    // Without batches there is only the schema, which is also in the footer.
    let (end, most) = if end == 0 { (FIRST, length + 4 * MOST_BEFORE_FOOTER) } else { (end, MOST_BEFORE_FOOTER) };
    let between = begin.checked_sub(end).ok_or_else(share)?;
    // In concatenated files only the last footer is found, and its offsets then lead to messages of the first file.
    if between > most {
        return Err(wrong(format!("{between} bytes that the footer does not describe"))
            .advice("if files were joined, name them one by one; else write or fetch it again"));
    }
    Ok(FoundMessages { columns, dictionaries, batches: batches.into_iter().map(|(_, batch)| batch).collect() })
}

fn one_by_one(file: &InputFile, reading: &InputSettings, control: &Control) -> Result<FoundMessages> {
    let FoundMessage { metadata, body, bytes } = FoundMessage::at(file, 0)?.ok_or_else(no_schema)?;
    let (columns, _) = columns_of(&metadata, reading)?;
    let (mut dictionaries, mut batches, mut at) = (Vec::new(), Vec::new(), body + bytes);
    loop {
        control.check()?;
        if at == file.bytes {
            return Err(without_end(batches.len() as u64));
        }
        let Some(found) = FoundMessage::at(file, at)? else { break };
        dictionaries.extend(StoredDictionary::of(&found, &columns)?);
        let FoundMessage { metadata, body, bytes } = found;
        at = body + bytes;
        if let Some(layout) = BatchLayout::of(message(&metadata)?, &columns, bytes)? {
            batches.push(StoredBatch { body, layout, dictionaries: dictionaries.len() });
        }
    }
    if at + PREFIX < file.bytes {
        return Err(after_end());
    }
    Ok(FoundMessages { columns, dictionaries, batches })
}

struct FoundMessage {
    metadata: Vec<u8>,
    /// Where the body begins, and its length; the body is known to be complete in the file.
    body: u64,
    bytes: u64,
}

impl FoundMessage {
    /// The message at byte `at`; `None` for the end of a stream.
    fn at(file: &InputFile, at: u64) -> Result<Option<Self>> {
        let mut prefix = [0; PREFIX as usize];
        let begin = at.checked_add(PREFIX).filter(|&begin| begin <= file.bytes);
        let begin = begin.ok_or_else(|| damaged(&format!("no message at byte {at} of {}", file.bytes)))?;
        file.read_exact_at(&mut prefix, at)?;
        let Some(length) = metadata_length(prefix)? else { return Ok(None) };
        let (metadata, body) = (metadata(file, begin, length)?, begin + length);
        let bytes = body_length(message(&metadata)?)?;
        match body.checked_add(bytes).filter(|&end| end <= file.bytes) {
            Some(_) => Ok(Some(Self { metadata, body, bytes })),
            None => Err(damaged("a message that is cut")),
        }
    }
}

/// The columns that a stream's first message describes, and the length of its body in bytes.
fn columns_of(metadata: &[u8], reading: &InputSettings) -> Result<([ArrowColumn; 2], u64)> {
    let message = message(metadata)?;
    let schema = message.header_as_schema().filter(|_| message.header_type() == MessageHeader::Schema);
    let columns = schema::ends(schema.ok_or_else(no_schema)?, message.version(), reading)?;
    Ok((columns, body_length(message)?))
}

fn no_schema() -> Error {
    damaged("a stream that does not begin with a schema")
}

fn without_end(batches: u64) -> Error {
    Error::data("", format!("{batches} record batches without the mark of a stream's end behind them"))
        .expected("that mark, which tells a whole stream from one that was cut")
        .advice("close what writes the stream; to take what is there as the whole, append the bytes ff ff ff ff 00 00 00 00")
}

fn after_end() -> Error {
    Error::data("", "more bytes behind the mark of a stream's end")
        .expected("one stream")
        .advice("give several streams as several files")
}

impl Reader for Arrow {
    fn facts(&self) -> SourceFacts {
        let arcs_at_most = self.tables.iter().fold(0_u64, |sum, table| sum.saturating_add(table.rows));
        SourceFacts { arcs_at_most, has_names: self.names, ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let all = self.tables.iter().flat_map(ArrowFile::numbered);
        self.each_chunk(all, control, task, |batch, rows| batch.deliver(rows, ArcBatch::new(sink, control)))
    }

    /// Scans tables without dictionaries in parallel; in other tables, only batches to which the same dictionary messages apply.
    fn scan_names(&self, sink: &dyn NameSink, control: &Control, task: &Task) -> Result<u64> {
        let has_some = |table: &&ArrowFile| table.columns.iter().any(|column| column.dictionary.is_some());
        let (with, without): (Vec<_>, Vec<_>) = self.tables.iter().partition(has_some);
        let none = TextDictionaries::within(0);
        let plain = without.into_iter().flat_map(ArrowFile::numbered);
        let mut arcs =
            self.each_chunk(plain, control, task, |batch, rows| batch.deliver_names(rows, &none, sink, control))?;
        for table in with {
            let (mut texts, mut read) = (TextDictionaries::within(self.dictionaries), 0);
            for batches in table.batches.chunk_by(|one, next| one.dictionaries == next.dictionaries) {
                let known = batches[0].dictionaries;
                for dictionary in &table.dictionaries[texts.messages..known] {
                    dictionary.read(&mut texts, &table.file, &self.work_dir, control)?;
                }
                let numbers = read..read + batches.len();
                read = numbers.end;
                let batches = numbers.map(|number| (table, number));
                arcs += self.each_chunk(batches, control, task, |batch, rows| {
                    batch.deliver_names(rows, &texts, sink, control)
                })?;
            }
        }
        Ok(arcs)
    }
}
