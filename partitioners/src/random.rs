//! Random assignment: every vertex draws its part independently and uniformly, as in LSTC. Input: the numbers of vertices and parts, a seed. Output:
//! the part of each vertex. ChaCha8, keyed by the seed, with its own stream for each block of 2^16 vertices: drawn in parallel, the same on any
//! machine. Draws are exactly uniform (Lemire, 'Fast random integer generation in an interval', 2019). Implemented here, so that no library changes a
//! seed's assignment. Cost: about 1 ns per vertex and thread, 4 bytes per vertex.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;

/// How many vertices share a stream. Changing it changes every assignment.
const BLOCK: usize = 1 << 16;

/// The part of each vertex, drawn from `0..parts`; the same `seed` gives the same assignment. Panics when `parts` is 0.
#[must_use]
pub fn random(vertices: u32, parts: u32, seed: u64) -> Vec<u32> {
    assert!(parts > 0, "an assignment needs at least one part");
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut assignment = vec![0; vertices as usize];
    assignment.par_chunks_mut(BLOCK).enumerate().for_each(|(block, chunk)| {
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(block as u64);
        chunk.fill_with(|| below(parts, &mut generator));
    });
    assignment
}

/// A uniform number below `bound`: the upper half of a 32 x 32-bit product, redrawn in the few cases where the lower half would bias it.
fn below(bound: u32, generator: &mut ChaCha8Rng) -> u32 {
    loop {
        let product = u64::from(generator.next_u32()) * u64::from(bound);
        let low = product as u32;
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 32) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_threads(threads: usize, seed: u64) -> Vec<u32> {
        trimill_system::parallel::on(threads, || random(300_001, 37, seed))
    }

    #[test]
    fn the_same_on_any_number_of_threads_and_another_for_another_seed_or_block() {
        let one = on_threads(1, 7);
        assert_eq!(one, on_threads(2, 7));
        assert_eq!(one, on_threads(5, 7));
        assert_ne!(one, on_threads(1, 8));
        assert_ne!(one[..BLOCK], one[BLOCK..2 * BLOCK]);
        assert_eq!(one[..70_000], random(70_000, 37, 7), "a vertex's part does not depend on the vertices after it");
    }

    /// The first words of ChaCha8's keystream for key and nonce 0, as in its published test vectors: 3e00ef2f 895f40d6 7f5bb8e8 1f09a5a1.
    #[test]
    fn the_published_keystream() {
        assert_eq!(random(4, 1 << 16, 0), [0x2fef, 0xd640, 0xe8b8, 0xa1a5]);
    }

    /// Pearson's statistic over k cells has mean k - 1 and deviation sqrt(2 (k - 1)); five deviations are allowed.
    fn assert_uniform(counts: &[u64], what: &str) {
        let freedom = (counts.len() - 1) as f64;
        let ideal = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let statistic: f64 = counts.iter().map(|&count| (count as f64 - ideal).powi(2) / ideal).sum();
        let bound = 5.0 * (2.0 * freedom).sqrt();
        assert!((statistic - freedom).abs() < bound, "{what}: {statistic} for {freedom} degrees of freedom");
    }

    #[test]
    fn uniform_and_independent_of_the_neighbour() {
        for (parts, seed) in [(32, 0), (100, 1), (7, u64::MAX)] {
            let assignment = random(1_000_000, parts, seed);
            let mut single = vec![0; parts as usize];
            let mut pairs = vec![0; (parts * parts) as usize];
            for pair in assignment.chunks_exact(2) {
                pairs[(pair[0] * parts + pair[1]) as usize] += 1;
                pair.iter().for_each(|&part| single[part as usize] += 1);
            }
            assert_uniform(&single, "parts");
            assert_uniform(&pairs, "pairs of neighbours");
        }
    }

    /// With 3 * 2^30 parts an unguarded product would reach every third part twice as often.
    #[test]
    fn unbiased_where_the_bound_does_not_divide() {
        let parts = 3 << 30;
        let mut thirds = [0; 3];
        random(300_000, parts, 3).iter().for_each(|&part| thirds[(part % 3) as usize] += 1);
        assert_uniform(&thirds, "thirds");
        assert!(random(1000, u32::MAX, 3).iter().all(|&part| part < u32::MAX));
    }

    #[test]
    fn edges_of_the_range() {
        assert_eq!(random(5, 1, 9), [0; 5]);
        assert!(random(0, 4, 9).is_empty());
        assert!(random(3, 1_000_000, 9).iter().all(|&part| part < 1_000_000));
    }
}
