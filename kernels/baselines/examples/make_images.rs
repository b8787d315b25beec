//! Writes the archives of images of both crates to the two files named. Called by `scripts/make-images`.

use std::path::Path;
use std::process::ExitCode;

use trimill_kernels::{Nvrtc, images};

fn main() -> ExitCode {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    let [kernels, baselines] = files.as_slice() else {
        eprintln!("expected two files: the archive of trimill-kernels, and that of trimill-baselines");
        return ExitCode::from(2);
    };
    let make = || -> Result<(), String> {
        let nvrtc = Nvrtc::open().map_err(|absence| absence.to_string())?;
        for (file, sources) in [(kernels, &trimill_kernels::SOURCES[..]), (baselines, &trimill_baselines::SOURCES[..])]
        {
            let archive = images::make(&nvrtc, sources).map_err(|error| error.to_string())?;
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
