//! The file of an oriented graph.

use std::ops::Range;
use std::path::{Path, PathBuf};

use trimill::bytes::Bytes;
use trimill::clean::Workspace;
use trimill::clean::cache::{Cache, Origin};
use trimill::control::Control;
use trimill::error::Kind;
use trimill::graph::file::{Place, open, read_layout};
use trimill::input::arcs::ArcList;
use trimill::input::{Format, Identity};
use trimill::prepare::prepare;

use crate::spill_support::failure;
use crate::{flip, spread};

/// Where the header ends, whose last bytes are under no checksum: they only spare a hash.
const HEADER: u64 = 56;
const FIXED: u64 = 40;
/// Bytes of the header and of the page that it fills with zeros.
const PAGE: u64 = 4096;

/// Writes the graph file of some arcs into `dir`.
fn graph(arcs: Vec<(u64, u64)>, dir: &Path) -> PathBuf {
    let source = ArcList { arcs, declared: None };
    let space = Workspace { memory: Bytes::mib(64), dir, graph: Bytes::ZERO };
    let cache = Cache::open(dir, Some(Bytes(u64::MAX))).unwrap();
    let control = Control::silent();
    let mut origin = Origin { format: Format::Text, header: None, identity: Identity::default() };
    let graph =
        prepare(&source, Some(&mut origin), Bytes::ZERO, space, Some(&cache), &control, &mut Vec::new()).unwrap();
    graph.path().unwrap().to_path_buf()
}

/// Opening must fail and say which file to make again.
fn is_refused(path: &Path, what: &str) {
    let error = failure(open(Place::Cached(path.to_path_buf())));
    assert_eq!(error.kind(), Kind::Data, "{what}: {error}");
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()) && text.contains("made again"), "{what}: {text}");
}

/// A small graph with ids of its own: three triangles and a tail.
fn small(dir: &Path) -> PathBuf {
    let far = |v: u64| v * 0x1_0000_0001 + 3;
    let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 0), (4, 5), (5, 6)];
    graph(edges.map(|(u, v)| (far(u), far(v))).to_vec(), dir)
}

/// The header with its page, all sections, and the footer.
fn regions(path: &Path) -> Vec<Range<u64>> {
    let layout = read_layout(path).unwrap();
    let sections = [Some(layout.offsets()), Some(layout.heads()), Some(layout.degrees()), layout.ids()];
    let mut regions = vec![0..FIXED, HEADER..PAGE];
    regions.extend(sections.into_iter().flatten().map(|range| range.start as u64..range.end as u64));
    let end = regions.last().unwrap().end;
    regions.push(end..std::fs::metadata(path).unwrap().len());
    regions
}

#[test]
fn every_flipped_bit_of_every_region_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = small(dir.path());
    assert_eq!(open(Place::Cached(path.clone())).unwrap().edges(), 9);
    let regions = regions(&path);
    assert_eq!(regions.len(), 7);
    let gaps = regions[1..].windows(2).map(|pair| pair[0].end..pair[1].start).filter(|gap| !gap.is_empty());
    let padding = gaps.chain(std::iter::once(HEADER..PAGE)).flat_map(|gap| spread(8 * gap.start..8 * gap.end, 40));
    let used =
        regions.iter().filter(|region| region.start != HEADER).flat_map(|region| 8 * region.start..8 * region.end);
    for bit in used.chain(padding) {
        flip(&path, bit);
        is_refused(&path, &format!("bit {bit}"));
        flip(&path, bit);
    }
    assert!(open(Place::Cached(path)).is_ok());
}

#[test]
fn bits_of_later_blocks_are_under_checksums_too() {
    // Offsets, heads and degrees of 20 bytes a vertex: two blocks of 16 MiB.
    let n = 1_000_000;
    let dir = tempfile::tempdir().unwrap();
    let path = graph((0..n).flat_map(|v| [(v, (v + 1) % n), (v, (v + 2) % n)]).collect(), dir.path());
    let end = std::fs::metadata(&path).unwrap().len();
    assert!(end > PAGE + (16 << 20));
    let border = 8 * (PAGE + (16 << 20));
    for bit in spread(0..8 * end, 12).chain([border - 1, border]) {
        flip(&path, bit);
        is_refused(&path, &format!("bit {bit}"));
        flip(&path, bit);
    }
    assert!(open(Place::Cached(path)).is_ok());
}

#[test]
fn cuts_and_additions_at_every_border_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = small(dir.path());
    let whole = std::fs::read(&path).unwrap();
    let borders: Vec<usize> =
        regions(&path).into_iter().flat_map(|region| [region.start, region.end]).map(|at| at as usize).collect();
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
    assert_eq!(failure(open(Place::Cached(path))).kind(), Kind::Data);
}
