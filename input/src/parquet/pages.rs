//! The pages of a column, each checked before it is decoded, since the library reserves what a page announces and relies on the order of pages: sizes
//! are compared with the bytes there, a page that needs a dictionary must follow one, and checksums, if there are any, are compared.

use std::io::{self, Cursor};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use flate2::Crc;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::schema::EndValues;
use super::thrift::{ThriftItem, varint, walk};
use crate::file::InputFile;
use crate::names::columns::LONGEST_NAME;
use crate::storage::{ForwardReader, ReadOrder};
use trimill_system::{Error, lock};

/// Bytes read for a page header; one of integers takes less than 100, and statistics of names may have two of the longest ones.
const HEADER: u64 = 2 * LONGEST_NAME as u64 + (1 << 10);

/// Pages up to this size are read, whatever their compression ratio.
const SMALL: i64 = 4 << 20;

/// The highest compression ratio of a larger page.
const MOST_GROWTH: i64 = 256;

pub(super) struct Pages {
    pages: SerializedPageReader<PageBytes>,
    values: EndValues,
    nullable: bool,
    has_dictionary: bool,
}

/// The file, of which the library reads a page header, then that page.
pub(super) struct PageBytes {
    file: Arc<InputFile>,
    /// The most bytes of a page.
    most: u64,
    /// For a remote object: fetches the pages of the column.
    forward: Option<Mutex<Box<dyn ForwardReader>>>,
    /// The checksum of the page whose header was read last, if it has one.
    checksum: Mutex<Option<u32>>,
}

impl Pages {
    pub(super) fn new(
        file: &Arc<InputFile>,
        column: &ColumnChunkMetaData,
        rows: usize,
        values: EndValues,
        most: u64,
    ) -> Result<Self> {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        let within = |end: i64| u64::try_from(end).is_ok_and(|end| end <= file.bytes);
        if start < 0 || column.compressed_size() < 0 || !end.is_some_and(within) {
            return Err(wrong("pages outside of the file"));
        }
        if column.file_path().is_some() {
            return Err(wrong("pages in another file"));
        }
        match column.compression() {
            Compression::BROTLI(_) => return Err(not_read("pages compressed by brotli")),
            Compression::LZO => return Err(not_read("pages compressed by LZO")),
            _ => {}
        }
        let (start, end) = (start as u64, start as u64 + column.compressed_size() as u64);
        // The bytes read for the last page's header may reach beyond that page.
        let forward = file.file.forward(start..end + HEADER, ReadOrder::Pages).map(Mutex::new);
        let bytes = PageBytes { file: Arc::clone(file), most, forward, checksum: Mutex::default() };
        let pages = SerializedPageReader::new(Arc::new(bytes), column, rows, None)?;
        let nullable = column.column_descr().max_def_level() > 0;
        Ok(Self { pages, values, nullable, has_dictionary: false })
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                self.has_dictionary = true;
                let fits = match self.values.width() {
                    None => texts(buf) == Some(u64::from(*num_values)),
                    Some(width) => width * u64::from(*num_values) <= buf.len() as u64,
                };
                if !fits {
                    return Err(wrong("a dictionary of another length"));
                }
            }
            Page::DataPage { encoding, buf, num_values, .. } => {
                // The levels of a page that may have nulls come first, after their length.
                let levels = match buf.first_chunk::<4>() {
                    Some(length) if self.nullable => 4 + u64::from(u32::from_le_bytes(*length)),
                    _ => 0,
                };
                self.check_values(*encoding, buf, levels, *num_values)?;
            }
            Page::DataPageV2 { encoding, buf, num_values, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                self.check_values(*encoding, buf, levels, *num_values)?;
            }
        }
        Ok(())
    }

    /// Checks a page of `values` values, which come after `levels` bytes.
    fn check_values(&self, encoding: Encoding, page: &[u8], levels: u64, values: u32) -> Result<()> {
        let Some(data) = usize::try_from(levels).ok().and_then(|levels| page.get(levels..)) else {
            return Err(wrong("levels that are longer than their page"));
        };
        // The decoders of these two encodings assume that all values are there.
        let other_number = || Err(wrong("a page with nulls, or with another number of values than its header says"));
        match (encoding, self.values.width()) {
            (Encoding::PLAIN, None) if texts(data) == Some(u64::from(values)) => Ok(()),
            (Encoding::PLAIN, None) => other_number(),
            (Encoding::PLAIN, Some(_)) => Ok(()),
            (Encoding::BYTE_STREAM_SPLIT, Some(width)) if data.len() as u64 == width * u64::from(values) => Ok(()),
            (Encoding::BYTE_STREAM_SPLIT, Some(_)) => other_number(),
            // Block size, parts per block, number of values.
            (Encoding::DELTA_BINARY_PACKED, Some(_)) => {
                let mut at = 0;
                let [_, _, packed] = [(); 3].map(|()| varint(data, &mut at));
                let fits = packed.is_some_and(|packed| (1..=u64::from(values)).contains(&packed) || values == 0);
                if fits { Ok(()) } else { other_number() }
            }
            (Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY, _) if self.has_dictionary => Ok(()),
            (Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY, _) => Err(wrong("a page before its dictionary")),
            (other, Some(_)) => Err(not_read(&format!("integers in the encoding {other}"))),
            (other, None) => {
                Err(not_read(&format!("text in the encoding {other}, which is read plain or by a dictionary only")))
            }
        }
    }
}

