//! GAP-kron and GAP-urand of the GAP Benchmark Suite (Beamer, Asanovic and Patterson, arXiv:1508.03619), draw for draw. Both make `16 * 2^scale`
//! draws in blocks of 2^18; block `b` draws from MT19937 seeded with `27491095 + b`. GAP-kron is the R-MAT recursion (Chakrabarti, Zhan and
//! Faloutsos, SDM 2004) with Graph500's `A = 0.57` and `B = C = 0.19`. GAP's final permutation changes no count, destroys locality, and is left out.

use std::ops::Range;

use crate::mersenne::{Mersenne, STATE};
use crate::{BLOCK, KnownCounts, Sequence, SizedSequence, require};
use trimill_system::Result;

const SEED: u64 = 27_491_095;
const DRAWS_PER_VERTEX: u64 = 16;

/// The bounds of the published probabilities as 32-bit numbers: `A`, `A + B`, `A + B + C`, as sums of `float`s times 2^32.
const T_A: u32 = 2_448_131_456;
const T_AB: u32 = 3_264_174_976;
const T_ABC: u32 = 4_080_219_008;

/// Scale, vertices with an edge, edges, triangles. Scale 27 is GAP-kron, with LAGraph's published count (Szarnyas et al., arXiv:2104.01661).
const KRON: &[(u32, Option<u64>, u128, u128)] = &[
    (10, Some(898), 10_496, 74_720),
    (16, Some(46_715), 909_645, 15_656_287),
    (18, Some(173_984), 3_805_448, 82_728_031),
    (20, Some(645_650), 15_699_687, 423_625_371),
    (22, Some(2_396_233), 64_155_718, 2_111_140_967),
    (24, Some(8_870_632), 260_376_709, 10_283_205_554),
    (27, Some(63_073_984), 2_111_632_322, 106_873_365_648),
];

/// Scale, vertices with an edge, edges, triangles. Scale 27 is the suite's GAP-urand.
const URAND: &[(u32, Option<u64>, u128, u128)] = &[(20, None, 16_776_968, 5_492), (27, None, 2_147_483_370, 5_378)];

fn sequence(
    scale: u32,
    table: &[(u32, Option<u64>, u128, u128)],
    blocks: impl Sequence + 'static,
) -> Result<SizedSequence<'static>> {
    require((1..=31).contains(&scale), &format!("scale {scale} is out of range"), "1 to 31")?;
    let known = table.iter().find(|row| row.0 == scale).map(|&(_, vertices, edges, triangles)| KnownCounts {
        vertices,
        edges: Some(edges),
        triangles: Some(triangles),
    });
    let (vertices, edges) = (1 << scale, DRAWS_PER_VERTEX << scale);
    Ok(SizedSequence { vertices, edges, known: known.unwrap_or_default(), blocks: Box::new(blocks) })
}

fn generator(start: u64) -> Mersenne {
    debug_assert_eq!(start % BLOCK, 0);
    // At most 2^17 blocks at scale 31, so the seed never exceeds 32 bits.
    Mersenne::new((SEED + start / BLOCK) as u32)
}

/// Quadrants of the matrix, one for each random number: 2 for the lower half, plus 1 for the right one.
struct Quadrants {
    generator: Mersenne,
    numbers: [u32; STATE],
    /// Those in `next..end` are unused. Eight more are padding, for reads of whole words.
    digits: [u8; DIGITS],
    next: usize,
    end: usize,
}

/// Space for the unused quadrants, those of a whole state, and the padding.
const DIGITS: usize = 32 + STATE + 8;

impl Quadrants {
    fn new(start: u64) -> Self {
        Self { generator: generator(start), numbers: [0; STATE], digits: [0; DIGITS], next: 0, end: 0 }
    }

    /// Ensures that at least 32 digits are unused.
    fn refill(&mut self) {
        if self.end - self.next >= 32 {
            return;
        }
        self.digits.copy_within(self.next..self.end, 0);
        let kept = self.end - self.next;
        (self.next, self.end) = (0, kept + STATE);
        self.generator.fill(&mut self.numbers);
        quadrants_of(&self.numbers, &mut self.digits[kept..]);
    }

    #[inline]
    fn arc(&mut self, scale: u32) -> [u64; 2] {
        self.refill();
        let digits = &self.digits[self.next..];
        let eight = |at: usize| digits[at..].first_chunk().map_or(0, |&eight| u64::from_le_bytes(eight));
        // The bits of eight digits, the first one highest: a product has each bit once among its highest eight.
        let bits = |digits: u64| (digits & 0x0101_0101_0101_0101).wrapping_mul(0x8040_2010_0804_0201) >> 56;
        let few = scale as usize % 8;
        let (mut tail, mut head) = (0, 0);
        if few > 0 {
            let digits = eight(0) << (8 * (8 - few));
            (tail, head) = (bits(digits >> 1), bits(digits));
        }
        for at in (few..scale as usize).step_by(8) {
            let digits = eight(at);
            (tail, head) = (tail << 8 | bits(digits >> 1), head << 8 | bits(digits));
        }
        self.next += scale as usize;
        [tail, head]
    }
}

#[multiversion::multiversion(targets("x86_64+avx2", "x86_64+sse4.2"))]
fn quadrants_of(numbers: &[u32; STATE], digits: &mut [u8]) {
    for (digit, &number) in digits.iter_mut().zip(numbers) {
        *digit = u8::from(number >= T_A) + u8::from(number >= T_AB) + u8::from(number >= T_ABC);
    }
}

struct GapKron {
    scale: u32,
}

pub(super) fn kron(scale: u32) -> Result<SizedSequence<'static>> {
    sequence(scale, KRON, GapKron { scale })
}

impl Sequence for GapKron {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let mut quadrants = Quadrants::new(range.start);
        out.extend(range.map(|_| quadrants.arc(self.scale)));
    }
}

struct GapUrand {
    scale: u32,
}

pub(super) fn urand(scale: u32) -> Result<SizedSequence<'static>> {
    sequence(scale, URAND, GapUrand { scale })
}

impl Sequence for GapUrand {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let (mut generator, mut numbers, mut next) = (generator(range.start), [0; STATE], STATE);
        let mut draw = || {
            if next == STATE {
                generator.fill(&mut numbers);
                next = 0;
            }
            next += 1;
            numbers[next - 1]
        };
        let vertices = 1u32 << self.scale;
        let share = u32::MAX / vertices;
        // The highest draws, which would favour some vertices, are redrawn.
        let limit = vertices * share;
        let mut vertex = || loop {
            let draw = draw();
            if draw < limit {
                return u64::from(draw / share);
            }
        };
        for _ in range {
            let source = vertex();
            out.push([source, vertex()]);
        }
    }
}
