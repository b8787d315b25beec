//! Tests on this machine's driver, and on fake drivers: libraries loaded by a second test process, since a process loads a library only once.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use super::*;

const CHILD: &str = "TRIMILL_TEST_FIND";

/// The child process of the other tests; by itself it tests that looking for GPUs does not panic.
#[test]
fn asking_never_panics() {
    let found = format!("{:?}", find());
    if let Some(path) = env::var_os(CHILD) {
        fs::write(path, found).unwrap();
    }
}

/// What a process finds whose loader looks in `folder` first.
fn found_with(folder: &Path) -> String {
    let answer = folder.join("answer");
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "find::tests::asking_never_panics"])
        .env("LD_LIBRARY_PATH", folder)
        .env(CHILD, &answer)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    fs::read_to_string(answer).unwrap()
}

/// What is found with a driver whose `cuInit` returns `init`, of version `version`, with `count` devices. `None`: there is no C compiler.
fn found_with_driver(init: u32, version: u32, count: u32) -> Option<String> {
    let folder = env::temp_dir().join(format!("trimill-find-{}-{init}-{version}-{count}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let code = format!(
        "#include <string.h>
        int cuInit(unsigned f) {{ return {init}; }}
        int cuDriverGetVersion(int *v) {{ *v = {version}; return 0; }}
        int cuDeviceGetCount(int *n) {{ *n = {count}; return 0; }}
        int cuDeviceGet(int *d, int i) {{ *d = 40 + i; return 0; }}
        int cuDeviceGetName(char *s, int n, int d) {{ strncpy(s, d == 40 ? \"First\" : \"Second\", n); return 0; }}
        int cuDeviceTotalMem_v2(unsigned long *b, int d) {{ *b = d * 1000000000ul; return 0; }}
        int cuDeviceGetAttribute(int *v, int a, int d) {{ *v = a == 75 ? 9 : a == 16 ? 132 : 0; return 0; }}"
    );
    let (source, out) = (folder.join("libcuda.c"), folder.join("libcuda.so"));
    fs::write(&source, code).unwrap();
    let cc = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&out, &source]).status();
    let found = cc.is_ok_and(|status| status.success()).then(|| found_with(&folder));
    fs::remove_dir_all(&folder).unwrap();
    if found.is_none() {
        crate::testing::skipped(&"no C compiler to make a driver for the test");
    }
    found
}

#[test]
fn a_machine_without_a_driver_is_told_so() {
    // SAFETY: as in `find`.
    if unsafe { sys::is_culib_present() } {
        crate::testing::skipped(&format!("this machine has a CUDA driver: {:?}", find()));
    } else {
        assert_eq!(find(), Err(Absence::NoDriverLibrary));
    }
}

#[test]
fn each_fault_of_a_driver_has_its_reason_and_devices_are_described() {
    let device = |ordinal, name: &str, memory| GpuInfo {
        ordinal,
        name: name.into(),
        memory,
        compute_capability: Version { major: 9, minor: 0 },
        multiprocessors: 132,
    };
    let devices = vec![device(0, "First", 40_000_000_000), device(1, "Second", 41_000_000_000)];
    let both = FoundGpus { driver: Version { major: 12, minor: 8 }, devices };
    for (init, version, count, expected) in [
        (100, 13_000, 1, "Err(NoDevice)"),
        (34, 13_000, 1, "Err(DriverNotReady(34))"),
        (999, 13_000, 1, "Err(DriverNotReady(999))"),
        (0, 12_070, 1, "Err(DriverTooOld { found: Version { major: 12, minor: 7 } })"),
        (0, 12_080, 0, "Err(NoDevice)"),
        (0, 12_080, 2, &format!("Ok({both:?})")),
    ] {
        if let Some(found) = found_with_driver(init, version, count) {
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn versions_are_written_with_a_point() {
    assert_eq!(Version::packed(12_080).to_string(), "12.8");
    assert_eq!(Version::packed(13_000).to_string(), "13.0");
    assert!(Version::packed(12_040) < OLDEST && OLDEST < Version::packed(13_000));
    let old = Absence::DriverTooOld { found: Version::packed(12_040) };
    assert!(old.to_string().contains("12.4; expected 12.8"), "{old}");
}
