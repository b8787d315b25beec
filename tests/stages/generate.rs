//! Generated files against the definitions of their graphs, published counts and an independent counter.

mod refusals;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::common::arcs_of_pairs;
use crate::readers::support::{gamma_coded, on, open, read, sg as serialized, text_of};
use trimill::testing::count::verify::{Verifier, brute_force};
use trimill::testing::input::ArcSink;
use trimill::testing::input::arcs::ArcSource;
use trimill::testing::report::VerifyReport;
use trimill::{Control, Kind, Observer, Unit};
use trimill_generate::{BaseGraph, Family, Generated, GeneratedFile, KnownCounts, RowArcs, StarKind};
use trimill_generate::{generate, generate_file};

type Edges = Vec<(u64, u64)>;

/// The graph of `edges` from smaller to larger ids, sorted by the smaller.
fn base_of(vertices: u64, edges: &[(u64, u64)], triangles: Option<u128>) -> BaseGraph {
    let begins = (0..=vertices).map(|u| edges.partition_point(|edge| edge.0 < u) as u64).collect();
    BaseGraph { begins, neighbours: edges.iter().map(|edge| edge.1 as u32).collect(), triangles }
}

fn make_pairs(family: &Family, base: Option<&BaseGraph>, folder: &Path) -> (Generated, Edges) {
    let binary = folder.join("graph.bin");
    let generated = generate(family, base, &binary, &Control::silent()).unwrap();
    let edges = arcs_of_pairs(&binary);
    assert_eq!(generated.edges_written, edges.len() as u64);
    assert_eq!(generated.bytes, fs::metadata(&binary).unwrap().len());
    (generated, edges)
}

/// Makes a graph in all formats, which must hold the same.
fn make(family: &Family, base: Option<&BaseGraph>) -> (Generated, Edges) {
    let folder = tempfile::tempdir().unwrap();
    let (generated, edges) = make_pairs(family, base, folder.path());
    let [text, compressed, sg] = ["graph.txt", "crawl.graph", "graph.sg"].map(|name| {
        let path = folder.path().join(name);
        let made = generate(family, base, &path, &Control::silent()).unwrap();
        let bytes = fs::metadata(&path).unwrap().len();
        assert_eq!((made.bytes, made.known), (bytes, generated.known), "{family:?} as {name}");
        path
    });
    let text = fs::read_to_string(&text).unwrap();
    assert!(text == text_of(&edges, " ", "\n"), "{family:?}: both formats hold the same");
    // The formats of rows have all edges in both directions, once each, without loops.
    let both = edges.iter().filter(|(u, v)| u != v).flat_map(|&(u, v)| [(u, v), (v, u)]);
    let both: Vec<(u64, u64)> = both.collect::<BTreeSet<_>>().into_iter().collect();
    is_bvgraph_of(&compressed, generated.vertices_declared, &both);
    assert!(fs::read(&sg).unwrap() == serialized(generated.vertices_declared, &both, false));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 6, "nothing else is left");
    (generated, edges)
}

/// The BVGraph must have these arcs and all offsets. `tests/bvgraphs` has WebGraph's library read such graphs.
fn is_bvgraph_of(path: &Path, vertices: u64, arcs: &[(u64, u64)]) {
    assert_eq!(open(path).unwrap().facts().declared_vertices, Some(vertices));
    let properties = fs::read_to_string(path.with_extension("properties")).unwrap();
    assert!(properties.contains(&format!("\narcs={}\n", arcs.len())), "{properties}");
    // The reader compares offsets with the rows if the first is 0 and the last is the end of the file.
    let lengths = gamma_coded(&fs::read(path.with_extension("offsets")).unwrap(), vertices as usize + 1);
    let words = lengths.iter().sum::<u64>().div_ceil(64);
    assert_eq!((lengths[0], 8 * words), (0, fs::metadata(path).unwrap().len()));
    assert!(read(path).unwrap() == arcs, "{}", path.display());
}

fn verify(edges: &[(u64, u64)]) -> VerifyReport {
    let verifier = Verifier::default();
    verifier.arcs(edges).unwrap();
    verifier.finish(&Control::silent()).unwrap()
}

/// The file of `family` must have exactly the pairs that are `adjacent`, each once; and the reported numbers, which it returns, must be right.
fn is_defined_by(family: &Family, base: Option<&BaseGraph>, adjacent: impl Fn(u64, u64) -> bool) -> KnownCounts {
    let (generated, edges) = make(family, base);
    let n = generated.vertices_declared;
    let wanted: BTreeSet<_> =
        (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).filter(|&(u, v)| adjacent(u, v)).collect();
    let found: BTreeSet<_> = edges.iter().map(|&(u, v)| (u.min(v), u.max(v))).collect();
    assert_eq!(found, wanted, "{family:?}");
    assert_eq!(edges.len(), found.len(), "{family:?}: every edge once");
    let KnownCounts { vertices, edges: known_edges, triangles } = generated.known;
    assert_eq!(known_edges, Some(edges.len() as u128), "{family:?}");
    if let Some(triangles) = triangles {
        assert_eq!(triangles, brute_force(&edges), "{family:?}");
    }
    if let Some(vertices) = vertices {
        assert_eq!(vertices, verify(&edges).vertices, "{family:?}");
    }
    generated.known
}

