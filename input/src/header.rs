//! Decides by the rest of the file whether the first line of an edge list is an arc or a header `n m`. Input: the two numbers, and what one pass over
//! the other lines collects ([`ArcStatistics`]). Output: a [`HeaderVerdict`]. A header says that there are `n` ids, and that `m` lines follow (or `2
//! m`, if edges are listed in both directions). In a long list an arc fulfils both with a probability of only about one in `n^2`; if the list is
//! short, or only one is true, the user has to decide.
//!
//! A list that begins with its largest id has an arc `n m` before ids up to `n`. It is no header if the number of lines is far from `m` and `2 m`, or
//! if `m` edges do not fit between `n` vertices. If it is near, a line may be missing; then the next line decides: in a list sorted from the largest
//! id down (a star, a path, a wheel) it begins with an end of the first arc, after a header only by chance.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::ArcSink;
use trimill_system::{Result, lock, unpoisoned};

/// What the first line of an edge list is, where the user says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// A header, whatever its numbers are.
    Yes,
    /// An arc.
    No,
}

impl Header {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeaderNumbers {
    pub(super) n: u64,
    pub(super) m: u64,
    /// Whether the next line has the same columns.
    pub(super) alike: bool,
    /// Whether the next line's tail is `n` or `m`, as in a sorted list of arcs, and `n m` itself would be no loop.
    pub(super) goes_on: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderVerdict {
    Arc,
    Header,
    Either,
    /// Its columns differ from those of the arcs, and its numbers are not their sizes.
    Neither,
}

/// Shorter lists may agree with a header by chance.
pub(super) const LONG: u64 = 64;

/// Decides what the first line `n m` is.
pub(super) fn judge(HeaderNumbers { n, m, alike, goes_on }: HeaderNumbers, rest: &ArcStatistics) -> HeaderVerdict {
    let lines = rest.lines;
    let counted = lines == m || (m.checked_mul(2) == Some(lines) && rest.sum == 0);
    // Ids from 0 are below n, ids from 1 go up to n.
    let among_n = rest.beyond == 0 && (rest.least > 0 || rest.most < n);
    if !alike {
        return if among_n && counted { HeaderVerdict::Header } else { HeaderVerdict::Neither };
    }
    if lines == 0 || n == 0 {
        return HeaderVerdict::Arc;
    }
    // A long list may have loops and edges in both directions; a short one must not lose a part unnoticed.
    let (n_wide, is_long) = (u128::from(n), lines >= LONG);
    let fit = u128::from(m) <= if is_long { n_wide * n_wide } else { n_wide * (n_wide - 1) / 2 };
    let near = |m: u64| lines.abs_diff(m) <= (m / 10).max(1);
    let is_near = near(m) || near(m.saturating_mul(2));
    // As an arc it would have the largest id, with a gap before it.
    let is_away = m > n.saturating_add(1);
    match (among_n, counted) {
        // As an arc it would join vertices that no other line has, or be a loop.
        (true, true) if is_away || n.min(m) > rest.most || n == m => HeaderVerdict::Header,
        (true, true) if is_long && !goes_on => HeaderVerdict::Header,
        (true, true) => HeaderVerdict::Either,
        // Possibly a header of a list that was cut.
        (true, false) if is_away && fit && (is_long || is_near) => HeaderVerdict::Either,
        // A header that is wrong, or of a list with a missing line; or an arc.
        (true, false) if !is_away && fit && is_near && !goes_on => HeaderVerdict::Either,
        // A header of a list with wrong or sparse ids; or an arc that equals the number of lines by chance.
        (false, true) if fit && m > rest.most => HeaderVerdict::Either,
        (false, true) if fit && !goes_on && (is_long || 2 * rest.beyond <= lines) => HeaderVerdict::Either,
        _ => HeaderVerdict::Arc,
    }
}

#[derive(Debug)]
pub(super) struct ArcStatistics {
    pub(super) lines: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) beyond: u64,
    /// 0 if each arc has its reverse ([`SymmetryKey`]).
    sum: u64,
}

impl ArcStatistics {
    pub(super) const NONE: Self = Self { lines: 0, least: u64::MAX, most: 0, beyond: 0, sum: 0 };
}

pub(super) struct Gather {
    n: u64,
    key: SymmetryKey,
    rest: Mutex<ArcStatistics>,
}

impl Gather {
    pub(super) fn new(n: u64) -> Self {
        Self { n, key: SymmetryKey::random(), rest: Mutex::new(ArcStatistics::NONE) }
    }

    pub(super) fn finish(self) -> ArcStatistics {
        unpoisoned(self.rest.into_inner())
    }
}

impl ArcSink for Gather {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let least = batch.iter().map(|&(u, v)| u.min(v)).min().unwrap_or(u64::MAX);
        let most = batch.iter().map(|&(u, v)| u.max(v)).max().unwrap_or(0);
        let beyond = batch.iter().filter(|&&(u, v)| u.max(v) > self.n).count() as u64;
        let sum = self.key.sum(batch);
        let mut rest = lock(&self.rest);
        rest.lines += batch.len() as u64;
        (rest.least, rest.most) = (rest.least.min(least), rest.most.max(most));
        rest.beyond += beyond;
        rest.sum = rest.sum.wrapping_add(sum);
        Ok(())
    }
}

