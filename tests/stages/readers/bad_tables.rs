//! NumPy, SciPy and Parquet files that are damaged, or do not hold edges.

use std::path::Path;

use parquet::basic::Encoding;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use trimill::testing::input::{InputSettings, Source};
use trimill::{Control, Error, Kind};

use super::support::{Folder, arcs, failed, read, refused, work_dir};
use crate::common::job::fixture;
use crate::common::packed::{zipped, zipped_by};
use crate::common::tables::parquet;

/// A `.npy` file as its specification lays it out.
pub(crate) fn npy(version: u8, descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let before = if version == 1 { 10 } else { 12 };
    text += &" ".repeat(63 - (before + text.len()) % 64);
    text.push('\n');
    let length = text.len() as u32;
    let length = if version == 1 { (length as u16).to_le_bytes().to_vec() } else { length.to_le_bytes().to_vec() };
    [b"\x93NUMPY", &[version, 0][..], &length, text.as_bytes(), data].concat()
}

pub(crate) fn words<const N: usize>(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()[..N].to_vec()).collect()
}

#[test]
fn arrays_that_are_no_edges_are_refused() {
    let folder = Folder::new();
    let pairs = words::<8>(&[0, 1, 1, 2, 2, 0]);
    let of = |descr: &str, shape: &str| npy(1, descr, false, shape, &pairs);
    let records = b"{'descr': [('u', '<i8'), ('v', '<i8')], 'fortran_order': False, 'shape': (3,), }\n";
    assert_eq!(read(&folder.write("good.npy", of("<i8", "(3, 2)"))).unwrap(), [(0, 1), (1, 2), (2, 0)]);
    for (bytes, parts) in [
        (of("<i8", "(2, 3)"), &["an array of 2 rows and 3 columns", "edges.T"][..]),
        (of("<i8", "(6,)"), &["an array of shape (6,)", "two columns"]),
        (of("<i8", "(1, 6)"), &["1 row and 6 columns", "edges[:, :2]"]),
        (of("<i8", "(3, 2, 1)"), &["shape (3, 2, 1)"]),
        (of("<i8", "()"), &["176 bytes; expected 136 for an array of shape ()"]),
        (of("<f8", "(3, 2)"), &["elements of type '<f8'", "astype(numpy.int64)"]),
        (of("|b1", "(24, 2)"), &["elements of type '|b1'"]),
        (npy(1, "|b1", false, "(3, 3)", &[0; 9]), &["elements of type '|b1'", "scipy.sparse.csr_array"]),
        (npy(1, "|i1", false, "(3, 3)", &[0; 9]), &["an array of 3 rows and 3 columns", "scipy.sparse.csr_array"]),
        ([b"\x93NUMPY\x01\x00", &[records.len() as u8, 0][..], records, &pairs].concat(), &["records", "column_stack"]),
        (of("|O", "(3, 2)"), &["elements of type '|O'"]),
        (of("<i8", "(4, 2)"), &["expected 192 for an array of shape (4, 2)", "is cut, or holds more than one"]),
        ([of("<i8", "(3, 2)"), of("<i8", "(3, 2)")].concat(), &["352 bytes; expected 176"]),
        (of("<i8", "(9223372036854775807, 2)"), &["which no file can"]),
        (of("<i8", "(4611686018427387904, 4)"), &["which no file can"]),
        (of("<i8", "(3, 2)")[..100].to_vec(), &["a header that is cut"]),
        (npy(4, "<i8", false, "(3, 2)", &pairs), &["a version that is not known"]),
        ([&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], &pairs].concat(), &["a header that is too long"]),
        ([&b"\x93NUMPY\x01\x00\x05\x00{'a':"[..], &pairs].concat(), &["without the descr, fortran_order and shape"]),
        (npy(1, "<i8", false, "(3, 2)", &words::<8>(&[0, 1, 1, -2, 2, 0])), &["the id -2 in arc 1", "ids from 0"]),
        (npy(1, "<i8", true, "(3, 2)", &words::<8>(&[0, 1, 2, 0, 0, -7])), &["the id -7 in arc 2"]),
        (npy(1, "<u8", false, "(3, 2)", &words::<8>(&[0, 1, 1, 2, -1, 0])), &["the id 18446744073709551615 in arc 2"]),
    ] {
        folder.refuses("bad.npy", bytes, parts);
    }
    for (name, format) in [("g.npy", "npy"), ("g.npz", "scipy-npz"), ("g.parquet", "parquet"), ("g.feather", "arrow")] {
        folder.refuses(name, "0 1\n1 2\n", &[&format!("holds text, and its suffix says {format}"), "--format text"]);
        folder.refuses(name, [0u8, 1, 2, 3, 0, 0, 0, 9], &[]);
    }
}

