//! Sums of counts by key: the triangles at each vertex, by rank, and on each edge, by the place of its arc in rank order. Input: counts of
//! partitions. Output: the sum at each key ([`blocks`]), and the counts of a partition in a file ([`part`]). A triangle adds 1 at its three corners
//! and on its three edges, in the one partition where it is counted: the sums at all vertices, and those on all edges, are three times the triangles.

pub mod blocks;
pub mod part;

use std::fmt::Debug;
use std::ops::Range;

use bytemuck::Pod;

pub use blocks::Sums;

pub trait SumKey: Debug + Send + Sync + 'static {
    type Count: Pod + Debug + PartialEq + Into<u64> + Send + Sync;
    /// Keys whose sums are locked, read and written together; the most keys of a record of a file.
    const BLOCK: u64;
    /// The most eighths of the host's memory that sums take; larger sums are in a file.
    const EIGHTHS: u64;
    /// The magic of the files with the counts of partitions, and their suffix.
    const MAGIC: &'static [u8; 8];
    const SUFFIX: &'static str;

    /// A sum overflows only if a file of counts was forged; then the sums are not three times the triangles.
    fn add(sum: &mut Self::Count, count: Self::Count);
}

#[derive(Debug)]
pub enum ByRank {}

impl SumKey for ByRank {
    type Count = u64;
    const BLOCK: u64 = 1 << 16;
    const EIGHTHS: u64 = 2;
    const MAGIC: &'static [u8; 8] = b"TRIMVERT";
    const SUFFIX: &'static str = "vertices";

    fn add(sum: &mut u64, count: u64) {
        *sum = sum.wrapping_add(count);
    }
}

/// Edges, by the number of the arc: that of the first arc of its row, plus its place in the row. A sum is below 2^32, as degrees are.
#[derive(Debug)]
pub enum ByArc {}

impl SumKey for ByArc {
    type Count = u32;
    const BLOCK: u64 = 1 << 18;
    // The graph may take two more, and a job whose sums are in a file needs less than the rest.
    const EIGHTHS: u64 = 3;
    const MAGIC: &'static [u8; 8] = b"TRIMEDGE";
    const SUFFIX: &'static str = "edges";

    fn add(sum: &mut u32, count: u32) {
        *sum = sum.wrapping_add(count);
    }
}

#[derive(Debug, Clone, Copy)]
pub enum CountedKeys<'a> {
    /// Consecutive keys from this one on.
    From(u64),
    /// Listed, ascending.
    List(&'a [u32]),
}

impl CountedKeys<'_> {
    pub fn at(&self, i: usize) -> u64 {
        match self {
            Self::From(first) => first + i as u64,
            Self::List(keys) => keys[i].into(),
        }
    }

    fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::From(first) => Self::From(first + range.start as u64),
            Self::List(keys) => Self::List(&keys[range]),
        }
    }

    /// Cuts `len` counts where keys pass to another block of `block` keys.
    fn by_block(self, len: usize, block: u64) -> impl Iterator<Item = Range<usize>> {
        let mut next = 0;
        std::iter::from_fn(move || {
            (next < len).then(|| {
                let (first, end) = (next, (self.at(next) / block + 1) * block);
                next = match self {
                    Self::From(from) => len.min((end - from) as usize),
                    Self::List(keys) => first + keys[first..len].partition_point(|&key| u64::from(key) < end),
                };
                first..next
            })
        })
    }
}
