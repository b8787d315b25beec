//! Support for tests of methods: partitions with known counts, and a test double of a device. Other crates use it by the feature `testing`.

mod double;
mod emulated;
pub mod partitions;
pub mod prepared;

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard};

pub use double::{Double, Pace};
pub use emulated::has_compiler;

use crate::{Gpu, ImageForm, find};
use trimill_system::lock;

/// Reports that the calling test is skipped, even where output of passing tests is captured.
pub fn skipped(reason: &dyn std::fmt::Display) {
    let test = std::thread::current();
    let line = format!("skipped: {}: {reason}\n", test.name().unwrap_or("a test"));
    // A failure to print does not fail a skipped test.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// A GPU, for one test at a time, so that memory can be measured. `None`, with a printed reason: there is no GPU, which fails the test if
/// `TRIMILL_REQUIRE_GPU=1`. With `TRIMILL_TEST_PTX=1` its kernels are loaded from PTX.
pub fn gpu() -> Option<(Gpu, MutexGuard<'static, ()>)> {
    static ONE: Mutex<()> = Mutex::new(());
    let alone = lock(&ONE);
    if let Err(reason) = find() {
        assert!(!is_set("TRIMILL_REQUIRE_GPU"), "{reason}");
        skipped(&reason);
        return None;
    }
    let form = if is_set("TRIMILL_TEST_PTX") { ImageForm::Portable } else { ImageForm::Best };
    Some((Gpu::open(0, form).unwrap_or_else(|error| panic!("{error}")), alone))
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// The names of the fields of a struct in a source.
#[cfg(test)]
pub(crate) fn fields<'a>(code: &'a str, of: &str) -> Vec<&'a str> {
    let declared = code.split(&format!("struct {of} {{")).nth(1).and_then(|rest| rest.split("};").next()).unwrap_or("");
    let lines = declared.lines().filter_map(|line| line.split(';').next().filter(|_| line.contains(';')));
    lines.filter_map(|field| field.split([' ', '*']).next_back()).collect()
}

/// The names of the fields of a struct, from its `Debug` output.
#[cfg(test)]
pub(crate) fn fields_of(arguments: &impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{arguments:?}");
    let fields = text.split(['{', ',']).filter_map(|field| field.split(':').next());
    fields.map(|field| field.trim().to_owned()).skip(1).collect()
}
