//! The fuzz targets: every reader of untrusted bytes, and the properties that must hold for any bytes.
//!
//! A target takes bytes as a file and panics if a property is violated. The properties of all targets: no panic; an error is of kind data (usage for
//! a job file) and names the file; memory is within a bound that follows from the file's size; accepted data is the same after it is written and read
//! again. The target `dialects` takes its bytes as choices of what a file contains, so it knows the right edges. `scripts/fuzz` runs the targets
//! under libFuzzer, `tests/stages/corpus.rs` on the seeds in `fuzz/corpus/` and on a few mutations of these.

mod assignment;
mod bvgraph;
mod bvgraph_offsets;
mod clean;
mod counts;
mod dialects;
mod edges;
pub(crate) mod graph_file;
mod graphalytics;
mod jobs;
mod manifest;
mod names;
mod readers;
pub(crate) mod seal;
mod spill;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trimill::testing::input::format::Format;

/// A named property that must hold for any bytes.
pub(crate) struct Target {
    /// The name, also of the archive of its seeds, `fuzz/corpus/NAME.tar.zst`.
    pub(crate) name: &'static str,
    check: fn(&Place, &[u8]),
}

const fn target(name: &'static str, check: fn(&Place, &[u8])) -> Target {
    Target { name, check }
}

pub(crate) const TARGETS: [Target; 28] = [
    target("archive", readers::archive),
    target("arrow", |place, bytes| readers::file(place, bytes, "g.arrow", Some(Format::Arrow))),
    target("assignment", assignment::check),
    target("bvgraph", bvgraph::check),
    target("bvgraph-offsets", bvgraph_offsets::check),
    target("clean", clean::check),
    target("compressed", readers::compressed),
    target("detect", readers::detect),
    target("dialects", dialects::check),
    target("edge-counts", counts::edges),
    target("gapbs-sg", |place, bytes| readers::file(place, bytes, "g.sg", Some(Format::GapbsSg))),
    target("graph-file", graph_file::check),
    target("graph500", |place, bytes| readers::file(place, bytes, "g.graph500", Some(Format::Graph500))),
    target("graphalytics", graphalytics::check),
    target("graphar", readers::graphar),
    target("job", jobs::check),
    target("manifest", manifest::check),
    target("matrix-market", |place, bytes| readers::file(place, bytes, "g.mtx", Some(Format::MatrixMarket))),
    target("metis", |place, bytes| readers::file(place, bytes, "g.metis", Some(Format::Metis))),
    target("names", names::check),
    target("npy", |place, bytes| readers::file(place, bytes, "g.npy", Some(Format::Npy))),
    target("pairs", readers::pairs),
    target("parquet", |place, bytes| readers::file(place, bytes, "g.parquet", Some(Format::Parquet))),
    target("scipy-npz", |place, bytes| readers::file(place, bytes, "g.npz", Some(Format::ScipyNpz))),
    target("spill", spill::check),
    target("spill-block", spill::block),
    target("text", |place, bytes| readers::file(place, bytes, "g.txt", Some(Format::Text))),
    target("vertices", counts::vertices),
];

/// The directory for the targets' files, and the single thread on which they run, so that memory can be measured.
pub(crate) struct Place {
    dir: TempDir,
    pool: rayon::ThreadPool,
}

impl Place {
    pub(crate) fn new() -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        Self { dir: tempfile::tempdir().expect("a temporary directory"), pool }
    }

    pub(crate) fn run(&self, target: &Target, bytes: &[u8]) {
        let used = self.pool.install(|| allocation_counter::measure(|| (target.check)(self, bytes)));
        // 48 MiB for buffers of fixed size, the rest for what a target keeps for comparison.
        let most = (48 << 20) + 256 * bytes.len() as u64;
        assert!(used.bytes_max <= most, "{} bytes of memory for {} bytes of input", used.bytes_max, bytes.len());
    }

    fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir().join(name);
        std::fs::write(&path, bytes).expect("the temporary directory takes files");
        path
    }
}

/// An error must be about the data and name its file.
fn is_told(error: &trimill::testing::error::Error, path: &Path) {
    assert_eq!(error.kind(), trimill::testing::error::Kind::Data, "{error}");
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error} does not name {}", path.display());
}

/// Splits off the first `N` bytes, padded with zeros.
fn first<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    let (head, rest) = bytes.split_at(N.min(bytes.len()));
    let mut taken = [0; N];
    taken[..head.len()].copy_from_slice(head);
    (taken, rest)
}

/// The bytes before the first zero byte, and those after it.
fn before_zero(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or(&[]))
}
