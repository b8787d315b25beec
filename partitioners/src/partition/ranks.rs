//! What a partition of the in-place mode counts: triangles by the ranks of two of their corners.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Triangles `a -> b, a -> c, b -> c` with local `a` and head `b`. Partitions whose pairs of ranges tile all pairs count each triangle once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalsAndHeads {
    /// The locals: their rows are resident.
    pub locals: Range<u32>,
    /// The middle corners, at most up to the end of the locals (successors are smaller): their rows are streamed, unless resident.
    pub heads: Range<u32>,
}

impl LocalsAndHeads {
    /// All triangles whose corner of the largest rank is local.
    pub fn of(locals: Range<u32>) -> Self {
        Self { heads: 0..locals.end, locals }
    }

    /// Whether these partitions, in this order, count each triangle of a graph of `vertices` vertices once.
    pub fn tile(all: &[Self], vertices: u32) -> bool {
        let (mut done, mut locals, mut heads) = (0, 0..0, 0);
        for ranks in all {
            if heads == locals.end {
                (done, locals, heads) = (locals.end, ranks.locals.clone(), 0);
            }
            let follows = ranks.locals == locals && locals.start == done && ranks.heads.start == heads;
            if !follows || ranks.heads.end < heads || ranks.heads.end > locals.end {
                return false;
            }
            heads = ranks.heads.end;
        }
        heads == locals.end && locals.end == vertices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_overlaps_are_found() {
        let ranks = |locals: Range<u32>, heads: Range<u32>| LocalsAndHeads { locals, heads };
        let whole = [ranks(0..4, 0..4), ranks(4..9, 0..2), ranks(4..9, 2..9), ranks(9..10, 0..10)];
        let tile = LocalsAndHeads::tile;
        assert!(tile(&whole, 10) && tile(&[LocalsAndHeads::of(0..3)], 3));
        assert!(tile(&[], 0) && tile(&[LocalsAndHeads::of(0..0)], 0));
        assert!(!tile(&whole, 11) && !tile(&whole[..3], 10) && !tile(&whole[1..], 10));
        for (at, wrong) in [
            (0, ranks(0..3, 0..3)),
            (1, ranks(4..9, 0..1)),
            (1, ranks(4..8, 0..2)),
            (2, ranks(4..9, 2..8)),
            (2, ranks(4..9, 3..9)),
            (2, ranks(4..9, 2..10)),
            (3, ranks(8..10, 0..10)),
        ] {
            let mut all = whole.clone();
            all[at] = wrong;
            assert!(!tile(&all, 10), "{all:?}");
        }
    }
}
