//! Kills a job at random moments, repeatedly, until it completes nevertheless.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::support::{Place, VOTES, data};
use trimill_system::hash::mix;

/// Starts the job and sends it `signal` after a random time, `kills` times, in several run directories. Returns how many starts resumed something.
fn interrupt_until_done(signal: &str, kills: usize, arguments: &[&str]) -> usize {
    let place = Place::new();
    let begun = Instant::now();
    place.completes(VOTES, arguments);
    let whole = begun.elapsed();
    // From 0 to 1.
    let mut random = (0u64..).map(|i| (mix((kills as u64) << 32 | i) >> 11) as f64 / (1u64 << 53) as f64);
    let (mut killed, mut resumed) = (0, 0);
    while killed < kills {
        let place = Place::new();
        // Long enough on average for some partitions; otherwise the job would never finish.
        for _ in 0..6 {
            let mut child = place
                .start_command(&data(VOTES.0), arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            sleep(Duration::from_secs_f64(whole.as_secs_f64() * random.next().unwrap()));
            let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
            let status = child.wait().unwrap();
            place.is_whole();
            if status.success() {
                break;
            }
            // A signal before the handler is installed kills the process.
            assert!(matches!(status.code(), None | Some(130)), "{status}");
            killed += 1;
        }
        resumed += usize::from(!place.records().is_empty());
        place.completes(VOTES, arguments);
        fs::remove_dir_all(place.path("run")).unwrap();
    }
    resumed
}

const SETTINGS: [&str; 9] =
    ["--no-cache", "--parts", "9", "--partitioner", "random", "--threads", "2", "--block-bytes", "16KiB"];

#[test]
fn twenty_kills_at_random_moments() {
    assert!(interrupt_until_done("-KILL", 20, &SETTINGS) > 0);
}

#[test]
fn ctrl_c_at_random_moments() {
    assert!(interrupt_until_done("-INT", 12, &SETTINGS) > 0);
}
