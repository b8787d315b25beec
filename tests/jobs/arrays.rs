//! Edges in memory: every form of a graph is read as the same arcs, and an error names the place of wrong data.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::figures::triangles;
use crate::common::simple;
use trimill_input::arcs::column::Column;
use trimill_input::arcs::csr::Csr;
use trimill_input::arcs::edges::{BATCH, EdgeSource, TakeArcs};
use trimill_input::arcs::pairs::Pairs;
use trimill_input::arcs::{ArcList, ArcSource};
use trimill_system::{Control, Kind, Result};

use trimill::{Backend, Devices, Graph, Options};

/// The arcs that a source delivers, and how often it delivers each.
fn scanned(source: &dyn ArcSource) -> Result<BTreeMap<(u64, u64), u64>> {
    let arrived = Mutex::<Vec<(u64, u64)>>::default();
    let count = source.scan(&arrived, &Control::silent())?;
    let arcs = arrived.into_inner().unwrap();
    assert_eq!(arcs.len() as u64, count);
    Ok(multiset(&arcs))
}

fn multiset(arcs: &[(u64, u64)]) -> BTreeMap<(u64, u64), u64> {
    let mut counts = BTreeMap::new();
    arcs.iter().for_each(|&arc| *counts.entry(arc).or_default() += 1);
    counts
}

fn rows(n: u64, arcs: &[(u64, u64)]) -> (Vec<u32>, Vec<i64>) {
    let mut sorted = arcs.to_vec();
    sorted.sort_unstable_by_key(|arc| arc.0);
    let begins = (0..=n).map(|v| sorted.partition_point(|arc| arc.0 < v) as u32).collect();
    (begins, sorted.iter().map(|arc| arc.1 as i64).collect())
}

fn refusal(source: impl EdgeSource) -> String {
    let error = Graph::from_source(source).count(&Options::new()).unwrap_err();
    assert_eq!(error.kind(), Kind::Data, "{error}");
    error.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_form_is_the_same_graph(n in 1u64..12, seeds in prop::collection::vec((any::<u16>(), any::<u16>()), 0..60), both: bool) {
        let mut arcs: Vec<_> = seeds.iter().map(|&(u, v)| (u64::from(u) % n, u64::from(v) % n)).collect();
        if both {
            // Each edge once in each direction: rows that need no cleaning.
            arcs = multiset(&arcs).into_keys().flat_map(|(u, v)| [(u, v), (v, u)]).filter(|(u, v)| u != v).collect();
            arcs.sort_unstable();
            arcs.dedup();
        }
        let (tails, heads): (Vec<u8>, Vec<i16>) = arcs.iter().map(|&(u, v)| (u as u8, v as i16)).unzip();
        let (indptr, indices) = rows(n, &arcs);
        let matrix = Csr::new(&indptr[..], Arc::<[i64]>::from(indices)).unwrap();
        let pairs = Pairs::new(&tails[..], heads).unwrap();
        let list = ArcList { arcs: arcs.clone(), declared: None };
        for source in [&matrix as &dyn EdgeSource, &pairs, &list] {
            prop_assert_eq!(scanned(&source).unwrap(), multiset(&arcs));
            let counted = Graph::from_source(source).count(&Options::new()).unwrap();
            prop_assert_eq!(counted.triangles, triangles(&simple(&arcs)));
            prop_assert_eq!(counted.input.arcs, arcs.len() as u64);
        }
        let counted = Graph::from_source(&matrix).count(&Options::new()).unwrap();
        prop_assert_eq!(counted.input.vertices_declared, Some(n));
    }
}

#[test]
fn long_rows_and_many_empty_ones_are_read_in_pieces() {
    // The row of vertex 7 is read in three pieces; most others are empty.
    let n = 1_000_000;
    let arcs: Vec<(u64, u64)> =
        (0..n).map(|head| (7, head)).chain((9..n).step_by(9999).map(|tail| (tail, tail - 1))).collect();
    let (indptr, indices) = rows(n, &arcs);
    let matrix = Csr::new(indptr, indices).unwrap();
    assert!(scanned(&&matrix).unwrap() == multiset(&arcs));
    // Any range begins at the right arc.
    for begin in [0, 1, BATCH as u64 - 1, 999_999, 1_000_000, 1_000_050] {
        let mut read = Vec::new();
        let take = &mut |batch: &[(u64, u64)]| {
            read.extend_from_slice(batch);
            Ok(())
        };
        matrix.read(begin..begin + 50, take).unwrap();
        assert_eq!(read, &arcs[begin as usize..begin as usize + 50]);
    }
}

