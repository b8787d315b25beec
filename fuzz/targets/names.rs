//! Inputs whose ids are names: an edge list, or a Parquet or Arrow file with columns of text.

use std::sync::Mutex;

use trimill::testing::bytes::Bytes;
use trimill::testing::control::Control;
use trimill::testing::error::{Error, Kind, Result};
use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;
use trimill::testing::input::{Header, InputSettings, NameSink, NamedArcs, Source};
use trimill::testing::memory::HostMemory;

use super::edges::ENOUGH;
use super::{Place, first, is_told};

/// The most bytes of names that are compared: a few bytes of a page may decode to many.
const MOST: usize = 1 << 20;

/// Part of the error for texts of dictionaries that would take more memory than there is.
const DICTIONARIES: &str = "dictionaries of more than";

/// Part of the refusal of a zstd window, or of a page, that the budget has no memory for.
const BEYOND: &str = "which the host's budget has for it";

/// The names of all arcs' ends, in order, each followed by a zero byte.
#[derive(Default)]
struct KeptNames(Mutex<Vec<u8>>);

impl NameSink for KeptNames {
    fn arcs(&self, batch: &NamedArcs) -> Result<()> {
        let mut kept = self.0.lock().expect("one thread");
        for name in batch.iter().flatten() {
            assert!(!name.is_empty() && std::str::from_utf8(name).is_ok(), "no name: {name:?}");
            kept.extend_from_slice(name);
            kept.push(0);
        }
        if kept.len() > MOST { Err(Error::usage(ENOUGH)) } else { Ok(()) }
    }
}

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let ([which], bytes) = first(bytes);
    let (name, format) = match which % 3 {
        0 => ("g.txt", Format::Text),
        1 => ("g.parquet", Format::Parquet),
        _ => ("g.arrow", Format::Arrow),
    };
    let path = place.write(name, bytes);
    let header = (format == Format::Text).then_some(Header::No);
    let reading = InputSettings { format: Some(format), header, names: true, ..InputSettings::default() };
    let read = || -> Result<Vec<u8>> {
        let (memory, silent) = (HostMemory::new(Bytes::mib(128), 1), Control::silent());
        let source = Source::open_within(std::slice::from_ref(&path), reading.clone(), place.dir(), memory, &silent)?;
        let kept = KeptNames::default();
        let arcs = source.scan_names(&kept, &Control::silent())?;
        assert!(source.facts().has_names && arcs <= source.facts().arcs_at_most, "{arcs} arcs, more than announced");
        Ok(kept.0.into_inner().expect("one thread"))
    };
    match (read(), read()) {
        (Ok(found), Ok(again)) => assert!(found == again, "other names when read again"),
        (Err(error), Err(_)) if error.to_string() == ENOUGH => {}
        // A few bytes may also decode to many texts.
        (Err(error), Err(_)) if error.kind() == Kind::Resource && error.to_string().contains(DICTIONARIES) => {}
        (Err(error), Err(_)) if error.kind() == Kind::Resource && error.to_string().contains(BEYOND) => {}
        (Err(error), Err(_)) => is_told(&error, &path),
        (found, again) => panic!("{:?} and {:?}", found.map(|names| names.len()), again.map(|names| names.len())),
    }
}
