//! What several tests need.

use crate::Nvrtc;

/// NVRTC, or `None` with a printed reason. With `TRIMILL_REQUIRE_NVRTC=1` its lack fails the test.
pub(crate) fn nvrtc() -> Option<Nvrtc> {
    match Nvrtc::open() {
        Ok(nvrtc) => Some(nvrtc),
        Err(reason) => {
            assert!(std::env::var_os("TRIMILL_REQUIRE_NVRTC").is_none_or(|v| v != "1"), "{reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}
