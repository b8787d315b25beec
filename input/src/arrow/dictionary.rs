//! Dictionaries: a column may have numbers in place of its texts, which stand once each in messages of their own.
//!
//! A dictionary comes before the record batches that use it. A later message with the same id replaces it, which only streams may do, or
//! goes on behind it (a *delta*). All names that numbers may stand for are held in memory, those of one file at a time, and within
//! a limit.

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::path::Path;

use super::message::BatchLayout;
use super::names::ColumnTexts;
use super::schema::ArrowColumn;
use super::values::{ArrowBatch, BatchBody};
use crate::file::InputFile;
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};

/// A dictionary or more of it, and where its body begins.
pub(super) struct StoredDictionary {
    pub(super) id: i64,
    pub(super) is_delta: bool,
    pub(super) columns: [ArrowColumn; 2],
    pub(super) body: u64,
    pub(super) layout: BatchLayout,
}

/// The texts of a dictionary.
#[derive(Default)]
pub(super) struct TextDictionary {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u64>,
    /// The numbers of those that are missing, ascending.
    missing: Vec<u64>,
}

impl TextDictionary {
    /// The text with a number.
    ///
    /// # Errors
    /// What is found in its place.
    pub(super) fn text(&self, number: u64) -> Result<&[u8], String> {
        let Some(&end) = self.ends.get(number as usize) else {
            return Err(format!("the number {number} of a dictionary of {} texts", self.ends.len()));
        };
        if self.missing.binary_search(&number).is_ok() {
            return Err(format!("a null, by number {number} of its dictionary,"));
        }
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        Ok(&self.bytes[begin as usize..end as usize])
    }

    fn held(&self) -> u64 {
        (self.bytes.len() + size_of_val(&self.ends[..]) + size_of_val(&self.missing[..])) as u64
    }
}

/// The dictionaries that hold at some place of a file, by their ids.
pub(super) struct TextDictionaries {
    by_id: HashMap<i64, TextDictionary>,
    /// How many messages were read.
    pub(super) messages: usize,
    /// The most bytes of all.
    limit: u64,
}

impl TextDictionaries {
    pub(super) fn within(limit: u64) -> Self {
        Self { by_id: HashMap::new(), messages: 0, limit }
    }

    pub(super) fn get(&self, id: i64) -> Option<&TextDictionary> {
        self.by_id.get(&id)
    }

    /// Reads the next message.
    pub(super) fn read(&mut self, stored: &StoredDictionary, file: &InputFile, work_dir: &Path) -> Result<()> {
        let StoredDictionary { id, is_delta, columns, body, layout } = stored;
        let mut texts = self.by_id.remove(id).filter(|_| *is_delta).unwrap_or_default();
        let room = self.limit.saturating_sub(self.by_id.values().map(TextDictionary::held).sum());
        let (path, number) = (&file.path, self.messages as u64);
        let batch = ArrowBatch { path, number, columns, layout, body: BatchBody::Stored(&file.file, *body), work_dir };
        let in_dictionary = |error: Error| error.also("this is in its dictionary");
        let first = texts.ends.len() as u64;
        let end = &layout.ends[0];
        let mut validity = match end.nulls {
            0 => None,
            _ => Some(BufReader::new(batch.bytes(0, &end.validity, 0).map_err(in_dictionary)?)),
        };
        let mut bits = [u8::MAX];
        let none = Self::within(0);
        let mut names = ColumnTexts::new(&batch, 0, 0..layout.rows, &none).map_err(in_dictionary)?;
        for row in 0..layout.rows {
            if let Some(validity) = validity.as_mut().filter(|_| row % 8 == 0) {
                validity.read_exact(&mut bits).map_err(|error| in_dictionary(batch.unreadable(0, error)))?;
            }
            if bits[0] >> (row % 8) & 1 == 0 {
                texts.missing.push(first + row);
            }
            texts.bytes.extend_from_slice(names.next(row).map_err(in_dictionary)?);
            texts.ends.push(texts.bytes.len() as u64);
            if texts.held() > room {
                return Err(Error::resource(format!("dictionaries of more than {}", Bytes(self.limit)))
                    .at(path)
                    .expected("dictionaries of names that are held within a sixteenth of the memory for the job")
                    .advice(
                        "give more --host-memory, or write the columns as utf8, as by column.cast(pyarrow.string())",
                    ));
            }
        }
        self.by_id.insert(*id, texts);
        self.messages += 1;
        Ok(())
    }
}
