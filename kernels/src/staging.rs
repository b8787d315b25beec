//! Page-locked host memory for copies of pageable bytes to and from the device, which copies at full speed only with such memory. Threads fill or
//! empty one of a few buffers while the device copies from or to another; an event says when a buffer's last copy is done. The memory is not
//! write-combined, as reading that is very slow.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{GpuResult, driver};
use crate::pinned::Pinned;
use crate::waiting::Waiting;

const BUFFER: usize = 8 << 20;

const BUFFERS: usize = 4;

/// Page-locked host memory that a [`crate::Gpu`] holds.
pub const BYTES: u64 = (BUFFER * BUFFERS) as u64;

/// Larger pieces are worth a copy of their own, or several threads.
pub(crate) const ALONE: usize = 1 << 20;

/// The most threads that fill a buffer: a few saturate the memory bandwidth. They are kept, as starting them takes as long as a fill.
const THREADS: usize = 8;

const SHARE: usize = 256 << 10;

/// The buffers, each with an event that is reached when it is free.
#[derive(Debug)]
pub(crate) struct StagingBuffers {
    stream: Arc<CudaStream>,
    /// For the device's other waits, too.
    pub(crate) waiting: Waiting,
    buffers: Vec<(Pinned<u8>, CudaEvent)>,
    next: usize,
    direct: bool,
    /// `None` if they cannot be started: then the calling thread copies.
    threads: Option<ThreadPool>,
}

impl StagingBuffers {
    pub(crate) fn new(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) -> GpuResult<Self> {
        let event = || context.new_event(None);
        let buffer = |_| Ok((Pinned::new(context, BUFFER)?, event().map_err(driver("making an event"))?));
        let buffers = (0..BUFFERS).map(buffer).collect::<GpuResult<_>>()?;
        let waiting = Waiting::new(context)?;
        Ok(Self { stream: Arc::clone(stream), waiting, buffers, next: 0, direct: false, threads: threads() })
    }

    /// Enqueues copies of `pieces`, one after another, to device memory at `to`. Pieces in page-locked memory are copied directly.
    ///
    /// # Safety
    /// As [`crate::engine::Engine::copy`].
    pub(crate) unsafe fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> GpuResult<()> {
        let mut to = to;
        let mut filled = 0;
        for piece in pieces {
            if piece.len() > ALONE && is_pinned(piece) {
                to = self.send(to, filled)?;
                filled = 0;
                self.direct = true;
                // SAFETY: as in `send`; the caller promised that the piece does not change, and page-locked memory is never moved.
                unsafe { result::memcpy_htod_async(to, piece, self.stream.cu_stream()) }
                    .map_err(driver("copying to the device"))?;
                to += piece.len() as u64;
                continue;
            }
            let mut rest = *piece;
            while !rest.is_empty() {
                if filled == 0 {
                    // Free once its last copy is done; an event that was never recorded counts as reached.
                    self.waiting.for_event(&self.buffers[self.next].1, "waiting for a copy to the device")?;
                }
                let (now, later) = rest.split_at(rest.len().min(BUFFER - filled));
                copy_together(self.threads.as_ref(), &mut self.buffers[self.next].0[filled..filled + now.len()], now);
                filled += now.len();
                rest = later;
                if filled == BUFFER {
                    to = self.send(to, filled)?;
                    filled = 0;
                }
            }
        }
        self.send(to, filled)?;
        Ok(())
    }

    pub(crate) fn sent(&mut self) -> GpuResult<()> {
        if std::mem::take(&mut self.direct) {
            self.waiting.for_stream(&self.stream, "copying to the device")?;
        }
        Ok(())
    }

