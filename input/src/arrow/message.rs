//! The messages of Arrow files and streams, checked before anything is sized by them. Layout: `ff ff ff ff`, the length of the metadata (`i32`), the
//! metadata (a flatbuffer, padded), the body. A length of 0 ends a stream. A file is `ARROW1`, two zeros, such a stream, a footer that says where the
//! record batches are, the footer's length (`i32`), and `ARROW1`.

use std::ops::Range;

use arrow_ipc::{CompressionType, Message, MessageHeader, RecordBatch};

use super::schema::{ArrowColumn, ArrowValues};
use trimill_system::{Error, Result};

const CONTINUATION: [u8; 4] = [0xff; 4];

/// The mark before a message and the length of its metadata, in bytes.
pub(super) const PREFIX: u64 = 8;

/// The most bytes of metadata. A column takes some hundred in a schema, and 50 in a record batch.
pub(super) const MOST_METADATA: u64 = 64 << 20;

/// The most that a codec can expand a byte: zstd takes four bytes at least for a block of 128 KiB.
const MOST_GROWTH: u64 = 1 << 15;

/// The length of a message's metadata; `None` at the end of a stream.
pub(super) fn metadata_length(prefix: [u8; PREFIX as usize]) -> Result<Option<u64>> {
    let ([mark @ .., _, _, _, _], [_, _, _, _, length @ ..]) = (prefix, prefix);
    if mark != CONTINUATION {
        return Err(Error::data("", "no mark of a message (ff ff ff ff)")
            .expected("messages of Arrow 0.15 or later")
            .advice("the data is damaged, or written by an older version: write it again"));
    }
    let length = i32::from_le_bytes(length);
    match u64::try_from(length) {
        Ok(0) => Ok(None),
        Ok(length) if length <= MOST_METADATA => Ok(Some(length)),
        _ => Err(Error::data("", format!("metadata of {length} bytes")).expected(format!("at most {MOST_METADATA}"))),
    }
}

pub(super) fn message(metadata: &[u8]) -> Result<Message<'_>> {
    arrow_ipc::root_as_message(metadata).map_err(|error| damaged(&format!("damaged metadata ({error})")))
}

pub(super) fn body_length(message: Message<'_>) -> Result<u64> {
    u64::try_from(message.bodyLength()).map_err(|_| damaged("a body of a negative length"))
}

pub(super) fn damaged(found: &str) -> Error {
    Error::data("", found).expected("whole messages").advice("write or fetch the data again")
}

#[derive(Debug, Clone)]
pub(super) struct BatchLayout {
    pub(super) rows: u64,
    pub(super) compression: Option<CompressionType>,
    pub(super) ends: [EndBuffers; 2],
}

#[derive(Debug, Clone)]
pub(super) struct EndBuffers {
    /// The number of nulls, and the validity bitmap.
    pub(super) nulls: u64,
    pub(super) validity: Range<u64>,
    pub(super) values: Range<u64>,
    /// The texts: one buffer, or several for views.
    pub(super) texts: Vec<Range<u64>>,
}

impl BatchLayout {
    /// The layout of a message whose body has `body` bytes; `None` if it is no record batch.
    pub(super) fn of(message: Message<'_>, columns: &[ArrowColumn; 2], body: u64) -> Result<Option<Self>> {
        match message.header_type() {
            MessageHeader::RecordBatch => {}
            // Dictionaries that are needed are read separately.
            MessageHeader::DictionaryBatch => return Ok(None),
            other => {
                let name = other.variant_name().unwrap_or("an unknown one");
                return Err(Error::data("", format!("a message of type {name}")).expected("record batches"));
            }
        }
        let batch = message.header_as_record_batch().ok_or_else(|| damaged("a record batch without a header"))?;
        Self::of_batch(batch, columns, body).map(Some)
    }

    pub(super) fn of_batch(batch: RecordBatch<'_>, columns: &[ArrowColumn; 2], body: u64) -> Result<Self> {
        let rows = u64::try_from(batch.length()).map_err(|_| damaged("a negative number of rows"))?;
        let compression = batch.compression().map(|compression| compression.codec());
        if let Some(codec) = compression.filter(|codec| !CompressionType::ENUM_VALUES.contains(codec)) {
            return Err(Error::data("", format!("the compression {}", codec.0)).expected("none, LZ4 or zstd"));
        }
        let of = |column: &ArrowColumn| -> Result<EndBuffers> {
            let found = buffers(batch, column, body)?;
            let (bytes, growth) = (found.values.end - found.values.start, compression.map_or(1, |_| MOST_GROWTH));
            if rows > bytes.saturating_mul(growth) / column.width {
                return Err(damaged(&format!("{rows} rows, of which the column '{}' has {bytes} bytes", column.name)));
            }
            Ok(found)
        };
        Ok(Self { rows, compression, ends: [of(&columns[0])?, of(&columns[1])?] })
    }
}

fn buffers(batch: RecordBatch<'_>, column: &ArrowColumn, body: u64) -> Result<EndBuffers> {
    let lacks = || damaged(&format!("a record batch without the column '{}'", column.name));
    let place = column.place;
    let node = batch.nodes().filter(|nodes| place.nodes < nodes.len()).ok_or_else(lacks)?.get(place.nodes);
    if node.length() != batch.length() {
        let found = format!("{} values of the column '{}' in {} rows", node.length(), column.name, batch.length());
        return Err(damaged(&found));
    }
    let mut first = place.buffers;
    let viewed = |view: usize| {
        let counts = batch.variadicBufferCounts().filter(|counts| view < counts.len()).ok_or_else(lacks)?;
        usize::try_from(counts.get(view)).map_err(|_| lacks())
    };
    for view in 0..place.views {
        first = first.checked_add(viewed(view)?).ok_or_else(lacks)?;
    }
    let texts = match column.values {
        ArrowValues::Integers { .. } => 0,
        ArrowValues::Text => 1,
        ArrowValues::Views => viewed(place.views)?,
    };
    let end = first.checked_add(2).and_then(|end| end.checked_add(texts)).ok_or_else(lacks)?;
    let all = batch.buffers().filter(|all| end <= all.len()).ok_or_else(lacks)?;
    let range = |at: usize| {
        let (start, length) = (u64::try_from(all.get(at).offset()).ok()?, u64::try_from(all.get(at).length()).ok()?);
        Some(start..start.checked_add(length).filter(|&end| end <= body)?)
    };
    let ranges: Option<Vec<_>> = (first..end).map(range).collect();
    let mut ranges = ranges.ok_or_else(|| damaged("a buffer that ends after its record batch"))?.into_iter();
    let nulls = u64::try_from(node.null_count()).unwrap_or_default();
    match (ranges.next(), ranges.next()) {
        (Some(validity), Some(values)) => Ok(EndBuffers { nulls, validity, values, texts: ranges.collect() }),
        _ => Err(lacks()),
    }
}
