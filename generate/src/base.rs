//! Graphs made from a given one: the blow-up, the tensor product with a complete graph, and copies side by side. They turn a real crawl
//! into a graph of any size that keeps its hubs, locality and cores, with a count that follows from the crawl's.
//!
//! Every edge `{u, v}` of the base becomes edges `{u k + x, v k + y}`: for all `x, y` (blow-up: `E -> k^2 E`, `T -> k^3 T`, since a
//! triangle's corners choose freely), or for `x != y` (tensor product with `K_k`: `E -> k (k - 1) E`, `T -> k (k - 1)(k - 2) T`).
//!
//! The base is read twice: to count the edges of each chunk of its vertices, which locates any position of the product, and to write. A
//! chunk has a few thousand edges or one vertex. Memory: at most 8 MiB for chunks; for the base 8 bytes per edge and 16 per vertex.

use std::ops::Range;

use crate::rows::{Adjacency, GeneratedRows, RowsWanted};
use crate::{Sequence, SizedSequence, require, sized};
use trimill_system::{Control, Result, parallel};

/// A simple undirected graph from which another is made.
pub trait BaseGraph: Sync {
    /// Each vertex has an edge; ids are below this number.
    fn vertices(&self) -> u64;

    fn edges(&self) -> u64;

    /// Calls `each(u, v)` once for each edge `{u, v}`, `u < v`, with `u` in `range`: always in the same order, and in that of the range's parts.
    fn edges_of(&self, range: Range<u64>, each: &mut dyn FnMut(u64, u64));

    fn triangles_known(&self) -> Option<u128>;
}

/// The fewest vertices of a chunk, and the most chunks.
const CHUNK: u64 = 256;
const CHUNKS: u64 = 1 << 20;

struct Product<'a> {
    base: &'a dyn BaseGraph,
    k: u64,
    /// Whether copies `x` and `y` are joined also if `x = y`.
    diagonal: bool,
    chunk: u64,
    /// How many edges of the base come before each chunk, and then how many it has.
    starts: Vec<u64>,
}

pub(super) fn blowup<'a>(base: &'a dyn BaseGraph, copies: u64, control: &Control) -> Result<SizedSequence<'a>> {
    require(copies >= 1, "a blow-up with 0 copies has no vertices", "at least 1 copy")?;
    product(base, copies, true, control)
}

pub(super) fn tensor_complete<'a>(base: &'a dyn BaseGraph, q: u64, control: &Control) -> Result<SizedSequence<'a>> {
    require(q >= 2, &format!("a tensor product with K_{q} has no edges"), "q of at least 2")?;
    product(base, q, false, control)
}

fn product<'a>(base: &'a dyn BaseGraph, k: u64, diagonal: bool, control: &Control) -> Result<SizedSequence<'a>> {
    let vertices = sized(u128::from(base.vertices()).checked_mul(k.into()), "vertices")?;
    // Checked before the pass over the base, which may take long.
    let per_edge = u128::from(k) * u128::from(if diagonal { k } else { k - 1 });
    let edges = sized(per_edge.checked_mul(base.edges().into()), "edges")?;
    let wide = u128::from(k);
    let factor = match diagonal {
        true => wide.checked_pow(3),
        false => wide.checked_mul(wide - 1).and_then(|pairs| pairs.checked_mul(wide - 2)),
    };
    let triangles = base.triangles_known().zip(factor).and_then(|(known, factor)| known.checked_mul(factor));
    // The base has no isolated vertices, so the product has none.
    Ok(SizedSequence::exact(vertices, edges, triangles, Product::new(base, k, diagonal, control)?))
}

impl<'a> Product<'a> {
    fn new(base: &'a dyn BaseGraph, k: u64, diagonal: bool, control: &Control) -> Result<Self> {
        let n = base.vertices();
        let chunk = n.div_ceil(CHUNKS).max(CHUNK);
        let counts: Vec<u64> = parallel::try_map(0..n.div_ceil(chunk) as usize, |number| {
            control.check()?;
            let mut count = 0;
            base.edges_of(vertices_of(number, chunk, n), &mut |_, _| count += 1);
            Ok(count)
        })?;
        let mut starts = vec![0];
        starts.extend(counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }));
        debug_assert_eq!(starts.last(), Some(&base.edges()));
        Ok(Self { base, k, diagonal, chunk, starts })
    }

    fn partners(&self) -> u64 {
        if self.diagonal { self.k } else { self.k - 1 }
    }

    /// Appends the edges in `range` of those that the edge `{u, v}` becomes.
    fn append_edge(&self, [u, v]: [u64; 2], range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let partners = self.partners();
        let (mut x, mut y) = (range.start / partners, range.start % partners);
        for _ in range {
            let other = if !self.diagonal && y >= x { y + 1 } else { y };
            out.push([u * self.k + x, v * self.k + other]);
            y += 1;
            if y == partners {
                (x, y) = (x + 1, 0);
            }
        }
    }
}

