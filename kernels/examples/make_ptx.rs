//! Prints the PTX of a source that the program embeds, made by the NVRTC that `TRIMILL_NVRTC` names. See `scripts/make-ptx`.

use std::error::Error;

use trimill_kernels::{Nvrtc, PTX_CAPABILITY, SOURCES, Version, ptx, ptx_stamp};

fn main() -> Result<(), Box<dyn Error>> {
    let nvrtc = Nvrtc::open()?;
    let (found, expected) = (nvrtc.version(), Version { major: 12, minor: 8 });
    if found != expected {
        return Err(format!("this is NVRTC {found}; expected {expected}, whose PTX the oldest drivers take").into());
    }
    let name = std::env::args().nth(1).unwrap_or_default();
    let source = SOURCES.into_iter().find(|source| source.name == name).ok_or("name a source, such as lstc.cu")?;
    let text = String::from_utf8(ptx(&nvrtc, source, PTX_CAPABILITY)?)?;
    print!("{}{}", ptx_stamp(source), text.trim_end_matches('\0'));
    Ok(())
}
