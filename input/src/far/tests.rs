//! Readers of more than 2^32 arcs and bytes: sparse files, of which only the end is read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use super::batch::ArcBatch;
use super::binary::Binary;
use super::file::InputFile;
use super::format::Format;
use super::gapbs::GapbsSg;
use super::lines;
use super::parallel::chunks;
use trimill_system::{Control, Result};

fn sparse(path: &Path, chunks: &[(u64, &[u8])]) -> InputFile {
    let file = File::create(path).unwrap();
    chunks.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
    InputFile::open(path).unwrap().ok().unwrap()
}

fn delivered(scan: impl FnOnce(ArcBatch<'_>) -> Result<u64>) -> Result<Vec<(u64, u64)>> {
    let (keep, control) = (Mutex::<Vec<(u64, u64)>>::default(), Control::silent());
    let found = scan(ArcBatch::new(&keep, &control))?;
    let arcs = keep.into_inner().unwrap();
    assert_eq!(found, arcs.len() as u64);
    Ok(arcs)
}

#[test]
fn pairs_lie_past_2_to_the_35_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let at = 1 << 35;
    let pairs = [1u32, 2, u32::MAX, 3].map(u32::to_le_bytes);
    let file = sparse(&dir.path().join("a"), &[(at, pairs.as_flattened())]);
    let binary = Binary::open(vec![file], Format::BinU32, true, 8 << 20).unwrap();
    let arcs = delivered(|batch| binary.scan_range(&binary.files[0], &(at - 8..at + 16), batch)).unwrap();
    assert_eq!(arcs, [(0, 0), (1, 2), (u64::from(u32::MAX), 3)]);

    let pairs = [1, 2, 3, u64::MAX].map(u64::to_le_bytes);
    let file = sparse(&dir.path().join("b"), &[(2 * at, pairs.as_flattened())]);
    let binary = Binary::open(vec![file], Format::BinU64, true, 8 << 20).unwrap();
    let error = delivered(|batch| binary.scan_range(&binary.files[0], &(2 * at..2 * at + 32), batch)).unwrap_err();
    assert!(error.to_string().contains("18446744073709551615 in arc 4294967297"), "{error}");
}

#[test]
fn rows_of_a_gapbs_graph_lie_past_2_to_the_32_arcs() {
    let dir = tempfile::tempdir().unwrap();
    let (n, far) = (3u64, 1u64 << 32);
    let offsets = [0, far, far + 2, far + 4].map(u64::to_le_bytes);
    let header = [&[0][..], &(far + 4).to_le_bytes(), &n.to_le_bytes(), offsets.as_flattened()].concat();
    let neighbours = [0u32, 2, 0, 1].map(u32::to_le_bytes);
    let at = header.len() as u64 + 4 * far;
    let file = sparse(&dir.path().join("a.sg"), &[(0, &header), (at, neighbours.as_flattened())]);
    let graph = GapbsSg::open(file, 8 << 20).unwrap();
    let arcs = delivered(|batch| graph.rows.scan_range(&(far - 1..far + 4), batch)).unwrap();
    assert_eq!(arcs, [(0, 0), (1, 0), (1, 2), (2, 0), (2, 1)]);
}

#[test]
fn lines_begin_past_2_to_the_33_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let at = 1 << 33;
    let file = sparse(&dir.path().join("a.txt"), &[(at, b"9\n1 2\n3 4\n5 6\n")]);
    let read = |range| lines::read(&file, 0, &range).unwrap();
    let lines = read(at + 1..at + 7);
    assert_eq!((&*lines, lines.at), (&b"1 2\n3 4\n"[..], at + 2));
    assert_eq!(&*read(at + 7..at + 14), b"5 6\n");
    assert_eq!(chunks(0..file.bytes, 8 << 20).last(), Some(at..at + 14));
}
