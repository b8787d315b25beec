//! Malformed text: every error names the file and the line. More is in `docs/messages.md`, which `tests/program/messages.rs` compares.

use super::support::{Folder, data, gz, open, read, read_as, read_files, refused, sg};
use trimill::testing::input::format::Format;

#[test]
fn large_ids_pass_and_too_large_ones_do_not() {
    let folder = Folder::new();
    let most = u64::MAX - 1;
    let path = folder.write("large.txt", format!("{most} 0\n00000000000000000000000000012 {most}\n"));
    assert_eq!(read(&path).unwrap(), [(12, most), (most, 0)]);
    folder.refuses("max.txt", format!("1 2\n3 {}\n", u64::MAX), &["max.txt:2:", "too large", "ids up to"]);
    folder.refuses("over.txt", "1 2\n\n3 18446744073709551616\n", &["over.txt:3:", "too large"]);
    let pairs = [1u64, 2, 3, u64::MAX].map(u64::to_le_bytes);
    folder.refuses("max.u64", pairs.as_flattened(), &["arc 1", "ids up to"]);
    let high = [[1u32, 2, 0x0004_0003].map(u32::to_le_bytes)];
    let path = folder.write("high.graph500", high.as_flattened().as_flattened());
    assert_eq!(read(&path).unwrap(), [(3 << 32 | 1, 4 << 32 | 2)]);
}

#[test]
fn a_download_that_has_not_finished_is_refused_by_its_name() {
    let folder = Folder::new();
    for suffix in ["part", "partial", "crdownload", "filepart", "ARIA2"] {
        let name = format!("half.txt.{suffix}");
        folder.refuses(&name, "1 2\n2 3\n", &[&name, "a download that has not finished", "or name its --format"]);
    }
    folder.write("parts/a.txt", "1 2\n");
    let half = folder.write("parts/b.txt.part", "2 3\n");
    refused(read_files(&[folder.path("parts")]), &["parts/b.txt.part: ", "has not finished"]);
    assert_eq!(read_as(&half, Some(Format::Text), None).unwrap(), [(2, 3)]);
}

#[test]
fn a_copy_beside_other_files_is_refused_by_its_name() {
    let folder = Folder::new();
    folder.write("lists/a.txt", "1 2\n");
    for name in ["a.txt~", "a.txt.bak", "a.txt.orig", "b.TMP", "a.txt.swp"] {
        let copy = folder.write(&format!("lists/{name}"), "1 2\n2 3\n");
        refused(read(&folder.path("lists")), &[&format!("lists/{name}: "), "a backup or temporary copy"]);
        assert_eq!(read_as(&folder.path("lists"), Some(Format::Text), None).unwrap().len(), 3, "{name}");
        assert_eq!(read(&copy).unwrap(), [(1, 2), (2, 3)], "{name}");
        std::fs::remove_file(copy).unwrap();
    }
}

#[test]
fn bad_text_is_refused_with_its_line() {
    let folder = Folder::new();
    for (text, line, found) in [
        ("1 2\nhello world\n", 2, "'hello'"),
        ("# c\n1 2\n3 four\n", 3, "'four'"),
        ("-1 2\n", 1, "the negative number -1"),
        ("1 2\n\n3.0 4\n", 3, "the number 3.0, which is not an integer"),
        ("1 2\n3 \r\n", 2, "one column only"),
        ("1 2\n3 4x\n", 2, "'4x'"),
        ("1 2\ninf 4\n", 2, "'inf'"),
        ("10\n20\n1 2\n", 2, "one column only"),
        ("a,b\nc,d\n1 2\n", 2, "'c'"),
        ("a,b\n1 2\nc,d\n3 4\n", 3, "'c'"),
        ("a 5\n1 2\n", 1, "'a'"),
        ("3,a\n1,2\n", 1, "'a'"),
        ("\"\",\"2\"\n1,2\n", 1, "without quotes"),
        ("hello world\n", 1, "no arc after it"),
        (",1 2\n", 1, "two non-negative integers"),
        ("15\t1,003\n", 1, "with commas and blanks"),
        ("u v w\n# c\n1,002 15\n", 3, "with commas and blanks"),
        (",src,dst,w\n0,2\t1\t1\n", 2, "with commas and blanks"),
        ("\"1,002\",\"1,009\"\n", 1, "without quotes and without commas"),
        ("c 9th challenge: roads\nc\np sp 3 2\na 1 2 7\n", 1, "looks like a DIMACS file"),
        ("c graph\np ds 3 2\n1 2\n", 2, "sed -n 's/^[ae] *//; /^[0-9]/p'"),
        ("1 2\n,\n", 2, "without numbers"),
        ("src,dst,label\n1,2,\"a\n1,5,b\n2,5,c\"\n", 2, "a quote that is not closed"),
        ("1,2,NA,\"a \"\"b\n", 1, "a quote that is not closed"),
        ("1,,2,\"a\"\n", 1, "an empty column"),
        ("1,2,0.5\n5,,0.3\n", 2, "an empty column"),
        ("1,2,0.5\n,5,0.3\n", 2, "an empty column"),
        ("5,\n1,2\n", 1, "one column only"),
        (",5\n1,2\n", 1, "one column only"),
        ("5,,\n1,2,3\n", 1, "one column only"),
        ("1 2\n\u{feff}2 3\n", 2, "a byte order mark (U+FEFF) in a line that is not the first"),
        // `1 2` is no METIS header: a graph of one vertex has no two edges.
        ("1 2\n2 3 1 3\n3 4\n", 3, "each line of an edge list holds one arc"),
    ] {
        folder.refuses("bad.txt", text, &[&format!("bad.txt:{line}: "), found]);
        folder.refuses("bad.txt.gz", gz(text.as_bytes()), &[&format!("bad.txt.gz:{line}: "), found]);
    }
    let escaped = folder.write("escaped.csv", "source,target,label\n1,2,\"5\\\"\"\n2,3,\"x\"\n");
    assert_eq!(read(&escaped).unwrap(), [(1, 2), (2, 3)]);
    let long = format!("1 2\n{}3 4\n5 x\n", "# more\n".repeat(500_000));
    folder.refuses("long.txt", &long, &["long.txt:500003: 'x'"]);
    folder.refuses("long.txt.gz", gz(long.as_bytes()), &["long.txt.gz:500003: 'x'"]);
    let endless = format!("1 2\n{}", "1".repeat(10 << 20));
    folder.refuses("endless.txt", &endless, &["endless.txt:2: a line is longer than"]);
    folder.refuses("endless.txt.gz", gz(endless.as_bytes()), &["endless.txt.gz:2: a line is longer than"]);
}