#[test]
fn products_of_stars_follow_their_definition() {
    for leaves in [vec![1], vec![5], vec![1, 1, 1], vec![3, 4], vec![2, 3, 4], vec![4, 1, 2, 3]] {
        for kind in [StarKind::Bk, StarKind::B1k, StarKind::B2k] {
            let family = Family::Stars { leaves: leaves.clone(), kind };
            is_defined_by(&family, None, |mut u, mut v| {
                // The last factor is the least significant digit.
                leaves.iter().rev().all(|&leaves| {
                    let (a, b) = (u % (leaves + 1), v % (leaves + 1));
                    (u, v) = (u / (leaves + 1), v / (leaves + 1));
                    let looped = match kind {
                        StarKind::Bk => false,
                        StarKind::B1k => a == 0 && b == 0,
                        StarKind::B2k => a == leaves && b == leaves,
                    };
                    looped || (a == 0) != (b == 0)
                })
            });
        }
    }
}

#[test]
fn lattices_follow_their_definition() {
    // With n <= 3 k some triangles go around the ring; n = 2 k + 1 is the complete graph.
    for (vertices, k) in [(3, 1), (4, 1), (5, 2), (6, 2), (7, 2), (20, 4), (13, 6), (14, 6), (18, 6), (19, 6), (90, 17)]
    {
        is_defined_by(&Family::RingLattice { vertices, k }, None, |u, v| (v - u).min(vertices - (v - u)) <= k);
    }
    for (rows, columns) in [(1, 2), (2, 1), (1, 9), (9, 1), (2, 2), (5, 8), (17, 3)] {
        is_defined_by(&Family::KingsGrid { rows, columns }, None, |u, v| {
            (u / columns).abs_diff(v / columns) <= 1 && (u % columns).abs_diff(v % columns) <= 1
        });
    }
}

#[test]
fn cliques_follow_their_definition() {
    for vertices in [2, 3, 10, 65] {
        is_defined_by(&Family::Complete { vertices }, None, |_, _| true);
    }
    for (cliques, size) in [(3, 2), (3, 3), (4, 5), (11, 7)] {
        is_defined_by(&Family::RingOfCliques { cliques, size }, None, |u, v| {
            let joined = |u: u64, v: u64| u % size == size - 1 && v == (u + 1) % (cliques * size);
            u / size == v / size || joined(u, v) || joined(v, u)
        });
    }
    for (d, q) in [(1, 2), (1, 9), (7, 2), (3, 5), (4, 3)] {
        is_defined_by(&Family::Hamming { d, q }, None, |u, v| {
            (0..d).filter(|&letter| u / q.pow(letter) % q != v / q.pow(letter) % q).count() == 1
        });
    }
}

#[test]
fn products_of_a_graph_follow_their_definition() {
    // A wheel and a tail: 5 triangles.
    let edges = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 5), (2, 3), (3, 4), (4, 5), (5, 6)];
    let joined: BTreeSet<_> = edges.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
    let base = base_of(7, &edges, Some(5));
    for copies in [1, 2, 3, 7] {
        let family = Family::Blowup { copies, permute: None };
        let known = is_defined_by(&family, Some(&base), |u, v| joined.contains(&(u / copies, v / copies)));
        assert_eq!((known.vertices, known.triangles), (Some(7 * copies), Some(5 * u128::from(copies).pow(3))));
    }
    for q in [2, 3, 4, 6] {
        let family = Family::TensorComplete { q };
        let known = is_defined_by(&family, Some(&base), |u, v| joined.contains(&(u / q, v / q)) && u % q != v % q);
        let q = u128::from(q);
        assert_eq!(known.triangles, Some(5 * q * (q - 1) * (q - 2)));
    }
    for copies in [1, 2, 5] {
        let family = Family::Copies { copies };
        let known = is_defined_by(&family, Some(&base), |u, v| u / 7 == v / 7 && joined.contains(&(u % 7, v % 7)));
        assert_eq!(known.triangles, Some(5 * u128::from(copies)));
    }
    // Permuted ids give the same graph: every id is always mapped to the same other id.
    let [plain, permuted] = [None, Some(9)].map(|permute| make(&Family::Blowup { copies: 3, permute }, Some(&base)));
    assert_eq!(permuted.0, plain.0);
    let mut name = std::collections::BTreeMap::new();
    for (&(u, v), &(x, y)) in plain.1.iter().zip(&permuted.1) {
        assert!(*name.entry(u).or_insert(x) == x && *name.entry(v).or_insert(y) == y);
    }
    assert_eq!(name.values().collect::<BTreeSet<_>>().len(), name.len());
    assert!(name.iter().filter(|(id, other)| id == other).count() < name.len() / 2);
    let uncounted = BaseGraph { triangles: None, ..base };
    assert_eq!(make(&Family::Blowup { copies: 2, permute: None }, Some(&uncounted)).0.known.triangles, None);
}

