//! Names in columns of Arrow: by dictionaries, and by views.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int16Type};
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, StringViewArray};
use trimill::Kind;

use super::{Edge, assert_counted, known};
use crate::common::arrow::arrow;
use crate::common::job::count;

/// Makes an Arrow column of some names; the second argument has all names of the file so far, in the order of their first use.
type ArrowNames = fn(&[&str], &[&str]) -> ArrayRef;

/// Names by a dictionary, which numbers them in the order of their first use in the column.
fn dictionary(names: &[&str], _: &[&str]) -> ArrayRef {
    Arc::new(names.iter().copied().collect::<DictionaryArray<Int16Type>>())
}

/// Names by a dictionary that goes on behind that of the record batch before.
fn grown(names: &[&str], all: &[&str]) -> ArrayRef {
    let keys = names.iter().map(|name| all.iter().position(|other| other == name).unwrap() as i16);
    Arc::new(DictionaryArray::<Int16Type>::new(keys.collect(), Arc::new(StringArray::from(all.to_vec()))))
}

fn views(names: &[&str], _: &[&str]) -> ArrayRef {
    Arc::new(StringViewArray::from(names.to_vec()))
}

/// Views in the order of the rows, of texts in descending order.
fn views_of_sorted(names: &[&str], _: &[&str]) -> ArrayRef {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|&a, &b| names[b].cmp(names[a]));
    let texts = StringViewArray::from(order.iter().map(|&at| names[at]).collect::<Vec<_>>());
    let mut views = vec![0u128; names.len()];
    order.iter().zip(texts.views().iter()).for_each(|(&at, &view)| views[at] = view);
    Arc::new(StringViewArray::new(views.into(), texts.data_buffers().to_vec(), None))
}

/// Batches of arcs: a few in the first one, a hundred in each other.
fn batches(arcs: &[Edge], column: ArrowNames) -> Vec<RecordBatch> {
    let (few, more) = arcs.split_at(10);
    let (mut batches, mut all) = (Vec::new(), Vec::new());
    for arcs in [few].into_iter().chain(more.chunks(100)) {
        let tails: Vec<&str> = arcs.iter().map(|arc| &*arc.0).collect();
        let heads: Vec<&str> = arcs.iter().map(|arc| &*arc.1).collect();
        for &name in tails.iter().chain(&heads) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        let other: ArrayRef = Arc::new(StringViewArray::from(tails.clone()));
        let columns = [("other", other), ("a", column(&tails, &all)), ("b", column(&heads, &all))];
        batches.push(RecordBatch::try_from_iter(columns).unwrap());
    }
    batches
}

#[test]
fn they_are_read_from_arrow_by_dictionaries_and_views() {
    let (dir, arcs, expected) = known();
    // Two files of one graph: their dictionaries differ, and in a stream also those of its record batches.
    let (first, second) = arcs.split_at(250);
    let write = |name: &str, arcs: &[Edge], column, is_file| {
        std::fs::write(dir.path().join(name), arrow(&batches(arcs, column), is_file)).unwrap();
    };
    let forms: [(ArrowNames, ArrowNames, [bool; 2]); 4] = [
        (dictionary, dictionary, [false, false]),
        (grown, dictionary, [true, false]),
        (views, grown, [true, true]),
        (views_of_sorted, views, [false, true]),
    ];
    for (one, other, [first_is_file, second_is_file]) in forms {
        write("0.arrow", first, one, first_is_file);
        write("1.arrow", second, other, second_is_file);
        for threads in [1, 4] {
            let input = "input = { paths = ['0.arrow', '1.arrow'], names = true, columns = ['a', 'b'] }";
            assert_counted(dir.path(), &expected, &format!("{input}\ncount.threads = {threads}"));
        }
    }
}