/// A matrix as `save_npz` stores it, of 3 rows, with other arrays where `other` has some.
pub(crate) fn matrix(format: &str, method: zip::CompressionMethod, other: &[(&str, Option<Vec<u8>>)]) -> Vec<u8> {
    let ints = |numbers: &[i64]| npy(1, "<i4", false, &format!("({},)", numbers.len()), &words::<4>(numbers));
    let mut arrays = vec![
        ("format.npy", npy(1, "|S3", false, "()", format.as_bytes())),
        ("shape.npy", npy(1, "<i8", false, "(2,)", &words::<8>(&[3, 3]))),
        ("data.npy", npy(1, "<f8", false, "(3,)", &[0; 24])),
    ];
    arrays.extend(match format {
        "coo" => [("row.npy", ints(&[0, 1, 2])), ("col.npy", ints(&[1, 2, 0]))],
        _ => [("indices.npy", ints(&[1, 2, 0])), ("indptr.npy", ints(&[0, 1, 2, 3]))],
    });
    for (name, bytes) in other {
        arrays.retain(|(array, _)| array != name);
        arrays.extend(bytes.clone().map(|bytes| (*name, bytes)));
    }
    let arrays: Vec<_> = arrays.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    zipped_by(method, &arrays)
}

#[test]
fn matrices_that_are_inconsistent_are_refused() {
    let folder = Folder::new();
    let ints = |numbers: &[i64]| Some(npy(1, "<i4", false, &format!("({},)", numbers.len()), &words::<4>(numbers)));
    let shape = |numbers: &[i64]| Some(npy(1, "<i8", false, &format!("({},)", numbers.len()), &words::<8>(numbers)));
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        for (format, expected) in
            [("csr", [(0, 1), (1, 2), (2, 0)]), ("csc", [(0, 2), (1, 0), (2, 1)]), ("coo", [(0, 1), (1, 2), (2, 0)])]
        {
            let path = folder.write("good.npz", matrix(format, method, &[]));
            assert_eq!(read(&path).unwrap(), expected, "{format}");
        }
        for (format, other, parts) in [
            ("csr", &[("shape.npy", shape(&[3, 4]))][..], &["3 rows and 4 columns", "a square matrix"][..]),
            ("csr", &[("shape.npy", shape(&[3]))], &["an array of 1 dimension;"]),
            ("csr", &[("shape.npy", shape(&[-3, -3]))], &["the negative number -3"]),
            ("csr", &[("shape.npy", shape(&[1 << 32, 1 << 32]))], &["4294967296 vertices"]),
            ("csr", &[("indptr.npy", ints(&[0, 1, 3]))], &["indptr.npy: 3 numbers; expected 4, one more than rows"]),
            ("csr", &[("indptr.npy", ints(&[0, 1, 2, 4]))], &["the last one 4", "0 and 3"]),
            ("csr", &[("indptr.npy", ints(&[1, 1, 2, 3]))], &["the first number 1"]),
            ("csr", &[("indptr.npy", ints(&[0, 2, 1, 3]))], &["1 after 2 at place 2", "ascend"]),
            ("csr", &[("indptr.npy", ints(&[0, -1, 2, 3]))], &["the negative number -1 at place 1"]),
            (
                "csc",
                &[("indices.npy", ints(&[1, 3, 0]))],
                &["indices.npy", "neighbour 3 of vertex 1, at place 1", "from 0 to 2"],
            ),
            ("csr", &[("indices.npy", ints(&[1, -1, 0]))], &["neighbour -1 of vertex 1, at place 1"]),
            ("csr", &[("indices.npy", None)], &["no array 'indices' among format.npy", "save_npz"]),
            ("csr", &[("data.npy", Some(npy(1, "<f8", false, "(2,)", &[0; 16])))], &["values of shape (2,)", "(3,)"]),
            ("coo", &[("row.npy", ints(&[0, 1]))], &["3 columns of entries; expected 2"]),
            ("coo", &[("col.npy", ints(&[0, 1, 9]))], &["col.npy", "the id 9 in arc 2"]),
            ("coo", &[("row.npy", Some(npy(1, "<f8", false, "(3,)", &[0; 24])))], &["elements of type '<f8'"]),
            ("coo", &[("row.npy", Some(npy(1, "<i4", false, "(3, 1)", &[0; 12])))], &["shape (3, 1)", "one dimension"]),
            ("bsr", &[], &["a sparse matrix of format 'bsr'", "csr, csc or coo", "tocsr"]),
            ("dia", &[], &["'dia'"]),
            ("csr", &[("format.npy", Some(npy(1, "<i4", false, "()", &[0; 4])))], &["no text"]),
        ] {
            folder.refuses("bad.npz", matrix(format, method, other), parts);
        }
    }
    let other = matrix("csr", zip::CompressionMethod::Stored, &[("format.npy", None)]);
    folder.refuses("savez.npz", other, &["no array 'format' among", "numpy.save"]);
    folder.refuses("empty.npz", zipped(&[]), &["no array 'format' among (none);"]);
    // One flipped bit of stored indices, whose checksum is in the archive.
    let mut flipped = matrix("coo", zip::CompressionMethod::Stored, &[]);
    let at = flipped.windows(12).position(|part| part == words::<4>(&[0, 1, 2])).unwrap();
    flipped[at] ^= 2;
    folder.refuses("flipped.npz", flipped, &["'row.npy' is damaged"]);
    let whole = matrix("csr", zip::CompressionMethod::Deflated, &[]);
    folder.refuses("cut.npz", &whole[..whole.len() - 30], &["the zip archive is damaged"]);
}

