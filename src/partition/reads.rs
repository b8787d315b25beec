//! What building partitions reads of a graph that is larger than the memory for its pages: one by one, or in batches.
//!
//! Enters: an assignment, the sizes of its parts, the pages that may be resident. Leaves: estimates in bytes.
//!
//! *One by one* ([`alone`]): the rows of locals are read in the order of ids for the marks, then in the order of numbers, and
//! those of kept proxies twice in the order of numbers, for their lengths and their heads. In the order of numbers the next row
//! is on any page: it is read again with the share of the pages that are not resident. Locals' pages are counted as they lie,
//! so neighbouring ids read one piece; of proxies only the number is known, and each is taken to be on a page of its own until
//! there are no more. The levels that induce read all rows for it, once or twice.
//!
//! *In batches* ([`together`]): all rows are read and written once, to stand in the order of numbers, and read three or four
//! times for each batch.

use super::assignment::Assignment;
use super::prune::Prune;
use super::sizes::PartitionSize;
use crate::bytes::Bytes;
use crate::graph::OrientedGraph;

/// Bytes that `parts` read when they are built one by one, with so many bytes of resident pages. `O(n)`.
pub fn alone(
    graph: &OrientedGraph,
    assignment: &Assignment,
    (sizes, parts): (&[PartitionSize], &[u32]),
    level: Prune,
    resident: Bytes,
) -> Bytes {
    let page = rustix::param::page_size() as u64;
    let of_local = pages_of_locals(graph, assignment, page);
    let all = rows(graph).get().div_ceil(page);
    let inducing = match level {
        Prune::Direct => 0,
        Prune::None => all,
        Prune::ZeroIndegree => 2 * all,
    };
    let heads_a_page = page / 4;
    let one = |&part: &u32| {
        let size = &sizes[part as usize];
        let locals = of_local[part as usize];
        let visits = size.locals + size.resident_arcs / heads_a_page;
        let proxy_visits = size.proxies_kept + (size.arcs_kept - size.resident_arcs) / heads_a_page;
        let proxies = proxy_visits.min(all);
        let room = resident.get() / page;
        inducing
            + if locals + proxies <= room {
                (locals + proxies).min(all)
            } else {
                let again = |visits, pages| if pages <= room { 0 } else { missed(visits, pages, room) };
                locals + again(visits, locals) + missed(proxy_visits, proxies, room) + again(proxy_visits, proxies)
            }
    };
    Bytes(page * parts.iter().map(one).sum::<u64>())
}

/// Pages read when `pages` are visited so often in any order, of which `room` can be resident.
fn missed(visits: u64, pages: u64, room: u64) -> u64 {
    let again = visits.saturating_sub(pages) as u128 * u128::from(pages.saturating_sub(room));
    pages + (again / u128::from(pages.max(1))) as u64
}

/// Bytes that are read and written when partitions are built in so many batches.
pub fn together(graph: &OrientedGraph, batches: u64, level: Prune) -> Bytes {
    let passes = match level {
        Prune::None | Prune::Direct => 3,
        Prune::ZeroIndegree => 4,
    };
    Bytes(rows(graph).get() * (2 + passes * batches))
}

/// Bytes of all rows.
fn rows(graph: &OrientedGraph) -> Bytes {
    Bytes::of::<u32>(graph.edges())
}

/// The pages that hold each partition's locals' rows.
fn pages_of_locals(graph: &OrientedGraph, assignment: &Assignment, page: u64) -> Vec<u64> {
    // The number of pages, and the first one that was not counted yet.
    let mut pages = vec![(0, 0); assignment.parts() as usize];
    for (row, &part) in graph.offsets().windows(2).zip(assignment.part_of()).filter(|(row, _)| row[0] < row[1]) {
        let (pages, next) = &mut pages[part as usize];
        let (first, end) = ((4 * row[0] / page).max(*next), (4 * row[1]).div_ceil(page));
        *pages += end.saturating_sub(first);
        *next = end.max(*next);
    }
    pages.into_iter().map(|(pages, _)| pages).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clean::Workspace;
    use crate::control::Control;
    use crate::input::arcs::ArcList;
    use crate::partition::sizes::sizes;
    use crate::prepare::prepare;

    const N: u64 = 60_000;

    /// A ring where each vertex touches the 40 next ones: 20 arcs a row after orienting, all between near ids.
    fn ring(dir: &Path) -> OrientedGraph {
        let arcs = (0..N).flat_map(|u| (1..=20).map(move |step| (u, (u + step) % N))).collect();
        let space = Workspace { memory: Bytes::mib(256), dir, graph: Bytes::ZERO };
        prepare(&ArcList { arcs, declared: None }, None, Bytes::ZERO, space, None, &Control::silent(), &mut Vec::new())
            .unwrap()
    }

    fn assigned(graph: &OrientedGraph, part_of: Vec<u32>, resident: Bytes, level: Prune) -> Bytes {
        let assignment = Assignment::new(part_of, 16);
        let sizes = sizes(graph, &assignment, level, &Control::silent()).unwrap();
        let parts: Vec<u32> = (0..16).collect();
        alone(graph, &assignment, (&sizes, &parts), level, resident)
    }

    #[test]
    fn neighbours_read_their_piece_and_random_parts_read_pages_again_and_again() {
        let dir = tempfile::tempdir().unwrap();
        let graph = ring(dir.path());
        let rows = 4 * graph.edges();
        let runs: Vec<u32> = (0..N).map(|id| (id * 16 / N) as u32).collect();
        let random = trimill_partitioners::random(graph.vertices(), 16, 1);
        let few = Bytes(rows / 8);
        // A part's own piece fits, and its proxies are the 20 next ones, taken to be on a page each.
        let near = assigned(&graph, runs.clone(), few, Prune::Direct).get();
        assert!((rows..rows * 3 / 2).contains(&near), "{near} of {rows}");
        // The part of each page that is somebody's is on about every page.
        let far = assigned(&graph, random.clone(), few, Prune::Direct).get();
        assert!(far > 16 * rows, "{far} of {rows}");
        assert!(together(&graph, 1, Prune::Direct).get() == 5 * rows && far > together(&graph, 2, Prune::Direct).get());
        // What induces reads all rows for each part besides.
        for (level, times) in [(Prune::None, 16), (Prune::ZeroIndegree, 32)] {
            assert!(assigned(&graph, runs.clone(), few, level).get() >= near + times * rows);
        }
        // With room for all pages, each part's are read once.
        let roomy = assigned(&graph, random, Bytes(2 * rows), Prune::Direct).get();
        assert!(roomy <= 16 * (rows + 4096), "{roomy} of {rows}");
    }

    #[test]
    fn pages_are_missed_as_often_as_they_are_not_resident() {
        assert_eq!(missed(10, 100, 0), 100);
        assert_eq!(missed(300, 100, 0), 300);
        assert_eq!(missed(300, 100, 50), 200);
        assert_eq!(missed(300, 100, 100), 100);
        assert_eq!(missed(5, 0, 1), 0);
    }
}
