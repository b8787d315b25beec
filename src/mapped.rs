//! Files mapped into memory, large pages, and the allocator's settings: the only file of this crate with `unsafe` code.
//!
//! Pages of a mapped file count as memory of the process while they are resident, so a big file is read either through
//! a [`Window`] that is dropped after use, or through a [`MappedFile`] whose pages are given back by
//! [`MappedFile::release`]. Both are read-only.
//!
//! A read of mapped pages that fails, because the disk does or because another process cuts the file, has no error to return:
//! the system sends SIGBUS, which ends the process. Files that this program makes are therefore only mapped once they were
//! renamed into place complete, and are never written again; for all else [`tell_failed_reads`] makes the end a clear one.
#![allow(unsafe_code)]

mod failed_reads;

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};
use rayon::prelude::*;

use crate::disk;
use crate::error::{Error, Result};
use failed_reads::Listed;

/// From now on a read of mapped pages that fails ends the process with exit code 1 and names the file on standard error. For
/// programs, as signal handlers are the process's; whatever else raises SIGBUS ends it as before.
pub fn tell_failed_reads() {
    #[cfg(target_os = "linux")]
    {
        extern "C" fn failed(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
            // SAFETY: the system passes what it says of the signal, and of this one an address.
            let address = unsafe { (*info).si_addr() }.addr();
            if failed_reads::told(address) {
                // SAFETY: ends the process; nothing runs after it.
                unsafe { libc::_exit(1) }
            }
            // SAFETY: allowed in handlers. The read is tried again when this returns, and ends the process then.
            unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
        }
        // SAFETY: of all fields, zero is a value; those that matter are set below.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = failed as extern "C" fn(_, _, _) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler only does what handlers may: it reads atomics and memory that is never freed, writes to a
        // descriptor, sets a signal's action, ends the process. Where it is refused, the process ends as it would without.
        unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) };
    }
}

/// From this size on, memory goes back to the system as soon as it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 1 << 20;

/// Asks the allocator to give all large memory back to the system when it is freed. By itself glibc keeps freed blocks of
/// up to 32 MiB, in a heap for each thread, so that a job would take what it once took and not what it holds.
pub fn give_back_what_is_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for setting in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: sets a number in the allocator, which it reads under its own lock. Where it is refused, nothing changes.
        unsafe { libc::mallopt(setting, LARGE) };
    }
}

/// Gives back what was freed in small pieces.
pub fn give_back_the_rest() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator returns free pages under its own locks; nobody holds pointers into them.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A mapped part of a file; its pages go when it is dropped.
#[derive(Debug)]
pub struct Window(Option<(Listed, Mmap)>);

impl Window {
    /// Maps `range` (in bytes) of `file`. `path` is for the error only.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when the system refuses.
    pub fn new(file: &File, path: &Path, range: Range<u64>) -> Result<Self> {
        let len = (range.end - range.start) as usize;
        if len == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the map is private to this value and read-only; the module's head tells what a shrinking file does.
        let map =
            unsafe { MmapOptions::new().offset(range.start).len(len).map(file) }.map_err(|e| Error::read(path, e))?;
        // Advice is a hint: where it is refused, reading is slower and nothing else.
        let _ = map.advise(Advice::Sequential);
        Ok(Self(Some((Listed::new(path, &map), map))))
    }
}

impl Deref for Window {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |(_, map)| map)
    }
}

/// A whole file, mapped read-only.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    file: File,
    map: Option<Mmap>,
    _listed: Option<Listed>,
}

impl MappedFile {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when it cannot be opened or mapped.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of(&File::open(path).map_err(|e| Error::read(path, e))?, path)
    }

    /// Maps `file`, which messages call `path`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when it cannot be mapped.
    pub fn of(file: &File, path: &Path) -> Result<Self> {
        let path = path.to_path_buf();
        let len = file.metadata().map_err(|e| Error::read(&path, e))?.len();
        // A descriptor of its own, to read without the mapping.
        let file = file.try_clone().map_err(|e| Error::read(&path, e))?;
        if len == 0 {
            return Ok(Self { path, file, map: None, _listed: None });
        }
        // SAFETY: as in `Window::new`.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::read(&path, e))?;
        let listed = Listed::new(&path, &map);
        Ok(Self { path, file, map: Some(map), _listed: Some(listed) })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }

    /// The bytes of `range` as values of `T` (little-endian on the machines that this runs on).
    ///
    /// # Panics
    /// When `range` is outside the file, or not aligned for `T`; the caller has checked the file's header.
    pub fn slice<T: Pod>(&self, range: Range<usize>) -> &[T] {
        bytemuck::cast_slice(&self.bytes()[range])
    }

    /// Fills `values` with the bytes from `position` on, without touching the mapped pages; in the current thread pool.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when the file cannot be read.
    pub fn read<T: Pod + Send>(&self, values: &mut [T], position: u64) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        bytes.par_chunks_mut(READ).enumerate().try_for_each(|(i, bytes)| {
            disk::read_at(&self.file, bytes, position + (i * READ) as u64).map_err(|e| Error::read(&self.path, e))
        })
    }

    /// Says that reading in any order begins, where reading ahead brings what nobody wants, or that it ends.
    pub fn any_order(&self, begins: bool) {
        let advice = if begins { Advice::Random } else { Advice::Normal };
        // Advice is a hint, as above.
        let _ = self.map.as_ref().map(|map| map.advise(advice));
    }

    /// Gives the resident pages of `range` back to the system; they are read again when they are touched.
    pub fn release(&self, range: Range<usize>) {
        let page = rustix::param::page_size();
        let (start, end) = (range.start.next_multiple_of(page), range.end / page * page);
        if let Some(map) = &self.map
            && start < end
        {
            // SAFETY: the map is read-only and backed by a file, so its pages can be dropped at any time: a later
            // access finds the same bytes. Where the hint is refused, memory stays used and nothing else.
            let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
        }
    }
}

/// Bytes that a thread reads at a time.
const READ: usize = 1 << 20;

/// Shorter arrays have no large pages: what they save is little, and up to a page of them is wasted.
const WORTH_LARGE_PAGES: usize = 8 << 20;

/// So many zeros, none of which takes memory before it is touched; in large pages as [`large_pages`].
pub fn zeros<T: Pod>(len: usize) -> Vec<T> {
    let mut zeros = bytemuck::zeroed_vec(len);
    large_pages(&mut zeros);
    zeros
}

/// Asks the system to back what `values` has room for by large pages, if that is much and was not touched yet. Large pages
/// are made many times as fast as small ones, and found faster where values are looked up at random.
pub fn large_pages<T: Pod>(values: &mut Vec<T>) {
    let page = rustix::param::page_size();
    let (start, bytes) = (values.as_mut_ptr().cast::<u8>(), values.capacity() * size_of::<T>());
    let skipped = start.align_offset(page);
    if bytes < WORTH_LARGE_PAGES {
        return;
    }
    let len = (bytes - skipped) / page * page;
    // SAFETY: the range lies within the allocation of `values`, which is borrowed; it begins and ends with a page, and the
    // advice changes no byte of it. Where it is refused, pages are small and nothing else.
    let _ = unsafe { rustix::mm::madvise(start.add(skipped).cast(), len, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[allow(clippy::unwrap_used, clippy::print_stdout)]
mod tests;
