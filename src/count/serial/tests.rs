//! Every method on graphs with and without skew, whole and in partitions, against the count by pairs of successors.

use rayon::ThreadPoolBuilder;

use super::*;
use crate::count::testing::Rows;
use crate::error::Kind;

const METHODS: [Method; 4] = [Method::Forward, Method::CompactForward, Method::ReverseEdge, Method::ReverseEdgeSerial];

/// Counts in row blocks that end at `ends` and lack the rows of those that are `absent`.
fn count(
    method: Method,
    rows: &Rows,
    ends: &[u32],
    local: impl Fn(u32) -> bool + Copy,
    absent: impl Fn(u32) -> bool + Copy,
) -> u64 {
    let n = rows.0.len() as u32;
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let resident = rows.resident(local);
    let (arcs, locals) = (resident.successors.len() as u64, resident.numbers.len() as u64);
    let mut serial = Serial(method);
    let mut counting = serial.begin(resident.size(), n, Bytes::ZERO).unwrap();
    let heap = resident.heap();
    counting.resident(resident, &pool).unwrap();
    let mut start = 0;
    for end in ends.iter().copied().filter(|&end| end < n).chain([n]) {
        let row_block = rows.row_block(start..end, absent);
        counting.row_block(&row_block.view(), &pool).unwrap();
        start = end;
    }
    let declared = method.terms().resident(locals, arcs) + method.terms().overhead(n);
    let CounterMemory::BesidesSections(lists) = counting.memory() else { panic!() };
    let taken = lists + heap;
    // Vectors of the test's resident section may have room that the pipeline's have not.
    let spare = heap.saturating_sub(Bytes(4 * arcs + 12 * locals + 8));
    assert!(taken <= declared + spare, "{method:?}: {taken} of {declared}");
    counting.finish().unwrap().triangles
}

#[test]
fn whole_graphs_have_the_count_by_pairs_of_successors() {
    let clique = Rows((0..60u32).map(|b| (0..b).collect()).collect());
    let path = Rows((0..60u32).map(|b| b.checked_sub(1).into_iter().collect()).collect());
    let star = Rows((0..60u32).map(|b| (0..b.min(1)).collect()).collect());
    for (rows, known) in [(clique, Some(60 * 59 * 58 / 6)), (path, Some(0)), (star, Some(0)), (Rows(vec![]), Some(0))]
        .into_iter()
        .chain([1, 2, 3].map(|seed| (Rows::skewed(900, 70, seed), None)))
    {
        let expected = rows.triangles(|_| true);
        assert!(known.is_none_or(|known| known == expected));
        for method in METHODS {
            assert_eq!(count(method, &rows, &[], |_| true, |_| true), expected, "{method:?}");
            assert_eq!(count(method, &rows, &[20, 40], |_| true, |_| false), expected, "{method:?} in row blocks");
        }
    }
}

#[test]
fn partitions_are_counted_by_those_that_can() {
    let rows = Rows::skewed(800, 60, 5);
    let n = rows.0.len() as u32;
    for method in [Method::ReverseEdge, Method::ReverseEdgeSerial] {
        for local in [|b: u32| b.is_multiple_of(3), |b: u32| b > 500, |_| false] {
            let expected = rows.triangles(local);
            for ends in [&[][..], &[1, 2, 300], &[100, 200, 799]] {
                assert_eq!(count(method, &rows, ends, local, local), expected, "{method:?} own row blocks to {ends:?}");
                assert_eq!(count(method, &rows, ends, local, |_| false), expected, "{method:?} shared row blocks");
            }
        }
    }
    for method in [Method::Forward, Method::CompactForward] {
        let resident = rows.resident(|b| b != 7);
        let error = Serial(method).begin(resident.size(), n, Bytes::ZERO).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        assert!(error.to_string().contains("799 of 800 vertices"), "{error}");
    }
}
