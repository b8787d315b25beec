//! Matrices without a banner, as Network Repository hands them out; its `.edges` are in `dialects.rs`.

use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;

use super::support::{Folder, arcs, open};

/// Vertices 1 to 5: a triangle with a tail of two.
const EDGES: [(u64, u64); 5] = [(2, 1), (3, 1), (3, 2), (4, 3), (5, 4)];

fn lines(separator: &str, end: &str) -> String {
    EDGES.iter().map(|(u, v)| format!("{u}{separator}{v}{end}\n")).collect()
}

#[test]
fn a_matrix_may_lack_its_banner() {
    let folder = Folder::new();
    for text in [
        format!("5 5 5\n{}", lines(" ", "")),
        format!("% a comment\n5 5 5\n{}", lines(" ", "")),
        format!("%\n\n%MatrixMarket\n5\t5\t5\r\n{}", lines("\t", " 0.5").replace('\n', "\r\n")),
        format!("7 7 5\n% between\n{}\n\n", lines(" ", " 1")),
    ] {
        let source = open(&folder.write("g.mtx", &text)).unwrap();
        assert_eq!(source.format(), Format::MatrixMarket);
        assert_eq!(source.facts().declared_vertices, Some(if text.starts_with('7') { 7 } else { 5 }));
        // Nothing indicates that entries also stand for their mirror images.
        assert!(!source.facts().symmetric);
        assert_eq!(arcs(&source).unwrap(), EDGES, "{text}");
    }
}

#[test]
fn what_is_not_certainly_a_matrix_is_refused_with_advice() {
    let folder = Folder::new();
    let advice = ["the file lacks the banner '%%MatrixMarket matrix coordinate", "--format text"];
    for (text, parts) in [
        (lines(" ", ""), &["g.mtx:1: '2 1'; expected the size of the matrix"][..]),
        (lines(" ", " 7"), &["g.mtx:1: a matrix of 2 rows and 1 column;"]),
        (format!("5 4 5\n{}", lines(" ", "")), &["5 rows and 4 columns", "a square matrix"]),
        (format!("5 5 6\n{}", lines(" ", "")), &["5 entries; expected 6 entries"]),
        (format!("5 5 4\n{}", lines(" ", "")), &["g.mtx:6: 5 entries; expected 4 entries"]),
        (format!("4 4 5\n{}", lines(" ", "")), &["g.mtx:6: the entry 5 4, which is outside of the matrix"]),
        (format!("5 5 6\n0 1\n{}", lines(" ", "")), &["g.mtx:2: the entry 0 1"]),
    ] {
        folder.refuses("g.mtx", text, &[parts, &advice[..]].concat());
    }
    folder.refuses("g.mtx", "% only\n% comments\n", &["ends before the size"]);
}
