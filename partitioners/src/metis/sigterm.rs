//! SIGTERM while METIS runs.
//!
//! METIS installs a handler that jumps out of whatever was going on, an allocation for instance, back into its entry
//! point. Left alone, 1 in 50 SIGTERMs at random moments broke the heap on the way; and where the C library's `signal`
//! has BSD semantics, METIS can go on with garbage afterwards and report success. So the handler must never run for a
//! SIGTERM from outside: the thread that calls METIS blocks the signal, and another one waits for it and ends the
//! process with [`TERMINATED`].
//!
//! METIS also raises SIGTERM on its own thread, for errors it cannot name. That one stays pending and ends the process
//! as soon as the signal is let through again, before any assignment is written.

use std::io;
use std::thread;

use nix::sys::signal::{SigSet, Signal};

/// The exit code after a SIGTERM: 128 + 15, as shells say it.
pub(super) const TERMINATED: i32 = 143;

/// Blocks SIGTERM in this thread, and ends the process when one comes. To be called before other threads are started.
pub(super) fn hold() -> io::Result<()> {
    let signals = SigSet::from(Signal::SIGTERM);
    signals.thread_block()?;
    thread::Builder::new().name("sigterm".into()).spawn(move || {
        if signals.wait().is_ok() {
            std::process::exit(TERMINATED);
        }
    })?;
    Ok(())
}

/// Lets SIGTERM through to this thread again; does not return if METIS raised one.
pub(super) fn release() -> io::Result<()> {
    Ok(SigSet::from(Signal::SIGTERM).thread_unblock()?)
}