    /// Copies device memory at `from`, which no stream writes now, to `to`, and waits for it.
    pub(crate) fn receive(&mut self, from: u64, to: &mut [u8]) -> GpuResult<()> {
        let mut chunks = to.chunks_mut(BUFFER).enumerate();
        let mut copied = VecDeque::new();
        loop {
            let next = if copied.len() < BUFFERS { chunks.next() } else { None };
            if let Some((chunk, to)) = next {
                let (buffer, event) = &mut self.buffers[self.next];
                self.waiting.for_event(event, "waiting for a copy to the device")?;
                // SAFETY: callers pass a piece of the arena. The buffer is not used before `event` is reached, nor freed before the stream is idle.
                unsafe {
                    let from = from + (chunk * BUFFER) as u64;
                    result::memcpy_dtoh_async(&mut buffer[..to.len()], from, self.stream.cu_stream())
                }
                .and_then(|()| event.record(&self.stream))
                .map_err(driver("copying from the device"))?;
                copied.push_back((self.next, to));
                self.next = (self.next + 1) % BUFFERS;
            } else if let Some((buffer, to)) = copied.pop_front() {
                let (buffer, event) = &self.buffers[buffer];
                self.waiting.for_event(event, "copying from the device")?;
                copy_together(self.threads.as_ref(), to, &buffer[..to.len()]);
            } else {
                return Ok(());
            }
        }
    }

    /// Enqueues the copy of the current buffer's first bytes and switches to the next buffer.
    fn send(&mut self, to: u64, filled: usize) -> GpuResult<u64> {
        if filled > 0 {
            let (buffer, event) = &self.buffers[self.next];
            // SAFETY: the buffer is not written again before `event` is reached, nor freed before the stream is idle (`Drop`).
            // Callers make sure that `to` is a piece of the arena, at least as long as what is copied.
            unsafe { result::memcpy_htod_async(to, &buffer[..filled], self.stream.cu_stream()) }
                .and_then(|()| event.record(&self.stream))
                .map_err(driver("copying to the device"))?;
            self.next = (self.next + 1) % BUFFERS;
        }
        Ok(to + filled as u64)
    }
}

impl Drop for StagingBuffers {
    fn drop(&mut self) {
        // The buffers are freed next. Fails only if the device is lost, which then copies nothing any more.
        let _ = self.waiting.for_stream(&self.stream, "copying to the device");
    }
}

pub(crate) fn is_pinned(bytes: &[u8]) -> bool {
    let mut kind: u32 = 0;
    let mut which = [sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE];
    let mut ask = |at: *const u8, kind: &mut u32| {
        *kind = 0;
        let mut into = [std::ptr::from_mut(kind).cast::<c_void>()];
        // SAFETY: one attribute, a 32-bit number; the address is only looked up. For memory unknown to the driver this call leaves the attribute
        // unset; the call for a single attribute would fail, which compute-sanitizer reports.
        let answer = unsafe { sys::cuPointerGetAttributes(1, which.as_mut_ptr(), into.as_mut_ptr(), at as u64) };
        answer == sys::CUresult::CUDA_SUCCESS && *kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32
    };
    let ends = bytes.as_ptr_range();
    !bytes.is_empty() && ask(ends.start, &mut kind) && ask(ends.end.wrapping_sub(1), &mut kind)
}

fn threads() -> Option<ThreadPool> {
    let many = trimill_system::machine::cores().min(THREADS);
    ThreadPoolBuilder::new().num_threads(many).thread_name(|i| format!("staging-{i}")).build().ok()
}

/// Copies by several threads, as one reaches only a fraction of the bus bandwidth.
fn copy_together(threads: Option<&ThreadPool>, to: &mut [u8], from: &[u8]) {
    let Some(threads) = threads.filter(|_| from.len() > ALONE) else { return to.copy_from_slice(from) };
    let copy = |(to, from): (&mut [u8], &[u8])| to.copy_from_slice(from);
    threads.install(|| to.par_chunks_mut(SHARE).zip(from.par_chunks(SHARE)).for_each(copy));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_copy_every_byte() {
        let pool = threads();
        assert!(pool.is_some());
        for len in [0, 1, ALONE, ALONE + 1, 3 * ALONE + 7] {
            let from: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8).collect();
            let mut to = vec![0; len];
            for threads in [None, pool.as_ref()] {
                to.fill(255);
                copy_together(threads, &mut to, &from);
                assert!(to == from, "{len}");
            }
        }
    }
}
