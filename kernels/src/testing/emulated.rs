//! Kernels compiled for the host (`emulation.cpp`). Needs a C++ compiler: `CXX`, or `c++`.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;

use crate::engine::{Grid, Kernel};
use crate::source::CudaSource;

/// The compiled libraries, by source. A user must hold the lock, since a library has state for one thread block.
static MADE: Mutex<BTreeMap<&str, Library>> = Mutex::new(BTreeMap::new());

type Emulate = unsafe extern "C" fn(*const c_char, u32, u32, u32, *mut *mut c_void, *const u32, u32) -> i32;

fn compiler() -> String {
    std::env::var("CXX").unwrap_or("c++".into())
}

/// Whether there is a C++ compiler; if not, prints why the test is skipped. With `TRIMILL_REQUIRE_CXX=1` its absence is a failure.
pub fn has_compiler() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    let there = *THERE.get_or_init(|| Command::new(compiler()).arg("--version").output().is_ok());
    if !there {
        let reason = format!("no C++ compiler: {}", compiler());
        assert!(std::env::var_os("TRIMILL_REQUIRE_CXX").is_none_or(|v| v != "1"), "{reason}");
        super::skipped(&reason);
    }
    there
}

/// Compiles the kernels of a source, unless that is done already.
pub(super) fn load(source: &'static CudaSource) {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(source.name).or_insert_with(|| {
        let folder = tempfile::tempdir().unwrap();
        compile(source, folder.path())
    });
}

fn compile(source: &CudaSource, folder: &Path) -> Library {
    let [emulation, kernels, names, library] =
        ["emulation.cpp", source.name, "kernels.inc", "kernels.so"].map(|name| folder.join(name));
    std::fs::write(&emulation, include_str!("emulation.cpp")).unwrap();
    // CUDA's declaration of dynamic shared memory is not valid C++.
    let declared = "extern __shared__ u64 shared[];";
    let code = source.code().replace(declared, "u64 *shared = (u64 *)emulation::shared;");
    std::fs::write(&kernels, code).unwrap();
    std::fs::write(&names, source.kernels().map(|(name, _)| format!("KERNEL({name})\n")).collect::<String>()).unwrap();
    let made = Command::new(compiler())
        .args(["-std=c++20", "-O2", "-U_FORTIFY_SOURCE", "-w", "-shared", "-fPIC"])
        .arg(format!("-DSOURCE=\"{}\"", kernels.display()))
        .arg(format!("-DKERNELS=\"{}\"", names.display()))
        .args([Path::new("-o"), &library, &emulation])
        .output()
        .unwrap_or_else(|error| panic!("no C++ compiler: {}: {error}", compiler()));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // SAFETY: just compiled from the files above, without initialisers that have an effect.
    unsafe { Library::new(&library) }.unwrap()
}

/// Runs a kernel whose source is loaded.
///
/// # Panics
/// It has other parameters, its threads deadlock, or it writes beyond its shared memory.
///
/// # Safety
/// Addresses among the parameters must be of memory that the kernel may access as it does.
pub(super) unsafe fn run(grid: Grid, kernel: Kernel, parameters: &[Vec<u8>]) {
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let name = CString::new(kernel.name).unwrap();
    // Copied to words, for their alignment.
    let words: Vec<Vec<u64>> = parameters
        .iter()
        .map(|bytes| {
            let mut words = vec![0u64; bytes.len().div_ceil(8)];
            bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
            words
        })
        .collect();
    let sizes: Vec<u32> = parameters.iter().map(|bytes| bytes.len() as u32).collect();
    let mut values: Vec<*mut c_void> = words.iter().map(|words| words.as_ptr().cast_mut().cast()).collect();
    let Grid { blocks, threads, shared } = grid;
    // SAFETY: a function of the library with these parameters; it compares the size of each value before it reads it.
    let answer = unsafe {
        let emulate = made[kernel.source.name].get::<Emulate>(b"emulate").unwrap();
        emulate(name.as_ptr(), blocks, threads, shared, values.as_mut_ptr(), sizes.as_ptr(), sizes.len() as u32)
    };
    let wrong = match answer {
        0 => return,
        1 => "threads wait for ever",
        2 => "no such kernel, or other parameters",
        _ => "it wrote beyond its shared memory",
    };
    panic!("{} {grid:?} {sizes:?}: {wrong}", kernel.name);
}
