//! NVRTC, the compiler of kernels, loaded at run time. Only tests and `scripts/make-images` use it.
//!
//! The system's loader looks for it under the names of its releases, unless `TRIMILL_NVRTC` has the absolute path of the file: it
//! may come from a PyPI wheel, where loaders do not look. NVRTC opens its second library (`libnvrtc-builtins`), which is in the
//! same folder, by name only, so that one is loaded first. `TRIMILL_NVRTC=off`: as if NVRTC were not installed.
//!
//! Functions are called through this library, not through cudarc's table, which takes no paths and panics if one is missing.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};

use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use libloading::{Library, Symbol};

use crate::error::{GpuError, GpuResult};
use crate::source::CudaSource;
use crate::{Absence, Version};

pub const NVRTC_VARIABLE: &str = "TRIMILL_NVRTC";

/// Newest first.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    version: Version,
    /// Must stay loaded as long as `library`.
    _builtins: Vec<Library>,
}

impl Nvrtc {
    /// Loads the library that `TRIMILL_NVRTC` names, else the system's. Errors: [`Absence::NoCompiler`], [`Absence::CompilerNotReady`].
    pub fn open() -> GpuResult<Self, Absence> {
        match std::env::var_os(NVRTC_VARIABLE) {
            Some(off) if off == "off" => Err(Absence::NoCompiler),
            Some(path) => Self::open_file(Path::new(&path)),
            // SAFETY: loads what the system's loader finds under NVRTC's names and runs its initialisers; it is installed by
            // the administrator of the machine.
            None => NAMES
                .into_iter()
                .find_map(|name| unsafe { Library::new(name) }.ok())
                .ok_or(Absence::NoCompiler)
                .and_then(|library| Self::new(library, Vec::new())),
        }
    }

    /// Loads the library at `path`, and before it the libraries in its folder that it needs.
    pub fn open_file(path: &Path) -> GpuResult<Self, Absence> {
        let builtins = builtins(path.parent().unwrap_or(Path::new("/")));
        // SAFETY: as in `open`; the user who runs the program names the file. Builtins of another release are never called.
        let builtins = builtins.iter().filter_map(|path| unsafe { Library::new(path) }.ok()).collect();
        // SAFETY: as above.
        let library = unsafe { Library::new(path) }.map_err(|_| Absence::NoCompiler)?;
        Self::new(library, builtins)
    }

