//! Writes the archives of images of both crates to the two files named. Called by `scripts/make-images`, which says where NVRTC is.
#![allow(unsafe_code, reason = "NVRTC is a library of C")]

use std::ffi::CString;
use std::path::Path;
use std::process::ExitCode;

use cudarc::nvrtc::result::{self, NvrtcError};
use cudarc::nvrtc::sys;
use trimill_kernels::{CudaSource, images};

/// The image of a source for `target`: a CUBIN for `sm_*`, else PTX.
fn compile(source: &CudaSource, target: &str) -> Result<Vec<u8>, String> {
    let text = |text: &str| CString::new(text).map_err(|error| format!("{}: {error}", source.name));
    let (name, code) = (text(source.name)?, text(&source.code())?);
    let program =
        result::create_program(&code, Some(&name)).map_err(|error| format!("NVRTC does not work: {error}"))?;
    let image = || -> Result<Vec<u8>, NvrtcError> {
        // SAFETY: the program is destroyed below; `len` and `cubin` outlive the calls that write them, and `cubin` has the length asked for.
        unsafe {
            result::compile_program(program, &[format!("--gpu-architecture={target}"), "--std=c++17".to_owned()])?;
            if !target.starts_with("sm_") {
                return Ok(bytemuck::cast_slice(&result::get_ptx(program)?).to_vec());
            }
            let mut len = 0;
            sys::nvrtcGetCUBINSize(program, &mut len).result()?;
            let mut cubin = vec![0u8; len];
            sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast()).result()?;
            Ok(cubin)
        }
    };
    let image = image().map_err(|error| {
        // SAFETY: the program is destroyed below.
        let log = unsafe { result::get_program_log(program) }.unwrap_or_default();
        let log = String::from_utf8_lossy(bytemuck::cast_slice(&log));
        format!("NVRTC did not compile {} for {target} ({error}):\n{}", source.name, log.trim_end_matches('\0'))
    });
    // SAFETY: the program is not used any more. An error can be ignored.
    let _ = unsafe { result::destroy_program(program) };
    image
}

fn main() -> ExitCode {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    let [kernels, baselines] = files.as_slice() else {
        eprintln!("expected two files: the archive of trimill-kernels, and that of trimill-baselines");
        return ExitCode::from(2);
    };
    let make = || -> Result<(), String> {
        for (file, sources) in [(kernels, &trimill_kernels::SOURCES[..]), (baselines, &trimill_baselines::SOURCES[..])]
        {
            let archive = images::make(compile, sources)?;
            std::fs::write(Path::new(file), archive).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(())
    };
    match make() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
