//! The file of an oriented graph.

use std::ops::Range;
use std::path::{Path, PathBuf};

use trimill::testing::graph::Direction;
use trimill::testing::graph::file::{open, read_layout};
use trimill::{Bytes, Control, Error, Kind, Result};
use trimill_system::hash::mix;

use super::spread;
use crate::common::{degrees_by_rank, flip, graph_file};
use crate::spill_support::failure;

/// The end of the header, whose last field has no checksum: it only saves hashing the input again.
const HEADER: u64 = 56;
const FIXED: u64 = 40;
/// Bytes of the header and of the page that it fills with zeros.
const PAGE: u64 = 4096;
/// Bytes that a thread reads of a section at a time.
const PIECE: u64 = 4 << 20;

/// An error about a damaged file must name it and advise to rebuild it.
fn is_told(error: &Error, path: &Path, what: &str) {
    assert_eq!(error.kind(), Kind::Data, "{what}: {error}");
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()) && text.contains("made again"), "{what}: {text}");
}

fn is_refused(path: &Path, what: &str) {
    is_told(&failure(open(path)), path, what);
}

/// Reads all of a graph file, each section as the program does: the order; the ids; the length and the successors of each
/// row, and after all rows the degrees.
fn read(path: &Path) -> Result<[Result<Vec<u64>>; 3]> {
    let graph = open(path)?;
    let mut rows = Vec::new();
    let passed = graph.pass(Bytes(1), Direction::Rising, &Control::silent(), |block| {
        for row in block.ranks().map(|rank| block.row(rank)) {
            rows.extend([row.len() as u32].iter().chain(row).copied().map(u64::from));
        }
        Ok(())
    });
    if let (Ok(()), Err(error)) = (&passed, graph.out_degrees()) {
        panic!("rows that can be read have no lengths: {error}");
    }
    rows.extend(degrees_by_rank(&graph).into_iter().map(u64::from));
    let order = graph.order().map(|order| order.into_iter().map(u64::from).collect());
    let ids = graph.ids().map(|ids| (0..graph.vertices()).map(|vertex| ids.original(vertex)).collect());
    Ok([order, ids, passed.map(|()| rows)])
}

/// A small graph with ids that have gaps: three triangles and a tail.
fn small(dir: &Path) -> PathBuf {
    let far = |v: u64| v * 0x1_0000_0001 + 3;
    let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 0), (4, 5), (5, 6)];
    graph_file(edges.map(|(u, v)| (far(u), far(v))).to_vec(), dir)
}

struct Regions {
    /// Header and the zeros after it, index, degrees, footer: checked when the file is opened.
    opened: Vec<Range<u64>>,
    /// Order, ids, rows: checked when they are read.
    read: [Range<u64>; 3],
    /// Between sections: never read.
    gaps: Vec<Range<u64>>,
}

fn regions(path: &Path) -> Regions {
    let layout = read_layout(path).unwrap();
    let end = std::fs::metadata(path).unwrap().len();
    let sections = ["ids", "order", "rows", "index", "degrees"].map(|name| layout.range(name));
    let [ids, order, rows, index, degrees] = sections.clone();
    let gap = |pair: &[Range<u64>]| pair[0].end..pair[1].start;
    Regions {
        opened: vec![0..FIXED, HEADER..PAGE, index, degrees.clone(), degrees.end..end],
        gaps: sections.windows(2).map(gap).filter(|gap| !gap.is_empty()).collect(),
        read: [order, ids, rows],
    }
}

