//! Prints the PTX that the program embeds, made by the NVRTC that `TRIMILL_NVRTC` names. See `scripts/make-ptx`.

use std::error::Error;

use trimill_kernels::{LSTC, Nvrtc, PTX_CAPABILITY, Version, ptx, ptx_stamp};

fn main() -> Result<(), Box<dyn Error>> {
    let nvrtc = Nvrtc::open()?;
    let (found, expected) = (nvrtc.version(), Version { major: 12, minor: 8 });
    if found != expected {
        return Err(format!("this is NVRTC {found}; expected {expected}, whose PTX the oldest drivers take").into());
    }
    let text = String::from_utf8(ptx(&nvrtc, &LSTC, PTX_CAPABILITY)?)?;
    print!("{}{}", ptx_stamp(&LSTC), text.trim_end_matches('\0'));
    Ok(())
}
