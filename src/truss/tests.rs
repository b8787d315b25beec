//! Peeling against repeated removal, and against closed forms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use proptest::prelude::*;

use super::bits::NeighbourBits;
use super::ends::CutLists;
use super::neighbours::Neighbours;
use super::*;
use trimill_counting::{Detail, Footprint, PartitionCounter, PartitionExtent};
use trimill_kernels::testing::partitions::trussness;
use trimill_system::lock;

type Edge = (u32, u32);

/// An oriented graph of ascending edges from larger vertices to smaller ones.
fn oriented(edges: &[Edge]) -> RemainingEdges {
    let vertices = edges.last().map_or(0, |edge| edge.0 + 1);
    let first = |vertex: u32| edges.partition_point(|edge| edge.0 < vertex) as u64;
    RemainingEdges::all((0..=vertices).map(first).collect(), edges.iter().map(|edge| edge.1).collect())
}

/// As [`oriented`], with the triangles on the edges.
fn remaining(edges: &[Edge]) -> (RemainingEdges, Vec<u32>) {
    let mut neighbours = BTreeMap::<u32, BTreeSet<u32>>::new();
    for &(u, v) in edges {
        neighbours.entry(u).or_default().insert(v);
        neighbours.entry(v).or_default().insert(u);
    }
    let triangles = |(u, v): &Edge| neighbours[u].intersection(&neighbours[v]).count() as u32;
    (oriented(edges), edges.iter().map(triangles).collect())
}

/// The trussness of `edges` by peeling on the cores. Checks that it is the same when continued from several of the checkpoints.
fn peeled(edges: &[Edge], last: Option<u32>) -> (Vec<u32>, PeelingWork) {
    let kept = Mutex::new(Vec::new());
    let save: &SaveCheckpoint<'_> = &|state| {
        lock(&kept).push(state.iter().map(|value| value.load(Relaxed)).collect::<Vec<_>>());
        Ok(())
    };
    let (trussness, work) = peeled_within(Bytes(u64::MAX), remaining(edges), last, Some(save));
    let kept = kept.into_inner().unwrap();
    for values in kept.iter().step_by(1 + kept.len() / 3) {
        let (again, rest) = peeled_within(Bytes(u64::MAX), (oriented(edges), values.clone()), last, None);
        assert_eq!(again, trussness);
        assert!(rest.levels < work.levels && rest.rounds < work.rounds, "{rest:?} of {work:?}");
    }
    (trussness, work)
}

fn peeled_within(
    host: Bytes,
    graph: (RemainingEdges, Vec<u32>),
    last: Option<u32>,
    save: Option<&SaveCheckpoint<'_>>,
) -> (Vec<u32>, PeelingWork) {
    let (edges, values) = graph;
    let state: Vec<AtomicU32> = zeros(values.len());
    let places = PeelingPlaces { device: None, host, control: &Control::silent() };
    let saved = (Instant::now(), Duration::ZERO);
    let mut progress = PeelProgress { state: &state, save, saved, last, fell: &|_| Ok(()) };
    let work = peel(edges, values, &mut progress, places).unwrap();
    (state.iter().map(|value| (value.load(Relaxed) ^ FALLEN) + LEAST).collect(), work)
}

fn complete(vertices: u32) -> impl Iterator<Item = Edge> {
    (0..vertices).flat_map(|u| (0..u).map(move |v| (u, v)))
}

#[test]
fn peeling_goes_on_without_checkpoints_if_one_cannot_be_saved() {
    let edges: Vec<Edge> = complete(30).chain(complete(40).map(|(u, v)| (u + 30, v + 30))).collect();
    let failures = AtomicU32::new(0);
    let save = |_: &[AtomicU32]| {
        failures.fetch_add(1, Relaxed);
        Err(Error::resource("the disk is full"))
    };
    let trussness: Vec<u32> = edges.iter().map(|edge| if edge.0 < 30 { 30 } else { 40 }).collect();
    assert_eq!(peeled_within(Bytes(u64::MAX), remaining(&edges), None, Some(&save)).0, trussness);
    assert_eq!(failures.into_inner(), 1);
}

/// A device that peels a few rounds and is then lost.
#[derive(Clone, Copy)]
struct Lost {
    rounds: u32,
}

impl Peeling for Lost {
    fn least(&mut self) -> Result<Option<u32>> {
        Ok(Some(0))
    }
    fn gather(&mut self, _: u32) -> Result<()> {
        Ok(())
    }
    fn least_gathered(&mut self) -> Result<Option<u32>> {
        Ok(Some(0))
    }
    fn begin(&mut self, _: u32) -> Result<u64> {
        Ok(1)
    }
    fn round(&mut self, _: u32) -> Result<u64> {
        self.rounds = self.rounds.checked_sub(1).ok_or_else(|| Error::resource("the GPU is lost"))?;
        Ok(1)
    }
    fn worth_leaving(&self, all: u64) -> u64 {
        all / 16
    }
    fn values(&mut self) -> Result<Vec<u32>> {
        Err(Error::defect("values of a lost device"))
    }
}

