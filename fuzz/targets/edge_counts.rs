//! Counts on the edges of a partition: the bytes as a file, and with valid checksums.

use trimill::testing::edges::EdgeSums;
use trimill::testing::edges::part::{EdgePartCounts, EdgePartKey, EdgePartWriter};

use super::{Place, first, is_told, seal};

/// The most arcs of the graph: their sums are in memory.
const MOST: u64 = 1_000_000;

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let (fields, _) = first::<40>(bytes);
    let part = u32::from_le_bytes(fields[12..16].try_into().expect("4 bytes"));
    let fingerprint = u128::from_le_bytes(fields[16..32].try_into().expect("16 bytes"));
    let arcs = u64::from_le_bytes(fields[32..].try_into().expect("8 bytes")).min(MOST);
    let key = EdgePartKey { fingerprint, part, arcs };
    file(place, key, bytes);
    file(place, key, &seal::counts(bytes, b"TRIMEDGE\x01\0\0\0", &arcs.to_le_bytes(), 12));
}

fn file(place: &Place, key: EdgePartKey, bytes: &[u8]) {
    let path = key.path(place.dir());
    std::fs::write(&path, bytes).expect("the temporary directory takes files");
    let sums = EdgeSums::in_memory(key.arcs);
    let added = EdgePartCounts::open(place.dir(), key).and_then(|counts| match counts {
        Some(counts) => counts.add_to(&sums),
        None => panic!("it is there"),
    });
    if let Err(error) = added {
        is_told(&error, &path);
    } else {
        // The same after it is written and read again.
        let all = |sums: &EdgeSums| {
            let mut all = vec![0; key.arcs as usize];
            sums.read(0, &mut all).expect("in memory");
            all
        };
        let mut writer = EdgePartWriter::new(place.dir(), key).expect("a file");
        writer.add(0, &all(&sums)).and_then(|()| writer.finish()).expect("written");
        let again = EdgeSums::in_memory(key.arcs);
        let counts = EdgePartCounts::open(place.dir(), key).expect("what was written").expect("it is there");
        counts.add_to(&again).expect("what was written");
        assert_eq!(all(&again), all(&sums));
    }
    std::fs::remove_file(path).expect("it was written");
}
