//! Counts at the vertices or on the edges of a partition: the bytes as a file, and with valid checksums.

use trimill::testing::sums::part::{PartCounts, PartKey, PartWriter};
use trimill::testing::sums::{ByArc, ByRank, CountedKeys, SumKey, Sums};

use super::{Place, first, is_told, seal};

/// The most vertices or edges of the graph: their sums are in memory.
const MOST: u64 = 200_000;

pub(super) fn vertices(place: &Place, bytes: &[u8]) {
    check::<ByRank>(place, bytes);
}

pub(super) fn edges(place: &Place, bytes: &[u8]) {
    check::<ByArc>(place, bytes);
}

fn check<K: SumKey>(place: &Place, bytes: &[u8]) {
    let (fields, _) = first::<40>(bytes);
    let part = u32::from_le_bytes(fields[12..16].try_into().expect("4 bytes"));
    let fingerprint = u128::from_le_bytes(fields[16..32].try_into().expect("16 bytes"));
    let keys = u64::from_le_bytes(fields[32..].try_into().expect("8 bytes")).min(MOST);
    let key = PartKey { fingerprint, part, keys };
    file::<K>(place, key, bytes);
    file::<K>(place, key, &seal::counts(bytes, *K::MAGIC, keys));
}

fn file<K: SumKey>(place: &Place, key: PartKey, bytes: &[u8]) {
    let path = key.path::<K>(place.dir());
    std::fs::write(&path, bytes).expect("the temporary directory takes files");
    let sums = Sums::<K>::in_memory(key.keys);
    let added = PartCounts::open(place.dir(), key).and_then(|counts| match counts {
        Some(counts) => PartCounts::add_all(&[counts], &sums, |_| Ok(())),
        None => panic!("it is there"),
    });
    if let Err(error) = added {
        is_told(&error, &path);
    } else {
        // The sums are the same after they are written and read again.
        let all = |sums: &Sums<K>| sums.each_block(|_, sums| Ok(sums.to_vec())).expect("in memory").concat();
        let mut writer = PartWriter::<K>::new(place.dir(), key).expect("a file");
        writer.add(CountedKeys::From(0), &all(&sums)).and_then(|()| writer.finish()).expect("written");
        let again = Sums::<K>::in_memory(key.keys);
        let counts = PartCounts::open(place.dir(), key).expect("what was written").expect("it is there");
        PartCounts::add_all(&[counts], &again, |_| Ok(())).expect("what was written");
        assert_eq!(all(&again), all(&sums));
    }
    std::fs::remove_file(path).expect("it was written");
}
