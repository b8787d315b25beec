//! SIGTERM while METIS runs.
//!
//! METIS installs a handler that jumps (`longjmp`) from the interrupted code, for instance an allocation, to its entry
//! point. In tests, 1 in 50 SIGTERMs at random moments corrupted the heap by that; and where the C library's `signal`
//! has BSD semantics, METIS can continue with garbage afterwards and report success. So the handler must never run for a
//! SIGTERM from outside: the thread that calls METIS blocks the signal, and another one waits for it and ends the
//! process with [`TERMINATED`].
//!
//! METIS also raises SIGTERM on its own thread, for errors without a code. That signal stays pending and ends the process
//! as soon as SIGTERM is unblocked, before any assignment is written.

use std::io;
use std::thread;

use nix::sys::signal::{SigSet, Signal};

/// The exit code after a SIGTERM: 128 + 15, as in shells.
pub(super) const TERMINATED: i32 = 143;

/// Blocks SIGTERM in this thread, and ends the process on a SIGTERM. To be called before other threads are started.
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

/// Unblocks SIGTERM in this thread; does not return if METIS raised one.
pub(super) fn release() -> io::Result<()> {
    Ok(SigSet::from(Signal::SIGTERM).thread_unblock()?)
}
