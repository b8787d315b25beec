//! 64 counters as bit planes (bit slicing): bit `i` of plane `k` is bit `k` of counter `i`. Adding 1 to any set of counters is a ripple carry from
//! plane to plane, which is rarely long: a few instructions, however many counters are in the set.

const PLANES: usize = 8;

/// The number of additions after which the planes may overflow.
pub const FULL: u32 = (1 << PLANES) - 1;

pub type Planes = [u64; PLANES];

pub const EMPTY: Planes = [0; PLANES];

/// Adds 1 to the counter of each bit that is set.
#[inline(always)]
pub fn add(planes: &mut Planes, bits: u64) {
    let mut carry = bits;
    let mut carry_into = |plane: &mut u64| {
        let next = *plane & carry;
        *plane ^= carry;
        carry = next;
        next == 0
    };
    // The first two planes are added without a branch, which would be mispredicted often.
    let [first, second, others @ ..] = planes;
    let _ = carry_into(first);
    if !carry_into(second) {
        let _ = others.iter_mut().any(carry_into);
    }
}

/// Adds to the counter of each bit the number of words in which it is set.
#[inline(always)]
pub fn add_four(planes: &mut Planes, [a, b, c, d]: [u64; 4]) {
    let ((first, carry), second) = (full_adder(a, b, c), d);
    let (ones, other) = (first ^ second, first & second);
    let (twos, fours) = (carry ^ other, carry & other);
    let [plane, second, third, others @ ..] = planes;
    let mut carry = *plane & ones;
    *plane ^= ones;
    (*second, carry) = full_adder(*second, twos, carry);
    (*third, carry) = full_adder(*third, fours, carry);
    let _ = others.iter_mut().any(|plane| {
        let next = *plane & carry;
        *plane ^= carry;
        carry = next;
        carry == 0
    });
}

/// The sum of three bits in each place: its low bit, and its high one.
#[inline(always)]
fn full_adder(a: u64, b: u64, c: u64) -> (u64, u64) {
    let either = a ^ b;
    (either ^ c, (a & b) | (either & c))
}

/// Adds the counters of the bits of `kept` (all others are 0) to consecutive `counts`; empties the planes.
#[inline(always)]
pub fn take(planes: &mut Planes, kept: u64, counts: &mut [u32]) {
    let used = PLANES - planes.iter().rev().take_while(|plane| **plane == 0).count();
    if used == 0 {
        return;
    }
    let (first, many) = (kept.trailing_zeros(), kept.count_ones() as usize);
    let run = kept >> first;
    if run & run.wrapping_add(1) == 0 {
        // One run of bits: eight counters at a time.
        let planes = planes.map(|plane| plane >> first);
        for (byte, counts) in (0..).step_by(8).zip(counts[..many].chunks_mut(8)) {
            let together = eight(&planes, byte).to_le_bytes();
            counts.iter_mut().zip(together).for_each(|(count, more)| *count += u32::from(more));
        }
    } else {
        let mut bits = kept;
        for counter in &mut counts[..many] {
            let bit = bits.trailing_zeros();
            *counter += (0..).zip(&planes[..used]).map(|(k, plane)| ((plane >> bit) as u32 & 1) << k).sum::<u32>();
            bits &= bits - 1;
        }
    }
    *planes = EMPTY;
}

/// Adds all counters to `counts`; empties the planes.
#[inline(always)]
pub fn take_all(planes: &mut Planes, counts: &mut [u64; 64]) {
    for (byte, counts) in (0..64).step_by(8).zip(counts.as_chunks_mut::<8>().0) {
        let together = eight(planes, byte).to_le_bytes();
        counts.iter_mut().zip(together).for_each(|(count, more)| *count += u64::from(more));
    }
    *planes = EMPTY;
}

/// Calls `act` with the place and the count of each bit of `kept` (all others are 0). Empties the planes.
#[inline(always)]
pub fn drain(planes: &mut Planes, kept: u64, mut act: impl FnMut(usize, u64)) {
    for byte in (0..64).step_by(8) {
        let bits = kept >> byte & 0xff;
        if bits != 0 {
            let together = eight(planes, byte);
            each_bit(bits, |bit| act(byte + bit, together >> (8 * bit) & 0xff));
        }
    }
    *planes = EMPTY;
}

/// The counters of the eight bits from `first` on, a byte each: the planes' bytes, as a transposed bit matrix.
#[inline(always)]
fn eight(planes: &Planes, first: usize) -> u64 {
    let mut bits = 0;
    for (k, plane) in planes.iter().enumerate() {
        bits |= (plane >> first & 0xff) << (8 * k);
    }
    // Transposes squares of 1, 2 and 4 bits: swaps the bits above the diagonal with the bits below.
    for (shift, above) in [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)] {
        let other = (bits ^ (bits >> shift)) & above;
        bits ^= other ^ (other << shift);
    }
    bits
}

#[inline(always)]
pub fn each_bit(mut bits: u64, mut act: impl FnMut(usize)) {
    while bits != 0 {
        act(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_the_numbers_of_additions() {
        let (mut planes, mut expected, mut state) = (EMPTY, [0u64; 64], 1u64);
        let mut next = |i: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = if i.is_multiple_of(5) { u64::MAX } else { (state ^ state >> 29) & !0xff00 };
            each_bit(bits, |bit| expected[bit] += 1);
            bits
        };
        for i in (0..FULL - 3).step_by(7) {
            (0..3).for_each(|k| add(&mut planes, next(i + k)));
            add_four(&mut planes, [3, 4, 5, 6].map(|k| next(i + k)));
        }
        let (mut copy, mut all) = (planes, [7; 64]);
        take_all(&mut copy, &mut all);
        assert_eq!((all, copy), (expected.map(|count| count + 7), EMPTY));
        let (mut copy, mut few) = (planes, [0; 64]);
        drain(&mut copy, 0xf0f0_0000_0000_00ff, |bit, count| few[bit] = count);
        for bit in 0..64 {
            let kept = 0xf0f0_0000_0000_00ff_u64 >> bit & 1;
            assert_eq!(few[bit], kept * expected[bit], "{bit}");
        }
        for kept in [0x00f0_0000_0000_0000, 0xf0f0_0000_0000_00ff, 0x0fff_ffff_ffff_fff8, 1 << 63, 1] {
            let (mut copy, mut some) = (planes.map(|plane| plane & kept), vec![3; kept.count_ones() as usize + 1]);
            take(&mut copy, kept, &mut some);
            let counts = (0..64).filter(|bit| kept >> bit & 1 != 0).map(|bit| 3 + expected[bit] as u32);
            assert_eq!((some, copy), (counts.chain([3]).collect(), EMPTY), "{kept:x}");
        }
        let mut some = [0; 64];
        take(&mut planes, u64::MAX, &mut some);
        assert_eq!(some.map(u64::from), expected);
    }
}
