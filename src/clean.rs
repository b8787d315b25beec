//! From arcs to a clean graph: symmetrised, without loops and duplicates. Input: the arcs of an [`ArcSource`](trimill_input::arcs::ArcSource), in any
//! order, repeated or not. Output: a [`CleanGraph`]: every edge once as a pair `(min, max)` in buckets, and the degree of every id.
//!
//! An arc, as an 8-byte key, goes to the bucket of one of `B` classes, by a hash of its pair, so that sizes are even for skewed degrees, too
//! (`pair_hash`). If arcs come in the order of ids, classes may be ranges of ids (`ranges`). Keys that do not fit in memory are sorted and encoded
//! there, then written ([`buckets`]). Each bucket is then sorted (`sort`) and deduplicated, and degrees are counted ([`ArcsRead::clean`]).
//!
//! Cost: one pass over the input (two if ids must be ranked, or classes are ranges), a sort of `arcs / B` keys a class; if they do not fit in memory,
//! 2 to 5 bytes an arc written and read once, then as many an edge. Memory: [`PER_ID`] or [`PER_VERTEX`] for arrays, the rest by [`workspace`].

pub mod buckets;
mod classes;
mod degrees;
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
pub use unite::CleanGraph;
#[cfg(feature = "testing")]
pub use workspace::{PER_ID, PER_VERTEX};
pub use workspace::{Shares, Workspace, needs};