/// Writes values of 64 bits to a column; a row whose level is 0 has none.
pub(crate) fn put(values: &[i64], levels: Option<&[i16]>, column: &mut ColumnWriter<'_>) {
    let ColumnWriter::Int64ColumnWriter(writer) = column else { panic!("another type") };
    writer.write_batch(values, levels, None).map(drop).unwrap();
}

pub(crate) fn table_of(arcs: &[(u64, u64)]) -> Vec<u8> {
    table(
        "required int64 src; optional int64 dst;",
        &[&|number, column| {
            let values: Vec<i64> = arcs.iter().map(|&(u, v)| if number == 0 { u } else { v } as i64).collect();
            put(&values, Some(&vec![1; values.len()]), column);
        }],
    )
}

/// Fills the columns of a row group, given the number of each.
type Fill<'a> = &'a dyn Fn(usize, &mut ColumnWriter<'_>);

pub(crate) fn table(schema: &str, groups: &[Fill<'_>]) -> Vec<u8> {
    parquet(schema, WriterProperties::builder().build(), groups, |fill, number, column| fill(number, column))
}

fn wide(values: &'static [i64]) -> impl Fn(usize, &mut ColumnWriter<'_>) {
    move |_, column| match column {
        ColumnWriter::Int64ColumnWriter(writer) => {
            writer.write_batch(values, Some(&vec![1; values.len()]), Some(&vec![0; values.len()])).map(drop).unwrap();
        }
        ColumnWriter::Int32ColumnWriter(writer) => {
            let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
            writer.write_batch(&values, Some(&vec![1; values.len()]), Some(&vec![0; values.len()])).map(drop).unwrap();
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values: Vec<f64> = values.iter().map(|&value| value as f64).collect();
            writer.write_batch(&values, Some(&vec![1; values.len()]), None).map(drop).unwrap();
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let values: Vec<ByteArray> = values.iter().map(|value| value.to_string().as_str().into()).collect();
            writer.write_batch(&values, Some(&vec![1; values.len()]), None).map(drop).unwrap();
        }
        _ => panic!("a type that no test has"),
    }
}

fn with_columns(path: &Path, names: &str) -> Result<Vec<(u64, u64)>, Error> {
    let reading = InputSettings { columns: Some(names.parse().unwrap()), ..InputSettings::default() };
    arcs(&Source::open_as(&[path.to_path_buf()], reading, &work_dir(), &Control::silent())?)
}

#[test]
fn tables_of_anything_else_than_edges_are_refused() {
    let folder = Folder::new();
    let good = |schema: &str| table(schema, &[&wide(&[0, 1, 2]), &wide(&[5, 6])]);
    let pairs = [(0, 0), (1, 1), (2, 2), (5, 5), (6, 6)];
    for schema in [
        "required int64 a; required int64 b;",
        "optional int64 a; required int32 b;",
        "required int32 a (UINT_32); optional int64 b (INTEGER(64,false)); optional double c;",
        "required int32 source (INT_8); required int32 target; required int64 n;",
        "required int64 user_id; required int64 item_id; required int64 n;",
        "required int64 id; required int64 friend; required double weight;",
    ] {
        let path = folder.write("good.parquet", good(schema));
        assert_eq!(read(&path).unwrap(), pairs, "{schema}");
    }
    // Values above the signed range, in unsigned types.
    let top = table("required int32 a (UINT_32); required int64 b (INTEGER(64,false));", &[&wide(&[-2])]);
    assert_eq!(read(&folder.write("top.parquet", top)).unwrap(), [(u64::from(u32::MAX) - 1, u64::MAX - 1)]);

    for (schema, parts) in [
        ("required int64 a;", &["a table with the columns 'a' INT64", "two columns"][..]),
        ("required double a; required int64 b;", &["the column 'a' is of type DOUBLE", "'b' INT64", "--columns"]),
        ("required int64 a; required binary b (UTF8);", &["the column 'b' is of type BYTE_ARRAY (UTF8)"]),
        ("required int32 a (DATE); required int64 b;", &["the column 'a' is of type INT32 (Date)"]),
        ("required int64 a (DECIMAL(9,2)); required int64 b;", &["the column 'a' is of type INT64 (Decimal"]),
        (
            "required group a { required int64 x; } required int64 b;",
            &["the column 'a' is nested", "'a' (nested), 'b' INT64"],
        ),
        ("repeated int64 a; required int64 b;", &["the column 'a' is nested"]),
        ("required int64 x; required int64 src; required int64 dst;", &["the first two", "--columns TAIL,HEAD"]),
        ("required int64 index; required int64 a; required int64 b;", &["the ends of edges in the first two"]),
        ("required int64 edge_id; required int64 a; required int64 b;", &["the ends of edges in the first two"]),
        ("required int64 n; required int64 from_node; required int64 to_node;", &["the first two", "--columns"]),
    ] {
        folder.refuses("bad.parquet", good(schema), parts);
    }
    // Folders that stand for a column have no ids.
    let said = ["src=0/p.parquet: a table with the columns 'dst' INT64", "'src=0' in its path is no column of ids"];
    folder.refuses("src=0/p.parquet", good("required int64 dst;"), &said);
    let three = folder.write("three.parquet", good("required double w; required int64 src; required int64 dst;"));
    assert_eq!(with_columns(&three, "src,dst").unwrap(), pairs);
    for (names, part) in [
        ("src,to", "no column 'to'; expected one of the columns 'w' DOUBLE, 'src' INT64, 'dst' INT64"),
        ("w,dst", "the column 'w' is of type DOUBLE"),
    ] {
        refused(with_columns(&three, names), &[part]);
    }
    let twice = folder.write("twice.parquet", good("required int64 a; required int64 a; required int64 b;"));
    refused(with_columns(&twice, "a,b"), &["several columns 'a'"]);
    let text = folder.write("plain.txt", "0 1\n1 2\n");
    failed(with_columns(&text, "a,b"), Kind::Usage, &["--columns for a file of format text"]);
}

#[test]
fn values_that_are_no_ids_are_refused() {
    let folder = Folder::new();
    let required = "required int64 a; required int64 b;";
    let negative = table(required, &[&wide(&[0, 1]), &wide(&[2, -3])]);
    folder.refuses("bad.parquet", negative, &["the column 'a' in row group 1: the negative id -3"]);
    let narrow = table("required int32 a; required int32 b;", &[&wide(&[-1])]);
    folder.refuses("bad.parquet", narrow, &["the negative id -1"]);
    let mark = table("required int64 a (INTEGER(64,false)); required int64 b;", &[&wide(&[-1])]);
    folder.refuses("bad.parquet", mark, &["the id 18446744073709551615"]);
    let null = table(
        "required int64 a; optional int64 b;",
        &[&wide(&[1, 2]), &|number, column| match number {
            0 => put(&[1, 2, 3], Some(&[1, 1, 1]), column),
            _ => put(&[1, 3], Some(&[1, 0, 1]), column),
        }],
    );
    folder.refuses("bad.parquet", null, &["the column 'b' in row group 1: a null in row 3 (the first is 0)"]);
}

#[test]
fn joined_tables_and_tables_of_other_columns_are_refused() {
    let folder = Folder::new();
    let [one, other] = [table_of(&[(0, 1), (1, 2), (2, 3)]), table_of(&[(3, 0), (0, 2), (1, 3)])];
    for joined in [[&one[..], &other].concat(), [&other[..], &one, &other].concat()] {
        folder.refuses("joined.parquet", &joined, &["several files in one", "name the files that were joined"]);
    }
    folder.write("parts/1.parquet", &one);
    folder.write("parts/2.parquet", table("required int64 p; required int64 q;", &[&wide(&[4, 5])]));
    let told = "2.parquet: the ends of edges in the columns 'p' and 'q'; expected them in 'src' and 'dst', as in";
    refused(read(&folder.path("parts")), &[told]);
    folder.write("parts/2.parquet", table("required int64 source; required int64 target;", &[&wide(&[4, 5])]));
    assert_eq!(read(&folder.path("parts")).unwrap().len(), 5);
}

#[test]
fn a_page_must_have_the_values_that_its_header_counts() {
    let folder = Folder::new();
    let properties =
        WriterProperties::builder().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BINARY_PACKED);
    let columns = "required int64 a; required int64 b;";
    let whole = parquet(columns, properties.build(), [[3, 1, 4, 1, 5]], |values, _, column| put(values, None, column));
    let expected = [(1, 1), (1, 1), (3, 3), (4, 4), (5, 5)];
    assert_eq!(read(&folder.write("delta.parquet", &whole)).unwrap(), expected);
    // A page of values begins with the size of blocks, the number of their parts, the number of values and the first one.
    let parts =
        (0..whole.len() - 5).find(|&at| whole[at..].starts_with(&[0x80, 2]) && whole[at + 3..].starts_with(&[5, 6]));
    let at = parts.unwrap() + 3;
    for count in [0, 6] {
        let mut other = whole.clone();
        other[at] = count;
        folder.refuses("delta.parquet", other, &["the column 'a' in row group 0", "another number of values"]);
    }
}

#[test]
fn checksums_of_pages_are_compared() {
    let (folder, whole) = (Folder::new(), std::fs::read(fixture("checksums.parquet")).unwrap());
    let expected = read(&folder.write("whole.parquet", &whole)).unwrap();
    let metadata = u32::from_le_bytes(*whole[..whole.len() - 4].last_chunk().unwrap()) as usize;
    let (pages, mut differ) = (4..whole.len() - 8 - metadata, 0);
    for at in pages.clone().step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        // Some bits are of headers, which have no checksum.
        match read(&folder.write("flipped.parquet", bytes)) {
            Ok(arcs) => assert_eq!(arcs, expected, "byte {at}"),
            Err(error) => differ += usize::from(error.to_string().contains("a page whose checksum differs")),
        }
    }
    assert!(6 * differ > pages.len(), "{differ}");
}

