//! Kills a job at random moments, repeatedly, until it completes nevertheless.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::support::{Place, VOTES, data};
use trimill_system::hash::mix;

const KILLS: usize = 20;

const SETTINGS: [&str; 9] =
    ["--no-cache", "--parts", "9", "--partitioner", "random", "--threads", "2", "--block-bytes", "16KiB"];

#[test]
fn twenty_kills_at_random_moments() {
    let place = Place::new();
    let begun = Instant::now();
    place.completes(VOTES, &SETTINGS);
    let whole = begun.elapsed();
    // Numbers from 0 to 1.
    let mut random = (0u64..).map(|i| (mix((KILLS as u64) << 32 | i) >> 11) as f64 / (1u64 << 53) as f64);
    let (mut killed, mut resumed) = (0, 0);
    while killed < KILLS {
        let place = Place::new();
        // On average the job runs long enough to count some partitions; otherwise it would never finish.
        for _ in 0..6 {
            let mut command = place.start_command(&data(VOTES.0), &SETTINGS);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            sleep(Duration::from_secs_f64(whole.as_secs_f64() * random.next().unwrap()));
            let _ = child.kill();
            let status = child.wait().unwrap();
            place.is_whole();
            if status.success() {
                break;
            }
            assert_eq!(status.code(), None, "{status}");
            killed += 1;
        }
        resumed += usize::from(!place.records().is_empty());
        place.completes(VOTES, &SETTINGS);
        fs::remove_dir_all(place.path("run")).unwrap();
    }
    assert!(resumed > 0);
}
