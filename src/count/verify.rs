//! The verifier: slow, simple, and without code in common with the stages that it checks.
//!
//! Input: the arcs of a reader, in the ids of the input. Output: a [`Verdict`] with everything that a result says of the
//! graph as a whole. It neither cleans through buckets, nor orients, nor partitions: it sorts all arcs in memory, keeps for
//! every vertex its full neighbourhood, and merges the two neighbourhoods of every edge. Each triangle is found three
//! times, once for each of its edges.
//!
//! Cost: `O(sum of deg(u) + deg(v) over the edges {u, v})` time, which is the sum of squared degrees, on all threads; at most
//! [`BYTES_PER_ARC`] bytes an arc at the peak ([`ArcTally`]). For tiny graphs [`brute_force`] checks the verifier itself.

#[cfg(feature = "testing")]
mod brute_force;
mod clustering;
mod neighbourhoods;
mod trussness;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde::Serialize;

use neighbourhoods::{Neighbourhoods, STEPS};
use trimill_input::ArcSink;
use trimill_system::{Bytes, Control, Result, parallel};

#[cfg(feature = "testing")]
pub use brute_force::{BRUTE_FORCE_IDS, brute_force};
pub use neighbourhoods::VerifiedEdges;

/// The result of the verifier. `2 * edges = arcs - loops - duplicates + arcs_added`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Vertices with an edge after cleaning.
    pub vertices: u64,
    /// Undirected edges after cleaning.
    pub edges: u64,
    pub triangles: u128,
    /// Paths of two edges: `deg (deg - 1) / 2` summed over the vertices.
    pub wedges: u128,
    pub arcs: u64,
    /// Arcs from a vertex to itself, repetitions too.
    pub loops: u64,
    /// Repetitions of the same ordered pair, without loops.
    pub duplicates: u64,
    /// Arcs that were added so that each has its reverse.
    pub arcs_added: u64,
    /// Distinct ordered pairs, without loops, whose reverse is not in the input.
    pub arcs_without_reverse: u64,
    /// Local clustering coefficient, averaged over `vertices`; 0 for a vertex of degree 1.
    pub mean_local_clustering: f64,
    pub max_degree: u64,
}

/// What was counted at each vertex with an edge, in ascending order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifiedVertices {
    pub ids: Vec<u64>,
    /// Degrees after cleaning.
    pub degrees: Vec<u32>,
    pub triangles: Vec<u64>,
    /// The largest id of the input, of loops too.
    pub largest_id: Option<u64>,
}

/// The most that the verifier holds for each arc of the input: 32 bytes for it and its reverse, as ids; 16 for both as
/// neighbours; 32 for two vertices that occur nowhere else.
pub const BYTES_PER_ARC: u64 = 80;

/// Counts the arcs of a graph, without holding them, to find how much memory it needs.
#[derive(Debug, Default)]
pub struct ArcTally(AtomicU64);

impl ArcSink for ArcTally {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        self.0.fetch_add(batch.len() as u64, Relaxed);
        Ok(())
    }
}

impl ArcTally {
    pub fn counted(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// The bytes that the verifier takes for `arcs` arcs.
    pub fn bytes(arcs: u64) -> Bytes {
        Bytes(arcs.saturating_mul(BYTES_PER_ARC))
    }
}

/// Collects arcs from a reader and counts.
#[derive(Debug, Default)]
pub struct Verifier(Mutex<Vec<(u64, u64)>>);

impl ArcSink for Verifier {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(batch);
        Ok(())
    }
}

impl Verifier {
    pub fn new() -> Self {
        Self::default()
    }

    /// A verifier with room for as many arcs as [`ArcTally`] has counted.
    pub fn for_arcs(arcs: u64) -> Self {
        Self(Mutex::new(Vec::with_capacity(arcs as usize)))
    }

    #[cfg(feature = "testing")]
    pub fn finish(self, control: &Control) -> Result<Verdict> {
        self.finish_with_counts(false, control).map(|(verdict, ..)| verdict)
    }