#[test]
fn a_symmetric_matrix_is_prepared_without_cleaning() {
    let arcs: Vec<(u64, u64)> = (0..40).flat_map(|u| (0..40).filter(move |&v| v != u).map(move |v| (u, v))).collect();
    let (indptr, mut indices) = rows(40, &arcs);
    let stages = |indices: &[i64]| {
        let counted = Graph::from_source(Csr::new(&indptr[..], indices).unwrap()).count(&Options::new()).unwrap();
        assert_eq!(counted.triangles, 40 * 39 * 38 / 6);
        counted.stages.iter().map(|stage| stage.name.clone()).collect::<Vec<_>>()
    };
    assert!(!stages(&indices).contains(&"clean".into()));
    // Unsorted rows need no cleaning, either.
    indices[..39].reverse();
    assert!(!stages(&indices).contains(&"clean".into()));
    // A loop instead of an arc has to be cleaned.
    indices[0] = 0;
    assert!(stages(&indices).contains(&"clean".into()));
}

#[test]
fn what_is_wrong_with_arrays_is_named_with_its_place() {
    let long = |place: usize, id: i32| {
        let mut ids = vec![0; 600_000];
        ids[place] = id;
        ids
    };
    for place in [0, 300_000, 599_999] {
        let words = refusal(Pairs::new(long(place, 0), long(place, -3)).unwrap().named("from", "to"));
        assert!(words.starts_with(&format!("to: the number -3 in place {place};")), "{words}");
    }
    let two = Pairs::new(long(500_000, -1), long(100_000, -2)).unwrap();
    assert!(refusal(two).starts_with("heads: the number -2 in place 100000"), "the first one on any number of threads");

    let largest = ArcList { arcs: vec![(0, 1), (u64::MAX, 2)], declared: None };
    let beyond = Pairs::new(vec![0u8, 1], vec![1u8, 5]).unwrap().with_vertices(5);
    for (said, words) in [
        (refusal(largest), "the id 18446744073709551615 in arc 1, from 18446744073709551615 to 2"),
        (refusal(beyond), "the id 5 in arc 1, from 1 to 5; expected ids below 5"),
        (refusal(Csr::new(vec![0u8, 1, 2], vec![1u64, 1 << 40]).unwrap()), "the id 1099511627776 in arc 1"),
    ] {
        assert!(said.contains(words), "{said}");
    }
    let unequal = Pairs::new(vec![1u8], vec![1u8, 2]).err().unwrap();
    assert_eq!((unequal.kind(), unequal.to_string().contains("1 tails and 2 heads")), (Kind::Data, true));
    for (indptr, words) in [
        (vec![], "no numbers"),
        (vec![1, 2], "the number 1 in place 0; expected 0"),
        (vec![0, 3, 2], "the number 2 in place 2, after 3"),
        (vec![0, -1, 2], "the number -1 in place 1"),
        (vec![0, 1], "the number 1 at the end; expected 2"),
        (vec![0, 2, 9], "the number 9 at the end; expected 2"),
    ] {
        let error = Csr::new(indptr, vec![0u32, 1]).err().unwrap();
        assert_eq!(error.kind(), Kind::Data);
        assert!(error.to_string().starts_with(&format!("indptr: {words}")), "{error}");
    }
}

#[test]
fn vectors_arrays_and_holders_of_columns_are_columns_without_places_beyond_their_end() {
    let columns: [(Box<dyn Column>, u64); 5] = [
        (Box::new(vec![1u16, 2, 3]), 2),
        (Box::new([1usize, 2, 3]), 8),
        (Box::new(Arc::new(vec![1isize, 2, 3])), 8),
        (Box::new(Box::<[u8]>::from([1, 2, 3])), 1),
        (Box::new(&[1u16, 2, 3]), 2),
    ];
    for (column, width) in columns {
        let mut ids = [0; 2];
        column.read_ids(1, &mut ids).unwrap();
        assert_eq!((ids, column.len(), column.width()), ([2, 3], 3, width));
        for first in [2, 3, 4, u64::MAX] {
            assert_eq!(column.read_ids(first, &mut ids).unwrap_err().kind(), Kind::Data);
        }
    }
}

