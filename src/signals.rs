//! Ctrl-C and SIGTERM: the first one asks the job to stop, the second one ends the program at once.
//!
//! After the first, every station stops at its next check and its temporary directories are removed. After the second,
//! the process exits with 130 and removes nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, Result};

/// The exit code of a program that was stopped.
pub const INTERRUPTED: u8 = 130;

/// Installs both handlers. `stop` is set by the first signal.
///
/// # Errors
/// [`crate::error::Kind::Resource`] when the system refuses.
pub fn install(stop: &Arc<AtomicBool>) -> Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and sets it, the second finds it set.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(stop))
            .and_then(|_| flag::register(signal, Arc::clone(stop)))
            .map_err(|error| Error::resource(format!("signals cannot be received ({error})")))?;
    }
    Ok(())
}
