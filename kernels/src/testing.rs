//! What several tests need.

#[path = "../tests/common/mod.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used, dead_code)]
pub(crate) mod common;
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod double;

use crate::packed::Run;
use crate::{CompactPart, CompactSlices, Nvrtc, ResidentSlices, RowBlockSlices, Size, row_block_bytes};

/// NVRTC, or `None` with a printed reason. With `TRIMILL_REQUIRE_NVRTC=1` its lack fails the test.
pub(crate) fn nvrtc() -> Option<Nvrtc> {
    match Nvrtc::open() {
        Ok(nvrtc) => Some(nvrtc),
        Err(reason) => {
            assert!(std::env::var_os("TRIMILL_REQUIRE_NVRTC").is_none_or(|v| v != "1"), "{reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// The names of the fields of `struct Arguments` in a source.
pub(crate) fn fields(code: &str) -> Vec<&str> {
    let declared = code.split("struct Arguments {").nth(1).and_then(|rest| rest.split("};").next()).unwrap_or("");
    let lines = declared.lines().filter_map(|line| line.split(';').next().filter(|_| line.contains(';')));
    lines.filter_map(|field| field.split([' ', '*']).next_back()).collect()
}

/// The names of the fields of a struct, as its debugging output has them.
pub(crate) fn fields_of(arguments: &impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{arguments:?}");
    let fields = text.split(['{', ',']).filter_map(|field| field.split(':').next());
    fields.map(|field| field.trim().to_owned()).skip(1).collect()
}
