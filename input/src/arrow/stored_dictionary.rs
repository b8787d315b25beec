//! Reads the messages with dictionaries.
//!
//! A dictionary comes before the record batches that use it. A later message with the same id replaces it, which only streams may do, or
//! goes on behind it (a *delta*).

use std::io::{BufReader, Read};
use std::path::Path;

use super::dictionary::{TextDictionaries, TextDictionary};
use super::message::BatchLayout;
use super::names::ColumnTexts;
use super::schema::ArrowColumn;
use super::values::{ArrowBatch, BatchBody};
use crate::file::InputFile;
use trimill_system::{Bytes, Error, Result};

/// A dictionary or more of it, and where its body begins.
pub(super) struct StoredDictionary {
    pub(super) id: i64,
    pub(super) is_delta: bool,
    pub(super) columns: [ArrowColumn; 2],
    pub(super) body: u64,
    pub(super) layout: BatchLayout,
}

impl StoredDictionary {
    /// Reads the message, which is the next one, into those that hold so far.
    pub(super) fn read(&self, all: &mut TextDictionaries, file: &InputFile, work_dir: &Path) -> Result<()> {
        let StoredDictionary { id, is_delta, columns, body, layout } = self;
        let (mut texts, room) = all.take(*id);
        if !is_delta {
            texts = TextDictionary::default();
        }
        let (path, number) = (&file.path, all.messages as u64);
        let batch = ArrowBatch { path, number, columns, layout, body: BatchBody::Stored(&file.file, *body), work_dir };
        let in_dictionary = |error: Error| error.also("this is in its dictionary");
        let first = texts.ends.len() as u64;
        let end = &layout.ends[0];
        let mut validity = match end.nulls {
            0 => None,
            _ => Some(BufReader::new(batch.bytes(0, &end.validity, 0).map_err(in_dictionary)?)),
        };
        let mut bits = [u8::MAX];
        let none = TextDictionaries::within(0);
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
                return Err(Error::resource(format!("dictionaries of more than {}", Bytes(all.limit)))
                    .at(path)
                    .expected("dictionaries of names that are held within a sixteenth of the memory for the job")
                    .advice(
                        "give more --host-memory, or write the columns as utf8, as by column.cast(pyarrow.string())",
                    ));
            }
        }
        all.put(*id, texts);
        Ok(())
    }
}
