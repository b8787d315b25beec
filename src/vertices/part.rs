//! The counts at vertices of one partition, kept in a run directory: `part-00012.vertices`.
//!
//! A [`part_file`](crate::part_file) of magic `TRIMVERT` and version 2; its size is the vertices of the graph (u32). The key of a record
//! is a block of 65,536 ranks (u32), and its counts are those at all ranks of the block, each a u64. A block may have several records,
//! which add up.

use std::path::Path;

use rayon::ThreadPool;

use super::totals::{BLOCK, CountedRanks, Totals};
use crate::part_file::{Owner, PartFileKind, Verified, Writer};
use trimill_system::bytes::Bytes;
use trimill_system::error::Result;

pub const SUFFIX: &str = "vertices";

const KIND: PartFileKind =
    PartFileKind { magic: b"TRIMVERT", version: 2, suffix: SUFFIX, longest_frame: 2 * 8 * BLOCK };

/// The most bytes of a file with the counts at `vertices` vertices of a partition: as a rule it takes far less, since counts compress.
pub fn bytes_at_most(vertices: u64) -> Bytes {
    Bytes(8 * vertices + (vertices / u64::from(BLOCK) + 2) * 64)
}

/// What the file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexPartKey {
    pub fingerprint: u128,
    pub part: u32,
    /// Vertices of the graph.
    pub vertices: u32,
}

impl VertexPartKey {
    fn owner(&self) -> Owner {
        let Self { fingerprint, part, vertices } = *self;
        Owner { kind: &KIND, fingerprint, part, size: vertices.to_le_bytes().to_vec() }
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn path(&self, dir: &Path) -> std::path::PathBuf {
        self.owner().path(dir)
    }

    fn ranks(&self, block: u32) -> usize {
        (self.vertices - block * BLOCK).min(BLOCK) as usize
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct VertexPartWriter {
    key: VertexPartKey,
    file: Writer,
}

impl VertexPartWriter {
    /// Begins the file in `dir`.
    pub fn new(dir: &Path, key: VertexPartKey) -> Result<Self> {
        Ok(Self { key, file: Writer::new(dir, key.owner())? })
    }

    /// Adds counts. Runs in the current thread pool.
    pub fn add(&mut self, places: CountedRanks<'_>, counts: &[u64]) -> Result<()> {
        let (key, blocks) = (self.key, places.blocks(counts.len()).collect::<Vec<_>>());
        self.file.add(&blocks, |(block, range)| {
            let (places, mut all) = (places.slice(range.clone()), vec![0u64; key.ranks(*block)]);
            let of_block = counts[range.clone()].iter().enumerate();
            of_block.for_each(|(i, &count)| all[(places.at(i) - block * BLOCK) as usize] = count.to_le());
            Some((block.to_le_bytes(), all))
        })
    }

    /// Completes the file; when this returns, it survives a loss of power.
    pub fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

/// The counts of a partition, verified.
#[derive(Debug)]
pub struct VertexPartCounts {
    key: VertexPartKey,
    /// The keys are blocks.
    file: Verified<u32>,
}

impl VertexPartCounts {
    /// Opens and verifies the file in `dir`; `None` where there is none.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] where it is damaged, or belongs to something else.
    pub fn open(dir: &Path, key: VertexPartKey) -> Result<Option<Self>> {
        let block = |block| {
            let block = u32::from_le_bytes(block);
            (u64::from(block) * u64::from(BLOCK) < key.vertices.into()).then_some(block)
        };
        Ok(Verified::open(dir, &key.owner(), block)?.map(|file| Self { key, file }))
    }

    /// Adds them to `totals`.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] where the file changed since it was opened.
    pub fn add_to(&self, totals: &Totals, pool: &ThreadPool) -> Result<()> {
        self.file.each(
            |&block| self.key.ranks(block),
            |block, counts: &mut [u64]| {
                counts.iter_mut().for_each(|count| *count = u64::from_le(*count));
                totals.add(pool, CountedRanks::From(block * BLOCK), counts)
            },
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::part_file::tests::only_as_it_was;
    use trimill_system::threads;

    #[test]
    fn counts_come_back_and_what_is_damaged_or_foreign_does_not() {
        let (dir, pool) = (tempfile::tempdir().unwrap(), threads::pool(None).unwrap());
        let key = VertexPartKey { fingerprint: 1 << 100, part: 3, vertices: 2 * BLOCK + 5 };
        assert!(VertexPartCounts::open(dir.path(), key).unwrap().is_none());
        let mut writer = VertexPartWriter::new(dir.path(), key).unwrap();
        let counts: Vec<u64> = (0..u64::from(key.vertices)).map(|rank| rank % 3 * (1 << 20)).collect();
        writer.add(CountedRanks::From(0), &counts).unwrap();
        let ranks = [4, BLOCK - 1, BLOCK, 2 * BLOCK + 4];
        writer.add(CountedRanks::List(&ranks), &[1, 2, 3, u64::MAX / 2]).unwrap();
        assert!(!key.path(dir.path()).exists(), "the name is given in the end");
        writer.finish().unwrap();

        let (totals, expected) = (Totals::in_memory(key.vertices), Totals::in_memory(key.vertices));
        VertexPartCounts::open(dir.path(), key).unwrap().unwrap().add_to(&totals, &pool).unwrap();
        expected.add(&pool, CountedRanks::From(0), &counts).unwrap();
        expected.add(&pool, CountedRanks::List(&ranks), &[1, 2, 3, u64::MAX / 2]).unwrap();
        let all = |totals: &Totals| totals.each_block(|_, sums| Ok(sums.to_vec())).unwrap().concat();
        assert_eq!(all(&totals), all(&expected));

        let open = |key| Ok(VertexPartCounts::open(dir.path(), key)?.is_some());
        only_as_it_was(&key.path(dir.path()), || open(key));
        for other in [VertexPartKey { fingerprint: 0, ..key }, VertexPartKey { vertices: BLOCK, ..key }] {
            assert!(open(other).is_err());
        }
    }
}
