//! Kronecker products of stars: extreme hubs and exactly known counts at any size (Kepner et al., 'Design, Generation, and Validation of Extreme
//! Scale Power-Law Graphs', arXiv:1803.01281). Vertex 0 of `star(m)` is its centre, `1..=m` are its leaves. The product of the adjacency matrices
//! joins two tuples that are joined in every factor; a tuple's id is its mixed radix number, the first factor most significant.
//!
//! The product is never built. For an edge `u < v` let `j` be the first factor in which `u` and `v` differ: in the factors
//! before `j` the edge follows their loops, in `j` it goes from centre to leaf, and after `j` along any arc. So each `j` has a
//! section of edges, enumerated by a mixed radix counter: every edge once, no loops, any position computed directly.

use std::ops::Range;

use crate::{Sequence, SizedSequence, require, sized};
use trimill_system::Result;

/// Which loops the factors of a product of stars have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum StarKind {
    /// None: the product is bipartite, without triangles.
    #[default]
    #[value(name = "Bk")]
    Bk,
    /// One on each centre; the loop that the product has at vertex 0 is removed.
    #[value(name = "B1k")]
    B1k,
    /// One on the last leaf of each factor; the loop that the product has at its last vertex is removed.
    #[value(name = "B2k")]
    B2k,
}

pub fn parse_leaves(text: &str) -> Result<Vec<u64>, String> {
    text.split('-')
        .map(|number| match number.parse() {
            Ok(leaves) if leaves > 0 => Ok(leaves),
            _ => Err(format!("'{text}' does not name stars; expected their numbers of leaves, such as 3-4-5")),
        })
        .collect()
}

#[derive(Debug, Clone, Copy)]
struct Factor {
    leaves: u64,
    /// The value of one step of this factor's digit in an id.
    stride: u64,
    looped: Option<u64>,
}

impl Factor {
    /// The number of arcs: both directions of each edge, and the loop.
    fn arcs(&self) -> u64 {
        2 * self.leaves + u64::from(self.looped.is_some())
    }

    /// The arc at place `number`, as summands of ids. The order: from the centre to each leaf, from each leaf to the centre, the loop.
    fn arc(&self, number: u64) -> [u64; 2] {
        let ends = if number < self.leaves {
            [0, number + 1]
        } else if number < 2 * self.leaves {
            [number - self.leaves + 1, 0]
        } else {
            let vertex = self.looped.unwrap_or_default();
            [vertex, vertex]
        };
        ends.map(|end| end * self.stride)
    }
}

/// A section: the edges whose ends differ first in the same factor.
#[derive(Debug)]
struct FactorEdges {
    start: u64,
    /// What the loops of the earlier factors add to both ids.
    prefix: u64,
    /// The index of the first factor in which the ends differ.
    first: usize,
}

struct Stars {
    factors: Vec<Factor>,
    sections: Vec<FactorEdges>,
    edges: u64,
}

pub(super) fn stars(leaves: &[u64], kind: StarKind) -> Result<SizedSequence<'static>> {
    let all = !leaves.is_empty() && !leaves.contains(&0);
    require(all, "a product of no stars, or of a star without leaves", "at least one star and a leaf of each")?;
    let mut factors = Vec::with_capacity(leaves.len());
    let mut vertices = Some(1u128);
    for &leaves in leaves.iter().rev() {
        let looped = match kind {
            StarKind::Bk => None,
            StarKind::B1k => Some(0),
            StarKind::B2k => Some(leaves),
        };
        let stride = sized(vertices, "vertices")?;
        factors.push(Factor { leaves, stride, looped });
        vertices = u128::from(stride).checked_mul(u128::from(leaves) + 1);
    }
    let vertices = sized(vertices, "vertices")?;
    factors.reverse();

    let (mut sections, mut edges, mut prefix) = (Vec::new(), 0u128, 0);
    for (first, factor) in factors.iter().enumerate() {
        let size = factors[first + 1..]
            .iter()
            .try_fold(u128::from(factor.leaves), |size, later| size.checked_mul(u128::from(later.arcs())));
        sections.push(FactorEdges { start: sized(Some(edges), "edges")?, prefix, first });
        edges = u128::from(sized(size.and_then(|size| size.checked_add(edges)), "edges")?);
        // Without loops the ends differ in every factor, so also in the first.
        let Some(looped) = factor.looped else { break };
        prefix += looped * factor.stride;
    }
    let (edges, triangles) = (edges as u64, triangles(&factors, kind));
    Ok(SizedSequence::exact(vertices, edges, triangles, Stars { factors, sections, edges }))
}

impl Stars {
    fn append_section(&self, section: &FactorEdges, mut at: u64, count: u64, out: &mut Vec<[u64; 2]>) {
        let factors = &self.factors[section.first..];
        // In the first factor only arcs from the centre to a leaf count; these come first among its arcs.
        let radix = |level: usize| if level == 0 { factors[0].leaves } else { factors[level].arcs() };
        let last = factors.len() - 1;
        let mut digits = vec![0; factors.len()];
        for level in (0..=last).rev() {
            digits[level] = at % radix(level);
            at /= radix(level);
        }
        // ids[level]: both ids as sums over the prefix and the factors before `level`.
        let mut ids = vec![[section.prefix; 2]; factors.len()];
        let mut changed = 0;
        for _ in 0..count {
            for level in changed..last {
                let [tail, head] = factors[level].arc(digits[level]);
                ids[level + 1] = [ids[level][0] + tail, ids[level][1] + head];
            }
            let [tail, head] = factors[last].arc(digits[last]);
            out.push([ids[last][0] + tail, ids[last][1] + head]);

            changed = last;
            digits[changed] += 1;
            while changed > 0 && digits[changed] == radix(changed) {
                digits[changed] = 0;
                changed -= 1;
                digits[changed] += 1;
            }
        }
    }
}

/// The paper's closed forms.
fn triangles(factors: &[Factor], kind: StarKind) -> Option<u128> {
    // `prod (a m_i + b)`; `None` if it overflows.
    let product = |a: u128, b: u128| {
        factors.iter().try_fold(1u128, |product, factor| product.checked_mul(a * u128::from(factor.leaves) + b))
    };
    let (closed, loops) = match kind {
        StarKind::Bk => return Some(0),
        StarKind::B1k => (product(3, 1)?, product(1, 1)?),
        StarKind::B2k => (product(0, 4)?, product(0, 2)?),
    };
    Some(closed.checked_add(2)?.checked_sub(loops.checked_mul(3)?)? / 6)
}

impl Sequence for Stars {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let ends = self.sections.iter().skip(1).map(|section| section.start).chain([self.edges]);
        for (section, end) in self.sections.iter().zip(ends) {
            let (from, to) = (range.start.max(section.start), range.end.min(end));
            if from < to {
                self.append_section(section, from - section.start, to - from, out);
            }
        }
    }
}
