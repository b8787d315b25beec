//! Writes tables of Arrow.

use arrow_array::RecordBatch;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};

/// A file or a stream of record batches. If a dictionary extends the one before, only its new part is written; in a stream, others replace it.
pub(crate) fn arrow(batches: &[RecordBatch], is_file: bool) -> Vec<u8> {
    let (schema, options) = (batches[0].schema(), IpcWriteOptions::default());
    let options = options.with_dictionary_handling(DictionaryHandling::Delta);
    let mut bytes = Vec::new();
    if is_file {
        let mut file = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        batches.iter().for_each(|batch| file.write(batch).unwrap());
        file.finish().unwrap();
    } else {
        let mut stream = StreamWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        batches.iter().for_each(|batch| stream.write(batch).unwrap());
        stream.finish().unwrap();
    }
    bytes
}
