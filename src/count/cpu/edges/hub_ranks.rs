//! How many entries each hub's row has before each word of its bits.

use crate::count::cpu::hubs::{self, Hubs, words_before};
use trimill_system::bytes::Bytes;
use trimill_system::parallel;

/// Hubs of a piece that a thread makes.
const PIECE: u32 = 64;

/// The ranks of consecutive hubs, in the layout of [`Hubs`]. A hub's row has fewer entries than [`hubs::MOST`].
#[derive(Debug, Default)]
pub(super) struct HubRanks {
    ranks: Vec<u16>,
    /// Words of the triangle before the first row that is kept.
    before: usize,
}

impl HubRanks {
    pub(super) fn bytes_for(hubs: u32) -> Bytes {
        Bytes(hubs::bytes(hubs).get() / 4)
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u16>(self.ranks.capacity() as u64)
    }

    /// Replaces all by those of `hubs`.
    pub(super) fn take(&mut self, hubs: &Hubs) {
        let range = hubs.range();
        self.before = words_before(range.start);
        let len = words_before(range.end) - self.before;
        if self.ranks.capacity() < len {
            self.ranks = Vec::new();
        }
        self.ranks.clear();
        self.ranks.reserve_exact(len);
        self.ranks.resize(len, 0);
        let mut pieces = Vec::new();
        let mut rest = &mut self.ranks[..];
        for first in range.clone().step_by(PIECE as usize) {
            let end = range.end.min(first + PIECE);
            let (piece, after) = rest.split_at_mut(words_before(end) - words_before(first));
            pieces.push((first..end, piece));
            rest = after;
        }
        parallel::each(pieces, |(numbers, mut piece)| {
            for b in numbers {
                let words = hubs.row(b);
                let (row, after) = piece.split_at_mut(words.len());
                let mut rank = 0;
                for (its, word) in row.iter_mut().zip(words) {
                    *its = rank;
                    rank += word.count_ones() as u16;
                }
                piece = after;
            }
        });
    }

    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &[u16] {
        &self.ranks[words_before(b) - self.before..][..b as usize / 64 + 1]
    }
}
