//! Counts at the vertices of a partition: the bytes as a file, and with valid checksums.

use trimill::testing::threads;
use trimill::testing::vertices::part::{VertexPartCounts, VertexPartKey, VertexPartWriter};
use trimill::testing::vertices::{CountedRanks, Totals};

use super::{Place, first, is_told, seal};

/// The most vertices of the graph: their sums are in memory.
const MOST: u32 = 200_000;

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let (fields, _) = first::<36>(bytes);
    let number = |at: usize| u32::from_le_bytes([fields[at], fields[at + 1], fields[at + 2], fields[at + 3]]);
    let fingerprint = u128::from_le_bytes(fields[16..32].try_into().expect("16 bytes"));
    let key = VertexPartKey { fingerprint, part: number(12), vertices: number(32).min(MOST) };
    file(place, key, bytes);
    file(place, key, &seal::counts(bytes, b"TRIMVERT\x02\0\0\0", &key.vertices.to_le_bytes(), 4));
}

fn file(place: &Place, key: VertexPartKey, bytes: &[u8]) {
    let path = key.path(place.dir());
    std::fs::write(&path, bytes).expect("the temporary directory takes files");
    let (pool, totals) = (threads::pool(None).expect("threads"), Totals::in_memory(key.vertices));
    let added = VertexPartCounts::open(place.dir(), key).and_then(|counts| match counts {
        Some(counts) => counts.add_to(&totals, &pool),
        None => panic!("it is there"),
    });
    if let Err(error) = added {
        is_told(&error, &path);
    } else {
        // The same after it is written and read again.
        let sums = |totals: &Totals| totals.each_block(|_, sums| Ok(sums.to_vec())).expect("in memory").concat();
        let mut writer = VertexPartWriter::new(place.dir(), key).expect("a file");
        writer.add(CountedRanks::From(0), &sums(&totals)).and_then(|()| writer.finish()).expect("written");
        let again = Totals::in_memory(key.vertices);
        let counts = VertexPartCounts::open(place.dir(), key).expect("what was written").expect("it is there");
        counts.add_to(&again, &pool).expect("what was written");
        assert_eq!(sums(&again), sums(&totals));
    }
    std::fs::remove_file(path).expect("it was written");
}
