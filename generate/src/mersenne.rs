//! The Mersenne Twister MT19937 (Matsumoto and Nishimura, TOMACS 1998), a whole state of numbers at a time: each step is a loop over independent
//! numbers, which the compiler vectorises. Counts of graphs made of them test that they are right (tests/stages/generate.rs).

pub(super) const STATE: usize = 624;

/// The distance of the numbers that a new one is made of.
const APART: usize = 397;

pub(super) struct Mersenne {
    state: [u32; STATE],
}

/// The next number of a state, from the numbers at its place, one place further, and [`APART`] places further.
#[inline(always)]
const fn next(own: u32, behind: u32, apart: u32) -> u32 {
    let joined = own & 0x8000_0000 | behind & 0x7fff_ffff;
    apart ^ joined >> 1 ^ (0x9908_b0df & (joined & 1).wrapping_neg())
}

impl Mersenne {
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [seed; STATE];
        for i in 1..STATE {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ before >> 30).wrapping_add(i as u32);
        }
        Self { state }
    }

    pub(super) fn fill(&mut self, numbers: &mut [u32; STATE]) {
        fill(&mut self.state, numbers);
    }
}

#[multiversion::multiversion(targets("x86_64+avx2", "x86_64+sse4.2"))]
fn fill(state: &mut [u32; STATE], numbers: &mut [u32; STATE]) {
    const FIRST: usize = STATE - APART;
    let old = *state;
    // Numbers need others of the new state, so they are made in three steps.
    let (first, rest) = state.split_at_mut(FIRST);
    for i in 0..FIRST {
        first[i] = next(old[i], old[i + 1], old[i + APART]);
    }
    let (second, third) = rest.split_at_mut(FIRST);
    for i in 0..FIRST {
        second[i] = next(old[FIRST + i], old[FIRST + i + 1], first[i]);
    }
    let last = third.len() - 1;
    for i in 0..last {
        third[i] = next(old[2 * FIRST + i], old[2 * FIRST + i + 1], second[i]);
    }
    third[last] = next(old[STATE - 1], first[0], second[last]);
    for (number, &word) in numbers.iter_mut().zip(&*state) {
        let mut y = word;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        *number = y ^ y >> 18;
    }
}
