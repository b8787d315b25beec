//! The kernels compiled for the host (`emulation.cpp`), as a machine. Needs a C++ compiler: `CXX`, or `c++`.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libloading::Library;

use crate::arena::Layout;
use crate::engine::Grid;
use crate::error::{Error, Result};
use crate::nvrtc::Source;
use crate::papers::machine::Machine;
use crate::papers::program::signatures;

/// The libraries that were made, by source; who holds them runs alone, since an emulation has one block of threads.
static MADE: Mutex<BTreeMap<&str, Library>> = Mutex::new(BTreeMap::new());

type Emulate = unsafe extern "C" fn(*const c_void, u32, u32, *const u64, u32) -> i32;

/// A device of which all memory is the arena. What was not written reads as 0xa5.
pub(crate) struct Emulated {
    name: &'static str,
    kernels: HashMap<&'static str, usize>,
    memory: Vec<u64>,
    layout: Layout,
    made: MutexGuard<'static, BTreeMap<&'static str, Library>>,
}

impl Emulated {
    /// The kernels of a source; `None`, with a printed reason: there is no compiler. With `TRIMILL_REQUIRE_CXX=1` its lack fails.
    pub(crate) fn new(source: &'static Source) -> Option<Self> {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains_key(source.name) {
            let folder = tempfile::tempdir().unwrap();
            match compile(source, folder.path()) {
                Ok(library) => made.insert(source.name, library),
                Err(reason) => {
                    assert!(std::env::var_os("TRIMILL_REQUIRE_CXX").is_none_or(|v| v != "1"), "{reason}");
                    eprintln!("skipped: {reason}");
                    return None;
                }
            };
        }
        let kernels = signatures(source.code).collect();
        Some(Self { name: source.name, kernels, memory: vec![], layout: Layout::new(0), made })
    }

    /// An arena of so many bytes.
    pub(crate) fn with(mut self, bytes: u64) -> Self {
        self.memory = vec![0xa5a5_a5a5_a5a5_a5a5; (bytes / 8) as usize];
        self.layout = Layout::new(bytes);
        self
    }

    fn place(&mut self, at: u64, bytes: usize) -> &mut [u8] {
        let place = (at - self.address()) as usize;
        &mut bytemuck::cast_slice_mut(&mut self.memory)[place..place + bytes]
    }
}

fn compile(source: &Source, folder: &Path) -> Result<Library, String> {
    let (emulation, kernels, library) =
        (folder.join("emulation.cpp"), folder.join(source.name), folder.join("kernels.so"));
    std::fs::write(&emulation, include_str!("emulation.cpp")).unwrap();
    std::fs::write(&kernels, source.code).unwrap();
    let compiler = std::env::var("CXX").unwrap_or("c++".into());
    let made = Command::new(&compiler)
        .args(["-std=c++17", "-O2", "-U_FORTIFY_SOURCE", "-w", "-shared", "-fPIC"])
        .arg(format!("-DSOURCE=\"{}\"", kernels.display()))
        .args([Path::new("-o"), &library, &emulation])
        .output()
        .map_err(|error| format!("no C++ compiler: {compiler}: {error}"))?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // SAFETY: made just now of the files above, without initialisers that do anything.
    Ok(unsafe { Library::new(&library) }.unwrap())
}

impl Machine for Emulated {
    fn layout(&mut self) -> &mut Layout {
        &mut self.layout
    }

    fn address(&self) -> u64 {
        self.memory.as_ptr() as u64
    }

    fn processors(&self) -> u32 {
        2
    }

    fn upload(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        self.place(to, bytes.len()).copy_from_slice(bytes);
        Ok(())
    }

    fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> Result<()> {
        self.place(at, bytes as usize).fill(byte);
        Ok(())
    }

    fn launch(&mut self, _: usize, kernel: &'static str, grid: Grid, arguments: &[u64]) -> Result<()> {
        assert_eq!(self.kernels.get(kernel), Some(&arguments.len()), "{kernel}");
        let library = &self.made[self.name];
        // SAFETY: both are functions of the library, with these parameters; addresses are places in `memory`, as on a device.
        let answer = unsafe {
            let function = library.get::<*const c_void>(kernel.as_bytes()).unwrap();
            let emulate = library.get::<Emulate>(b"emulate").unwrap();
            emulate(*function, grid.blocks, grid.threads, arguments.as_ptr(), arguments.len() as u32)
        };
        match answer {
            0 => Ok(()),
            _ => Err(Error::Launch { doing: "emulating it", reason: format!("{kernel}: threads wait for ever") }),
        }
    }

    fn fork(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn join(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn read(&mut self, from: u64, to: &mut [u8]) -> Result<()> {
        to.copy_from_slice(self.place(from, to.len()));
        Ok(())
    }

    fn start_clock(&mut self) -> Result<()> {
        Ok(())
    }

    fn stop_clock(&mut self) -> Result<f64> {
        Ok(0.0)
    }
}
