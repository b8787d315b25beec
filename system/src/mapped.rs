//! Files mapped into memory, large pages, prefetches, the allocator's settings: with `locked`, all `unsafe` code of this crate. Resident pages of
//! a mapped file count as memory of the process, so a big file is read through [`MappedPart`]s, dropped after use. If a read of mapped pages
//! fails, because the disk fails or another process truncates the file, the system ends the process by SIGBUS. So only inputs are mapped, and
//! [`report_failed_reads`] adds a message.
#![allow(unsafe_code)]

mod failed_reads;
mod locked;

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;
use memmap2::{Advice, Mmap, MmapOptions};

use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::parallel;
use failed_reads::MappingEntry;

pub use locked::LockedBlocks;

/// From now on a failed read of mapped pages ends the process with exit code 1 and names the file on standard error. Only for programs,
/// since signal handlers are global to the process; any other SIGBUS ends it as before.
pub fn report_failed_reads() {
    #[cfg(target_os = "linux")]
    {
        extern "C" fn failed(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
            // SAFETY: the system passes a valid `siginfo_t`, which for this signal holds an address.
            let address = unsafe { (*info).si_addr() }.addr();
            if failed_reads::told(address) {
                // SAFETY: ends the process; nothing runs after it.
                unsafe { libc::_exit(1) }
            }
            // SAFETY: allowed in handlers. The read is tried again when this returns, and ends the process then.
            unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
        }
        // SAFETY: zero is a valid value of every field; those that matter are set below.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = failed as extern "C" fn(_, _, _) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler is async-signal-safe: it reads atomics and memory that is never freed, writes to a descriptor,
        // sets a signal's action, ends the process. If installing it fails, the process ends as it would without it.
        unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) };
    }
}

/// From this size on, freed memory returns to the system at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 1 << 20;

/// Ends the process without what is registered to run at its end.
pub fn end_at_once(code: u8) -> ! {
    // SAFETY: ends the process; nothing runs after it.
    unsafe { libc::_exit(code.into()) }
}

/// Whether the allocator was asked to return freed memory: then this process is the program, not one that uses the library.
pub(crate) static RETURNS: AtomicBool = AtomicBool::new(false);

/// Asks the allocator to return large freed blocks to the system, and to have half as many heaps as there are cores: glibc would keep blocks of up
/// to 32 MiB, in up to eight heaps for each core, so the process would stay at the peak of its job, or above its budget.
pub fn return_freed_memory() {
    RETURNS.store(true, Ordering::Relaxed);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // What a thread frees is used again by the threads of its heap alone.
        let heaps = std::thread::available_parallelism().map_or(2, |cores| (usize::from(cores) / 2).max(2)) as i32;
        let large = [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD].map(|setting| (setting, LARGE));
        for (setting, value) in large.into_iter().chain([(libc::M_ARENA_MAX, heaps)]) {
            // SAFETY: sets a number in the allocator, which it reads under its own lock. If refused, nothing changes.
            unsafe { libc::mallopt(setting, value) };
        }
    }
}

/// Returns freed small blocks to the system, if large ones are. Otherwise the heap is another program's, perhaps large and slow to walk.
pub fn trim_heap() {
    if !RETURNS.load(Ordering::Relaxed) {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator returns free pages under its own locks; no pointers into them exist.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A mapped part of a file; unmapped when dropped.
#[derive(Debug)]
pub struct MappedPart(Option<(MappingEntry, Mmap)>);

impl MappedPart {
    /// Maps `range` (in bytes) of `file`; `path` is for the error.
    pub fn new(file: &File, path: &Path, range: Range<u64>) -> Result<Self> {
        let len = (range.end - range.start) as usize;
        if len == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the map is private to this value and read-only; for files that shrink, see the head of the module.
        let map =
            unsafe { MmapOptions::new().offset(range.start).len(len).map(file) }.map_err(|e| Error::read(path, e))?;
        // A hint: if it is refused, reading is slower.
        let _ = map.advise(Advice::Sequential);
        Ok(Self(Some((MappingEntry::new(path, &map), map))))
    }

    /// Reads all pages, in order, on all threads of the current pool. A page that cannot be read is only reported when it is used.
    pub fn populate(&self, control: &Control) -> Result<()> {
        const STEP: usize = 8 << 20;
        let Some((_, map)) = &self.0 else { return Ok(()) };
        parallel::try_each((0..map.len()).step_by(STEP), |at| {
            let _ = map.advise_range(Advice::PopulateRead, at, STEP.min(map.len() - at));
            control.check()
        })
    }
}

impl Deref for MappedPart {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |(_, map)| map)
    }
}

/// Asks the processor to load `values[i]`, if it exists, into its caches.
#[inline(always)]
pub fn prefetch<T>(values: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(i) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes no memory, and the address is that of a value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, i);
}

#[inline(always)]
pub fn prefetch_all<T>(values: &[T]) {
    const LINE: usize = 64;
    (0..values.len()).step_by((LINE / size_of::<T>()).max(1)).for_each(|i| prefetch(values, i));
}

/// Smaller arrays get no large pages, which would save little and waste up to a page.
const WORTH_LARGE_PAGES: usize = 4 << 20;

/// `len` zeros, which take no memory before they are touched; in large pages if there are many. Ends the job by [`Error::no_memory`] if the system
/// refuses, which a limit of address space can cause even within the budget.
pub fn zeros<T: Zeroable>(len: usize) -> Vec<T> {
    try_zeros(len).unwrap_or_else(|| Error::no_memory(Bytes::of::<T>(len as u64)))
}

/// As [`zeros`]; `None` if the system does not give the memory.
pub fn try_zeros<T: Zeroable>(len: usize) -> Option<Vec<T>> {
    let mut zeros = bytemuck::try_zeroed_vec(len).ok()?;
    large_pages(&mut zeros[..]);
    Some(zeros)
}

/// Asks the system for the pages of zeros before counters are increased: a first read would map a shared page, whose copy later interrupts all cores.
pub fn populate<T>(zeros: &mut [T]) {
    advise(zeros, rustix::mm::Advice::LinuxPopulateWrite);
}

/// An empty vector with room for `capacity` values, in large pages if they are many.
pub fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(capacity);
    large_pages(values.spare_capacity_mut());
    values
}

/// Asks for large pages for many `values`, untouched so far: page faults and TLB misses become fewer.
fn large_pages<T>(values: &mut [T]) {
    if size_of_val(values) >= WORTH_LARGE_PAGES {
        advise(values, rustix::mm::Advice::LinuxHugepage);
    }
}

/// Advises the system about the whole pages of `values`; the advice must change no bytes. A refusal only makes the program slower.
fn advise<T>(values: &mut [T], advice: rustix::mm::Advice) {
    let page = rustix::param::page_size();
    let (start, bytes) = (values.as_mut_ptr().cast::<u8>(), size_of_val(values));
    let skipped = start.align_offset(page);
    let len = bytes.saturating_sub(skipped) / page * page;
    if len > 0 {
        // SAFETY: the range is within `values`, which is borrowed, and begins and ends with a page; the callers' advice changes no byte of it.
        let _ = unsafe { rustix::mm::madvise(start.add(skipped).cast(), len, advice) };
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
