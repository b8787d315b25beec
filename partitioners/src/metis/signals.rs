//! Signals in the child while METIS runs. METIS's handler of SIGTERM jumps (`longjmp`) from the interrupted code, for instance an allocation, to
//! METIS's entry point. In tests with SIGTERMs at random moments, 1 in 50 corrupted the heap; and where the C library's `signal` has BSD semantics,
//! METIS can continue with garbage and report success. So the handler must never run for a SIGTERM from outside: the thread that calls METIS blocks
//! the signal, and another thread waits for it and ends the process with [`TERMINATED`].
//!
//! METIS also raises SIGTERM on its own thread, for errors without a code. It stays pending and ends the process once unblocked, before any result.
//!
//! A process inherits which signals are ignored: a shell starts background jobs with SIGINT and SIGQUIT ignored. These must end
//! the child, too; the parent handles them itself. SIGHUP stays ignored if it was: `nohup` is meant for child processes, too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{io, thread};

use nix::sys::signal::{SigSet, Signal};
use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;
use trimill_system::child::TERMINATED;

/// Lets SIGINT and SIGQUIT end the process; blocks SIGTERM in this thread, and ends the process on one. Call before other threads start.
pub(super) fn hold() -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    for signal in [SIGINT, SIGQUIT] {
        register_conditional_default(signal, Arc::clone(&always))?;
    }
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
