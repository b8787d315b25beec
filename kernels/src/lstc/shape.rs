//! The method, by its two parameters: the shape of its blocks.

use crate::error::{GpuError, GpuResult};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lstc {
    block_threads: u32,
    tile: u32,
}

impl Default for Lstc {
    /// The best of the paper's Figure 7.
    fn default() -> Self {
        Self { block_threads: 128, tile: 128 }
    }
}

impl Lstc {
    /// `block_threads` is a multiple of 32 from 32 to 1024; `tile` is 0 (no shared memory) or 64 to 1024.
    pub fn new(block_threads: u32, tile: u32) -> GpuResult<Self> {
        if !(32..=1024).contains(&block_threads) || !block_threads.is_multiple_of(32) {
            let found =
                format!("a block cannot have {block_threads} threads; expected a multiple of 32 from 32 to 1024");
            return Err(GpuError::Shape(found));
        }
        if tile != 0 && !(64..=1024).contains(&tile) {
            return Err(GpuError::Shape(format!(
                "a tile cannot hold {tile} vertices; expected 0 (none) or 64 to 1024"
            )));
        }
        Ok(Self { block_threads, tile })
    }

    pub fn block_threads(self) -> u32 {
        self.block_threads
    }

    /// Vertices in a tile; 0 if rows are searched in global memory.
    pub fn tile(self) -> u32 {
        self.tile
    }

    /// Dynamic shared memory of a block, in bytes: beginnings and lengths of as many rows as there are threads, and the tile.
    pub(crate) fn shared(self) -> u32 {
        12 * self.block_threads + 4 * self.tile
    }

    /// As [`Self::shared`], with a count for each row and for each vertex of the tile, if triangles are counted at vertices or on arcs.
    pub(crate) fn shared_with_details(self) -> u32 {
        self.shared() + 4 * (self.block_threads + self.tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_bounds() {
        for (threads, tile) in [(32, 0), (1024, 1024), (96, 64), (128, 100)] {
            assert!(Lstc::new(threads, tile).is_ok_and(|method| method.shared_with_details() <= 48 << 10));
        }
        for (threads, tile) in [(0, 0), (16, 128), (100, 128), (1056, 128), (128, 32), (128, 1025)] {
            assert!(matches!(Lstc::new(threads, tile), Err(GpuError::Shape(_))), "{threads} {tile}");
        }
    }
}
