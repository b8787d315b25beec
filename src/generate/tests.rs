//! What only the inside shows: any block is found alone, and the closed forms of graphs too big to write in a test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

/// A path, a triangle and a hub, over more ids than one chunk of a product holds.
struct Base(Vec<(u64, u64)>);

impl Base {
    fn new() -> Self {
        let mut edges: Vec<_> = (0..600).map(|v| (v, v + 1)).chain([(3, 5), (700, 999)]).collect();
        edges.extend((300..800).map(|v| (2, v)));
        edges.sort_unstable();
        Self(edges)
    }
}

impl BaseGraph for Base {
    fn vertices(&self) -> u64 {
        1_000
    }
    fn edges(&self) -> u64 {
        self.0.len() as u64
    }
    fn edges_of(&self, range: Range<u64>, each: &mut dyn FnMut(u64, u64)) {
        self.0.iter().filter(|(u, _)| range.contains(u)).for_each(|&(u, v)| each(u, v));
    }
    fn triangles_known(&self) -> Option<u128> {
        None
    }
}

#[test]
fn any_stretch_of_a_sequence_is_made_alone() {
    let base = Base::new();
    let control = Control::silent();
    for family in [
        Family::Stars { leaves: vec![3, 4, 5], kind: StarKind::Bk },
        Family::Stars { leaves: vec![3, 4, 5], kind: StarKind::B1k },
        Family::Stars { leaves: vec![2, 1, 4, 3], kind: StarKind::B2k },
        Family::Stars { leaves: vec![9], kind: StarKind::B2k },
        Family::RingLattice { vertices: 50, k: 7 },
        Family::KingsGrid { rows: 9, columns: 7 },
        Family::KingsGrid { rows: 1, columns: 70 },
        Family::KingsGrid { rows: 70, columns: 1 },
        Family::Complete { vertices: 30 },
        Family::RingOfCliques { cliques: 9, size: 6 },
        Family::Hamming { d: 3, q: 5 },
        Family::Blowup { copies: 3, permute: None },
        Family::Blowup { copies: 3, permute: Some(5) },
        Family::TensorComplete { q: 4 },
    ] {
        let base: Option<&dyn BaseGraph> = if family.needs_base() { Some(&base) } else { None };
        let sequence = family.sequence(base, &control).unwrap();
        let mut whole = Vec::new();
        sequence.append(0..sequence.edges(), &mut whole);
        assert_eq!(whole.len() as u64, sequence.edges(), "{family:?}");
        for step in [1, 2, 3, 7, 50, 611] {
            let mut pieces = Vec::new();
            for start in (0..sequence.edges()).step_by(step as usize) {
                sequence.append(start..sequence.edges().min(start + step), &mut pieces);
            }
            assert_eq!(pieces, whole, "{family:?} by {step}");
        }
    }
}

#[test]
fn blocks_far_into_a_large_graph_are_found() {
    // The last edges of K_n, n = 2^32: those of its last vertex, which has id n - 1.
    let sequence = regular::complete(1 << 32).unwrap();
    let mut edges = Vec::new();
    sequence.append(sequence.edges() - 2..sequence.edges(), &mut edges);
    assert_eq!(edges, [[(1 << 32) - 3, (1 << 32) - 1], [(1 << 32) - 2, (1 << 32) - 1]]);
}

#[test]
fn products_of_stars_have_the_published_size() {
    for (leaves, vertices, edges, triangles) in [
        ("3-4", 20, 31, 12),
        ("3-4-5-9", 1_200, 6_583, 9_107),
        ("25-81", 2_132, 4_156, 2_025),
        ("3-4-5-9-16-25", 530_400, 11_080_030, 35_882_427),
        ("3-4-5-16-81-256", 42_990_960, 956_141_455, 3_165_814_707),
        ("3-4-5-9-16-25-81", 43_492_800, 1_806_044_971, 8_798_274_507),
    ] {
        let product = stars::Stars::new(&parse_leaves(leaves).unwrap(), StarKind::B1k).unwrap();
        assert_eq!(product.vertices(), vertices, "{leaves}");
        assert_eq!(product.edges(), edges, "{leaves}");
        assert_eq!(product.known().triangles, Some(triangles), "{leaves}");
    }
}

#[test]
fn the_twister_is_that_of_the_cpp_standard() {
    // [rand.predef]: the 10,000th number of a default-constructed mt19937.
    let mut random = rand_mt::Mt::new(5489);
    assert_eq!((0..10_000).map(|_| random.next_u32()).last(), Some(4_123_659_995));
}

#[test]
fn names_are_read_as_they_are_written() {
    for kind in [StarKind::Bk, StarKind::B1k, StarKind::B2k] {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert!("b3k".parse::<StarKind>().is_err());
    assert_eq!(parse_leaves("3-4-5"), Ok(vec![3, 4, 5]));
    for text in ["", "3-", "3-0", "-3", "3,4", "3--4"] {
        assert!(parse_leaves(text).is_err(), "{text}");
    }
}