fn vertices_of(number: usize, chunk: u64, n: u64) -> Range<u64> {
    let first = number as u64 * chunk;
    first..n.min(first + chunk)
}

impl Sequence for Product<'_> {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let per_edge = self.k * self.partners();
        let chunks = self.starts.len() - 1;
        let first = self.starts.partition_point(|&start| start <= range.start / per_edge) - 1;
        let mut next = range.start;
        for number in first..chunks {
            if next >= range.end {
                break;
            }
            let mut start = self.starts[number] * per_edge;
            self.base.edges_of(vertices_of(number, self.chunk, self.base.vertices()), &mut |u, v| {
                let end = start + per_edge;
                if next < end && next < range.end {
                    let stop = end.min(range.end);
                    self.append_edge([u, v], next - start..stop - start, out);
                    next = stop;
                }
                start = end;
            });
        }
    }

    fn rows<'a>(&'a self, wanted: &RowsWanted<'_>) -> Result<Option<Box<dyn GeneratedRows + 'a>>> {
        Ok(Some(Box::new(ProductRows { base: self.base_rows(wanted)?, product: self })))
    }
}

impl Product<'_> {
    fn base_rows(&self, wanted: &RowsWanted<'_>) -> Result<Adjacency> {
        Adjacency::new(&blowup(self.base, 1, wanted.control)?, wanted)
    }
}

struct ProductRows<'a> {
    base: Adjacency,
    product: &'a Product<'a>,
}

impl GeneratedRows for ProductRows<'_> {
    fn arcs(&self) -> u64 {
        self.base.arcs() * self.product.k * self.product.partners()
    }

    fn length(&self, vertex: u64) -> u64 {
        self.base.length(vertex / self.product.k) * self.product.partners()
    }

    fn append(&self, vertex: u64, row: &mut Vec<u32>) {
        let Product { k, diagonal, .. } = *self.product;
        let (v, x) = (vertex / k, (vertex % k) as u32);
        for &u in self.base.row(v) {
            let first = u * k as u32;
            match diagonal {
                true => row.extend(first..first + k as u32),
                false => row.extend((first..first + k as u32).filter(|&id| id != first + x)),
            }
        }
    }

    fn repeats(&self, vertex: u64) -> bool {
        self.product.diagonal && !vertex.is_multiple_of(self.product.k)
    }
}

struct Copies<'a> {
    one: Product<'a>,
    copies: u64,
}

pub(super) fn copies<'a>(base: &'a dyn BaseGraph, copies: u64, control: &Control) -> Result<SizedSequence<'a>> {
    let times = |of: u64, what| sized(u128::from(of).checked_mul(copies.into()), what);
    let (vertices, edges) = (times(base.vertices(), "vertices")?, times(base.edges(), "edges")?);
    let triangles = base.triangles_known().and_then(|triangles| triangles.checked_mul(copies.into()));
    let one = Product::new(base, 1, true, control)?;
    Ok(SizedSequence::exact(vertices, edges, triangles, Copies { one, copies }))
}

impl Sequence for Copies<'_> {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let (n, m) = (self.one.base.vertices(), self.one.base.edges());
        let mut next = range.start;
        while next < range.end {
            let (copy, begin, first) = (next / m, next % m, out.len());
            let end = m.min(begin + range.end - next);
            self.one.append(begin..end, out);
            out[first..].iter_mut().for_each(|edge| *edge = edge.map(|id| copy * n + id));
            next += end - begin;
        }
    }

    fn rows<'b>(&'b self, wanted: &RowsWanted<'_>) -> Result<Option<Box<dyn GeneratedRows + 'b>>> {
        let (base, period) = (self.one.base_rows(wanted)?, self.one.base.vertices());
        Ok(Some(Box::new(CopiedRows { base, period, copies: self.copies })))
    }
}

struct CopiedRows {
    base: Adjacency,
    period: u64,
    copies: u64,
}

impl GeneratedRows for CopiedRows {
    fn arcs(&self) -> u64 {
        self.base.arcs() * self.copies
    }

    fn length(&self, vertex: u64) -> u64 {
        self.base.length(vertex % self.period)
    }

    fn append(&self, vertex: u64, row: &mut Vec<u32>) {
        let n = self.period;
        row.extend(self.base.row(vertex % n).iter().map(|id| (vertex / n * n) as u32 + id));
    }

    fn period(&self) -> Option<u64> {
        Some(self.period)
    }
}
