//! The triangles at each vertex: sums by rank ([`crate::sums`]) become a summary ([`summary`]) and files ([`files`]).

pub mod degrees;
pub mod files;
pub mod lcc;
pub(crate) mod npy;
pub mod order;
pub mod summary;

/// A vertex's triangles as a share of the pairs of its neighbours; 0 if there is no pair.
pub fn coefficient(degree: u32, triangles: u64) -> f64 {
    match pairs(degree) {
        0 => 0.0,
        pairs => triangles as f64 / pairs as f64,
    }
}

/// The pairs of neighbours, below 2^63.
pub fn pairs(degree: u32) -> u64 {
    u64::from(degree) * u64::from(degree.saturating_sub(1)) / 2
}