#[test]
fn a_graph_that_declares_no_arcs_is_one_and_a_file_without_arcs_is_none() {
    let folder = Folder::new();
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n3 3 0\n";
    assert_eq!(read(&folder.write("none.mtx", matrix)).unwrap(), []);
    assert_eq!(read(&folder.write("none.metis", "3 0\n\n\n\n")).unwrap(), []);
    assert_eq!(read(&folder.write("none.sg", sg(3, &[], false))).unwrap(), []);
    folder.refuses("empty.txt", "", &["is empty"]);
    folder.refuses("empty.bin", "", &["is empty"]);
    let comments = "# nothing\n\n% here\n";
    folder.refuses("comments.txt.gz", gz(comments.as_bytes()), &["holds no arcs, only comments"]);
    // The same beside a list with arcs.
    let paths = [folder.write("arcs.txt", "0 1\n"), folder.write("blank.txt", "\n\n")];
    refused(read_files(&paths), &["blank.txt: holds no arcs"]);
    refused(open(&folder.path("missing.txt")), &["missing.txt: does not exist"]);
}

#[test]
fn bad_matrices_are_refused() {
    let folder = Folder::new();
    let banner = "%%MatrixMarket matrix coordinate pattern general";
    for (text, parts) in [
        ("%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n".to_owned(), &["bad.mtx:1:", "'hermitian'"][..]),
        ("%%MatrixMarket matrix coordinate\n1 1 0\n".into(), &["bad.mtx:1: an incomplete Matrix Market banner"]),
        (format!("{banner}\n"), &["ends before the size"]),
        (format!("{banner}\n3 3\n1 1\n"), &["bad.mtx:2: '3 3'", "rows, columns, entries"]),
        (format!("{banner}\n3 3 2\n1 1\n1 4\n"), &["bad.mtx:4:", "outside of the matrix", "1 to 3"]),
        (format!("{banner}\n3 3 1\n1 1\n% c\n2 2\n3 3\n"), &["bad.mtx:5: 3 entries", "expected 1 entry,"]),
        (format!("{banner}\n3 3 1\n1 x\n"), &["bad.mtx:3: 'x'"]),
        (format!("{banner}\n4294967295 4294967295 0\n"), &["bad.mtx:2: 4294967295 vertices", "at most 4294967294"]),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1\n".into(), &["bad.mtx:3:", "without a value"]),
    ] {
        folder.refuses("bad.mtx", text, parts);
    }
    let of_names = read(&folder.write("bad.mtx", format!("{banner}\n3 3 1\nann bob\n"))).unwrap_err().to_string();
    assert!(of_names.contains("bad.mtx:3: 'ann'") && !of_names.contains("--names"), "{of_names}");
    let whole = std::fs::read_to_string(data("karate.mtx")).unwrap();
    let cut = whole.lines().take(60).map(|line| format!("{line}\n")).collect::<String>();
    folder.refuses("karate.mtx", cut, &["entries; expected 78 entries, as the header says"]);
}

#[test]
fn bad_metis_files_are_refused() {
    let folder = Folder::new();
    for (text, parts) in [
        ("3 2\n2\n1 3\n2\n1\n", &["bad.metis:5:", "a line for vertex 4"][..]),
        ("3 1\n2\n1 3\n2\n", &["4 neighbours in all lines", "expected 2"]),
        ("3 2\n2\n1 0\n2\n", &["bad.metis:3: neighbour 0"]),
        ("3 2\n2\n1 -3\n2\n", &["bad.metis:3: '-'"]),
        ("3 2\n2\n1 x\n2\n", &["bad.metis:3: 'x'"]),
        ("3 2 1\n2 5\n1 5 3\n2 5\n", &["bad.metis:3: 3 numbers in the line of vertex 2"]),
        ("3 2 10\n1 2\n\n1 2\n", &["bad.metis:3: 0 numbers in the line of vertex 2"]),
        ("3 2 7\n2\n1 3\n2\n", &["bad.metis:1: the header '3 2 7'"]),
        ("% c\nthree two\n", &["bad.metis:2: the header 'three two'"]),
        ("% c\n", &["ends before the header"]),
        ("4294967295 0\n", &["4294967295 vertices", "at most 4294967294"]),
        ("3 99999999999999999999\n", &["the header"]),
        ("3 18446744073709551615\n2\n1\n\n", &["neighbours in all lines"]),
    ] {
        folder.refuses("bad.metis", text, parts);
    }
    let whole = std::fs::read_to_string(data("delaunay_n15.graph")).unwrap();
    folder.refuses("cut.graph", &whole[..whole.len() / 2], &["cut.graph:", "lines of vertices; expected 32768"]);
}
