//! Matrices without a banner, as Network Repository hands them out.

use super::*;
use crate::readers::support::arcs;

#[test]
fn a_matrix_may_lack_its_banner() {
    let folder = Folder::new();
    for text in [
        format!("6 6 7\n{}", lines(1, " ", "")),
        format!("% a comment\n6 6 7\n{}", lines(1, " ", "")),
        format!("%\n\n%MatrixMarket\n6\t6\t7\r\n{}", lines(1, "\t", " 0.5").replace('\n', "\r\n")),
        format!("8 8 7\n% between\n{}\n\n", lines(1, " ", " 1")),
    ] {
        let source = open(&folder.write("g.mtx", &text)).unwrap();
        assert_eq!(source.format(), Format::MatrixMarket);
        assert_eq!(source.facts().declared_vertices, Some(if text.starts_with('8') { 8 } else { 6 }));
        // Nothing indicates that entries also stand for their mirror images.
        assert!(!source.facts().symmetric);
        assert_eq!(arcs(&source).unwrap(), KITE.map(|(u, v)| (u + 1, v + 1)), "{text}");
    }
}

#[test]
fn what_is_not_certainly_a_matrix_is_refused_with_advice() {
    let folder = Folder::new();
    let advice = ["the file lacks the banner '%%MatrixMarket matrix coordinate", "--format text"];
    for (text, parts) in [
        (lines(1, " ", ""), &["g.mtx:1: '1 2'; expected the size of the matrix"][..]),
        (lines(1, " ", " 7"), &["g.mtx:1: a matrix of 1 row and 2 columns;"]),
        (format!("6 5 7\n{}", lines(1, " ", "")), &["6 rows and 5 columns", "a square matrix"]),
        (format!("6 6 8\n{}", lines(1, " ", "")), &["7 entries; expected 8 entries"]),
        (format!("6 6 6\n{}", lines(1, " ", "")), &["g.mtx:8: 7 entries; expected 6 entries"]),
        (format!("5 5 7\n{}", lines(1, " ", "")), &["g.mtx:8: the entry 5 6, which is outside of the matrix"]),
        (format!("6 6 8\n0 1\n{}", lines(1, " ", "")), &["g.mtx:2: the entry 0 1"]),
    ] {
        folder.refuses("g.mtx", text, &[parts, &advice[..]].concat());
    }
    folder.refuses("g.mtx", "% only\n% comments\n", &["ends before the size"]);
}
