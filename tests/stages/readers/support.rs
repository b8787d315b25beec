//! Shared by the tests: a folder for files, a tiny graph, BVGraphs.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use dsi_bitstream::codes::{GammaRead, GammaWrite, ZetaWrite};
use dsi_bitstream::impls::{BufBitReader, BufBitWriter, MemWordReader, MemWordWriterVec};
use dsi_bitstream::traits::BE;
use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;
use trimill::testing::input::{Header, InputSettings, Source};
use trimill::{Control, Kind, Result};

pub(crate) use crate::common::job::data;
pub(crate) use crate::common::packed::gz;
use crate::common::simple;
pub(crate) use crate::common::{pairs32, pairs64};
pub(crate) use trimill_system::parallel::on;

pub(crate) fn work_dir() -> PathBuf {
    std::env::temp_dir()
}

pub(crate) fn open(path: &Path) -> Result<Source> {
    Source::open(&[path.to_path_buf()], None, &work_dir())
}

pub(crate) fn arcs(source: &Source) -> Result<Vec<(u64, u64)>> {
    let kept = Mutex::<Vec<(u64, u64)>>::default();
    let found = source.scan(&kept, &Control::silent())?;
    let mut arcs = kept.into_inner().unwrap();
    assert_eq!(found, arcs.len() as u64);
    arcs.sort_unstable();
    Ok(arcs)
}

pub(crate) fn read(path: &Path) -> Result<Vec<(u64, u64)>> {
    arcs(&open(path)?)
}

pub(crate) fn read_files(paths: &[PathBuf]) -> Result<Vec<(u64, u64)>> {
    arcs(&Source::open(paths, None, &work_dir())?)
}

pub(crate) fn read_as(path: &Path, format: Option<Format>, header: Option<Header>) -> Result<Vec<(u64, u64)>> {
    let reading = InputSettings { format, header, ..InputSettings::default() };
    arcs(&Source::open_as(&[path.to_path_buf()], reading, &work_dir(), &Control::silent())?)
}

/// The undirected simple graph: sorted pairs `(min, max)`, each once, without loops.
pub(crate) fn edges(arcs: &[(u64, u64)]) -> Vec<(u64, u64)> {
    simple(arcs).into_iter().collect()
}

pub(crate) struct Folder(pub(crate) tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and makes the folders that it is in.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Checks that a file `name` with these bytes is [`refused`] by an error that names it.
    #[track_caller]
    pub(crate) fn refuses(&self, name: &str, bytes: impl AsRef<[u8]>, parts: &[&str]) {
        refused(read(&self.write(name, bytes)), &[&[name][..], parts].concat());
    }
}

/// Checks that opening or reading failed with an error of kind data whose message has all of `parts`.
#[track_caller]
pub(crate) fn refused<T>(read: Result<T>, parts: &[&str]) {
    failed(read, Kind::Data, parts);
}

/// Checks that something failed with an error of this kind whose message has all of `parts`.
#[track_caller]
pub(crate) fn failed<T>(result: Result<T>, kind: Kind, parts: &[&str]) {
    let Err(error) = result else { panic!("it did not fail with {parts:?}") };
    assert_eq!(error.kind(), kind, "{error}");
    let message = error.to_string();
    parts.iter().for_each(|part| assert!(message.contains(part), "no '{part}' in: {message}"));
}

/// A zstd frame that does not say how long its contents are, like one written from a stream.
pub(crate) fn zst_with(checksum: bool, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut zst = zstd::Encoder::new(Vec::new(), 3).unwrap();
    zst.include_checksum(checksum).unwrap();
    zst.write_all(bytes.as_ref()).unwrap();
    zst.finish().unwrap()
}

/// Vertices 0 to 4; a loop at 2, the arc 0 -> 1 twice, 3 -> 4 and 4 -> 3; vertex 5 is isolated.
pub(crate) const TINY: [(u64, u64); 8] = [(0, 1), (0, 1), (1, 2), (2, 2), (0, 2), (3, 4), (4, 3), (1, 4)];

/// [`TINY`] in the order of its ids.
pub(crate) const SORTED: [(u64, u64); 8] = [(0, 1), (0, 1), (0, 2), (1, 2), (1, 4), (2, 2), (3, 4), (4, 3)];

pub(crate) fn text_of(arcs: &[(u64, u64)], separator: &str, end: &str) -> String {
    arcs.iter().map(|(u, v)| format!("{u}{separator}{v}{end}")).collect()
}