/// Flips bits of a file, one at a time. Opening the file must find damage in what is checked then, reading a section damage in that
/// section only; flips in gaps must change nothing. `bits` chooses the bits of a region.
fn all_flips_are_found(path: &Path, bits: impl Fn(Range<u64>) -> Vec<u64>) {
    let whole = read(path).unwrap().map(Result::unwrap);
    let Regions { opened, read: sections, gaps } = regions(path);
    for bit in opened.into_iter().flat_map(&bits) {
        flip(path, bit);
        is_refused(path, &format!("bit {bit}"));
        flip(path, bit);
    }
    for (section, range) in sections.into_iter().enumerate().filter(|(_, range)| !range.is_empty()) {
        for bit in bits(range) {
            flip(path, bit);
            for (i, found) in read(path).unwrap().into_iter().enumerate() {
                let what = format!("bit {bit} of section {section}, section {i}");
                match found {
                    Ok(found) => assert!(i != section && found == whole[i], "{what}"),
                    Err(error) => {
                        assert_eq!(i, section, "{what}: {error}");
                        is_told(&error, path, &what);
                    }
                }
            }
            flip(path, bit);
        }
    }
    // Bits of all gaps at once: none of them is read.
    let flip_gaps = || {
        let bits = gaps.iter().flat_map(|gap| spread(8 * gap.start..8 * gap.end, 5));
        bits.for_each(|bit| flip(path, bit));
    };
    flip_gaps();
    assert!(read(path).unwrap().map(Result::unwrap) == whole, "gaps");
    flip_gaps();
    assert!(read(path).unwrap().map(Result::unwrap) == whole);
}

#[test]
fn every_flipped_bit_of_every_region_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = small(dir.path());
    let graph = open(&path).unwrap();
    assert_eq!((graph.edges(), graph.vertices()), (9, 7));
    let Regions { opened, read, gaps } = regions(&path);
    assert!(read.iter().chain(&opened).all(|range| !range.is_empty()) && gaps.len() == 4);
    let zeros = HEADER..PAGE;
    all_flips_are_found(&path, |range| match range == zeros {
        true => spread(8 * range.start..8 * range.end, 40).collect(),
        false => (8 * range.start..8 * range.end).collect(),
    });
}

#[test]
fn bits_of_later_blocks_are_under_checksums_too() {
    // The order is read in several pieces, one after another, rows in many file blocks.
    let n = 1_200_000;
    let dir = tempfile::tempdir().unwrap();
    let arcs = (0..n).flat_map(|v| [(v, (v + 1) % n), (v, (v + 2) % n)]);
    // Ids far from each other: each takes five bytes or more.
    let far = |v: u64| v * 0xff_ffff_ffff + mix(v) % 0xff_ffff_ffff;
    let path = graph_file(arcs.map(|(u, v)| (far(u), far(v))).collect(), dir.path());
    let layout = read_layout(&path).unwrap();
    let ids = layout.range("ids");
    assert!(layout.has_ids && ids.end - ids.start > PIECE && layout.blocks > 40);
    let border = 8 * (ids.start + PIECE);
    all_flips_are_found(&path, |range| {
        let bits = 8 * range.start..8 * range.end;
        let borders = [border - 1, border].into_iter().filter(|bit| bits.contains(bit));
        spread(bits.clone(), 4).chain(borders).collect()
    });
}

#[test]
fn cuts_and_additions_at_every_border_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = small(dir.path());
    let whole = std::fs::read(&path).unwrap();
    let Regions { opened, read, .. } = regions(&path);
    let borders: Vec<usize> =
        opened.into_iter().chain(read).flat_map(|region| [region.start, region.end]).map(|at| at as usize).collect();
    for at in borders.into_iter().flat_map(|at| [at.saturating_sub(1), at, at + 1]) {
        if at < whole.len() {
            std::fs::write(&path, &whole[..at]).unwrap();
            is_refused(&path, &format!("cut at {at}"));
            std::fs::write(&path, [&whole[..at], &[0], &whole[at..]].concat()).unwrap();
            is_refused(&path, &format!("a byte more at {at}"));
            std::fs::write(&path, [&whole[..at], &vec![0; 4096], &whole[at..]].concat()).unwrap();
            is_refused(&path, &format!("a page more at {at}"));
        }
    }
    for more in [&[0][..], &[0; 4096], &whole] {
        std::fs::write(&path, [&whole, more].concat()).unwrap();
        is_refused(&path, "more at the end");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(failure(open(&path)).kind(), Kind::Data);
}
