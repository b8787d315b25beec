//! Memory for a run of numbers: the program's own, or lent by a device that reads it without an intermediate copy.

use std::fmt;
use std::ops::{Deref, DerefMut};

use trimill_system::mapped::try_zeros;
use trimill_system::{Error, Result};

/// Lent memory of a fixed number of words; returned on drop.
pub trait Lent: Send + Sync {
    fn words(&self) -> &[u32];
    fn words_mut(&mut self) -> &mut [u32];
}

#[derive(Default)]
pub struct WordBuffer {
    memory: WordMemory,
    len: usize,
}

enum WordMemory {
    Own(Vec<u32>),
    Lent(Box<dyn Lent>),
}

impl Default for WordMemory {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl WordBuffer {
    pub fn lent(memory: Box<dyn Lent>) -> Self {
        Self { memory: WordMemory::Lent(memory), len: 0 }
    }

    /// Sets the length; contents are unspecified. If memory is too small, `len` words replace it. Errors: `Kind::Resource`; the buffer is then empty.
    pub fn resize(&mut self, len: u64) -> Result<()> {
        self.len = 0;
        let refused = || {
            Error::resource(format!("no memory for {len} numbers of 4 bytes"))
                .advice("raise the memory limit, or use smaller row blocks or more partitions")
        };
        let words = usize::try_from(len).map_err(|_| refused())?;
        if words > self.capacity() {
            // The old memory is freed first, so that both never exist at the same time.
            self.memory = WordMemory::default();
            // Fresh zeroed pages: the threads that fill them touch them first, in parallel.
            self.memory = WordMemory::Own(try_zeros(words).ok_or_else(refused)?);
        }
        self.len = words;
        Ok(())
    }

    /// Appends words; allocates memory of its own if there is no room.
    pub fn extend_from_slice(&mut self, words: &[u32]) {
        let (len, end) = (self.len, self.len + words.len());
        if end > self.capacity() {
            let mut own = Vec::with_capacity(end.next_power_of_two());
            own.extend_from_slice(self);
            own.resize(own.capacity(), 0);
            self.memory = WordMemory::Own(own);
        }
        self.len = end;
        self[len..].copy_from_slice(words);
    }

    /// Empties it, and frees memory of its own.
    pub fn give_back(&mut self) {
        self.len = 0;
        // Lent memory is not used for anything else until all row blocks were streamed.
        if let WordMemory::Own(own) = &mut self.memory {
            *own = Vec::new();
        }
    }

    /// The most words that fit without a new allocation.
    pub fn capacity(&self) -> usize {
        match &self.memory {
            WordMemory::Own(own) => own.len(),
            WordMemory::Lent(lent) => lent.words().len(),
        }
    }
}

impl Deref for WordBuffer {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match &self.memory {
            WordMemory::Own(own) => &own[..self.len],
            WordMemory::Lent(lent) => &lent.words()[..self.len],
        }
    }
}

impl DerefMut for WordBuffer {
    fn deref_mut(&mut self) -> &mut [u32] {
        match &mut self.memory {
            WordMemory::Own(own) => &mut own[..self.len],
            WordMemory::Lent(lent) => &mut lent.words_mut()[..self.len],
        }
    }
}

impl From<Vec<u32>> for WordBuffer {
    fn from(own: Vec<u32>) -> Self {
        Self { len: own.len(), memory: WordMemory::Own(own) }
    }
}

impl Clone for WordBuffer {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl PartialEq for WordBuffer {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for WordBuffer {}

impl fmt::Debug for WordBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Lent memory whose `Arc` shows whether it was returned.
    impl Lent for (Vec<u32>, Arc<()>) {
        fn words(&self) -> &[u32] {
            &self.0
        }
        fn words_mut(&mut self) -> &mut [u32] {
            &mut self.0
        }
    }

    #[test]
    fn memory_is_used_again_as_long_as_it_suffices() {
        let references = Arc::new(());
        let mut words = WordBuffer::lent(Box::new((vec![0_u32; 10], Arc::clone(&references))));
        for len in [10, 0, 7] {
            words.resize(len).unwrap();
            words.fill(len as u32);
            assert_eq!(*words, vec![len as u32; len as usize]);
        }
        assert_eq!((words.capacity(), Arc::strong_count(&references)), (10, 2));
        words.resize(11).unwrap();
        assert_eq!((words.len(), words.capacity(), Arc::strong_count(&references)), (11, 11, 1));
        assert!(words.resize(1 << 60).is_err());
        assert!(words.is_empty());
    }
}