impl CountBackend for Lost {
    fn name(&self) -> &'static str {
        "lost"
    }
    fn method(&self) -> &'static str {
        "none"
    }
    fn footprint(&self) -> Footprint {
        Footprint::NOTHING
    }
    fn peels(&self, _: u64, _: u64) -> Option<u64> {
        Some(0)
    }
    fn peel<'a>(&'a mut self, graph: GraphToPeel<'_>, _: &Control) -> Result<Box<dyn Peeling + 'a>> {
        assert_eq!(graph.values.len(), graph.heads.len());
        Ok(Box::new(*self))
    }
    fn begin<'a>(&'a mut self, _: PartitionExtent, _: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        Err(Error::defect("it only peels"))
    }
}

#[test]
fn what_a_lost_device_began_is_peeled_on_the_cores() {
    let edges: Vec<Edge> = complete(182).collect();
    for rounds in [0, 3] {
        let state: Vec<AtomicU32> = zeros(edges.len());
        let most = AtomicU64::new(0);
        let fell = |fell| {
            most.fetch_max(fell, Relaxed);
            Ok(())
        };
        let control = Control::silent();
        let peeled = |host| {
            let (edges, values) = remaining(&edges);
            let mut lost = Lost { rounds };
            let saved = (Instant::now(), Duration::ZERO);
            let mut progress = PeelProgress { state: &state, save: None, saved, last: None, fell: &fell };
            peel(edges, values, &mut progress, PeelingPlaces { device: Some(&mut lost), host, control: &control })
        };
        // With less memory than the cores need, nothing can peel the graph once the device is lost.
        let refused = peeled(Bytes(1 << 10)).unwrap_err();
        assert!(refused.kind() == Kind::Resource && refused.to_string().contains("--host-memory"), "{refused}");
        let work = peeled(Bytes::mib(64));
        assert_eq!(work.unwrap(), PeelingWork { levels: 1, rounds: 1 });
        assert!(state.iter().all(|value| value.load(Relaxed) == FALLEN | 180));
        assert_eq!(most.load(Relaxed), edges.len() as u64);
    }
}

/// Whether the rows of a graph become bits in `room` bytes.
fn has_bits(edges: &RemainingEdges, room: u64) -> bool {
    NeighbourBits::new(Neighbours::new(&edges.firsts, &edges.heads), room).is_ok()
}

/// The least memory for peeling, with which all rows are lists at first.
fn least(edges: &RemainingEdges) -> Bytes {
    memory(edges.vertices() as u32, edges.edges() as u64, rayon::current_num_threads() as u64)
}

#[test]
fn long_rows_short_ones_and_none() {
    // Vertices 0 and 1 are neighbours of all others, which are joined in runs: rows are searched in every way.
    let n = 1500;
    for run in [6, 12] {
        let mut edges: Vec<Edge> = vec![(1, 0)];
        for u in 2..n {
            edges.extend([(u, 0), (u, 1)].into_iter().chain((2..u).filter(|v| u / run == v / run).map(|v| (u, v))));
        }
        let all = oriented(&edges);
        assert!(has_bits(&all, u64::MAX) && !has_bits(&all, 0));
        for trussness in [peeled(&edges, None).0, peeled_within(least(&all), remaining(&edges), None, None).0] {
            for (&(u, v), &k) in edges.iter().zip(&trussness) {
                // Each run is a clique with 0 and 1, the first one has the vertices from 2 on.
                let size = if u < run { run } else { run + 2 };
                let expected = if (u, v) == (1, 0) { run + 2 } else { size };
                assert_eq!(k, expected, "{u} {v}");
            }
        }
    }
    assert_eq!(peeled(&[], None), (vec![], PeelingWork::default()));
}

proptest! {
    /// If some edges of each chunk have no ends, the parts together have those of all others, sorted, and each vertex is in one part.
    #[test]
    fn parts_of_lists_have_all_items_in_order_and_a_vertex_is_in_one_part(
        mut lists in prop::collection::vec(prop::collection::vec((0u64..40, 0u64..40), 0..200), 0..9),
        parts in 0usize..99,
    ) {
        lists.iter_mut().for_each(|list| list.sort_unstable());
        let mut all = lists.concat();
        all.sort_unstable();
        let cut = CutLists::new(lists.iter().map(Vec::as_slice), parts, |(vertex, _)| (vertex, 0));
        let found: Vec<Vec<(u64, u64)>> = (0..cut.parts()).map(|i| cut.part(i)).collect();
        prop_assert_eq!(found.concat(), all);
        prop_assert!(found.len() <= parts.max(1));
        let vertices: Vec<BTreeSet<u64>> = found.iter().map(|part| part.iter().map(|end| end.0).collect()).collect();
        prop_assert_eq!(vertices.iter().map(BTreeSet::len).sum::<usize>(), vertices.iter().flatten().collect::<BTreeSet<_>>().len());
    }
}

