//! Divisions of work that only method `packed` makes, on the device, against brute force and closed forms.

use trimill_kernels::Packed;
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::Partition;

use crate::count;

#[test]
fn packed_words_end_where_hubs_do() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let n = 66_000u32;
    let row = |number: u32| match number {
        0..65_000 => vec![],
        _ => (64_990..number).filter(|successor| !(successor ^ number).is_multiple_of(5)).collect::<Vec<_>>(),
    };
    let partition = Partition::new((0..n).map(row).collect(), (0..n).map(|number| number % 7 != 0).collect());
    let expected = partition.triangles();
    assert!(expected > 1_000_000);
    for cuts in [vec![], vec![65_535], vec![65_536], vec![65_537], vec![65_520, 65_536, 65_540, 65_999]] {
        assert_eq!(count(&mut gpu, &Packed, &partition, &cuts), expected, "{cuts:?}");
    }
}

#[test]
fn packed_cliques_of_words_have_their_closed_form() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // Each vertex has a word of its own, hub or not: rows of up to 1,200 words after the hubs, more than a table holds.
    for (first, step, n) in [(0u32, 16u32, 300u32), (65_536, 16, 1200), (65_000, 9, 1500)] {
        let corner = |i: u32| first + step * i;
        let mut rows = vec![vec![]; corner(n) as usize];
        for i in 0..n {
            rows[corner(i) as usize] = (0..i).map(corner).collect();
        }
        let expected = u64::from(n) * u64::from(n - 1) * u64::from(n - 2) / 6;
        assert_eq!(count(&mut gpu, &Packed, &Partition::whole(rows), &[corner(n / 2)]), expected, "{first} {step}");
    }
}

#[test]
fn packed_owners_of_very_much_are_counted_in_parts() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // 30 hubs with 200 successors and each other; 20,000 that point at 20 of the successors and at all hubs.
    let hub = |i: u32| 10_000 + 16 * i;
    let successor = |i: u32| 16 * i;
    let mut rows = vec![vec![]; 12_000];
    for i in 0..30 {
        rows[hub(i) as usize] = (0..200).map(successor).chain((0..i).map(hub)).collect();
    }
    let many = 20_000u64;
    rows.extend((0..many).map(|_| (0..20).map(successor).chain((0..30).map(hub)).collect::<Vec<_>>()));
    let partition = Partition::whole(rows);
    let expected = many * (30 * 29 / 2 + 30 * 20) + 30 * 29 / 2 * 200 + 30 * 29 * 28 / 6;
    for cuts in [vec![], vec![hub(7), hub(7) + 1, 11_000]] {
        assert_eq!(count(&mut gpu, &Packed, &partition, &cuts), expected, "{cuts:?}");
    }
}

#[test]
fn packed_tables_that_clash_are_searched() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // Of rows of 128 words, about one in seventy finds no factor without a clash: 1,500 such rows, and 4,000 that use them.
    let (first, step) = (70_000u32, 16);
    let mut seed = 7u64;
    let mut next = |end: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % u64::from(end)) as u32
    };
    let mut some = |many: usize, end: u32| {
        let mut row: Vec<u32> = vec![];
        while row.len() < many {
            let successor = first + step * next(end);
            if !row.contains(&successor) {
                row.push(successor);
            }
        }
        row
    };
    let mut rows = vec![vec![]; (first + step * 20_000) as usize];
    let long: Vec<u32> = (18_000..19_500).map(|i| first + step * i).collect();
    for &number in &long {
        rows[number as usize] = some(128, 18_000);
    }
    for i in 0..4000u32 {
        // The row has a third of the successors of the long row that it points at.
        let number = long[(i as usize * 7) % long.len()];
        let mut row: Vec<u32> = rows[number as usize].iter().copied().skip(i as usize % 3).step_by(3).collect();
        row.extend(some(9, 18_000));
        row.push(number);
        rows.push(row);
    }
    // Runs have 16 numbers, so each successor has its own word.
    let partition = Partition::whole(rows);
    let expected = partition.triangles();
    assert!(expected >= 4000 * 42);
    assert_eq!(count(&mut gpu, &Packed, &partition, &[]), expected);
    assert_eq!(count(&mut gpu, &Packed, &partition, &[first + step * 18_700]), expected);
}