#[test]
fn rows_may_have_each_edge_once() {
    let base = base_of(5, &[(0, 1), (0, 2), (0, 3), (1, 2), (3, 4)], Some(1));
    let folder = tempfile::tempdir().unwrap();
    let control = Control::silent();
    for family in [
        Family::Blowup { copies: 3, permute: None },
        Family::Blowup { copies: 3, permute: Some(4) },
        Family::Copies { copies: 2 },
        Family::TensorComplete { q: 3 },
        Family::GapKron { scale: 8 },
    ] {
        let base = family.needs_base().then_some(&base);
        let arcs = |arcs: RowArcs| {
            let (graph, sg) = (folder.path().join("g.graph"), folder.path().join("g.sg"));
            for path in [&graph, &sg] {
                generate_file(&family, base, &GeneratedFile { path, arcs, force: true, control: &control }).unwrap();
            }
            let found: BTreeSet<_> = read(&graph).unwrap().into_iter().collect();
            let bytes = fs::read(&sg).unwrap();
            assert_eq!(bytes[0], u8::from(arcs != RowArcs::Both), "whether it is directed");
            assert_eq!(u64::from_le_bytes(bytes[1..9].try_into().unwrap()), found.len() as u64);
            found
        };
        let [both, up, down] = [RowArcs::Both, RowArcs::Up, RowArcs::Down].map(arcs);
        assert_eq!(2 * up.len(), both.len(), "{family:?}");
        assert_eq!(down.iter().map(|&(tail, head)| (head, tail)).collect::<BTreeSet<_>>(), up);
        assert_eq!(up.union(&down).copied().collect::<BTreeSet<_>>(), both);
    }
    let (family, pairs) = (Family::Complete { vertices: 3 }, folder.path().join("a.bin"));
    let file = GeneratedFile { path: &pairs, arcs: RowArcs::Up, force: true, control: &control };
    assert_eq!(generate_file(&family, None, &file).unwrap_err().kind(), Kind::Usage);
}

#[test]
fn rows_of_many_chunks_are_repeated_in_order() {
    let path: Edges = (0..150_000).map(|v| (v, v + 1)).collect();
    let base = base_of(150_001, &path, Some(0));
    make(&Family::Copies { copies: 3 }, Some(&base));
    make(&Family::Blowup { copies: 2, permute: None }, Some(&base));
}

#[test]
fn gap_kron_has_the_published_counts() {
    // Scale 16 has four blocks, each with its own seed; a job counts it in tests/jobs/counts.rs.
    let folder = tempfile::tempdir().unwrap();
    for (scale, vertices, edges, triangles) in [(10, 898, 10_496, 74_720), (16, 46_715, 909_645, 15_656_287)] {
        let (generated, draws) = make_pairs(&Family::GapKron { scale }, None, folder.path());
        assert_eq!((generated.edges_written, generated.vertices_declared), (16 << scale, 1 << scale));
        if scale == 10 {
            let verdict = verify(&draws);
            assert_eq!((verdict.vertices, verdict.edges, verdict.triangles), (vertices, edges, triangles));
        }
        let known = KnownCounts { vertices: Some(vertices), edges: Some(edges.into()), triangles: Some(triangles) };
        assert_eq!(generated.known, known);
    }
    make(&Family::GapKron { scale: 10 }, None);
    assert_eq!(make(&Family::GapKron { scale: 3 }, None).0.known, KnownCounts::default());
}

#[test]
fn gap_urand_agrees_with_the_cpp_library() {
    // Computed with std::mt19937 by a C++ program that gives the published E and T of scale 20.
    let (_, draws) = make(&Family::GapUrand { scale: 15 }, None);
    assert_eq!(draws[..3], [(6_549, 28_684), (570, 8_872), (9_079, 13_398)]);
    let verdict = verify(&draws);
    assert_eq!((verdict.edges, verdict.triangles), (523_992, 5_591));
    let (_, draws) = make(&Family::GapUrand { scale: 1 }, None);
    let verdict = verify(&draws);
    assert_eq!((draws.len(), verdict.edges, verdict.triangles), (32, 1, 0));
}

#[test]
fn the_bytes_do_not_depend_on_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    // Several blocks, the last one short.
    for family in [Family::GapKron { scale: 15 }, Family::Complete { vertices: 1_100 }] {
        for suffix in ["bin", "txt", "graph", "sg"] {
            let bytes = [1, 2, 5].map(|threads| {
                let path = folder.path().join(format!("{threads}.{suffix}"));
                on(threads, || generate(&family, None, &path, &Control::silent())).unwrap();
                fs::read(&path).unwrap()
            });
            assert!(bytes[0] == bytes[1] && bytes[0] == bytes[2], "{family:?} {suffix}");
        }
    }
}
