//! A sequence with its ids permuted: the same graph without locality. The bijection of `0..n` needs no table: a Feistel network of four rounds over
//! the bits of `n - 1` (made even), repeated until the result is below `n`, fewer than four times on average (Black and Rogaway, 'Ciphers with
//! arbitrary finite domains', CT-RSA 2002).

use std::ops::Range;

use crate::Sequence;
use crate::rows::{GeneratedFile, GeneratedRows};
use trimill_system::Result;
use trimill_system::hash::mix;

const ROUNDS: u64 = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Permutation {
    n: u64,
    seed: u64,
    /// Bits of each half of an id.
    half: u32,
}

impl Permutation {
    pub(super) fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self { n, seed, half: bits.div_ceil(2).max(1) }
    }

    /// The image of `id`, which must be below `n`.
    pub(super) fn of(&self, id: u64) -> u64 {
        self.until_below_n(id, |left, right| self.rounds(left, right, 0..ROUNDS))
    }

    /// The id whose image is `image`: the rounds in reverse, on swapped halves.
    pub(super) fn inverse(&self, image: u64) -> u64 {
        self.until_below_n(image, |left, right| {
            let (right, left) = self.rounds(right, left, (0..ROUNDS).rev());
            (left, right)
        })
    }

    fn until_below_n(&self, mut at: u64, step: impl Fn(u64, u64) -> (u64, u64)) -> u64 {
        loop {
            let (left, right) = step(at >> self.half, at & self.mask());
            at = left << self.half | right;
            if at < self.n {
                return at;
            }
        }
    }

    fn rounds(&self, mut left: u64, mut right: u64, rounds: impl Iterator<Item = u64>) -> (u64, u64) {
        for round in rounds {
            let key = mix(self.seed.wrapping_mul(ROUNDS).wrapping_add(round).wrapping_add(1));
            (left, right) = (right, left ^ mix(right ^ key) & self.mask());
        }
        (left, right)
    }

    fn mask(&self) -> u64 {
        (1 << self.half) - 1
    }
}

pub(super) struct Permuted<'a> {
    pub(super) of: Box<dyn Sequence + 'a>,
    pub(super) permutation: Permutation,
}

impl Sequence for Permuted<'_> {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let first = out.len();
        self.of.append(range, out);
        for edge in &mut out[first..] {
            *edge = edge.map(|id| self.permutation.of(id));
        }
    }

    fn rows<'a>(&'a self, wanted: &GeneratedFile<'_>) -> Result<Option<Box<dyn GeneratedRows + 'a>>> {
        let of = self.of.rows(wanted)?;
        Ok(of.map(|of| Box::new(PermutedRows { of, permutation: self.permutation }) as Box<dyn GeneratedRows>))
    }
}

struct PermutedRows<'a> {
    of: Box<dyn GeneratedRows + 'a>,
    permutation: Permutation,
}

impl GeneratedRows for PermutedRows<'_> {
    fn arcs(&self) -> u64 {
        self.of.arcs()
    }

    fn length(&self, vertex: u64) -> u64 {
        self.of.length(self.permutation.inverse(vertex))
    }

    fn append(&self, vertex: u64, row: &mut Vec<u32>) {
        let first = row.len();
        self.of.append(self.permutation.inverse(vertex), row);
        let own = &mut row[first..];
        own.iter_mut().for_each(|id| *id = self.permutation.of((*id).into()) as u32);
        own.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_met_once_and_seeds_differ() {
        for n in [1, 2, 3, 10, 64, 1000, 4097] {
            for seed in [0, 1, u64::MAX] {
                let permutation = Permutation::new(n, seed);
                let mut met = vec![false; n as usize];
                (0..n).for_each(|id| assert!(!std::mem::replace(&mut met[permutation.of(id) as usize], true)));
                assert!((0..n).all(|id| permutation.inverse(permutation.of(id)) == id));
            }
        }
        let stays = |seed: u64| {
            let permutation = Permutation::new(100_000, seed);
            (0..100_000).filter(|&id| permutation.of(id).abs_diff(id) < 1000).count()
        };
        // A random permutation leaves about 2 in 100 ids within 1,000 of where they were.
        assert!([1, 2, 3].into_iter().all(|seed| (1500..2500).contains(&stays(seed))));
        let last = Permutation::new(u64::MAX >> 1, 7);
        assert!(last.of((u64::MAX >> 1) - 1) < u64::MAX >> 1);
    }
}
