//! Kernels compiled for the host (`emulation.cpp`). Needs a C++ compiler: `CXX`, or `c++`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use libloading::Library;
use trimill_system::lock;

use crate::engine::{Grid, Kernel};
use crate::source::CudaSource;

/// The compiled libraries, by source: their bytes, once a thread has compiled them.
static COMPILED: Mutex<BTreeMap<&str, Arc<OnceLock<Vec<u8>>>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// A copy of the libraries for each thread, since a library has state for one thread block.
    static OPENED: RefCell<BTreeMap<&'static str, Library>> = const { RefCell::new(BTreeMap::new()) };
}

type Emulate = unsafe extern "C" fn(*const c_char, u32, u32, u32, *mut *mut c_void, *const u32, u32) -> i32;

fn compiler() -> String {
    std::env::var("CXX").unwrap_or("c++".into())
}

/// `None`, with a printed reason: there is no C++ compiler. With `TRIMILL_REQUIRE_CXX=1` its absence fails the test.
pub fn has_compiler() -> Option<()> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let there = *THERE.get_or_init(|| Command::new(compiler()).arg("--version").output().is_ok());
    if !there {
        let reason = format!("no C++ compiler: {}", compiler());
        assert!(!super::is_set("TRIMILL_REQUIRE_CXX"), "{reason}");
        super::skipped(&reason);
    }
    there.then_some(())
}

/// Opens this thread's copy of the kernels of a source, and compiles them first if no thread did.
pub(super) fn load(source: &'static CudaSource) {
    OPENED.with_borrow_mut(|opened| {
        opened.entry(source.name).or_insert_with(|| {
            let compiled = Arc::clone(lock(&COMPILED).entry(source.name).or_default());
            let library = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(library.path(), compiled.get_or_init(|| compile(source))).unwrap();
            // SAFETY: compiled below, without initialisers that have an effect. It stays open after its file is removed.
            unsafe { Library::new(library.path()) }.unwrap()
        });
    });
}

fn compile(source: &CudaSource) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
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
        // Otherwise all copies of a library would share the variables of its templates.
        .arg("-fvisibility=hidden")
        .arg(format!("-DSOURCE=\"{}\"", kernels.display()))
        .arg(format!("-DKERNELS=\"{}\"", names.display()))
        .args([Path::new("-o"), &library, &emulation])
        .output()
        .unwrap_or_else(|error| panic!("no C++ compiler: {}: {error}", compiler()));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::read(library).unwrap()
}

/// Runs a kernel whose source is loaded. Panics if it has other parameters, its threads deadlock, or it writes beyond its shared memory.
///
/// # Safety
/// Addresses among the parameters must be of memory that the kernel may access as it does.
pub(super) unsafe fn run(grid: Grid, kernel: Kernel, parameters: &[Vec<u8>]) {
    let name = CString::new(kernel.name).unwrap();
    // Copied to words, so that they are aligned.
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
    load(kernel.source);
    let answer = OPENED.with_borrow(|opened| {
        // SAFETY: a function of the library with these parameters; it compares the size of each value before it reads it.
        unsafe {
            let emulate = opened[kernel.source.name].get::<Emulate>(b"emulate").unwrap();
            emulate(name.as_ptr(), blocks, threads, shared, values.as_mut_ptr(), sizes.as_ptr(), sizes.len() as u32)
        }
    });
    let wrong = match answer {
        0 => return,
        1 => "threads wait for ever",
        2 => "no such kernel, or other parameters",
        _ => "it wrote beyond its shared memory",
    };
    panic!("{} {grid:?} {sizes:?}: {wrong}", kernel.name);
}
