//! Counts at vertices and on arcs, and the counters that they take.

use super::*;

/// Counts at each number, `held` counters at a time, in an arena of `arena` bytes; also checks the totals of all passes.
fn at_vertices(partition: &Partition, row_blocks: &[RowBlock], pace: Pace, held: u64, arena: u64) -> Vec<u64> {
    let size = partition.size_with(row_blocks);
    let total = partition.triangles();
    partition.in_passes(held, |counters| {
        let mut double = Double::new(arena, pace).unwrap().with_counters(COUNTER_BYTES * counters.held());
        let counting = PackedCounter::begin(&mut double, size, u64::MAX, Detail::Vertices(counters)).unwrap();
        let mut counter = Box::new(counting);
        give(&mut *counter, partition.runs(133), row_blocks).unwrap();
        let found = counter.vertices().unwrap().counts;
        assert_eq!(counter.finish().unwrap().triangles, total);
        found
    })
}

#[test]
fn every_corner_of_a_triangle_is_counted_at_its_vertex() {
    let Some(()) = has_compiler() else { return };
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.8)] {
        let partition = random(seed, 300, 40, 2, share);
        let expected = partition.at_vertices();
        assert_eq!(expected.iter().sum::<u64>(), 3 * partition.triangles());
        let all_cuts = cuts(seed, 300);
        for (i, pace) in Pace::all(seed).into_iter().enumerate() {
            let cuts = &all_cuts[(i + seed as usize) % all_cuts.len()];
            let (row_blocks, size) = partition.case(i, cuts);
            let arena = arenas(&size)[i % 3];
            let held = [1024, 96][i % 2];
            assert_eq!(at_vertices(&partition, &row_blocks, pace, held, arena), expected, "{seed} {cuts:?} {pace:?}");
        }
    }
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
        let row_blocks = partition.row_blocks(&cuts);
        let arena = preferred_bytes(&partition.size_with(&row_blocks), false);
        assert_eq!(at_vertices(&partition, &row_blocks, Pace::Late, 1 << 20, arena), expected, "{cuts:?}");
    }
}

#[test]
fn too_little_memory_for_counters_is_refused() {
    let Some(()) = has_compiler() else { return };
    let partition = random(2, 200, 20, 1, 0.5);
    let mut double = Double::new(1 << 20, Pace::Late).unwrap().with_counters(8 * 99);
    let counters = VertexCounters { window: 0..100, locals_at: 200 };
    let refused =
        PackedCounter::begin(&mut double, partition.size(512), u64::MAX, Detail::Vertices(counters)).map(drop);
    assert_eq!(refused, Err(GpuError::Budget { asked: 800, used: 0, capacity: 792 }));
}

#[test]
fn bytes_that_are_full_are_added_to_their_counters() {
    let Some(()) = has_compiler() else { return };
    let partition = random(0, 9000, 90, 4, 0.5);
    let row_blocks = partition.row_blocks(&[]);
    let arena = preferred_bytes(&partition.size_with(&row_blocks), false);
    let found = at_vertices(&partition, &row_blocks, Pace::Late, 1 << 20, arena);
    let expected = partition.at_vertices();
    let wrong: Vec<_> = (0..).zip(found.iter().zip(&expected)).filter(|(_, (a, b))| a != b).collect();
    assert!(wrong.is_empty(), "{} {:?} .. {:?}", wrong.len(), &wrong[..wrong.len().min(20)], &wrong[wrong.len() - 3..]);
}

#[test]
fn triangles_are_counted_on_each_of_their_arcs() {
    let Some(()) = has_compiler() else { return };
    for (seed, share, vertices) in [(0, 0.5, 9000), (1, 1.0, 300), (2, 0.8, 300), (3, 0.0, 300)] {
        let partition = random(seed, vertices, 90, 4, share);
        let has_long =
            |local| (0..).zip(&partition.rows).any(|(i, row)| row.len() > 4096 && partition.local[i] == local);
        assert!(vertices == 300 || (has_long(true) && has_long(false)), "long rows of locals and of proxies");
        let expected = (partition.on_arcs(), partition.triangles());
        let (all_cuts, paces) = (cuts(seed, vertices), Pace::all(seed));
        let cases = if vertices > 300 { 3 } else { paces.len() };
        for (i, pace) in paces.into_iter().take(cases).enumerate() {
            let cuts = &all_cuts[(i + seed as usize) % all_cuts.len()];
            let (row_blocks, size) = partition.case(i, cuts);
            let (least, most) = (FOOTPRINT_WITH_EDGES.least(&size), preferred_bytes(&size, true));
            let arena = [least, most, least + (most - least) / 8][i % 3];
            let mut double = Double::new(arena, pace).unwrap();
            let counting = PackedCounter::begin(&mut double, size, u64::MAX, Detail::Edges).unwrap();
            let found = partition.count_on_arcs(Box::new(counting), partition.runs(133), &row_blocks);
            assert!(found == expected, "seed {seed}, {cuts:?}, {pace:?}, an arena of {arena} bytes");
        }
    }
}

#[test]
fn a_row_may_have_more_than_65536_arcs() {
    let Some(()) = has_compiler() else { return };
    let (partition, expected) = with_a_long_row();
    let (row_blocks, size) = partition.case(0, &[]);
    let mut double = Double::new(preferred_bytes(&size, true), Pace::Late).unwrap();
    let counter = PackedCounter::begin(&mut double, size, u64::MAX, Detail::Edges).unwrap();
    let found = partition.count_on_arcs(Box::new(counter), partition.runs(10_000), &row_blocks);
    assert_eq!(found, (expected, 3));
}

#[test]
fn counters_of_arcs_are_numbered_with_32_bits() {
    let mut double = Double::new(1 << 20, Pace::Late).unwrap();
    let size = PartitionExtent { locals: 1 << 20, arcs: (1 << 32) - 300, numbered: 1 << 20, row_block_limit: 1 << 10 };
    let refused = PackedCounter::begin(&mut double, size, u64::MAX, Detail::Edges).map(drop);
    assert!(matches!(refused, Err(GpuError::Section(_))), "{refused:?}");
}
