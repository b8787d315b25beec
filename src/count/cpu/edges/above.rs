//! The transposed rows of the hubs: for each number `x`, the hubs above `x` whose rows contain it, as bits. [`Hubs`] has the hubs below `x`;
//! with both, one intersection with the row of `a` finds all triangles on the arc `a -> x` whose third or middle corner is a hub.

use trimill_system::mapped::zeros;
use trimill_system::{Bytes, parallel};

use crate::count::cpu::hubs::Hubs;

const BLOCK: u32 = 64;

/// The rows of all numbers below `end`. The row of `x` begins with the word that contains `x`, or the first hub if that is larger.
#[derive(Debug, Default)]
pub(super) struct HubsAbove {
    first: u32,
    end: u32,
    words: Vec<u64>,
}

/// Words before the row of `x`; the hubs are `first..end`.
fn words_before(first: u32, end: u32, x: u32) -> usize {
    let (first, end, block) = ((first / BLOCK) as usize, end.div_ceil(BLOCK) as usize, (x / BLOCK) as usize);
    // A row of block `j` lacks the words before `max(first, j)`.
    let same = block.min(first);
    let lacking = same * first + sum_below(block) - sum_below(same);
    BLOCK as usize * (block * end - lacking) + (x % BLOCK) as usize * (end - block.max(first).min(end))
}

const fn sum_below(n: usize) -> usize {
    n * n.saturating_sub(1) / 2
}

pub(super) fn bytes(hubs: u32) -> Bytes {
    Bytes::of::<u64>(words_before(0, hubs, hubs) as u64)
}

impl HubsAbove {
    /// Transposes the rows of the hubs: bit `y` of row `x` is bit `x` of the hub `y`.
    pub(super) fn take(&mut self, hubs: &Hubs) {
        let range = hubs.range();
        (self.first, self.end) = if range.is_empty() { (0, 0) } else { (range.start, range.end) };
        let before = |x| words_before(self.first, self.end, x);
        let len = before(self.end);
        if self.words.len() < len {
            // Fresh zeroed pages, touched first by the threads that fill them.
            self.words = Vec::new();
            self.words = zeros(len);
        }
        let firsts = (0..self.end).step_by(BLOCK as usize);
        let lengths = firsts.clone().map(|first| before(self.end.min(first + BLOCK)) - before(first));
        let blocks = parallel::cut(&mut self.words[..len], lengths);
        parallel::each(firsts.zip(blocks), |(first, block)| {
            let from = first.max(range.start) / BLOCK;
            let each = (range.end.div_ceil(BLOCK) - from) as usize;
            for (place, hub_block) in (from..).take(each).enumerate() {
                let mut square = [0; BLOCK as usize];
                for (row, y) in square.iter_mut().zip(BLOCK * hub_block..) {
                    if range.contains(&y) {
                        *row = hubs.row(y)[(first / BLOCK) as usize];
                    }
                }
                transpose(&mut square);
                block[place..].iter_mut().step_by(each).zip(square).for_each(|(to, word)| *to = word);
            }
        });
    }

    /// Writes all neighbours of `x` among the hubs to `bits`: those in `below`, its own row if it is a hub, and the hubs above it.
    #[inline(always)]
    pub(super) fn put(&self, x: u32, below: &[u64], bits: &mut [u64]) {
        let (first, row) = (self.first_word(x), self.row(x));
        bits[..first].fill(0);
        bits[first..first + row.len()].copy_from_slice(row);
        bits.iter_mut().zip(below).for_each(|(bits, below)| *bits |= below);
    }

    #[inline(always)]
    fn first_word(&self, x: u32) -> usize {
        (x.max(self.first) / BLOCK) as usize
    }

    #[inline(always)]
    fn row(&self, x: u32) -> &[u64] {
        let words = self.end.div_ceil(BLOCK) as usize - self.first_word(x);
        &self.words[words_before(self.first, self.end, x)..][..words]
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u64>(self.words.capacity() as u64)
    }
}

/// Transposes by recursion: exchanges the off-diagonal quarters, then does the same within each quarter.
fn transpose(square: &mut [u64; 64]) {
    let (mut size, mut mask) = (32, u64::from(u32::MAX));
    while size > 0 {
        for i in (0..64).filter(|i| i & size == 0) {
            let changed = (square[i] >> size ^ square[i + size]) & mask;
            square[i] ^= changed << size;
            square[i + size] ^= changed;
        }
        size /= 2;
        mask ^= mask << size;
    }
}
