//! Graphs with a known best cut, as oriented rows.

use trimill_partitioners::RowsById;

/// Rows that have each edge once, in the row of the end that comes first in degree order.
pub(crate) fn oriented(vertices: u32, edges: &[(u32, u32)]) -> RowsById {
    let mut degrees = vec![0; vertices as usize];
    edges.iter().for_each(|&(u, v)| {
        degrees[u as usize] += 1;
        degrees[v as usize] += 1;
    });
    let mut rows = vec![Vec::new(); vertices as usize];
    for &(u, v) in edges {
        let place = |id: u32| (degrees[id as usize], id);
        let (tail, successor) = if place(u) < place(v) { (u, v) } else { (v, u) };
        rows[tail as usize].push(successor);
    }
    RowsById::of(&rows)
}

/// The cut, computed independently of the crate.
pub(crate) fn cut(graph: &RowsById, parts: &[u32]) -> u64 {
    let cut_of = |(tail, own): (u32, &u32)| {
        graph.row(tail).iter().filter(|&&successor| parts[successor as usize] != *own).count() as u64
    };
    (0..).zip(parts).map(cut_of).sum()
}

pub(crate) fn ring_of_cliques(cliques: u32, size: u32) -> RowsById {
    oriented(cliques * size, &edges_of_ring(cliques, size))
}

/// `cliques` cliques of `size` vertices, each joined to the next by an edge, the last to the first. Clique `c` begins with vertex `c * size`.
pub(crate) fn edges_of_ring(cliques: u32, size: u32) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for c in 0..cliques {
        edges.extend((0..size).flat_map(|v| (0..v).map(move |u| (c * size + u, c * size + v))));
        edges.push((c * size, (c + 1) % cliques * size + 1));
    }
    edges
}

/// A multiplicative congruential graph: no structure, so METIS takes long. About `degree * vertices` edges.
pub(crate) fn scrambled(vertices: u32, degree: u32) -> RowsById {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % vertices
    };
    let mut edges: Vec<(u32, u32)> = (0..vertices * degree).map(|_| (next(), next())).collect();
    edges.iter_mut().for_each(|edge| *edge = (edge.0.min(edge.1), edge.0.max(edge.1)));
    edges.sort_unstable();
    edges.dedup();
    edges.retain(|&(u, v)| u != v);
    oriented(vertices, &edges)
}
