//! Finds the mapped file that an address belongs to, for errors in reading it. Input: each mapping, when it is made. Output: on SIGBUS, a message
//! that names the file. All that the signal handler reads is atomic or never freed: names stay for the life of the process, one per file ever mapped.
//! Costs a lock and a few atomic stores per mapping; if the tables are full, a failed read of an unlisted mapping ends the process by the signal.
#![deny(unsafe_code)]

use std::io::IoSlice;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const NAMES: usize = 1024;
const MAPPINGS: usize = 1024;

static NAMED: [OnceLock<Box<[u8]>>; NAMES] = [const { OnceLock::new() }; NAMES];
static LISTED: [Mapping; MAPPINGS] = [const { Mapping::none() }; MAPPINGS];
static TOLD: AtomicBool = AtomicBool::new(false);

const WHAT: &[u8] = b": reading mapped pages failed: the file was cut while it was read, or its disk fails; \
see the system's log about this disk; a job with --run-dir continues when it is started again\n";

struct Mapping {
    start: AtomicUsize,
    /// 0 while the entry is unused.
    end: AtomicUsize,
    name: AtomicUsize,
}

impl Mapping {
    const fn none() -> Self {
        Self { start: AtomicUsize::new(0), end: AtomicUsize::new(0), name: AtomicUsize::new(0) }
    }
}

/// The entry of a mapping, removed on drop.
#[derive(Debug)]
pub(super) struct MappingEntry(Option<usize>);

impl MappingEntry {
    pub(super) fn new(path: &Path, bytes: &[u8]) -> Self {
        let (start, name) = (bytes.as_ptr().addr(), path.as_os_str().as_encoded_bytes());
        let named = NAMED.iter().position(|known| &**known.get_or_init(|| name.into()) == name);
        let free =
            |mapping: &Mapping| mapping.start.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        let place = named.and_then(|name| Some((name, LISTED.iter().position(free)?)));
        Self(place.map(|(name, place)| {
            LISTED[place].name.store(name, Ordering::Relaxed);
            LISTED[place].end.store(start + bytes.len(), Ordering::Release);
            place
        }))
    }
}

impl Drop for MappingEntry {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            LISTED[place].end.store(0, Ordering::Release);
            LISTED[place].start.store(0, Ordering::Release);
        }
    }
}

fn file_at(address: usize) -> Option<&'static [u8]> {
    let covers = |mapping: &&Mapping| {
        address < mapping.end.load(Ordering::Acquire) && address >= mapping.start.load(Ordering::Relaxed)
    };
    let mapping = LISTED.iter().find(covers)?;
    NAMED[mapping.name.load(Ordering::Relaxed)].get().map(|name| &**name)
}

/// Called in the signal handler: prints which file could not be read at `address`; `false` if it is none of the listed ones.
pub(super) fn told(address: usize) -> bool {
    let Some(name) = file_at(address) else { return false };
    if TOLD.swap(true, Ordering::Relaxed) {
        // Another thread is about to print the message and end the process.
        loop {
            std::hint::spin_loop();
        }
    }
    // A single system call, so that other output cannot interleave. Its error could not be reported anywhere.
    let _ = rustix::io::writev(std::io::stderr(), &[IoSlice::new(b"error: "), IoSlice::new(name), IoSlice::new(WHAT)]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_by_its_mapping_as_long_as_there_is_one() {
        let (a, b) = (vec![0; 5000], vec![0; 7000]);
        let (one, other) = (Path::new("/one"), Path::new("/another"));
        let listed = [MappingEntry::new(one, &a), MappingEntry::new(other, &b), MappingEntry::new(one, &b[..0])];
        let name = |bytes: &[u8], at: usize| file_at(bytes.as_ptr().addr() + at);
        assert_eq!(name(&a, 0), Some(&b"/one"[..]));
        assert_eq!(name(&a, 4999), Some(&b"/one"[..]));
        assert_eq!(name(&b, 6999), Some(&b"/another"[..]));
        drop(listed);
        assert_eq!((name(&a, 0), name(&b, 0)), (None, None));
    }
}
