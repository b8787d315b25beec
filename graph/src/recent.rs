//! A cache of decoded file blocks of which only some rows were read. A small row block begins in the file block in which the previous one ended:
//! without the cache it would be decoded again. Two file blocks are kept, one for row blocks and one for resident rows read at the same time. They
//! take at most 2 MiB: a file block of several rows has at most 2^17 rows and arcs; those of a single row are not kept.

use std::sync::{Arc, Mutex};

use trimill_system::lock;

const KEPT: usize = 2;

#[derive(Debug)]
pub(super) struct DecodedBlock {
    /// The end of each row, in arcs from the first arc of the block.
    pub(super) ends: Vec<u64>,
    pub(super) successors: Vec<u32>,
}

/// Most recently used first.
#[derive(Debug, Default)]
pub(super) struct RecentBlocks(Mutex<Vec<(usize, Arc<DecodedBlock>)>>);

/// A clone is empty: a copy of the graph keeps the blocks that it decodes itself.
impl Clone for RecentBlocks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl RecentBlocks {
    pub(super) fn get(&self, block: usize) -> Option<Arc<DecodedBlock>> {
        let mut recent = lock(&self.0);
        let place = recent.iter().position(|(of, _)| *of == block)?;
        recent[..=place].rotate_right(1);
        Some(Arc::clone(&recent[0].1))
    }

    /// Evicts the least recently used block if there is no room for one more.
    pub(super) fn make_room(&self) {
        lock(&self.0).truncate(KEPT - 1);
    }

    pub(super) fn insert(&self, block: usize, rows: Arc<DecodedBlock>) {
        let mut recent = lock(&self.0);
        recent.retain(|(of, _)| *of != block);
        recent.insert(0, (block, rows));
        recent.truncate(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_that_were_used_last_are_kept() {
        let recent = RecentBlocks::default();
        let rows = |n: u32| Arc::new(DecodedBlock { ends: vec![1], successors: vec![n] });
        let found = |block| recent.get(block).map(|rows| rows.successors[0]);
        recent.insert(3, rows(30));
        recent.insert(5, rows(50));
        assert_eq!((found(3), found(5), found(3), found(4)), (Some(30), Some(50), Some(30), None));
        recent.insert(7, rows(70));
        assert_eq!((found(5), found(3), found(7)), (None, Some(30), Some(70)));
        recent.make_room();
        assert_eq!((found(3), found(7)), (None, Some(70)));
    }
}
