//! Every form and every error of assignment files.

use super::*;
use trimill_system::Kind;

const MOST_PARTS: u32 = 1 << 20;

/// Six declared vertices 1..=6, of which 3 has no edges: compact ids 0..5.
fn dense() -> Declared<'static> {
    Declared {
        lines: Some(6),
        first_id: 1,
        vertices: 5,
        compact: &|id| [None, Some(0), Some(1), None, Some(2), Some(3), Some(4)].get(id as usize).copied().flatten(),
        original: &|compact| [1, 2, 4, 5, 6][compact as usize],
    }
}

fn sparse() -> Declared<'static> {
    const IDS: [u64; 3] = [7, 1 << 40, u64::MAX];
    Declared {
        lines: None,
        first_id: 0,
        vertices: 3,
        compact: &|id| IDS.iter().position(|&known| known == id).map(|at| at as u32),
        original: &|compact| IDS[compact as usize],
    }
}

fn parse(text: impl AsRef<[u8]>, declared: Declared<'_>) -> Result<FileAssignment> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph.part.4");
    std::fs::write(&path, text).unwrap();
    read(&path, declared, MOST_PARTS, dir.path(), &Control::silent())
}

#[track_caller]
fn assert_refused(text: impl AsRef<[u8]>, declared: Declared<'_>, line: Option<u64>, words: &[&str]) {
    let error = parse(text, declared).unwrap_err();
    let message = error.to_string();
    assert_eq!(error.kind(), Kind::Data, "{message}");
    let place = line.map_or("graph.part.4: ".into(), |line| format!("graph.part.4:{line}: "));
    assert!(message.contains(&place), "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "'{word}' is not in: {message}"));
}

#[test]
fn one_column_or_two() {
    let expected = FileAssignment { assignment: vec![3, 1, 0, 0, 2], parts: 4 };
    assert_eq!(parse("3\n1\n2\n0\n0\n2\n", dense()).unwrap(), expected);
    assert_eq!(parse("\u{feff}3\r\n1\r\n2\r\n0\r\n0\r\n2", dense()).unwrap(), expected);
    let packed = zstd::encode_all(&b"3\n1\n2\n0\n0\n2\n"[..], 1).unwrap();
    assert_eq!(parse(packed, dense()).unwrap(), expected);
    assert_eq!(parse("# by hand\n3\n 1\n% half\n2 \n0\n0\n2\n\n \n# end\n\n", dense()).unwrap(), expected);
    assert_eq!(parse("3\n1\n9\n0\n0\n2\n", dense()).unwrap().parts, 10, "the line of a vertex without edges counts");
    assert_eq!(parse(format!("0\n0\n0\n{}\n0\n0\n", MOST_PARTS - 1), dense()).unwrap().parts, MOST_PARTS);
    let text = format!("{} 2\n7\t0\n99 1\n{},1\n", u64::MAX, 1_u64 << 40);
    assert_eq!(parse(text, sparse()).unwrap(), FileAssignment { assignment: vec![0, 1, 2], parts: 3 });
    let text = "6 1\n5 1\n4 0\n2, 0\n1 0\n";
    assert_eq!(parse(text, dense()).unwrap(), FileAssignment { assignment: vec![0, 0, 0, 1, 1], parts: 2 });
}

#[test]
fn wrong_lines_are_refused() {
    assert_refused("", dense(), None, &["is empty", "a file that assigns the vertices"]);
    assert_refused("# nothing\n\n", dense(), None, &["no line with numbers"]);
    assert_refused("0\n1\n", dense(), Some(2), &["too few lines: 2", "each of the 6 ids from 1 to 6, also"]);
    assert_refused("0\n0\n0\n0\n0\n0\n0\n", dense(), Some(7), &["too many lines", "the 6 ids from 1 to 6"]);
    assert_refused("0\n0\n\n0\n", dense(), Some(4), &["after the blank line 3"]);
    assert_refused("0\nzero\n", dense(), Some(2), &["'zero'", "part numbers in decimal digits"]);
    assert_refused("# c\n-1\n", dense(), Some(2), &["the negative number -1"]);
    assert_refused("1.5\n", dense(), Some(1), &["1.5, which is not an integer"]);
    assert_refused("+1\n", dense(), Some(1), &["'+1'"]);
    assert_refused("1048576\n", dense(), Some(1), &["1048576", "below 1048576"]);
    assert_refused("99999999999999999999\n", dense(), Some(1), &["which is too large"]);
    assert_refused("7 -2\n", sparse(), Some(1), &["number -2"]);
    assert_refused("-7 2\n", sparse(), Some(1), &["number -7"]);
    assert_refused(b"\x1f\x8b\x08\x00\n", dense(), None, &["the gzip stream"]);
    assert_refused("3\r1\r2\r", dense(), Some(1), &["a carriage return"]);
    assert_refused(vec![b'7'; 1 << 20], dense(), Some(1), &["a line is longer than 1048576 bytes"]);
    assert_refused("0\n1 1\n", dense(), Some(2), &["2 column(s) after lines with 1"]);
    assert_refused("1 1\n0\n", dense(), Some(2), &["1 column(s) after lines with 2"]);
    assert_refused("1 1 1\n", dense(), Some(1), &["'1 1 1'"]);
    assert_refused(",\n", dense(), Some(1), &["','"]);
    assert_refused("0\n", sparse(), Some(1), &["sparse", "an original id and its part"]);
    assert_refused("7 0\n7 0\n", sparse(), Some(2), &["a second line for the vertex 7"]);
    assert_refused("7 0\n", sparse(), Some(1), &["2 vertices with edges have no line", "the vertex 1099511627776"]);
    assert_refused("1 0\n7 0\n", dense(), Some(2), &["the id 7", "from 1 and below 7"]);
    assert_refused("0 0\n", dense(), Some(1), &["the id 0"]);
}

#[test]
fn missing_files() {
    let dir = tempfile::tempdir().unwrap();
    let read = |path: &Path| read(path, dense(), MOST_PARTS, dir.path(), &Control::silent());
    let error = read(&dir.path().join("none.part.2")).unwrap_err();
    assert_eq!(error.kind(), Kind::Data);
    assert!(error.to_string().contains("none.part.2: does not exist"), "{error}");
    assert_eq!(read(dir.path()).unwrap_err().kind(), Kind::Data);
}

#[test]
fn a_graph_without_edges() {
    let nothing = Declared { vertices: 0, compact: &|_| None, ..dense() };
    assert_eq!(parse("0\n1\n0\n0\n0\n1\n", nothing).unwrap(), FileAssignment { assignment: vec![], parts: 2 });
    assert_eq!(parse("# none\n", Declared { lines: Some(0), ..nothing }).unwrap().parts, 1);
}
