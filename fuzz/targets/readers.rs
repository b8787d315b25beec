//! The readers whose input is a single file: the bytes are the file.

use trimill::testing::input::files_of;
use trimill::testing::input::format::Format;

use super::{Place, edges, first, is_told};

/// A window between 1 and 61 bytes that depends on the bytes only, so that failures are reproducible.
fn window(bytes: &[u8]) -> u64 {
    1 + bytes.iter().fold(bytes.len() as u64, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 61
}

/// The bytes as a file of this name and format, which is detected where it is `None`.
pub(super) fn file(place: &Place, bytes: &[u8], name: &str, format: Option<Format>) {
    let path = place.write(name, bytes);
    edges::check(place, &path, format, window(bytes));
}

/// Pairs of 32 or of 64 bits, as the first byte says.
pub(super) fn pairs(place: &Place, bytes: &[u8]) {
    let ([wide], bytes) = first(bytes);
    let (name, format) = if wide % 2 == 1 { ("g.u64", Format::BinU64) } else { ("g.u32", Format::BinU32) };
    file(place, bytes, name, Some(format));
}

/// Any text format behind gzip, zstd or bzip2; the first byte says which one.
pub(super) fn compressed(place: &Place, bytes: &[u8]) {
    let ([which], bytes) = first(bytes);
    let format = [Format::Text, Format::MatrixMarket, Format::Metis][usize::from(which) % 3];
    file(place, bytes, "g.packed", Some(format));
}

/// A GraphAr description of edges; only one of its chunks exists.
pub(super) fn graphar(place: &Place, bytes: &[u8]) {
    let chunk = place.dir().join("edge/ordered_by_source/adj_list/part0");
    std::fs::create_dir_all(&chunk).expect("a directory");
    place.write("edge/ordered_by_source/adj_list/part0/chunk0", "0,1\n");
    let path = place.write("g.edge.yml", bytes);
    match files_of(&[path]) {
        Ok(files) => assert!(files == [chunk.join("chunk0")], "{files:?}"),
        Err(error) => is_told(&error, place.dir()),
    }
}

/// An archive of any kind, whose name says which; the program detects the format of the graph.
pub(super) fn archive(place: &Place, bytes: &[u8]) {
    const NAMES: [&str; 4] = ["g.tar", "g.zip", "g.tar.packed", "g"];
    let ([name], bytes) = first(bytes);
    file(place, bytes, NAMES[usize::from(name) % NAMES.len()], None);
}

/// The first byte chooses the suffix, and the program detects the format.
pub(super) fn detect(place: &Place, bytes: &[u8]) {
    const NAMES: [&str; 13] = [
        "plain", "g.txt", "g.csv.gz", "out.g", "g.mtx", "g.metis", "g.graph", "g.sg", "g.g500", "g.bin", "g.u64",
        "g.el.zst", "g.dat",
    ];
    let ([name], bytes) = first(bytes);
    file(place, bytes, NAMES[usize::from(name) % NAMES.len()], None);
}
