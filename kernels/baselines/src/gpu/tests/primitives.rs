//! Scans, sums and the sort against loops and the standard library.

use bytemuck::{cast_slice, cast_slice_mut};

use trimill_kernels::engine::Stream;
use trimill_kernels::testing::{Double, Pace, has_compiler};
use trimill_system::hash::mix;

use crate::gpu::machine::BaselineDevice;
use crate::gpu::primitives::{KeyList, SUM_BYTES, ValueWidth, bits, scan, scan_bytes, sort, sort_bytes, sum};
use crate::sources::POLAK;

#[test]
fn scans_and_sums_are_those_of_a_loop() {
    let Some(()) = has_compiler() else { return };
    for len in [0usize, 1, 255, 4096, 4097, 9000] {
        let mut double = Double::new(1 << 20, Pace::Late).unwrap();
        let mut machine = BaselineDevice::new(&mut double, &POLAK).unwrap();
        let values: Vec<u32> = (0..len as u64).map(|i| mix(i) as u32 >> 16).collect();
        let wide: Vec<u64> = (0..len as u64).map(|i| mix(i) >> 20).collect();
        let narrow_at = machine.engine.take(4 * len as u64).unwrap();
        let wide_at = machine.engine.take(8 * len as u64).unwrap();
        let scratch = machine.engine.take(SUM_BYTES.max(scan_bytes(len as u64, ValueWidth::U64))).unwrap();
        machine.upload(narrow_at, cast_slice(&values)).unwrap();
        machine.upload(wide_at, cast_slice(&wide)).unwrap();
        let total: u64 = wide.iter().sum();
        assert_eq!(sum(&mut machine, wide_at, len as u64, ValueWidth::U64, scratch).unwrap(), total);
        let total_narrow: u64 = values.iter().map(|&value| u64::from(value)).sum();
        assert_eq!(sum(&mut machine, narrow_at, len as u64, ValueWidth::U32, scratch).unwrap(), total_narrow);
        let all = scan(&mut machine, wide_at, len as u64, ValueWidth::U64, scratch).unwrap();
        assert_eq!(machine.read_u64(all).unwrap(), total);
        let mut scanned = vec![0u64; len];
        machine.engine.read(Stream::Compute, wide_at, cast_slice_mut(&mut scanned)).unwrap();
        let before = |i: usize| wide[..i].iter().sum::<u64>();
        assert!((0..len).all(|i| scanned[i] == before(i)), "{len}");
        let all = scan(&mut machine, narrow_at, len as u64, ValueWidth::U32, scratch).unwrap();
        assert_eq!(u64::from(machine.read_u32(all).unwrap()), total_narrow);
        let mut scanned = vec![0u32; len];
        machine.engine.read(Stream::Compute, narrow_at, cast_slice_mut(&mut scanned)).unwrap();
        assert!((0..len).all(|i| scanned[i] == values[..i].iter().sum::<u32>()), "{len}");
    }
}

#[test]
fn keys_are_sorted() {
    let Some(()) = has_compiler() else { return };
    for (len, vertices) in [(1u64, 2), (31, 3), (2048, 256), (2049, 257), (5000, 70_000), (3000, u64::from(u32::MAX))] {
        let mut double = Double::new(1 << 20, Pace::Late).unwrap();
        let mut machine = BaselineDevice::new(&mut double, &POLAK).unwrap();
        let mut keys: Vec<u64> = (0..len).map(|i| ((mix(i) % vertices) << 32) | (mix(!i) % vertices)).collect();
        let (a, b) = (machine.engine.take(8 * len).unwrap(), machine.engine.take(8 * len).unwrap());
        let scratch = machine.engine.take(sort_bytes(len)).unwrap();
        machine.upload(a, cast_slice(&keys)).unwrap();
        let sorted = sort(&mut machine, KeyList { keys: a, other: b, len }, vertices, scratch).unwrap().keys;
        let mut found = vec![0u64; len as usize];
        machine.engine.read(Stream::Compute, sorted, cast_slice_mut(&mut found)).unwrap();
        keys.sort_unstable();
        assert!(found == keys, "{len} keys of {vertices} vertices");
    }
    assert_eq!([1, 2, 3, 4, 5, 256, 257].map(bits), [1, 1, 2, 2, 3, 8, 9]);
}
