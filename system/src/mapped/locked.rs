//! Values in one allocation, divided into blocks with a lock each. Blocks that were allocated one by one would be too small for large pages.

use std::cell::UnsafeCell;
use std::sync::RwLock;

use bytemuck::Zeroable;

use super::zeros;
use crate::{Bytes, unpoisoned};

/// Values in blocks of equal length, the last one maybe shorter; zeros at first, which take no memory before they are touched.
#[derive(Debug, Default)]
pub struct LockedBlocks<T> {
    values: Vec<UnsafeCell<T>>,
    block: usize,
    locks: Vec<RwLock<()>>,
}

// SAFETY: a value is reached only under the lock of its block, as in an `RwLock<T>`.
unsafe impl<T: Send + Sync> Sync for LockedBlocks<T> {}

impl<T: Zeroable> LockedBlocks<T> {
    pub fn zeros(len: usize, block: usize) -> Self {
        let locks = (0..len.div_ceil(block.max(1))).map(|_| RwLock::default()).collect();
        Self { values: zeros(len), block, locks }
    }

    pub fn blocks(&self) -> usize {
        self.locks.len()
    }

    pub fn read<R>(&self, block: usize, read: impl FnOnce(&[T]) -> R) -> R {
        let _locked = unpoisoned(self.locks[block].read());
        let cells = self.cells(block);
        // SAFETY: the block is locked, so nothing writes to it. `UnsafeCell<T>` has the layout of `T`.
        read(unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) })
    }

    pub fn change<R>(&self, block: usize, change: impl FnOnce(&mut [T]) -> R) -> R {
        let _locked = unpoisoned(self.locks[block].write());
        let cells = self.cells(block);
        // SAFETY: the block is locked, so nothing else reads or writes it, and its cells allow to write through a shared reference.
        change(unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), cells.len()) })
    }

    pub fn bytes(&self) -> Bytes {
        Bytes::of::<T>(self.values.capacity() as u64) + Bytes::of::<RwLock<()>>(self.locks.capacity() as u64)
    }

    fn cells(&self, block: usize) -> &[UnsafeCell<T>] {
        let first = block * self.block;
        &self.values[first..self.values.len().min(first + self.block)]
    }
}
