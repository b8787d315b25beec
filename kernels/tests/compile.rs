//! Every CUDA source compiles for the oldest architecture that serves, and for those that are measured. Needs NVRTC, not a GPU.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use trimill_kernels::{Error, Nvrtc, SOURCES, Source, Version, cubin};

/// NVRTC, or `None` with a printed reason. With `TRIMILL_REQUIRE_NVRTC=1` its lack fails the test.
fn nvrtc() -> Option<Nvrtc> {
    match Nvrtc::open() {
        Ok(nvrtc) => Some(nvrtc),
        Err(reason) => {
            assert!(std::env::var_os("TRIMILL_REQUIRE_NVRTC").is_none_or(|v| v != "1"), "{reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

#[test]
fn every_source_compiles_for_every_architecture() {
    let Some(nvrtc) = nvrtc() else { return };
    for source in SOURCES {
        for (major, minor) in [(7, 5), (8, 0), (9, 0)] {
            let image = cubin(&nvrtc, source, Version { major, minor }).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(image.get(..4), Some(b"\x7fELF".as_slice()), "{} for {major}.{minor}", source.name);
        }
    }
}

#[test]
fn every_file_of_the_folder_is_a_source() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cuda");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".cu"))
        .collect();
    files.sort();
    let mut names: Vec<_> = SOURCES.iter().map(|source| source.name.to_owned()).collect();
    names.sort();
    assert_eq!(files, names);
}

#[test]
fn a_refused_source_is_an_error_with_the_compilers_words() {
    let Some(nvrtc) = nvrtc() else { return };
    static WRONG: Source = Source { name: "wrong.cu", code: "__global__ void f() { no_such_thing(); }" };
    let error = cubin(&nvrtc, &WRONG, Version { major: 9, minor: 0 }).unwrap_err();
    let Error::Compile { source_name, architecture, code, log } = &error else { panic!("{error}") };
    assert_eq!((*source_name, code.as_str()), ("wrong.cu", "NVRTC_ERROR_COMPILATION"));
    assert!(architecture.ends_with("sm_90") && log.contains("no_such_thing"), "{error}");
    static FINE: Source = Source { name: "fine.cu", code: "__global__ void f() {}" };
    let error = cubin(&nvrtc, &FINE, Version { major: 1, minor: 0 }).unwrap_err();
    assert!(matches!(error, Error::Compile { .. }), "{error}");
}