/// The number of length-prefixed texts in a page; `None` if the last one is cut.
fn texts(mut page: &[u8]) -> Option<u64> {
    let mut texts = 0;
    while !page.is_empty() {
        let (length, rest) = page.split_first_chunk::<4>()?;
        page = rest.get(u32::from_le_bytes(*length) as usize..)?;
        texts += 1;
    }
    Some(texts)
}

fn wrong(found: &str) -> ParquetError {
    ParquetError::General(found.into())
}

fn not_read(found: &str) -> ParquetError {
    ParquetError::NYI(found.into())
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.as_ref().map_or(Ok(()), |page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Err(wrong("pages are read in order"))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        Err(wrong("no page is skipped"))
    }
}

impl Length for PageBytes {
    fn len(&self) -> u64 {
        self.file.bytes
    }
}

impl PageBytes {
    fn read(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match &self.forward {
            Some(forward) => lock(forward).read_exact_at(into, at),
            None => self.file.file.read_exact_at(into, at),
        }
    }
}

impl ChunkReader for PageBytes {
    type T = Cursor<Vec<u8>>;

    /// Reads and checks a page header; the library calls this for nothing else.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut header = vec![0; HEADER.min(self.file.bytes.saturating_sub(start)) as usize];
        self.read(&mut header, start)?;
        *lock(&self.checksum) = check_header(&header, self.most)?;
        Ok(Cursor::new(header))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|&end| end <= self.file.bytes);
        end.ok_or_else(|| wrong("a page that ends after the file"))?;
        let mut bytes = vec![0; length];
        self.read(&mut bytes, start)?;
        if let Some(checksum) = lock(&self.checksum).take() {
            let mut found = Crc::new();
            found.update(&bytes);
            if found.sum() != checksum {
                return Err(wrong("a page whose checksum differs"));
            }
        }
        Ok(bytes.into())
    }
}

/// Returns the page's checksum, if it has one.
fn check_header(bytes: &[u8], most: u64) -> Result<Option<u32>> {
    let (mut plain, mut packed, mut checksum, mut wrong_part) = (0, 0, None, false);
    let walked = walk(bytes, &mut |path, found| {
        if let ThriftItem::Integer(value) = found {
            match path {
                [2] => plain = value,
                [3] => packed = value,
                [4] => checksum = Some(value as u32),
                // Numbers of values and nulls; lengths of levels.
                [5 | 7, 1] | [8, 1 | 2 | 3 | 5 | 6] => wrong_part |= !(0..=i64::from(i32::MAX / 2)).contains(&value),
                _ => {}
            }
        }
        Some(())
    });
    if walked.is_none() || wrong_part || packed < 0 || plain < 0 {
        return Err(wrong("a damaged header of a page"));
    }
    if plain > SMALL && plain / MOST_GROWTH > packed {
        return Err(wrong(&format!(
            "a page of {plain} bytes from {packed} compressed ones; expected at most {SMALL}, or {MOST_GROWTH} times as many"
        )));
    }
    let largest = plain.max(packed) as u64;
    if largest > most {
        let error = Error::memory(format!("a page of {largest} bytes"))
            .expected(format!("at most {most}, which the host's budget has for it"))
            .advice("raise --host-memory, or write the file again with smaller pages");
        return Err(io::Error::other(error).into());
    }
    Ok(checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_must_not_announce_more_than_there_can_be() {
        // Of full length, whatever the value is.
        let varint = |value: u64| -> [u8; 10] {
            std::array::from_fn(|i| (value >> (7 * i)) as u8 & 0x7f | if i < 9 { 0x80 } else { 0 })
        };
        let header = |plain: i64, packed: i64, values: i64| {
            let [plain, packed, values] = [plain, packed, values].map(|n| varint(((n << 1) ^ (n >> 63)) as u64));
            [&[0x15, 0, 0x15][..], &plain, &[0x15], &packed, &[0x2c, 0x15], &values, &[0, 0]].concat()
        };
        let check = |header: &[u8]| check_header(header, 400 << 20);
        assert!(check(&header(1000, 10, 5)).is_ok());
        assert!(check(&header(SMALL, 10, 5)).is_ok());
        assert!(check(&header(400 << 20, 20 << 20, 5)).is_ok());
        let beyond = [((400 << 20) + 1, 20 << 20), (20 << 20, (400 << 20) + 1)];
        for (plain, packed) in beyond {
            assert!(check(&header(plain, packed, 5)).unwrap_err().to_string().contains("--host-memory"), "{plain}");
        }
        for (plain, packed, values) in
            [(400 << 20, 1 << 20, 5), (-1, 10, 5), (10, -1, 5), (10, 10, -1), (10, 10, 1 << 31)]
        {
            assert!(check(&header(plain, packed, values)).is_err(), "{plain} {packed} {values}");
        }
        assert!(check(&header(10, 10, 5)[..6]).is_err());
    }
}
