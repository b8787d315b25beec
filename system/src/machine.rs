//! The memory and processor of this machine, and the peak memory of the process.

mod groups;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::bytes::Bytes;
use crate::mapped::{RETURNS, return_freed_memory};

/// The memory of the machine, or the least limit of the process's control groups. Found once, as going through the groups takes time.
pub fn memory() -> Bytes {
    static FOUND: LazyLock<Bytes> = LazyLock::new(|| {
        let info = rustix::system::sysinfo();
        let machine = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
        groups::limit(Path::new("/")).map_or(Bytes(machine), |limit| limit.min(Bytes(machine)))
    });
    *FOUND
}

/// The process's peak resident memory since [`reset_peak`], mapped file pages included; without `/proc`, since it started.
pub fn peak_memory() -> Bytes {
    peak_in("/proc/self/status")
}

fn peak_in(status: &str) -> Bytes {
    match kib_of(status, "VmHWM:") {
        Bytes::ZERO => {
            let used = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |used| used.max_rss());
            Bytes(u64::try_from(used).unwrap_or(0) * 1024)
        }
        peak => peak,
    }
}

pub fn resident_memory() -> Bytes {
    kib_of("/proc/self/status", "VmRSS:")
}

/// The memory that this process can still take: what programs can, as the system estimates it, or the least that its control groups leave.
pub fn free_memory() -> Bytes {
    let machine = kib_of("/proc/meminfo", "MemAvailable:");
    groups::free(Path::new("/")).map_or(machine, |free| free.min(machine))
}

/// The cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The largest cache of the first core, which it may share with others; zero if the system does not give its size.
pub fn largest_cache() -> Bytes {
    static FOUND: LazyLock<Bytes> = LazyLock::new(|| {
        let kib = |level: u32| -> Option<u64> {
            let size = fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size")).ok()?;
            size.trim().strip_suffix('K')?.parse().ok()
        };
        Bytes(1024 * (0..).map_while(kib).max().unwrap_or(0))
    });
    *FOUND
}

/// The product name of the processor, or its architecture if the system does not give a name.
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = info.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "model name");
    named.map_or_else(|| std::env::consts::ARCH.into(), |(_, name)| name.trim().to_owned())
}

/// A value that a system file gives in KiB in one of its first lines; zero if it does not.
fn kib_of(file: &str, name: &str) -> Bytes {
    // The system returns the whole file at once, if it fits. A user may be in many groups, which are listed before the memory.
    let mut text = [0; 1 << 15];
    let read = fs::File::open(file).and_then(|mut file| file.read(&mut text)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[..read]);
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|kib| kib.trim().parse().ok());
    Bytes(kib.unwrap_or(0u64) * 1024)
}

/// For the program's own process: freed memory returns to the system at once, each job has its own peak, and the limit of open files is raised.
pub fn own_process() {
    return_freed_memory();
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
}

/// Resets [`peak_memory`] in the program's process, for each job of a batch. In other processes, or if refused, the peak is never reset.
pub fn reset_peak() {
    if RETURNS.load(Ordering::Relaxed) {
        let _ = fs::write("/proc/self/clear_refs", "5");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_known_without_proc() {
        let block = vec![1u8; 64 << 20];
        assert!(block.iter().all(|&byte| byte == 1));
        let peak = peak_in("/proc/none");
        // The system's figure includes the peak of the process that started this one, so the upper bound is wide.
        assert!((Bytes::mib(64)..Bytes::mib(64 << 10)).contains(&peak), "{peak}");
    }
}
