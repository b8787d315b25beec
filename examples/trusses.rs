//! Finds the trusses of a graph: the k-truss is the largest part of it in which each edge is in k - 2 triangles or more.
//!
//!     cargo run --release --example trusses

#![allow(clippy::print_stdout)]

use trimill::{Graph, Options};

fn main() -> Result<(), trimill::Error> {
    // Complete graphs of 3, 4 and 5 vertices, joined by single edges.
    let complete = |first: u64, many: u64| (0..many).flat_map(move |u| (0..u).map(move |v| (first + u, first + v)));
    let edges = complete(0, 3).chain(complete(10, 4)).chain(complete(20, 5)).chain([(2, 10), (13, 20)]);

    let options = Options::new().truss();
    let (result, edges) = Graph::from_edges(edges).prepare(&options)?.edges(&options)?;
    for truss in result.truss.unwrap_or_default().by_k {
        println!("the {}-truss has {} vertices and {} edges", truss.k, truss.vertices, truss.edges);
    }
    let inner: Vec<(u64, u64)> = edges.iter().filter(|&(.., k)| k == 5).map(|(u, v, _)| (u, v)).collect();
    println!("the innermost edges: {inner:?}");
    Ok(())
}
