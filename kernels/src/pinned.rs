//! Page-locked host memory, from which all devices copy directly. It is allocated in large pages if possible and then registered with the driver. As
//! fewer pages are locked, that takes less than half the time of `cuMemAllocHost` and zeroing (256 MiB on an H200: 0.045 s against 0.11 s).

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

use bytemuck::Pod;
use cudarc::driver::{CudaContext, sys};
use trimill_system::lock;

use crate::error::{GpuError, GpuResult, unless_lost};
use crate::waiting::bind;

/// The size of a large page; memory of at least that size is aligned to it.
const LARGE_PAGE: usize = 2 << 20;

/// Smaller memory has pages of its own, since pages are locked as a whole. No page of today's systems is larger.
const PAGE: usize = 64 << 10;

/// Bytes that a thread zeroes at a time.
const ZEROED: usize = 32 << 20;

/// A slice in page-locked host memory.
#[derive(Debug)]
pub struct Pinned<T> {
    context: Arc<CudaContext>,
    pointer: *mut T,
    len: usize,
    layout: Layout,
}

// SAFETY: it owns its memory like a `Box<[T]>`; the driver's functions may be called from any thread.
unsafe impl<T: Send> Send for Pinned<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Sync> Sync for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    /// `len` zeros. Errors: [`GpuError::HostMemory`]: there is no memory, or the driver cannot lock it.
    pub(crate) fn new(context: &Arc<CudaContext>, len: usize) -> GpuResult<Self> {
        bind(context, "locking host memory")?;
        let asked = len.saturating_mul(size_of::<T>());
        let refused = || GpuError::HostMemory { asked: asked as u64 };
        let align = if asked < LARGE_PAGE { PAGE } else { LARGE_PAGE };
        let size = asked.max(1).checked_next_multiple_of(PAGE).ok_or_else(refused)?;
        let layout = Layout::from_size_align(size, align).map_err(|_| refused())?;
        // SAFETY: the size is not 0.
        let pointer = unsafe { alloc(layout) };
        if pointer.is_null() {
            return Err(refused());
        }
        if align == LARGE_PAGE {
            // SAFETY: the range was just allocated and begins with a page; the advice changes no byte of it. If it is refused, pages stay small.
            let _ = unsafe { rustix::mm::madvise(pointer.cast(), size, rustix::mm::Advice::LinuxHugepage) };
        }
        // SAFETY: `size` bytes were allocated there, and need not be initialized for this type.
        let bytes = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<MaybeUninit<u8>>(), size) };
        // One thread would take longer to fault in the pages than the driver takes to lock them. Not threads of a pool: while this task waited, its
        // thread could begin another task that waits for a lock of the caller: a deadlock. If the system refuses threads, this one does their work.
        let threads = trimill_system::machine::cores();
        let parts = Mutex::new(bytes.chunks_mut(ZEROED.max(size.div_ceil(threads))));
        let next = || lock(&parts).next();
        let fill = || {
            while let Some(part) = next() {
                part.fill(MaybeUninit::new(0));
            }
        };
        std::thread::scope(|scope| {
            let more = lock(&parts).len().saturating_sub(1);
            let _ = (0..more).try_for_each(|_| Builder::new().spawn_scoped(scope, fill).map(drop));
            fill();
        });
        // SAFETY: the range is that allocation, which is unregistered before it is freed.
        let registered =
            unsafe { sys::cuMemHostRegister_v2(pointer.cast::<c_void>(), size, sys::CU_MEMHOSTREGISTER_PORTABLE) };
        if let Err(error) = registered.result() {
            // SAFETY: allocated above with this layout.
            unsafe { dealloc(pointer, layout) };
            return Err(unless_lost(error, refused()));
        }
        Ok(Self { context: Arc::clone(context), pointer: pointer.cast(), len, layout })
    }
}

impl<T> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised elements, aligned to a page, owned by `self`.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }
}

impl<T> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // A device that does not answer may still copy from there, so the memory is not freed.
        if bind(&self.context, "unlocking host memory").is_err() {
            return;
        }
        // SAFETY: registered in `new`. Copies from it are done: `StagingBuffers` waits for its own, and calls that borrow slices for theirs.
        let unregistered = unsafe { sys::cuMemHostUnregister(self.pointer.cast::<c_void>()) };
        if unregistered == sys::CUresult::CUDA_SUCCESS {
            // SAFETY: allocated in `new` with this layout, freed once.
            unsafe { dealloc(self.pointer.cast(), self.layout) };
        }
    }
}
