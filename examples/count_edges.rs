//! Counts the triangles of edges that are in memory.
//!
//!     cargo run --release --example count_edges

#![allow(clippy::print_stdout)]

use trimill::{Graph, Options};

fn main() -> Result<(), trimill::Error> {
    // The graph of an octahedron: each of 6 vertices has an edge to all but the opposite one. Its 8 faces are its triangles.
    let edges = (0..6).flat_map(|u| (0..u).filter(move |v| u + v != 5).map(move |v| (u, v)));
    let counted = Graph::from_edges(edges).count(&Options::new())?;
    println!("{} triangles in {} edges", counted.triangles, counted.edges);
    Ok(())
}
