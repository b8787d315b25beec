//! Reads the end of a Parquet file: metadata, their length (little-endian `u32`, at most [`MOST`]), `PAR1`. Decoded, they
//! take several times as much memory.

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::thrift::{ThriftItem, walk};
use crate::detect::PARQUET;
use crate::file::InputFile;
use trimill_system::{Error, Result};

/// The length of the metadata and the mark, in bytes.
const TAIL: u64 = 8;

/// The most bytes of metadata; a row group takes some hundred per column.
const MOST: u64 = 256 << 20;

/// The deepest schema; edge lists have one level.
const MOST_LEVELS: usize = 64;

pub(super) fn read(file: &InputFile) -> Result<ParquetMetaData> {
    let wrong = |found: String| {
        Error::data(&file.path, found).expected("a complete Parquet file").advice("write or fetch it again")
    };
    let mut tail = [0; TAIL as usize];
    let at = file.bytes.checked_sub(TAIL).ok_or_else(|| wrong(format!("a size of {} bytes", file.bytes)))?;
    file.read_exact_at(&mut tail, at)?;
    let ([length @ .., _, _, _, _], mark) = (tail, &tail[4..]);
    match mark {
        mark if mark == PARQUET => {}
        b"PARE" => return Err(wrong("encrypted metadata".into()).advice("write it without encryption")),
        _ => return Err(wrong("no mark PAR1 at its end".into())),
    }
    let length = u64::from(u32::from_le_bytes(length));
    if length > at || length > MOST {
        return Err(wrong(format!("metadata of {length} bytes in a file of {}", file.bytes)));
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at - length)?;
    if !is_whole(&bytes) {
        return Err(wrong("damaged metadata".into()));
    }
    // Lists and schema were checked, so decoding takes memory in proportion to the length.
    let metadata =
        ParquetMetaDataReader::decode_metadata(&bytes).map_err(|error| wrong(format!("damaged metadata ({error})")))?;
    // In concatenated files only the last metadata is found, and its offsets then lead to data of the first file.
    let before = (at - length).saturating_sub(end_of_parts(&metadata));
    let mut joint = [0; 2 * PARQUET.len()];
    if before >= TAIL {
        file.read_exact_at(&mut joint, before - PARQUET.len() as u64)?;
    }
    match joint == *b"PAR1PAR1" {
        true => Err(wrong(format!("several files in one: the last one begins at byte {before}"))
            .expected("one Parquet file")
            .advice("name the files that were joined, or a directory with them")),
        false => Ok(metadata),
    }
}

/// The end of the last column, bloom filter or index that the metadata locates.
fn end_of_parts(metadata: &ParquetMetaData) -> u64 {
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    let ends = columns.flat_map(|column| {
        let first = column.dictionary_page_offset().unwrap_or(i64::MAX).min(column.data_page_offset());
        let parts = [
            (Some(first), Some(column.compressed_size())),
            (column.bloom_filter_offset(), column.bloom_filter_length().map(i64::from)),
            (column.column_index_offset(), column.column_index_length().map(i64::from)),
            (column.offset_index_offset(), column.offset_index_length().map(i64::from)),
        ];
        parts.map(|(begin, bytes)| begin.unwrap_or(0).saturating_add(bytes.unwrap_or(0)))
    });
    ends.max().and_then(|end| u64::try_from(end).ok()).unwrap_or(PARQUET.len() as u64)
}

/// Whether the metadata ends where it should, and its schema is a tree of few levels.
fn is_whole(bytes: &[u8]) -> bool {
    // The number of children still to come on each level, from the root on.
    let (mut left, mut begun, mut children) = (Vec::new(), false, 0);
    let walked = walk(bytes, &mut |path, found| {
        match (path, found) {
            ([2, 5], ThriftItem::Integer(count)) => children = count,
            ([2], ThriftItem::End) => {
                match left.last_mut() {
                    Some(count) => *count -= 1,
                    None if begun => return None,
                    None => begun = true,
                }
                if children < 0 || left.len() >= MOST_LEVELS {
                    return None;
                }
                left.push(std::mem::take(&mut children));
                while left.last() == Some(&0) {
                    left.pop();
                }
            }
            _ => {}
        }
        Some(())
    });
    walked == Some(bytes.len()) && left.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(children: &[u8]) -> Vec<u8> {
        let elements = children.iter().flat_map(|&count| [0x55, 2 * count, 0]);
        [[0x29, 0xfc, children.len() as u8].into_iter().collect::<Vec<u8>>(), elements.collect(), vec![0]].concat()
    }

    #[test]
    fn a_schema_is_a_tree() {
        assert!(is_whole(&schema(&[2, 0, 0])));
        assert!(is_whole(&schema(&[2, 1, 0, 2, 0, 0])));
        assert!(!is_whole(&schema(&[2, 0])));
        assert!(!is_whole(&schema(&[1, 0, 0])));
        assert!(!is_whole(&schema(&[60, 0, 0])));
        assert!(is_whole(&schema(&[[1; 60].as_slice(), &[0]].concat())));
        assert!(!is_whole(&schema(&[[1; 70].as_slice(), &[0]].concat())));
        assert!(!is_whole(&[schema(&[1, 0]), vec![0]].concat()));
        assert!(!is_whole(&[]));
    }
}
