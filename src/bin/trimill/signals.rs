//! Ctrl-C and SIGTERM: the first one asks the job to stop, at the next check of every stage, and temporary directories are removed; the second one
//! exits at once with code 130 and removes nothing. SIGXFSZ (file size limit) is ignored: the write then fails with an error that says so.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use trimill::{Error, Result};

pub(crate) const INTERRUPTED: u8 = 130;

/// Installs all handlers. The first SIGINT or SIGTERM sets `stop`.
pub(crate) fn install(stop: &Arc<AtomicBool>) -> Result<()> {
    let refused = |error| Error::resource(format!("signals cannot be received ({error})"));
    flag::register(SIGXFSZ, Arc::default()).map_err(refused)?;
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and sets it, the second finds it set.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(stop))
            .and_then(|_| flag::register(signal, Arc::clone(stop)))
            .map_err(refused)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::Ordering;

    use super::*;

    /// Run as a process of its own by the test below, because signals belong to the whole process.
    #[test]
    #[ignore = "run by the_first_signal_asks_and_the_second_ends"]
    fn child() {
        let stop = Arc::new(AtomicBool::new(false));
        install(&stop).unwrap();
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert!(stop.load(Ordering::Relaxed));
        println!("asked to stop");
        signal_hook::low_level::raise(SIGINT).unwrap();
        println!("still here");
    }

    #[test]
    fn the_first_signal_asks_and_the_second_ends() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "signals::tests::child", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(i32::from(INTERRUPTED)));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("asked to stop") && !said.contains("still here"), "{said}");
    }
}
