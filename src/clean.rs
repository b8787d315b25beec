//! From arcs to a clean graph: symmetrised, without loops and duplicates.
//!
//! Input: the arcs of an [`ArcSource`](trimill_input::arcs::ArcSource), in any order, any number of times each. Output: a [`CleanGraph`]:
//! every edge once as a pair `(min, max)` in buckets, and the degree of every id.
//!
//! An arc goes, as an 8-byte key, to one of the two buckets of one of `B` classes: the class by a hash of its pair, the bucket by
//! its direction ([`read`]). So buckets have about the same size however skewed the degrees are, all copies of a pair are in one class,
//! and the direction takes no bits. Where the order of the input allows it, classes are ranges of ids instead (`ranges`). Keys that do not
//! fit in memory wait sorted and encoded there, and then on disk ([`buckets`]). Then each bucket
//! is sorted (`sort`) and deduplicated and the two buckets of a class are merged, all classes in parallel ([`ArcsRead::clean`]).
//!
//! Cost: one pass over the input (two if ids must be ranked, or buckets are ranges), a sort of `arcs / B` keys for each class; 2 to 5
//! bytes an arc written and read once if they do not fit in memory, then as many an edge. Memory: within the host's budget, [`PER_ID`] or
//! [`PER_VERTEX`] for arrays, the rest in the shares of module [`workspace`].

pub mod buckets;
mod classes;
mod distribute;
pub mod ids;
mod pair_hash;
mod ranges;
mod read;
mod sort;
mod unite;
pub mod workspace;

#[cfg(feature = "testing")]
pub use read::clean;
pub use read::read;
pub(crate) use read::{BEYOND_MEMORY, is_sparse, most_ids, plain_ids};
pub use trimill_graph::CleanReport;
#[cfg(feature = "testing")]
pub use unite::ArcsRead;
pub use unite::{CleanGraph, InputIds};
#[cfg(feature = "testing")]
pub use workspace::{PER_ID, PER_VERTEX};
pub use workspace::{Shares, Workspace, needs};
