//! Signals that the child ignores because those before it did.
//!
//! What a process ignores, its children ignore, too: a shell starts what runs in the background with SIGINT and SIGQUIT
//! ignored. The child is to end by them, as its parent does, which handles them. SIGHUP stays as it is: who starts a
//! program with `nohup` means its children as well. SIGTERM is the business of [`super::sigterm`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;

/// Lets these signals do what they do by default.
pub(super) fn heed() -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    [SIGINT, SIGQUIT]
        .into_iter()
        .try_for_each(|signal| register_conditional_default(signal, Arc::clone(&always)).map(drop))
}
