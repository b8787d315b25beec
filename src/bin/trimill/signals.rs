//! Ctrl-C, SIGTERM, and unless they are ignored SIGHUP (a closed terminal) and SIGXCPU (a limit of CPU time): the first one asks the job to stop, at
//! the next check of every stage, and temporary directories are removed; a later one exits at once with code 130 and removes nothing. SIGXFSZ
//! (a limit of file sizes) is ignored: the write then fails with an error that says so.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use trimill::program::end_at_once;
use trimill::{Error, Result};

pub(crate) const INTERRUPTED: u8 = 130;

/// Signals this close to the first one are the same request: `timeout` and some schedulers signal a process, and then its group.
const SAME_REQUEST: Duration = Duration::from_millis(300);

/// Installs all handlers. The first of the signals sets `stop`.
pub(crate) fn install(stop: &Arc<AtomicBool>) -> Result<()> {
    let refused = |error| Error::resource(format!("signals cannot be received ({error})"));
    flag::register(SIGXFSZ, Arc::default()).map_err(refused)?;
    let others = [SIGHUP, SIGXCPU].into_iter().filter(|&signal| !is_ignored(signal));
    let signals: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(others).collect();
    signals.iter().try_for_each(|&signal| flag::register(signal, Arc::clone(stop)).map(drop)).map_err(refused)?;
    let mut signals = Signals::new(signals).map_err(refused)?;
    let watch = move || {
        let mut first = None;
        for _ in signals.forever() {
            if first.get_or_insert_with(Instant::now).elapsed() > SAME_REQUEST {
                end_at_once(INTERRUPTED);
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(watch).map(drop).map_err(refused)
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
    #[ignore = "run by the_first_signal_asks_and_a_later_one_ends"]
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
        signal_hook::low_level::raise(SIGINT).unwrap();
        thread::sleep(2 * SAME_REQUEST);
        println!("asked to stop");
        signal_hook::low_level::raise(SIGINT).unwrap();
        thread::sleep(Duration::from_secs(60));
        println!("still here");
    }

    #[test]
    fn the_first_signal_asks_and_a_later_one_ends() {
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
