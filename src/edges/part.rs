//! The counts on edges of one partition, kept in a run directory: `part-00012.edges`.
//!
//! A [`part_file`](crate::part_file) of magic `TRIMEDGE` and version 1; its size is the arcs of the graph (u64). The key of a record is
//! its first arc (u64) and its length (u32), at most 262,144; its counts are those at so many consecutive arcs, each a u32. Records
//! whose counts are all zero are left out; those at an arc add up.

use std::path::Path;

use super::sums::{BLOCK, EdgeSums};
use crate::part_file::{Owner, PartFileKind, Verified, Writer};
use trimill_system::bytes::Bytes;
use trimill_system::error::Result;

pub const SUFFIX: &str = "edges";

const KIND: PartFileKind =
    PartFileKind { magic: b"TRIMEDGE", version: 1, suffix: SUFFIX, longest_frame: 2 * 4 * BLOCK as u32 };

/// The most bytes of a file with the counts at `arcs` arcs, unless they are scattered: as a rule it takes far less, since counts compress.
pub fn bytes_at_most(arcs: u64) -> Bytes {
    Bytes(4 * arcs + (arcs / BLOCK + 2) * 64)
}

/// What the file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgePartKey {
    pub fingerprint: u128,
    pub part: u32,
    /// Arcs of the graph.
    pub arcs: u64,
}

impl EdgePartKey {
    fn owner(&self) -> Owner {
        let Self { fingerprint, part, arcs } = *self;
        Owner { kind: &KIND, fingerprint, part, size: arcs.to_le_bytes().to_vec() }
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn path(&self, dir: &Path) -> std::path::PathBuf {
        self.owner().path(dir)
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct EdgePartWriter(Writer);

impl EdgePartWriter {
    /// Begins the file in `dir`.
    pub fn new(dir: &Path, key: EdgePartKey) -> Result<Self> {
        Writer::new(dir, key.owner()).map(Self)
    }

    /// Adds the counts at consecutive arcs from `first` on. Runs in the current thread pool.
    pub fn add(&mut self, first: u64, counts: &[u32]) -> Result<()> {
        let records: Vec<_> = (first..).step_by(BLOCK as usize).zip(counts.chunks(BLOCK as usize)).collect();
        self.0.add(&records, |(first, counts)| {
            let mut key = [0; 12];
            key[..8].copy_from_slice(&first.to_le_bytes());
            key[8..].copy_from_slice(&(counts.len() as u32).to_le_bytes());
            let stored = || counts.iter().map(|count| count.to_le()).collect::<Vec<_>>();
            counts.iter().any(|&count| count > 0).then(|| (key, stored()))
        })
    }

    /// Completes the file; when this returns, it survives a loss of power.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

/// The counts of a partition, verified. The key of a record: its first arc, and its length.
#[derive(Debug)]
pub struct EdgePartCounts(Verified<(u64, usize)>);

impl EdgePartCounts {
    /// Opens and verifies the file in `dir`; `None` where there is none.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] where it is damaged, or belongs to something else.
    pub fn open(dir: &Path, key: EdgePartKey) -> Result<Option<Self>> {
        let arcs = |bytes: [u8; 12]| {
            let [low, high, len]: [u32; 3] = bytemuck::cast::<_, [u32; 3]>(bytes).map(u32::from_le);
            let (first, len) = (u64::from(low) | u64::from(high) << 32, u64::from(len));
            let fits = len <= BLOCK && first.checked_add(len).is_some_and(|end| end <= key.arcs);
            fits.then_some((first, len as usize))
        };
        Ok(Verified::open(dir, &key.owner(), arcs)?.map(Self))
    }

    /// Adds them to `sums`. Runs in the current thread pool.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] where the file changed since it was opened.
    pub fn add_to(&self, sums: &EdgeSums) -> Result<()> {
        self.0.each(
            |&(_, len)| len,
            |&(first, _), counts: &mut [u32]| {
                counts.iter_mut().for_each(|count| *count = u32::from_le(*count));
                sums.add(first, counts)
            },
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::part_file::tests::only_as_it_was;

    #[test]
    fn counts_come_back_and_what_is_damaged_or_foreign_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let key = EdgePartKey { fingerprint: 1 << 100, part: 12, arcs: 5 * BLOCK + 5 };
        assert!(EdgePartCounts::open(dir.path(), key).unwrap().is_none());
        let mut writer = EdgePartWriter::new(dir.path(), key).unwrap();
        let (sums, expected) = (EdgeSums::in_memory(key.arcs), EdgeSums::in_memory(key.arcs));
        let many: Vec<u32> = (0..2 * BLOCK as u32 + 100).map(|arc| arc % 5 * (arc % 7)).collect();
        for (first, counts) in [(3, &many[..]), (4, &[7, u32::MAX / 2]), (key.arcs - 2, &[0, 9]), (0, &[])] {
            writer.add(first, counts).unwrap();
            expected.add(first, counts).unwrap();
        }
        let path = dir.path().join("part-00012.edges");
        assert!(!path.exists(), "the name is given in the end");
        writer.finish().unwrap();
        EdgePartCounts::open(dir.path(), key).unwrap().unwrap().add_to(&sums).unwrap();
        let all = |sums: &EdgeSums| {
            let mut all = vec![0; key.arcs as usize];
            sums.read(0, &mut all).unwrap();
            all
        };
        assert!(all(&sums) == all(&expected));

        let open = |key| Ok(EdgePartCounts::open(dir.path(), key)?.is_some());
        for other in [EdgePartKey { fingerprint: 0, ..key }, EdgePartKey { arcs: BLOCK, ..key }] {
            assert!(open(other).is_err());
        }
        // Shorter, so that fewer bytes are flipped.
        let mut writer = EdgePartWriter::new(dir.path(), key).unwrap();
        writer.add(BLOCK - 3, &many[..500]).unwrap();
        writer.finish().unwrap();
        only_as_it_was(&path, || open(key));
    }

    #[test]
    fn counts_that_are_all_zero_take_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let key = EdgePartKey { fingerprint: 5, part: 0, arcs: 1 << 33 };
        let mut writer = EdgePartWriter::new(dir.path(), key).unwrap();
        let mut counts = vec![0; 3 * BLOCK as usize];
        counts[2 * BLOCK as usize] = 1;
        writer.add(1 << 32, &counts).unwrap();
        writer.finish().unwrap();
        assert!(key.path(dir.path()).metadata().unwrap().len() < 1000);
        let sums = EdgeSums::in_memory(key.arcs);
        EdgePartCounts::open(dir.path(), key).unwrap().unwrap().add_to(&sums).unwrap();
        let mut read = [9; 3];
        sums.read((1 << 32) + 2 * BLOCK - 1, &mut read).unwrap();
        assert_eq!((read, sums.total().unwrap()), ([0, 1, 0], 1));
    }
}