    fn new(library: Library, builtins: Vec<Library>) -> GpuResult<Self, Absence> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the function has had this type in all releases.
        let version =
            unsafe { library.get::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> nvrtcResult>("nvrtcVersion") };
        // SAFETY: both numbers outlive the call that writes them.
        match unsafe { version.map_err(|_| Absence::NoCompiler)?(&mut major, &mut minor) } {
            nvrtcResult::NVRTC_SUCCESS => {}
            code => return Err(Absence::CompilerNotReady(code as u32)),
        }
        let version = Version { major: major.unsigned_abs(), minor: minor.unsigned_abs() };
        Ok(Self { library, version, _builtins: builtins })
    }

    pub fn version(&self) -> Version {
        self.version
    }

    pub fn cubin(&self, source: &CudaSource, capability: Version) -> GpuResult<Vec<u8>> {
        let target = format!("sm_{}{}", capability.major, capability.minor);
        self.compile(source, &target, ["nvrtcGetCUBINSize", "nvrtcGetCUBIN"])
    }

    /// PTX, the portable assembly, for devices of this compute capability or later, zero-terminated.
    pub fn ptx(&self, source: &CudaSource, capability: Version) -> GpuResult<Vec<u8>> {
        let target = format!("compute_{}{}", capability.major, capability.minor);
        self.compile(source, &target, ["nvrtcGetPTXSize", "nvrtcGetPTX"])
    }

    /// Compiles for `target`; the functions `size` and `get` give the image.
    fn compile(&self, source: &CudaSource, target: &str, [size, get]: [&str; 2]) -> GpuResult<Vec<u8>> {
        let architecture = format!("--gpu-architecture={target}");
        let refused = |code: String, log: String| GpuError::Compile {
            source_name: source.name,
            architecture: architecture.clone(),
            code,
            log,
        };
        let text = |s: &str| CString::new(s).map_err(|e| refused(e.to_string(), String::new()));
        let (name, code) = (text(source.name)?, text(&source.code())?);
        let options = [text(&architecture)?, text("--std=c++17")?];
        let options = options.each_ref().map(|option| option.as_ptr());
        let failed = |code: Code| refused(code.0, code.1);
        let mut program = Program { nvrtc: self, handle: std::ptr::null_mut() };
        let create: Symbol<'_, Create> = self.function("nvrtcCreateProgram").map_err(failed)?;
        let nothing = std::ptr::null();
        // SAFETY: `code` and `name` are zero-terminated and outlive the program; no headers are passed.
        check(unsafe { create(&mut program.handle, code.as_ptr(), name.as_ptr(), 0, nothing, nothing) })
            .map_err(failed)?;
        let compile: Symbol<'_, Compile> = self.function("nvrtcCompileProgram").map_err(failed)?;
        // SAFETY: the program was just created; the number of options is right, and each is zero-terminated.
        if let Err(code) = check(unsafe { compile(program.handle, options.len() as c_int, options.as_ptr()) }) {
            let log = program.bytes("nvrtcGetProgramLogSize", "nvrtcGetProgramLog").unwrap_or_default();
            let log = CStr::from_bytes_until_nul(&log).map(|log| log.to_string_lossy().into_owned());
            return Err(refused(code.0, log.unwrap_or_default()));
        }
        program.bytes(size, get).map_err(failed)
    }

    fn function<T>(&self, name: &str) -> GpuResult<Symbol<'_, T>, Code> {
        // SAFETY: the callers name NVRTC's functions with the types that its header gives them.
        unsafe { self.library.get(name) }.map_err(|error| Code(format!("it lacks {name}"), error.to_string()))
    }
}

type Create = unsafe extern "C" fn(
    *mut nvrtcProgram,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> nvrtcResult;
type Compile = unsafe extern "C" fn(nvrtcProgram, c_int, *const *const c_char) -> nvrtcResult;
type SizeFunction = unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult;
type Get = unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult;
type Destroy = unsafe extern "C" fn(*mut nvrtcProgram) -> nvrtcResult;

struct Code(String, String);

fn check(result: nvrtcResult) -> GpuResult<(), Code> {
    match result {
        nvrtcResult::NVRTC_SUCCESS => Ok(()),
        code => Err(Code(format!("{code:?}"), String::new())),
    }
}

struct Program<'a> {
    nvrtc: &'a Nvrtc,
    handle: nvrtcProgram,
}

impl Program<'_> {
    fn bytes(&self, size: &str, get: &str) -> GpuResult<Vec<u8>, Code> {
        let (size, get): (Symbol<'_, SizeFunction>, Symbol<'_, Get>) =
            (self.nvrtc.function(size)?, self.nvrtc.function(get)?);
        let mut len = 0;
        // SAFETY: the program is alive, and `len` outlives the call that writes it.
        check(unsafe { size(self.handle, &mut len) })?;
        let mut bytes = vec![0u8; len];
        // SAFETY: the buffer has the length that the compiler just named.
        check(unsafe { get(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null()
            && let Ok(destroy) = self.nvrtc.function::<Destroy>("nvrtcDestroyProgram")
        {
            // SAFETY: the program was created by this library and is destroyed once. An error can be ignored.
            unsafe { destroy(&mut self.handle) };
        }
    }
}

/// The libraries in `folder` that NVRTC opens by name.
fn builtins(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let wanted = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvrtc-builtins.so."))
    };
    let mut found: Vec<_> = files.filter(wanted).collect();
    found.sort();
    found
}
