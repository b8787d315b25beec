//! Prepares a graph once and asks it twice: for the local clustering coefficient of each vertex, and for the triangles on each edge.
//!
//!     cargo run --release --example clustering

#![allow(clippy::print_stdout)]

use trimill::{Graph, Options};

fn main() -> Result<(), trimill::Error> {
    // A wheel: a hub, and a rim of ten vertices around it.
    let rim = (0..10).flat_map(|at| [(100, at), (at, (at + 1) % 10)]);
    let options = Options::new();
    let graph = Graph::from_edges(rim).prepare(&options)?;

    let (result, vertices) = graph.vertices(&options)?;
    println!("{} triangles", result.triangles);
    for (id, degree, triangles) in vertices.iter() {
        let pairs = u64::from(degree) * u64::from(degree - 1) / 2;
        println!("vertex {id}: {triangles} of {pairs} pairs of neighbours are neighbours");
    }

    let (_, edges) = graph.edges(&options)?;
    let most = edges.counts.iter().max().copied().unwrap_or(0);
    println!("at most {most} triangles on an edge: {}", edges.iter().filter(|&(.., on)| on == most).count());
    Ok(())
}
