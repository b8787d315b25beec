//! Ctrl-C, SIGTERM, and unless they are ignored SIGHUP (a closed terminal) and SIGXCPU (a limit of CPU time): the first one asks the job to stop, at
//! the next check of every stage, and temporary directories are removed; the second one exits at once with code 130 and removes nothing. SIGXFSZ
//! (a limit of file sizes) is ignored: the write then fails with an error that says so.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag;

use trimill::{Error, Result};

pub(crate) const INTERRUPTED: u8 = 130;

/// Installs all handlers. The first of the signals sets `stop`.
pub(crate) fn install(stop: &Arc<AtomicBool>) -> Result<()> {
    let refused = |error| Error::resource(format!("signals cannot be received ({error})"));
    flag::register(SIGXFSZ, Arc::default()).map_err(refused)?;
    let others = [SIGHUP, SIGXCPU].into_iter().filter(|&signal| !is_ignored(signal));
    for signal in [SIGINT, SIGTERM].into_iter().chain(others) {
        // In this order: the first signal finds the flag unset and sets it, the second finds it set.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(stop))
            .and_then(|_| flag::register(signal, Arc::clone(stop)))
            .map_err(refused)?;
    }
    Ok(())
}

/// Whether the process was started to ignore a signal, as by nohup; elsewhere than on Linux it counts as ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
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
        let ignored = is_ignored(SIGHUP);
        install(&stop).unwrap();
        signal_hook::low_level::raise(SIGHUP).unwrap();
        assert_eq!(stop.load(Ordering::Relaxed), !ignored);
        println!("a closed terminal is ignored: {ignored}");
        if ignored {
            signal_hook::low_level::raise(SIGTERM).unwrap();
        }
        assert!(stop.load(Ordering::Relaxed));
        println!("asked to stop");
        signal_hook::low_level::raise(SIGINT).unwrap();
        println!("still here");
    }

    #[test]
    fn the_first_signal_asks_and_the_second_ends() {
        // These tests may run in the background, where SIGHUP is ignored already.
        for (trap, is_ignored) in [(":", is_ignored(SIGHUP)), ("trap '' HUP", true)] {
            let output = Command::new("sh")
                .args(["-c", &format!("{trap}; exec \"$0\" \"$@\"")])
                .arg(std::env::current_exe().unwrap())
                .args(["--exact", "signals::tests::child", "--ignored", "--nocapture"])
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(i32::from(INTERRUPTED)));
            let said = String::from_utf8(output.stdout).unwrap();
            assert!(said.contains("asked to stop") && !said.contains("still here"), "{said}");
            assert!(said.contains(&format!("is ignored: {is_ignored}")), "{said}");
        }
    }
}