    /// Counts what was collected, also at each vertex, and where `per_edge`, on each edge.
    pub fn finish_with_counts(
        self,
        per_edge: bool,
        control: &Control,
    ) -> Result<(Verdict, VerifiedVertices, VerifiedEdges)> {
        let mut arcs = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut verdict = Verdict { arcs: arcs.len() as u64, ..Verdict::default() };

        let largest_id = arcs.par_iter().map(|&(tail, head)| tail.max(head)).max();
        arcs.retain(|(tail, head)| tail != head);
        verdict.loops = verdict.arcs - arcs.len() as u64;
        let with_duplicates = arcs.len();
        sort(&mut arcs, control)?;
        arcs.dedup();
        verdict.duplicates = (with_duplicates - arcs.len()) as u64;

        let without_reverse = |some: &[(u64, u64)]| {
            control.check()?;
            let reverses = some.iter().map(|&(tail, head)| (head, tail));
            Ok(reverses.filter(|reverse| arcs.binary_search(reverse).is_err()).collect::<Vec<_>>())
        };
        let missing = parallel::try_map(arcs.chunks(STEPS), without_reverse)?.concat();
        verdict.arcs_without_reverse = missing.len() as u64;
        verdict.arcs_added = missing.len() as u64;
        arcs.reserve_exact(missing.len());
        arcs.extend(missing);
        sort(&mut arcs, control)?;

        let graph = Neighbourhoods::new(&arcs, control)?;
        drop(arcs);
        verdict.vertices = graph.len() as u64;
        verdict.edges = graph.edges();
        assert_eq!(2 * verdict.edges, verdict.arcs - verdict.loops - verdict.duplicates + verdict.arcs_added);

        let supports = if per_edge { graph.supports() } else { Vec::new() };
        let corners = graph.corners(&supports, control)?;
        let sum: u128 = corners.iter().map(|&t| u128::from(t)).sum();
        assert_eq!(sum % 3, 0, "every triangle has three corners");
        verdict.triangles = sum / 3;

        let mut clustering = 0.0;
        for (vertex, triangles) in corners.iter().enumerate() {
            let degree = graph.of(vertex).len() as u128;
            let wedges = degree * (degree - 1) / 2;
            verdict.wedges += wedges;
            verdict.max_degree = verdict.max_degree.max(degree as u64);
            if wedges > 0 {
                clustering += *triangles as f64 / wedges as f64;
            }
        }
        verdict.mean_local_clustering = clustering / (verdict.vertices.max(1) as f64);
        let degrees = (0..graph.len()).map(|vertex| graph.of(vertex).len() as u32).collect();
        let (ids, edges) = graph.into_edges(supports);
        Ok((verdict, VerifiedVertices { ids, degrees, triangles: corners, largest_id }, edges))
    }
}

/// Sorts short runs, and merges them two by two, so that a stop takes effect soon; takes as much memory again.
fn sort<T: Copy + Ord + Default + Send + Sync>(all: &mut Vec<T>, control: &Control) -> Result<()> {
    parallel::try_each(all.chunks_mut(STEPS), |run| {
        control.check()?;
        run.sort_unstable();
        Ok(())
    })?;
    let (mut length, mut merged) = (STEPS, Vec::new());
    while length < all.len() {
        merged.resize(all.len(), T::default());
        parallel::try_each(all.chunks(2 * length).zip(merged.chunks_mut(2 * length)), |(runs, into)| {
            let (a, b) = runs.split_at(length.min(runs.len()));
            merge(a, b, into, control)
        })?;
        std::mem::swap(all, &mut merged);
        length *= 2;
    }
    Ok(())
}

