//! What building partitions reads of a graph that is larger than the memory for its pages: one by one, or in batches.
//!
//! Enters: an assignment, the sizes of its parts, the pages that may be resident. Leaves: estimates in bytes.
//!
//! *One by one* ([`alone`]): the rows of locals are read in the order of ids for the marks, then in the order of numbers, and
//! those of kept proxies twice in the order of numbers, for their lengths and their heads. In the order of numbers the next row
//! is on any page: it is read again with the share of the pages that are not resident. Locals' pages are counted as they lie,
//! so neighbouring ids read one piece; of proxies only the number is known, and each is taken to be on a page of its own until
//! there are no more. The levels that induce read all rows for it, once or twice. A disk that reads ahead reads more.
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