#[test]
fn a_dictionary_without_texts_may_lack_its_only_offset() {
    let dir = tempfile::tempdir().unwrap();
    let batch = |arcs: &[(&str, &str)]| {
        let (tails, heads): (Vec<&str>, Vec<&str>) = arcs.iter().copied().unzip();
        RecordBatch::try_from_iter([("a", dictionary(&tails, &[])), ("b", dictionary(&heads, &[]))]).unwrap()
    };
    // Place and length of the buffers of an empty dictionary: validity, offsets, texts.
    let buffers = [0u64, 0, 0, 4, 64, 0].map(u64::to_le_bytes).concat();
    for is_file in [true, false] {
        let mut bytes = arrow(&[batch(&[]), batch(&[("x", "y"), ("y", "z"), ("x", "z")])], is_file);
        let found: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&buffers)).collect();
        assert_eq!(found.len(), 2);
        found.iter().for_each(|at| bytes[at + 24] = 0);
        std::fs::write(dir.path().join("n.arrow"), bytes).unwrap();
        assert_eq!(count("input = { path = 'n.arrow', names = true }", dir.path()).unwrap().triangles, 1);
    }
}

#[test]
fn columns_that_hold_no_names_are_refused_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let plain = |names: [Option<&str>; 3]| -> ArrayRef { Arc::new(StringArray::from(names.to_vec())) };
    let of = |keys: [Option<i8>; 3], values: [Option<&str>; 3]| -> ArrayRef {
        let values = Arc::new(StringArray::from(values.to_vec()));
        Arc::new(DictionaryArray::<Int8Type>::new(keys.into_iter().collect(), values))
    };
    let (rows, three) = ([Some(0), Some(1), Some(2)], [Some("x"), Some("y"), Some("z")]);
    let sevens = Arc::new(Int64Array::from(vec![7]));
    let numbers: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new([Some(0); 3].into_iter().collect(), sevens));
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let long = "x".repeat(16_385);
    for (column, words) in [
        (plain([Some("x"), None, Some("y")]), "the column 'b' in record batch 0: a null in row 1"),
        (plain([Some("x"), Some("y"), Some("")]), "'b' in record batch 0: an empty name in row 2; expected two names"),
        (plain([Some(&long), Some("y"), Some("z")]), "a name of 16385 bytes in row 0"),
        (integers, "the column 'b' is of type int64; expected a column of text, as --names says"),
        (of([Some(0), None, Some(1)], three), "the column 'b' in record batch 0: a null in row 1"),
        (of(rows, [Some("x"), Some("y"), None]), "a null, by number 2 of its dictionary, in row 2"),
        (of(rows, [Some("x"), Some(""), None]), "an empty name in row 1"),
        (numbers, "the column 'b' is of type dictionary of int64; expected a column of text, as --names says"),
    ] {
        for is_file in [true, false] {
            let batch =
                RecordBatch::try_from_iter_with_nullable([("a", plain(three), false), ("b", column.clone(), true)]);
            std::fs::write(dir.path().join("n.arrow"), arrow(&[batch.unwrap()], is_file)).unwrap();
            let error = count("input = { path = 'n.arrow', names = true }", dir.path()).unwrap_err();
            let said = error.to_string();
            assert!(error.kind() == Kind::Data && said.contains("n.arrow: ") && said.contains(words), "{said}");
        }
    }
}

#[test]
fn dictionaries_that_do_not_fit_the_memory_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..200).map(|i| format!("{i:0>16000}")).collect();
    let arcs: Vec<Edge> = names.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    std::fs::write(dir.path().join("n.arrow"), arrow(&batches(&arcs, dictionary), false)).unwrap();
    let with = |memory: &str| {
        let input = "input = { path = 'n.arrow', names = true, columns = ['a', 'b'] }";
        count(&format!("{input}\nmemory.host = '{memory}'\ncount.threads = 1"), dir.path())
    };
    assert_eq!(with("256MiB").unwrap().edges, 199);
    let error = with("24MiB").unwrap_err();
    let said = error.to_string();
    assert!(error.kind() == Kind::Resource && said.contains("n.arrow: dictionaries of more than"), "{said}");
}
