//! The simplest count, for tests of the verifier itself.

pub const BRUTE_FORCE_IDS: u64 = 512;

/// Counts the triangles of the simple undirected graph of `arcs` by checking all triples: `O(n^3)`. Panics if an id is not below [`BRUTE_FORCE_IDS`].
pub fn brute_force(arcs: &[(u64, u64)]) -> u128 {
    const WORDS: usize = BRUTE_FORCE_IDS as usize / 64;
    let n = arcs.iter().map(|&(u, v)| u.max(v) + 1).max().unwrap_or(0);
    assert!(n <= BRUTE_FORCE_IDS, "brute force takes ids below {BRUTE_FORCE_IDS}");
    let mut matrix = vec![[0u64; WORDS]; n as usize];
    for &(u, v) in arcs.iter().filter(|(u, v)| u != v) {
        matrix[u as usize][v as usize / 64] |= 1 << (v % 64);
        matrix[v as usize][u as usize / 64] |= 1 << (u % 64);
    }
    let adjacent = |u: usize, v: usize| matrix[u][v / 64] >> (v % 64) & 1 == 1;
    let mut triangles = 0;
    for a in 0..matrix.len() {
        for b in (a + 1..matrix.len()).filter(|&b| adjacent(a, b)) {
            triangles += (b + 1..matrix.len()).filter(|&c| adjacent(a, c) && adjacent(b, c)).count() as u128;
        }
    }
    triangles
}
