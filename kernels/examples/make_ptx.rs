//! Writes the PTX that the program embeds, a file for each source, into the folder that is named; made by the NVRTC that
//! `TRIMILL_NVRTC` names. See `scripts/make-ptx`.

use std::error::Error;
use std::path::PathBuf;

use trimill_kernels::{Nvrtc, PTX_CAPABILITY, SOURCES, Version, ptx, ptx_stamp};

fn main() -> Result<(), Box<dyn Error>> {
    let nvrtc = Nvrtc::open()?;
    let (found, expected) = (nvrtc.version(), Version { major: 12, minor: 8 });
    if found != expected {
        return Err(format!("this is NVRTC {found}; expected {expected}, whose PTX the oldest drivers take").into());
    }
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name the folder")?);
    for source in SOURCES {
        let text = String::from_utf8(ptx(&nvrtc, source, PTX_CAPABILITY)?)?;
        let file = folder.join(source.name).with_extension("ptx");
        std::fs::write(file, format!("{}{}", ptx_stamp(source), text.trim_end_matches('\0')))?;
    }
    Ok(())
}
