//! Every method on skewed and uniform graphs, whole and in partitions, against brute force over pairs of successors.

use trimill_counting::RowBlock;
use trimill_kernels::testing::partitions::{Partition, cuts, pool, random};

use super::*;
use SerialMethod::{CompactForward, Forward, ReverseEdge, ReverseEdgeSerial};

fn count(method: SerialMethod, partition: &Partition, row_blocks: &[RowBlock]) -> u64 {
    let (size, mut backend) = (partition.size(0), method);
    let mut counter = backend.begin(size, Detail::Total).unwrap();
    let section = 4 * size.arcs + 12 * size.locals + 8;
    assert!(counter.resident(partition.resident(), pool()).unwrap().is_none());
    row_blocks.iter().for_each(|row_block| counter.row_block(&row_block.view(), pool()).unwrap());
    let CounterMemory::BesidesSections(Bytes(taken)) = counter.memory() else { panic!("of a device") };
    let taken = taken + section;
    assert!(taken <= method.footprint().least(&size), "{method:?}: {taken}");
    counter.finish().unwrap().triangles
}

/// Checks the counts with row blocks of proxies' rows, and of all rows.
fn agree(methods: &[SerialMethod], partition: &Partition, all_cuts: &[Vec<u32>]) {
    let expected = partition.triangles();
    for cuts in all_cuts {
        for row_blocks in [partition.row_blocks(cuts), partition.shared_row_blocks(cuts)] {
            for &method in methods {
                assert_eq!(count(method, partition, &row_blocks), expected, "{method:?} {cuts:?}");
            }
        }
    }
}

#[test]
fn whole_graphs_have_the_count_by_pairs_of_successors() {
    let clique = (0..60u32).map(|b| (0..b).collect()).collect();
    let path = (0..60u32).map(|b| b.checked_sub(1).into_iter().collect()).collect();
    let star = (0..60u32).map(|b| (0..b.min(1)).collect()).collect();
    for (rows, known) in [(clique, 60 * 59 * 58 / 6), (path, 0), (star, 0), (vec![], 0)] {
        let partition = Partition::whole(rows);
        assert_eq!(partition.triangles(), known);
        agree(&SerialMethod::ALL, &partition, &[vec![]]);
    }
    for seed in 1..4 {
        agree(&SerialMethod::ALL, &random(seed, 900, 70, 3, 1.0), &[vec![], vec![20, 40]]);
    }
}

#[test]
fn partitions_are_counted_by_those_that_can() {
    for (seed, local_share) in [(5, 0.3), (6, 0.0), (7, 0.9)] {
        let partition = random(seed, 800, 60, 3, local_share);
        agree(&[ReverseEdge, ReverseEdgeSerial], &partition, &cuts(seed, 800));
        for mut method in [Forward, CompactForward] {
            let begun = method.begin(partition.size(0), Detail::Total);
            let refused = begun.map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains("counts whole graphs only"), "{refused}");
        }
    }
}

#[test]
fn the_resident_section_comes_first_and_in_one_run() {
    let partition = random(8, 50, 10, 1, 0.5);
    for mut method in [ReverseEdge, ReverseEdgeSerial] {
        let mut counter = method.begin(partition.size(0), Detail::Total).unwrap();
        let early = counter.row_block(&partition.row_blocks(&[])[0].view(), pool());
        let refused = |text: String| assert!(text.contains("sections are inconsistent"), "{text}");
        refused(early.unwrap_err().to_string());
        let mut runs = partition.runs(5).into_iter();
        assert!(counter.resident(runs.next().unwrap(), pool()).is_ok());
        refused(counter.resident(runs.next().unwrap(), pool()).map(drop).unwrap_err().to_string());
    }
}
