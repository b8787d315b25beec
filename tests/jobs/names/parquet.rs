//! Names in Parquet files, read and written.

use std::collections::BTreeMap;

use ::parquet::basic::Encoding;
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::RowAccessor;
use trimill::Kind;

use super::{LIST, assert_counted, known, lines};
use crate::common::job::count;
use crate::common::tables::parquet;

/// A Parquet file with the ends of arcs, some of them missing, 100 rows in each group. `kind` has a column's type and its annotation.
fn table([kind, annotation]: [&str; 2], arcs: &[[Option<&[u8]>; 2]], encoding: Option<Encoding>) -> Vec<u8> {
    let columns = ["a", "b"].map(|name| format!("optional {kind} {name} {annotation};")).concat();
    let properties = WriterProperties::builder().set_dictionary_enabled(encoding.is_none());
    let properties = properties.set_write_page_header_statistics(true).set_statistics_truncate_length(None);
    let properties = encoding.map_or(properties.clone(), |encoding| properties.set_encoding(encoding));
    parquet(&columns, properties.build(), arcs.chunks(100), |arcs, end, column| {
        let ends = arcs.iter().map(|arc| arc[end]);
        let levels: Vec<i16> = ends.clone().map(|name| i16::from(name.is_some())).collect();
        match column {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let values: Vec<ByteArray> = ends.flatten().map(|name| name.to_vec().into()).collect();
                writer.write_batch(&values, Some(&levels), None).map(drop).unwrap();
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(&vec![7; arcs.len()], Some(&levels), None).map(drop).unwrap();
            }
            _ => panic!("another type"),
        }
    })
}

const TEXT: [&str; 2] = ["binary", "(UTF8)"];

#[test]
fn they_are_read_from_parquet() {
    let (dir, arcs, expected) = known();
    let ends: Vec<[Option<&[u8]>; 2]> = arcs.iter().map(|(u, v)| [u, v].map(|name| Some(name.as_bytes()))).collect();
    for encoding in [None, Some(Encoding::PLAIN)] {
        std::fs::write(dir.path().join("n.parquet"), table(TEXT, &ends, encoding)).unwrap();
        for threads in [1, 4] {
            let input = "input = { path = 'n.parquet', names = true }";
            assert_counted(dir.path(), &expected, &format!("{input}\ncount.threads = {threads}"));
        }
    }
    let long = "x".repeat(16_385);
    let delta = "text in the encoding DELTA_BYTE_ARRAY, which is read plain or by a dictionary only; expected pages that are whole, \
                 plain or compressed by snappy, zstd, gzip or LZ4; write it again, compressed by zstd, and plain or with a dictionary";
    // The head of the second of two arcs.
    let head = |head: Option<&[u8]>, encoding| table(TEXT, &[[Some(b"x"), Some(b"y")], [Some(b"x"), head]], encoding);
    let of_type = |kind| table(kind, &ends, None);
    for (bytes, words) in [
        (head(None, None), "the column 'b' in row group 0: a null in row 1"),
        (head(Some(b""), None), "the column 'b' in row group 0: an empty name in row 1; expected two names"),
        (head(Some(b"\xff"), None), "bytes that are not text in UTF-8 in row 1"),
        (head(Some(long.as_bytes()), None), "a name of 16385 bytes in row 1"),
        (head(None, Some(Encoding::PLAIN)), "a page with nulls"),
        (of_type(["binary", "(JSON)"]), "the column 'a' is of type BYTE_ARRAY (Json); expected a column of text"),
        (of_type(["int64", ""]), "the column 'a' is of type INT64; expected a column of text, as --names says"),
        (table(TEXT, &ends, Some(Encoding::DELTA_BYTE_ARRAY)), delta),
    ] {
        std::fs::write(dir.path().join("n.parquet"), bytes).unwrap();
        let error = count("input = { path = 'n.parquet', names = true }", dir.path()).unwrap_err();
        let said = error.to_string();
        assert!(error.kind() == Kind::Data && said.contains("n.parquet: ") && said.contains(words), "{said}");
    }
    // The header of a page has its least and its greatest name.
    let [least, greatest] = ["a", "z"].map(|letter| letter.repeat(16_384));
    let [least, greatest] = [&least, &greatest].map(|name| Some(name.as_bytes()));
    std::fs::write(dir.path().join("n.parquet"), table(TEXT, &[[least, greatest], [greatest, least]], None)).unwrap();
    assert_eq!(count("input = { path = 'n.parquet', names = true }", dir.path()).unwrap().edges, 1);
    // Some programs do not say that it is text.
    std::fs::write(dir.path().join("n.parquet"), table(["binary", ""], &ends, None)).unwrap();
    let counted = count("input = { path = 'n.parquet', names = true }", dir.path()).unwrap();
    assert_eq!(counted.edges, expected.edges.len() as u64);
    std::fs::write(dir.path().join("n.parquet"), table(TEXT, &ends, None)).unwrap();
    let error = count("input = { path = 'n.parquet' }", dir.path()).unwrap_err().to_string();
    assert!(error.contains("expected a column of integers"), "{error}");
}

#[test]
fn parquet_has_them_as_text() {
    let (dir, arcs, expected) = known();
    std::fs::write(dir.path().join("n.csv"), lines(&arcs)).unwrap();
    let files = "output = { per_vertex = 'v.parquet', per_edge = 'e.parquet' }";
    count(&format!("{LIST}{files}"), dir.path()).unwrap();
    let read = |name: &str| SerializedFileReader::new(std::fs::File::open(dir.path().join(name)).unwrap()).unwrap();
    let (vertices, edges) = (read("v.parquet"), read("e.parquet"));
    let vertices = vertices.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        (row.get_string(0).unwrap().clone(), (row.get_uint(1).unwrap(), row.get_ulong(2).unwrap()))
    });
    assert!(vertices.collect::<BTreeMap<_, _>>() == expected.vertices);
    let edges = edges.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let ends = (row.get_string(0).unwrap().clone(), row.get_string(1).unwrap().clone());
        (ends, row.get_uint(2).unwrap())
    });
    assert!(edges.collect::<BTreeMap<_, _>>() == expected.edges);
    let again = count("input = { path = 'e.parquet', names = true }", dir.path()).unwrap();
    assert_eq!(again.edges, expected.edges.len() as u64);
}

#[test]
fn long_names_among_short_ones_end_a_row_group_early() {
    let dir = tempfile::tempdir().unwrap();
    let long = |i: u64| format!("{i:04}").repeat(4000);
    let long = (0..400).map(|i| format!("{}\t{}\n", long(i), long(i + 1)));
    let short = (0..32_000).map(|i| format!("z{i}\tz{}\n", i + 1));
    std::fs::write(dir.path().join("n.tsv"), long.chain(short).collect::<String>()).unwrap();
    let input = "input = { path = 'n.tsv', names = true, header = 'no' }";
    count(&format!("{input}\noutput.per_edge = 'e.parquet'"), dir.path()).unwrap();
    let edges = SerializedFileReader::new(std::fs::File::open(dir.path().join("e.parquet")).unwrap()).unwrap();
    // All long names take 12.8 MB.
    let groups = edges.metadata().row_groups();
    assert!(groups.iter().all(|group| group.total_byte_size() < 8_000_000));
    assert_eq!(groups.iter().map(|group| group.num_rows()).sum::<i64>(), 32_400);
    let again = count("input = { path = 'e.parquet', names = true }", dir.path()).unwrap();
    assert_eq!((again.edges, again.triangles), (32_400, 0));
}
