//! Tests on this machine's driver, and on fake drivers: libraries loaded by a second test process, since a process loads a library only once.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use super::*;

const CHILD: &str = "TRIMILL_TEST_FIND";

/// The child process of the other tests; by itself it tests that looking for GPUs does not panic.
#[test]
fn asking_never_panics() {
    let text = format!("{:?}\n{:?}\n", find(), crate::Nvrtc::open().map(|nvrtc| nvrtc.version()));
    if let Some(path) = env::var_os(CHILD) {
        fs::write(path, text).unwrap();
    }
}

/// What a process finds whose loader looks in `folder` first.
fn found_with(folder: &Path) -> [String; 2] {
    let answer = folder.join("answer");
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "find::tests::asking_never_panics"])
        .env("LD_LIBRARY_PATH", folder)
        .env_remove(crate::NVRTC_VARIABLE)
        .env(CHILD, &answer)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let text = fs::read_to_string(answer).unwrap();
    let (driver, compiler) = text.trim_end().split_once('\n').unwrap();
    [driver.to_owned(), compiler.to_owned()]
}

/// What is found if `cuInit` of the driver returns `init`, its version is `version` and it sees `count` devices. `None`: there is no C compiler.
fn found_with_driver(init: u32, version: u32, count: u32) -> Option<[String; 2]> {
    let folder = env::temp_dir().join(format!("trimill-find-{}-{init}-{version}-{count}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let library = |name: &str, code: String| {
        let source = folder.join(format!("{name}.c"));
        fs::write(&source, code).unwrap();
        let out = folder.join(name);
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&out, &source]).status().is_ok_and(|s| s.success())
    };
    let made = library(
        "libcuda.so",
        format!(
            "#include <string.h>
            int cuInit(unsigned f) {{ return {init}; }}
            int cuDriverGetVersion(int *v) {{ *v = {version}; return 0; }}
            int cuDeviceGetCount(int *n) {{ *n = {count}; return 0; }}
            int cuDeviceGet(int *d, int i) {{ *d = 40 + i; return 0; }}
            int cuDeviceGetName(char *s, int n, int d) {{ strncpy(s, d == 40 ? \"First\" : \"Second\", n); return 0; }}
            int cuDeviceTotalMem_v2(unsigned long *b, int d) {{ *b = d * 1000000000ul; return 0; }}
            int cuDeviceGetAttribute(int *v, int a, int d) {{ *v = a == 75 ? 9 : a == 16 ? 132 : 0; return 0; }}"
        ),
    ) && library("libnvrtc.so.13", "int nvrtcVersion(int *a, int *b) { *a = 12; *b = 9; return 0; }".into());
    let found = made.then(|| found_with(&folder));
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
fn each_fault_of_a_driver_has_its_reason() {
    for (init, version, count, reason) in [
        (100, 13_000, 1, "Err(NoDevice)"),
        (34, 13_000, 1, "Err(DriverNotReady(34))"),
        (999, 13_000, 1, "Err(DriverNotReady(999))"),
        (0, 12_070, 1, "Err(DriverTooOld { found: Version { major: 12, minor: 7 } })"),
        (0, 12_080, 0, "Err(NoDevice)"),
    ] {
        if let Some([driver, compiler]) = found_with_driver(init, version, count) {
            assert_eq!(driver, reason);
            assert_eq!(compiler, "Ok(Version { major: 12, minor: 9 })");
        }
    }
}

#[test]
fn devices_are_described() {
    let device = |ordinal, name: &str, memory| GpuInfo {
        ordinal,
        name: name.into(),
        memory,
        compute_capability: Version { major: 9, minor: 0 },
        multiprocessors: 132,
    };
    let devices = vec![device(0, "First", 40_000_000_000), device(1, "Second", 41_000_000_000)];
    let driver = Version { major: 12, minor: 8 };
    if let Some([found, _]) = found_with_driver(0, 12_080, 2) {
        assert_eq!(found, format!("{:?}", Ok::<_, Absence>(FoundGpus { driver, devices })));
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
