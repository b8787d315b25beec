//! Lattices: the ring lattice, from which the small-world graphs of Watts and Strogatz (Nature 393, 1998) are made, and the
//! king's grid. They have perfect locality, no hubs, and triangles everywhere.

use std::ops::Range;

use crate::{Sequence, SizedSequence, require, sized};
use trimill_system::text::plural;
use trimill_system::{Error, Result};

/// A sequence given by a function from an edge's position.
struct EdgeAt<F>(F);

impl<F: Fn(u64) -> [u64; 2] + Sync> Sequence for EdgeAt<F> {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        out.extend(range.map(&self.0));
    }
}

/// `C_n(1..k)`.
pub(super) fn ring_lattice(vertices: u64, k: u64) -> Result<SizedSequence<'static>> {
    if k == 0 || u128::from(vertices) <= 2 * u128::from(k) {
        return Err(Error::usage(format!(
            "there is no ring lattice of {} with k = {k}",
            plural(vertices, "vertex", "vertices")
        ))
        .expected("k at least 1 and more than 2 k vertices")
        .advice("to join every vertex to every other, take the complete graph"));
    }
    let edges = sized(u128::from(vertices).checked_mul(k.into()), "edges")?;
    let triangles = triangles(vertices.into(), k.into());
    let edge_at = move |edge: u64| {
        let (vertex, step) = (edge / k, edge % k + 1);
        // Not `vertex + step`, which could overflow.
        let left = vertices - vertex;
        [vertex, if step < left { vertex + step } else { step - left }]
    };
    Ok(SizedSequence::exact(vertices, edges, triangles, EdgeAt(edge_at)))
}

/// `n k (k - 1) / 2` triangles have all corners within a distance of `k` along the ring. If `n <= 3 k`, others go around the ring: each is three
/// steps of 1 to `k` that sum to `n`; from each vertex there are `C(3 k - n + 2, 2)`, and each triangle is found from all three corners.
fn triangles(n: u128, k: u128) -> Option<u128> {
    let within = n.checked_mul(k)?.checked_mul(k - 1)? / 2;
    let around = match (3 * k).checked_sub(n) {
        Some(slack) => n.checked_mul((slack + 1).checked_mul(slack + 2)?)? / 6,
        None => 0,
    };
    within.checked_add(around)
}

/// A king's moves, row by row: from each cell down, right, and both diagonals of the square whose upper left corner it is.
pub(super) fn kings_grid(rows: u64, columns: u64) -> Result<SizedSequence<'static>> {
    let (of_rows, of_columns) = (plural(rows, "row", "rows"), plural(columns, "column", "columns"));
    let found = format!("a grid of {of_rows} and {of_columns} has no cells");
    require(rows >= 1 && columns >= 1, &found, "at least 1 of each")?;
    let (r, c) = (u128::from(rows), u128::from(columns));
    let vertices = sized(r.checked_mul(c), "vertices")?;
    let edges = sized(Some(r * (c - 1) + c * (r - 1) + 2 * (r - 1) * (c - 1)), "edges")?;
    let triangles = Some(4 * (r - 1) * (c - 1));
    // The edges of every row but the last. In a single row all edges are below this bound.
    let per_row = columns.saturating_mul(4).saturating_sub(3);
    let edge_at = move |edge: u64| {
        let (row, rest) = (edge / per_row, edge % per_row);
        let first = row * columns;
        if row + 1 == rows {
            return [first + rest, first + rest + 1];
        }
        let cell = first + rest / 4;
        match rest % 4 {
            // The last cell of a row has only the first of these edges: down.
            0 => [cell, cell + columns],
            1 => [cell, cell + 1],
            2 => [cell, cell + columns + 1],
            _ => [cell + 1, cell + columns],
        }
    };
    Ok(SizedSequence::exact(vertices, edges, triangles, EdgeAt(edge_at)))
}