/// Merges two runs into a place for both.
fn merge<'a, T: Copy + Ord>(mut a: &'a [T], mut b: &'a [T], into: &mut [T], control: &Control) -> Result<()> {
    for places in into.chunks_mut(STEPS) {
        control.check()?;
        for place in places {
            let next = if b.is_empty() || (!a.is_empty() && a[0] <= b[0]) { &mut a } else { &mut b };
            (*place, *next) = (next[0], &next[1..]);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn verify(arcs: &[(u64, u64)]) -> Verdict {
        let verifier = Verifier::new();
        for batch in arcs.chunks(7) {
            verifier.arcs(batch).unwrap();
        }
        verifier.finish(&Control::silent()).unwrap()
    }

    /// Zachary's karate club (Journal of Anthropological Research 33, 1977); of each member the friends listed later.
    const KARATE: [&[u64]; 34] = [
        &[2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32],
        &[3, 4, 8, 14, 18, 20, 22, 31],
        &[4, 8, 9, 10, 14, 28, 29, 33],
        &[8, 13, 14],
        &[7, 11],
        &[7, 11, 17],
        &[17],
        &[],
        &[31, 33, 34],
        &[34],
        &[],
        &[],
        &[],
        &[34],
        &[33, 34],
        &[33, 34],
        &[],
        &[],
        &[33, 34],
        &[34],
        &[33, 34],
        &[],
        &[33, 34],
        &[26, 28, 30, 33, 34],
        &[26, 28, 32],
        &[32],
        &[30, 34],
        &[34],
        &[32, 34],
        &[33, 34],
        &[33, 34],
        &[33, 34],
        &[34],
        &[],
    ];

    #[test]
    fn the_karate_club_has_its_published_numbers() {
        let arcs: Vec<(u64, u64)> =
            (1..).zip(KARATE).flat_map(|(u, friends)| friends.iter().map(move |&v| (u, v))).collect();
        let verdict = verify(&arcs);
        assert_eq!((verdict.vertices, verdict.edges, verdict.triangles), (34, 78, 45));
        assert_eq!((verdict.wedges, verdict.max_degree), (528, 17));
        assert!((verdict.mean_local_clustering - 0.570_638).abs() < 5e-7);
    }

    #[test]
    fn cleaning_is_counted_as_in_the_report() {
        const FAR: u64 = u64::MAX;
        // A loop twice, an arc three times, one with its reverse, and a triangle among far ids.
        let arcs = [(5, 5), (1, 2), (5, 5), (1, 2), (2, 1), (1, 2), (FAR, 1), (2, FAR)];
        let verdict = verify(&arcs);
        assert_eq!((verdict.arcs, verdict.loops, verdict.duplicates), (8, 2, 2));
        assert_eq!((verdict.arcs_without_reverse, verdict.arcs_added), (2, 2));
        assert_eq!((verdict.vertices, verdict.edges, verdict.triangles), (3, 3, 1));
        assert_eq!((verdict.wedges, verdict.max_degree, verdict.mean_local_clustering), (3, 2, 1.0));
    }

    #[test]
    fn an_empty_graph_has_a_result() {
        assert_eq!(verify(&[]), Verdict::default());
        assert_eq!(verify(&[(7, 7)]), Verdict { arcs: 1, loops: 1, ..Verdict::default() });
    }

    #[test]
    fn complete_graphs_have_their_closed_form() {
        for n in [2u64, 3, 4, 5, 64, 65, 130] {
            let arcs: Vec<_> = (0..n).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
            let closed = u128::from(n) * u128::from(n - 1) * u128::from(n - 2) / 6;
            assert_eq!(brute_force(&arcs), closed);
            let verdict = verify(&arcs);
            assert_eq!((verdict.triangles, verdict.wedges), (closed, 3 * closed));
        }
    }

    /// The most that is held at a time, on one thread; what a reader holds is not counted.
    fn peak(alone: &rayon::ThreadPool, arcs: &[(u64, u64)]) -> u64 {
        let measured = allocation_counter::measure(|| {
            alone.install(|| {
                let verifier = Verifier::for_arcs(arcs.len() as u64);
                arcs.chunks(1000).for_each(|batch| verifier.arcs(batch).unwrap());
                // On edges, too, which takes more.
                verifier.finish_with_counts(true, &Control::silent()).unwrap()
            });
        });
        measured.bytes_max
    }

    #[test]
    fn no_graph_takes_more_than_is_said_of_its_arcs() {
        let n = 100_000;
        // What another thread allocates is not measured.
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
        let needs = ArcTally::default();
        ArcSink::arcs(&needs, &[(0, 1), (1, 1)]).unwrap();
        assert_eq!((needs.counted(), ArcTally::bytes(2)), (2, Bytes(160)));
        let pairs: Vec<_> = (0..n).map(|i| (2 * i, 2 * i + 1)).collect();
        let star: Vec<_> = (1..=n).map(|leaf| (0, leaf)).collect();
        let path: Vec<_> = (0..n).map(|i| (i, i + 1)).collect();
        let both: Vec<_> = path.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
        let dense: Vec<_> = (0..450).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        for (name, arcs) in [("pairs", pairs), ("star", star), ("path", path), ("both", both), ("dense", dense)] {
            let (found, most) = (peak(&alone, &arcs), ArcTally::bytes(arcs.len() as u64).get());
            assert!(found <= most + 4096, "{name}: {found} bytes for {} arcs, at most {most}", arcs.len());
        }
    }

    #[test]
    fn edges_have_their_common_neighbours() {
        // A triangle among far ids with a tail, and an edge of its own.
        let verifier = Verifier::new();
        verifier.arcs(&[(1, 1 << 40), (1 << 40, 1 << 50), (1 << 50, 1), (1, 3), (5, 4)]).unwrap();
        let (_, vertices, edges) = verifier.finish_with_counts(true, &Control::silent()).unwrap();
        assert_eq!(vertices.ids, [1, 3, 4, 5, 1 << 40, 1 << 50]);
        let found: Vec<(u32, u32, u32)> = (0..6).flat_map(|u| edges.of(u).map(move |(v, t)| (u, v, t))).collect();
        assert_eq!(found, [(0, 1, 0), (0, 4, 1), (0, 5, 1), (2, 3, 0), (4, 5, 1)]);
    }

    /// Counts on `threads` threads, and is stopped at check `stop_at`; returns what was found, and the checks that were made.
    fn stopped_at(stop_at: u64, threads: usize, arcs: &[(u64, u64)]) -> (Result<u128>, u64) {
        let (control, checks) = (Control::silent(), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (control.clone(), Arc::clone(&checks));
        let control = control.watched(move || {
            if counted.fetch_add(1, Relaxed) + 1 == stop_at {
                stopped.stop();
            }
        });
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| {
            let verifier = Verifier::new();
            verifier.arcs(arcs).unwrap();
            verifier.finish_with_counts(true, &control).map(|(verdict, ..)| verdict.triangles)
        });
        (found, checks.load(Relaxed))
    }

    #[test]
    fn it_stops_soon_wherever_it_is() {
        // Each vertex is in many triangles, so most of the work is at few vertices.
        let n = 300u64;
        let arcs: Vec<_> = (0..n).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        let (found, checks) = stopped_at(u64::MAX, 1, &arcs);
        assert_eq!(found.unwrap(), u128::from(n) * u128::from(n - 1) * u128::from(n - 2) / 6);
        assert!(checks >= arcs.len() as u64, "{checks} checks for {} edges", arcs.len());
        for threads in [1, 3] {
            for stop_at in [1, 2, 3, 7, checks / 2, checks - 3] {
                let (found, made) = stopped_at(stop_at, threads, &arcs);
                assert_eq!(found.unwrap_err().kind(), trimill_system::error::Kind::Interrupted);
                // Each thread ends at its next check.
                assert!(made <= stop_at + threads as u64, "{made} checks, stopped at {stop_at}");
            }
        }
    }

    #[test]
    fn long_lists_are_sorted_and_merged_with_checks_on_the_way() {
        let checks = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&checks);
        let control = Control::silent().watched(move || {
            counted.fetch_add(1, Relaxed);
        });
        for len in [0, 1, STEPS - 1, STEPS, STEPS + 1, 5 * STEPS + 17] {
            let mut arcs: Vec<(u64, u64)> = (0..len as u64).map(|i| (i * 7919 % 5003, i * 104_729 % 65_537)).collect();
            let mut expected = arcs.clone();
            expected.sort_unstable();
            sort(&mut arcs, &control).unwrap();
            assert!(arcs == expected, "{len}");
        }
        let (even, thirds): (Vec<usize>, Vec<usize>) =
            ((0..8 * STEPS).step_by(2).collect(), (0..8 * STEPS).step_by(3).collect());
        let before = checks.load(Relaxed);
        assert_eq!(neighbourhoods::common(&even, &thirds, &control).unwrap(), (8 * STEPS as u64).div_ceil(6));
        assert!(checks.load(Relaxed) - before >= 5, "{}", checks.load(Relaxed));
    }

    proptest! {
        #[test]
        fn it_agrees_with_all_triples(arcs in prop::collection::vec((0u64..40, 0u64..40), 0..400)) {
            prop_assert_eq!(verify(&arcs).triangles, brute_force(&arcs));
        }
    }
}
