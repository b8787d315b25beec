//! Edges that the caller holds in memory. Input: the caller's own arrays, as an [`EdgeSource`]. Output: arcs in batches, which the stages read as
//! they read a file. Nothing is copied whole: a thread holds one batch. [`Pairs`](super::pairs::Pairs) and [`Csr`](super::csr::Csr) are sources.

use std::ops::Range;
use std::sync::Arc;

use trimill_system::Result;

/// Arcs of a batch: 128 KiB.
pub const BATCH: usize = 1 << 13;

/// What takes the arcs of an [`EdgeSource`], a batch at a time.
pub type TakeArcs<'a> = dyn FnMut(&[(u64, u64)]) -> Result<()> + 'a;

/// A graph that the caller holds: arcs `(tail, head)`, numbered from 0, that many threads can read from any number on; loops and repeats are allowed.
///
/// [`Pairs`](super::pairs::Pairs) and [`Csr`](super::csr::Csr) are sources for arrays. What else stores edges can be one, too:
///
/// ```
/// use std::ops::Range;
/// use trimill::{EdgeSource, Graph, Options, Result, TakeArcs};
///
/// /// A cycle with a chord from each vertex to the next but one.
/// struct Ring(u64);
///
/// impl EdgeSource for Ring {
///     fn arcs(&self) -> u64 {
///         2 * self.0
///     }
///     fn read(&self, arcs: Range<u64>, take: &mut TakeArcs<'_>) -> Result<()> {
///         arcs.into_iter().try_for_each(|arc| take(&[(arc / 2, (arc / 2 + 1 + arc % 2) % self.0)]))
///     }
/// }
///
/// assert_eq!(Graph::from_source(Ring(100)).count(&Options::new())?.triangles, 100);
/// # Ok::<(), trimill::Error>(())
/// ```
///
/// The arcs that a source delivers must not change while they are counted.
pub trait EdgeSource: Send + Sync {
    fn arcs(&self) -> u64;

    /// The number of vertices, if it is known: ids are then below it, and a larger one is an error.
    fn vertices(&self) -> Option<u64> {
        None
    }

    /// Passes the arcs with these numbers to `take`, in order, in batches (best 4,096 to 65,536 arcs), on many threads. Ids are below 2^64 - 1.
    ///
    /// # Errors
    /// Its own, of kind [`Data`](trimill_system::error::Kind::Data), for arcs that are wrong; those of `take`, which end the reading.
    fn read(&self, arcs: Range<u64>, take: &mut TakeArcs<'_>) -> Result<()>;

    /// If arcs come in the order of their tails: how many have a tail of at most `tail`. To be implemented for all [`Self::vertices`] or for none. If
    /// rows list every edge from both ends, without duplicates, preparing is faster.
    fn row_end(&self, tail: u64) -> Option<u64> {
        let _ = tail;
        None
    }

    /// The bytes that hold the arcs, for reports.
    fn bytes(&self) -> u64 {
        self.arcs().saturating_mul(size_of::<(u64, u64)>() as u64)
    }
}

macro_rules! holder {
    ($holder:ty) => {
        impl<T: EdgeSource + ?Sized> EdgeSource for $holder {
            fn arcs(&self) -> u64 {
                (**self).arcs()
            }

            fn vertices(&self) -> Option<u64> {
                (**self).vertices()
            }

            fn read(&self, arcs: Range<u64>, take: &mut TakeArcs<'_>) -> Result<()> {
                (**self).read(arcs, take)
            }

            fn row_end(&self, tail: u64) -> Option<u64> {
                (**self).row_end(tail)
            }

            fn bytes(&self) -> u64 {
                (**self).bytes()
            }
        }
    };
}

holder!(&T);
holder!(Box<T>);
holder!(Arc<T>);
