//! Graphs made from a given one: the blow-up, the tensor product with a complete graph, and copies side by side. They turn a real crawl
//! into a graph of any size that keeps its hubs, locality and cores, with a count that follows from the crawl's.
//!
//! Every edge `{u, v}` of the base becomes edges `{u k + x, v k + y}`: for all `x, y` (blow-up: `E -> k^2 E`, `T -> k^3 T`, since a
//! triangle's corners choose freely), or for `x != y` (tensor product with `K_k`: `E -> k (k - 1) E`, `T -> k (k - 1)(k - 2) T`).
//!
//! Memory: 4 bytes per edge of the base and 8 per vertex; files that store rows also need the base's rows.

use std::ops::Range;

use crate::rows::{Adjacency, GeneratedFile, GeneratedRows};
use crate::{Sequence, SizedSequence, require, sized};
use trimill_system::Result;

/// A simple undirected graph from which another is made. Each vertex has an edge.
pub struct BaseGraph {
    /// Where the edges of each smaller end begin in `neighbours`, and where the last ones end.
    pub begins: Vec<u64>,
    /// The larger end of each edge.
    pub neighbours: Vec<u32>,
    pub triangles: Option<u128>,
}

impl BaseGraph {
    /// Ids are below this number.
    pub fn vertices(&self) -> u64 {
        self.begins.len() as u64 - 1
    }

    pub fn edges(&self) -> u64 {
        self.neighbours.len() as u64
    }
}

struct Product<'a> {
    base: &'a BaseGraph,
    k: u64,
    /// Whether copies `x` and `y` are joined also if `x = y`.
    diagonal: bool,
}

pub(super) fn blowup(base: &BaseGraph, copies: u64) -> Result<SizedSequence<'_>> {
    require(copies >= 1, "a blow-up with 0 copies has no vertices", "at least 1 copy")?;
    product(base, copies, true)
}

pub(super) fn tensor_complete(base: &BaseGraph, q: u64) -> Result<SizedSequence<'_>> {
    require(q >= 2, &format!("a tensor product with K_{q} has no edges"), "q of at least 2")?;
    product(base, q, false)
}

fn product(base: &BaseGraph, k: u64, diagonal: bool) -> Result<SizedSequence<'_>> {
    let (product, wide) = (Product { base, k, diagonal }, u128::from(k));
    let vertices = sized(wide.checked_mul(base.vertices().into()), "vertices")?;
    let per_edge = wide * u128::from(product.partners());
    let edges = sized(per_edge.checked_mul(base.edges().into()), "edges")?;
    let factor = match diagonal {
        true => wide.checked_pow(3),
        false => wide.checked_mul(wide - 1).and_then(|pairs| pairs.checked_mul(wide - 2)),
    };
    let triangles = base.triangles.zip(factor).and_then(|(known, factor)| known.checked_mul(factor));
    // The base has no isolated vertices, so the product has none.
    Ok(SizedSequence::exact(vertices, edges, triangles, product))
}

impl Product<'_> {
    /// How many edges each copy of one end has to copies of the other.
    fn partners(&self) -> u64 {
        if self.diagonal { self.k } else { self.k - 1 }
    }

    fn base_rows(&self, wanted: &GeneratedFile<'_>) -> Result<Adjacency> {
        Adjacency::new(&blowup(self.base, 1)?, wanted)
    }

    /// Appends those in `range` of the edges that the edge `{u, v}` becomes.
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

impl Sequence for Product<'_> {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let BaseGraph { begins, neighbours, .. } = self.base;
        let per_edge = self.k * self.partners();
        let places = range.start / per_edge..range.end.div_ceil(per_edge);
        let mut u = begins.partition_point(|&begin| begin <= places.start) - 1;
        for place in places {
            while begins[u + 1] <= place {
                u += 1;
            }
            let (edge, start) = ([u as u64, neighbours[place as usize].into()], place * per_edge);
            let stop = range.end.min(start + per_edge);
            self.append_edge(edge, range.start.max(start) - start..stop - start, out);
        }
    }

    fn rows<'a>(&'a self, wanted: &GeneratedFile<'_>) -> Result<Option<Box<dyn GeneratedRows + 'a>>> {
        Ok(Some(Box::new(ProductRows { base: self.base_rows(wanted)?, product: self })))
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

pub(super) fn copies(base: &BaseGraph, copies: u64) -> Result<SizedSequence<'_>> {
    let times = |of: u64, what| sized(u128::from(of).checked_mul(copies.into()), what);
    let (vertices, edges) = (times(base.vertices(), "vertices")?, times(base.edges(), "edges")?);
    let triangles = base.triangles.and_then(|triangles| triangles.checked_mul(copies.into()));
    let one = Product { base, k: 1, diagonal: true };
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

    fn rows<'b>(&'b self, wanted: &GeneratedFile<'_>) -> Result<Option<Box<dyn GeneratedRows + 'b>>> {
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
