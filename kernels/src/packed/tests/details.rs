//! Counts at vertices and on arcs, and the counters that they take.

use super::*;

/// The triangles at each number, counted in the largest useful arena.
fn at_vertices(partition: &Partition, row_blocks: &[RowBlock]) -> Vec<u64> {
    let arena = preferred_bytes(&partition.size_with(row_blocks), false);
    partition.in_passes(1 << 20, |counters| {
        let mut double = Double::new(arena, Pace::Late).unwrap().with_counters(COUNTER_BYTES * counters.held());
        let (found, triangles) = partition.count_at_vertices(&mut double, &Packed, row_blocks, counters);
        assert_eq!(found.iter().sum::<u64>(), 3 * triangles);
        found
    })
}

#[test]
fn corners_beyond_the_counters_of_a_block_and_of_long_rows_are_counted() {
    let Some(()) = has_compiler() else { return };
    // Rows on both sides of the last hub, far longer than a table for a warp, with parts for several blocks; numbers beyond NEAR.
    let n = 65_600u32;
    let mut rows: Vec<Vec<u32>> = vec![vec![]; n as usize];
    for number in 64_000..n {
        let far = (63_000..number).filter(|successor| (successor ^ number) % 3 != 0);
        rows[number as usize] = (0..300).filter(|near| near % 5 == number % 5).chain(far.step_by(7)).collect();
    }
    let local = (0..n).map(|number| number > 65_000 && number % 7 != 0).collect();
    let partition = Partition::new(rows, local);
    let expected = partition.at_vertices();
    assert!(expected[..4096].iter().sum::<u64>() > 1000 && expected[4096..60_000].iter().all(|&count| count == 0));
    for cuts in [vec![], vec![65_100, 65_536]] {
        assert_eq!(at_vertices(&partition, &partition.row_blocks(&cuts)), expected, "{cuts:?}");
    }
}

#[test]
fn too_little_memory_for_counters_is_refused() {
    let Some(()) = has_compiler() else { return };
    let partition = random(2, 200, 20, 1, 0.5);
    let mut double = Double::new(1 << 20, Pace::Late).unwrap().with_counters(8 * 99);
    let counters = VertexCounters { window: 0..100, locals_at: 200 };
    let refused = PackedCounter::begin(&mut double, partition.size(512), Detail::Vertices(counters)).map(drop);
    assert_eq!(refused, Err(GpuError::Budget { asked: 800, used: 0, capacity: 792 }));
}

#[test]
fn triangles_of_long_rows_are_counted_at_vertices_and_on_arcs() {
    let Some(()) = has_compiler() else { return };
    let partition = random(0, 9000, 90, 4, 0.5);
    let has_long = |local| (0..).zip(&partition.rows).any(|(i, row)| row.len() > 4096 && partition.local[i] == local);
    assert!(has_long(true) && has_long(false), "long rows of locals and of proxies");
    // Bytes that are full are added to their counters.
    let (found, expected) = (at_vertices(&partition, &partition.row_blocks(&[])), partition.at_vertices());
    let wrong = (0..).zip(found.iter().zip(&expected)).find(|(_, (found, expected))| found != expected);
    assert_eq!(wrong, None, "number, found, expected");
    let expected = (partition.on_arcs(), partition.triangles());
    for (i, (cuts, pace)) in cuts(0, 9000).iter().zip(Pace::all(0)).take(3).enumerate() {
        let (row_blocks, size) = partition.case(i, cuts);
        let arena = arenas(&FOOTPRINT_WITH_EDGES, &size)[i];
        let mut double = Double::new(arena, pace).unwrap();
        let found = partition.count_on_arcs(&mut double, &Packed, &row_blocks);
        assert!(found == expected, "{cuts:?}, {pace:?}, an arena of {arena} bytes");
    }
}

#[test]
fn a_row_may_have_more_than_65536_arcs() {
    let (partition, expected) = with_a_long_row();
    let (row_blocks, size) = partition.case(0, &[]);
    let Some(mut double) = Double::new(preferred_bytes(&size, true), Pace::Late) else { return };
    assert_eq!(partition.count_on_arcs(&mut double, &Packed, &row_blocks), (expected, 3));
}

#[test]
fn counters_of_arcs_are_numbered_with_32_bits() {
    let Some(mut double) = Double::new(1 << 20, Pace::Late) else { return };
    let size = PartitionExtent { locals: 1 << 20, arcs: (1 << 32) - 300, numbered: 1 << 20, row_block_limit: 1 << 10 };
    let refused = PackedCounter::begin(&mut double, size, Detail::Edges).map(drop);
    assert!(matches!(refused, Err(GpuError::TooLarge(_))), "{refused:?}");
}