/// A graph with each vertex replaced by independent copies, which have adjacent numbers; and the triangles on its edges.
fn blown_up(edges: &[Edge], copies: u32) -> (RemainingEdges, Vec<u32>, Vec<Edge>) {
    let (_, triangles) = remaining(edges);
    let base: BTreeMap<Edge, u32> = edges.iter().copied().zip(triangles).collect();
    let copy = |v: u32| v * copies..(v + 1) * copies;
    let mut all: Vec<(Edge, Edge)> = Vec::new();
    for &(u, v) in edges {
        all.extend(copy(u).flat_map(|a| copy(v).map(move |b| ((a, b), (u, v)))));
    }
    all.sort_unstable();
    let (copied, of): (Vec<Edge>, Vec<Edge>) = all.into_iter().unzip();
    let values = of.iter().map(|edge| copies * base[edge]).collect();
    (oriented(&copied), values, of)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 200 }))]

    #[test]
    fn trussness_is_what_repeated_removal_says(
        n in 3u32..26,
        drawn in prop::collection::vec((0u32..26, 0u32..26), 0..260),
        last in prop::option::of(0u32..6),
    ) {
        let pairs = drawn.into_iter().map(|(u, v)| (u % n, v % n)).filter(|(u, v)| u != v);
        let edges: Vec<Edge> = pairs.map(|(u, v)| (u.max(v), u.min(v))).collect::<BTreeSet<_>>().into_iter().collect();
        let expected = trussness(&edges);
        let most = last.map_or(u32::MAX, |last| last + LEAST);
        let (trussness, work) = peeled(&edges, last);
        for (edge, k) in edges.iter().zip(trussness) {
            prop_assert_eq!(k, expected[edge].min(most), "{:?}", edge);
        }
        let distinct: BTreeSet<u32> = expected.values().copied().filter(|&k| k < most).collect();
        prop_assert_eq!(work.levels as usize, distinct.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 40 }))]

    /// In a graph that is blown up by k, the copies of an edge of trussness t have trussness k (t - 2) + 2.
    #[test]
    fn blown_up_graphs_as_bits_and_as_lists(
        n in 3u32..48,
        drawn in prop::collection::vec((0u32..48, 0u32..48), 1..200),
        copies in 8u32..24,
        stride in 1u32..8,
    ) {
        // Most edges are at few of the vertices, so some rows are long; and some have half of all words up to their last one, others not.
        let drawn = drawn.into_iter().map(|(u, v)| (u % n * stride, v * v % n / 2 * stride));
        let pairs = drawn.filter(|(u, v)| u != v);
        let edges: Vec<Edge> = pairs.map(|(u, v)| (u.max(v), u.min(v))).collect::<BTreeSet<_>>().into_iter().collect();
        let trussness = trussness(&edges);
        let graph = || {
            let (all, values, _) = blown_up(&edges, copies);
            (all, values)
        };
        let all = graph().0;
        prop_assert!(edges.is_empty() || has_bits(&all, 1 << 30) && !has_bits(&all, 0));
        let of_bits = peeled_within(Bytes::mib(1 << 10), graph(), None, None);
        prop_assert_eq!(&of_bits, &peeled_within(least(&all), graph(), None, None));
        for (edge, k) in blown_up(&edges, copies).2.iter().zip(of_bits.0) {
            prop_assert_eq!(k, copies * (trussness[edge] - LEAST) + LEAST, "{:?}", edge);
        }
    }
}

#[test]
fn graphs_that_are_too_large_are_refused_before_they_are_counted() {
    let refused =
        |vertices, edges, on_device| check_size(vertices, edges, on_device).map_err(|error| error.to_string());
    assert!(refused(3, 1 << 32, true).unwrap_err().starts_with("4294967296 edges; expected fewer than 2^32"));
    assert!(
        refused((1 << 30) + 1, 3, false).unwrap_err().starts_with("1073741825 vertices; expected at most 1073741824")
    );
    assert_eq!((refused(1 << 30, u32::MAX.into(), false), refused(u32::MAX, 3, true)), (Ok(()), Ok(())));
}

#[test]
fn a_start_that_continues_has_memory_for_both_graphs_even_if_no_edge_fell() {
    let (vertices, edges) = (1 << 20, 1 << 26);
    // Levels, heads and values of all edges; heads, values and places of the remaining ones; their rows, and two numbers for each vertex.
    let both = Bytes((4 + 4 + 4 + 12) * edges + (8 + 8 + 4 + 4) * u64::from(vertices));
    let [first, later] = [false, true].map(|is_part| memory_with_device(vertices, edges, Bytes::ZERO, is_part));
    assert!(first < both && both <= later, "{first}, {both}, {later}");
}
