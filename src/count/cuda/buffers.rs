//! Page-locked row block buffers of one GPU, which come back to it after each partition: taking such memory is slow.

use std::sync::{Arc, Mutex};

use trimill_kernels::{Gpu, Pinned};

use crate::lock;
use crate::partition::words::Lent;

/// Row blocks of fewer words are copied faster through the GPU's own buffers than page-locked memory is taken for them.
const FEWEST_WORDS: u64 = 1 << 18;

/// Buffers that wait.
#[derive(Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<Pinned<u32>>>>);

/// A buffer that somebody has.
struct Away {
    memory: Option<Pinned<u32>>,
    home: Arc<Mutex<Vec<Pinned<u32>>>>,
}

impl Buffers {
    /// Memory for `words`: some that waits, if it is large enough, else new. None where there is no such memory, or where it
    /// would not pay.
    pub(super) fn lend(&self, gpu: &Gpu, words: u64) -> Option<Box<dyn Lent>> {
        if words < FEWEST_WORDS {
            return None;
        }
        // Blocks of about the same size share buffers.
        let words = words.next_multiple_of(FEWEST_WORDS);
        let mut waiting = lock(&self.0);
        let large_enough = waiting.iter().enumerate().filter(|(_, memory)| memory.len() as u64 >= words);
        let memory = match large_enough.min_by_key(|(_, memory)| memory.len()).map(|(place, _)| place) {
            Some(place) => waiting.swap_remove(place),
            None => {
                // One that is too small goes first, so that buffers do not add up.
                waiting.pop();
                match gpu.pinned(words as usize) {
                    Ok(memory) => memory,
                    Err(error) => {
                        tracing::debug!("row blocks pass through pageable memory: {error}");
                        return None;
                    }
                }
            }
        };
        Some(Box::new(Away { memory: Some(memory), home: Arc::clone(&self.0) }))
    }
}

impl Lent for Away {
    fn words(&self) -> &[u32] {
        self.memory.as_deref().unwrap_or_default()
    }

    fn words_mut(&mut self) -> &mut [u32] {
        self.memory.as_deref_mut().unwrap_or_default()
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        lock(&self.home).extend(self.memory.take());
    }
}