/// A `.sg` file of a graph with `n` vertices, in the layout that the GAP Benchmark Suite writes.
pub(crate) fn sg(n: u64, arcs: &[(u64, u64)], directed: bool) -> Vec<u8> {
    let csr = |arcs: &mut dyn Iterator<Item = (u64, u64)>| {
        let mut rows = vec![Vec::new(); n as usize];
        arcs.for_each(|(u, v)| rows[u as usize].push(v));
        rows.iter_mut().for_each(|row| row.sort_unstable());
        sg_of_rows(&rows)
    };
    let mut bytes = csr(&mut arcs.iter().copied());
    if directed {
        bytes[0] = 1;
        bytes.extend_from_slice(&csr(&mut arcs.iter().map(|&(u, v)| (v, u)))[17..]);
    }
    bytes
}

/// Rows as an undirected `.sg` file, unchanged.
pub(crate) fn sg_of_rows(rows: &[Vec<u64>]) -> Vec<u8> {
    let arcs: usize = rows.iter().map(Vec::len).sum();
    let mut bytes = vec![0];
    bytes.extend((arcs as i64).to_le_bytes());
    bytes.extend((rows.len() as i64).to_le_bytes());
    let mut end = 0i64;
    bytes.extend(end.to_le_bytes());
    for row in rows {
        end += row.len() as i64;
        bytes.extend(end.to_le_bytes());
    }
    bytes.extend(rows.iter().flatten().flat_map(|&head| (head as i32).to_le_bytes()));
    bytes
}

/// The numbers of a file in gamma code.
pub(crate) fn gamma_coded(bytes: &[u8], many: usize) -> Vec<u64> {
    let words: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    let mut reader = BufBitReader::<BE, _>::new(MemWordReader::new(words));
    (0..many).map(|_| reader.read_gamma().unwrap()).collect()
}

/// Numbers in gamma code, as a file of offsets has them.
pub(crate) fn in_gamma_code(numbers: &[u64]) -> Vec<u8> {
    let mut bits = Bits::new(MemWordWriterVec::new(Vec::new()));
    for &number in numbers {
        bits.write_gamma(number).unwrap();
    }
    bytes_of(bits)
}

/// Writes bits to memory, high bits first.
type Bits = BufBitWriter<BE, MemWordWriterVec<u64, Vec<u64>>>;

fn bytes_of(bits: Bits) -> Vec<u8> {
    bits.into_inner().unwrap().into_inner().iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Writes a BVGraph whose rows have nothing but residuals, and its offsets. [`bvgraph_fixture`] has graphs of WebGraph's library.
pub(crate) fn write_bvgraph(base: &Path, arcs: &[(u64, u64)]) {
    let mut sorted = arcs.to_vec();
    sorted.sort_unstable();
    let nodes = sorted.iter().map(|&(tail, head)| tail.max(head) + 1).max().unwrap();
    let (mut bits, mut lengths, mut rest) = (Bits::new(MemWordWriterVec::new(Vec::new())), vec![0], &sorted[..]);
    for node in 0..nodes {
        let (row, after) = rest.split_at(rest.partition_point(|arc| arc.0 == node));
        let mut length = bits.write_gamma(row.len() as u64).unwrap();
        let mut last = None;
        for &(_, head) in row {
            let distance = match last {
                None if head >= node => 2 * (head - node),
                None => 2 * (node - head) - 1,
                Some(last) => head - last - 1,
            };
            length += bits.write_zeta(distance, 3).unwrap();
            last = Some(head);
        }
        lengths.push(length as u64);
        rest = after;
    }
    let arcs = arcs.len();
    let properties =
        format!("nodes={nodes}\narcs={arcs}\nwindowsize=0\nmaxrefcount=0\nminintervallength=0\ncompressionflags=\n");
    std::fs::write(base.with_extension("graph"), bytes_of(bits)).unwrap();
    std::fs::write(base.with_extension("properties"), properties).unwrap();
    std::fs::write(base.with_extension("offsets"), in_gamma_code(&lengths)).unwrap();
}

/// Writes the files of a graph that WebGraph's library wrote (`tests/bvgraphs`), under this base name.
pub(crate) fn bvgraph_fixture(name: &str, base: &Path) {
    let tar = zstd::decode_all(&std::fs::read(data("bvgraphs.tar.zst")).unwrap()[..]).unwrap();
    let mut files = 0;
    for file in tar::Archive::new(&tar[..]).entries().unwrap() {
        let mut file = file.unwrap();
        let path = file.path().unwrap().into_owned();
        if path.file_stem().is_some_and(|stem| stem == name) {
            let mut to = File::create(base.with_extension(path.extension().unwrap())).unwrap();
            std::io::copy(&mut file, &mut to).unwrap();
            files += 1;
        }
    }
    assert_eq!(files, 3, "{name}");
}
