//! Page-locked buffers of row blocks of one GPU, reused for later partitions: allocating such memory is slow.

use std::sync::{Arc, Mutex};

use trimill_kernels::{Gpu, Pinned};

use trimill_counting::Lent;
use trimill_system::lock;

/// For fewer words, copying through the GPU's own buffers is faster than allocating page-locked memory.
const FEWEST_WORDS: u64 = 1 << 18;

#[derive(Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<Pinned<u32>>>>);

struct Borrowed {
    memory: Option<Pinned<u32>>,
    idle: Arc<Mutex<Vec<Pinned<u32>>>>,
}

impl Buffers {
    /// Allocates `many` idle buffers of `words`, or as many as memory can be locked for.
    pub(super) fn stock(&self, gpu: &Gpu, many: u64, words: u64) {
        lock(&self.0).extend((0..many).map_while(|_| gpu.pinned(words as usize).ok()));
    }

    /// An idle buffer of at least `words`, else a new one. None if no memory can be locked, or if that would not pay off.
    pub(super) fn lend(&self, gpu: &Gpu, words: u64) -> Option<Box<dyn Lent>> {
        if words < FEWEST_WORDS {
            return None;
        }
        // Rounded up, so that blocks of about the same size share buffers.
        let words = words.next_multiple_of(FEWEST_WORDS);
        let mut idle = lock(&self.0);
        let large_enough = idle.iter().enumerate().filter(|(_, memory)| memory.len() as u64 >= words);
        let memory = match large_enough.min_by_key(|(_, memory)| memory.len()).map(|(place, _)| place) {
            Some(place) => idle.swap_remove(place),
            None => {
                // Frees one that is too small first, so that buffers do not accumulate.
                idle.pop();
                match gpu.pinned(words as usize) {
                    Ok(memory) => memory,
                    Err(error) => {
                        tracing::debug!("row blocks are copied from pageable memory: {error}");
                        return None;
                    }
                }
            }
        };
        Some(Box::new(Borrowed { memory: Some(memory), idle: Arc::clone(&self.0) }))
    }
}

impl Lent for Borrowed {
    fn words(&self) -> &[u32] {
        self.memory.as_deref().unwrap_or_default()
    }

    fn words_mut(&mut self) -> &mut [u32] {
        self.memory.as_deref_mut().unwrap_or_default()
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        lock(&self.idle).extend(self.memory.take());
    }
}