/// The key of a hash that shows whether arcs are symmetric: for each arc a hash of the pair is added if the head is the larger id, else
/// subtracted, modulo 2^64. The key is random in each run, so arcs without their reverses sum to 0 with probability 2^-64 only.
pub(super) struct SymmetryKey(u64);

impl SymmetryKey {
    pub(super) fn random() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// The sums of all batches add up to 0 if each arc has its reverse.
    pub(super) fn sum(&self, batch: &[(u64, u64)]) -> u64 {
        batch.iter().filter(|(u, v)| u != v).fold(0u64, |sum, &(u, v)| {
            let pair = u128::from(u.min(v)) << 64 | u128::from(u.max(v));
            let hash = xxh3_64_with_seed(&pair.to_le_bytes(), self.0);
            if u < v { sum.wrapping_add(hash) } else { sum.wrapping_sub(hash) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(n: u64, m: u64, arcs: &[(u64, u64)]) -> HeaderVerdict {
        let gather = Gather::new(n);
        gather.arcs(arcs).unwrap();
        let goes_on = arcs.first().is_some_and(|&(tail, _)| tail == n || tail == m);
        judge(HeaderNumbers { n, m, alike: true, goes_on }, &gather.finish())
    }

    fn path(first: u64, edges: u64) -> Vec<(u64, u64)> {
        (first..first + edges).map(|u| (u, u + 1)).collect()
    }

    fn both(arcs: &[(u64, u64)]) -> Vec<(u64, u64)> {
        arcs.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect()
    }

    #[test]
    fn a_header_is_what_the_rest_confirms() {
        for first in [0, 1] {
            let arcs = path(first, 99);
            assert_eq!(verdict(100, 99, &arcs), HeaderVerdict::Header);
            assert_eq!(verdict(100, 99, &both(&arcs)), HeaderVerdict::Header);
            assert_eq!(verdict(500, 99, &arcs), HeaderVerdict::Header);
        }
        let k4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        assert_eq!(verdict(4, 6, &k4), HeaderVerdict::Header);
        assert_eq!(verdict(4, 6, &k4.map(|(u, v)| (u + 1, v + 1))), HeaderVerdict::Header);
    }

    #[test]
    fn an_arc_is_what_the_rest_contradicts() {
        assert_eq!(verdict(1, 2, &[(2, 3), (3, 1)]), HeaderVerdict::Arc);
        assert_eq!(verdict(2, 1, &[(0, 1), (2, 0)]), HeaderVerdict::Arc);
        assert_eq!(verdict(0, 1, &path(1, 1)), HeaderVerdict::Arc);
        assert_eq!(verdict(7, 9, &[]), HeaderVerdict::Arc);
        // A list whose first line has the largest id.
        assert_eq!(verdict(1000, 20, &path(1, 900)), HeaderVerdict::Arc);
        assert_eq!(verdict(48, 900, &path(1, 500)), HeaderVerdict::Arc);
        assert_eq!(verdict(30, 9, &path(1, 29)), HeaderVerdict::Arc);
        // 3 vertices have at most 3 edges, not 4; the two lines are two edges, not one edge listed twice.
        assert_eq!(verdict(3, 4, &[(1, 2), (1, 3), (2, 3)]), HeaderVerdict::Arc);
        assert_eq!(verdict(3, 1, &[(3, 2), (2, 1)]), HeaderVerdict::Arc);
        assert_eq!(verdict(6, 14, &path(1, 3)), HeaderVerdict::Arc);
    }

    #[test]
    fn what_could_be_either_is_asked() {
        // Too short to be sure: a star or a triangle.
        assert_eq!(verdict(3, 2, &[(1, 2), (1, 3)]), HeaderVerdict::Either);
        // If a path is listed from the largest id down, its first arc also fits the rest as a header.
        let down: Vec<_> = path(0, 99).into_iter().rev().map(|(u, v)| (v, u)).collect();
        assert_eq!(verdict(100, 99, &down), HeaderVerdict::Either);
        // Lines are missing, in one direction or in both.
        assert_eq!(verdict(100, 300, &path(1, 99)), HeaderVerdict::Either);
        assert_eq!(verdict(200, 100, &path(1, 99)), HeaderVerdict::Either);
        assert_eq!(verdict(200, 100, &both(&path(1, 99))), HeaderVerdict::Either);
        assert_eq!(verdict(6, 8, &path(0, 5).repeat(2)[..7]), HeaderVerdict::Either);
        // One id is wrong; ids are sparse.
        assert_eq!(verdict(100, 99, &path(2, 99)), HeaderVerdict::Either);
        assert_eq!(verdict(100, 99, &path(5000, 99)), HeaderVerdict::Either);
    }

    #[test]
    fn a_line_of_other_columns_is_a_header_or_wrong() {
        const SIZES: HeaderNumbers = HeaderNumbers { n: 9, m: 12, alike: false, goes_on: false };
        let rest = |lines| ArcStatistics { lines, least: 1, most: 9, ..ArcStatistics::NONE };
        assert_eq!(judge(SIZES, &rest(12)), HeaderVerdict::Header);
        assert_eq!(judge(SIZES, &rest(11)), HeaderVerdict::Neither);
        assert_eq!(judge(SIZES, &ArcStatistics { beyond: 3, ..rest(12) }), HeaderVerdict::Neither);
    }
}