#[test]
fn tables_that_are_whole_and_not_read_are_told_from_damaged_ones() {
    let (folder, mut table) = (Folder::new(), std::fs::read(fixture("checksums.parquet")).unwrap());
    // The codec comes after the column's name.
    let name = b"\x19\x18\x03src\x15";
    let codec = table.windows(name.len()).position(|part| part == name).unwrap() + name.len();
    for (number, name) in [(8, "brotli"), (6, "LZO")] {
        table[codec] = number;
        let said = format!("pages compressed by {name}; expected pages that are whole, plain or compressed by snappy");
        folder.refuses("other.parquet", &table, &[&said, "write it again, compressed by zstd"]);
    }
}

#[test]
fn damaged_tables_are_refused() {
    let folder = Folder::new();
    let whole = std::fs::read(fixture("arrow.parquet")).unwrap();
    folder.refuses("cut.parquet", &whole[..whole.len() - 1], &["no mark PAR1 at its end"]);
    folder.refuses("short.parquet", b"PAR1PAR1", &["metadata of 827474256 bytes in a file of 8"]);
    folder.refuses("tiny.parquet", b"PAR1", &["a size of 4 bytes"]);
    folder.refuses("empty.parquet", b"PAR1\0\0\0\0PAR1", &["damaged metadata"]);
    folder.refuses("sealed.parquet", [&whole[..whole.len() - 4], b"PARE"].concat(), &["encrypted metadata"]);
}
