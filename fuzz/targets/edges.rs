//! Reads the arcs of files, up to a limit.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use trimill::testing::control::Control;
use trimill::testing::error::{Error, Result};
use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;
use trimill::testing::input::{ArcSink, Header, InputSettings, Source};

use super::{Place, is_told};

/// The most arcs that a target reads: a few bytes can encode billions of them.
const MOST: usize = 1 << 16;
/// The message of the error by which a sink stops a reader.
pub(super) const ENOUGH: &str = "enough";

pub(super) type Arcs = Vec<(u64, u64)>;

struct Keep(Mutex<Arcs>);

impl ArcSink for Keep {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let mut arcs = self.0.lock().expect("one thread");
        arcs.extend_from_slice(batch);
        if arcs.len() > MOST { Err(Error::usage(ENOUGH)) } else { Ok(()) }
    }
}

/// Opens a file, with windows of another size if `window` is set.
pub(super) fn open(path: &Path, format: Option<Format>, window: Option<u64>) -> Result<Source> {
    let (paths, dir): ([PathBuf; 1], PathBuf) = ([path.to_path_buf()], std::env::temp_dir());
    match window.and_then(NonZeroU64::new) {
        Some(window) => Source::open_in_windows(&paths, format, &dir, window),
        None => Source::open(&paths, format, &dir),
    }
}

/// All arcs, sorted; `None` if there are too many.
pub(super) fn arcs(source: &Source) -> Result<Option<Arcs>> {
    let keep = Keep(Mutex::default());
    let scanned = source.scan(&keep, &Control::silent());
    let mut arcs = keep.0.into_inner().expect("one thread");
    match scanned {
        Err(error) if error.to_string() == ENOUGH => Ok(None),
        Err(error) => Err(error),
        Ok(found) => {
            assert_eq!(found, arcs.len() as u64, "arcs delivered");
            arcs.sort_unstable();
            Ok(Some(arcs))
        }
    }
}

/// Reads a file with the default windows.
pub(super) fn read(path: &Path, format: Option<Format>) -> Result<Option<Arcs>> {
    arcs(&open(path, format, None)?)
}

/// Any reader must, for any file, fail with an error that names the file, or deliver arcs that are the same when the file is read again, with tiny
/// windows, and when they are written as text and as pairs of numbers and read again.
pub(super) fn check(place: &Place, path: &Path, format: Option<Format>, window: u64) {
    let usual = open(path, format, None).and_then(|source| Ok((arcs(&source)?, source)));
    let again = open(path, format, Some(window)).and_then(|source| arcs(&source));
    match (usual, again) {
        (Ok((Some(found), source)), Ok(again)) => {
            assert!(Some(&found) == again.as_ref(), "windows of {window}: {again:?} instead of {found:?}");
            assert!(arcs(&source).expect("a second scan").as_ref() == Some(&found), "the second scan");
            assert!(source.facts().arcs_at_most >= found.len() as u64 || is_packed(path), "more arcs than announced");
            rewritten(place, &found);
        }
        (Ok((None, _)), Ok(None)) => {}
        (Err(error), Err(again)) => {
            // A BVGraph has two files, so the suffix may differ.
            is_told(&error, &path.with_extension(""));
            // A compressed file may have two errors; which one is found first depends on the blocks.
            assert!(error.to_string() == again.to_string() || is_packed(path), "windows of {window}: {again}: {error}");
        }
        (usual, again) => {
            panic!("windows of {window}: {:?} instead of {:?}", again.map(|a| a.map(|a| a.len())), usual.map(|u| u.0));
        }
    }
}

/// Whether the file is compressed or an archive: such a file announces one arc per byte, and may have more.
fn is_packed(path: &Path) -> bool {
    const MARKS: [&[u8]; 4] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd], b"BZh", b"PK"];
    let head = std::fs::read(path).unwrap_or_default();
    // A zstd frame without contents may come first.
    MARKS.iter().any(|mark| head.starts_with(mark))
        || head.get(1..4) == Some(b"\x2a\x4d\x18")
        || head.get(257..262) == Some(b"ustar")
}

/// The arcs must be the same when they are written as text, and as pairs of 64 bits, and read again.
fn rewritten(place: &Place, arcs: &Arcs) {
    // A text without arcs is not an edge list.
    if arcs.is_empty() {
        return;
    }
    let text: String = arcs.iter().map(|(u, v)| format!("{u} {v}\n")).collect();
    let text = place.write("written.txt", format!("# arcs\n{text}"));
    // The first arc of a short list could be taken for a header.
    let reading = InputSettings { header: Some(Header::No), ..InputSettings::default() };
    let source = Source::open_as(&[text], reading, place.dir(), &Control::silent()).expect("written text");
    assert!(self::arcs(&source).expect("written text").as_ref() == Some(arcs), "written as text");
    let bytes: Vec<u8> = arcs.iter().flat_map(|&(u, v)| [u, v]).flat_map(u64::to_le_bytes).collect();
    let pairs = place.write("written.u64", bytes);
    let format = Some(Format::BinU64);
    assert!(read(&pairs, format).expect("written pairs").as_ref() == Some(arcs), "written as pairs");
}
