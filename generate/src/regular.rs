//! Graphs made of cliques: the Hamming graphs (also the complete graph, whose words have one letter) and a ring of cliques.
//! They have the most triangles per edge, so counts exceed 2^32 and 2^64 at small sizes.

use std::ops::Range;

use crate::{Sequence, SizedSequence, require, sized};
use trimill_system::Result;
use trimill_system::text::plural;

fn pairs(q: u128) -> Option<u128> {
    Some(q.checked_mul(q.saturating_sub(1))? / 2)
}

fn triples(q: u128) -> Option<u128> {
    Some(pairs(q)?.checked_mul(q.saturating_sub(2))? / 3)
}

/// The pair `a < b` at a position of the order (0,1), (0,2), (1,2), (0,3), ...
fn pair_at(position: u64) -> (u64, u64) {
    let b = ((8 * u128::from(position) + 1).isqrt() as u64).div_ceil(2);
    (position - (u128::from(b) * u128::from(b - 1) / 2) as u64, b)
}

pub(super) fn complete(vertices: u64) -> Result<SizedSequence<'static>> {
    require(
        vertices >= 2,
        &format!("a complete graph of {} has no edges", plural(vertices, "vertex", "vertices")),
        "at least 2",
    )?;
    hamming(1, vertices)
}

/// The Hamming graph `H(d, q)`. Its edges are a clique `K_q` for each position in a word and each choice of the other letters.
struct Hamming {
    q: u64,
    /// `q^(d - 1)`: the number of cliques for each position in a word.
    words: u64,
}

pub(super) fn hamming(d: u32, q: u64) -> Result<SizedSequence<'static>> {
    let found = format!("words of {} of an alphabet of {q} have no edges", plural(d, "letter", "letters"));
    require(d >= 1 && q >= 2, &found, "d of at least 1 and q of at least 2")?;
    let cliques = |words: u64| u128::from(d) * u128::from(words);
    let vertices = sized(u128::from(q).checked_pow(d), "vertices")?;
    let words = vertices / q;
    let edges = sized(pairs(q.into()).and_then(|pairs| pairs.checked_mul(cliques(words))), "edges")?;
    let triangles = triples(q.into()).and_then(|triples| triples.checked_mul(cliques(words)));
    Ok(SizedSequence::exact(vertices, edges, triangles, Hamming { q, words }))
}

impl Hamming {
    /// The first vertex of a clique, and the distance between its vertices. The cliques of the last letter come first.
    fn clique(&self, number: u64) -> (u64, u64) {
        let stride = (0..number / self.words).fold(1, |stride, _| stride * self.q);
        let others = number % self.words;
        (others / stride * stride * self.q + others % stride, stride)
    }
}

impl Sequence for Hamming {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let per_clique = (u128::from(self.q) * u128::from(self.q - 1) / 2) as u64; // at most all edges
        let mut number = range.start / per_clique;
        let (mut a, mut b) = pair_at(range.start % per_clique);
        let (mut first, mut stride) = self.clique(number);
        for _ in range {
            out.push([first + a * stride, first + b * stride]);
            a += 1;
            if a == b {
                (a, b) = (0, b + 1);
            }
            if b == self.q {
                (b, number) = (1, number + 1);
                (first, stride) = self.clique(number);
            }
        }
    }
}

struct RingOfCliques {
    cliques: u64,
    size: u64,
    /// The edges of a clique in the order of [`pair_at`], then the one from its last vertex to the next clique.
    per_clique: u64,
}

pub(super) fn ring_of_cliques(cliques: u64, size: u64) -> Result<SizedSequence<'static>> {
    let (of, each) = (plural(cliques, "clique", "cliques"), plural(size, "vertex", "vertices"));
    let found = format!("there is no ring of {of} of {each}");
    require(cliques >= 3 && size >= 2, &found, "at least 3 cliques of at least 2 vertices")?;
    let all = |each: Option<u128>| each.and_then(|each| each.checked_mul(cliques.into()));
    let vertices = sized(all(Some(size.into())), "vertices")?;
    let edges = sized(all(pairs(size.into()).map(|pairs| pairs + 1)), "edges")?;
    let ring = RingOfCliques { cliques, size, per_clique: edges / cliques };
    Ok(SizedSequence::exact(vertices, edges, all(triples(size.into())), ring))
}

impl Sequence for RingOfCliques {
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>) {
        let mut clique = range.start / self.per_clique;
        let (mut a, mut b) = pair_at(range.start % self.per_clique);
        for _ in range {
            let first = clique * self.size;
            if b < self.size {
                out.push([first + a, first + b]);
                a += 1;
                if a == b {
                    (a, b) = (0, b + 1);
                }
            } else {
                let next = if clique + 1 == self.cliques { 0 } else { first + self.size };
                out.push([first + self.size - 1, next]);
                clique += 1;
                (a, b) = (0, 1);
            }
        }
    }
}
