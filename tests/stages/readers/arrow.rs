//! Tables of Arrow: files that other programs wrote are tested in `fixtures.rs`; here are those that are refused, or read in pieces.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::FileWriter;
use trimill::testing::input::Source;
use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;

use super::support::{Folder, arcs, on, read, read_as, read_files, refused, work_dir};
use crate::common::arrow::arrow;
use crate::common::job::fixture;

/// The mark at the end of a stream.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

type Columns = Vec<(&'static str, Arc<dyn Array>)>;

fn batch(columns: Columns) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

fn ints(numbers: &[i64]) -> Arc<dyn Array> {
    Arc::new(Int64Array::from(numbers.to_vec()))
}

#[test]
fn parts_with_other_columns_are_refused() {
    let folder = Folder::new();
    for (name, columns) in [("a", ["a", "b", "w"]), ("b", ["w", "a", "b"])] {
        let columns = columns.map(|column| (column, ints(&[1, 2])));
        folder.write(&format!("parts/{name}.arrow"), arrow(&[batch(columns.to_vec())], true));
    }
    for format in [None, Some(Format::Arrow)] {
        let found = "b.arrow: the ends of edges in the columns 'w' and 'a'; expected them in 'a' and 'b'";
        refused(read_as(&folder.path("parts"), format, None), &[found]);
    }
}

#[test]
fn columns_that_hold_no_ids_are_refused() {
    let folder = Folder::new();
    let good = || ints(&[0, 1, 2]);
    let text: Arc<dyn Array> = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let missing: Arc<dyn Array> = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let negative: Arc<dyn Array> = Arc::new(Int32Array::from(vec![4, 5, -6]));
    let largest: Arc<dyn Array> = Arc::new(UInt64Array::from(vec![0, u64::MAX, 1]));
    let null = "the column 'a' in record batch 0: a null in row 1";
    let cases: [(Columns, &[&str]); 7] = [
        (vec![("a", good()), ("b", text)], &["the column 'b' is of type utf8", "'a' int64, 'b' utf8", "--columns"]),
        (vec![("a", missing), ("b", good())], &[null, "an id in each row"]),
        (vec![("a", good()), ("b", negative)], &["the column 'b' in record batch 0: the negative id -6 in row 2"]),
        (vec![("a", largest), ("b", good())], &["the id 18446744073709551615 in row 1; expected ids up to"]),
        (vec![("a", good())], &["a table with the columns 'a' int64", "two columns of ids"]),
        (vec![("index", good()), ("a", good()), ("b", good())], &["the ends of edges in the first two"]),
        (vec![("x", good()), ("src", good()), ("dst", good())], &["the ends of edges in the first two"]),
    ];
    for (columns, parts) in cases {
        let batch = batch(columns);
        for (name, is_file) in [("g.arrow", true), ("g.arrows", false)] {
            folder.refuses(name, arrow(std::slice::from_ref(&batch), is_file), parts);
        }
    }
}

#[test]
fn a_stream_is_whole_and_alone() {
    let folder = Folder::new();
    let batches = [[0, 1], [1, 2], [2, 0]].map(|[tail, head]| batch(vec![("a", ints(&[tail])), ("b", ints(&[head]))]));
    let whole = arrow(&batches, false);
    assert_eq!(read(&folder.write("no-suffix", &whole)).unwrap(), [(0, 1), (1, 2), (2, 0)]);
    let open = whole.strip_suffix(&END).unwrap();
    folder.refuses("open.arrows", open, &["3 record batches without the mark of a stream's end", "cut"]);
    folder.refuses("cut.arrows", &open[..open.len() - 1], &["a message that is cut"]);
    folder.refuses("two.arrows", [&whole[..], &whole[..]].concat(), &["more bytes behind the mark of a stream's end"]);
    folder.refuses("other.arrows", [1, 2, 3, 4, 0, 0, 0, 0, 0], &["no mark of a message"]);
    folder.refuses("old.feather", b"FEA1\0\0\0\0\xff\x01", &["version 1 of Feather", "version=2"]);
    folder.refuses("end.arrows", END, &["does not begin with a schema"]);
    folder.refuses("long.arrows", [&END[..4], &[0, 0, 0, 0x7f]].concat(), &["metadata of 2130706432 bytes"]);
    let path = folder.write("more.arrow", arrow(&batches[..1], true));
    let source = Source::open(&[folder.write("whole.arrows", &whole), path], None, &work_dir()).unwrap();
    assert_eq!((source.format(), arcs(&source).unwrap()), (Format::Arrow, vec![(0, 1), (0, 1), (1, 2), (2, 0)]));
}

#[test]
fn a_large_batch_is_read_in_pieces() {
    let folder = Folder::new();
    let tails: Vec<i64> = (0..100_000).collect();
    let heads: Vec<i64> = tails.iter().map(|tail| tail * 7 % 100_003).collect();
    let bytes = arrow(&[batch(vec![("a", ints(&tails)), ("b", ints(&heads))])], true);
    let expected: Vec<(u64, u64)> = tails.iter().zip(&heads).map(|(&tail, &head)| (tail as u64, head as u64)).collect();
    let path = folder.write("g.arrow", bytes);
    assert_eq!(read(&path).unwrap(), expected);
    let window = std::num::NonZeroU64::new(1000).unwrap();
    let source = Source::open_in_windows(&[path], None, &work_dir(), window).unwrap();
    assert_eq!(source.facts().arcs_at_most, 100_000);
    assert_eq!(arcs(&source).unwrap(), expected);
}

#[test]
fn cut_files_are_refused() {
    let folder = Folder::new();
    for name in ["plain.arrow", "zstd.arrow", "lz4.feather", "stream.arrows", "others.arrow"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        let end = Path::new(name).extension().unwrap().to_str().unwrap();
        for length in (0..whole.len()).step_by(whole.len() / 50) {
            let path = folder.write(&format!("cut.{end}"), &whole[..length]);
            refused(read_as(&path, Some(Format::Arrow), None), &["cut."]);
        }
    }
}

#[test]
fn a_batch_is_counted_once() {
    let folder = Folder::new();
    let whole = arrow(&[0, 1].map(|_| batch(vec![("a", ints(&[0, 1])), ("b", ints(&[1, 2]))])), true);
    // The footer lists the place of the first batch twice.
    let message = |from: usize| (from..whole.len()).find(|&at| whole[at..].starts_with(&END[..4])).unwrap();
    let schema = message(0);
    let first = message(schema + 4);
    let second = message(first + 4);
    let place = (second as u64).to_le_bytes();
    let at = (second..whole.len()).find(|&at| whole[at..].starts_with(&place)).unwrap();
    let mut twice = whole.clone();
    twice[at..at + 8].copy_from_slice(&(first as u64).to_le_bytes());
    folder.refuses("twice.arrow", twice, &["a footer with batches"]);
    // A footer with a longer list at its end: that place 1,000 times, and then one that is not reached.
    let (begin, list) = (whole.len() - 10 - u32_at(&whole, whole.len() - 10) as usize, at - 28);
    assert_eq!(u32_at(&whole, list), 2);
    // A list of none, or of the first batch alone.
    for listed in [0u32, 1] {
        let mut fewer = whole.clone();
        fewer[list..list + 4].copy_from_slice(&listed.to_le_bytes());
        folder.refuses("fewer.arrow", fewer, &["bytes that the footer does not describe"]);
    }
    let reference = (begin..list).step_by(4).find(|&field| field + u32_at(&whole, field) as usize == list).unwrap();
    let mut many = whole[..whole.len() - 10].to_vec();
    many.resize(begin + (many.len() - begin).next_multiple_of(8), 0);
    let to_list = (many.len() - reference) as u32;
    many[reference..reference + 4].copy_from_slice(&to_list.to_le_bytes());
    many.extend(1001u32.to_le_bytes());
    let mut block = whole[list + 4..list + 28].to_vec();
    (0..1000).for_each(|_| many.extend(&block));
    block[..8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    many.extend(&block);
    many.extend(((many.len() - begin) as u32).to_le_bytes());
    many.extend(b"ARROW1");
    on(1, || folder.refuses("many.arrow", many, &["a footer with batches that share bytes"]));
    assert_eq!(read(&folder.write("whole.arrow", whole)).unwrap().len(), 4);
}

#[test]
fn joined_files_are_refused() {
    let folder = Folder::new();
    let of = |arcs: &[[i64; 2]]| {
        let ends = |end: usize| ints(&arcs.iter().map(|arc| arc[end]).collect::<Vec<_>>());
        arrow(&[batch(vec![("a", ends(0)), ("b", ends(1))])], true)
    };
    let (first, second) = (of(&[[0, 1], [1, 2], [2, 0]]), of(&[[0, 3], [1, 3]]));
    for joined in [[&first[..], &second[..]], [&second[..], &first[..]], [&first[..], &first[..]]] {
        folder.refuses("joined.arrow", joined.concat(), &["the footer does not describe", "name them one by one"]);
    }
    // A table without a batch.
    let (mut none, schema) = (Vec::<u8>::new(), batch(vec![("a", ints(&[])), ("b", ints(&[]))]).schema());
    FileWriter::try_new(&mut none, &schema).unwrap().finish().unwrap();
    let paths = [folder.write("none.arrow", none), folder.write("some.arrow", first)];
    assert_eq!(read_files(&paths).unwrap(), [(0, 1), (1, 2), (2, 0)]);
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}
