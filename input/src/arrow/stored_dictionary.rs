//! Reads dictionaries: each precedes the batches that use it; a later message with its id replaces it (only in streams) or adds to it (*delta*).

use std::io::{BufReader, Read};
use std::path::Path;

use super::FoundMessage;
use super::dictionary::{TextDictionaries, TextDictionary};
use super::message::{BatchLayout, damaged, message};
use super::names::ColumnTexts;
use super::schema::ArrowColumn;
use super::values::{ArrowBatch, BatchBody};
use crate::file::InputFile;
use crate::tables::ROWS;
use trimill_system::{Bytes, Control, Error, Result};

pub(super) struct StoredDictionary {
    pub(super) id: i64,
    pub(super) is_delta: bool,
    /// The message's only column, twice.
    columns: [ArrowColumn; 2],
    body: u64,
    layout: BatchLayout,
}

impl StoredDictionary {
    /// The dictionary in a message; `None` if neither column uses it.
    pub(super) fn of(found: &FoundMessage, columns: &[ArrowColumn; 2]) -> Result<Option<Self>> {
        let Some(header) = message(&found.metadata)?.header_as_dictionary_batch() else { return Ok(None) };
        let id = header.id();
        let has = |column: &&ArrowColumn| column.dictionary.is_some_and(|dictionary| dictionary.id == id);
        let Some(values) = columns.iter().find(has).and_then(ArrowColumn::of_dictionary) else { return Ok(None) };
        let batch = header.data().ok_or_else(|| damaged("a dictionary without values"))?;
        let columns = [values.clone(), values];
        let layout = BatchLayout::of_batch(batch, &columns, found.bytes)?;
        Ok(Some(Self { id, is_delta: header.isDelta(), columns, body: found.body, layout }))
    }

    /// Reads the message into `all`, which has all dictionaries up to here.
    pub(super) fn read(
        &self,
        all: &mut TextDictionaries,
        file: &InputFile,
        work_dir: &Path,
        control: &Control,
    ) -> Result<()> {
        let StoredDictionary { id, is_delta, columns, body, layout } = self;
        let (path, number, limit) = (&file.path, all.messages as u64, all.limit);
        let (texts, room) = all.next(*id);
        if !is_delta {
            *texts = TextDictionary::default();
        }
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
        let mut names = ColumnTexts::new(&batch, 0, 0..layout.rows, &none, control).map_err(in_dictionary)?;
        for row in 0..layout.rows {
            if row % ROWS == 0 {
                control.check()?;
            }
            if let Some(validity) = validity.as_mut().filter(|_| row % 8 == 0) {
                validity.read_exact(&mut bits).map_err(|error| in_dictionary(batch.unreadable(0, error)))?;
            }
            if bits[0] >> (row % 8) & 1 == 0 {
                texts.missing.push(first + row);
            }
            texts.bytes.extend_from_slice(names.next(row).map_err(in_dictionary)?);
            texts.ends.push(texts.bytes.len() as u64);
            if texts.held() > room {
                return Err(Error::resource(format!("dictionaries of more than {}", Bytes(limit)))
                    .at(path)
                    .expected("dictionaries of names that are held within a sixteenth of the memory for the job")
                    .advice(
                        "give more --host-memory, or write the columns as utf8, as by column.cast(pyarrow.string())",
                    ));
            }
        }
        Ok(())
    }
}
