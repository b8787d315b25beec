//! The triangles at each vertex.
//!
//! Input: the sum at each vertex, by rank ([`crate::sums`]). Output: a summary ([`summary`]) and files ([`files`]) whose rows are in the
//! order of the input's ids.

pub mod degrees;
pub mod files;
pub mod lcc;
mod npy;
pub mod order;
pub mod summary;

/// The local clustering coefficient of a vertex: its triangles as a share of the pairs of its neighbours; 0 where there is no pair.
pub fn coefficient(degree: u32, triangles: u64) -> f64 {
    match pairs(degree) {
        0 => 0.0,
        pairs => triangles as f64 / pairs as f64,
    }
}

/// The pairs of neighbours of a vertex of this degree, below 2^63.
pub fn pairs(degree: u32) -> u64 {
    u64::from(degree) * u64::from(degree.saturating_sub(1)) / 2
}
