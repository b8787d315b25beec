//! 64 counters as bit planes: bit `i` of plane `k` is bit `k` of counter `i`. 1 is added to any of the counters at once, and a carry goes
//! from plane to plane. The carry is rarely long, so an addition costs a few instructions however many counters it is for.

const PLANES: usize = 8;

/// Additions after which the planes may be full.
pub(crate) const FULL: u32 = (1 << PLANES) - 1;

pub(crate) type Planes = [u64; PLANES];

pub(crate) const EMPTY: Planes = [0; PLANES];

/// Adds 1 to the counter of each bit that is set.
#[inline(always)]
pub(crate) fn add(planes: &mut Planes, bits: u64) {
    let mut carry = bits;
    let mut carry_into = |plane: &mut u64| {
        let next = *plane & carry;
        *plane ^= carry;
        carry = next;
        next == 0
    };
    // Two planes without a branch, which would be hard to predict.
    let [first, second, others @ ..] = planes;
    let _ = carry_into(first);
    if !carry_into(second) {
        let _ = others.iter_mut().any(carry_into);
    }
}

/// Adds the counters of the bits of `kept`, and no others are above 0, to consecutive `counts`; empties the planes.
#[inline(always)]
pub(crate) fn take(planes: &mut Planes, kept: u64, counts: &mut [u32]) {
    let used = PLANES - planes.iter().rev().take_while(|plane| **plane == 0).count();
    if used == 0 {
        return;
    }
    let mut bits = kept;
    for counter in counts.iter_mut().take(kept.count_ones() as usize) {
        let bit = bits.trailing_zeros();
        *counter += (0..).zip(&planes[..used]).map(|(k, plane)| ((plane >> bit) as u32 & 1) << k).sum::<u32>();
        bits &= bits - 1;
    }
    *planes = EMPTY;
}

/// Calls `act` with the place of each bit, ascending.
#[inline(always)]
pub(crate) fn each_bit(mut bits: u64, mut act: impl FnMut(usize)) {
    while bits != 0 {
        act(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
