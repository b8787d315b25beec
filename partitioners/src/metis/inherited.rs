//! Resets ignored signals that the child inherits from its parent.
//!
//! A process inherits which signals are ignored: a shell starts background jobs with SIGINT and SIGQUIT ignored. These
//! signals must end the child; the parent handles them itself. SIGHUP stays ignored if it was: `nohup` is meant for child
//! processes, too. SIGTERM is handled by [`super::sigterm`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;

/// Restores the default action of SIGINT and SIGQUIT.
pub(super) fn heed() -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    [SIGINT, SIGQUIT]
        .into_iter()
        .try_for_each(|signal| register_conditional_default(signal, Arc::clone(&always)).map(drop))
}