#[test]
fn boxes_and_arcs_of_sources_are_sources() {
    let triangle = ArcList { arcs: vec![(0, 1), (1, 2), (2, 0)], declared: None };
    let shared: Arc<dyn EdgeSource> = Arc::new(triangle.clone());
    for graph in [Graph::from_source(shared), Graph::from_source(Box::new(triangle))] {
        assert_eq!(graph.count(&Options::new()).unwrap().triangles, 1);
    }
}

/// A source that violates its interface.
struct Wrong {
    arcs: u64,
    delivered: Vec<(u64, u64)>,
    row_ends: Vec<u64>,
}

impl EdgeSource for Wrong {
    fn arcs(&self) -> u64 {
        self.arcs
    }

    fn vertices(&self) -> Option<u64> {
        Some(4)
    }

    fn read(&self, arcs: Range<u64>, take: &mut TakeArcs<'_>) -> Result<()> {
        take(&self.delivered[(arcs.start as usize).min(self.delivered.len())..])
    }

    /// Violates the interface: there are row ends even beyond the last vertex.
    fn row_end(&self, tail: u64) -> Option<u64> {
        self.row_ends.get(tail.min(3) as usize).copied()
    }
}

#[test]
fn a_source_that_contradicts_itself_is_refused_or_its_arcs_are_counted() {
    let triangle = vec![(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    let wrong = |arcs, row_ends: &[u64]| Wrong { arcs, delivered: triangle.clone(), row_ends: row_ends.to_vec() };
    let an_arc_too_many = Wrong { arcs: 2, delivered: vec![(0, 1), (1, 0), (1, 0)], row_ends: vec![1, 2, 2, 2] };
    for (source, words) in [
        (wrong(5, &[]), "6 arcs from number 0 on were delivered; expected 5"),
        (wrong(7, &[]), "6 arcs from number 0 on were delivered; expected 7"),
        (wrong(u64::MAX, &[]), "18446744073709551615 arcs; expected at most"),
        (an_arc_too_many, "3 arcs from number 0 on were delivered; expected 2"),
        // Tails that are not those of the rows.
        (wrong(6, &[1, 2, 6, 6]), "the tail 0 of arc 1; expected 1"),
    ] {
        let said = refusal(source);
        assert!(said.contains(words), "{said}");
    }
    // If row ends are invalid, the arcs are cleaned instead. The last ones are valid.
    for row_ends in [&[2, 4, 6][..], &[9, 9, 9, 9], &[2, 1, 6, 6], &[2, 4, 5, 5], &[2, 4, 6, 6]] {
        assert_eq!(Graph::from_source(wrong(6, row_ends)).count(&Options::new()).unwrap().triangles, 1, "{row_ends:?}");
    }
}

#[test]
fn settings_that_only_the_library_can_make_are_refused() {
    let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0)]);
    let prepared = graph.prepare(&Options::new()).unwrap();
    let on_gpu = Options::new().backend(Backend::Cuda);
    for (options, words) in [
        (on_gpu.devices(Devices::List(Vec::new())), "no GPUs are named; expected `all`, or at least one number"),
        (Options::new().parts(NonZeroU32::MAX), "4294967295 parts; expected at most 1048576"),
        (Options::new().per_vertex("-"), "standard output, as the file of `per_vertex`; expected the path of a file"),
        (Options::new().by_degree("-"), "the file of `by_degree`"),
        (Options::new().lcc("-"), "the file of `lcc`"),
        (Options::new().per_edge("-"), "the file of `per_edge`"),
        (Options::new().by_k("-"), "the file of `by_k`"),
    ] {
        let [counted, asked] = [graph.count(&options), prepared.count(&options)].map(|outcome| outcome.map(drop));
        for outcome in [counted, asked, graph.plan(&options).map(drop), graph.prepare(&options).map(drop)] {
            let error = outcome.unwrap_err();
            assert!(error.kind() == Kind::Usage && error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn edges_in_memory_have_no_settings_of_files() {
    let graph = Graph::from_edges([(0, 1)]);
    for (name, value) in [("format", "text"), ("header", "no")] {
        let options = Options::new().set(name, value).unwrap();
        assert_eq!(graph.count(&options).unwrap_err().kind(), Kind::Usage, "{name}");
    }
    assert_eq!(ArcSource::facts(&ArcList::default()).arcs_at_most, 0);
    let none = Graph::from_source(ArcList::default()).count(&Options::new()).unwrap();
    assert_eq!((none.triangles, none.input.vertices_declared), (0, Some(0)));
}
